//! Plain records that the store hands out about itself.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use headwater_types::{Chain, Timestamp};
use serde::{Deserialize, Serialize};

use crate::read::Coverage;

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CommitReport {
    /// The generation that holds it: a new one, or the one before when nothing changed.
    pub generation: u64,
    /// Transactions that were not held before.
    pub added: u64,
    /// Transactions that were held and of which more is known now, previous outputs of inputs included.
    pub enriched: u64,
    /// Transactions offered of which nothing new was said.
    pub unchanged: u64,
    /// Blocks that were not held before or of which more is known now.
    pub blocks: u64,
    /// Bytes of segments that were written, by the merges after it too.
    pub written_bytes: u64,
    /// The outcome of the merges that were due after it.
    pub merges: Merges,
    /// Transactions that were left out, or taken out, since an earlier one spends the same output.
    pub double_spends: Vec<DoubleSpend>,
}

/// The result of a step of a follower.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct AdvanceReport {
    /// The generation that holds it: a new one, or the one before when nothing changed.
    pub generation: u64,
    /// Blocks that were taken back.
    pub removed: u64,
    /// The commits of the blocks that were added, in order.
    pub blocks: Vec<CommitReport>,
    /// Blocks that became final.
    pub sealed: u64,
}

/// A transaction that is not held, since an earlier one spends an output that it spends. Only one of the two can have happened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DoubleSpend {
    /// The later transaction, which is left out.
    pub left_out: String,
    /// Its block.
    pub block: u64,
    /// The earlier transaction, which is held.
    pub kept: String,
    /// The output that both spend: transaction and index.
    pub output: String,
    /// True if it was held until the earlier one came. What spends its other outputs was left out for it, and is not
    /// held.
    pub was_held: bool,
}

impl fmt::Display for DoubleSpend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { left_out, block, kept, output, was_held } = self;
        let again = if *was_held { "; it was held until now: ingest the blocks after it again" } else { "" };
        write!(
            f,
            "transaction {left_out} of block {block} spends output {output}, which the earlier {kept} spends{again}"
        )
    }
}

/// Outcome of the merges that were due after a commit. The commit is valid either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Merges {
    /// None is due now.
    #[default]
    Done,
    /// One could not be ended (cancelled, or no space is left): the next commit tries again.
    Postponed,
}

/// The result of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CompactReport {
    /// The generation that holds it.
    pub generation: u64,
    /// Sealed segments before.
    pub segments_before: u64,
    /// Sealed segments now.
    pub segments: u64,
    /// Bytes of segments that were written.
    pub written_bytes: u64,
}

/// A digest of what is held: the same for the same content, whatever the order and the segments it came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LogicalDigest(pub(crate) u128);

impl fmt::Display for LogicalDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for LogicalDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A file of a generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreFile {
    /// Its path in the folder of the store, with `/` between the parts.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The XXH3-128 of its bytes: 32 hexadecimal digits.
    pub digest: String,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct VerifyReport {
    /// The generation that was verified.
    pub generation: u64,
    /// Files read.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// All that is wrong, in order of file and offset; empty when the store is sound.
    pub problems: Vec<FileProblem>,
}

impl VerifyReport {
    /// Returns whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }
}

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FileProblem {
    /// The file.
    pub file: PathBuf,
    /// The place, a byte offset in the file.
    pub offset: u64,
    /// The mismatch.
    pub what: String,
}

/// The contents of a store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreStats {
    /// The generation.
    pub generation: u64,
    /// By chain.
    pub chains: BTreeMap<Chain, ChainStats>,
    /// Files of the generation, the manifest included.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of segments now.
    pub segment_bytes: u64,
    /// Bytes of segments written since the store was made: beside `segment_bytes`, how often each was rewritten by
    /// merges and by what later commits added to it.
    pub written_segment_bytes: u64,
    /// Imports of tokens and prices, those rolled back included.
    pub imports: Vec<ImportVersion>,
}

/// The contents of a store of one chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChainStats {
    /// The coverage.
    pub coverage: Coverage,
    /// Sealed segments.
    pub segments: u64,
    /// Blocks in the tail that may still be rolled back.
    pub tail_blocks: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Sidecars that are missing or stale. Answers are the same without them, only slower.
    pub underived: u64,
}

/// The kind of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportKind {
    /// Listings of tokens.
    Tokens,
    /// Prices.
    Prices,
    /// Exchange rates.
    Fx,
    /// Labels.
    Labels,
}

impl ImportKind {
    /// Returns what its entries are called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Prices => "prices",
            Self::Fx => "exchange rates",
            Self::Labels => "labels",
        }
    }
}

/// One import of tokens, prices, exchange rates or labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportVersion {
    /// Its number, counted over all imports of the store.
    pub version: u64,
    /// The kind.
    pub kind: ImportKind,
    /// The origin, as the caller named it.
    pub source: String,
    /// The number of entries.
    pub entries: u64,
    /// True if it is in force, or was rolled back.
    pub in_force: bool,
    /// The list of the source, of labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<LabelList>,
}

/// The list that an import of labels is an edition of. A later import of the same source and list replaces an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelList {
    /// Its name.
    pub name: String,
    /// When the import was made.
    pub imported_at: Timestamp,
    /// When claims ended that the list no longer makes.
    pub ended_at: Timestamp,
    /// The policy for claims that the list no longer makes.
    #[serde(default)]
    pub vanished: MissingClaims,
    /// The licence of the list; `None` where it is not known, and in stores that do not record it.
    #[serde(default)]
    pub licence: Option<String>,
    /// The provenance groups whose sanctions the list contains, such as `ofac`; empty in stores that do not record it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sanctions_of: Vec<String>,
    /// The generation that brought the edition.
    pub generation: u64,
    /// The generation that rolled it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<u64>,
}

/// The policy for claims that a list no longer makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingClaims {
    /// They end: the list took them back.
    #[default]
    End,
    /// They are forgotten: the list is derived anew each time, and they were never true.
    Forgotten,
}
