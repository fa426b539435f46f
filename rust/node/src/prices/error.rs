//! The reasons for which prices cannot be fetched.

use std::path::PathBuf;

use headwater_ledger::{Cancelled, LedgerError};

use super::service::UnknownService;

/// The reason for which prices cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The service is unknown.
    #[error(transparent)]
    Service(#[from] UnknownService),
    /// The address of the service cannot be used.
    #[error("{text:?} is not the address of a price service; expected https://HOST/PATH")]
    Address {
        /// The address, without secrets.
        text: String,
    },
    /// The key cannot be used. No message repeats it.
    #[error("the key of the price service {0}")]
    Key(&'static str),
    /// The rate of requests cannot be used.
    #[error("{0} requests a second cannot be made; choose a number above zero")]
    Rate(f64),
    /// A symbol is not that of a token.
    #[error(
        "symbol {symbol:?}: {reason}; give its id at the service as SYMBOL=ID, or add it by `headwater tokens import`"
    )]
    Symbol {
        /// The symbol.
        symbol: String,
        /// The fault.
        reason: String,
    },
    /// The store has no asset that needs prices.
    #[error("the store has no asset that needs prices; name symbols with --symbols")]
    NoSymbols,
    /// The store has no block with a time.
    #[error("the store has no block from whose time on prices are needed; name the first day")]
    NoTimes,
    /// The range has no day or hour.
    #[error("{0}")]
    Range(String),
    /// Another process fetches prices of the same service.
    #[error("prices are fetched by another process into {}; wait for it", path.display())]
    Locked {
        /// The store.
        path: PathBuf,
    },
    /// A file of answers cannot be read or written.
    #[error("{action} {}", path.display())]
    Io {
        /// The failed action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A file of answers is damaged.
    #[error("{} is damaged in line {line}; delete the file, and its days are asked for again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// The work was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The store failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}
