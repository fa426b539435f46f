//! Token registries, prices and exchange rates: small files that are read whole.

mod clock;
mod fx;
mod import;
mod prices;
mod tokens;

use std::path::Path;

use headwater_ledger::market::{FxPoint, PricePoint, TokenListing};
use headwater_types::Chain;

use crate::error::{FieldError, RowError};
use crate::report::{NO_ROW, QUOTED};
use crate::source::{Counts, Input, Probe, Row, ungrouped};
use crate::{IngestError, Options, Place};

pub use import::{MarketImport, SourceEntries, import_exchange_rates, import_prices, import_tokens, read_sources};
pub(crate) use prices::price_of;
pub(crate) use tokens::listing_of;

/// The entries of a file, and the rows that were left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// The format of the file.
    pub format: &'static str,
    /// Rows that list nothing: no price on that day, another chain, no fungible token, a malformed entry.
    pub skipped: u64,
    /// Why, for the first few of them.
    pub skipped_reasons: Vec<String>,
}

impl<T> Listed<T> {
    fn new(format: &'static str) -> Self {
        Self { entries: Vec::new(), format, skipped: 0, skipped_reasons: Vec::new() }
    }

    /// The list, where it is not empty.
    ///
    /// # Errors
    /// When it is: why nothing of the file counts.
    fn filled(self, path: &Path, what: &'static str) -> Result<Self, IngestError> {
        if !self.entries.is_empty() {
            return Ok(self);
        }
        let reason = match self.skipped_reasons.first() {
            None => NO_ROW.to_owned(),
            Some(first) => format!("all {} rows are left out ({first})", self.skipped),
        };
        Err(IngestError::NothingRead { path: path.to_owned(), what, reason })
    }

    fn skip(&mut self, reason: impl FnOnce() -> String) {
        self.skipped += 1;
        if self.skipped_reasons.len() < QUOTED {
            self.skipped_reasons.push(reason());
        }
    }
}

/// Reads a token registry: the lists of ethereum-lists (an array, or one token per file), the contract map of
/// `MetaMask`, a token list in the form of Uniswap, or CSV and Parquet with `address`, `symbol` and `decimals`.
///
/// The chain of a token is what its entry says (`chainId`), else `chain`, else what the name of the file says, else
/// Ethereum. Bad entries and those of other chains are left out: see [`list_tokens`] for their number.
///
/// # Errors
/// When the file cannot be read, is none of these, or lists no token.
pub fn read_token_registry(path: &Path, chain: Option<Chain>) -> Result<Vec<TokenListing>, IngestError> {
    Ok(list_tokens(path, chain)?.entries)
}

/// [`read_token_registry`], with the number of entries that were left out and why.
///
/// # Errors
/// When the file cannot be read, is not a token registry, or lists no token.
pub fn list_tokens(path: &Path, chain: Option<Chain>) -> Result<Listed<TokenListing>, IngestError> {
    tokens::list(&probe(path)?, chain)?.filled(path, "token")
}

/// Reads prices in US dollars from CSV or Parquet: daily rows (`Date`, `Close`), candles (`Unix`, `Close`, or a `Date`
/// with a time of day), or `symbol`, `ts`, `price_usd`. The symbol is `symbol`, else what its column says, else the pair
/// in the name of the file (`Binance_ETHUSDT_1h.csv`), else what the name begins with (`ETH-USD-1d.csv`). Lines before the
/// header that are comments (`# ...`) or a web address are left out.
///
/// A price in USDT, USDC, BUSD or FDUSD is taken as one in dollars; a pair priced in another currency is refused.
///
/// A price of a day or a candle is the one of its end and carries its last second, so that nothing looks ahead. How long
/// a candle is the name of the file says (`_1h`, `_d`, `_minute`), else the least time between two of them. Times are
/// epoch seconds (numbers below 10^12), milliseconds (below 10^15), microseconds (below 10^18) or nanoseconds, also written
/// as doubles, or dates with a time of day as databases print them; a date without one means its end.
///
/// Rows without a price (empty, `null`, `NaN`, `N/A`, `-`) list none. Where the file states the volume (columns that begin
/// with `volume`), a price at which nothing was traded is thin and left out; volumes that are zero in every row state
/// nothing.
///
/// # Errors
/// When the file cannot be read, is none of these, names no symbol, lists no price, or a price is negative or not a
/// number.
pub fn read_prices(path: &Path, symbol: Option<&str>) -> Result<Vec<PricePoint>, IngestError> {
    Ok(list_prices(path, symbol)?.entries)
}

/// [`read_prices`], with the number of rows without a price, or with a thin one.
///
/// # Errors
/// As [`read_prices`].
pub fn list_prices(path: &Path, symbol: Option<&str>) -> Result<Listed<PricePoint>, IngestError> {
    prices::list(&probe(path)?, symbol)?.filled(path, "price")
}

/// Reads exchange rates from CSV or Parquet: long (`date`, `currency`, `units_per_usd`), or wide with a column per
/// currency code, as the European Central Bank publishes them (`Date`, `USD`, `JPY`, ...; units per euro).
///
/// Names of columns are compared without case, blanks as `_`. Times are `date`, `day` or `time_period`, or those of
/// [`read_prices`] in `ts`, `timestamp` or `unix`; the currency may be `currency_code`, `code`, `ccy` or `quote`, the rate `per_usd`,
/// `rate`, `exchange_rate`, `units`, `value` or `obs_value`, or the only column that is left. A column `base` (or
/// `base_currency`, `currency_denom`) states what the units are per, where that is not the US dollar; a wide table with a
/// column of the US dollar is per euro, or per what only it knows where it has a column of the euro too. What is not per
/// US dollar is divided by the rate of the dollar of the same time, without which it is left out.
///
/// A rate of a day carries its last second, so that nothing looks ahead. Rows without a rate (empty, `null`,
/// `N/A`, `ND`) list none.
///
/// # Errors
/// When the file cannot be read, is none of these, lists no rate, or a rate is not above zero.
pub fn list_exchange_rates(path: &Path) -> Result<Listed<FxPoint>, IngestError> {
    fx::list(&probe(path)?)?.filled(path, "exchange rate")
}

/// The marks of tables for a missing number.
const NO_NUMBER: [&str; 12] = ["null", "none", "nil", "nan", "<na>", "n/a", "na", "nd", "-", "--", ".", "#n/a"];

/// A number of a table, with thousands separators and a dollar sign or without. `None` when the cell has none.
fn number(
    row: &Row<'_>,
    column: &str,
    expected: &str,
    is_valid: impl FnOnce(f64) -> bool,
) -> Result<Option<f64>, FieldError> {
    let Some(text) = row.text(column)? else { return Ok(None) };
    let trimmed = text.trim();
    if trimmed.is_empty() || NO_NUMBER.iter().any(|sign| trimmed.eq_ignore_ascii_case(sign)) {
        return Ok(None);
    }
    let plain = ungrouped(trimmed.strip_prefix('$').unwrap_or(trimmed));
    let number = plain.and_then(|plain| plain.parse().ok()).filter(|number: &f64| number.is_finite());
    match number.filter(|number| is_valid(*number)) {
        Some(number) => Ok(Some(number)),
        None => Err(FieldError::new(column, Some(&text), expected)),
    }
}

fn probe(path: &Path) -> Result<Probe, IngestError> {
    Probe::new(Input::new(path, &Options::default().bounds)?)
}

impl<T> Counts for Listed<T> {
    fn count_row(&mut self, _place: Place) -> Result<(), IngestError> {
        Ok(())
    }

    fn reject(&mut self, error: RowError) -> Result<(), IngestError> {
        Err(IngestError::Row(Box::new(error)))
    }
}
