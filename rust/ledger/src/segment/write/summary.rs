//! Blocks, and the numbers about the whole segment.

use std::sync::Arc;

use headwater_types::{BlockHash, Timestamp};

use super::super::container::SegmentFile;
use super::super::knots::Knots;
use super::super::layout::{self, Counts, Presence, Summary};
use super::super::marks::{MARKS, Marks};
use super::super::pack::IntWriter;
use super::super::section::Section;
use super::super::spool::{Part, Spool};
use super::columns::{PresenceWriter, check_ids};
use crate::LedgerError;
use crate::error::Result;
use crate::facts::BlockFacts;

/// The blocks and times that a segment spans; all rows are stored as distances from its beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) first_block: u64,
    pub(crate) last_block: u64,
    pub(crate) first_time: i64,
    pub(crate) last_time: i64,
}

impl Frame {
    /// Refuses what distances of 32 bits cannot express.
    pub(crate) fn check(&self) -> Result<()> {
        let limit = u64::from(u32::MAX);
        if self.last_block.saturating_sub(self.first_block) > limit {
            return Err(LedgerError::SegmentFull { what: "blocks between its first and last", limit });
        }
        if self.last_time.abs_diff(self.first_time) > limit {
            return Err(LedgerError::SegmentFull { what: "seconds between its first and last", limit });
        }
        Ok(())
    }

    fn pace(&self) -> u64 {
        let blocks = self.last_block.saturating_sub(self.first_block);
        self.last_time.abs_diff(self.first_time).checked_div(blocks).unwrap_or(0)
    }

    /// Returns how far a time is from what the pace of the blocks says, and 2^32 more.
    pub(super) fn off_pace(&self, block: u32, time: u32) -> u64 {
        off_pace(self.pace(), block, time)
    }
}

pub(super) fn off_pace(pace: u64, block: u32, time: u32) -> u64 {
    (u64::from(time) + (1 << 32)).wrapping_sub(pace.wrapping_mul(u64::from(block)))
}

/// The running counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) frame: Frame,
    pub(crate) transactions: u64,
    pub(crate) movements: u64,
    pub(crate) accounts: u64,
    pub(crate) assets: u64,
    pub(crate) blocks: u64,
    pub(crate) tokens: u64,
    pub(crate) inputs: u64,
    pub(crate) hubs: u64,
    pub(crate) fee_payers: u64,
    pub(crate) marks: Marks,
    /// True if no later row has an earlier time.
    pub(crate) times_ordered: bool,
}

/// Writes the numbers about the whole, and ends the file; the number of its bytes.
pub(crate) fn finish(mut out: SegmentFile<'_>, knots: &Knots, totals: &Totals) -> Result<u64> {
    let Totals { frame, .. } = *totals;
    let summary = Summary {
        transactions: totals.transactions,
        movements: totals.movements,
        accounts: totals.accounts,
        assets: totals.assets,
        base_block: frame.first_block,
        base_time: frame.first_time,
        first_block: frame.first_block,
        last_block: frame.last_block,
        first_time: frame.first_time,
        last_time: frame.last_time,
        times_ordered: u64::from(totals.times_ordered),
    };
    let Totals { blocks, tokens, inputs, hubs, fee_payers, .. } = *totals;
    // What opening a file reads is together, beside the directory.
    out.put(layout::KNOTS, knots.knots())?;
    out.put(layout::KNOT_SHIFT, &[knots.shift()])?;
    out.put(layout::SUMMARY, &[summary])?;
    out.put(MARKS, &[totals.marks])?;
    out.put(layout::COUNTS, &[Counts { pace: frame.pace(), blocks, tokens, inputs, hubs, fee_payers }])?;
    out.finish()
}

/// Takes blocks in order of their numbers.
pub(crate) struct BlocksWriter {
    numbers: IntWriter,
    times: IntWriter,
    hashes: Hashes,
    parents: Hashes,
}

struct Hashes {
    present: PresenceWriter,
    values: Part,
}

impl Hashes {
    fn new(spool: &Arc<Spool>) -> Self {
        Self { present: PresenceWriter::new(spool), values: Part::new(spool) }
    }

    fn push(&mut self, hash: Option<&[u8; 32]>) -> Result<()> {
        self.present.push(hash.is_some())?;
        hash.map_or(Ok(()), |hash| self.values.write(hash))
    }

    fn put(self, out: &mut SegmentFile<'_>, presence: Section<Presence>, values: Section<[u8; 32]>) -> Result<()> {
        self.present.put(out, presence)?;
        out.part(values, self.values)
    }
}

impl BlocksWriter {
    pub(crate) fn new(spool: &Arc<Spool>) -> Self {
        Self {
            numbers: IntWriter::new(spool),
            times: IntWriter::new(spool),
            hashes: Hashes::new(spool),
            parents: Hashes::new(spool),
        }
    }

    /// Blocks so far.
    pub(crate) fn len(&self) -> u64 {
        self.numbers.len()
    }

    pub(crate) fn push(&mut self, block: &BlockFacts) -> Result<()> {
        check_ids(self.numbers.len() + 1, "blocks")?;
        self.numbers.push([block.number])?;
        self.times.push([stored_time(block.time)])?;
        self.hashes.push(block.hash.as_ref().map(BlockHash::as_bytes))?;
        self.parents.push(block.parent.as_ref().map(BlockHash::as_bytes))
    }

    pub(crate) fn put(self, out: &mut SegmentFile<'_>) -> Result<()> {
        self.numbers.put(out, layout::BLOCK_NUMBERS)?;
        self.times.put(out, layout::BLOCK_TIMES)?;
        self.hashes.put(out, layout::BLOCK_HASHES.presence, layout::BLOCK_HASHES.values)?;
        self.parents.put(out, layout::BLOCK_PARENTS.presence, layout::BLOCK_PARENTS.values)
    }
}

fn stored_time(time: Timestamp) -> u64 {
    time.secs().cast_unsigned()
}
