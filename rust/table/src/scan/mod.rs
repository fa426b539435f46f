//! Tables of a store as streams of Arrow batches, for polars, `DuckDB`, pandas and whatever else reads Arrow.
//!
//! A stream has the columns that were asked for and decodes no others. Filters on the place of rows (chain, block, time,
//! address, contract, transaction) are applied by the indexes of the store, so a stream of one address reads that address.
//! Rows come in the order that [`StoredTable::order`] states, in batches of the same rows, whatever the number of threads.
//! A stream reads the generation of its ledger to the end and holds a few batches at a time.
//!
//! [`TABLES`] lists the tables and their columns. A table is a file here and an entry there.

mod accounts;
mod balances;
mod catalogue;
mod cells;
mod edges;
mod filter;
mod job;
mod labels;
mod logs;
mod market;
mod movements;
mod output;
mod pages;
mod sources;
mod stream;
mod tables;
mod transactions;
mod workers;

pub use catalogue::TABLES;
pub use filter::ScanFilter;
pub use stream::{ScanRequest, ScanStream, scan};
pub use tables::{CellKind, StoredColumn, StoredTable};
