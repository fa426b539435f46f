//! What an asset counts as under a registry, and what its movements are worth: the one place that decides either.

use headwater_types::{Address, Amount, Asset, Chain, Timestamp, Usd};
use xxhash_rust::xxh3::Xxh3;

use super::{PriceTable, Registry, RegistryEntry};
use crate::facts::TokenFacts;

/// What an asset counts as: whether anybody vouches for it, in which units it is written, and how it is valued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetTerms {
    /// Lowercase symbol; `None` when neither registry nor chain data names it.
    pub symbol: Option<String>,
    /// Decimals; `None` when nobody states them.
    pub decimals: Option<u8>,
    /// Whether a registry vouches for it. Native coins always are.
    pub verified: bool,
    /// Under which its price is found.
    pub rate_symbol: Option<String>,
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
        }
    }

    /// US dollars per whole unit at a time.
    #[must_use]
    pub fn price(&self, prices: &PriceTable, time: Timestamp) -> Option<f64> {
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
            sum.update(&[u8::from(entry.verified), entry.decimals]);
            if let Some(symbol) = &entry.rate_symbol {
                sum.update(symbol.as_bytes());
                symbols.insert(symbol);
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
    use crate::market::{PricePoint, TokenListing};

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

    #[test]
    fn the_stamp_changes_with_what_values_depend_on_and_with_nothing_else() {
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
