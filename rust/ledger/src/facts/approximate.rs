//! Amounts that a source states as doubles.

use std::fmt::Debug;

use headwater_types::Amount;

use super::place::FactRef;
use super::{Movement, MovementFact};
use crate::error::Result;
use crate::primitives::{MovementKind, Ordinal};

/// Names an amount of a transaction.
///
/// Token and internal movements are named by their ordinal: the join distinguishes movements without one by their exact
/// amounts, so that there is no way to speak of one whose amount is not exact. A source of such amounts has to have
/// ordinals, and an unindexed movement of another source remains beside an approximate one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AmountOf {
    /// The value in the body of the transaction.
    Value,
    /// The internal movement of this trace ordinal.
    Internal(u64),
    /// The token movement of this log index. Of a non-fungible one no amount is approximate, for it has none.
    Token(u64),
}

impl AmountOf {
    /// The amount of a movement by its place in the transaction; `None` for those that have no name.
    #[must_use]
    pub const fn of(kind: MovementKind, ordinal: Ordinal) -> Option<Self> {
        match (kind, ordinal) {
            (MovementKind::Native, _) => Some(Self::Value),
            (MovementKind::Internal, Ordinal::Indexed(number)) => Some(Self::Internal(number)),
            (MovementKind::Token, Ordinal::Indexed(number)) => Some(Self::Token(number)),
            (MovementKind::Internal | MovementKind::Token, Ordinal::Unindexed(_)) | (MovementKind::Utxo, _) => None,
        }
    }

    /// The same of a movement as facts state it.
    #[must_use]
    pub const fn of_fact(movement: &Movement) -> Option<Self> {
        match (movement.kind, movement.ordinal) {
            (MovementFact::Internal, ordinal) => Self::of(MovementKind::Internal, ordinal),
            (MovementFact::Token, ordinal) => Self::of(MovementKind::Token, ordinal),
            (MovementFact::NonFungible | MovementFact::Opening, _) => None,
        }
    }
}

/// An amount as a source states it.
#[derive(Clone, Copy)]
pub(super) struct StatedAmount {
    pub(super) amount: Amount,
    pub(super) is_approximate: bool,
}

/// The amount that two statements come to: the exact one, or the smaller of two approximate ones. `held` and
/// `offered` are what a conflict shows.
pub(super) fn reconciled(
    at: &FactRef<'_>,
    field: &'static str,
    (one, other): (StatedAmount, StatedAmount),
    (held, offered): (&dyn Debug, &dyn Debug),
) -> Result<StatedAmount> {
    if one.amount == other.amount {
        return Ok(StatedAmount { is_approximate: one.is_approximate && other.is_approximate, ..one });
    }
    if !one.is_approximate && !other.is_approximate || !agree(one.amount, other.amount) {
        return Err(at.conflict(field, held, offered));
    }
    Ok(match (one.is_approximate, other.is_approximate) {
        (false, _) => one,
        (_, false) => other,
        _ if one.amount < other.amount => one,
        _ => other,
    })
}

/// Returns whether two amounts may be one that was rounded to a double: they differ by at most the last bit of one,
/// which is at most the 2^52th part of the amount.
fn agree(one: Amount, other: Amount) -> bool {
    let parts = Amount::from(1 << 52);
    one.abs_diff(other).checked_mul(parts).is_some_and(|scaled| scaled <= one.max(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_agree_that_are_neighbouring_doubles_or_round_to_one() {
        let amount = Amount::from_u128;
        // A double of 2^80 and a little more has steps of 2^28.
        let (whole, step) = (1_u128 << 80, 1_u128 << 28);
        for near in [whole, whole + 1, whole + step / 2, whole + step] {
            assert!(agree(amount(whole), amount(near)) && agree(amount(near), amount(whole)), "{near}");
        }
        assert!(!agree(amount(whole), amount(whole + 2 * step)));
        assert!(!agree(amount(1 << 50), amount((1 << 50) + 1)), "below 2^52 a double is exact");
        assert!(!agree(Amount::ZERO, Amount::MAX));
    }
}
