//! Postings by account: blocks of up to 128, account after account.
//!
//! A posting is numbered by 128 times its block and its place in there.

use std::ops::Range;
use std::sync::Arc;

use super::super::container::{Column, Container, search};
use super::super::layout;
use super::super::pack::{BLOCK, Ints};
use super::super::posting::{PlaceInRow, PostingBlock, RawPosting, Shape, count_of, first_row, ordinal_of};
use crate::LedgerError;
use crate::error::Result;
use crate::primitives::{ColumnBuffer, ColumnSet, PostingFlags};

/// The postings of a segment. Those of an account have numbers that follow each other, in their order; between the last
/// one of an account and the first of the next numbers may be left out.
pub(crate) struct SegmentPostings {
    account_count: usize,
    accounts: Ints,
    starts: Ints,
    bytes: Column<u8>,
    shape: Shape,
}

impl SegmentPostings {
    pub(super) fn open(file: &Arc<Container>, accounts: u64, shape: Shape) -> Result<Self> {
        Ok(Self {
            account_count: index(accounts),
            accounts: Ints::open(file, layout::ACCOUNT_BLOCKS)?,
            starts: Ints::open(file, layout::POSTING_STARTS)?,
            bytes: file.column(layout::POSTING_BYTES)?,
            shape,
        })
    }

    #[inline]
    fn block_bytes(&self, block: usize) -> Result<&[u8]> {
        let (start, end) = self.starts.pair(block)?;
        let bytes = self.bytes.slice(index(start)..index(end))?;
        if bytes.is_empty() { Err(self.damaged(block)) } else { Ok(bytes) }
    }

    #[inline]
    fn open_block(&self, block: usize) -> Result<PostingBlock<'_>> {
        PostingBlock::open(self.block_bytes(block)?, &self.shape).ok_or_else(|| self.damaged(block))
    }

    /// The block of a posting, and its place in there.
    #[inline]
    fn find(&self, at: u64) -> Result<(PostingBlock<'_>, usize)> {
        let at = index(at);
        let block = self.open_block(at / BLOCK)?;
        if at % BLOCK < block.len() { Ok((block, at % BLOCK)) } else { Err(self.damaged(at / BLOCK)) }
    }

    #[cold]
    fn damaged(&self, block: usize) -> LedgerError {
        let start = self.starts.get(block).map_or(0, index);
        self.bytes.wrong(start, "begins what is not a block of postings, or a shorter one")
    }

    /// Calls for each block that a range touches, with the places in it.
    fn each_block(
        &self,
        range: Range<u64>,
        mut each: impl FnMut(&PostingBlock<'_>, Range<usize>) -> Option<()>,
    ) -> Result<()> {
        let (mut at, end) = (index(range.start), index(range.end));
        while at < end {
            let block = self.open_block(at / BLOCK)?;
            let last = (end - at / BLOCK * BLOCK).min(BLOCK);
            // Behind the last posting of an account numbers are left out; a range that continues passes them by.
            if last > block.len() && end - at / BLOCK * BLOCK <= BLOCK {
                return Err(self.damaged(at / BLOCK));
            }
            each(&block, at % BLOCK..last.min(block.len()).max(at % BLOCK)).ok_or_else(|| self.damaged(at / BLOCK))?;
            at = at / BLOCK * BLOCK + BLOCK;
        }
        Ok(())
    }
}

impl SegmentPostings {
    /// The numbers of the postings of an account.
    pub(crate) fn range(&self, account: u32) -> Result<Range<u64>> {
        let (first, end) = self.accounts.pair(account as usize)?;
        let Some(last) = end.checked_sub(1).filter(|&last| last >= first) else {
            let at = first.saturating_mul(BLOCK as u64);
            return if first == end { Ok(at..at) } else { Err(self.accounts.wrong(account as usize, "lies behind")) };
        };
        let count = count_of(self.block_bytes(index(last))?) as u64;
        let size = BLOCK as u64;
        Ok(first.saturating_mul(size)..last.saturating_mul(size).saturating_add(count))
    }

    /// Distance of a posting's block from the segment's first.
    pub(crate) fn block(&self, at: u64) -> Result<u32> {
        let (block, place) = self.find(at)?;
        Ok(block.place(place, block.row(place)).0)
    }

    /// Row, kind and ordinal of a posting.
    pub(crate) fn place(&self, at: u64) -> Result<PlaceInRow> {
        let (block, place) = self.find(at)?;
        let flags = block.flags_at(place);
        Ok((block.row(place), PostingFlags(flags).kind(), ordinal_of(flags, block.ordinal(place))))
    }

    /// The first posting of a range of one account that is not of a row before `row`; the end of the range if all
    /// are. Halves over the heads of blocks and decodes one block, so it is the cheap way into a long history: blocks
    /// and times become rows first ([`Segment::rows_of_blocks`](super::Segment::rows_of_blocks)).
    pub(crate) fn seek_row(&self, range: Range<u64>, row: u32) -> Result<u64> {
        if range.is_empty() {
            return Ok(range.start);
        }
        let (start, end) = (index(range.start), index(range.end));
        // The last block that begins before the row has the place, or ends before it.
        let blocks = start / BLOCK + 1..end.div_ceil(BLOCK);
        let behind = search(blocks, |block| Ok(first_row(self.block_bytes(block)?, &self.shape) < row))?;
        let block = self.open_block(behind - 1)?;
        let mut rows = [0; BLOCK];
        let rows = &mut rows[..block.len()];
        block.rows(0, rows);
        let inside = rows.partition_point(|&held| held < row);
        Ok(((behind - 1) * BLOCK + inside).clamp(start, end) as u64)
    }

    /// Appends whole postings of one account.
    pub(crate) fn read(&self, range: Range<u64>, into: &mut Vec<RawPosting>) -> Result<()> {
        self.each_block(range, |block, places| block.read(places, into))
    }

    /// Appends the wanted columns of postings, and their flags; the other columns stay empty. The range may go over
    /// several accounts; numbers that no posting has are passed by. Best in multiples of 128 from a multiple of 128.
    pub(crate) fn columns(&self, range: Range<u64>, wanted: ColumnSet, into: &mut ColumnBuffer) -> Result<()> {
        let (mut rows, mut blocks) = ([0; BLOCK], [0; BLOCK]);
        self.each_block(range, |block, places| {
            let (from, count, before) = (places.start, places.len(), into.len());
            let (rows, blocks) = (&mut rows[..count], &mut blocks[..count]);
            block.flags(from, more(&mut into.flags, count, PostingFlags(0)));
            if wanted.holds(ColumnSet::TRANSACTIONS) || wanted.holds(ColumnSet::TIMES) {
                block.rows(from, rows);
            }
            if wanted.holds(ColumnSet::TRANSACTIONS) {
                into.rows.extend_from_slice(rows);
            }
            if wanted.holds(ColumnSet::TIMES) {
                block.places(from, rows, blocks, more(&mut into.times, count, 0));
            }
            if wanted.holds(ColumnSet::COUNTERPARTIES) {
                block.others(from, more(&mut into.others, count, 0));
            }
            if wanted.holds(ColumnSet::ASSETS) {
                block.assets(from, more(&mut into.assets, count, 0));
            }
            if wanted.holds(ColumnSet::AMOUNTS) {
                let large = &mut into.large;
                let amounts = more(&mut into.amounts, count, 0);
                block.amounts(from, amounts, |at, amount| large.push((before + at, amount)))?;
            }
            Some(())
        })
    }

    /// The account that a posting is filed under.
    pub(crate) fn account_of(&self, at: u64) -> Result<u32> {
        // The account after it is the first that begins in a later block.
        let block = at / BLOCK as u64 + 1;
        let place = self.accounts.lower_bound(0..self.account_count + 1, block)?;
        place.checked_sub(1).and_then(|id| u32::try_from(id).ok()).ok_or_else(|| self.accounts.wrong(0, "is not 0"))
    }
}

/// Numbers past the address space are past every column too, which then says so.
pub(super) fn index(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// Place for more values behind those of a column.
#[inline]
fn more<T: Copy>(column: &mut Vec<T>, count: usize, any: T) -> &mut [T] {
    let held = column.len();
    column.resize(held + count, any);
    &mut column[held..]
}
