//! Prices of rate symbols, latest or at a time.

use headwater_ledger::market::{
    ExcludedPrice, FX_MAX_AGE_SECS, Implausible, PRICE_MAX_AGE_SECS, Price, PriceTable, USD,
};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{TimeWindow, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::{Analysis, List};
use crate::core_prices_end::CorePricesEnd;
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::START;
use crate::fields::{CurrencyText, Time, TimeBound, form, values};
use crate::limits::{MAX_ITEMS, MAX_SYMBOL};
use crate::method::Method;
use crate::request::{Checks, Warnings, refused, symbol_texts};
use crate::table::{Rows, TableHead};
use crate::valuation::pegged_price;
use crate::{Error, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "rates",
    path: "/v1/rates",
    method: Method::Get,
    alternative: None,
    class: CostClass::Free,
    cost: 0,
    tag: Tag::Market,
    summary: "Latest or point-in-time prices",
    description: "The latest price at or before `at`, not older than a day; symbols without one that can be meant are \
                  listed in `missing`. Daily closes of btc, eth, bnb and trx are part of the program (`source` is \
                  `core`); they are used before the first and after the last imported price. A pegged stablecoin of \
                  which no price was imported is worth one US dollar (`source` is `peg`). With a `quote`, `price` is in \
                  that currency, by the exchange rate of the time of the price.",
    chains: ChainScope::Unscoped,
    reads: Reads::Market,
    rows: Some("rates"),
    first: &["symbol", "price_usd", "ts", "source"],
    example: Example::new(|| json!({"symbols": ["eth", "usdt"], "at": START + 60}), ("quote", "CHF")),
    calls: Calls::list::<Rates>(),
};

form! {
    /// 1 to 100 symbols.
    RateSymbols(Vec<String> => [String], Default): json!({"type": "array", "minItems": 1, "maxItems": MAX_ITEMS, "items": {
        "type": "string", "minLength": 1, "maxLength": MAX_SYMBOL, "pattern": "\\S"
    }});
    /// A currency, in any case.
    QuoteText(String => str): json!({"type": "string", "pattern": "^[A-Za-z]{3}$", "default": "USD"});
}

/// `GET /v1/rates`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct RatesRequest {
    /// Rate symbols; at most 100.
    #[schema(example = json!(["btc", "eth"]))]
    symbols: RateSymbols,
    /// Epoch seconds: the latest price at or before this time, not older than a day. Omitted: the latest price.
    at: Option<TimeBound>,
    /// Quote currency: one of the `fiat` list of `/v1/rates/symbols`. Omitted: USD.
    #[schema(example = "USD")]
    quote: Option<QuoteText>,
}

/// Which prices, at which time.
#[derive(Debug)]
pub struct RatesParams {
    symbols: Vec<String>,
    at: Option<Timestamp>,
    /// Uppercase currency code.
    quote: String,
}

/// Prices found.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RatesReport {
    /// The time asked for, epoch seconds.
    pub at: Option<Time>,
    /// Quote currency.
    pub quote: CurrencyText,
    /// Prices in the order of the request.
    pub rates: Vec<Rate>,
    /// Symbols without a price at that time that can be meant, or none in the quote currency.
    pub missing: Vec<String>,
}

values! {
    /// Where a price comes from: an import, the core prices of the program, or the peg of a stablecoin of which no price was
    /// imported.
    RateSource { Import = "import", Core = "core", Peg = "peg" }
}

/// One price.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Rate {
    /// Rate symbol, lowercase.
    pub symbol: String,
    /// US dollars per whole unit.
    pub price_usd: f64,
    /// Time of the price, epoch seconds; of the peg the time asked for, and without one that of the newest data held.
    pub ts: Time,
    /// `import`, `core` for a daily close that is part of the program, or `peg` for one US dollar of a pegged stablecoin.
    pub source: RateSource,
    /// Units of the quote currency per whole unit, where that is not the US dollar: by the last exchange rate at or
    /// before `ts`, not older than seven days.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub price: Option<f64>,
}

/// Prices of rate symbols, latest or at a time.
pub struct Rates;

impl Analysis for Rates {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = RatesRequest;
    type Params = RatesParams;
    type Report = RatesReport;

    fn params(request: RatesRequest, checks: &mut Checks<'_>) -> Result<RatesParams, Error> {
        let symbols: Vec<String> = request.symbols.iter().map(|symbol| symbol.trim().to_lowercase()).collect();
        symbol_texts("symbols", &symbols)?;
        if symbols.is_empty() {
            return Err(Error::invalid(Reason::EmptyList, "symbols", "symbols: name at least one rate symbol"));
        }
        if let Some(at) = request.at {
            TimeWindow::new(None, Some(at.into()))
                .map_err(|error| refused(Reason::Milliseconds, "at", &at.to_string(), &error))?;
        }
        let quote = quote(checks.ledger, request.quote.as_deref().unwrap_or(USD))?;
        Ok(RatesParams { symbols, at: request.at.map(|at| Timestamp::new(*at)), quote })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &RatesParams,
        warnings: &mut Warnings,
        _: &Cancel,
    ) -> Result<RatesReport, Error> {
        let mut rates = Vec::new();
        let mut missing = Vec::new();
        let (prices, mut end) = (ledger.prices(), CorePricesEnd::new(ledger));
        for symbol in &params.symbols {
            warn_of_left_out(ledger, symbol, params.at, warnings);
            let found = match params.at {
                Some(time) => prices.at(symbol, time),
                None => prices.latest(symbol),
            };
            if let Some(time) = params.at {
                end.note(symbol, time);
            }
            let by_peg = || Some((pegged_price(ledger, symbol, params.at)?, RateSource::Peg));
            let price = found.map(|price| (price, RateSource::of(prices, symbol, price))).or_else(by_peg);
            match price.and_then(|price| rate(ledger, symbol, price, &params.quote, warnings)) {
                Some(rate) => rates.push(rate),
                None => missing.push(symbol.clone()),
            }
        }
        end.warn(warnings);
        Ok(RatesReport {
            at: params.at.map(Timestamp::secs).map(Time),
            quote: CurrencyText(params.quote.clone()),
            rates,
            missing,
        })
    }
}

impl RateSource {
    /// The source of a price in use.
    pub(super) fn of(prices: &PriceTable, symbol: &str, price: Price) -> Self {
        if prices.is_core(symbol, price.time) { Self::Core } else { Self::Import }
    }
}

/// The code of a currency that there are exchange rates of.
fn quote(ledger: &dyn Ledger, text: &str) -> Result<String, Error> {
    let code = text.trim().to_uppercase();
    let mut known = fiat(ledger);
    if known.any(|one| one == code) {
        return Ok(code);
    }
    let available: Vec<&str> = fiat(ledger).collect();
    let why = format!("no exchange rates of {text:?} are held: available are {}", available.join(", "));
    Err(refused(Reason::InvalidValue, "quote", text, &why))
}

/// The currencies that prices can be told in, the US dollar first.
pub(super) fn fiat(ledger: &dyn Ledger) -> impl Iterator<Item = &str> {
    std::iter::once(USD).chain(ledger.exchange_rates().currencies())
}

/// A price in the quote currency; `None` when there is no exchange rate of its time.
fn rate(
    ledger: &dyn Ledger,
    symbol: &str,
    (price, source): (Price, RateSource),
    quote: &str,
    warnings: &mut Warnings,
) -> Option<Rate> {
    let in_quote = if quote == USD {
        None
    } else if let Some(rate) = ledger.exchange_rates().at(quote, price.time) {
        Some(price.usd * rate.per_usd)
    } else {
        let days = FX_MAX_AGE_SECS / 86_400;
        let message =
            format!("{symbol}: no exchange rate of {quote} is held for {}, or up to {days} days before", price.time);
        warnings.add("no_exchange_rate", Some("quote"), message);
        return None;
    };
    let (symbol, ts) = (symbol.to_owned(), Time(price.time.secs()));
    Some(Rate { symbol, price_usd: price.usd, ts, source, price: in_quote })
}

/// Says that the newest price was not used.
fn warn_of_left_out(ledger: &dyn Ledger, symbol: &str, at: Option<Timestamp>, warnings: &mut Warnings) {
    let left_out = ledger.prices().left_out(symbol);
    let known = at.map_or(left_out, |at| &left_out[..left_out.partition_point(|one| one.price.time <= at)]);
    let used = at.map_or_else(|| ledger.prices().latest(symbol), |at| ledger.prices().at(symbol, at));
    let Some(ExcludedPrice { price, why }) = known.last() else { return };
    let is_newest = used.is_none_or(|used| used.time < price.time);
    let is_old = at.is_some_and(|at| at.secs().saturating_sub(price.time.secs()) > PRICE_MAX_AGE_SECS);
    if is_newest && !is_old {
        let why = match why {
            Implausible::NotPositive => "it is not above zero",
            Implausible::Spike => "the prices before and after it agree on another level",
        };
        let message = format!("{symbol}: the price of {} US dollars at {} is left out: {why}", price.usd, price.time);
        warnings.add("implausible_price", Some("symbols"), message);
    }
}

/// One symbol that was asked for.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RateRow {
    symbol: String,
    /// Null, as all that follows, where the symbol has no price.
    price_usd: Option<f64>,
    ts: Option<Time>,
    source: Option<RateSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    price: Option<f64>,
}

/// As a table it has a row for each symbol: a list beside the rows, as `missing` is, a table has no place for.
impl List for Rates {
    type Row = RateRow;

    fn list(
        ledger: &dyn Ledger,
        params: &RatesParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let RatesReport { rates, .. } = Self::report(ledger, params, warnings, rows.cancel)?;
        let mut found = rates.into_iter().peekable();
        let priced = params.symbols.iter().map(|symbol| match found.next_if(|rate| rate.symbol == *symbol) {
            Some(Rate { symbol, price_usd, ts, source, price }) => {
                RateRow { symbol, price_usd: Some(price_usd), ts: Some(ts), source: Some(source), price }
            }
            None => RateRow { symbol: symbol.clone(), price_usd: None, ts: None, source: None, price: None },
        });
        rows.whole(TableHead::default(), warnings, priced)
    }
}
