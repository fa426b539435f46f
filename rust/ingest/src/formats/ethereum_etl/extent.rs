//! The blocks for which a file is complete.
//!
//! An export of ethereum-etl is made for a range of blocks and holds all rows of them. The name of a file of `export_all`
//! states the range. Any other file is taken as reaching from the first to the last block that has a row, and farther where
//! files beside it show that the export does ([`Sink::claim_span`]); of blocks themselves, where a gap shows, each run of
//! consecutive numbers.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::facts::Claim;
use headwater_ledger::read::CoverageTable;

use crate::Sink;

/// The completeness of a file: it has all rows of the blocks it spans, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Complete {
    /// It is made for a range of blocks.
    Span,
    /// It is made for the range of blocks that its name states, of these tables.
    Named((u64, u64), &'static [CoverageTable]),
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
        let runs = runs(&self.blocks);
        for &(first, last) in &runs {
            sink.claim(Claim::Blocks { first, last, table: CoverageTable::Blocks });
        }
        let named = match complete {
            Complete::Unknown => return,
            Complete::Span => None,
            Complete::Named(range, tables) => Some((range, tables)).filter(|(range, _)| self.lies_in(*range)),
        };
        if let [run] = runs[..] {
            sink.export_range(run);
        }
        if let Some((range, tables)) = named {
            for table in self.ranges.keys().chain(tables.iter().filter(|table| !self.ranges.contains_key(table))) {
                sink.claim_span(*table, range);
            }
            return;
        }
        for (table, range) in &self.ranges {
            sink.claim_span(*table, *range);
        }
    }

    /// Returns whether all rows are of blocks in a range.
    fn lies_in(&self, (first, last): (u64, u64)) -> bool {
        let ends = self.ranges.values().flat_map(|range| [&range.0, &range.1]);
        ends.chain(self.blocks.first()).chain(self.blocks.last()).all(|block| (first..=last).contains(block))
    }
}

/// Returns the range of blocks in the name of a file of `export_all`, such as `token_transfers_00000000_00099999.csv`. Two
/// dates, such as `token_transfers_20240101_20240131.csv`, are none.
pub(super) fn range_in_name(name: &str) -> Option<(u64, u64)> {
    let stem = name.split('.').next()?;
    let (rest, last) = stem.rsplit_once('_')?;
    let (_, first) = rest.rsplit_once('_')?;
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.len() >= 8 && !text.starts_with('+'));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last && !(is_date(first) && is_date(last))).then_some((first, last))
}

fn is_date(number: u64) -> bool {
    let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
    (2015..2100).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day)
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

    #[test]
    fn name_of_an_export_states_its_blocks() {
        assert_eq!(range_in_name("token_transfers_00000000_00099999.csv"), Some((0, 99_999)));
        assert_eq!(range_in_name("logs_20200100_20200199.csv.gz"), Some((20_200_100, 20_200_199)));
        for name in [
            "logs.csv",
            "logs_00000000.csv",
            "logs_1_2.csv",
            "logs_00000009_00000005.csv",
            "logs_20240101_20240131.csv",
        ] {
            assert_eq!(range_in_name(name), None, "{name}");
        }
    }
}
