//! The price of one symbol, day by day.

use headwater_ledger::market::Price;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{TimeError, TimeWindow, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::rates::RateSource;
use crate::analysis::{Analysis, List};
use crate::core_prices_end::CorePricesEnd;
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::fields::values;
use crate::fields::{SymbolText, Time, TimeBound};
use crate::method::Method;
use crate::request::{Checks, Warnings, refused};
use crate::table::{Rows, TableHead};
use crate::valuation::pegged_price;
use crate::{Error, Reason};

const DAY_SECS: i64 = 86_400;
/// Days that are told when no start is given.
const DEFAULT_DAYS: i64 = 30;
/// Most points of one answer: ten years of days.
const MAX_POINTS: i64 = 3_660;

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "rates/history",
    path: "/v1/rates/history",
    method: Method::Get,
    alternative: None,
    class: CostClass::Light,
    cost: 5,
    tag: Tag::Market,
    summary: "Daily prices of one symbol",
    description: "In US dollars, one point per UTC day at 00:00:00: the last price at or before it, not older than a \
                  day. The last 30 days up to the newest price held, unless `start` and `end` say otherwise; at most \
                  3,660 days at once. `source` is `core` where all points are core prices, which are part of the \
                  program. A pegged stablecoin of which no price was imported has one US dollar on every day \
                  (`source` is `peg`).",
    chains: ChainScope::Unscoped,
    reads: Reads::Market,
    rows: Some("points"),
    first: &["ts", "price_usd"],
    example: Example::new(|| json!({"symbol": "eth"}), ("symbol", "doge")),
    calls: Calls::list::<RatesHistory>(),
};

values! {
    /// The distance of prices.
    Granularity {
        /// A day.
        Day = "1d",
    }
}

/// `GET /v1/rates/history`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct RatesHistoryRequest {
    /// A rate symbol of `/v1/rates/symbols`, in any case.
    #[schema(example = "eth")]
    symbol: SymbolText,
    /// First time, epoch seconds, included. Omitted: 30 days before the end.
    start: Option<TimeBound>,
    /// Last time, epoch seconds, included. Omitted: the first midnight at or after the newest price held of the symbol; of a
    /// pegged symbol without prices, after the newest data held.
    end: Option<TimeBound>,
}

/// Which symbol, which days.
#[derive(Debug)]
pub struct RatesHistoryParams {
    symbol: String,
    /// The source of the newest price.
    source: RateSource,
    /// The first midnight and the last, as days since 1970; none when the second lies before the first.
    days: (i64, i64),
}

/// Daily prices in US dollars.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RatesHistoryReport {
    /// Rate symbol, lowercase.
    pub symbol: String,
    /// How far apart the points are: `1d`.
    pub granularity: Granularity,
    /// `import` where a point is an imported price, `core` where all are core prices, or `peg`: one US dollar on every day, as
    /// no price of the stablecoin was imported.
    pub source: RateSource,
    /// One per UTC day, ascending. Days without a price are absent, not interpolated.
    pub points: Vec<RatePoint>,
}

/// The price at the beginning of one day.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RatePoint {
    /// 00:00:00 UTC of the day, epoch seconds.
    pub ts: Time,
    /// US dollars per whole unit: the last price at or before `ts`, not older than 86,400 seconds.
    pub price_usd: f64,
}

/// The price of one symbol, day by day.
pub struct RatesHistory;

impl Analysis for RatesHistory {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = RatesHistoryRequest;
    type Params = RatesHistoryParams;
    type Report = RatesHistoryReport;

    fn params(request: RatesHistoryRequest, checks: &mut Checks<'_>) -> Result<RatesHistoryParams, Error> {
        let symbol = request.symbol.trim().to_lowercase();
        let [start, end] = [request.start, request.end].map(|bound| bound.map(i64::from));
        let (newest, source) = match checks.ledger.prices().latest(&symbol) {
            Some(price) => (price, RateSource::of(checks.ledger.prices(), &symbol, price)),
            None => match pegged_price(checks.ledger, &symbol, end.map(Timestamp::new)) {
                Some(price) => (price, RateSource::Peg),
                None => {
                    let why = format!("no price of {symbol:?} is held: /v1/rates/symbols lists those that have one");
                    return Err(refused(Reason::UnknownSymbol, "symbol", &request.symbol, &why));
                }
            },
        };
        TimeWindow::new(start, end).map_err(|error| wrong_window(start, error))?;
        let last = end.unwrap_or_else(|| newest.time.secs().saturating_add(DAY_SECS - 1)).div_euclid(DAY_SECS);
        let first = start
            .map_or(last + 1 - DEFAULT_DAYS, |start| start.div_euclid(DAY_SECS) + i64::from(start % DAY_SECS != 0));
        if last - first >= MAX_POINTS {
            let asked = last - first + 1;
            let why =
                format!("the range holds {asked} days: at most {MAX_POINTS} are told at once, ask for parts of it");
            let limit = u64::try_from(MAX_POINTS).ok();
            let text = start.unwrap_or(first * DAY_SECS).to_string();
            return Err(Error { limit, ..refused(Reason::TimeRange, "start", &text, &why) });
        }
        Ok(RatesHistoryParams { symbol, source, days: (first, last) })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &RatesHistoryParams,
        warnings: &mut Warnings,
        _: &Cancel,
    ) -> Result<RatesHistoryReport, Error> {
        let (prices, symbol) = (ledger.prices(), &params.symbol);
        let (first, last) = params.days;
        let price = |day: i64| {
            let midnight = Timestamp::new(day * DAY_SECS);
            let price = match params.source {
                RateSource::Peg => Price { usd: 1.0, time: midnight },
                RateSource::Import | RateSource::Core => prices.at(symbol, midnight)?,
            };
            Some((midnight, price))
        };
        let found: Vec<(Timestamp, Price)> = (first..=last).filter_map(price).collect();
        let source = match params.source {
            RateSource::Import | RateSource::Core if !found.is_empty() => {
                let is_core = found.iter().all(|(_, price)| prices.is_core(symbol, price.time));
                if is_core { RateSource::Core } else { RateSource::Import }
            }
            source => source,
        };
        let mut end = CorePricesEnd::new(ledger);
        end.note(symbol, Timestamp::new(last.saturating_mul(DAY_SECS)));
        end.warn(warnings);
        let points = found.iter().map(|(at, price)| RatePoint { ts: Time(at.secs()), price_usd: price.usd }).collect();
        Ok(RatesHistoryReport { symbol: symbol.clone(), granularity: Granularity::Day, source, points })
    }
}

impl List for RatesHistory {
    type Row = RatePoint;

    fn list(
        ledger: &dyn Ledger,
        params: &RatesHistoryParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        rows.whole(TableHead::default(), warnings, report.points)
    }
}

fn wrong_window(start: Option<i64>, error: TimeError) -> Error {
    match error {
        TimeError::StartAfterEnd { start, .. } => refused(Reason::TimeRange, "start", &start.to_string(), &error),
        TimeError::Milliseconds(secs) => {
            let field = if start == Some(secs) { "start" } else { "end" };
            refused(Reason::Milliseconds, field, &secs.to_string(), &error)
        }
    }
}
