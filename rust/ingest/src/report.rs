//! The report of an ingest.

use std::path::PathBuf;

use headwater_ledger::store::DoubleSpend;
use serde::Serialize;

/// The maximum number of reasons of skipped rows that a report quotes per file.
pub(crate) const QUOTED: usize = 5;

/// The report of an ingest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct IngestReport {
    /// Per file, in the order they were read.
    pub files: Vec<FileReport>,
    /// Files that are empty, and those found in folders or by patterns that are in no known format or cannot be of the
    /// chain named; when broken rows are skipped also those named themselves, and those of which nothing could be read.
    pub left_out: Vec<LeftOut>,
    /// The generation that holds all of it.
    pub generation: Option<u64>,
    /// Commits that were made.
    pub commits: u64,
    /// Rows read.
    pub rows: u64,
    /// Rows left out.
    pub skipped: u64,
    /// Transactions that were not held before.
    pub added: u64,
    /// Transactions that gained facts.
    pub enriched: u64,
    /// Transactions that gained no facts.
    pub unchanged: u64,
    /// Blocks that were not held before or of which more is known now.
    pub blocks: u64,
    /// Movements of non-fungible tokens, which are in no amount.
    pub non_fungible: u64,
    /// Transactions that are not held, since an earlier one spends the same output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub double_spends: Vec<DoubleSpend>,
}

/// A file that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
}

/// The report of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// Name of its format.
    pub format: String,
    /// The chain.
    pub chain: String,
    /// The source of the chain.
    pub chain_source: ChainSource,
    /// Rows read.
    pub rows: u64,
    /// Rows left out.
    pub skipped: u64,
    /// The reasons of the first few of them.
    pub skipped_reasons: Vec<String>,
    /// Rows that are well formed and must not count, by reason.
    pub omitted: Vec<OmittedRows>,
    /// Movements of non-fungible tokens.
    pub non_fungible: u64,
    /// Warnings for readers of the answers.
    pub warnings: Vec<String>,
}

impl FileReport {
    /// Explains why no row of the file counts.
    pub(crate) fn why_empty(&self) -> String {
        let mut reasons = Vec::new();
        if self.skipped > 0 {
            let first = self.skipped_reasons.first().map(String::as_str).unwrap_or_default();
            reasons.push(format!("{} rows are wrong ({first})", self.skipped));
        }
        reasons.extend(self.omitted.iter().map(|omitted| format!("{} {}", omitted.rows, omitted.reason)));
        if !reasons.is_empty() {
            return format!("left out: {}", reasons.join(", "));
        }
        let of_rows = || format!("its {} rows state nothing that is kept", self.rows);
        self.warnings.first().cloned().unwrap_or_else(of_rows)
    }
}

/// The warning about a file with a header at most.
pub(crate) const NO_ROW: &str = "it has no row of data";

/// Rows of one file that were understood and do not count: rows of orphaned blocks, rows without a token, and the like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OmittedRows {
    /// The reason why they do not count.
    pub reason: String,
    /// The count of rows.
    pub rows: u64,
    /// The position of the first row.
    pub first: String,
}

/// The source of the chain of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChainSource {
    /// The content.
    Detected,
    /// The caller.
    Given,
    /// Its name, its block hashes or the files beside it.
    Inferred,
    /// The usual chain of the format, without evidence.
    #[default]
    Assumed,
}
