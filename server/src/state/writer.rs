//! The one thread that writes: it takes all that waits, commits it in one transaction, and wakes who waited.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};
use tokio::sync::{mpsc, oneshot};

use super::book::{Book, Hold};
use super::ledger::{Booked, Entry, Kind, book};
use super::{AuditRow, StateError};

/// Most operations in one commit.
const BATCH: usize = 4096;
/// How long rows that nobody waits for are gathered before they are committed.
const LINGER: Duration = Duration::from_millis(2);
/// How often changes of other processes are looked for.
const POLL: Duration = Duration::from_millis(250);
/// Rows that could not be written and are kept; beyond them the queue is left to fill, which holds requests back.
const UNWRITTEN: usize = 4 * BATCH;

/// Something to be written.
pub(super) enum Operation {
    /// Ledger entry, balance and audit row of an answer, in one commit.
    Charge(Charge),
    /// The audit row of a request that costs nothing.
    Audit(AuditRow),
    /// Answered when all before it is committed.
    Flush(oneshot::Sender<()>),
}

/// An answer to be paid for. `audit.bytes` is the size of its body without the digits of the balance.
pub(super) struct Charge {
    pub hold: Hold,
    pub audit: AuditRow,
    pub done: oneshot::Sender<Result<i64, StateError>>,
}

impl Charge {
    fn finish(self, outcome: Booked) {
        let result = match outcome {
            Booked::Done(balance) => {
                self.hold.settle(balance);
                Ok(balance)
            }
            Booked::Refused => Err(StateError::Insufficient { cost: self.hold.cost() }),
        };
        // Whoever waited may be gone; what is committed stays.
        let _ = self.done.send(result);
    }

    fn fail(self, error: StateError) {
        drop(self.hold);
        let _ = self.done.send(Err(error));
    }
}

/// How the writer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// The last commit went through.
    Good,
    /// The last commit failed, with a known outcome: nothing of it is there. It may work again by itself.
    Failing,
    /// A commit ended in an unknown state; nothing more is written.
    Latched,
}

/// The health as other threads read it.
#[derive(Debug, Default)]
pub(super) struct HealthFlag(AtomicU8);

impl HealthFlag {
    fn set(&self, health: Health) {
        self.0.store(health as u8, Ordering::Release);
    }

    pub(super) fn get(&self) -> Health {
        match self.0.load(Ordering::Acquire) {
            0 => Health::Good,
            1 => Health::Failing,
            _ => Health::Latched,
        }
    }
}

/// Called when a commit ends in an unknown state. A server ends its process there.
pub type OnLatch = Box<dyn Fn() + Send>;

pub(super) struct Writer {
    pub connection: Connection,
    pub path: PathBuf,
    pub book: Arc<Book>,
    pub health: Arc<HealthFlag>,
    pub on_latch: OnLatch,
    pub queue: mpsc::Receiver<Operation>,
    pub seen_version: i64,
    pub unwritten: Vec<AuditRow>,
}

/// Why a commit did not happen.
enum Failure {
    /// Nothing of it is in the database.
    Undone(rusqlite::Error),
    /// It may or may not be there.
    Unknown(rusqlite::Error),
    /// An earlier one ended in an unknown state, so it was not tried.
    Latched,
}

impl Failure {
    fn told(&self) -> StateError {
        match self {
            Self::Undone(error) => StateError::NotCommitted(error.to_string()),
            Self::Unknown(_) | Self::Latched => StateError::Latched,
        }
    }

    /// Whether a single row may be the cause, so that the others are worth another try.
    fn is_of_one_row(&self) -> bool {
        matches!(self, Self::Undone(error) if !is_known_undone(error))
    }
}

impl Writer {
    /// Runs until every sender is gone and the queue is empty.
    pub fn run(mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime with nothing but a clock needs nothing from the system");
        let mut polled = Instant::now();
        loop {
            let wait = POLL.saturating_sub(polled.elapsed());
            match runtime.block_on(async { tokio::time::timeout(wait, self.queue.recv()).await }) {
                Ok(Some(first)) => {
                    let batch = self.gather(first);
                    self.write(batch);
                }
                Ok(None) => break,
                Err(_) if self.unwritten.is_empty() => {}
                Err(_) => self.write(Vec::new()),
            }
            if polled.elapsed() >= POLL {
                self.look_for_changes();
                polled = Instant::now();
            }
            while self.unwritten.len() > UNWRITTEN && self.health.get() != Health::Latched {
                thread::sleep(POLL);
                self.write(Vec::new());
            }
        }
        self.write(Vec::new());
        if !self.unwritten.is_empty() {
            tracing::error!(rows = self.unwritten.len(), "audit rows could not be written before the end");
        }
    }

    fn gather(&mut self, first: Operation) -> Vec<Operation> {
        let mut batch = vec![first];
        self.take_waiting(&mut batch);
        if batch.len() < BATCH && batch.iter().all(|operation| matches!(operation, Operation::Audit(_))) {
            thread::sleep(LINGER);
            self.take_waiting(&mut batch);
        }
        batch
    }

    fn take_waiting(&mut self, batch: &mut Vec<Operation>) {
        while batch.len() < BATCH {
            let Ok(next) = self.queue.try_recv() else { break };
            batch.push(next);
        }
    }

    /// Writes a batch in one commit. Where the database is there but refuses it, each charge is tried by itself, so
    /// that one cannot spoil the others.
    fn write(&mut self, batch: Vec<Operation>) {
        let (mut charges, mut flushes) = (Vec::new(), Vec::new());
        for operation in batch {
            match operation {
                Operation::Charge(charge) => charges.push(charge),
                Operation::Audit(row) => self.unwritten.push(row),
                Operation::Flush(done) => flushes.push(done),
            }
        }
        let rows = std::mem::take(&mut self.unwritten);
        match self.commit(&charges, &rows) {
            Ok(outcomes) => charges.into_iter().zip(outcomes).for_each(|(charge, outcome)| charge.finish(outcome)),
            Err(failure) => {
                self.unwritten = rows;
                if failure.is_of_one_row() && charges.len() > 1 {
                    for charge in charges {
                        match self.commit(std::slice::from_ref(&charge), &[]) {
                            Ok(outcomes) => charge.finish(outcomes.into_iter().next().unwrap_or(Booked::Refused)),
                            Err(failure) => charge.fail(failure.told()),
                        }
                    }
                } else {
                    for charge in charges {
                        charge.fail(failure.told());
                    }
                }
            }
        }
        for done in flushes {
            let _ = done.send(());
        }
    }

    /// Commits and tells the health of it.
    fn commit(&mut self, charges: &[Charge], rows: &[AuditRow]) -> Result<Vec<Booked>, Failure> {
        if self.health.get() == Health::Latched {
            return Err(Failure::Latched);
        }
        if charges.is_empty() && rows.is_empty() {
            return Ok(Vec::new());
        }
        let result = self.try_commit(charges, rows);
        match &result {
            Ok(_) => self.health.set(Health::Good),
            Err(Failure::Undone(error)) => {
                self.health.set(Health::Failing);
                tracing::error!(%error, path = %self.path.display(), "a commit of the state was undone");
            }
            Err(Failure::Unknown(error)) => {
                self.health.set(Health::Latched);
                tracing::error!(%error, path = %self.path.display(), "a commit of the state ended in an unknown state");
                (self.on_latch)();
            }
            Err(Failure::Latched) => {}
        }
        result
    }

    fn try_commit(&mut self, charges: &[Charge], rows: &[AuditRow]) -> Result<Vec<Booked>, Failure> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Failure::Undone)?;
        let outcomes = charges.iter().map(|charge| write_charge(&transaction, charge)).collect::<rusqlite::Result<_>>();
        let written = outcomes.and_then(|outcomes: Vec<Booked>| {
            rows.iter().try_for_each(|row| write_audit(&transaction, row, row.bytes))?;
            Ok(outcomes)
        });
        match written {
            Ok(outcomes) => match transaction.commit() {
                Ok(()) => Ok(outcomes),
                Err(error) if is_known_undone(&error) => Err(Failure::Undone(error)),
                Err(error) => Err(Failure::Unknown(error)),
            },
            // Dropped without a commit, the transaction is rolled back.
            Err(error) => Err(Failure::Undone(error)),
        }
    }

    /// Keys and credits may have been changed by a command in another process.
    fn look_for_changes(&mut self) {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0));
        let loaded = version.and_then(|version| {
            if version != self.seen_version {
                self.book.load(&self.connection)?;
                self.seen_version = version;
            }
            Ok(())
        });
        if let Err(error) = loaded {
            tracing::error!(%error, path = %self.path.display(), "keys and credits could not be read anew");
        }
    }
}

/// A full disk or a database that another process holds leaves nothing behind. Anything else, a failed sync above
/// all, leaves it open what is on the disk.
fn is_known_undone(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn write_charge(connection: &Connection, charge: &Charge) -> rusqlite::Result<Booked> {
    let row = &charge.audit;
    let entry = Entry {
        request_id: &row.request_id,
        account: charge.hold.account().id(),
        kind: Kind::Charge,
        amount: -charge.hold.cost(),
        key_id: row.key_id.as_deref(),
        endpoint: row.endpoint,
        ts_ms: row.ts_ms,
    };
    let booked = book(connection, &entry)?;
    if let Booked::Done(balance) = booked {
        // The body ends with the balance, which is known only here.
        write_audit(connection, row, row.bytes + u64::from(balance.checked_ilog10().unwrap_or(0) + 1))?;
    }
    Ok(booked)
}

fn write_audit(connection: &Connection, row: &AuditRow, bytes: u64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO audit (request_id, correlation_id, key_id, method, endpoint, status, cost, duration_ms, bytes,
                                parameter_hash, ts_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (request_id) DO NOTHING",
        )?
        .execute(params![
            row.request_id,
            row.correlation_id,
            row.key_id.as_deref(),
            row.method,
            row.endpoint,
            row.status,
            row.cost,
            i64::try_from(row.duration_ms).unwrap_or(i64::MAX),
            i64::try_from(bytes).unwrap_or(i64::MAX),
            row.parameter_hash.as_ref().map(<[u8; 32]>::as_slice),
            row.ts_ms
        ])
        .map(|_| ())
}
