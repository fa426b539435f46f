//! Which contracts are the tokens that people mean, as public registries say.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

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
    /// The union of listings, with the native coins. Of several listings of one contract a verified one stands before
    /// others, then the one that comes first; a CoinGecko id is taken from whichever has it.
    #[must_use]
    pub fn new(listings: impl IntoIterator<Item = TokenListing>) -> Self {
        let mut entries: BTreeMap<_, _> =
            Chain::all().map(|chain| ((chain, Asset::Native), RegistryEntry::native(chain))).collect();
        for listing in listings {
            match entries.entry((listing.chain, Asset::Token(listing.contract))) {
                Entry::Vacant(place) => {
                    place.insert(RegistryEntry::listed(listing));
                }
                Entry::Occupied(mut held) => {
                    let held = held.get_mut();
                    let cg_id = held.cg_id.take().or_else(|| listing.coingecko_id.clone());
                    if listing.verified && !held.verified {
                        *held = RegistryEntry::listed(listing);
                    }
                    held.cg_id = cg_id;
                }
            }
        }
        let mut by_symbol: BTreeMap<(Chain, String), Vec<Asset>> = BTreeMap::new();
        for ((chain, asset), entry) in &entries {
            by_symbol.entry((*chain, entry.symbol.clone())).or_default().push(*asset);
        }
        for ((chain, symbol), namesakes) in &mut by_symbol {
            namesakes.sort_by_key(|asset| (!entries[&(*chain, *asset)].verified, *asset));
            let verified: Vec<Asset> =
                namesakes.iter().copied().filter(|asset| entries[&(*chain, *asset)].verified).collect();
            if let [Asset::Token(_)] = verified[..] {
                let entry = entries.get_mut(&(*chain, verified[0])).expect("listed above");
                entry.usd_mode = UsdMode::Rate;
                entry.rate_symbol = Some(symbol.clone());
            }
        }
        Self { entries, by_symbol }
    }

    /// The entry of an asset.
    #[must_use]
    pub fn get(&self, chain: Chain, asset: &Asset) -> Option<&RegistryEntry> {
        self.entries.get(&(chain, *asset))
    }

    /// All entries, by chain; the native coin first, then by contract.
    pub fn entries(&self) -> impl Iterator<Item = &RegistryEntry> {
        self.entries.values()
    }

    /// The entries of one chain, the native coin first, then by contract.
    pub fn entries_of(&self, chain: Chain) -> impl Iterator<Item = &RegistryEntry> {
        self.entries.range((chain, Asset::Native)..).map_while(move |((of, _), entry)| (*of == chain).then_some(entry))
    }

    /// All entries of a symbol on a chain, in any case of letters: verified first, then by contract.
    #[must_use]
    pub fn namesakes(&self, chain: Chain, symbol: &str) -> Vec<&RegistryEntry> {
        let assets = self.by_symbol.get(&(chain, symbol.to_lowercase()));
        assets.into_iter().flatten().map(|asset| &self.entries[&(chain, *asset)]).collect()
    }

    /// What a symbol means on a chain: its one verified entry, even when unverified namesakes exist, or its only entry.
    #[must_use]
    pub fn resolve(&self, chain: Chain, symbol: &str) -> SymbolMatch<'_> {
        let namesakes = self.namesakes(chain, symbol);
        match namesakes[..] {
            [] => SymbolMatch::NotFound,
            [only] => SymbolMatch::One(only),
            [first, second, ..] if first.verified && !second.verified => SymbolMatch::One(first),
            [..] => SymbolMatch::Ambiguous(namesakes),
        }
    }
}

impl RegistryEntry {
    fn native(chain: Chain) -> Self {
        Self {
            chain,
            symbol: chain.native_symbol().to_owned(),
            display_name: chain.native_name().to_owned(),
            asset: Asset::Native,
            decimals: chain.native_decimals(),
            verified: true,
            usd_mode: UsdMode::Rate,
            rate_symbol: Some(chain.native_symbol().to_owned()),
            cg_id: None,
            market_cap_usd: None,
            mcap_updated_at: None,
        }
    }

    /// A listed token, not yet valued: that depends on its namesakes.
    fn listed(listing: TokenListing) -> Self {
        Self {
            chain: listing.chain,
            symbol: listing.symbol.to_lowercase(),
            display_name: listing.name,
            asset: Asset::Token(listing.contract),
            decimals: listing.decimals,
            verified: listing.verified,
            usd_mode: UsdMode::None,
            rate_symbol: None,
            cg_id: listing.coingecko_id,
            market_cap_usd: None,
            mcap_updated_at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(contract: u8, symbol: &str, verified: bool) -> TokenListing {
        TokenListing {
            chain: Chain::ETHEREUM,
            contract: Address::Evm([contract; 20]),
            symbol: symbol.to_owned(),
            name: symbol.to_owned(),
            decimals: contract,
            verified,
            coingecko_id: None,
        }
    }

    fn rate_symbol(registry: &Registry, contract: u8) -> Option<&str> {
        let asset = Asset::Token(Address::Evm([contract; 20]));
        registry.get(Chain::ETHEREUM, &asset).unwrap().rate_symbol.as_deref()
    }

    #[test]
    fn a_symbol_with_one_verified_entry_means_it_whatever_its_namesakes() {
        let registry = Registry::new([listing(1, "USDT", false), listing(2, "USDT", true), listing(3, "usdt", false)]);
        let SymbolMatch::One(entry) = registry.resolve(Chain::ETHEREUM, "UsDt") else { panic!() };
        assert_eq!((entry.decimals, entry.symbol.as_str(), entry.verified), (2, "usdt", true));
        assert_eq!(rate_symbol(&registry, 2), Some("usdt"));
        assert_eq!(rate_symbol(&registry, 1), None);
        assert_eq!(registry.resolve(Chain::BSC, "usdt"), SymbolMatch::NotFound);
    }

    #[test]
    fn verified_namesakes_borrow_no_price_and_the_native_coin_keeps_its_own() {
        let registry = Registry::new([listing(1, "abc", true), listing(2, "ABC", true), listing(3, "eth", true)]);
        assert_eq!(rate_symbol(&registry, 1), None);
        assert_eq!(rate_symbol(&registry, 3), None);
        let native = registry.get(Chain::ETHEREUM, &Asset::Native).unwrap();
        assert_eq!(native.rate_symbol.as_deref(), Some("eth"));
        assert!(matches!(registry.resolve(Chain::ETHEREUM, "abc"), SymbolMatch::Ambiguous(both) if both.len() == 2));
    }

    #[test]
    fn a_verified_listing_stands_before_an_earlier_unverified_one() {
        let registry = Registry::new([listing(1, "old", false), TokenListing { decimals: 9, ..listing(1, "new", true) }]);
        let entries: Vec<_> = registry.entries_of(Chain::ETHEREUM).map(|entry| entry.symbol.as_str()).collect();
        assert_eq!(entries, ["eth", "new"]);
        assert_eq!(registry.entries().count(), 5);
    }
}
