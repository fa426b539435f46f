//! The description of an export, beside its files.

use std::collections::BTreeMap;

use headwater_ledger::Ledger;
use headwater_types::Chain;
use serde::{Deserialize, Serialize};

/// Name of the file that is written last.
pub const MANIFEST: &str = "_headwater.json";

/// The version of columns, partitioning and manifest.
pub const FORMAT: u32 = 2;

/// The description of an export of one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the columns and of the partitioning: [`FORMAT`].
    pub format: u32,
    /// The table.
    pub table: String,
    /// Generation of the store it was made from. Every file states it in its metadata, as `headwater.generation`.
    pub generation: u64,
    /// The keys in the names of the folders, outermost first.
    pub partitions: Vec<String>,
    /// The rule by which an address finds its bucket, where the table has buckets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// The columns that the rows of a file are sorted by, or the order of the rows in words.
    pub sorted_by: Vec<String>,
    /// Rows of all files.
    pub rows: u64,
    /// By name of chain; of labels also `evm`, for claims about all EVM chains. Empty for a table without chains.
    pub chains: BTreeMap<String, ChainExport>,
    /// The files, by path.
    pub files: Vec<FileEntry>,
}

/// The part of an export that is of one chain.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChainExport {
    /// First block that has a transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_block: Option<u64>,
    /// Last block of the chain in the store: the head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_block: Option<u64>,
    /// Time of the last block, in ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_time: Option<String>,
    /// Files.
    pub files: u64,
    /// Addresses with rows, in `transfers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<u64>,
    /// Rows; in `transfers` each movement under both its ends.
    pub rows: u64,
    /// Movements, in `transfers`: the rows whose `is_primary` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub movements: Option<u64>,
    /// Bytes of the files.
    pub bytes: u64,
}

/// A file of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path below the folder of the table, with slashes.
    pub path: String,
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
    /// XXH3 of 128 bits of its bytes, in hex: the hash that the store uses for its files.
    pub xxh3: String,
}

impl ChainExport {
    /// Returns the head of a chain without any files.
    pub(crate) fn of(ledger: &dyn Ledger, chain: Chain) -> Self {
        let Some(coverage) = ledger.coverage().get(&chain) else { return Self::default() };
        Self {
            first_block: coverage.first_block,
            last_block: coverage.last_block,
            last_time: coverage.last_time.map(|time| time.to_string()),
            ..Self::default()
        }
    }

    /// Counts a file.
    pub(crate) fn add(&mut self, file: &FileEntry) {
        self.files += 1;
        self.rows += file.rows;
        self.bytes += file.bytes;
    }
}

impl Manifest {
    pub(crate) fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain records always have a JSON form")
    }
}
