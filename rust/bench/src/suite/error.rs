//! What can go wrong with a benchmark.

use std::io;

use headwater_ledger::LedgerError;

/// A result of the suite.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store.
    #[error("the store: {0}")]
    Ledger(#[from] LedgerError),
    /// A file or a pipe.
    #[error("{what}: {source}")]
    Io {
        /// What was done.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A peer.
    #[error("{peer}: {what}")]
    Peer {
        /// Which.
        peer: &'static str,
        /// What it said.
        what: String,
    },
    /// An answer that the rows contradict: nothing is timed then.
    #[error("{engine} answers {query} of account {account} wrongly: {what}")]
    Wrong {
        /// Who.
        engine: String,
        /// The question.
        query: String,
        /// About whom.
        account: u32,
        /// How it differs.
        what: String,
    },
}

/// Says what was done when an operation on files failed.
pub fn doing(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
    let what = what.into();
    |source| Error::Io { what, source }
}
