//! Daily prices, and what an amount of US dollars is in raw units. Integers only: a price is whole micro-dollars.

use std::collections::BTreeMap;

use headwater_ledger::market::PricePoint;
use headwater_types::Timestamp;

use crate::clock::{DAY, START, day};
use crate::random::{Stream, whole};
use crate::truth::DayPrice;

/// Symbol, first price in micro-dollars, daily spread (0 for a stablecoin).
const ASSETS: [(&str, u64, f64); 4] = [
    ("btc", 94_000_000_000, 0.022),
    ("eth", 3_350_000_000, 0.031),
    ("bnb", 700_000_000, 0.026),
    ("trx", 255_000, 0.024),
];
const TOKENS: [(&str, u64, f64); 6] = [
    ("link", 20_500_000, 0.042),
    ("cake", 2_450_000, 0.045),
    ("usdt", 1_000_000, 0.0),
    ("usdc", 1_000_000, 0.0),
    ("dai", 1_000_000, 0.0),
    ("busd", 1_000_000, 0.0),
];
/// A wrapped coin is worth its coin.
const WRAPPED: [(&str, &str); 3] = [("weth", "eth"), ("wbnb", "bnb"), ("wtrx", "trx")];

/// Prices of all symbols for all days, the day before the first included.
pub(crate) struct Market {
    series: BTreeMap<&'static str, Vec<u64>>,
}

impl Market {
    /// A market over this many days: every symbol walks by its own stream.
    pub(crate) fn new(seed: u64, days: i64) -> Self {
        let mut series = BTreeMap::new();
        for (symbol, first, spread) in ASSETS.into_iter().chain(TOKENS) {
            let mut stream = Stream::new(seed, &format!("price/{symbol}"));
            let mut price = first;
            let walk = (0..=days).map(|_| {
                if spread > 0.0 {
                    price = price * whole(stream.log_normal(1.0, spread) * 1_000_000.0) / 1_000_000;
                    price
                } else {
                    first * whole(stream.log_normal(1.0, 0.000_6) * 1_000_000.0) / 1_000_000
                }
            });
            series.insert(symbol, walk.collect::<Vec<_>>());
        }
        for (wrapped, coin) in WRAPPED {
            let walk = series[coin].clone();
            series.insert(wrapped, walk);
        }
        Self { series }
    }

    /// The price in force at a time, in micro-dollars: that of the end of the day before.
    pub(crate) fn micros(&self, symbol: &str, now: i64) -> u64 {
        let walk = &self.series[symbol];
        walk[day(now).min(walk.len() - 1)].max(1)
    }

    /// Raw units worth this many cents.
    pub(crate) fn raw(&self, symbol: &str, decimals: u8, cents: u64, now: i64) -> u128 {
        let unit = 10_u128.pow(u32::from(decimals));
        u128::from(cents) * 10_000 * unit / u128::from(self.micros(symbol, now))
    }

    /// Returns the value of raw units, in cents rounded down.
    pub(crate) fn cents(&self, symbol: &str, decimals: u8, raw: u128, now: i64) -> u64 {
        // Two steps, so that the largest holdings of 18 decimals stay inside 128 bits.
        let coarse = raw / 10_u128.pow(u32::from(decimals.saturating_sub(6)));
        let unit = 10_u128.pow(u32::from(decimals.min(6)));
        u64::try_from(coarse.saturating_mul(u128::from(self.micros(symbol, now))) / unit / 10_000).unwrap_or(u64::MAX)
    }

    /// All prices as the economy used them, each with the first second of the day in which it is in force.
    pub(crate) fn truth(&self) -> Vec<DayPrice> {
        let mut prices = Vec::new();
        for (symbol, walk) in &self.series {
            for (day, &usd_micros) in (0..).zip(walk) {
                let time_secs = (START + day * DAY).unsigned_abs();
                prices.push(DayPrice { symbol: (*symbol).to_owned(), time_secs, usd_micros });
            }
        }
        prices
    }

    /// All prices as an import offers them, each with the last second of its day.
    #[expect(clippy::cast_precision_loss, reason = "micro-dollars stay far below 2^53")]
    pub(crate) fn points(&self) -> Vec<PricePoint> {
        let mut points = Vec::new();
        for (symbol, walk) in &self.series {
            for (day, &micros) in (0..).zip(walk) {
                let time = Timestamp::new(START + day * DAY - 1);
                points.push(PricePoint { symbol: (*symbol).to_owned(), time, usd: micros as f64 / 1e6 });
            }
        }
        points
    }
}

/// Keeps this many leading digits, as people do who send round amounts.
pub(crate) fn rounded(raw: u128, digits: u32) -> u128 {
    let length = raw.checked_ilog10().map_or(1, |log| log + 1);
    let unit = 10_u128.pow(length.saturating_sub(digits));
    (raw / unit * unit).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_become_raw_units_and_back() {
        let market = Market::new(1, 10);
        let raw = market.raw("eth", 18, 123_456, START);
        assert!(market.cents("eth", 18, raw, START).abs_diff(123_456) <= 1);
        assert_eq!(rounded(123_456, 2), 120_000);
        assert_eq!(rounded(7, 2), 7);
    }

    #[test]
    fn price_is_stamped_at_the_end_of_its_day() {
        let market = Market::new(1, 10);
        let points = market.points();
        let btc: Vec<_> = points.iter().filter(|point| point.symbol == "btc").collect();
        assert_eq!(btc.len(), 11);
        assert_eq!(btc[0].time.to_string(), "2024-12-31T23:59:59Z");
        assert_eq!(whole((btc[3].usd * 1e6).round()), market.micros("btc", START + 3 * DAY));
    }
}
