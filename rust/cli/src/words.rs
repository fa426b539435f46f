//! Answers in words: what explanations of commands share.

use serde_json::Value;

use super::output::{date, grouped};

/// Lines under a title; none where there is nothing to say.
pub(super) fn section(title: &str, lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() { lines } else { std::iter::once(format!("{title}:")).chain(lines).collect() }
}

/// A row of a table.
pub(super) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// Text; nothing where there is none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A list; empty where there is none.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A count with commas.
pub(super) fn count(value: &Value) -> String {
    grouped(value.as_u64().unwrap_or_default())
}

/// A time as a date.
pub(super) fn time(value: &Value) -> String {
    date(value.as_i64().unwrap_or_default())
}

/// US dollars with commas.
pub(super) fn usd(value: &Value) -> String {
    let Some(usd) = value.as_f64() else { return "no price".to_owned() };
    let text = format!("{usd:.2}");
    let (whole, cents) = text.split_once('.').unwrap_or((&text, "00"));
    whole.parse().map_or_else(|_| text.clone(), |whole| format!("{}.{cents}", grouped(whole)))
}

/// A mark behind a name that a disputed claim gives.
pub(super) fn doubt(record: &Value) -> &'static str {
    if record["disputed"].is_null() { "" } else { " (disputed)" }
}

/// Describes a dispute: its author, time and reason.
pub(super) fn dispute(of: &Value) -> String {
    format!("disputed by {} on {}: {}", text(&of["by"]), time(&of["at"]), text(&of["reason"]))
}

/// A share in percent.
pub(super) fn percent(value: &Value) -> String {
    value.as_f64().map(|share| format!("{:.2} %", 100.0 * share)).unwrap_or_default()
}

/// An amount with its symbol; in the smallest unit where nobody states decimals.
pub(super) fn amount(edge: &Value) -> String {
    let amount = edge["amount"].as_str().map_or_else(|| format!("{} units", text(&edge["amount_raw"])), str::to_owned);
    format!("{amount} {}", text(&edge["symbol"]))
}
