//! Which symbols have prices, and in which currencies these can be told.

use headwater_ledger::market::PriceCoverage;
use headwater_ledger::{Cancel, Ledger};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::rates::fiat;
use crate::Error;
use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::fields::{CurrencyText, OptIn, Time};
use crate::method::Method;
use crate::request::{Checks, Warnings};
use crate::table::{Rows, TableHead};
use crate::valuation::pegged_anywhere;

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "rates/symbols",
    path: "/v1/rates/symbols",
    method: Method::Get,
    alternative: None,
    class: CostClass::Free,
    cost: 0,
    tag: Tag::Market,
    summary: "Symbols with prices, and currencies",
    description: "What `symbols` and `quote` of the other price calls may name; `detail=true` adds where the prices \
                  come from and how far they reach.",
    chains: ChainScope::Unscoped,
    reads: Reads::Market,
    rows: Some("coverage"),
    first: &["symbol", "first_ts", "last_ts", "source", "points"],
    example: Example::new(|| json!({"detail": true}), ("detail", "much")),
    calls: Calls::list::<RatesSymbols>(),
};

/// The source of symbols that are worth one US dollar by the peg.
const PEG: &str = "peg";

/// `GET /v1/rates/symbols`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct RatesSymbolsRequest {
    /// `true` adds `coverage`.
    #[serde(default)]
    detail: Option<OptIn>,
}

/// How much is told.
#[derive(Debug)]
pub struct RatesSymbolsParams {
    detail: Detail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Names,
    Coverage,
}

/// Symbols with prices.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RatesSymbolsReport {
    /// Rate symbols with a price, imported, of the core or by the peg, lowercase, in order.
    pub symbols: Vec<String>,
    /// Codes of the currencies that prices can be told in (`quote`): the US dollar, then those that exchange rates were
    /// imported of, in order.
    pub fiat: Vec<CurrencyText>,
    /// Where the prices come from and how far they reach, by symbol and first price; a row per symbol and source.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub coverage: Option<Vec<RateCoverage>>,
}

/// What one source gives of a symbol.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RateCoverage {
    /// Rate symbol, lowercase.
    pub symbol: String,
    /// Time of its first price, epoch seconds; null of the peg, which has no beginning.
    pub first_ts: Option<Time>,
    /// Time of its last price, epoch seconds; null of the peg, which has no end.
    pub last_ts: Option<Time>,
    /// Name of the import; `core` for the daily closes that are part of the program; `peg` for a pegged stablecoin of which no
    /// price was imported, worth one US dollar.
    pub source: String,
    /// Prices in use, 0 of the peg: without those that cannot be meant, and those that an import replaced.
    pub points: i64,
}

/// Which symbols have prices.
pub struct RatesSymbols;

impl Analysis for RatesSymbols {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = RatesSymbolsRequest;
    type Params = RatesSymbolsParams;
    type Report = RatesSymbolsReport;

    fn params(request: RatesSymbolsRequest, _: &mut Checks<'_>) -> Result<RatesSymbolsParams, Error> {
        let detail = if OptIn::is_taken(request.detail) { Detail::Coverage } else { Detail::Names };
        Ok(RatesSymbolsParams { detail })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &RatesSymbolsParams,
        _: &mut Warnings,
        _: &Cancel,
    ) -> Result<RatesSymbolsReport, Error> {
        let symbols = symbols(ledger);
        let coverage = match params.detail {
            Detail::Names => None,
            Detail::Coverage => Some(symbols.iter().flat_map(|symbol| coverage(ledger, symbol)).collect()),
        };
        Ok(RatesSymbolsReport {
            symbols,
            fiat: fiat(ledger).map(|code| CurrencyText(code.to_owned())).collect(),
            coverage,
        })
    }
}

/// As a table it is the coverage, asked for or not.
impl List for RatesSymbols {
    type Row = RateCoverage;

    fn list(
        ledger: &dyn Ledger,
        _: &RatesSymbolsParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let symbols = symbols(ledger);
        rows.whole(TableHead::default(), warnings, symbols.iter().flat_map(|symbol| coverage(ledger, symbol)))
    }
}

/// The symbols with prices and the pegged ones without, in order.
fn symbols(ledger: &dyn Ledger) -> Vec<String> {
    let mut symbols = pegged_anywhere(ledger);
    symbols.extend(ledger.prices().symbols().map(str::to_owned));
    symbols.sort_unstable();
    symbols
}

/// The sources of a symbol; of one without prices the peg.
fn coverage(ledger: &dyn Ledger, symbol: &str) -> Vec<RateCoverage> {
    let of_source = |source: &PriceCoverage| RateCoverage {
        symbol: symbol.to_owned(),
        first_ts: Some(Time(source.first.secs())),
        last_ts: Some(Time(source.last.secs())),
        source: source.source.clone(),
        points: i64::try_from(source.points).unwrap_or(i64::MAX),
    };
    match ledger.prices().coverage(symbol) {
        [] => {
            let (symbol, source) = (symbol.to_owned(), PEG.to_owned());
            vec![RateCoverage { symbol, first_ts: None, last_ts: None, source, points: 0 }]
        }
        sources => sources.iter().map(of_source).collect(),
    }
}
