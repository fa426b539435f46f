//! The gateway's own state: keys, plans, credits, the credit ledger, the audit, webhooks.
//!
//! One writer thread commits (`writer`); what requests need is in memory (`account_cache`). Commands of other processes change
//! the same database through the same back office (`admin_service`) while a server runs, and the server sees it at once or
//! within a second. The database is `SQLite` in a folder, or `PostgreSQL` for replicas (`db`).
#![forbid(unsafe_code)]

mod access_fault;
mod account_cache;
mod admin_service;
mod audit;
mod backup;
pub mod checksums;
pub mod clock;
mod copy;
mod db;
mod error;
mod errors;
mod health;
mod home;
mod idempotency;
#[cfg(test)]
mod invariants;
mod jobs;
mod keys;
mod killed_runs;
mod lease;
mod ledger;
mod plan;
mod recurring;
mod request_log;
mod retention;
mod row_macs;
mod rows;
mod run;
pub mod secrets;
mod sums;
mod writer;

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

pub use access_fault::AccessFault;
pub use account_cache::{Account, AccountCache, Caller, Hold, Refusal};
pub use admin_service::{
    AdminListing, AdminService, ChangeListing, Expiry, KeyListing, KeyStatus, KeyUsage, LostAnswer, Month,
    MonthlyUsage, NewKey, Usage, UsageLine,
};
pub use audit::{AuditFilter, AuditListing, AuditRow, RequestId};
pub use backup::CheckReport;
pub use db::{Access, Db, Insert, PostgresAddress, Row, StateLocation, Tx, Value, checksum};
pub use error::StateError;
pub use errors::causes;
pub use health::{Health, OnLatch};
pub use home::Home;
pub use idempotency::{AnswerBody, AnswerRecord, StoredAnswer, find as find_kept, keep};
pub use keys::{Environment, KeyId, KeyText, Pepper};
pub use killed_runs::BootReport;
pub use ledger::check_ledger;
pub use plan::{DEFAULT_PLAN, NoRate, Plan, Rate, is_endpoint};
pub use recurring::ErrorThrottle;
pub use request_log::{LogSettings, LogUse, LoggedRequest};
pub use run::UnsentAnswers;
pub use sums::{RequestSum, SumFilter};

/// The files that a state cannot be used without.
pub const SECRET_FILES: [&str; 2] = [secrets::PEPPER, secrets::MASTER];

use health::{HealthFlag, Watch};
use home::Presence;
use jobs::Jobs;
use lease::Leases;
use ledger::Charge;
use request_log::RequestLog;
use retention::Retention;
use rows::Rows;
use run::Run;
use sums::{RequestSums, WaitingSums};
use writer::{Job, Lend, Operation, Writer};

/// Operations that may wait for the writer, and rows of the audit; beyond them requests wait.
const QUEUE: usize = 16_384;
/// The time a caller with a row of the audit waits where there are too many.
const CROWDED: Duration = Duration::from_millis(5);
/// Readers at a time; each has a connection.
const READERS: usize = 8;

/// The options of a state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Days that rows of the audit are kept; for ever when not given.
    pub audit_days: Option<u32>,
    /// True if charges whose answers a killed run may have lost are refunded at the start.
    pub refund_lost: bool,
    /// The files of the audit log.
    pub log: LogSettings,
}

/// The running state of a gateway.
pub struct State {
    home: Home,
    accounts: Arc<AccountCache>,
    health: Arc<HealthFlag>,
    queue: mpsc::Sender<Operation>,
    rows: Arc<Rows>,
    sums: Arc<WaitingSums>,
    /// The audit log, where it has a folder.
    log: Option<RequestLog>,
    /// The queue of work that has nothing to do with credits, where replicas share the database.
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    unsent: Arc<UnsentAnswers>,
    readers: Readers,
    boot: BootReport,
    commits: Histogram,
    threads: Vec<JoinHandle<()>>,
    _presence: Option<Presence>,
}

impl State {
    /// Reads keys and balances and starts the writer. `on_latch` is called when a commit ends in an unknown state, or the
    /// writer panics: a server ends its process there, so that nothing is answered on the strength of it.
    ///
    /// # Errors
    /// When the database cannot be read.
    #[expect(clippy::needless_pass_by_value, reason = "the options are handed over as a whole")]
    pub fn start(home: &Home, options: Options, on_latch: OnLatch) -> Result<Self, StateError> {
        let mut db = home.connect(Access::Write)?;
        let accounts = Arc::new(AccountCache::new(home.pepper().clone(), db.is_shared()));
        let unsent = Arc::new(UnsentAnswers::default());
        let id = Uuid::now_v7().to_string();
        let presence = home.presence()?;
        let alone = presence.as_ref().is_some_and(|presence| presence.alone);
        // What is damaged is not served, and nothing is booked on it.
        db.transaction(|tx| {
            row_macs::check(tx, home.pepper())?;
            checksums::check_acted_on(tx)?;
            ledger::check_ends(tx)
        })?;
        let (mut run, boot) = db.transaction(|tx| Run::start(tx, &id, Arc::clone(&unsent), alone))?;
        if options.refund_lost {
            run.refund_lost(home.pepper().clone());
            db.transaction(|tx| AdminService::new(tx, home.pepper(), "server").refund_noted())?;
        }
        // Read before the keys: a change in between is then seen once more, and not missed.
        let seen_version = db.data_version()?.unwrap_or(0);
        db.transaction(|tx| accounts.load(tx))?;
        let (health, rows) = (Arc::new(HealthFlag::default()), Arc::new(Rows::default()));
        let sums = Arc::<WaitingSums>::default();
        let (log, log_thread) = RequestLog::start(home, &options.log)?.unzip();
        let (queue, waiting) = mpsc::channel(QUEUE);
        if let StateLocation::Postgres(address) = home.place() {
            listen(address.clone(), id.clone(), queue.downgrade());
        }
        let commits = Histogram::new(exponential_buckets(0.0005, 2.0, 14));
        let on_latch = Arc::new(on_latch);
        let watch = || Watch { health: Arc::clone(&health), on_latch: Arc::clone(&on_latch) };
        let writer = Writer {
            commits: commits.clone(),
            db,
            accounts: Arc::clone(&accounts),
            health: Arc::clone(&health),
            watch: watch(),
            queue: waiting,
            rows: Arc::clone(&rows),
            sums: Arc::clone(&sums),
            unwritten_sums: RequestSums::default(),
            summed: Instant::now(),
            seen_version,
            unwritten: Vec::new(),
            leases: Leases::new(&id),
            run,
            retention: Retention::new(options.audit_days),
            last: 0,
            errors: writer::Errors::default(),
        };
        let mut threads = vec![spawn("state-writer", move || writer.run())?];
        threads.extend(log_thread);
        let mut jobs = None;
        if let StateLocation::Postgres(_) = home.place() {
            let (sender, queue) = mpsc::channel(QUEUE);
            let made = Jobs { db: home.connect(Access::Write)?, queue, _watch: watch() };
            threads.push(spawn("state-jobs", move || made.run())?);
            jobs = Some(sender);
        }
        let readers = Readers::default();
        Ok(Self {
            home: home.clone(),
            accounts,
            health,
            queue,
            rows,
            sums,
            log,
            jobs,
            unsent,
            readers,
            boot,
            commits,
            threads,
            _presence: presence,
        })
    }

    /// Returns where it lives.
    #[must_use]
    pub const fn home(&self) -> &Home {
        &self.home
    }

    /// Returns what killed runs left behind.
    #[must_use]
    pub const fn boot_report(&self) -> BootReport {
        self.boot
    }

    /// Returns who may call, and how many credits are left.
    #[must_use]
    pub fn accounts(&self) -> &AccountCache {
        &self.accounts
    }

    /// Returns the health of the writer.
    #[must_use]
    pub fn health(&self) -> Health {
        self.health.get()
    }

    /// Returns how long commits take, in seconds.
    #[must_use]
    pub const fn commits(&self) -> &Histogram {
        &self.commits
    }

    /// Returns the number of operations and rows of the audit that wait for the writer.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity() + self.rows.len()
    }

    /// Holds `cost` credits of an account, borrowing them first where replicas share its balance; `None` where they are
    /// not there.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn reserve(&self, account: &Arc<Account>, cost: i64) -> Result<Option<Hold>, StateError> {
        match account.reserve(cost) {
            None if matches!(self.home.place(), StateLocation::Postgres(_)) => {
                Box::pin(self.borrow(account, cost)).await
            }
            held => Ok(held),
        }
    }

    async fn borrow(&self, account: &Arc<Account>, cost: i64) -> Result<Option<Hold>, StateError> {
        // Others may hold what was lent before this request does: each time one of them has what it needs.
        loop {
            let (done, lent) = oneshot::channel();
            self.hand(Operation::Lend(Lend { account: account.id(), need: cost, done })).await?;
            let is_there = lent.await.map_err(|_| StateError::Closed)??;
            let hold = account.reserve(cost);
            if hold.is_some() || !is_there {
                return Ok(hold);
            }
        }
    }

    /// Gives the writer something to do, which waits only while it has too much.
    async fn hand(&self, operation: Operation) -> Result<(), StateError> {
        match self.queue.try_send(operation) {
            Ok(()) => Ok(()),
            // Apart, so that what a request takes in memory is not that of its rarest wait.
            Err(TrySendError::Full(operation)) => {
                Box::pin(self.queue.send(operation)).await.map_err(|_| StateError::Closed)
            }
            Err(TrySendError::Closed(_)) => Err(StateError::Closed),
        }
    }

    /// Commits ledger entry, balance, audit row and what is kept of the answer together and gives the balance after it.
    /// `audit.bytes` counts the body without the digits of that balance. Until [`UnsentAnswers::end`] the answer counts as
    /// one that may be lost with this process.
    ///
    /// # Errors
    /// When nothing was committed, or nothing certain is known of it; the hold is given back then.
    pub async fn charge(&self, hold: Hold, audit: AuditRow, keep: Option<AnswerRecord>) -> Result<i64, StateError> {
        let (done, result) = oneshot::channel();
        let request_id = audit.request_id;
        self.unsent.begin(request_id);
        let charge = Operation::Charge(Charge { hold, audit, keep, done, runtime: Handle::try_current().ok() });
        let charged = match self.hand(charge).await {
            Ok(()) => result.await.map_err(|_| StateError::Closed).flatten(),
            Err(closed) => Err(closed),
        };
        // An answer of which it is unknown whether it was charged may be lost.
        if !matches!(charged, Ok(_) | Err(StateError::Latched)) {
            self.unsent.end(&request_id);
        }
        charged
    }

    /// Charged answers on their way, for whoever sees them leave.
    #[must_use]
    pub fn unsent(&self) -> Arc<UnsentAnswers> {
        Arc::clone(&self.unsent)
    }

    /// Records a request that the database does not list ([`AuditRow::is_listed`]): as a line of the audit log, for which
    /// it waits 100 ms at most, and in the sums, for which it never waits.
    pub async fn log(&self, request: LoggedRequest) {
        self.sums.add(&request.row);
        if let Some(log) = &self.log {
            log.add(request).await;
        }
    }

    /// The same without waiting: where too many lines wait, this one is lost.
    pub fn log_now(&self, request: LoggedRequest) {
        self.sums.add(&request.row);
        if let Some(log) = &self.log {
            log.add_now(request);
        }
    }

    /// Returns what the audit log takes; `None` where it has no folder.
    #[must_use]
    pub fn log_use(&self) -> Option<LogUse> {
        self.log.as_ref().map(RequestLog::usage)
    }

    /// Returns the lines of the audit log that were written and lost since the start.
    #[must_use]
    pub fn logged_lines(&self) -> (u64, u64) {
        self.log.as_ref().map_or((0, 0), |log| (log.written(), log.lost()))
    }

    /// Hands over the audit row of a request that costs nothing, without waiting.
    ///
    /// # Errors
    /// The row, when too many wait already, or the state is closed.
    pub fn note(&self, audit: AuditRow) -> Result<(), AuditRow> {
        if self.queue.is_closed() {
            return Err(audit);
        }
        if self.rows.add(audit)? {
            // A writer whose queue is full comes to the rows without a message.
            let _ = self.queue.try_send(Operation::Record);
        }
        Ok(())
    }

    /// The same, which waits while too many wait and never drops a row.
    ///
    /// # Errors
    /// When the state is closed.
    pub async fn record(&self, mut audit: AuditRow) -> Result<(), StateError> {
        while let Err(row) = self.note(audit) {
            audit = row;
            // What cannot be committed now waits on.
            if let Err(closed @ StateError::Closed) = self.flush().await {
                return Err(closed);
            }
            tokio::time::sleep(CROWDED).await;
        }
        Ok(())
    }

    /// Changes anything else, together with what else is being committed, or by itself where replicas share the database.
    /// `work` may be run more than once, each time on what is there without its earlier run; what it gives is durable
    /// when this returns.
    ///
    /// # Errors
    /// What `work` fails with, or the commit.
    pub async fn write<T, F>(&self, work: F) -> Result<T, StateError>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, StateError> + Send + 'static,
    {
        self.hand_over(work, false).await
    }

    /// Lets the back office make a change, in the name of `actor`. When this returns, every later request meets keys,
    /// plans and credits as they are now.
    ///
    /// # Errors
    /// What `work` fails with, or the commit.
    pub async fn admin<T, F>(&self, actor: &str, mut work: F) -> Result<T, StateError>
    where
        T: Send + 'static,
        F: FnMut(&mut AdminService<'_, '_>) -> Result<T, StateError> + Send + 'static,
    {
        let (pepper, actor) = (self.home.pepper().clone(), actor.to_owned());
        self.hand_over(move |tx| work(&mut AdminService::new(tx, &pepper, &actor)), true).await
    }

    async fn hand_over<T, F>(&self, work: F, changes_roster: bool) -> Result<T, StateError>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, StateError> + Send + 'static,
    {
        let (done, result) = oneshot::channel();
        let job = Box::new(Change { make: work, value: None, changes_roster, done });
        match &self.jobs {
            Some(jobs) if !changes_roster => jobs.send(job).await.map_err(|_| StateError::Closed)?,
            _ => self.hand(Operation::Job(job)).await?,
        }
        result.await.map_err(|_| StateError::Closed)?
    }

    /// Reads, on a connection beside the writer's. Blocks: for threads that may.
    ///
    /// # Errors
    /// What `work` fails with, or the database.
    pub fn read<T>(&self, work: impl FnOnce(&mut Tx<'_>) -> Result<T, StateError>) -> Result<T, StateError> {
        let mut place = self.readers.place();
        let db = match &mut place.db {
            Some(db) => db,
            none => none.insert(self.home.connect(Access::Read)?),
        };
        db.transaction(work)
    }

    /// The answer that is kept under an idempotency key of an account. Blocks: for threads that may.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn kept(&self, account: i64, key: &str) -> Result<Option<StoredAnswer>, StateError> {
        self.read(|tx| idempotency::find(tx, account, key))
    }

    /// Waits until all that was handed over is committed.
    ///
    /// # Errors
    /// When it cannot be committed now, or the state is closed.
    pub async fn flush(&self) -> Result<(), StateError> {
        let (done, result) = oneshot::channel();
        self.hand(Operation::Flush(done)).await?;
        let flushed = result.await.map_err(|_| StateError::Closed)?;
        if let Some(log) = &self.log {
            log.flush().await;
        }
        flushed
    }

    /// Writes what waits and ends the writer. Blocks until it is done.
    pub fn close(self) {
        // Readers first: the last connection brings the log of commits into the database, which a reader cannot.
        drop((self.queue, self.jobs, self.readers, self.log));
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a writer of the state panicked");
            }
        }
    }
}

/// Places for those who read at a time, each with a connection once it was used: a database has not as many connections
/// as there may be requests.
struct Readers {
    free: Mutex<Vec<Option<Db>>>,
    freed: Condvar,
}

/// A place among the readers.
struct Reading<'a> {
    readers: &'a Readers,
    db: Option<Db>,
}

impl Default for Readers {
    fn default() -> Self {
        Self { free: Mutex::new((0..READERS).map(|_| None).collect()), freed: Condvar::new() }
    }
}

impl Readers {
    /// Waits for a place.
    fn place(&self) -> Reading<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| free.is_empty()).unwrap_or_else(PoisonError::into_inner);
        Reading { readers: self, db: free.pop().flatten() }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        // What a reader that panicked left open ends with its connection.
        let db = self.db.take().filter(|_| !std::thread::panicking());
        // Taken last, given first: connections that few readers need stay few.
        self.readers.free.lock().unwrap_or_else(PoisonError::into_inner).push(db);
        self.readers.freed.notify_one();
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StateError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(|source| StateError::Io {
        action: "cannot start the writer of",
        path: "the state".into(),
        source,
    })
}

/// A job with the value that it gives.
struct Change<T, F> {
    make: F,
    value: Option<T>,
    changes_roster: bool,
    done: oneshot::Sender<Result<T, StateError>>,
}

impl<T, F> Job for Change<T, F>
where
    T: Send,
    F: FnMut(&mut Tx<'_>) -> Result<T, StateError> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        self.value = Some((self.make)(tx)?);
        Ok(())
    }

    fn changes_roster(&self) -> bool {
        self.changes_roster
    }

    fn finish(self: Box<Self>, committed: Result<(), StateError>) {
        let Self { value, done, .. } = *self;
        // Whoever waited may be gone.
        let _ = done.send(committed.and_then(|()| value.ok_or(StateError::Closed)));
    }
}

/// Listens for changes that other replicas make, until the state is closed, and shows them meanwhile that this run lives.
/// The writer finds changes that are made while the connection is down by polling.
fn listen(address: PostgresAddress, run_id: String, queue: mpsc::WeakSender<Operation>) {
    const AGAIN: Duration = Duration::from_secs(1);
    let notified = move || queue.upgrade().is_some_and(|queue| queue.blocking_send(Operation::Look).is_ok());
    let run = move || {
        while notified() {
            if let Err(error) = address.listen(&run_id, &notified) {
                tracing::debug!(error = crate::causes(&error), "no notifications come for now");
            }
            std::thread::sleep(AGAIN);
        }
    };
    if let Err(error) = std::thread::Builder::new().name("state-listener".to_owned()).spawn(run) {
        tracing::warn!(%error, "changes of other replicas are only looked for once a second");
    }
}

/// Unix milliseconds.
#[must_use]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
