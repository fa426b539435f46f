//! The traits that analyses read through: small traits of primitives, and the plain records they hand out.
//!
//! Nothing above these traits depends on files. The segments of a store are their implementation, on disk or built in
//! memory from frames. Handles ([`AccountRef`], [`AssetRef`], [`TransactionRef`]) are opaque, belong to one ledger
//! value and must not be kept beyond it; what leaves an analysis is always the address, the asset or the hash behind
//! them.

pub mod feed;
mod generations;
mod history;
mod ledger;
mod scan;
mod transaction;

pub use self::generations::{Generations, KEPT_SECS, StaleGeneration};
pub use self::history::{ChainMovement, ChainRange, TransactionRun, TransactionRuns, VisitMovement};
pub use self::ledger::{
    Accounts, Assets, Balances, Bridges, ClusterReader, Counterparties, Generation, History, Labels, Ledger, Logs,
    Movements, Outputs, Sweeps, Transactions, VisitEdge, VisitWeight,
};
pub use self::scan::{AddressRange, ColumnVisit, Posting, PostingKey, Postings, Scan, ScanOrder, SweepVisit};
pub use self::transaction::{AddressMatches, Block, Transaction};
pub use crate::error::Result;
pub(crate) use crate::primitives::ColumnBuffer;
pub use crate::primitives::{
    Account, AccountRef, AssetRef, ColumnSet, Coverage, CoverageTable, Direction, Holding, LARGE, MovementKind, NOBODY,
    Opening, Ordinal, PostingColumns, PostingFlags, ScriptType, Status, TransactionHead, TransactionRef, uncovered,
};
