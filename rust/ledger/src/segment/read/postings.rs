//! Postings by account.

use std::ops::Range;
use std::sync::Arc;

use headwater_types::Amount;

use super::super::column::{Column, NONE, RawAmounts, search};
use super::super::container::Container;
use super::super::layout::{self, posting};
use crate::read::{ColumnBuffer, ColumnSet, Direction, LARGE, MovementKind, Ordinal, PostingFlags, Result, Status};

/// A posting as a segment files it: local ids, distances from the segment's first block and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawPosting {
    pub(crate) row: u32,
    pub(crate) block: u32,
    pub(crate) time: u32,
    pub(crate) other: Option<u32>,
    pub(crate) asset: u32,
    pub(crate) ordinal: u64,
    pub(crate) amount: Amount,
    pub(crate) flags: u8,
}

impl RawPosting {
    pub(crate) fn kind(&self) -> MovementKind {
        PostingFlags(self.flags).kind()
    }

    pub(crate) fn ordinal(&self) -> Ordinal {
        ordinal_of(self.flags, self.ordinal)
    }

    pub(crate) fn direction(&self) -> Direction {
        PostingFlags(self.flags).direction()
    }

    pub(crate) fn status(&self) -> Option<Status> {
        PostingFlags(self.flags).status()
    }

    pub(crate) fn is_approximate(&self) -> bool {
        PostingFlags(self.flags).is_approximate()
    }

    /// Whether its amount counts in balances.
    pub(crate) fn counts(&self) -> bool {
        PostingFlags(self.flags).counts()
    }

    pub(crate) fn creates_contract(&self) -> bool {
        PostingFlags(self.flags).creates_contract()
    }
}

/// Where a posting stands inside its block: its transaction, and its place in there.
pub(crate) type PlaceInRow = (u32, MovementKind, Ordinal);

/// How postings are read, whatever the format that holds them. The postings of an account have numbers that follow
/// each other, in their order; between the last one of an account and the first of the next numbers may be left out.
pub(crate) trait PostingsReader: Send + Sync {
    /// The numbers of the postings of an account.
    fn range(&self, account: u32) -> Result<Range<u64>>;

    /// Distance of a posting's block from the segment's first.
    fn block(&self, at: u64) -> Result<u32>;

    /// Row, kind and ordinal of a posting.
    fn place(&self, at: u64) -> Result<PlaceInRow>;

    /// The first posting of a range of one account that is not of a row before `row`; the end of the range if all
    /// are. Halves over the heads of blocks and decodes one block, so it is the cheap way into a long history: blocks
    /// and times become rows first ([`Segment::rows_of_blocks`](super::Segment::rows_of_blocks)).
    fn seek_row(&self, range: Range<u64>, row: u32) -> Result<u64>;

    /// Appends whole postings of one account.
    fn read(&self, range: Range<u64>, into: &mut Vec<RawPosting>) -> Result<()>;

    /// Appends the wanted columns of postings, and their flags; the other columns stay empty. The range may go over
    /// several accounts; numbers that no posting has are passed by. Best in multiples of 128 from a multiple of 128.
    fn columns(&self, range: Range<u64>, wanted: ColumnSet, into: &mut ColumnBuffer) -> Result<()>;

    /// The account that a posting is filed under.
    fn account_of(&self, at: u64) -> Result<u32>;
}

/// Format 1: one column per field.
pub(crate) struct RawPostings {
    starts: Column<u64>,
    rows: Column<u32>,
    blocks: Column<u32>,
    times: Column<u32>,
    others: Column<u32>,
    assets: Column<u32>,
    flags: Column<u8>,
    ordinals: Column<u64>,
    amounts: RawAmounts,
}

impl RawPostings {
    pub(super) fn open(file: &Arc<Container>) -> Result<Self> {
        Ok(Self {
            starts: file.column(layout::ACCOUNT_POSTINGS)?,
            rows: file.column(layout::POSTING_ROWS)?,
            blocks: file.column(layout::POSTING_BLOCKS)?,
            times: file.column(layout::POSTING_TIMES)?,
            others: file.column(layout::POSTING_OTHERS)?,
            assets: file.column(layout::POSTING_ASSETS)?,
            flags: file.column(layout::POSTING_FLAGS)?,
            ordinals: file.column(layout::POSTING_ORDINALS)?,
            amounts: RawAmounts::open(file, layout::POSTING_AMOUNTS)?,
        })
    }
}

impl PostingsReader for RawPostings {
    fn range(&self, account: u32) -> Result<Range<u64>> {
        let account = account as usize;
        let pair = self.starts.slice(account..account.saturating_add(2))?;
        if pair[0] > pair[1] || pair[1] > self.rows.len() as u64 {
            return Err(self.starts.wrong(account, "lies outside the postings"));
        }
        Ok(pair[0]..pair[1])
    }

    fn block(&self, at: u64) -> Result<u32> {
        self.blocks.get(index(at))
    }

    fn place(&self, at: u64) -> Result<PlaceInRow> {
        let flags = self.flags.get(index(at))?;
        let ordinal = self.ordinals.get(index(at))?;
        Ok((self.rows.get(index(at))?, PostingFlags(flags).kind(), ordinal_of(flags, ordinal)))
    }

    fn seek_row(&self, range: Range<u64>, row: u32) -> Result<u64> {
        search(index(range.start)..index(range.end), |at| Ok(self.rows.get(at)? < row)).map(|at| at as u64)
    }

    fn columns(&self, range: Range<u64>, wanted: ColumnSet, into: &mut ColumnBuffer) -> Result<()> {
        let range = index(range.start)..index(range.end);
        let before = into.len();
        into.flags.extend_from_slice(bytemuck::cast_slice(self.flags.slice(range.clone())?));
        let columns = [
            (ColumnSet::TRANSACTIONS, &self.rows, &mut into.rows),
            (ColumnSet::TIMES, &self.times, &mut into.times),
            (ColumnSet::COUNTERPARTIES, &self.others, &mut into.others),
            (ColumnSet::ASSETS, &self.assets, &mut into.assets),
        ];
        for (column, from, to) in columns {
            if wanted.holds(column) {
                to.extend_from_slice(from.slice(range.clone())?);
            }
        }
        if wanted.holds(ColumnSet::AMOUNTS) {
            let amounts = self.amounts.slice(range.clone())?;
            into.amounts.extend_from_slice(amounts);
            for (place, at) in (before..).zip(range).filter(|(place, _)| into.amounts[*place] == LARGE) {
                into.large.push((place, self.amounts.whole(at, LARGE)?));
            }
        }
        Ok(())
    }

    fn account_of(&self, at: u64) -> Result<u32> {
        let place = self.starts.partition(0..self.starts.len(), |start| start <= at)?;
        place.checked_sub(1).and_then(|id| u32::try_from(id).ok()).ok_or_else(|| self.starts.wrong(0, "is not 0"))
    }

    fn read(&self, range: Range<u64>, into: &mut Vec<RawPosting>) -> Result<()> {
        let first = index(range.start);
        let range = first..index(range.end);
        let (rows, blocks) = (self.rows.slice(range.clone())?, self.blocks.slice(range.clone())?);
        let (times, others) = (self.times.slice(range.clone())?, self.others.slice(range.clone())?);
        let (assets, flags) = (self.assets.slice(range.clone())?, self.flags.slice(range.clone())?);
        let (ordinals, amounts) = (self.ordinals.slice(range.clone())?, self.amounts.slice(range.clone())?);
        into.reserve(range.len());
        for at in 0..range.len() {
            into.push(RawPosting {
                row: rows[at],
                block: blocks[at],
                time: times[at],
                other: (others[at] != NONE).then_some(others[at]),
                asset: assets[at],
                ordinal: ordinals[at],
                amount: self.amounts.whole(first + at, amounts[at])?,
                flags: flags[at],
            });
        }
        Ok(())
    }
}

/// Numbers past the address space are past every column too, which then says so.
pub(super) fn index(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

pub(super) fn ordinal_of(flags: u8, number: u64) -> Ordinal {
    // Native movements have one place, and the bit another meaning.
    let is_unindexed = flags & posting::UNINDEXED != 0 && flags & posting::KIND != 0;
    if is_unindexed { Ordinal::Unindexed(number) } else { Ordinal::Indexed(number) }
}
