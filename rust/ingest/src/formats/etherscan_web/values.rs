//! The forms of amounts, times and outcomes on pages of a block explorer.

use std::borrow::Cow;

use headwater_ledger::read::Status;
use headwater_types::{Amount, Chain, Timestamp};

use super::layout::{Layout, Table};
use crate::error::FieldError;
use crate::source::{Row, plain_decimal, ungrouped};

/// The signs of a missing value.
const NOTHING: [&str; 3] = ["-", "N/A", "null"];

/// The text of a cell without blanks around it; `None` when it says nothing.
pub(super) fn cell<'a>(row: &Row<'a>, column: &str) -> Result<Option<Cow<'a, str>>, FieldError> {
    let Some(text) = row.text(column)? else { return Ok(None) };
    let plain = match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    };
    Ok(Some(plain).filter(|text| !text.is_empty() && !NOTHING.iter().any(|sign| text.eq_ignore_ascii_case(sign))))
}

/// A cell that must say something.
pub(super) fn needed<T>(value: Option<T>, column: &str, expected: &str) -> Result<T, FieldError> {
    value.ok_or_else(|| FieldError::new(column, None, expected))
}

/// An amount of the native coin in a cell.
pub(super) fn coins_in(row: &Row<'_>, column: &str, chain: Chain) -> Result<Option<Amount>, FieldError> {
    let Some(text) = cell(row, column)? else { return Ok(None) };
    let symbol = chain.native_symbol().to_uppercase();
    let expected = || format!("an amount in {symbol} with at most {} decimals", chain.native_decimals());
    coins(&text, chain).map(Some).ok_or_else(|| FieldError::new(column, Some(&text), expected()))
}

/// An amount of the native coin as printed: whole coins, or with a unit behind it (`0.5 ETH`, `12 wei`). It is read
/// exactly; digits that a page leaves out are lost.
pub(super) fn coins(text: &str, chain: Chain) -> Option<Amount> {
    let text = text.trim();
    let number = text.trim_end_matches(char::is_alphabetic);
    let unit = text.strip_prefix(number)?;
    let decimals = match unit {
        "" => chain.native_decimals(),
        unit if unit.eq_ignore_ascii_case(chain.native_symbol()) => chain.native_decimals(),
        unit if unit.eq_ignore_ascii_case("wei") => 0,
        unit if unit.eq_ignore_ascii_case("gwei") => 9,
        _ => return None,
    };
    decimal(number, decimals)
}

/// A decimal number in whole units, which may have thousands separators or an exponent, in the smallest unit.
pub(super) fn decimal(text: &str, decimals: u8) -> Option<Amount> {
    let plain = plain_decimal(&ungrouped(text.trim())?)?;
    let plain = if plain.starts_with('.') { format!("0{plain}") } else { plain };
    Amount::parse_decimal(&plain, decimals).ok()
}

/// The time of a row.
pub(super) fn time(row: &Row<'_>, layout: &Layout) -> Result<Timestamp, FieldError> {
    let time = match row.time(&layout.unix_time)? {
        Some(time) => Some(time),
        None => row.time(&layout.date_time)?,
    };
    needed(time, &layout.unix_time, "epoch seconds, or a date and time of day in UTC")
}

/// Returns the outcome of a transaction or of a call inside one, and the reason of a failure.
///
/// `Error(0)` is a receipt with status 0. `Error(1)` is one with status 1: the transaction succeeded, and only a call
/// inside it failed. Of a call inside a transaction the number counts errors.
pub(super) fn outcome(row: &Row<'_>, layout: &Layout) -> Result<(Status, Option<String>), FieldError> {
    let error = cell(row, &layout.error)?.filter(|error| error != "0");
    let status = cell(row, &layout.status)?;
    let word = status.as_deref().map(str::to_lowercase).unwrap_or_default();
    let is_call = layout.table == Table::Internal;
    let failed = match &*word {
        "" => error.is_some(),
        "0" if is_call => error.is_some(),
        "1" if is_call => true,
        "success" | "successful" | "ok" | "error(1)" => false,
        word if ["error", "fail", "revert"].iter().any(|start| word.starts_with(start)) => true,
        _ => {
            let expected = "Success, Fail, Error(0), Error(1), or nothing for success";
            return Err(FieldError::new(&layout.status, status.as_deref(), expected));
        }
    };
    Ok(if failed { (Status::Failed, error.map(Cow::into_owned)) } else { (Status::Success, None) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coins_printed_amounts_are_exact() {
        let wei = |text: &str| coins(text, Chain::ETHEREUM).map(|amount| amount.to_string());
        for (text, expected) in [
            ("1.5", "1500000000000000000"),
            ("1,200.25", "1200250000000000000000"),
            ("1,234,567", "1234567000000000000000000"),
            ("0.5 ETH", "500000000000000000"),
            ("0.5ETH", "500000000000000000"),
            (" 0.000000000000000001 ", "1"),
            ("12 wei", "12"),
            ("3 Gwei", "3000000000"),
            ("1.5E-05", "15000000000000"),
            (".25", "250000000000000000"),
            ("0", "0"),
        ] {
            assert_eq!(wei(text).as_deref(), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn coins_other_text_is_no_amount() {
        for text in
            ["0,5", "1,23", "12,34.5", "1.5 BNB", "-1", "", "1.2.3", "0.0000000000000000001", "1 USDT", "Ξ1", "½"]
        {
            assert_eq!(coins(text, Chain::ETHEREUM), None, "{text:?}");
        }
        assert!(coins("1.5 BNB", Chain::BSC).is_some());
    }
}
