//! Holders in memory, in order, with what the first of them come to.

use std::cmp::Reverse;

use headwater_types::{Address, Amount};

use super::moments::{Sum, Top, wide};
use crate::primitives::AccountRef;

/// Rows from one stored sum to the next.
const STEP: usize = 64;

/// A holder that a table has with another balance, or not at all.
pub(super) struct HolderChange {
    pub(super) balance: Amount,
    pub(super) address: Address,
    pub(super) account: AccountRef,
}

impl HolderChange {
    /// Holders are in this order.
    pub(super) const fn key(&self) -> (Reverse<Amount>, Address) {
        (Reverse(self.balance), self.address)
    }
}

/// Rows by balance, largest first, then by address.
#[derive(Default)]
pub(super) struct OrderedRows {
    rows: Vec<HolderChange>,
    /// The sum of all rows before each step.
    sums: Vec<Sum>,
}

impl OrderedRows {
    pub(super) fn new(mut rows: Vec<HolderChange>) -> Self {
        rows.sort_unstable_by_key(HolderChange::key);
        let mut sum = Sum::ZERO;
        let mut before = |step| {
            let before = sum;
            sum += sum_of(step);
            before
        };
        let sums = rows.chunks(STEP).map(&mut before).collect();
        Self { rows, sums }
    }

    pub(super) fn rows(&self) -> &[HolderChange] {
        &self.rows
    }

    /// The first so many.
    pub(super) fn top(&self, count: usize) -> Top {
        let step = (count / STEP).min(self.sums.len().saturating_sub(1));
        let before = self.sums.get(step).copied().unwrap_or_default();
        Top { count: count as u64, sum: before + sum_of(&self.rows[step * STEP..count]) }
    }

    /// All of them.
    pub(super) fn all(&self) -> Top {
        self.top(self.rows.len())
    }

    /// All that hold at least so much.
    pub(super) fn at_least(&self, balance: Amount) -> Top {
        self.top(self.rows.partition_point(|row| row.balance >= balance))
    }
}

fn sum_of(rows: &[HolderChange]) -> Sum {
    rows.iter().fold(Sum::ZERO, |sum, row| sum + wide(row.balance))
}
