//! Prices of rate symbols, latest or at a time.

use headwater_ledger::{Cancel, Ledger};
use headwater_types::{TimeWindow, Timestamp};
use serde::{Deserialize, Serialize};

use super::Analysis;
use crate::request::{Checks, MAX_ITEMS, Warnings, at_most, refused};
use crate::table::{List, Rows, TableHead};
use crate::{Error, Reason};

/// `GET /v1/rates`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct RatesRequest {
    /// Rate symbols, separated by commas; at most 100.
    #[schema(example = json!(["btc", "eth"]))]
    symbols: Vec<String>,
    /// Epoch seconds: the latest price at or before this time, not older than a day. Omitted: the latest price.
    at: Option<i64>,
    /// Quote currency. USD, also when omitted.
    quote: Option<String>,
}

/// Which prices, at which time.
#[derive(Debug)]
pub struct RatesParams {
    symbols: Vec<String>,
    at: Option<Timestamp>,
}

/// Prices found.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RatesReport {
    /// The time asked for, epoch seconds.
    pub at: Option<i64>,
    /// Quote currency.
    pub quote: String,
    /// Prices in the order of the request.
    pub rates: Vec<Rate>,
    /// Symbols without a price at that time.
    pub missing: Vec<String>,
}

/// One price.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Rate {
    /// Rate symbol, lowercase.
    pub symbol: String,
    /// US dollars per whole unit.
    pub price_usd: f64,
    /// Time of the price, epoch seconds.
    pub ts: i64,
}

/// Prices of rate symbols, latest or at a time.
pub struct Rates;

impl Analysis for Rates {
    type Request = RatesRequest;
    type Params = RatesParams;
    type Report = RatesReport;

    fn params(request: RatesRequest, _: &mut Checks<'_>) -> Result<RatesParams, Error> {
        at_most("symbols", &request.symbols, MAX_ITEMS)?;
        let symbols: Vec<String> = request
            .symbols
            .iter()
            .map(|symbol| symbol.trim().to_lowercase())
            .filter(|symbol| !symbol.is_empty())
            .collect();
        if symbols.is_empty() {
            return Err(Error::invalid(Reason::EmptyList, "symbols", "symbols: name at least one rate symbol"));
        }
        if let Some(quote) = request.quote.filter(|quote| !quote.eq_ignore_ascii_case("usd")) {
            return Err(refused(
                Reason::InvalidValue,
                "quote",
                &quote,
                &format!("no rates of {quote:?} are held: available are USD"),
            ));
        }
        if let Some(at) = request.at {
            TimeWindow::new(None, Some(at))
                .map_err(|error| refused(Reason::Milliseconds, "at", &at.to_string(), &error))?;
        }
        Ok(RatesParams { symbols, at: request.at.map(Timestamp::new) })
    }

    fn report(ledger: &dyn Ledger, params: &RatesParams, _: &mut Warnings, _: &Cancel) -> Result<RatesReport, Error> {
        let mut rates = Vec::new();
        let mut missing = Vec::new();
        for symbol in &params.symbols {
            let price = match params.at {
                Some(time) => ledger.prices().at(symbol, time),
                None => ledger.prices().latest(symbol),
            };
            match price {
                Some(price) => rates.push(Rate { symbol: symbol.clone(), price_usd: price.usd, ts: price.time.secs() }),
                None => missing.push(symbol.clone()),
            }
        }
        Ok(RatesReport { at: params.at.map(Timestamp::secs), quote: "USD".to_owned(), rates, missing })
    }
}

impl List for Rates {
    type Row = Rate;

    fn list(
        ledger: &dyn Ledger,
        params: &RatesParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        rows.whole(TableHead::default(), warnings, report.rates)
    }
}
