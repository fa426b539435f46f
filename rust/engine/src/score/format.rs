//! The format of files of scores.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{ScoreError, ScoreRow, Scorer};

/// The format of a file of scores, whose parts are files of the same format.
pub trait ScoreFormat {
    /// The ending of the files, without the dot.
    const ENDING: &'static str;

    /// Encodes the rows of a part with their counts.
    ///
    /// # Errors
    /// When the rows do not fit the columns of the scorer.
    fn encode(scorer: &Scorer, rows: &[ScoreRow]) -> Result<Vec<u8>, ScoreError>;

    /// Reads the counts of an encoded part; the path is for messages.
    ///
    /// # Errors
    /// When the bytes are not in the format.
    fn counts(path: &Path, part: Vec<u8>) -> Result<PartCounts, ScoreError>;

    /// Writes a file with the rows of these parts, at least one, and with the versions that they were made with.
    ///
    /// # Errors
    /// When a part cannot be read or the file cannot be written.
    fn join(versions: &BTreeMap<String, String>, parts: &[PathBuf], file: &mut (dyn Write + Send)) -> io::Result<()>;
}

/// The counts of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartCounts {
    /// Addresses.
    pub rows: u64,
    /// Addresses with an error.
    pub failed: u64,
}

impl PartCounts {
    /// Counts rows.
    #[must_use]
    pub fn of(rows: &[ScoreRow]) -> Self {
        let failed = rows.iter().filter(|row| row.error.is_some()).count();
        Self { rows: rows.len() as u64, failed: failed as u64 }
    }

    pub(super) const fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.failed += other.failed;
    }
}
