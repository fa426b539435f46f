//! An amount as a row states it: exactly, or as a double.

use headwater_types::Amount;

use crate::error::FieldError;
use crate::source::{Row, WrittenAmount};

/// An amount, exact or as precise as a double.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StatedAmount {
    pub(super) amount: Amount,
    pub(super) is_approximate: bool,
}

/// Reads an amount out of a column, as a format writes amounts.
pub(super) type ReadAmount = fn(&Row<'_>, &str) -> Result<Option<StatedAmount>, FieldError>;

impl StatedAmount {
    /// Returns an exact amount.
    pub(super) const fn exact(amount: Amount) -> Self {
        Self { amount, is_approximate: false }
    }
}

/// Reads an amount written as decimal digits; approximate where it is written as a float of more digits than a double keeps.
pub(super) fn digits(row: &Row<'_>, column: &str) -> Result<Option<StatedAmount>, FieldError> {
    let stated = |written: WrittenAmount| StatedAmount { amount: written.amount, is_approximate: written.is_rounded };
    Ok(row.written_amount(column)?.map(stated))
}

/// Reads an amount that was kept as a double: the one number of at most 15 digits before its zeros that becomes this double, as
/// amounts that people choose are; else what the double counts, which is off by half its last bit at most. Below 2^53 a
/// double counts exactly.
pub(super) fn double(row: &Row<'_>, column: &str) -> Result<Option<StatedAmount>, FieldError> {
    const KEPT_DIGITS: usize = 15;
    const FIRST_ROUNDED: u64 = 1 << 53;
    let Some(text) = row.text(column)? else { return Ok(None) };
    let amount = text.parse::<f64>().ok().and_then(|double| {
        let shortest = double.to_string();
        let is_kept = shortest.trim_end_matches('0').len() <= KEPT_DIGITS;
        let counted = if double.fract() == 0.0 { format!("{double:.0}") } else { shortest.clone() };
        let amount = Amount::parse_raw(if is_kept { &shortest } else { &counted }).ok()?;
        Some(StatedAmount { amount, is_approximate: amount >= Amount::from(FIRST_ROUNDED) })
    });
    let expected = "a double that is an unsigned whole number of at most 256 bits";
    amount.map(Some).ok_or_else(|| FieldError::new(column, Some(&text), expected))
}
