//! The gateway's own state on `SQLite`: keys, credits, the credit ledger and the audit.
//!
//! One writer thread commits (`writer`); what requests need is in memory (`book`). Commands of other processes
//! (`office`) change the same database while a server runs, and the server sees it within a second.

mod book;
mod error;
mod folder;
mod keys;
mod ledger;
mod office;
mod schema;
mod writer;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::{mpsc, oneshot};

pub use book::{Account, Book, Caller, Hold, Refusal};
pub use error::StateError;
pub use folder::StateFolder;
pub use keys::{Environment, KeyText, Pepper};
pub use ledger::check_ledger;
pub use office::{BackOffice, KeyListing, NewKey};
pub use writer::{Health, OnLatch};

use writer::{Charge, HealthFlag, Operation, Writer};

/// Rows and charges that may wait; beyond them requests wait.
const QUEUE: usize = 16_384;

/// What is kept of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// `UUIDv7`, made by the server.
    pub request_id: String,
    /// The client's own id.
    pub correlation_id: Option<String>,
    /// Id of the key, where one was shown and known.
    pub key_id: Option<Arc<str>>,
    /// HTTP method.
    pub method: String,
    /// Path of the route; `None` when there is none.
    pub endpoint: Option<&'static str>,
    /// Status of the answer; 499 when the client went away before it.
    pub status: u16,
    /// Credits charged.
    pub cost: i64,
    /// From the request's head to the answer.
    pub duration_ms: u64,
    /// Size of the answer's body.
    pub bytes: u64,
    /// Digest of the parameters, not their values.
    pub parameter_hash: Option<[u8; 32]>,
    /// Unix milliseconds of the request.
    pub ts_ms: i64,
}

/// The running state of a gateway.
#[derive(Debug)]
pub struct State {
    book: Arc<Book>,
    health: Arc<HealthFlag>,
    queue: mpsc::Sender<Operation>,
    thread: JoinHandle<()>,
}

impl State {
    /// Reads keys and balances and starts the writer. `on_latch` is called when a commit ends in an unknown state:
    /// a server ends its process there, so that nothing is answered on the strength of it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn start(folder: &StateFolder, on_latch: OnLatch) -> Result<Self, StateError> {
        let path = folder.database();
        let connection = folder.writer()?;
        let failed = |source| StateError::Database { path: path.clone(), source };
        let book = Arc::new(Book::new(folder.pepper().clone()));
        // Read before the keys: a change in between is then seen once more, and not missed.
        let seen_version = connection.pragma_query_value(None, "data_version", |row| row.get(0)).map_err(failed)?;
        book.load(&connection).map_err(failed)?;
        let health = Arc::new(HealthFlag::default());
        let (queue, waiting) = mpsc::channel(QUEUE);
        let writer = Writer {
            connection,
            path: path.clone(),
            book: Arc::clone(&book),
            health: Arc::clone(&health),
            on_latch,
            queue: waiting,
            seen_version,
            unwritten: Vec::new(),
        };
        let thread = std::thread::Builder::new()
            .name("state-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|source| StateError::Io { action: "cannot start the writer of", path, source })?;
        Ok(Self { book, health, queue, thread })
    }

    /// Who may call, and what is left of whose credits.
    #[must_use]
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// How the writer is.
    #[must_use]
    pub fn health(&self) -> Health {
        self.health.get()
    }

    /// Commits ledger entry, balance and audit row together and gives the balance after it. `audit.bytes` counts the
    /// body without the digits of that balance.
    ///
    /// # Errors
    /// When nothing was committed, or nothing certain is known of it; the hold is given back then.
    pub async fn charge(&self, hold: Hold, audit: AuditRow) -> Result<i64, StateError> {
        let (done, result) = oneshot::channel();
        let charge = Operation::Charge(Charge { hold, audit, done });
        self.queue.send(charge).await.map_err(|_| StateError::Closed)?;
        result.await.map_err(|_| StateError::Closed)?
    }

    /// Hands over the audit row of a request that costs nothing. Waits while the queue is full, never drops a row.
    ///
    /// # Errors
    /// When the state is closed.
    pub async fn record(&self, audit: AuditRow) -> Result<(), StateError> {
        self.queue.send(Operation::Audit(audit)).await.map_err(|_| StateError::Closed)
    }

    /// Waits until all that was handed over is committed.
    ///
    /// # Errors
    /// When the state is closed.
    pub async fn flush(&self) -> Result<(), StateError> {
        let (done, result) = oneshot::channel();
        self.queue.send(Operation::Flush(done)).await.map_err(|_| StateError::Closed)?;
        result.await.map_err(|_| StateError::Closed)
    }

    /// Writes what waits and ends the writer. Blocks until it is done.
    pub fn close(self) {
        drop(self.queue);
        if self.thread.join().is_err() {
            tracing::error!("the writer of the state panicked");
        }
    }
}

/// Unix milliseconds.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
