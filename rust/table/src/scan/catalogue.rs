//! The tables of a store: the one list that streams, documents and Python read.

use super::tables::StoredTable;
use super::{accounts, balances, edges, labels, logs, market, movements, transactions};

/// The tables, those of the chains first.
pub const TABLES: &[StoredTable] = &[
    movements::TABLE,
    transactions::TABLE,
    logs::TABLE,
    edges::TABLE,
    balances::TABLE,
    accounts::TABLE,
    labels::TABLE,
    market::TOKENS,
    market::PRICES,
];
