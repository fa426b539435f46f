//! Values of reports in words: what explanations of commands share.

use headwater_engine::ClaimDispute;
use headwater_engine::fields::{DecimalText, RawAmountText, Time};

use super::output::{date, grouped};

/// Joins the parts of an explanation, without those that are empty.
pub(super) fn joined<const N: usize>(parts: [Vec<String>; N]) -> Vec<String> {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&String::new())
}

/// Puts a title above lines; returns nothing for no lines.
pub(super) fn section(title: &str, lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() { lines } else { std::iter::once(format!("{title}:")).chain(lines).collect() }
}

/// Returns a row of a table.
pub(super) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// Formats a time as a date.
pub(super) fn time(time: Time) -> String {
    date(*time)
}

/// Formats a number as JSON writes it.
pub(super) fn number(number: f64) -> String {
    serde_json::Value::from(number).to_string()
}

/// Formats US dollars with commas.
pub(super) fn usd(usd: Option<f64>) -> String {
    usd.map_or_else(|| "no price".to_owned(), |usd| grouped_decimal(&format!("{usd:.2}")))
}

/// Puts commas into the whole part of a decimal number that has a point.
pub(super) fn grouped_decimal(text: &str) -> String {
    let text = grouped_text(text);
    if text.contains('.') { text } else { format!("{text}.00") }
}

/// Puts commas into the whole part of a decimal number of any length; other text stays as it is.
pub(super) fn grouped_text(text: &str) -> String {
    let (sign, number) = text.strip_prefix('-').map_or(("", text), |number| ("-", number));
    let (whole, rest) = number.find('.').map_or((number, ""), |point| number.split_at(point));
    if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut grouped = sign.to_owned();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

/// Returns the mark behind a name that a disputed claim gives.
pub(super) fn doubt(dispute: Option<&ClaimDispute>) -> &'static str {
    if dispute.is_none() { "" } else { " (disputed)" }
}

/// Describes a dispute: its author, time and reason.
pub(super) fn dispute(of: &ClaimDispute) -> String {
    format!("disputed by {} on {}: {}", of.by, time(of.at), of.reason)
}

/// Formats a share in percent; returns no text for no share.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map(|share| format!("{:.2} %", 100.0 * share)).unwrap_or_default()
}

/// Formats an amount with its symbol; in the smallest unit if the decimals are unknown.
pub(super) fn amount(whole: Option<&DecimalText>, raw: &RawAmountText, symbol: &str) -> String {
    let units = || format!("{} units {symbol}", grouped_text(raw));
    whole.map_or_else(units, |whole| format!("{} {symbol}", grouped_text(whole)))
}

/// Formats a count with the word for what is counted.
pub(super) fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { several })
}

/// Formats a share of a verdict in whole percent; small shares are less than one.
pub(super) fn whole_percent(share: f64) -> String {
    let percent = (100.0 * share).round();
    if percent < 1.0 && share > 0.0 { "less than 1 %".to_owned() } else { format!("{percent:.0} %") }
}
