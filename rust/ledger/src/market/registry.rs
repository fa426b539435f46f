//! Which contracts are the tokens that people mean, as public registries say.

use std::collections::BTreeMap;

use headwater_types::{Address, Asset, Chain, Timestamp};
use serde::{Deserialize, Serialize};

/// One token as a registry file lists it: what `tokens import` offers to the store.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenListing {
    /// The chain.
    pub chain: Chain,
    /// The contract.
    pub contract: Address,
    /// Symbol as written.
    pub symbol: String,
    /// Name as written.
    pub name: String,
    /// Decimals.
    pub decimals: u8,
    /// Whether the list vouches for it.
    pub verified: bool,
    /// Its id at CoinGecko, where the list has it.
    pub coingecko_id: Option<String>,
}

/// A registry entry as answers carry it: the native coin of a chain, or a listed token.
#[derive(Debug, Clone, PartialEq)]
pub struct RegistryEntry {
    /// The chain.
    pub chain: Chain,
    /// Lowercase symbol.
    pub symbol: String,
    /// Name for people.
    pub display_name: String,
    /// What it is.
    pub asset: Asset,
    /// Decimals.
    pub decimals: u8,
    /// Whether a registry vouches for it.
    pub verified: bool,
    /// How it is valued.
    pub usd_mode: UsdMode,
    /// The symbol under which its price is looked up. Of verified namesakes on one chain none has one, so that no
    /// token borrows the price of another; the native coin keeps its own.
    pub rate_symbol: Option<String>,
    /// Its id at CoinGecko.
    pub cg_id: Option<String>,
    /// Market capitalisation, where an import gave one.
    pub market_cap_usd: Option<f64>,
    /// When that was.
    pub mcap_updated_at: Option<Timestamp>,
}

/// How an asset is valued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsdMode {
    /// By the price of its rate symbol.
    Rate,
    /// Not at all.
    None,
}

/// What a symbol resolves to on a chain.
#[derive(Debug, Clone, PartialEq)]
pub enum SymbolMatch<'a> {
    /// One verified entry, or the only entry.
    One(&'a RegistryEntry),
    /// Several equally good entries, verified first, then by contract.
    Ambiguous(Vec<&'a RegistryEntry>),
    /// None.
    NotFound,
}

/// All registry entries in force, native coins included.
#[derive(Debug, Clone, PartialEq)]
pub struct Registry {
    entries: BTreeMap<(Chain, Asset), RegistryEntry>,
    by_symbol: BTreeMap<(Chain, String), Vec<Asset>>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new([])
    }
}

impl Registry {
    /// The union of listings, with the native coins.
    #[must_use]
    pub fn new(_listings: impl IntoIterator<Item = TokenListing>) -> Self {
        Self { entries: BTreeMap::new(), by_symbol: BTreeMap::new() }
    }
}
