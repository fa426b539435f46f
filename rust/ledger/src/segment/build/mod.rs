//! From joined facts to the bytes of a segment.

mod assets;
mod dictionary;
mod movements;
mod order;
mod ordinals;
mod packed;
mod postings;
mod record;

use std::io::Write;
use std::sync::Arc;

use self::assets::Assets;
use self::dictionary::Dictionary;
use self::movements::Movements;
use self::order::Row;
use super::SegmentInput;
use super::layout::{NONE, Summary};
use super::marks::Marks;
use super::record::TransactionRecord;
use super::spool::Spool;
use crate::error::Result;
use crate::facts::BlockFacts;
use crate::{Cancel, LedgerError};

/// The bytes of a segment file: the same for the same facts, in whatever order and on however many threads.
///
/// # Errors
/// When a transaction names a block that is not there ([`crate::LedgerError::UnknownTime`]), when facts contradict
/// each other, when an address is of another chain or network, when the segment would pass its limits, or when
/// cancelled.
pub fn build(input: &SegmentInput, cancel: &Cancel) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    build_into(input, &Spool::in_memory(), &mut bytes, cancel)?;
    Ok(bytes)
}

/// Writes the file to a sink; the number of its bytes. The facts are in memory, the file is not past the budget
/// of the spool.
pub(crate) fn build_into(
    input: &SegmentInput,
    spool: &Arc<Spool>,
    sink: &mut dyn Write,
    cancel: &Cancel,
) -> Result<u64> {
    packed::build(input, &PreparedFacts::new(input, cancel)?, spool, sink, cancel)
}

/// Returns the number of movements a record stands for.
pub(super) fn movements_of(record: &TransactionRecord) -> u64 {
    let mut movements = Movements::new(usize::MAX);
    movements.add(0, record, false);
    movements.count
}

/// Facts in order, and the ids of their addresses and assets.
struct PreparedFacts<'a> {
    blocks: Vec<&'a BlockFacts>,
    rows: Vec<Row<'a>>,
    summary: Summary,
    dictionary: Dictionary,
    assets: Assets,
}

impl<'a> PreparedFacts<'a> {
    fn new(input: &'a SegmentInput, cancel: &Cancel) -> Result<Self> {
        cancel.check()?;
        let blocks = order::blocks(input)?;
        let rows = order::rows(input, &blocks)?;
        let summary = order::summary(&rows)?;
        cancel.check()?;
        let dictionary = Dictionary::collect(input, &rows)?;
        let assets = Assets::collect(&dictionary)?;
        cancel.check()?;
        Ok(Self { blocks, rows, summary, dictionary, assets })
    }

    /// Counts what is marked, before anything is written.
    fn marks(&self) -> Marks {
        let mut marks = Marks::default();
        self.rows.iter().for_each(|row| marks.add(Marks::of_facts(row.facts)));
        marks
    }
}

/// A count or place as an id of 32 bits; the largest stands for none.
fn id(place: usize, what: &'static str) -> Result<u32> {
    u32::try_from(place).ok().filter(|&id| id != NONE).ok_or(LedgerError::SegmentFull { what, limit: u64::from(NONE) })
}

/// Rows between two looks at the cancel token.
const CANCEL_STEP: usize = 4096;
