//! Values of answers as cells of tables: exact amounts stay exact, unknown values are empty.

use headwater_engine::{Column, ColumnKind};
use serde_json::Value;

use super::output::date;
use super::words::grouped_text;

/// Digits of a number that is not an amount.
const DIGITS: i32 = 6;

/// Formats the value of a column.
pub(super) fn cell(column: &Column, value: &Value) -> String {
    match (&column.kind, value) {
        (_, Value::Null) => String::new(),
        (ColumnKind::Amount | ColumnKind::RawAmount, Value::String(text)) => grouped_text(text),
        (ColumnKind::Integer, Value::Number(number)) => grouped_text(&number.to_string()),
        (ColumnKind::Time, value) => value.as_i64().map(date).unwrap_or_default(),
        (ColumnKind::Float, value) => {
            value.as_f64().map(|number| float(column.name.ends_with("_usd"), number)).unwrap_or_default()
        }
        (_, Value::Bool(is_true)) => if *is_true { "yes" } else { "no" }.to_owned(),
        (_, Value::String(text)) => text.clone(),
        (ColumnKind::Texts, Value::Array(texts)) => {
            texts.iter().map(|text| text.as_str().unwrap_or_default()).collect::<Vec<_>>().join(", ")
        }
        (_, Value::Array(items)) if items.is_empty() => String::new(),
        (_, value) => value.to_string(),
    }
}

fn float(is_dollars: bool, number: f64) -> String {
    if is_dollars { dollars(number) } else { significant(number) }
}

/// Formats US dollars: cents from one dollar on, below it as many digits as a price needs.
pub(super) fn dollars(number: f64) -> String {
    if number == 0.0 || number.abs() >= 1.0 { grouped_text(&format!("{number:.2}")) } else { significant(number) }
}

/// Formats a number with six significant digits, whole numbers with all of theirs.
fn significant(number: f64) -> String {
    const WHOLE: f64 = 1e15;
    if !number.is_finite() {
        return String::new();
    }
    if number.fract() == 0.0 && number.abs() < WHOLE {
        return grouped_text(&format!("{number:.0}"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm of a double is small")]
    let magnitude = number.abs().log10().floor() as i32;
    let behind = usize::try_from((DIGITS - 1 - magnitude).clamp(0, 20)).unwrap_or(0);
    let text = format!("{number:.behind$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    grouped_text(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(name: &str, kind: ColumnKind, value: &Value) -> String {
        cell(&Column { name: name.to_owned(), kind }, value)
    }

    #[test]
    fn amounts_stay_exact_with_separators() {
        let raw = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        assert_eq!(
            shown("amount", ColumnKind::Amount, &json!("-1234567.000000000000000001")),
            "-1,234,567.000000000000000001"
        );
        assert_eq!(shown("amount_raw", ColumnKind::RawAmount, &json!(raw)).replace(',', ""), raw);
    }

    #[test]
    fn unknown_dollars_are_empty_and_never_zero() {
        assert_eq!(shown("amount_usd", ColumnKind::Float, &Value::Null), "");
        assert_eq!(shown("amount_usd", ColumnKind::Float, &json!(0.0)), "0.00");
        assert_eq!(shown("amount_usd", ColumnKind::Float, &json!(1234.5)), "1,234.50");
        assert_eq!(shown("price_usd", ColumnKind::Float, &json!(0.000_012_345_678)), "0.0000123457");
    }

    #[test]
    fn times_are_dates_and_lists_are_joined() {
        assert_eq!(shown("timestamp", ColumnKind::Time, &json!(0)), "1970-01-01 00:00:00Z");
        assert_eq!(shown("labels", ColumnKind::Texts, &json!(["exchange", "hot_wallet"])), "exchange, hot_wallet");
        assert_eq!(shown("share", ColumnKind::Float, &json!(62.123_456_789)), "62.1235");
        assert_eq!(shown("count", ColumnKind::Integer, &json!(1_234_567)), "1,234,567");
    }
}
