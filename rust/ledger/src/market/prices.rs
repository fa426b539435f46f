//! Prices in US dollars by rate symbol.

use headwater_types::Timestamp;
use std::collections::BTreeMap;

/// A price is used for at most this long after its time.
pub const PRICE_MAX_AGE_SECS: i64 = 86_400;

/// One price as a file lists it: what `prices import` offers to the store.
#[derive(Debug, Clone, PartialEq)]
pub struct PricePoint {
    /// Lowercase rate symbol.
    pub symbol: String,
    /// From when it may be used: a daily price carries the last second of its day, so that nothing looks ahead.
    pub time: Timestamp,
    /// US dollars per whole unit.
    pub usd: f64,
}

/// A price found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// US dollars per whole unit.
    pub usd: f64,
    /// Its time.
    pub time: Timestamp,
}

/// All prices in force: by symbol, sorted by time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriceTable {
    series: BTreeMap<String, Vec<Price>>,
}

impl PriceTable {
    /// All prices; of two for one symbol and time the later in the iteration stands.
    #[must_use]
    pub fn new(points: impl IntoIterator<Item = PricePoint>) -> Self {
        let mut times: BTreeMap<String, BTreeMap<Timestamp, f64>> = BTreeMap::new();
        for point in points {
            times.entry(point.symbol).or_default().insert(point.time, point.usd);
        }
        let series = |prices: BTreeMap<_, _>| prices.into_iter().map(|(time, usd)| Price { usd, time }).collect();
        Self { series: times.into_iter().map(|(symbol, prices)| (symbol, series(prices))).collect() }
    }

    /// The price in force at a time: the latest at or before it, when not older than [`PRICE_MAX_AGE_SECS`].
    #[must_use]
    pub fn at(&self, symbol: &str, time: Timestamp) -> Option<Price> {
        let series = self.series(symbol);
        let price = *series[..series.partition_point(|price| price.time <= time)].last()?;
        (time.secs().saturating_sub(price.time.secs()) <= PRICE_MAX_AGE_SECS).then_some(price)
    }

    /// The latest price held, however old.
    #[must_use]
    pub fn latest(&self, symbol: &str) -> Option<Price> {
        self.series(symbol).last().copied()
    }

    /// All prices of a symbol by time; empty when there are none.
    #[must_use]
    pub fn series(&self, symbol: &str) -> &[Price] {
        self.series.get(symbol).map_or(&[], Vec::as_slice)
    }

    /// The symbols that have prices, in order.
    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        self.series.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(time: i64, usd: f64) -> PricePoint {
        PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(time), usd }
    }

    #[test]
    fn a_price_is_used_from_its_time_for_one_day() {
        let table = PriceTable::new([point(200_000, 2.0), point(100_000, 1.0)]);
        let usd = |time| table.at("eth", Timestamp::new(time)).map(|price| price.usd);
        assert_eq!(usd(99_999), None);
        assert_eq!(usd(100_000), Some(1.0));
        assert_eq!(usd(186_400), Some(1.0));
        assert_eq!(usd(186_401), None);
        assert_eq!(usd(200_000), Some(2.0));
        assert_eq!(table.latest("eth").map(|price| price.usd), Some(2.0));
        assert_eq!(table.at("btc", Timestamp::new(200_000)), None);
    }

    #[test]
    fn of_two_prices_for_one_time_the_later_given_stands() {
        let table = PriceTable::new([point(5, 1.0), point(5, 3.0)]);
        assert_eq!(table.series("eth"), [Price { usd: 3.0, time: Timestamp::new(5) }]);
    }
}
