//! What a caller may choose about an ingest, and how it hears of its progress.

use std::path::Path;

use headwater_ledger::store::CommitReport;
use headwater_types::{Chain, Network, Timestamp};

use crate::source::Bounds;

/// What to do with a row that cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// Stop with an error that names file, row, column and value. What was committed before stays; nothing of the
    /// batch that was being gathered does.
    #[default]
    Stop,
    /// Leave the row out, count it, and go on. A file that is damaged midway gives what stood before the damage. Rows
    /// that contradict the store or earlier rows are left out too, and the first of each kind is named.
    Skip,
}

/// What a list of holders, or an export of token transfers in whole units, does not tell of itself.
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
    /// chain that its name, its block hashes or the files beside it tell, else of Ethereum, and the report says so.
    pub chain: Option<Chain>,
    /// The format by name (or its part before the slash), where it shall not be detected.
    pub format: Option<String>,
    /// The network of a UTXO chain, where the files do not tell it.
    pub network: Option<Network>,
    /// What lists of holders do not tell of themselves.
    pub snapshot: SnapshotOptions,
    /// What to do with broken rows.
    pub on_error: OnError,
    /// A commit is made once so many transactions are gathered.
    pub batch_transactions: usize,
    /// A commit is made once so many movements, logs and blocks are gathered.
    pub batch_movements: usize,
    /// A commit is made once the call data and log data gathered pass so many bytes.
    pub batch_bytes: usize,
    /// How large parts of files may be that are held in memory as a whole.
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

/// Where an ingest stands.
#[derive(Debug, Clone, Copy)]
pub struct ProgressState<'a> {
    /// The file being read.
    pub file: &'a Path,
    /// Its number, from 1.
    pub file_number: usize,
    /// How many files there are.
    pub files: usize,
    /// Bytes read so far, as they lie on disk.
    pub bytes_done: u64,
    /// Bytes of all files.
    pub bytes_total: u64,
    /// Rows read so far.
    pub rows: u64,
}

/// Hears how an ingest goes.
pub trait Progress {
    /// Called every few thousand rows, at every commit and at the end of every file.
    fn update(&self, state: ProgressState<'_>);

    /// Called when a commit is durable: what it holds is never lost, nor ever there in part.
    fn committed(&self, _report: &CommitReport) {}
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _state: ProgressState<'_>) {}
}
