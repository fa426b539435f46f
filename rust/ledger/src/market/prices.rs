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
