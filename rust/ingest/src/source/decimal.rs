//! Decimal numbers as writers print them.

use std::borrow::Cow;

use crate::source::plain_number;

/// Exponents beyond this make no amount of 256 bits.
const MAX_EXPONENT: usize = 77;

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
}
