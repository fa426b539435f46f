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
}
