//! The terms that an asset counts under by a registry, and the values of its movements: the one place that decides
//! either.

use headwater_types::{Address, Amount, Asset, Chain, Timestamp, Usd};
use xxhash_rust::xxh3::Xxh3;

use super::{PriceTable, Registry, RegistryEntry};
use crate::facts::TokenFacts;

/// The terms of an asset: whether anybody vouches for it, in which units it is written, and how it is valued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetTerms {
    /// Lowercase symbol; `None` when neither registry nor chain data names it.
    pub symbol: Option<String>,
    /// Decimals; `None` when nobody states them.
    pub decimals: Option<u8>,
    /// True if a registry vouches for it. Native coins always are.
    pub verified: bool,
    /// Under which its price is found.
    pub rate_symbol: Option<String>,
    /// True if its contract is pegged to the US dollar.
    pub pegged: bool,
}

impl AssetTerms {
    /// The terms of an asset: those of its registry entry, else what the chain data says, which nobody vouches for and
    /// which therefore has no value. `facts` is asked only where no registry lists the token.
    ///
    /// # Errors
    /// Those of `facts`.
    pub fn of<E>(
        registry: &Registry,
        chain: Chain,
        asset: &Asset,
        facts: impl FnOnce(&Address) -> Result<Option<TokenFacts>, E>,
    ) -> Result<Self, E> {
        if let Some(entry) = registry.entry(chain, asset) {
            return Ok(Self::listed(entry));
        }
        let facts = asset.contract().map(facts).transpose()?.flatten();
        Ok(Self {
            symbol: facts.as_ref().and_then(|facts| facts.symbol.as_deref()).map(str::to_lowercase),
            decimals: facts.and_then(|facts| facts.decimals),
            verified: false,
            rate_symbol: None,
            pegged: false,
        })
    }

    /// The terms of a registry entry.
    #[must_use]
    pub fn listed(entry: &RegistryEntry) -> Self {
        Self {
            symbol: Some(entry.symbol.clone()),
            decimals: Some(entry.decimals),
            verified: entry.verified,
            rate_symbol: entry.rate_symbol.clone(),
            pegged: entry.pegged,
        }
    }

    /// Returns US dollars per whole unit at a time: the price of the rate symbol, and one dollar for a pegged token as
    /// long as no price of its symbol was imported. After the first import gaps are gaps for it too.
    ///
    /// ```
    /// use headwater_ledger::market::{AssetTerms, PricePoint, PriceTable, Registry, SymbolMatch};
    /// use headwater_types::{Chain, Timestamp};
    /// let registry = Registry::default();
    /// let SymbolMatch::One(tether) = registry.symbol(Chain::TRON, "usdt") else { panic!() };
    /// let tether = AssetTerms::listed(tether);
    /// let price = |prices: &PriceTable, secs| tether.price(prices, Timestamp::new(secs));
    /// assert_eq!(price(&PriceTable::default(), 5), Some(1.0));
    /// let prices = PriceTable::new([PricePoint { symbol: "usdt".into(), time: Timestamp::new(9), usd: 0.99 }]);
    /// assert_eq!((price(&prices, 5), price(&prices, 9)), (None, Some(0.99)));
    /// ```
    #[must_use]
    pub fn price(&self, prices: &PriceTable, time: Timestamp) -> Option<f64> {
        if self.pegged && self.symbol.as_deref().is_some_and(|symbol| !prices.holds(symbol)) {
            return Some(1.0);
        }
        prices.at(self.rate_symbol.as_deref()?, time).map(|price| price.usd)
    }

    /// US dollars of an amount at a time as a double, for one movement that is shown; `None` when it has no price.
    ///
    /// ```
    /// use headwater_ledger::market::{AssetTerms, PricePoint, PriceTable, Registry};
    /// use headwater_types::{Amount, Asset, Chain, Timestamp, Usd};
    /// let registry = Registry::default();
    /// let ether = AssetTerms::listed(registry.entry(Chain::ETHEREUM, &Asset::Native).unwrap());
    /// let prices = PriceTable::new([PricePoint { symbol: "eth".into(), time: Timestamp::new(0), usd: 2000.0 }]);
    /// let amount = Amount::parse_decimal("0.25", 18).unwrap();
    /// assert_eq!(ether.value(&prices, amount, Timestamp::new(60)), Some(500.0));
    /// assert_eq!(ether.usd(&prices, amount, Timestamp::new(60)), Usd::from_f64(500.0));
    /// assert_eq!(ether.usd(&prices, amount, Timestamp::new(-1)), None);
    /// ```
    #[must_use]
    pub fn value(&self, prices: &PriceTable, amount: Amount, time: Timestamp) -> Option<f64> {
        Some(amount.to_f64(self.decimals?) * self.price(prices, time)?)
    }

    /// The same rounded once, for sums; `None` when it has no price, or is past the range of sums.
    #[must_use]
    pub fn usd(&self, prices: &PriceTable, amount: Amount, time: Timestamp) -> Option<Usd> {
        Usd::from_f64(self.value(prices, amount, time)?)
    }
}

/// A digest of all that the values of one chain depend on: what its registry vouches for and how it is valued, and the
/// prices in force. Equal stamps mean equal values, however the imports came to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MarketStamp(pub(crate) u128);

impl MarketStamp {
    /// The stamp of a chain. Reads its registry entries and the prices they name: O(entries + prices).
    #[must_use]
    pub fn of(registry: &Registry, prices: &PriceTable, chain: Chain) -> Self {
        let mut sum = Xxh3::new();
        let mut symbols = std::collections::BTreeSet::new();
        for (asset, entry) in registry.of_chain(chain) {
            if let Some(contract) = asset.contract() {
                sum.update(contract.key().as_slice());
            }
            sum.update(&[u8::from(entry.verified), entry.decimals, u8::from(entry.pegged)]);
            if let Some(symbol) = &entry.rate_symbol {
                sum.update(symbol.as_bytes());
                symbols.insert(symbol);
            }
            if entry.pegged {
                // Whether the peg holds depends on the prices of its symbol, though a namesake be valued by them.
                symbols.insert(&entry.symbol);
            }
            sum.update(&[u8::MAX]);
        }
        for symbol in symbols {
            let series = prices.series(symbol);
            sum.update(symbol.as_bytes());
            sum.update(&(series.len() as u64).to_le_bytes());
            for price in series {
                sum.update(&price.time.secs().to_le_bytes());
                sum.update(&price.usd.to_bits().to_le_bytes());
            }
        }
        Self(sum.digest128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::{PricePoint, SymbolMatch, TokenListing};

    const CHAIN: Chain = Chain::ETHEREUM;
    const TOKEN: Address = Address::Evm([7; 20]);

    fn listing(chain: Chain, verified: bool) -> TokenListing {
        TokenListing {
            chain,
            contract: TOKEN,
            symbol: "USDX".into(),
            name: "X".into(),
            decimals: 6,
            verified,
            coingecko_id: None,
        }
    }

    fn terms(registry: &Registry) -> AssetTerms {
        let facts = TokenFacts {
            contract: TOKEN,
            symbol: Some("FAKE".into()),
            name: None,
            decimals: Some(2),
            is_non_fungible: false,
        };
        AssetTerms::of(registry, CHAIN, &Asset::Token(TOKEN), |_| Ok::<_, ()>(Some(facts))).unwrap()
    }

    #[test]
    fn what_no_registry_vouches_for_has_no_value() {
        let prices =
            ["usdx", "fake"].map(|symbol| PricePoint { symbol: symbol.into(), time: Timestamp::new(0), usd: 1.0 });
        let prices = PriceTable::new(prices);
        let value = |terms: &AssetTerms| terms.value(&prices, Amount::from(2_000_000), Timestamp::new(5));

        let unlisted = terms(&Registry::default());
        assert_eq!((unlisted.symbol.as_deref(), unlisted.decimals, unlisted.verified), (Some("fake"), Some(2), false));
        assert_eq!(value(&unlisted), None);
        let unverified = terms(&Registry::new([listing(CHAIN, false)]));
        assert_eq!((unverified.symbol.as_deref(), value(&unverified)), (Some("usdx"), None));
        let verified = terms(&Registry::new([listing(CHAIN, true)]));
        assert_eq!((verified.decimals, value(&verified)), (Some(6), Some(2.0)));
    }

    /// Tether on ethereum, as the core registry lists it or as an import does.
    fn tether(listings: Vec<TokenListing>) -> AssetTerms {
        let contract = Address::parse(CHAIN, "0xdac17f958d2ee523a2206206994597c13d831ec7").unwrap();
        let listings = listings.into_iter().map(|listing| TokenListing { contract, symbol: "USDT".into(), ..listing });
        AssetTerms::listed(Registry::new(listings).entry(CHAIN, &Asset::Token(contract)).unwrap())
    }

    #[test]
    fn pegged_token_is_a_dollar_until_the_first_import() {
        let day = 86_400;
        let point = |secs: i64, usd| PricePoint { symbol: "usdt".into(), time: Timestamp::new(secs), usd };
        let price = |points: Vec<PricePoint>, secs| {
            tether(vec![]).price(&PriceTable::new(points), Timestamp::new(secs)).map(|price| (price * 100.0).round())
        };
        assert_eq!([price(vec![], 0), price(vec![], 9 * day)], [Some(100.0), Some(100.0)]);
        let imported = || vec![point(2 * day, 0.98), point(5 * day, 0.99)];
        let at = |days: i64| price(imported(), days * day);
        // Before the first price, in the gap and behind the end nothing is known, as of any other asset.
        assert_eq!([at(1), at(2), at(3), at(4), at(6), at(7)], [None, Some(98.0), Some(98.0), None, Some(99.0), None]);
        assert_eq!(price(vec![point(0, 0.0)], 5), Some(100.0), "a gap filled with zero is not a price");
        let other = PricePoint { symbol: "usdc".into(), time: Timestamp::new(0), usd: 0.9 };
        assert_eq!(price(vec![other], 5), Some(100.0), "each symbol for itself");
    }

    #[test]
    fn peg_belongs_to_verified_contracts_alone() {
        let value =
            |terms: &AssetTerms| terms.value(&PriceTable::default(), Amount::from(2_500_000), Timestamp::new(0));
        assert_eq!(value(&tether(vec![])), Some(2.5));
        assert_eq!(value(&tether(vec![listing(CHAIN, true)])), Some(2.5), "an import that vouches for it");
        assert_eq!(value(&tether(vec![listing(CHAIN, false)])), None, "an import that does not");
        let wrapper = TokenListing { symbol: "USDC".into(), ..listing(CHAIN, true) };
        assert_eq!(value(&terms(&Registry::new([wrapper]))), None, "a namesake under another contract");
        assert_eq!(value(&terms(&Registry::default())), None, "a token that no registry lists");
        let core = Registry::default();
        for (chain, symbol) in [(Chain::ETHEREUM, "busd"), (Chain::ETHEREUM, "tusd"), (Chain::TRON, "usdd")] {
            let SymbolMatch::One(entry) = core.symbol(chain, symbol) else { panic!("{symbol}") };
            assert_eq!(value(&AssetTerms::listed(entry)), None, "{symbol}");
        }
    }

    #[test]
    fn pegged_contract_keeps_its_dollar_beside_a_namesake() {
        let namesake = TokenListing { symbol: "USDT".into(), ..listing(CHAIN, true) };
        let registry = Registry::new([namesake]);
        let contract = Address::parse(CHAIN, "0xdac17f958d2ee523a2206206994597c13d831ec7").unwrap();
        let tether = AssetTerms::listed(registry.entry(CHAIN, &Asset::Token(contract)).unwrap());
        assert_eq!(tether.rate_symbol, None, "the symbol means the imported token");
        let price = |prices: &PriceTable| tether.price(prices, Timestamp::new(0));
        assert_eq!(price(&PriceTable::default()), Some(1.0));
        let point = PricePoint { symbol: "usdt".into(), time: Timestamp::new(0), usd: 1.0 };
        assert_eq!(price(&PriceTable::new([point.clone()])), None, "the imported price is that of the namesake");
        let stamp = |points: Vec<PricePoint>| MarketStamp::of(&registry, &PriceTable::new(points), CHAIN);
        assert_ne!(stamp(vec![]), stamp(vec![point]));
    }

    #[test]
    fn stamp_changes_only_with_what_values_depend_on() {
        let point = |symbol: &str, usd| PricePoint { symbol: symbol.into(), time: Timestamp::new(0), usd };
        let stamp = |listings: Vec<TokenListing>, points: Vec<PricePoint>| {
            MarketStamp::of(&Registry::new(listings), &PriceTable::new(points), CHAIN)
        };
        let base = stamp(vec![listing(CHAIN, true)], vec![point("usdx", 1.0)]);
        let renamed = TokenListing { name: "Another".into(), ..listing(CHAIN, true) };
        assert_eq!(base, stamp(vec![renamed], vec![point("usdx", 1.0), point("unused", 3.0)]));
        assert_eq!(base, stamp(vec![listing(CHAIN, true), listing(Chain::BSC, true)], vec![point("usdx", 1.0)]));
        assert_ne!(base, stamp(vec![listing(CHAIN, true)], vec![point("usdx", 1.5)]));
        assert_ne!(base, stamp(vec![listing(CHAIN, false)], vec![point("usdx", 1.0)]));
        let six = TokenListing { decimals: 7, ..listing(CHAIN, true) };
        assert_ne!(base, stamp(vec![six], vec![point("usdx", 1.0)]));
    }
}
