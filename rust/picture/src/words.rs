//! The words of pictures: reasons, labels, amounts and dates as people read them, from texts that strangers wrote.

use headwater_engine::fields::{DecimalText, RawAmountText};
use headwater_engine::trace::{TraceDivision, TruncationName};
use headwater_ledger::labels::Code;
use headwater_types::Timestamp;

/// The sentence below every picture.
pub const HYPOTHESIS: &str = "A trace is a hypothesis: coins in one account cannot be told apart.";
/// Maximum number of characters of a name that a picture contains.
const MAX_NAME: usize = 200;
/// Maximum number of characters of a symbol.
const MAX_SYMBOL: usize = 12;

/// The reasons for which a trace stops at an address, in words.
pub(crate) const STOP_REASONS: [(&str, &str); 10] = [
    ("depth_limit", "the last hop"),
    ("label", "a service: what leaves it is other people's money"),
    ("hub", "deals with too many addresses"),
    ("contract", "a contract"),
    ("not_held", "only a part of what it did is held"),
    ("time_budget", "the limit of work was reached before it"),
    ("no_owner", "anybody can spend what it holds"),
    ("no_outflow", "no further payments"),
    ("filtered", "further payments are outside of the filters"),
    ("time_range", "further payments do not fit in time"),
];

/// Describes why a trace stops at an address; other texts are returned as they are.
///
/// ```
/// assert_eq!(headwater_picture::stop_reason("hub"), "deals with too many addresses");
/// ```
#[must_use]
pub fn stop_reason(code: &str) -> &str {
    STOP_REASONS.iter().find(|(name, _)| *name == code).map_or(code, |(_, words)| words)
}

/// A part of a division, with its title.
type DivisionPart = (&'static str, fn(&TraceDivision) -> f64);

/// The parts of a division in the order of answers, with their titles.
pub const DIVISION_PARTS: [DivisionPart; 6] = [
    ("at ends", |of| of.ends),
    ("came back", |of| of.returned),
    ("stayed between", |of| of.stayed),
    ("no room to follow", |of| of.pruned),
    ("left out by filters", |of| of.filtered),
    ("fees", |of| of.fees),
];

/// Describes what a trace left out, and for which reason.
pub(crate) fn left_out(reason: TruncationName, settings: Limits) -> String {
    match (reason, settings.per_address, settings.addresses) {
        (TruncationName::FanoutLimit, Some(limit), _) => {
            format!("counterparties beyond the {limit} largest of an address")
        }
        (TruncationName::FanoutLimit, None, _) => "counterparties of addresses with many of them".to_owned(),
        (TruncationName::MaxNodes, _, Some(limit)) => format!("addresses beyond the first {limit}"),
        (TruncationName::MaxNodes, _, None) => "addresses beyond the limit of the search".to_owned(),
        (TruncationName::DepthLimit, ..) => "payments beyond the last hop".to_owned(),
        (TruncationName::TimeBudget, ..) => "addresses that the limit of work did not reach".to_owned(),
    }
}

/// The limits of a trace that its picture names; a path has none of its own.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// Counterparties of an address.
    pub per_address: Option<i64>,
    /// Addresses in all.
    pub addresses: Option<i64>,
}

/// Describes the code of a label.
pub(crate) fn code(code: Code) -> &'static str {
    match code {
        Code::Sanction => "sanctions list",
        Code::TerroristFinancing => "terrorist financing",
        Code::Csam => "child abuse material",
        Code::Theft => "theft",
        Code::Exploit => "exploit",
        Code::Hack => "hack",
        Code::StolenFunds => "stolen funds",
        Code::Ransomware => "ransomware",
        Code::Extortion => "extortion",
        Code::DarknetMarket => "darknet market",
        Code::IllicitGoods => "illicit goods",
        Code::Phishing => "phishing",
        Code::Drainer => "drainer",
        Code::Scam => "scam",
        Code::PigButchering => "investment scam",
        Code::Ponzi => "Ponzi scheme",
        Code::RugPull => "rug pull",
        Code::AddressPoisoning => "address poisoning",
        Code::IssuerFrozen => "frozen by the issuer of a token",
        Code::Mixer => "mixer",
        Code::CoinjoinCoordinator => "CoinJoin coordinator",
        Code::Coinjoin => "CoinJoin",
        Code::GuaranteeMarket => "guarantee market",
        Code::UndergroundBanking => "underground banking",
        Code::NoKycExchange => "exchange without identity checks",
        Code::Gambling => "gambling",
        Code::HighRiskExchange => "exchange of high risk",
        Code::PrivacyProtocol => "privacy protocol",
        Code::SanctionDelisted => "formerly on a sanctions list",
        Code::ReportedOnce => "reported once",
        Code::MevBot => "MEV bot",
        Code::Treasury => "treasury",
        Code::Exchange => "exchange",
        Code::ExchangeHotWallet => "hot wallet of an exchange",
        Code::Deposit => "deposit address of an exchange",
        Code::Dex => "decentralised exchange",
        Code::Defi => "DeFi protocol",
        Code::Bridge => "bridge",
        Code::MiningPool => "mining pool",
        Code::Payment => "payment service",
        Code::Merchant => "merchant",
        Code::ColdWallet => "cold wallet",
    }
}

/// Returns both ends of an address: the first six characters and the last four.
pub(crate) fn short(address: &str) -> String {
    let characters: Vec<char> = address.chars().collect();
    if characters.len() <= 14 {
        return address.to_owned();
    }
    let (first, last) = (&characters[..6], &characters[characters.len() - 4..]);
    format!("{}…{}", first.iter().collect::<String>(), last.iter().collect::<String>())
}

/// Returns text that changes nothing around it: on one line, without characters that are invisible or turn the direction
/// of writing, and not longer than names are.
pub(crate) fn clean(text: &str) -> String {
    cut(text, MAX_NAME)
}

/// Returns a character, or a mark for one that is invisible or turns the direction of writing.
pub(crate) fn visible(letter: char) -> char {
    if is_invisible(letter) { '\u{fffd}' } else { letter }
}

fn cut(text: &str, max: usize) -> String {
    let text = text.trim();
    let mut kept: String = text.chars().take(max).map(visible).collect();
    if text.chars().count() > max {
        kept.pop();
        kept.push('…');
    }
    kept
}

/// Returns whether a character is a control, a mark of format or direction, private, or one that XML lacks.
fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
                | '\u{e0000}'..='\u{10ffff}'
        )
}

/// Formats an amount with five significant digits, and its symbol; in the smallest unit if the decimals are unknown.
pub(crate) fn amount(whole: Option<&DecimalText>, raw: &RawAmountText, symbol: &str) -> String {
    let symbol = cut(symbol, MAX_SYMBOL);
    whole.map_or_else(
        || format!("{} units of {symbol}", significant(raw)),
        |whole| format!("{} {symbol}", significant(whole)),
    )
}

/// Formats an exact amount with its symbol.
pub(crate) fn exact_amount(whole: Option<&DecimalText>, raw: &RawAmountText, symbol: &str) -> String {
    let symbol = cut(symbol, MAX_SYMBOL);
    whole.map_or_else(
        || format!("{} units of {symbol}", with_commas(raw)),
        |whole| format!("{} {symbol}", with_commas(whole)),
    )
}

/// Formats US dollars: whole ones from 1,000, cents below.
pub(crate) fn usd(usd: f64) -> String {
    let text = if usd >= 1_000.0 { format!("{usd:.0}") } else { format!("{usd:.2}") };
    if usd > 0.0 && usd < 0.005 { "under $0.01".to_owned() } else { format!("${}", with_commas(&text)) }
}

/// Formats a share in percent.
pub(crate) fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 { "under 0.1 %".to_owned() } else { format!("{:.1} %", 100.0 * share) }
}

/// Formats the day of a time in epoch seconds.
pub(crate) fn day(secs: i64) -> String {
    moment(secs).chars().take_while(|letter| *letter != 'T').collect()
}

/// Formats a time in epoch seconds, as ISO 8601 writes it.
pub(crate) fn moment(secs: i64) -> String {
    Timestamp::new(secs).to_string()
}

/// Formats the days of the first and the last of something.
pub(crate) fn days(first: i64, last: i64) -> String {
    let (first, last) = (day(first), day(last));
    if first == last { first } else { format!("{first} – {last}") }
}

/// Keeps five significant digits of a decimal number; whole parts are kept up to 15 digits, longer ones get a power of ten.
fn significant(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() > 15 {
        return format!("{}.{} × 10^{}", &whole[..1], &whole[1..3], whole.len() - 1);
    }
    let digits = match whole {
        "0" => 5 + fraction.len() - fraction.trim_start_matches('0').len(),
        _ => 5_usize.saturating_sub(whole.len()).max(usize::from(whole.len() < 4)),
    };
    let fraction = fraction[..digits.min(fraction.len())].trim_end_matches('0');
    if fraction.is_empty() { with_commas(whole) } else { format!("{}.{fraction}", with_commas(whole)) }
}

/// Puts commas into the whole part of a decimal number.
fn with_commas(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(whole, rest)| (whole, Some(rest)));
    let mut text = String::with_capacity(number.len() * 4 / 3 + 1);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_keeps_five_digits() {
        let cases = [
            ("12.5", "12.5"),
            ("1234567.891", "1,234,567"),
            ("123.456789", "123.45"),
            ("0.000012345678", "0.000012345"),
            ("0", "0"),
            ("1000000000000000000000", "1.00 × 10^21"),
            ("9999.5", "9,999.5"),
        ];
        for (number, shown) in cases {
            assert_eq!(significant(number), shown, "{number}");
        }
    }

    #[test]
    fn clean_replaces_invisible_characters() {
        assert_eq!(clean("a\u{202e}b\u{200b}\nc\u{0}"), "a\u{fffd}b\u{fffd}\u{fffd}c\u{fffd}");
        let long = clean(&"x".repeat(10_000));
        assert_eq!((long.chars().count(), long.ends_with('…')), (200, true));
    }

    #[test]
    fn short_keeps_both_ends() {
        assert_eq!(short("0x1234567890abcdef"), "0x1234…cdef");
        assert_eq!(short("1abc"), "1abc");
    }

    #[test]
    fn usd_has_cents_below_a_thousand() {
        assert_eq!(
            [usd(0.0), usd(0.001), usd(12.3), usd(1_234_567.8)],
            ["$0.00", "under $0.01", "$12.30", "$1,234,568"]
        );
    }
}
