//! Claims of exports whose tables do not state the blocks that they were made for.
//!
//! The rows of a table with few rows, such as token transfers, begin behind the first block of an export and end before
//! the last one. Blocks and transactions of the same export show where it begins and ends.

use std::collections::BTreeMap;
use std::path::PathBuf;

use headwater_ledger::facts::Claim;
use headwater_ledger::read::CoverageTable;

/// Both ends included.
type BlockRange = (u64, u64);

/// The spans of a load, by export: files of one format in one folder.
#[derive(Debug, Default)]
pub(super) struct Spans {
    exports: BTreeMap<(PathBuf, String), Export>,
}

#[derive(Debug, Default)]
struct Export {
    /// The range of each file of blocks.
    ranges: Vec<BlockRange>,
    /// From the first to the last row of each file, by table.
    spans: BTreeMap<CoverageTable, Vec<BlockRange>>,
}

impl Spans {
    pub(super) fn add_range(&mut self, export: (PathBuf, String), range: BlockRange) {
        self.exports.entry(export).or_default().ranges.push(range);
    }

    pub(super) fn add_span(&mut self, export: (PathBuf, String), table: CoverageTable, span: BlockRange) {
        self.exports.entry(export).or_default().spans.entry(table).or_default().push(span);
    }

    /// Returns claims of the blocks between the ends of export ranges and the first and the last row of a table in them.
    /// Blocks between two files of a table are not claimed, and none of a range in which no file of the table begins or ends.
    pub(super) fn claims(self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for Export { mut ranges, spans } in self.exports.into_values() {
            if ranges.is_empty() {
                ranges = spans.get(&CoverageTable::Transactions).cloned().unwrap_or_default();
            }
            for (table, spans) in spans {
                let spans = TableSpans::of(spans);
                let ends = ranges.iter().flat_map(|range| spans.open_ends(*range));
                claims.extend(ends.map(|(first, last)| Claim::Blocks { first, last, table }));
            }
        }
        claims
    }
}

/// The spans of one table, for searches.
struct TableSpans {
    /// First and last blocks, both sorted.
    firsts: Vec<u64>,
    lasts: Vec<u64>,
    /// The union: sorted and disjoint.
    union: Vec<BlockRange>,
}

impl TableSpans {
    fn of(mut spans: Vec<BlockRange>) -> Self {
        spans.sort_unstable();
        let firsts = spans.iter().map(|span| span.0).collect();
        let mut lasts: Vec<u64> = spans.iter().map(|span| span.1).collect();
        lasts.sort_unstable();
        let mut union: Vec<BlockRange> = Vec::new();
        for (first, last) in spans {
            match union.last_mut() {
                Some(before) if first <= before.1 => before.1 = before.1.max(last),
                _ => union.push((first, last)),
            }
        }
        Self { firsts, lasts, union }
    }

    fn covers(&self, block: u64) -> bool {
        let place = self.union.partition_point(|(_, last)| *last < block);
        self.union.get(place).is_some_and(|(first, _)| *first <= block)
    }

    /// Returns the parts of a range before the first span that begins in it, and behind the last one that ends in it. An
    /// end of the range that a span covers has none.
    fn open_ends(&self, (first, last): BlockRange) -> Vec<BlockRange> {
        let begin = self.firsts.get(self.firsts.partition_point(|block| *block < first));
        let end = self.lasts[..self.lasts.partition_point(|block| *block <= last)].last();
        let begin = begin.filter(|begin| **begin <= last && !self.covers(first));
        let end = end.filter(|end| **end >= first && !self.covers(last));
        let before = begin.and_then(|begin| Some((first, begin.checked_sub(1)?)));
        let behind = end.and_then(|end| Some((end.checked_add(1)?, last)));
        before.into_iter().chain(behind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(range: BlockRange, spans: &[BlockRange]) -> Vec<BlockRange> {
        TableSpans::of(spans.to_vec()).open_ends(range)
    }

    #[test]
    fn range_adds_only_blocks_outside_of_all_rows() {
        assert_eq!(ends((0, 100), &[(12, 97)]), [(0, 11), (98, 100)]);
        assert_eq!(ends((0, 100), &[(60, 97), (12, 40)]), [(0, 11), (98, 100)], "41 to 59 may be missing");
        assert_eq!(ends((0, 100), &[(0, 100)]), []);
        assert_eq!(ends((0, 100), &[(200, 300)]), [], "no row shows that the table was exported");
        assert_eq!(ends((100, 200), &[(12, 150)]), [(151, 200)]);
        assert_eq!(ends((100, 200), &[(12, 150), (160, 300)]), [], "151 to 159 may be missing");
        assert_eq!(ends((0, u64::MAX), &[(5, u64::MAX)]), [(0, 4)]);
    }
}
