//! What can go wrong with the gateway's own state.

use std::path::PathBuf;

/// Everything the state can fail with.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The operating system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// `SQLite` refused.
    #[error("the state database {} failed", path.display())]
    Database {
        /// The database file.
        path: PathBuf,
        /// What it said.
        #[source]
        source: rusqlite::Error,
    },
    /// The database was written by a newer version.
    #[error("the state database {} has schema {found}, this version knows up to {known}: upgrade headwater", path.display())]
    NewerSchema {
        /// The database file.
        path: PathBuf,
        /// Schema found.
        found: i64,
        /// Newest schema known.
        known: i64,
    },
    /// Keys are there but the pepper that they were stored under is not.
    #[error("{} is missing or is not the one that the keys were stored under: put the original file back, with mode 0600", path.display())]
    WrongPepper {
        /// The pepper file.
        path: PathBuf,
    },
    /// The pepper file has not 32 bytes.
    #[error("{} holds {found} bytes where 32 are expected: put the original file back", path.display())]
    BadPepper {
        /// The pepper file.
        path: PathBuf,
        /// Bytes found.
        found: usize,
    },
    /// No such key.
    #[error("there is no key with the id {0:?}: `headwater keys list` shows the ids")]
    UnknownKey(String),
    /// An amount of credits that cannot be booked.
    #[error("{amount} credits cannot be added: the amount must be above 0 and the balance must stay below 2^63")]
    BadAmount {
        /// The amount.
        amount: i64,
    },
    /// The operating system gave no randomness.
    #[error("the operating system gives no random bytes")]
    Randomness(#[from] getrandom::Error),
    /// A charge that the balance in the database does not cover.
    #[error("the balance does not cover {cost} credits")]
    Insufficient {
        /// What was to be paid.
        cost: i64,
    },
    /// The ledger of credits contradicts itself.
    #[error("the credit ledger of account {account} is broken at entry {entry}: {what}")]
    BrokenLedger {
        /// The account.
        account: i64,
        /// Number of the entry.
        entry: i64,
        /// What does not fit.
        what: &'static str,
    },
    /// The commit failed, so nothing of it may be answered as done.
    #[error("the commit failed: {0}")]
    NotCommitted(String),
    /// An earlier commit ended in an unknown state.
    #[error("an earlier commit of the state ended in an unknown state: restart the server")]
    Latched,
    /// The writer has ended.
    #[error("the state is closed")]
    Closed,
}
