//! The join of the movements of one transaction.
//!
//! Indexed rows form a map from ordinal to row. Unindexed rows are counted by content. With `n` the indexed and `u`
//! the unindexed rows of a content, a source speaks of `n + u` movements of it; the join contains the largest number
//! that either source, or the union of the indexed rows, speaks of. As a maximum and a union of growing sets this is
//! commutative, associative and idempotent; what the union of the indexed rows does not cover remains unindexed.

use std::collections::{BTreeMap, BTreeSet};

use headwater_types::{Address, Amount, Asset};

use super::approximate::{StatedAmount, reconciled};
use super::place::FactRef;
use super::{AmountOf, Movement, MovementFact};
use crate::error::Result;
use crate::primitives::Ordinal;

/// Token and non-fungible movements share the log index; internal movements have a trace ordinal of their own, and
/// openings a place in their list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OrdinalSpace {
    Trace,
    Log,
    Opening,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Content {
    space: OrdinalSpace,
    asset: Asset,
    from: Option<Address>,
    to: Option<Address>,
    amount: Amount,
}

impl Content {
    const fn of(movement: &Movement) -> Self {
        Self {
            space: space(movement.kind),
            asset: movement.asset,
            from: movement.from,
            to: movement.to,
            amount: movement.amount,
        }
    }
}

const fn space(kind: MovementFact) -> OrdinalSpace {
    match kind {
        MovementFact::Internal => OrdinalSpace::Trace,
        MovementFact::Token | MovementFact::NonFungible => OrdinalSpace::Log,
        MovementFact::Opening => OrdinalSpace::Opening,
    }
}

/// The movements that a source states, and which of their amounts are approximate.
pub(super) struct StatedMovements<'a> {
    pub(super) movements: Vec<Movement>,
    pub(super) approximate: &'a BTreeSet<AmountOf>,
}

/// An indexed row, and whether its amount is approximate.
type Row = (Movement, bool);
type Rows = BTreeMap<(OrdinalSpace, u64), Row>;

/// The movements of one side.
struct Side {
    indexed: Rows,
    loose: BTreeMap<Content, usize>,
    non_fungible: BTreeSet<Content>,
}

impl Side {
    fn new(at: &FactRef<'_>, stated: StatedMovements<'_>) -> Result<Self> {
        let mut side = Self { indexed: BTreeMap::new(), loose: BTreeMap::new(), non_fungible: BTreeSet::new() };
        for movement in stated.movements {
            if movement.kind == MovementFact::NonFungible {
                side.non_fungible.insert(Content::of(&movement));
            }
            match movement.ordinal {
                Ordinal::Indexed(number) => {
                    let name = AmountOf::of_fact(&movement);
                    let is_approximate = name.is_some_and(|name| stated.approximate.contains(&name));
                    place(at, &mut side.indexed, (space(movement.kind), number), (movement, is_approximate))?;
                }
                Ordinal::Unindexed(_) => *side.loose.entry(Content::of(&movement)).or_default() += 1,
            }
        }
        Ok(side)
    }

    /// Counts the movements of each content this side speaks of, its indexed rows as they are after the join.
    fn totals(&self, joined: &Rows) -> BTreeMap<Content, usize> {
        let mut totals = self.loose.clone();
        for key in self.indexed.keys() {
            if let Some(total) = totals.get_mut(&Content::of(&joined[key].0)) {
                *total += 1;
            }
        }
        totals
    }
}

/// Files an indexed row; a row that is there already must say the same.
fn place(
    at: &FactRef<'_>,
    rows: &mut Rows,
    key: (OrdinalSpace, u64),
    (offered, is_offered_approximate): Row,
) -> Result<()> {
    let Some((held, is_held_approximate)) = rows.get_mut(&key) else {
        rows.insert(key, (offered, is_offered_approximate));
        return Ok(());
    };
    if (held.from, held.to, held.asset) != (offered.from, offered.to, offered.asset) {
        return Err(at.conflict("movement", held, &offered));
    }
    if held.kind == offered.kind {
        let one = StatedAmount { amount: held.amount, is_approximate: *is_held_approximate };
        let other = StatedAmount { amount: offered.amount, is_approximate: is_offered_approximate };
        let kept = reconciled(at, "amount of a movement", (one, other), (held, &offered))?;
        (held.amount, *is_held_approximate) = (kept.amount, kept.is_approximate);
    } else if offered.kind == MovementFact::NonFungible {
        (*held, *is_held_approximate) = (offered, false);
    }
    Ok(())
}

/// Puts rows in order where there is nothing to join, and returns whether that is so: all indexed, each index once, and
/// none that is a fuller statement of another. Nearly all movements there are.
pub(super) fn settle(rows: &mut [Movement]) -> bool {
    let is_plain = |row: &Movement| matches!(row.ordinal, Ordinal::Indexed(_)) && row.kind != MovementFact::NonFungible;
    if !rows.iter().all(is_plain) {
        return false;
    }
    rows.sort_unstable();
    rows.array_windows().all(|[a, b]| (a.kind, a.ordinal) != (b.kind, b.ordinal))
}

pub(super) fn join_movements(
    at: &FactRef<'_>,
    mut held: StatedMovements<'_>,
    offered: StatedMovements<'_>,
) -> Result<(Vec<Movement>, BTreeSet<AmountOf>)> {
    if held.movements.is_empty() && offered.movements.is_empty() {
        return Ok((Vec::new(), BTreeSet::new()));
    }
    if offered.movements.is_empty() && held.approximate.is_empty() && settle(&mut held.movements) {
        return Ok((held.movements, BTreeSet::new()));
    }
    let held = Side::new(at, held)?;
    let offered = Side::new(at, offered)?;

    let mut indexed = held.indexed.clone();
    for (key, row) in &offered.indexed {
        place(at, &mut indexed, *key, row.clone())?;
    }

    let mut loose = held.totals(&indexed);
    for (content, total) in offered.totals(&indexed) {
        let known = loose.entry(content).or_default();
        *known = total.max(*known);
    }
    for (movement, _) in indexed.values() {
        if let Some(total) = loose.get_mut(&Content::of(movement)) {
            *total = total.saturating_sub(1);
        }
    }

    // A contract is fungible or not: one row of a content that is known to be non-fungible decides for all of them.
    let kind = |content: &Content| match content.space {
        OrdinalSpace::Trace => MovementFact::Internal,
        OrdinalSpace::Opening => MovementFact::Opening,
        OrdinalSpace::Log if held.non_fungible.contains(content) || offered.non_fungible.contains(content) => {
            MovementFact::NonFungible
        }
        OrdinalSpace::Log => MovementFact::Token,
    };
    let mut approximate = BTreeSet::new();
    let mut movements = Vec::with_capacity(indexed.len());
    for (movement, is_approximate) in indexed.into_values() {
        let movement = Movement { kind: kind(&Content::of(&movement)), ..movement };
        approximate.extend(AmountOf::of_fact(&movement).filter(|_| is_approximate));
        movements.push(movement);
    }
    for (content, count) in loose {
        let row = Movement {
            kind: kind(&content),
            ordinal: Ordinal::Unindexed(0),
            from: content.from,
            to: content.to,
            asset: content.asset,
            amount: content.amount,
        };
        movements.extend(std::iter::repeat_n(row, count));
    }
    movements.sort_unstable();
    Ok((movements, approximate))
}
