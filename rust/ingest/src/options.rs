//! The options of an ingest, and its progress.

use std::path::Path;

use headwater_ledger::store::CommitReport;
use headwater_types::{Chain, Network, Timestamp};

use crate::source::Bounds;

/// The treatment of rows that cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// Stop with an error that names file, row, column and value. What was committed before stays; nothing of the
    /// batch that was being gathered does.
    #[default]
    Stop,
    /// Leave the row out, count it, and continue. A file that is damaged midway gives what stood before the damage. Rows
    /// that contradict the store or earlier rows are left out too, and the first of each kind is named.
    Skip,
}

/// Properties that a list of holders, or an export of token transfers in whole units, does not state.
#[derive(Debug, Clone, Default)]
pub struct SnapshotOptions {
    /// The contract of the token.
    pub contract: Option<String>,
    /// The block at whose end the balances were held.
    pub at_block: Option<u64>,
    /// The time of that block, where the store does not hold it.
    pub at_time: Option<Timestamp>,
    /// Decimals of the token, where balances are in whole units.
    pub decimals: Option<u8>,
}

/// The choices of an ingest.
#[derive(Debug, Clone)]
pub struct Options {
    /// The chain, for files that do not name one; a file that cannot be of it is refused. Without it such a file is of the
    /// chain that its name, its block hashes or the files beside it show, else of Ethereum, and the report says so.
    pub chain: Option<Chain>,
    /// The format by name (or its part before the slash); detected if omitted.
    pub format: Option<String>,
    /// The network of a UTXO chain, for files that do not state it.
    pub network: Option<Network>,
    /// Properties that lists of holders do not state.
    pub snapshot: SnapshotOptions,
    /// The treatment of broken rows.
    pub on_error: OnError,
    /// A commit is made once so many transactions are gathered.
    pub batch_transactions: usize,
    /// A commit is made once so many movements, logs and blocks are gathered.
    pub batch_movements: usize,
    /// A commit is made once the call data and log data gathered pass so many bytes.
    pub batch_bytes: usize,
    /// The maximum sizes of parts of files that are in memory as a whole.
    pub bounds: Bounds,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            chain: None,
            format: None,
            network: None,
            snapshot: SnapshotOptions::default(),
            on_error: OnError::Stop,
            batch_transactions: 500_000,
            batch_movements: 1_000_000,
            batch_bytes: 256 << 20,
            bounds: Bounds::default(),
        }
    }
}

/// The state of a running ingest.
#[derive(Debug, Clone, Copy)]
pub struct ProgressState<'a> {
    /// The file being read.
    pub file: &'a Path,
    /// Its number, from 1.
    pub file_number: usize,
    /// The count of files.
    pub files: usize,
    /// Bytes read so far, as they lie on disk.
    pub bytes_done: u64,
    /// Bytes of all files.
    pub bytes_total: u64,
    /// Rows read so far.
    pub rows: u64,
}

/// Receives the progress of an ingest or a load.
pub trait Progress {
    /// Called every few thousand rows, at every commit and at the end of every file.
    fn update(&self, state: ProgressState<'_>);

    /// Called when a commit is durable.
    fn committed(&self, _report: &CommitReport) {}

    /// Called while sidecars are built, with the kind, the work done and all work of the kind.
    fn building(&self, _kind: &'static str, _done: u64, _total: u64) {}
}

/// Ignores progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _state: ProgressState<'_>) {}
}
