//! The report of a fetch of prices.

use serde::Serialize;

use super::answer::RefusedPrice;

/// The number of refused prices that are quoted for each symbol.
pub(super) const MAX_QUOTED: usize = 5;

/// The report of a fetch of prices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriceReport {
    /// The service, under whose name the prices are stored.
    pub source: &'static str,
    /// The length of a period: `1d` or `1h`.
    pub step: &'static str,
    /// One row per symbol, in order.
    pub symbols: Vec<SymbolReport>,
    /// Requests to the service.
    pub requests: u64,
    /// Prices that were stored.
    pub stored: u64,
    /// The number of the version that has them; `None` if no prices were stored.
    pub version: Option<u64>,
    /// Sentences for people.
    pub notes: Vec<String>,
    /// The reason for which the fetch ended early; `None` where it is complete.
    pub failure: Option<String>,
}

/// The prices of one symbol: `held`, `stored`, `set_aside`, `missing`, `out_of_reach` and `open` are all periods of the
/// range.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SymbolReport {
    /// The rate symbol.
    pub symbol: String,
    /// The id at the service.
    pub id: Option<String>,
    /// The last second of the first period.
    pub first: i64,
    /// The last second of the last period.
    pub last: i64,
    /// Periods that were asked for.
    pub asked: u64,
    /// Periods of which the store had a price.
    pub held: u64,
    /// Periods of which a price was stored.
    pub stored: u64,
    /// Periods of which the service has a price that is refused or not plausible, now or at an earlier fetch.
    pub set_aside: u64,
    /// Periods of which the service has no price, now or at an earlier fetch.
    pub missing: u64,
    /// Periods that the key cannot reach.
    pub out_of_reach: u64,
    /// Periods that are not asked for yet, since the fetch ended early, or the symbol is refused.
    pub open: u64,
    /// The current price that was stored, in US dollars.
    pub current_usd: Option<f64>,
    /// The reason for which the symbol is not fetched.
    pub problem: Option<String>,
    /// The first prices that were refused or set aside.
    pub refused: Vec<RefusedPrice>,
}
