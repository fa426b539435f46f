//! Errors of the tables. Logs cause none: what does not fit a table is left out.

/// A line of a table that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub struct TableError {
    /// The file, below `rust/bridge/tables`.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The fault, and what was expected.
    pub reason: String,
}

impl TableError {
    pub(crate) fn new(file: &str, line: usize, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, reason: reason.into() }
    }
}
