//! The blocks for which a file is complete.
//!
//! An export of ethereum-etl is made for a range of blocks and holds all rows of them, but does not name the range. It
//! is taken as reaching from the first to the last block that has a row; of blocks themselves, where a gap shows, each
//! run of consecutive numbers.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::facts::Claim;
use headwater_ledger::read::CoverageTable;

use crate::Sink;

/// The completeness of a file: it has all rows of the blocks it spans, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Complete {
    /// It is made for a range of blocks.
    Span,
    /// It may be any selection of rows.
    Unknown,
}

#[derive(Debug, Default)]
pub(in super::super) struct Extent {
    ranges: BTreeMap<CoverageTable, (u64, u64)>,
    blocks: BTreeSet<u64>,
}

impl Extent {
    pub(in super::super) fn see(&mut self, table: CoverageTable, block: u64) {
        if table == CoverageTable::Blocks {
            self.blocks.insert(block);
            return;
        }
        let range = self.ranges.entry(table).or_insert((block, block));
        *range = (range.0.min(block), range.1.max(block));
    }

    /// Blocks in a run are complete whatever the file is; its other tables only if it is no selection.
    pub(in super::super) fn claim(&self, complete: Complete, sink: &mut Sink<'_>) {
        for (first, last) in runs(&self.blocks) {
            sink.claim(Claim::Blocks { first, last, table: CoverageTable::Blocks });
        }
        if complete == Complete::Unknown {
            return;
        }
        for (table, (first, last)) in &self.ranges {
            sink.claim(Claim::Blocks { first: *first, last: *last, table: *table });
        }
    }
}

fn runs(blocks: &BTreeSet<u64>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for block in blocks {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*block) => *last = *block,
            _ => runs.push((*block, *block)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_between_blocks_is_not_claimed() {
        assert_eq!(runs(&[1, 2, 3, 7, u64::MAX].into()), [(1, 3), (7, 7), (u64::MAX, u64::MAX)]);
    }
}
