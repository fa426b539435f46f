//! Errors of a benchmark.

use std::io;

use headwater_ledger::LedgerError;

/// A result of the suite.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store.
    #[error("the store: {0}")]
    Ledger(#[from] LedgerError),
    /// A file or a pipe.
    #[error("{what}: {source}")]
    Io {
        /// The action.
        what: String,
        /// The reason why it failed.
        source: io::Error,
    },
    /// A peer.
    #[error("{peer}: {what}")]
    Peer {
        /// The peer.
        peer: &'static str,
        /// The error of the peer.
        what: String,
    },
    /// An answer that the rows contradict: nothing is timed then.
    #[error("{engine} answers {query} of account {account} wrongly: {what}")]
    Wrong {
        /// The engine.
        engine: String,
        /// The question.
        query: String,
        /// About whom.
        account: u32,
        /// The difference.
        what: String,
    },
}

/// Says what was done when an operation on files failed.
pub fn doing(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
    let what = what.into();
    |source| Error::Io { what, source }
}
