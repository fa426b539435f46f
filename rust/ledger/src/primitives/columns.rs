//! Postings column by column: what scans over many of them read, because a kernel wants a few columns of thousands of
//! rows and not one row after the other.

use std::ops::Range;

use headwater_types::{Amount, Timestamp};

use super::handles::{AccountRef, AssetRef, TransactionRef};
use super::movement::PostingFlags;

/// The number of a counterparty that is nobody, or several (UTXO).
pub const NOBODY: u32 = u32::MAX;

/// An amount of 128 bits or more: see [`PostingColumns::amount`].
pub const LARGE: u128 = u128::MAX;

/// The columns that a scan wants; the others stay empty. Flags are always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ColumnSet(u8);

impl ColumnSet {
    /// Flags only.
    pub const FLAGS: Self = Self(0);
    /// Numbers of transactions.
    pub const TRANSACTIONS: Self = Self(1);
    /// Times.
    pub const TIMES: Self = Self(2);
    /// Numbers of counterparties.
    pub const COUNTERPARTIES: Self = Self(4);
    /// Numbers of assets.
    pub const ASSETS: Self = Self(8);
    /// Amounts.
    pub const AMOUNTS: Self = Self(16);
    /// All of them.
    pub const ALL: Self = Self(31);

    /// These and others.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns whether these hold all of the others.
    #[must_use]
    pub const fn holds(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// A batch of postings of one account, column by column, in the order of the chain inside the batch.
///
/// Numbers of transactions, counterparties and assets are those of one part of the ledger ([`part`](Self::part)): equal
/// numbers of one part are one thing, and numbers of different parts have nothing to do with each other. A transaction
/// is in one part only. The handles behind the numbers are good for the whole ledger.
#[derive(Debug, Clone, Copy)]
pub struct PostingColumns<'a> {
    pub(crate) part: u32,
    pub(crate) base_time: Timestamp,
    pub(crate) columns: &'a ColumnBuffer,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl<'a> PostingColumns<'a> {
    fn of<T>(&self, column: &'a [T]) -> &'a [T] {
        if column.is_empty() { column } else { &column[self.start..self.end] }
    }

    /// Number of postings.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.end - self.start
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The part of the ledger whose numbers these are.
    #[must_use]
    pub const fn part(&self) -> u32 {
        self.part
    }

    /// Numbers of transactions, never falling.
    #[must_use]
    pub fn transactions(&self) -> &'a [u32] {
        self.of(&self.columns.rows)
    }

    /// Numbers of counterparties, or [`NOBODY`].
    #[must_use]
    pub fn counterparties(&self) -> &'a [u32] {
        self.of(&self.columns.others)
    }

    /// Numbers of assets.
    #[must_use]
    pub fn assets(&self) -> &'a [u32] {
        self.of(&self.columns.assets)
    }

    /// Kinds, directions and states.
    #[must_use]
    pub fn flags(&self) -> &'a [PostingFlags] {
        self.of(&self.columns.flags)
    }

    /// Amounts in the smallest unit of their asset, or [`LARGE`].
    #[must_use]
    pub fn amounts(&self) -> &'a [u128] {
        self.of(&self.columns.amounts)
    }

    /// Seconds since [`base_time`](Self::base_time).
    #[must_use]
    pub fn seconds(&self) -> &'a [u32] {
        self.of(&self.columns.times)
    }

    /// The time that seconds are counted from.
    #[must_use]
    pub const fn base_time(&self) -> Timestamp {
        self.base_time
    }

    /// Time of a posting.
    #[must_use]
    pub fn time(&self, at: usize) -> Timestamp {
        Timestamp::new(self.base_time.secs().saturating_add(i64::from(self.seconds()[at])))
    }

    /// Amount of a posting.
    #[must_use]
    pub fn amount(&self, at: usize) -> Amount {
        let small = self.amounts()[at];
        if small != LARGE {
            return Amount::from_u128(small);
        }
        let place = self.start + at;
        let large = &self.columns.large;
        let found = large.binary_search_by_key(&place, |(place, _)| *place);
        found.map_or(Amount::from_u128(small), |found| large[found].1)
    }

    /// The handle of a numbered transaction.
    #[must_use]
    pub const fn transaction(&self, number: u32) -> TransactionRef {
        TransactionRef(self.handle(number))
    }

    /// The handle of a numbered counterparty; `None` for [`NOBODY`].
    #[must_use]
    pub const fn counterparty(&self, number: u32) -> Option<AccountRef> {
        if number == NOBODY { None } else { Some(AccountRef(self.handle(number))) }
    }

    /// The handle of a numbered asset.
    #[must_use]
    pub const fn asset(&self, number: u32) -> AssetRef {
        AssetRef(self.handle(number))
    }

    /// The handle of a numbered asset of a part.
    #[must_use]
    pub const fn asset_of(part: u32, number: u32) -> AssetRef {
        AssetRef((part as u64) << 32 | number as u64)
    }

    /// The handle of a numbered account of a part.
    #[must_use]
    pub const fn account_of(part: u32, number: u32) -> AccountRef {
        AccountRef((part as u64) << 32 | number as u64)
    }

    /// The handle of a numbered transaction of a part.
    #[must_use]
    pub const fn transaction_of(part: u32, number: u32) -> TransactionRef {
        TransactionRef((part as u64) << 32 | number as u64)
    }

    const fn handle(&self, number: u32) -> u64 {
        (self.part as u64) << 32 | number as u64
    }
}

/// Columns as a reader fills them; a batch is a stretch of one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ColumnBuffer {
    pub(crate) rows: Vec<u32>,
    pub(crate) times: Vec<u32>,
    pub(crate) others: Vec<u32>,
    pub(crate) assets: Vec<u32>,
    pub(crate) flags: Vec<PostingFlags>,
    pub(crate) amounts: Vec<u128>,
    /// Amounts of 128 bits and more by place, in order.
    pub(crate) large: Vec<(usize, Amount)>,
}

impl ColumnBuffer {
    pub(crate) fn len(&self) -> usize {
        self.flags.len()
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.times.clear();
        self.others.clear();
        self.assets.clear();
        self.flags.clear();
        self.amounts.clear();
        self.large.clear();
    }

    /// Drops the postings that `keep` refuses, of those from `start` on.
    pub(crate) fn retain(&mut self, start: usize, keep: impl Fn(&Self, usize) -> bool) {
        let kept: Vec<usize> = (start..self.len()).filter(|at| keep(self, *at)).collect();
        if kept.len() == self.len() - start {
            return;
        }
        let mut large = self.large.split_off(self.large.partition_point(|(place, _)| *place < start)).into_iter();
        let mut next = large.next();
        for (to, from) in (start..).zip(&kept) {
            while let Some((place, amount)) = next
                && place <= *from
            {
                if place == *from {
                    self.large.push((to, amount));
                }
                next = large.next();
            }
        }
        pick(&mut self.rows, start, &kept);
        pick(&mut self.times, start, &kept);
        pick(&mut self.others, start, &kept);
        pick(&mut self.assets, start, &kept);
        pick(&mut self.flags, start, &kept);
        pick(&mut self.amounts, start, &kept);
    }

    pub(crate) fn view(&self, part: u32, base_time: Timestamp, range: Range<usize>) -> PostingColumns<'_> {
        PostingColumns { part, base_time, columns: self, start: range.start, end: range.end }
    }
}

fn pick<T: Copy>(column: &mut Vec<T>, start: usize, kept: &[usize]) {
    if column.is_empty() {
        return;
    }
    for (to, from) in (start..).zip(kept) {
        column[to] = column[*from];
    }
    column.truncate(start + kept.len());
}
