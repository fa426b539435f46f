//! The description of an export, beside its files.

use std::collections::BTreeMap;

use headwater_types::Chain;
use serde::{Deserialize, Serialize};

/// Name of the file that is written last.
pub const MANIFEST: &str = "_headwater.json";

/// The description of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the columns and of the partitioning.
    pub format: u32,
    /// The table.
    pub table: String,
    /// Generation of the store it was made from.
    pub generation: u64,
    /// The rule by which an address finds its bucket.
    pub bucket: String,
    /// The columns that the rows of a file are sorted by.
    pub sorted_by: Vec<String>,
    /// By chain.
    pub chains: BTreeMap<Chain, ChainExport>,
}

/// The part of an export that is of one chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChainExport {
    /// Files: buckets that are not empty.
    pub files: u64,
    /// Addresses.
    pub addresses: u64,
    /// Rows: each movement under both its ends.
    pub rows: u64,
    /// Movements: the rows whose `is_primary` is true.
    pub movements: u64,
    /// Bytes of the files.
    pub bytes: u64,
}
