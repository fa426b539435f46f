//! Prices in US dollars by rate symbol.

use std::collections::BTreeMap;

use headwater_types::Timestamp;

use crate::LedgerError;

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
    /// The union of prices; of two prices of one symbol and time the later one stands.
    #[must_use]
    pub fn new(points: impl IntoIterator<Item = PricePoint>) -> Self {
        let mut series: BTreeMap<String, BTreeMap<Timestamp, f64>> = BTreeMap::new();
        for point in points {
            series.entry(point.symbol.to_lowercase()).or_default().insert(point.time, point.usd);
        }
        let sorted = |points: BTreeMap<_, _>| points.into_iter().map(|(time, usd)| Price { usd, time }).collect();
        Self { series: series.into_iter().map(|(symbol, points)| (symbol, sorted(points))).collect() }
    }

    /// The last price at or before `time`, not older than [`PRICE_MAX_AGE_SECS`]. O(log n).
    ///
    /// ```
    /// use headwater_ledger::market::{PricePoint, PriceTable};
    /// use headwater_types::Timestamp;
    /// let table = PriceTable::new([PricePoint { symbol: "eth".into(), time: Timestamp::new(1000), usd: 2.5 }]);
    /// assert_eq!(table.at("eth", Timestamp::new(999)), None);
    /// assert_eq!(table.at("eth", Timestamp::new(1000 + 86_400)).unwrap().usd, 2.5);
    /// assert_eq!(table.at("eth", Timestamp::new(1000 + 86_401)), None);
    /// ```
    #[must_use]
    pub fn at(&self, symbol: &str, time: Timestamp) -> Option<Price> {
        let series = self.series(symbol);
        let after = series.partition_point(|price| price.time <= time);
        let price = *series[..after].last()?;
        (time.secs().saturating_sub(price.time.secs()) <= PRICE_MAX_AGE_SECS).then_some(price)
    }

    /// The last price of all, however old.
    #[must_use]
    pub fn latest(&self, symbol: &str) -> Option<Price> {
        self.series(symbol).last().copied()
    }

    /// All prices of a symbol, by time; empty when there is none.
    #[must_use]
    pub fn series(&self, symbol: &str) -> &[Price] {
        self.series.get(symbol).map_or(&[], Vec::as_slice)
    }

    /// The symbols that have a price, in order.
    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        self.series.keys().map(String::as_str)
    }
}

impl PricePoint {
    /// Whether a price may be imported: a number, finite, not negative, of a symbol.
    ///
    /// # Errors
    /// [`LedgerError::InvalidPrice`] when it is not.
    pub fn check(&self) -> Result<(), LedgerError> {
        if self.usd.is_finite() && !self.usd.is_sign_negative() && !self.symbol.is_empty() {
            return Ok(());
        }
        Err(LedgerError::InvalidPrice { symbol: self.symbol.clone(), time: self.time, usd: self.usd })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(symbol: &str, secs: i64, usd: f64) -> PricePoint {
        PricePoint { symbol: symbol.to_owned(), time: Timestamp::new(secs), usd }
    }

    #[test]
    fn a_price_is_never_looked_up_ahead_of_its_time_nor_when_too_old() {
        let day = PRICE_MAX_AGE_SECS;
        let table = PriceTable::new([point("btc", 2 * day, 2.0), point("btc", 0, 1.0)]);
        let at = |secs| table.at("btc", Timestamp::new(secs)).map(|price| price.usd);
        assert_eq!([at(-1), at(0), at(day), at(day + 1)], [None, Some(1.0), Some(1.0), None]);
        assert_eq!([at(2 * day), at(3 * day), at(3 * day + 1)], [Some(2.0), Some(2.0), None]);
        assert_eq!(table.latest("btc").unwrap().usd.to_bits(), 2.0f64.to_bits());
        assert_eq!(table.latest("eth"), None);
        assert_eq!(table.symbols().collect::<Vec<_>>(), ["btc"]);
    }

    #[test]
    fn of_two_prices_of_one_time_the_later_import_stands() {
        let table = PriceTable::new([point("btc", 5, 1.0), point("btc", 5, 3.0)]);
        assert_eq!(table.series("btc"), [Price { usd: 3.0, time: Timestamp::new(5) }]);
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for usd in [f64::NAN, f64::INFINITY, -1.0, -0.0] {
            assert!(matches!(point("btc", 5, usd).check(), Err(LedgerError::InvalidPrice { .. })), "{usd}");
        }
        assert!(point("btc", 5, 0.0).check().is_ok());
    }
}
