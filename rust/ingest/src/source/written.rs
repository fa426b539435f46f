//! Numbers, truth values, times and lists as programs write them into text.
//!
//! Whole numbers may be written as floats (`1.0`, `1.68E9`): a table library without nullable integers turns a column
//! with a gap into floats.

use std::borrow::Cow;

use headwater_types::{Amount, Timestamp};

/// The first integer that a double may not hold exactly.
const FIRST_ROUNDED: u64 = 1 << 53;
/// Digits that a double always keeps.
const KEPT_DIGITS: usize = 15;
/// Exponents beyond this make no amount of 256 bits.
const MAX_EXPONENT: usize = 77;

/// An amount as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrittenAmount {
    pub(crate) amount: Amount,
    /// True if it is written as a float of more digits than a double keeps, so that digits may be lost.
    pub(crate) is_rounded: bool,
}

/// A number of digits alone: no sign, blank or exponent.
pub(crate) fn plain_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A whole number, written as digits or as a float.
pub(crate) fn whole_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    if let Some(number) = plain_number(text) {
        return Some(number);
    }
    let WrittenAmount { amount, is_rounded } = written_amount(text)?;
    if is_rounded { None } else { amount.to_string().parse().ok() }
}

/// An amount in the smallest unit, written as digits or as a float without a fraction.
pub(crate) fn written_amount(text: &str) -> Option<WrittenAmount> {
    if !text.contains(['.', 'e', 'E']) {
        return Some(WrittenAmount { amount: Amount::parse_raw(text).ok()?, is_rounded: false });
    }
    let plain = plain_decimal(text)?;
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    if whole.is_empty() || !fraction.bytes().all(|byte| byte == b'0') {
        return None;
    }
    let amount = Amount::parse_decimal(whole, 0).ok()?;
    let kept = whole.trim_start_matches('0').trim_end_matches('0').len();
    Some(WrittenAmount { amount, is_rounded: amount >= Amount::from(FIRST_ROUNDED) && kept > KEPT_DIGITS })
}

/// A truth value: `1`, `true`, `True`, `1.0` and their opposites.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "1.0" | "0x1" => Some(true),
        "0" | "0.0" | "0x0" => Some(false),
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// A time: epoch seconds, or milli-, micro- or nanoseconds (of 13, 16 and 19 digits), or a date with a time of day in
/// the forms of databases. A date alone would lose the time of day.
pub(crate) fn time_of(text: &str) -> Option<Timestamp> {
    if text.contains(':') {
        return text.parse().ok().filter(|time: &Timestamp| time.secs() >= 0);
    }
    let number: u64 = whole_number(text)?;
    let per_second: u64 = match number {
        0..1_000_000_000_000 => 1,
        1_000_000_000_000..1_000_000_000_000_000 => 1_000,
        1_000_000_000_000_000..1_000_000_000_000_000_000 => 1_000_000,
        _ => 1_000_000_000,
    };
    i64::try_from(number / per_second).ok().map(Timestamp::new)
}

/// The items of a list in one text: joined with commas or blanks, in brackets of any kind, quoted or not, as JSON,
/// Python, numpy and databases write lists. Missing items at the end are left out; `None` when one is missing before
/// others.
pub(crate) fn list_items(text: &str) -> Option<Vec<&str>> {
    let text = text.trim();
    let inner = text.strip_prefix("array(").and_then(|rest| rest.split(", dtype=").next());
    let is_divider = |letter: char| letter.is_whitespace() || matches!(letter, ',' | ';' | '|');
    let is_mark = |letter: char| matches!(letter, '[' | ']' | '{' | '}' | '(' | ')' | '"' | '\'');
    let mut items = Vec::new();
    let mut is_ended = false;
    for item in inner.unwrap_or(text).split(is_divider) {
        let item = item.trim_matches(is_mark);
        let is_missing = ["none", "null", "nan"].iter().any(|missing| item.eq_ignore_ascii_case(missing));
        match item {
            "" => {}
            _ if is_missing => is_ended = true,
            _ if is_ended => return None,
            item => items.push(item),
        }
    }
    Some(items)
}

/// Bytes written as `0x` hex.
pub(crate) fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    hex::decode(text.strip_prefix("0x")?).ok()
}

/// Decimal text without an exponent: some writers print 0.000027 as `2.7e-05`, and 20 zeros as `1E20`.
pub(crate) fn plain_decimal(text: &str) -> Option<String> {
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else { return Some(text.to_owned()) };
    let (digits, negative) = match exponent.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (exponent.strip_prefix('+').unwrap_or(exponent), false),
    };
    let places = plain_number::<usize>(digits).filter(|places| *places <= MAX_EXPONENT)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() || ![whole, fraction].concat().bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let zeros = "0".repeat(places);
    // The point stands behind `whole`; shift it by as many places, with zeros where no digits are.
    Some(if negative {
        let digits = format!("{zeros}{whole}");
        let (before, after) = digits.split_at(digits.len() - places);
        format!("0{before}.{after}{fraction}0")
    } else {
        let digits = format!("{fraction}{zeros}");
        let (before, after) = digits.split_at(places);
        format!("{whole}{before}.{after}0")
    })
}

/// Decimal text without thousands separators (`1,234,567.8`). `None` where a comma stands anywhere but between groups of
/// three digits: there it may be a decimal comma, and without it the number would be another one.
pub(crate) fn ungrouped(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(',') {
        return Some(Cow::Borrowed(text));
    }
    let (whole, rest) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let mut groups = whole.trim_start_matches(['-', '+']).split(',');
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let begins_well = groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && is_digits(first));
    let goes_on_well = groups.all(|group| group.len() == 3 && is_digits(group));
    let is_grouped = begins_well && goes_on_well && rest.is_none_or(|rest| !rest.contains(','));
    is_grouped.then(|| Cow::Owned(text.replace(',', "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ungrouped_only_thousands_separators_go() {
        for (text, expected) in [
            ("1,234,567.8", Some("1234567.8")),
            ("12,345", Some("12345")),
            ("1234.5", Some("1234.5")),
            ("0,5", None),
            ("1,23", None),
            ("1234,567", None),
            ("1.234,567", None),
            (",123", None),
            ("1,,234", None),
            ("1,2é4", None),
        ] {
            assert_eq!(ungrouped(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        for (text, expected) in [
            ("12", Some(12_u64)),
            ("1.0", Some(1)),
            ("1.68E9", Some(1_680_000_000)),
            ("1.6829424e+09", Some(1_682_942_400)),
            ("1.5", None),
            ("-1.0", None),
            ("1.", Some(1)),
            (".0", None),
            ("1e", None),
            ("NaN", None),
            ("€", None),
            ("1.2345678901234568e+18", None),
        ] {
            assert_eq!(whole_number::<u64>(text), expected, "{text}");
        }
        assert_eq!(whole_number::<u32>("4294967296.0"), None);
    }

    #[test]
    fn amounts_of_more_digits_than_a_double_keeps_are_rounded() {
        let read = |text: &str| written_amount(text).map(|read| (read.amount.to_string(), read.is_rounded));
        let exact = |text: &str| Some((text.to_owned(), false));
        assert_eq!(read("1e+18"), exact("1000000000000000000"));
        assert_eq!(read("123456789012345e5"), exact("12345678901234500000"));
        assert_eq!(read("9007199254740991.0"), exact("9007199254740991"));
        assert_eq!(read("1.2345678901234568e+18"), Some(("1234567890123456800".to_owned(), true)));
        assert_eq!(read("1234567890123456789"), exact("1234567890123456789"));
        assert_eq!(read("199e17"), exact("19900000000000000000"));
        for text in ["1e-3", "1e78", "2e77", "1.55e1", "1e", "e5", "-1e5", "1e999", ""] {
            assert_eq!(read(text), None, "{text}");
        }
        assert!(read("1e77").is_some());
    }

    #[test]
    fn times_are_read_as_databases_print_them() {
        let noon = Some(1_682_942_400);
        for text in [
            "1682942400",
            "1682942400.0",
            "1.6829424E9",
            "1682942400000",
            "1682942400000000",
            "1682942400000000000",
            "2023-05-01 12:00:00",
            "2023-05-01T12:00:00",
            "2023-05-01T12:00:00Z",
            "2023-05-01T12:00:00.123456Z",
            "2023-05-01 12:00:00 UTC",
            "2023-05-01 12:00:00.000000 UTC",
            "2023-05-01 12:00:00+00",
            "2023-05-01 12:00:00.000+00",
            "2023-05-01 12:00:00+00:00",
            "2023-05-01 12:00:00.000000+00:00",
            "2023-05-01 12:00:00.000 Z",
            "2023-05-01 12:00:00.000 +0000",
            "2023-05-01 14:00:00+02:00",
            "2023-05-01 07:30:00-04:30",
            "Mon, 01 May 2023 12:00:00 +0000",
        ] {
            assert_eq!(time_of(text).map(Timestamp::secs), noon, "{text}");
        }
        for text in ["2023-05-01", "", "-5", "1682942400.5", "12:00:00", "2023-05-01 25:00:00", "€:€", "1e400"] {
            assert_eq!(time_of(text), None, "{text}");
        }
    }

    #[test]
    fn lists_are_read_in_all_notations() {
        for text in [
            "0xa,0xb",
            "0xa, 0xb",
            r#"["0xa", "0xb"]"#,
            "['0xa', '0xb']",
            "['0xa' '0xb']",
            "['0xa'\n '0xb']",
            "{0xa,0xb}",
            "[0xa, 0xb]",
            "(0xa;0xb)",
            "0xa|0xb",
            "array(['0xa', '0xb'], dtype=object)",
            r#"["0xa", "0xb", null]"#,
        ] {
            assert_eq!(list_items(text).unwrap(), ["0xa", "0xb"], "{text}");
        }
        assert_eq!(list_items("[]"), Some(Vec::new()));
        assert_eq!(list_items("[None, '0xa']"), None);
    }

    #[test]
    fn truth_values_are_read_in_all_notations() {
        for (text, expected) in
            [("1", true), ("True", true), ("TRUE", true), ("1.0", true), ("0.0", false), ("false", false)]
        {
            assert_eq!(truth(text), Some(expected), "{text}");
        }
        assert_eq!((truth("2"), truth("yes"), truth("€")), (None, None, None));
    }
}
