//! Decimal numbers as writers print them.

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
