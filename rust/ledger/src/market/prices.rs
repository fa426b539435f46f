//! Prices in US dollars by rate symbol.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use headwater_types::Timestamp;

use super::core_prices::core_prices;
use super::core_tokens::CORE_SOURCE;
use super::listing::{Price, PricePoint};
use super::plausible::spikes;
use crate::LedgerError;

/// A price is used for at most this long after its time.
pub const PRICE_MAX_AGE_SECS: i64 = 86_400;

/// A price that is held and not used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExcludedPrice {
    /// The price as it was imported.
    pub price: Price,
    /// The reason against it.
    pub why: Implausible,
}

/// The reason why a price cannot be meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implausible {
    /// It is zero: a gap that somebody filled.
    NotPositive,
    /// It is a spike: ten times above or below the prices before and after, which agree with each other (of a symbol
    /// pegged to the dollar twice). A change of level is none.
    Spike,
}

/// The prices that one source gives of a symbol.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceCoverage {
    /// Name of the import, or [`CORE_SOURCE`].
    pub source: String,
    /// Time of the first price.
    pub first: Timestamp,
    /// Time of the last price.
    pub last: Timestamp,
    /// Prices in use. Of two sources that state a price of one time the later import counts.
    pub points: u64,
}

/// All prices in force: by symbol, sorted by time. Prices that cannot be meant ([`Implausible`]) are left out here, and
/// so of every value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriceTable {
    series: BTreeMap<String, Arc<Series>>,
}

/// The series of the core prices, which all tables share.
static CORE: LazyLock<Vec<(&str, Arc<Series>)>> = LazyLock::new(|| {
    let of_core = |(symbol, prices): &(&'static str, Vec<Price>)| (*symbol, Arc::new(Series::of_core(prices.clone())));
    core_prices().iter().map(of_core).collect()
});

#[derive(Debug, Clone, PartialEq, Default)]
struct Series {
    prices: Vec<Price>,
    left_out: Vec<ExcludedPrice>,
    coverage: Vec<PriceCoverage>,
    /// The times of the first and the last imported price; `None` where all prices are core prices.
    imported: Option<(Timestamp, Timestamp)>,
}

impl Series {
    /// The series of a coin of which nothing was imported. No core price is a spike, which a test verifies.
    fn of_core(prices: Vec<Price>) -> Self {
        let coverage = core_coverage(&prices).into_iter().collect();
        Self { prices, coverage, ..Self::default() }
    }

    /// This series of imported prices, and before its first and behind its last price the core prices.
    fn over_core(&self, core: &Self) -> Self {
        let Some((first, last)) = self.imported else {
            return Self { left_out: self.left_out.clone(), ..core.clone() };
        };
        let before = core.prices.partition_point(|price| price.time < first);
        let behind = core.prices.partition_point(|price| price.time <= last);
        let (before, behind) = (&core.prices[..before], &core.prices[behind..]);
        let mut coverage = self.coverage.clone();
        coverage.extend(core_coverage(&[before, behind].concat()));
        coverage.sort_by_key(|of_source| of_source.first);
        let prices = [before, &self.prices, behind].concat();
        Self { prices, left_out: self.left_out.clone(), coverage, imported: self.imported }
    }

    /// `points` by time, each with the name of its source; `zeros` are not prices at all.
    fn new(points: &BTreeMap<Timestamp, (f64, &str)>, zeros: BTreeMap<Timestamp, f64>) -> Self {
        let all: Vec<Price> = points.iter().map(|(time, (usd, _))| Price { usd: *usd, time: *time }).collect();
        let mut series = Self::default();
        let mut coverage: BTreeMap<&str, PriceCoverage> = BTreeMap::new();
        for ((price, is_spike), (_, source)) in all.iter().zip(spikes(&all)).zip(points.values()) {
            if is_spike {
                series.left_out.push(ExcludedPrice { price: *price, why: Implausible::Spike });
                continue;
            }
            series.prices.push(*price);
            let (first, last) = (price.time, price.time);
            let new = || PriceCoverage { source: (*source).to_owned(), first, last, points: 0 };
            let of_source = coverage.entry(source).or_insert_with(new);
            of_source.last = price.time;
            of_source.points += 1;
        }
        let zeros = zeros.into_iter().map(|(time, usd)| Price { usd, time });
        series.left_out.extend(zeros.map(|price| ExcludedPrice { price, why: Implausible::NotPositive }));
        series.left_out.sort_by_key(|left_out| left_out.price.time);
        series.coverage = coverage.into_values().collect();
        series.coverage.sort_by_key(|of_source| of_source.first);
        series.imported = series.prices.first().zip(series.prices.last()).map(|(first, last)| (first.time, last.time));
        series
    }
}

/// Returns the coverage of the core prices of one symbol; `None` where none is in use.
fn core_coverage(prices: &[Price]) -> Option<PriceCoverage> {
    let (first, last) = (prices.first()?.time, prices.last()?.time);
    Some(PriceCoverage { source: CORE_SOURCE.to_owned(), first, last, points: prices.len() as u64 })
}

impl PriceTable {
    /// The union of prices of one nameless source; of two prices of one symbol and time the later one prevails.
    #[must_use]
    pub fn new(points: impl IntoIterator<Item = PricePoint>) -> Self {
        let points: Vec<PricePoint> = points.into_iter().collect();
        Self::of_imports([("", points.as_slice())])
    }

    /// The union of imports, each with the name of its source; of two prices of one symbol and time that of the later
    /// import is.
    #[must_use]
    pub fn of_imports<'a>(imports: impl IntoIterator<Item = (&'a str, &'a [PricePoint])>) -> Self {
        type Points<'a> = (BTreeMap<Timestamp, (f64, &'a str)>, BTreeMap<Timestamp, f64>);
        let mut by_symbol: BTreeMap<String, Points<'_>> = BTreeMap::new();
        for (source, points) in imports {
            for point in points {
                let (prices, zeros) = by_symbol.entry(point.symbol.to_lowercase()).or_default();
                if point.usd > 0.0 {
                    prices.insert(point.time, (point.usd, source));
                } else {
                    zeros.insert(point.time, point.usd);
                }
            }
        }
        let series =
            by_symbol.into_iter().map(|(symbol, (prices, zeros))| (symbol, Series::new(&prices, zeros).into()));
        Self { series: series.collect() }
    }

    /// Adds the [core prices](core_prices). Of a symbol with imported prices they are used only before the first and after
    /// the last of these: between them gaps are gaps. The last imported price is used for as long as any price is.
    ///
    /// ```
    /// use headwater_ledger::market::{PricePoint, PriceTable};
    /// use headwater_types::Timestamp;
    /// let imported = PricePoint { symbol: "eth".into(), time: Timestamp::new(1_600_000_000), usd: 5.0 };
    /// let table = PriceTable::new([imported]).over_core();
    /// let usd = |secs| table.at("eth", Timestamp::new(secs)).map(|price| price.usd);
    /// assert_eq!((usd(1_600_000_000), usd(1_600_086_400)), (Some(5.0), Some(5.0)));
    /// // The close of the day after, 2020-09-13.
    /// assert_eq!(usd(1_600_086_401), Some(365.570_007_324_218_75));
    /// // The close of the day before, 2020-09-12.
    /// assert_eq!(usd(1_599_999_999), Some(387.183_105_468_75));
    /// assert_eq!(usd(1_400_000_000), None, "ether had no market");
    /// ```
    #[must_use]
    pub fn over_core(mut self) -> Self {
        for (symbol, core) in &*CORE {
            let series = match self.series.get(*symbol) {
                Some(imported) => Arc::new(imported.over_core(core)),
                None => Arc::clone(core),
            };
            self.series.insert((*symbol).to_owned(), series);
        }
        self
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
        let series = self.series.get(symbol)?;
        let until = series
            .imported
            .map(|(_, last)| last)
            .filter(|last| time.secs().saturating_sub(last.secs()) <= PRICE_MAX_AGE_SECS);
        // The last imported price takes precedence over later core prices as long as it is used.
        let until = until.map_or(time, |last| last.min(time));
        let after = series.prices.partition_point(|price| price.time <= until);
        let price = *series.prices[..after].last()?;
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
        self.series.get(symbol).map_or(&[], |series| &series.prices)
    }

    /// Returns whether a symbol has a price in use.
    #[must_use]
    pub fn holds(&self, symbol: &str) -> bool {
        !self.series(symbol).is_empty()
    }

    /// Returns whether the price in use of this time is a core price.
    #[must_use]
    pub fn is_core(&self, symbol: &str, time: Timestamp) -> bool {
        let Some(series) = self.series.get(symbol) else { return false };
        series.imported.is_none_or(|(first, last)| time < first || time > last)
    }

    /// The prices of a symbol that are held and not used, by time.
    #[must_use]
    pub fn left_out(&self, symbol: &str) -> &[ExcludedPrice] {
        self.series.get(symbol).map_or(&[], |series| &series.left_out)
    }

    /// Returns the sources of the prices of a symbol, by time of the first one.
    #[must_use]
    pub fn coverage(&self, symbol: &str) -> &[PriceCoverage] {
        self.series.get(symbol).map_or(&[], |series| &series.coverage)
    }

    /// The symbols that have a price, in order.
    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        self.held().filter(|symbol| self.holds(symbol))
    }

    /// The symbols that have a series, in order, though all its prices may be left out.
    pub(crate) fn held(&self) -> impl Iterator<Item = &str> {
        self.series.keys().map(String::as_str)
    }
}

impl PricePoint {
    /// Returns whether a price may be imported: a number, finite, not negative, of a symbol.
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
    fn price_lookup_ignores_future_and_stale_prices() {
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
    fn price_of_the_later_import_prevails_at_one_time() {
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

    #[test]
    fn a_spike_and_a_zero_are_held_and_valued_by_nothing() {
        let hour = |hour: i64, usd| point("eth", hour * 3_600, usd);
        let mut points: Vec<_> = (0..8).map(|each| hour(each, 2000.0)).collect();
        points[3].usd = 200_000.0;
        points[6].usd = 0.0;
        let table = PriceTable::new(points.clone());
        let at = |hour: i64| table.at("eth", Timestamp::new(hour * 3_600)).map(|price| price.time.secs() / 3_600);
        assert_eq!([at(2), at(3), at(4), at(6)], [Some(2), Some(2), Some(4), Some(5)], "the price before it remains");
        let why: Vec<_> = table.left_out("eth").iter().map(|left_out| left_out.why).collect();
        assert_eq!(why, [Implausible::Spike, Implausible::NotPositive]);
        points.reverse();
        assert_eq!(PriceTable::new(points), table, "in any order");

        let only = PriceTable::new([hour(0, 0.0)]);
        assert_eq!((only.at("eth", Timestamp::new(0)), only.symbols().count()), (None, 0));
    }

    #[test]
    fn daily_and_hourly_prices_of_a_symbol_are_one_series() {
        let daily = [point("eth", 86_399, 10.0), point("eth", 2 * 86_400 - 1, 20.0)];
        let hourly: Vec<_> = (24..30).map(|hour| point("eth", hour * 3_600 + 3_599, 11.0)).collect();
        let table = PriceTable::of_imports([("daily", &daily[..]), ("hourly", &hourly[..])]);
        let usd = |secs| table.at("eth", Timestamp::new(secs)).map(|price| price.usd);
        // The end of the day before, the last hour, the same hour long after, the end of the day.
        let expected = [Some(10.0), Some(11.0), Some(11.0), Some(20.0)];
        assert_eq!([usd(86_400), usd(90_000), usd(2 * 86_400 - 2), usd(2 * 86_400 - 1)], expected);
        let coverage = |source: &str, first, last, points| PriceCoverage {
            source: source.to_owned(),
            first: Timestamp::new(first),
            last: Timestamp::new(last),
            points,
        };
        let expected = [coverage("daily", 86_399, 172_799, 2), coverage("hourly", 89_999, 107_999, 6)];
        assert_eq!(table.coverage("eth"), expected);
    }

    /// The last second of a day of January 2020, and the close of ether on it in the table of the core.
    const CORE_DAYS: [(i64, f64); 5] = [
        (1_577_923_199, 130.802_001_953_125),
        (1_578_009_599, 127.410_179_138_183_6),
        (1_578_095_999, 134.171_707_153_320_3),
        (1_578_182_399, 135.069_366_455_078_12),
        (1_578_268_799, 136.276_779_174_804_7),
    ];

    #[test]
    fn core_prices_surround_the_imported_ones() {
        let [before, first, _, last, after] = CORE_DAYS;
        let table = PriceTable::new([point("eth", first.0, 5.0), point("eth", last.0, 6.0)]).over_core();
        let at = |secs| table.at("eth", Timestamp::new(secs)).map(|price| price.usd);
        assert_eq!([at(before.0), at(first.0 - 1)], [Some(before.1); 2]);
        assert_eq!([at(first.0), at(first.0 + PRICE_MAX_AGE_SECS)], [Some(5.0); 2]);
        assert_eq!([at(first.0 + PRICE_MAX_AGE_SECS + 1), at(last.0 - 1)], [None; 2], "a gap between imported prices");
        assert_eq!([at(last.0), at(after.0), at(after.0 + 1)], [Some(6.0), Some(6.0), Some(after.1)]);
        let is_core = |secs| table.is_core("eth", Timestamp::new(secs));
        assert_eq!([before.0, first.0, last.0, after.0].map(is_core), [true, false, false, true]);

        let core = PriceTable::default().over_core();
        for (secs, usd) in CORE_DAYS {
            assert_eq!(core.at("eth", Timestamp::new(secs)).map(|price| price.usd), Some(usd));
        }
        let coverage = |table: &PriceTable| {
            let rows = table.coverage("eth").iter().map(|row| (row.source.clone(), row.points));
            rows.collect::<Vec<_>>()
        };
        assert_eq!(coverage(&core), [(CORE_SOURCE.to_owned(), 4_071)]);
        assert_eq!(coverage(&table), [(CORE_SOURCE.to_owned(), 4_068), (String::new(), 2)]);
        assert_eq!(table.series("eth").len(), 4_070);
        assert_eq!(table.coverage("eth")[0].last, core.coverage("eth")[0].last);
    }

    #[test]
    fn core_prices_are_used_where_all_imported_ones_are_left_out() {
        let table = PriceTable::new([point("eth", CORE_DAYS[1].0, 0.0)]).over_core();
        let found = table.at("eth", Timestamp::new(CORE_DAYS[1].0)).unwrap();
        assert!(found.usd.to_bits() == CORE_DAYS[1].1.to_bits() && table.is_core("eth", found.time));
        assert_eq!(table.left_out("eth").len(), 1);
    }

    #[test]
    fn core_prices_begin_with_the_market_and_end_with_the_table() {
        let core = PriceTable::default().over_core();
        assert_eq!(core.symbols().collect::<Vec<_>>(), ["bnb", "btc", "eth", "trx"]);
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        for (symbol, first) in
            [("btc", "2010-07-17"), ("eth", "2015-08-07"), ("bnb", "2017-07-25"), ("trx", "2017-09-13")]
        {
            let first = time(&format!("{first}T23:59:59Z"));
            assert_eq!(core.at(symbol, Timestamp::new(first.secs() - 1)), None, "{symbol}");
            assert_eq!(core.at(symbol, first).unwrap().time, first, "{symbol}");
            let last = time("2026-09-28T23:59:59Z");
            assert_eq!(core.latest(symbol).unwrap().time, last, "{symbol}");
            assert_eq!(core.at(symbol, time("2026-09-29T23:59:59Z")).unwrap().time, last, "{symbol}");
            assert_eq!(core.at(symbol, time("2026-09-30T00:00:00Z")), None, "{symbol}");
        }
    }

    #[test]
    fn core_prices_have_no_spike() {
        for (symbol, prices) in core_prices() {
            assert!(!spikes(prices).contains(&true), "{symbol}");
        }
    }
}
