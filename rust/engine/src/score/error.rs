//! Errors of scoring a list of addresses.

use std::io;
use std::path::PathBuf;

use crate::Error;

/// Why scores could not be made. Complete parts of a file stay, and the same job resumes from them.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    /// The engine refused, the ledger could not be read, or the work was cancelled.
    #[error(transparent)]
    Engine(#[from] Error),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file does not have the expected content.
    #[error("{}: {message}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The fault, and what was expected.
        message: String,
    },
    /// The folder of the parts belongs to another job.
    #[error(
        "{} contains parts of another job: {difference}; remove the folder to start again, or name another output",
        path.display()
    )]
    OtherJob {
        /// The folder of the parts.
        path: PathBuf,
        /// The properties that differ.
        difference: String,
    },
    /// Another process holds the folder of the parts.
    #[error("{} is in use by another process; wait until it ends, or name another output", path.display())]
    Busy {
        /// The folder of the parts.
        path: PathBuf,
    },
    /// A text is not the description of a job.
    #[error("not the description of a job of this version of Headwater: {message}")]
    Job {
        /// The fault.
        message: String,
    },
    /// This process would compute other rows than the job that a part belongs to.
    #[error(
        "this process would compute other rows than the job: {difference}; use the same version, store, classifiers and \
         kind of processor as the process that planned it"
    )]
    OtherRows {
        /// The properties that differ.
        difference: String,
    },
    /// Parts of a job are missing or damaged.
    #[error(
        "{} has {} of {parts} parts: missing {}{}; run their shards again with the same command",
        path.display(),
        parts - missing.len() as u64,
        some_of(missing),
        if *unusable > 0 {
            format!(", and {unusable} files of parts that are damaged or of another job")
        } else {
            String::new()
        }
    )]
    PartsMissing {
        /// The folder of the parts.
        path: PathBuf,
        /// The numbers of the parts, from 0.
        missing: Vec<u64>,
        /// Files of parts that are damaged or of another job.
        unusable: u64,
        /// Parts of the job.
        parts: u64,
    },
    /// The folder of the parts is no longer there.
    #[error("{} is no longer there: the parts were joined or removed meanwhile", path.display())]
    FolderGone {
        /// The folder of the parts.
        path: PathBuf,
    },
    /// Columns in memory could not be read or encoded.
    #[error("columns of addresses or scores: {0}")]
    Columns(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl ScoreError {
    /// Returns a function that names the file of an error of the operating system.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    /// Reports that a file does not have the expected content.
    pub fn input(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self::Input { path: path.into(), message: message.into() }
    }
}

/// Lists the first of many numbers.
fn some_of(numbers: &[u64]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<_> = numbers.iter().take(SHOWN).map(u64::to_string).collect();
    let more = numbers.len().saturating_sub(SHOWN);
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}
