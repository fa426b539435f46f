//! Tallies of the rows of a group.

use headwater_types::{Amount, SumOverflow};

use crate::exact::ExactSum;

/// The direction of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Side {
    /// Towards the account.
    #[default]
    Received,
    /// Away from it.
    Sent,
}

/// A tally of the rows of a group.
pub trait Tally: Copy + Default + Send + Sync {
    /// Adds the rows of another tally.
    ///
    /// # Errors
    /// When a sum passes 256 bits.
    fn join(&mut self, other: &Self) -> Result<(), SumOverflow>;

    /// Number of rows.
    fn count(&self) -> u64;
}

/// A tally of rows that are grouped by hash.
pub trait OfRows: Tally {
    /// The part of a movement that is counted.
    type Row: Copy + Default + Send + Sync;

    /// Returns what a row is grouped by.
    fn key(row: &Self::Row) -> u64;

    /// Adds a row.
    fn add(&mut self, row: &Self::Row);

    /// Adds a row of an amount that its own field does not hold.
    ///
    /// # Errors
    /// When a sum passes 256 bits.
    fn add_large(&mut self, row: &Self::Row, amount: Amount) -> Result<(), SumOverflow>;
}

/// Rows by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count([u64; 2]);

impl Count {
    /// Rows of a side.
    #[must_use]
    pub const fn of(&self, side: Side) -> u64 {
        self.0[side as usize]
    }

    pub(super) const fn of_sides(counts: [u64; 2]) -> Self {
        Self(counts)
    }

    pub(super) const fn add(&mut self, side: Side) {
        self.0[side as usize] += 1;
    }
}

impl Tally for Count {
    fn join(&mut self, other: &Self) -> Result<(), SumOverflow> {
        self.0[0] += other.0[0];
        self.0[1] += other.0[1];
        Ok(())
    }

    fn count(&self) -> u64 {
        self.0[0] + self.0[1]
    }
}

/// A movement to be added up.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlowRow {
    /// The key that it is grouped by.
    pub key: u64,
    /// The amount.
    pub amount: u128,
    /// When.
    pub secs: u32,
    /// The direction.
    pub side: Side,
}

/// Rows, exact sums, first and last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Rows by side.
    pub count: Count,
    sums: [ExactSum; 2],
    /// Seconds of the earliest row.
    pub first_secs: i64,
    /// Seconds of the latest row.
    pub last_secs: i64,
}

impl Default for Flow {
    fn default() -> Self {
        Self { count: Count::default(), sums: [ExactSum::ZERO; 2], first_secs: i64::MAX, last_secs: i64::MIN }
    }
}

impl Flow {
    /// Returns what moved to a side.
    #[must_use]
    pub const fn sum(&self, side: Side) -> ExactSum {
        self.sums[side as usize]
    }

    #[inline]
    fn note(&mut self, row: &FlowRow) -> &mut ExactSum {
        self.count.0[row.side as usize] += 1;
        self.first_secs = self.first_secs.min(i64::from(row.secs));
        self.last_secs = self.last_secs.max(i64::from(row.secs));
        &mut self.sums[row.side as usize]
    }
}

impl OfRows for Flow {
    type Row = FlowRow;

    #[inline]
    fn key(row: &FlowRow) -> u64 {
        row.key
    }

    #[inline]
    fn add(&mut self, row: &FlowRow) {
        self.note(row).add(row.amount);
    }

    fn add_large(&mut self, row: &FlowRow, amount: Amount) -> Result<(), SumOverflow> {
        self.note(row).add_amount(amount)
    }
}

impl Tally for Flow {
    fn join(&mut self, other: &Self) -> Result<(), SumOverflow> {
        self.count.join(&other.count)?;
        self.first_secs = self.first_secs.min(other.first_secs);
        self.last_secs = self.last_secs.max(other.last_secs);
        self.sums[0].join(other.sums[0])?;
        self.sums[1].join(other.sums[1])
    }

    fn count(&self) -> u64 {
        self.count.count()
    }
}
