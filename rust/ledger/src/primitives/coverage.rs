//! The contents of a ledger, by chain.

use std::collections::BTreeMap;

use headwater_types::{Chain, Family, Network, Timestamp};
use serde::{Deserialize, Serialize};

/// A table whose completeness coverage speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoverageTable {
    /// Block headers.
    Blocks,
    /// Transactions with sender, receiver and value; on UTXO chains with inputs and outputs.
    Transactions,
    /// Status and gas.
    Receipts,
    /// Internal movements of the native coin.
    Traces,
    /// Token movements.
    TokenTransfers,
    /// Event logs.
    Logs,
    /// Transactions that were verified against the hash of their block.
    VerifiedTransactions,
    /// Receipts and logs that were verified against the hash of their block.
    VerifiedReceipts,
}

impl CoverageTable {
    /// Returns what the table holds, in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Blocks => "block headers",
            Self::Transactions => "transactions",
            Self::Receipts => "receipts",
            Self::Traces => "traces",
            Self::TokenTransfers => "token transfers",
            Self::Logs => "logs",
            Self::VerifiedTransactions => "verified transactions",
            Self::VerifiedReceipts => "verified receipts",
        }
    }
}

/// The contents of a ledger of one chain. Answers that depend on what is missing say so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// The network.
    pub network: Network,
    /// Complete block ranges by table: sorted, disjoint, both ends included.
    pub ranges: BTreeMap<CoverageTable, Vec<(u64, u64)>>,
    /// Number of accounts whose own history is complete, by table (account exports).
    pub accounts: BTreeMap<CoverageTable, u64>,
    /// First block that has a transaction.
    pub first_block: Option<u64>,
    /// Last block that has a transaction, or an empty one behind it that lies in a range whose transactions are complete
    /// and whose time is known.
    pub last_block: Option<u64>,
    /// Time of the first.
    pub first_time: Option<Timestamp>,
    /// Time of the last: the head of the data, against which "now" is measured.
    pub last_time: Option<Timestamp>,
    /// Number of transactions.
    pub transactions: u64,
    /// Number of movements. Opening balances are none.
    pub movements: u64,
    /// Number of movements among them whose amount is approximate: where it is zero, nobody has to look for any.
    pub approximate: u64,
}

impl Coverage {
    /// The tables of movements that no source of the chain claims to have brought. UTXO chains need none of them.
    pub fn missing(&self, chain: Chain) -> impl Iterator<Item = CoverageTable> {
        let tables: &[CoverageTable] = match chain.family() {
            Family::Evm | Family::Tron => {
                &[CoverageTable::Traces, CoverageTable::TokenTransfers, CoverageTable::Receipts]
            }
            Family::Utxo => &[],
        };
        let is_claimed = |table: &CoverageTable| {
            self.ranges.get(table).is_some_and(|ranges| !ranges.is_empty())
                || self.accounts.get(table).is_some_and(|accounts| *accounts > 0)
        };
        tables.iter().copied().filter(move |table| !is_claimed(table))
    }

    /// Returns the tables of a chain whose blocks are counted, in the order in which they are shown.
    #[must_use]
    pub fn tables(chain: Chain) -> &'static [CoverageTable] {
        use CoverageTable::{Blocks, Logs, Receipts, TokenTransfers, Traces, Transactions};
        match chain.family() {
            Family::Evm | Family::Tron => &[Blocks, Transactions, Receipts, TokenTransfers, Logs, Traces],
            Family::Utxo => &[Blocks, Transactions],
        }
    }

    /// Returns the complete block ranges of a table: sorted, disjoint, both ends included.
    #[must_use]
    pub fn ranges_of(&self, table: CoverageTable) -> &[(u64, u64)] {
        self.ranges.get(&table).map_or(&[], Vec::as_slice)
    }

    /// Returns the ranges that a table lacks between the first and the last block that any table of the chain is complete
    /// of. A table that no source brought has none: [`Coverage::missing`] names it.
    #[must_use]
    pub fn gaps(&self, chain: Chain, table: CoverageTable) -> Vec<(u64, u64)> {
        let held = self.ranges_of(table);
        let ends = |other: &CoverageTable| {
            let ranges = self.ranges_of(*other);
            Some((ranges.first()?.0, ranges.last()?.1))
        };
        let all = Self::tables(chain).iter().filter_map(ends);
        match all.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))) {
            Some(span) if !held.is_empty() => uncovered(held, span),
            _ => Vec::new(),
        }
    }

    /// Returns the complete ranges of a table that were not verified against the hashes of their blocks. Nothing covers
    /// traces: none of them is verified.
    #[must_use]
    pub fn unverified(&self, table: CoverageTable) -> Vec<(u64, u64)> {
        use CoverageTable::{Logs, Receipts, TokenTransfers, VerifiedReceipts, VerifiedTransactions};
        let verified = match table {
            CoverageTable::Blocks | CoverageTable::Transactions => self.ranges_of(VerifiedTransactions),
            Receipts | TokenTransfers | Logs => self.ranges_of(VerifiedReceipts),
            CoverageTable::Traces | VerifiedTransactions | VerifiedReceipts => &[],
        };
        self.ranges_of(table).iter().flat_map(|range| uncovered(verified, *range)).collect()
    }
}

/// Returns the parts of a range that lie in none of the given ranges, which are sorted and disjoint.
///
/// ```
/// use headwater_ledger::read::uncovered;
/// assert_eq!(uncovered(&[(2, 3), (6, 6), (9, 20)], (1, 10)), [(1, 1), (4, 5), (7, 8)]);
/// assert_eq!(uncovered(&[], (1, 10)), [(1, 10)]);
/// ```
#[must_use]
pub fn uncovered(ranges: &[(u64, u64)], (first, last): (u64, u64)) -> Vec<(u64, u64)> {
    let mut open = Vec::new();
    let mut next = first;
    let behind = ranges.partition_point(|(_, end)| *end < first);
    for &(begin, end) in ranges[behind..].iter().take_while(|(begin, _)| *begin <= last) {
        if begin > next {
            open.push((next, begin - 1));
        }
        if end >= last {
            return open;
        }
        next = end + 1;
    }
    open.push((next, last));
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_between_the_ends_of_all_tables() {
        let ranges = BTreeMap::from([
            (CoverageTable::Blocks, vec![(10, 30)]),
            (CoverageTable::Transactions, vec![(10, 15), (18, 30)]),
            (CoverageTable::Traces, vec![(12, 20)]),
            (CoverageTable::VerifiedTransactions, vec![(10, 11), (20, 40)]),
        ]);
        let coverage = Coverage { ranges, ..Coverage::default() };
        let gaps = |table| coverage.gaps(Chain::ETHEREUM, table);
        assert!(gaps(CoverageTable::Blocks).is_empty());
        assert_eq!(gaps(CoverageTable::Transactions), [(16, 17)]);
        assert_eq!(gaps(CoverageTable::Traces), [(10, 11), (21, 30)]);
        assert!(gaps(CoverageTable::Logs).is_empty(), "a table that nobody brought is missing as a whole");
        assert_eq!(coverage.unverified(CoverageTable::Transactions), [(12, 15), (18, 19)]);
        assert_eq!(coverage.unverified(CoverageTable::Traces), [(12, 20)]);
    }

    #[test]
    fn uncovered_ends_at_the_largest_block() {
        assert_eq!(uncovered(&[(0, u64::MAX)], (0, u64::MAX)), []);
        assert_eq!(uncovered(&[(0, 4)], (0, u64::MAX)), [(5, u64::MAX)]);
    }
}
