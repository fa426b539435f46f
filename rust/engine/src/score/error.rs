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
    /// Another process writes the same output.
    #[error("{} is being written by another process; wait until it ends, or name another output", path.display())]
    Busy {
        /// The output.
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
