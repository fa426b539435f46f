//! Exchange rates: units of other currencies per US dollar.

use std::collections::BTreeMap;

use headwater_types::Timestamp;

use crate::LedgerError;

/// An exchange rate is used for at most this long after its time: tables have no rows for weekends and holidays, and
/// the longest of these rests last five days.
pub const FX_MAX_AGE_SECS: i64 = 7 * 86_400;

/// The currency that prices are held in.
pub const USD: &str = "USD";

/// One exchange rate as a file lists it: what `prices import --fx` offers to the store.
#[derive(Debug, Clone, PartialEq)]
pub struct FxPoint {
    /// Currency code of three letters (ISO 4217).
    pub currency: String,
    /// From when it may be used: a daily rate carries the last second of its day, so that nothing looks ahead.
    pub time: Timestamp,
    /// Units per US dollar.
    pub per_usd: f64,
}

/// An exchange rate found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FxRate {
    /// Units per US dollar.
    pub per_usd: f64,
    /// Its time.
    pub time: Timestamp,
}

/// All exchange rates in force: by currency, sorted by time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FxTable {
    series: BTreeMap<String, Vec<FxRate>>,
}

impl FxTable {
    /// The union of rates; of two rates of one currency and time the later one prevails. Rates of the dollar itself say
    /// nothing and are left out.
    #[must_use]
    pub fn new<'a>(points: impl IntoIterator<Item = &'a FxPoint>) -> Self {
        let mut series: BTreeMap<String, BTreeMap<Timestamp, f64>> = BTreeMap::new();
        for point in points {
            let currency = point.currency.to_uppercase();
            if currency != USD {
                series.entry(currency).or_default().insert(point.time, point.per_usd);
            }
        }
        let sorted =
            |rates: BTreeMap<_, _>| rates.into_iter().map(|(time, per_usd)| FxRate { per_usd, time }).collect();
        Self { series: series.into_iter().map(|(currency, rates)| (currency, sorted(rates))).collect() }
    }

    /// The last rate of a currency, in any case, at or before `time`, not older than [`FX_MAX_AGE_SECS`]; one for the
    /// dollar itself. O(log n).
    ///
    /// ```
    /// use headwater_ledger::market::{FxPoint, FxTable};
    /// use headwater_types::Timestamp;
    /// let table = FxTable::new(&[FxPoint { currency: "EUR".into(), time: Timestamp::new(1000), per_usd: 0.9 }]);
    /// let rate = |secs| table.at("eur", Timestamp::new(secs)).map(|rate| rate.per_usd);
    /// assert_eq!([rate(999), rate(1000 + 7 * 86_400), rate(1001 + 7 * 86_400)], [None, Some(0.9), None]);
    /// ```
    #[must_use]
    pub fn at(&self, currency: &str, time: Timestamp) -> Option<FxRate> {
        if currency.eq_ignore_ascii_case(USD) {
            return Some(FxRate { per_usd: 1.0, time });
        }
        let series = self.series(currency);
        let rate = *series[..series.partition_point(|rate| rate.time <= time)].last()?;
        (time.secs().saturating_sub(rate.time.secs()) <= FX_MAX_AGE_SECS).then_some(rate)
    }

    /// All rates of a currency, by time; empty when there is none.
    #[must_use]
    pub fn series(&self, currency: &str) -> &[FxRate] {
        self.series.get(&currency.to_uppercase()).map_or(&[], Vec::as_slice)
    }

    /// The codes of the currencies that have a rate, in order, the dollar left out.
    pub fn currencies(&self) -> impl Iterator<Item = &str> {
        self.series.keys().map(String::as_str)
    }
}

impl FxPoint {
    /// Returns whether a rate may be imported: finite and above zero, of a currency code of three letters.
    ///
    /// # Errors
    /// [`LedgerError::InvalidExchangeRate`] when it is not.
    pub fn check(&self) -> Result<(), LedgerError> {
        let is_code = self.currency.len() == 3 && self.currency.bytes().all(|letter| letter.is_ascii_alphabetic());
        if is_code && self.per_usd.is_finite() && self.per_usd > 0.0 {
            return Ok(());
        }
        let Self { currency, time, per_usd } = self.clone();
        Err(LedgerError::InvalidExchangeRate { currency, time, per_usd })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(currency: &str, secs: i64, per_usd: f64) -> FxPoint {
        FxPoint { currency: currency.to_owned(), time: Timestamp::new(secs), per_usd }
    }

    #[test]
    fn a_rate_lasts_over_a_long_weekend_and_no_longer_than_a_week() {
        let day = 86_400;
        let table = FxTable::new(&[point("EUR", 5 * day, 0.8), point("eur", 0, 0.9), point("JPY", 0, 110.0)]);
        let at = |secs| table.at("EUR", Timestamp::new(secs)).map(|rate| rate.per_usd);
        assert_eq!([at(-1), at(0), at(5 * day - 1), at(5 * day)], [None, Some(0.9), Some(0.9), Some(0.8)]);
        assert_eq!([at(12 * day), at(12 * day + 1)], [Some(0.8), None]);
        assert_eq!(table.currencies().collect::<Vec<_>>(), ["EUR", "JPY"]);
        assert_eq!(table.at("CHF", Timestamp::new(0)), None);
    }

    #[test]
    fn a_dollar_is_one_dollar_whatever_a_table_says() {
        let table = FxTable::new(&[point("USD", 0, 1.1)]);
        assert_eq!(table.at("usd", Timestamp::new(5)).unwrap().per_usd.to_bits(), 1.0_f64.to_bits());
        assert_eq!(table.currencies().count(), 0);
    }

    #[test]
    fn rate_of_the_later_import_prevails_at_one_time() {
        let table = FxTable::new(&[point("EUR", 5, 0.9), point("EUR", 5, 0.8)]);
        assert_eq!(table.series("EUR"), [FxRate { per_usd: 0.8, time: Timestamp::new(5) }]);
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for (currency, per_usd) in
            [("EUR", 0.0), ("EUR", -1.0), ("EUR", f64::NAN), ("EUR", f64::INFINITY), ("EURO", 1.0)]
        {
            let refused = point(currency, 5, per_usd).check();
            assert!(matches!(refused, Err(LedgerError::InvalidExchangeRate { .. })), "{currency} {per_usd}");
        }
        assert!(point("EUR", 5, 0.9).check().is_ok());
    }
}
