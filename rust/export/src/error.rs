//! Errors of exports.

use std::path::{Path, PathBuf};

use arrow::error::ArrowError;
use headwater_ledger::{Cancelled, LedgerError};
use parquet::errors::ParquetError;

/// The reason why an export failed. What was written until then is removed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The folder holds something already.
    #[error("{} is not empty: name another folder, or delete what is in it", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// A chain was asked for that the store does not hold.
    #[error("the store holds nothing of {chain}: it holds {held}")]
    NothingHeld {
        /// The chain.
        chain: headwater_types::Chain,
        /// The type that it holds instead.
        held: String,
    },
    /// The ledger could not be read, or the work was cancelled.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The operating system refused.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The file could not be written as CSV.
    #[error("cannot write {}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// The error of the library.
        #[source]
        source: ArrowError,
    },
    /// The file could not be written as Parquet.
    #[error("cannot write {}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The error of the library.
        #[source]
        source: ParquetError,
    },
}

impl ExportError {
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path: path.clone(), source }
    }

    pub(crate) fn csv(path: &Path) -> impl Fn(ArrowError) -> Self {
        let path = path.to_owned();
        move |source| Self::Csv { path: path.clone(), source }
    }

    pub(crate) fn parquet(path: &Path) -> impl Fn(ParquetError) -> Self {
        let path = path.to_owned();
        move |source| Self::Parquet { path: path.clone(), source }
    }
}

impl From<Cancelled> for ExportError {
    fn from(cancelled: Cancelled) -> Self {
        Self::Ledger(cancelled.into())
    }
}
