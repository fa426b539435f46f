//! The contracts that are the tokens people mean, as public registries state them.

use std::collections::{BTreeMap, BTreeSet};

use headwater_types::{Asset, Chain, Timestamp};
use serde::{Deserialize, Serialize};

use super::PriceTable;
use super::core_tokens::{core_tokens, is_pegged};
use super::listing::TokenListing;

/// A registry entry as answers carry it: the native coin of a chain, or a listed token.
#[derive(Debug, Clone, PartialEq)]
pub struct RegistryEntry {
    /// The chain.
    pub chain: Chain,
    /// Lowercase symbol.
    pub symbol: String,
    /// Name for people.
    pub display_name: String,
    /// The asset.
    pub asset: Asset,
    /// Decimals.
    pub decimals: u8,
    /// True if a registry vouches for it.
    pub verified: bool,
    /// The valuation.
    pub usd_mode: UsdMode,
    /// The symbol under which its price is looked up. Of verified namesakes on one chain none has one, so that no
    /// token borrows the price of another; the native coin keeps its own.
    pub rate_symbol: Option<String>,
    /// True if its contract is pegged to the US dollar: worth one dollar as long as no price of its symbol was imported.
    pub pegged: bool,
    /// Its id at CoinGecko.
    pub cg_id: Option<String>,
    /// Market capitalisation, where an import gave one.
    pub market_cap_usd: Option<f64>,
    /// When that was.
    pub mcap_updated_at: Option<Timestamp>,
    /// The source.
    pub source: EntrySource,
}

/// The source of a registry entry, in the order in which a symbol means them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntrySource {
    /// The chain: its native coin.
    Native,
    /// A list that was imported into the store.
    Import,
    /// The core registry, which is part of the program.
    Core,
}

/// The way in which an asset is valued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsdMode {
    /// By the price of its rate symbol.
    Rate,
    /// Not at all.
    None,
}

/// The entries that a symbol resolves to on a chain.
#[derive(Debug, Clone, PartialEq)]
pub enum SymbolMatch<'a> {
    /// The one verified entry that is meant, or the only entry.
    One(&'a RegistryEntry),
    /// Several equally good entries, verified first, then by contract.
    Ambiguous(Vec<&'a RegistryEntry>),
    /// None.
    NotFound,
}

/// All registry entries in force: native coins, the core tokens, and what was imported.
///
/// ```
/// use headwater_ledger::market::{Registry, SymbolMatch};
/// use headwater_types::{Asset, Chain};
/// let registry = Registry::default();
/// let SymbolMatch::One(ether) = registry.symbol(Chain::ETHEREUM, "ETH") else { panic!() };
/// assert_eq!((ether.asset, ether.decimals), (Asset::Native, 18));
/// let SymbolMatch::One(tether) = registry.symbol(Chain::BSC, "USDT") else { panic!() };
/// assert_eq!((tether.decimals, tether.rate_symbol.as_deref()), (18, Some("usdt")));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Registry {
    entries: BTreeMap<(Chain, Asset), RegistryEntry>,
    /// Assets of a lowercase symbol: verified first (the native coin before all, imported before core ones), then by
    /// contract.
    by_symbol: BTreeMap<(Chain, String), Vec<Asset>>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new([])
    }
}

impl Registry {
    /// The union of imported listings, with the native coins and the core tokens. Of two listings of one contract a
    /// verified one takes precedence over an unverified one, then the later over the earlier; any of them replaces the
    /// core entry of its contract.
    #[must_use]
    pub fn new(listings: impl IntoIterator<Item = TokenListing>) -> Self {
        let native = Chain::all().map(native_entry);
        let core = core_tokens().iter().map(|listing| listed_entry(listing.clone(), EntrySource::Core));
        let mut entries: BTreeMap<_, _> = native.chain(core).map(|entry| ((entry.chain, entry.asset), entry)).collect();
        for listing in listings {
            let key = (listing.chain, Asset::Token(listing.contract));
            let is_kept = entries
                .get(&key)
                .is_none_or(|held| held.source == EntrySource::Core || listing.verified || !held.verified);
            if is_kept {
                entries.insert(key, listed_entry(listing, EntrySource::Import));
            }
        }

        let mut by_symbol: BTreeMap<_, Vec<Asset>> = BTreeMap::new();
        for ((chain, asset), entry) in &entries {
            by_symbol.entry((*chain, entry.symbol.clone())).or_default().push(*asset);
        }
        for ((chain, symbol), assets) in &mut by_symbol {
            assets.sort_by_key(|asset| {
                let entry = &entries[&(*chain, *asset)];
                (!entry.verified, entry.source, *asset)
            });
            give_rate_symbol(&mut entries, *chain, symbol, assets);
        }
        Self { entries, by_symbol }
    }

    /// The entry of an asset; `None` when no list has it.
    #[must_use]
    pub fn entry(&self, chain: Chain, asset: &Asset) -> Option<&RegistryEntry> {
        self.entries.get(&(chain, *asset))
    }

    /// All entries of a chain in the order of answers: the native coin, then by market capitalisation descending
    /// (unknown last), then by symbol, then by contract.
    #[must_use]
    pub fn entries(&self, chain: Chain) -> Vec<&RegistryEntry> {
        let mut entries: Vec<_> = self.entries.values().filter(|entry| entry.chain == chain).collect();
        entries.sort_by(|a, b| {
            let rank = |entry: &RegistryEntry| entry.market_cap_usd.unwrap_or(-1.0);
            (a.asset != Asset::Native)
                .cmp(&(b.asset != Asset::Native))
                .then_with(|| rank(b).total_cmp(&rank(a)))
                .then_with(|| (&a.symbol, a.asset).cmp(&(&b.symbol, b.asset)))
        });
        entries
    }

    /// All entries of a chain by asset: cheaper than [`Registry::entries`], where the order does not matter.
    pub fn of_chain(&self, chain: Chain) -> impl Iterator<Item = (&Asset, &RegistryEntry)> {
        let entries = self.entries.range((chain, Asset::Native)..);
        entries.take_while(move |((of, _), _)| *of == chain).map(|((_, asset), entry)| (asset, entry))
    }

    /// Returns the symbols of a chain that are worth a dollar by the peg, in order: those of its pegged tokens of which no
    /// price was imported.
    ///
    /// ```
    /// use headwater_ledger::market::{PricePoint, PriceTable, Registry};
    /// use headwater_types::{Chain, Timestamp};
    /// let (registry, none) = (Registry::default(), PriceTable::default());
    /// assert_eq!(registry.pegged(Chain::TRON, &none), ["usd1", "usdc", "usdt"].into());
    /// let imported = PriceTable::new([PricePoint { symbol: "usdt".into(), time: Timestamp::new(0), usd: 0.99 }]);
    /// assert_eq!(registry.pegged(Chain::TRON, &imported), ["usd1", "usdc"].into());
    /// ```
    #[must_use]
    pub fn pegged(&self, chain: Chain, prices: &PriceTable) -> BTreeSet<&str> {
        let entries = self.of_chain(chain).map(|(_, entry)| entry);
        let pegged = entries.filter(|entry| entry.pegged && !prices.holds(&entry.symbol));
        pegged.map(|entry| entry.symbol.as_str()).collect()
    }

    /// Resolves a symbol, in any case, on a chain: its native coin before all, then the one verified entry that
    /// was imported, then the core one, then the only entry.
    #[must_use]
    pub fn symbol(&self, chain: Chain, symbol: &str) -> SymbolMatch<'_> {
        let Some(assets) = self.by_symbol.get(&(chain, symbol.to_lowercase())) else {
            return SymbolMatch::NotFound;
        };
        let matches: Vec<_> = assets.iter().map(|asset| &self.entries[&(chain, *asset)]).collect();
        if is_meant_alone(&matches) || matches.len() == 1 {
            SymbolMatch::One(matches[0])
        } else {
            SymbolMatch::Ambiguous(matches)
        }
    }
}

/// Returns whether the first of the entries of a symbol is verified and the only one of its source that is.
fn is_meant_alone(matches: &[&RegistryEntry]) -> bool {
    let is_rival = |entry: &&RegistryEntry| entry.verified && entry.source == matches[0].source;
    matches[0].verified && !matches[1..].iter().any(is_rival)
}

/// The first verified entry of a symbol may be valued by its price, where no other verified entry could be meant.
fn give_rate_symbol(
    entries: &mut BTreeMap<(Chain, Asset), RegistryEntry>,
    chain: Chain,
    symbol: &str,
    assets: &[Asset],
) {
    let matches: Vec<_> = assets.iter().map(|asset| &entries[&(chain, *asset)]).collect();
    if is_meant_alone(&matches) {
        let entry = entries.get_mut(&(chain, assets[0])).expect("the index names entries only");
        entry.rate_symbol = Some(symbol.to_owned());
        entry.usd_mode = UsdMode::Rate;
    }
}

fn native_entry(chain: Chain) -> RegistryEntry {
    RegistryEntry {
        chain,
        symbol: chain.native_symbol().to_owned(),
        display_name: chain.native_name().to_owned(),
        asset: Asset::Native,
        decimals: chain.native_decimals(),
        verified: true,
        usd_mode: UsdMode::None,
        rate_symbol: None,
        pegged: false,
        cg_id: None,
        market_cap_usd: None,
        mcap_updated_at: None,
        source: EntrySource::Native,
    }
}

fn listed_entry(listing: TokenListing, source: EntrySource) -> RegistryEntry {
    RegistryEntry {
        chain: listing.chain,
        symbol: listing.symbol.to_lowercase(),
        display_name: listing.name,
        asset: Asset::Token(listing.contract),
        decimals: listing.decimals,
        verified: listing.verified,
        usd_mode: UsdMode::None,
        rate_symbol: None,
        pegged: listing.verified && is_pegged(listing.chain, &listing.contract),
        cg_id: listing.coingecko_id,
        market_cap_usd: None,
        mcap_updated_at: None,
        source,
    }
}

#[cfg(test)]
mod tests {
    use headwater_types::Address;

    use super::*;

    const CHAIN: Chain = Chain::ETHEREUM;

    fn listing(contract: u8, symbol: &str, verified: bool) -> TokenListing {
        TokenListing {
            chain: CHAIN,
            contract: Address::Evm([contract; 20]),
            symbol: symbol.to_owned(),
            name: format!("{symbol} {contract}"),
            decimals: 6,
            verified,
            coingecko_id: None,
        }
    }

    fn entry(registry: &Registry, contract: u8) -> &RegistryEntry {
        registry.entry(CHAIN, &Asset::Token(Address::Evm([contract; 20]))).unwrap()
    }

    #[test]
    fn native_coins_are_always_there_and_come_first() {
        let registry = Registry::new([listing(2, "AAA", true), listing(1, "AAA", false)]);
        let mut entries = registry.entries(CHAIN);
        entries.retain(|entry| entry.source != EntrySource::Core);
        let symbols: Vec<_> = entries.iter().map(|entry| (&*entry.symbol, entry.asset)).collect();
        let token = |contract| Asset::Token(Address::Evm([contract; 20]));
        assert_eq!(symbols, [("eth", Asset::Native), ("aaa", token(1)), ("aaa", token(2))]);
        assert_eq!(registry.entries(Chain::BITCOIN).len(), 1);
    }

    #[test]
    fn verified_listing_prevails_then_the_later_one() {
        let name = |listings: Vec<TokenListing>| entry(&Registry::new(listings), 1).symbol.clone();
        assert_eq!(name(vec![listing(1, "Good", true), listing(1, "Bad", false)]), "good");
        assert_eq!(name(vec![listing(1, "Bad", false), listing(1, "Good", true)]), "good");
        assert_eq!(name(vec![listing(1, "Old", true), listing(1, "New", true)]), "new");
        assert_eq!(name(vec![listing(1, "Old", false), listing(1, "New", false)]), "new");
    }

    #[test]
    fn symbol_resolves_to_one_verified_match_and_two_are_ambiguous() {
        let one = Registry::new([listing(1, "USDX", false), listing(2, "USDX", true), listing(3, "usdx", false)]);
        assert_eq!(one.symbol(CHAIN, "uSdX"), SymbolMatch::One(entry(&one, 2)));
        assert_eq!(one.symbol(Chain::BSC, "usdx"), SymbolMatch::NotFound);

        let two = Registry::new([listing(1, "USDX", false), listing(3, "USDX", true), listing(2, "USDX", true)]);
        let expected = vec![entry(&two, 2), entry(&two, 3), entry(&two, 1)];
        assert_eq!(two.symbol(CHAIN, "usdx"), SymbolMatch::Ambiguous(expected), "verified first, then by contract");

        let unverified = Registry::new([listing(1, "X", false), listing(2, "X", false), listing(3, "Y", false)]);
        assert!(matches!(unverified.symbol(CHAIN, "x"), SymbolMatch::Ambiguous(entries) if entries.len() == 2));
        assert_eq!(unverified.symbol(CHAIN, "y"), SymbolMatch::One(entry(&unverified, 3)));
    }

    #[test]
    fn no_token_borrows_the_price_of_another() {
        let registry = Registry::new([
            listing(1, "usdx", true),
            listing(2, "usdx", false),
            listing(3, "twin", true),
            listing(4, "twin", true),
            listing(5, "eth", true),
        ]);
        let rate = |contract| entry(&registry, contract).rate_symbol.as_deref();
        assert_eq!([rate(1), rate(2), rate(3), rate(4), rate(5)], [Some("usdx"), None, None, None, None]);
        let ether = registry.entry(CHAIN, &Asset::Native).unwrap();
        assert_eq!((ether.rate_symbol.as_deref(), ether.usd_mode), (Some("eth"), UsdMode::Rate));
        assert_eq!(entry(&registry, 2).usd_mode, UsdMode::None);
        assert_eq!(registry.symbol(CHAIN, "eth"), SymbolMatch::One(ether));
    }

    fn tether() -> Address {
        Address::parse(CHAIN, "0xdac17f958d2ee523a2206206994597c13d831ec7").unwrap()
    }

    #[test]
    fn core_entry_gives_way_to_an_imported_one_of_its_contract() {
        for verified in [true, false] {
            let renamed = TokenListing { contract: tether(), ..listing(1, "OLD", verified) };
            let registry = Registry::new([renamed]);
            let held = registry.entry(CHAIN, &Asset::Token(tether())).unwrap();
            assert_eq!((held.symbol.as_str(), held.verified, held.source), ("old", verified, EntrySource::Import));
            assert_eq!(registry.symbol(CHAIN, "usdt"), SymbolMatch::NotFound);
        }
    }

    #[test]
    fn core_symbol_means_an_imported_verified_namesake() {
        let registry = Registry::new([listing(1, "USDT", true)]);
        assert_eq!(registry.symbol(CHAIN, "usdt"), SymbolMatch::One(entry(&registry, 1)));
        let core = registry.entry(CHAIN, &Asset::Token(tether())).unwrap();
        assert_eq!((core.verified, core.rate_symbol.as_deref(), core.source), (true, None, EntrySource::Core));

        let registry = Registry::new([listing(1, "USDT", false)]);
        let core = registry.entry(CHAIN, &Asset::Token(tether())).unwrap();
        assert_eq!(registry.symbol(CHAIN, "usdt"), SymbolMatch::One(core));
        assert_eq!((core.rate_symbol.as_deref(), entry(&registry, 1).rate_symbol.as_deref()), (Some("usdt"), None));
    }

    #[test]
    fn pegged_is_the_contract_whatever_list_names_it() {
        let is_pegged = |listing: TokenListing| {
            let contract = Asset::Token(listing.contract);
            Registry::new([listing]).entry(CHAIN, &contract).unwrap().pegged
        };
        assert!(is_pegged(TokenListing { contract: tether(), ..listing(1, "USDT", true) }));
        assert!(is_pegged(TokenListing { contract: tether(), ..listing(1, "USD₮", true) }));
        assert!(!is_pegged(TokenListing { contract: tether(), ..listing(1, "USDT", false) }), "unverified");
        assert!(!is_pegged(listing(1, "USDT", true)), "the symbol alone");
    }
}
