//! Errors of tables.

use std::io;

use arrow::error::ArrowError;
use parquet::errors::ParquetError;

use crate::builder::Misfit;

/// The reason for which a table could not be written.
#[expect(clippy::large_enum_variant, reason = "an error is rare, and boxing it would only hide what it names")]
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The query engine refused the request, or the work was stopped.
    #[error(transparent)]
    Engine(#[from] headwater_engine::Error),
    /// The rows do not fit their columns: a defect.
    #[error("rows do not fit their columns: {0}")]
    Rows(#[source] ArrowError),
    /// The destination failed.
    #[error("the table could not be written: {0}")]
    Write(#[from] io::Error),
}

/// The words of the operating system for a closed pipe.
const BROKEN_PIPE: &str = "Broken pipe";

impl From<ArrowError> for TableError {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) => Self::Write(error),
            // The writer of CSV gives errors of its destination as text.
            ArrowError::CsvError(text) if text.contains(BROKEN_PIPE) => Self::Write(io::ErrorKind::BrokenPipe.into()),
            error => Self::Rows(error),
        }
    }
}

impl From<Misfit> for TableError {
    fn from(misfit: Misfit) -> Self {
        Self::Rows(misfit.into())
    }
}

impl From<ParquetError> for TableError {
    fn from(error: ParquetError) -> Self {
        Self::Write(io::Error::other(error))
    }
}
