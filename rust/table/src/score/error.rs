//! Why a file of scores could not be made.

use std::io;
use std::path::PathBuf;

use arrow::error::ArrowError;
use headwater_engine::Error;
use parquet::errors::ParquetError;

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
        /// What happened.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {message}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what was expected.
        message: String,
    },
    /// The parts in the way belong to another job.
    #[error(
        "{} contains parts of another job: {difference}; remove the folder to start again, or name another output",
        path.display()
    )]
    OtherJob {
        /// The folder of the parts.
        path: PathBuf,
        /// What differs.
        difference: String,
    },
    /// Another process writes the same output.
    #[error("{} is being written by another process; wait until it ends, or name another output", path.display())]
    Busy {
        /// The output.
        path: PathBuf,
    },
    /// Columns in memory could not be read or made.
    #[error("columns of addresses or scores: {0}")]
    Columns(#[source] ArrowError),
}

impl ScoreError {
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    pub(super) fn input(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self::Input { path: path.into(), message: message.into() }
    }

    pub(super) fn parquet(path: impl Into<PathBuf>) -> impl FnOnce(ParquetError) -> Self {
        let path = path.into();
        move |error| Self::Input { path, message: error.to_string() }
    }

    pub(super) fn arrow(path: impl Into<PathBuf>) -> impl FnOnce(ArrowError) -> Self {
        let path = path.into();
        move |error| Self::Input { path, message: error.to_string() }
    }
}
