//! The one thread that writes: it takes all that waits, commits it in one transaction, and wakes who waited.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use prometheus_client::metrics::histogram::Histogram;
use tokio::runtime::{self, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::time::error::Elapsed;

use super::account_cache::AccountCache;
use super::audit::{self, Page};
use super::db::{Db, TransactionFailure, Tx, Value, is_held_up};
use super::health::{Health, HealthFlag, Watch};
use super::lease::{self, Leases};
use super::ledger::{BookingResult, Charge, write_charges};
use super::rows::Rows;
use super::run::Run;
use super::sums::{RequestSums, WaitingSums};
use super::{StateError, retention};
use crate::recurring::ErrorThrottle;

/// Most operations in one commit.
const BATCH: usize = 4096;
/// The time for which rows that nobody waits for are gathered before they are committed, unless something else is.
const LINGER: Duration = Duration::from_millis(25);
/// The time that the writer waits for more charges at a time, and in all.
const WAIT_STEP: Duration = Duration::from_micros(50);
const MAX_WAIT: Duration = Duration::from_micros(500);
/// The interval at which changes of other processes are looked for.
const POLL: Duration = Duration::from_millis(50);
/// The same where replicas share the database, and a notification usually comes first.
const SHARED_POLL: Duration = Duration::from_millis(250);
/// The interval at which sums of requests are written.
const SUM: Duration = Duration::from_secs(1);
/// Rows of the audit that could not be written and are kept; beyond them no more are taken, which holds requests back.
const UNWRITTEN: usize = 4 * BATCH;

/// Something to be written.
#[expect(clippy::large_enum_variant, reason = "nearly all that comes under load are charges")]
pub(super) enum Operation {
    /// Ledger entry, balance and audit row of an answer, in one commit.
    Charge(Charge),
    /// There are rows of requests that cost nothing, where there were none.
    Record,
    /// Any other change.
    Job(Box<dyn Job>),
    /// Credits to spend, where replicas share the balance.
    Lend(Lend),
    /// Keys, plans or credits may have been changed by another process.
    Look,
    /// Answered when all before it is committed, or cannot be.
    Flush(oneshot::Sender<Result<(), StateError>>),
}

/// Credits that somebody waits for.
pub(super) struct Lend {
    pub account: i64,
    pub need: i64,
    pub done: oneshot::Sender<Result<bool, StateError>>,
}

/// A change of any kind, which may have to be tried again when its neighbours in a commit spoil it.
pub(super) trait Job: Send {
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StateError>;
    /// Returns whether keys, plans or credits are to be read anew before waiting callers get their answer.
    fn changes_roster(&self) -> bool;
    fn finish(self: Box<Self>, committed: Result<(), StateError>);
}

pub(super) struct Writer {
    pub commits: Histogram,
    pub db: Db,
    pub accounts: Arc<AccountCache>,
    pub health: Arc<HealthFlag>,
    pub watch: Watch,
    pub queue: mpsc::Receiver<Operation>,
    pub rows: Arc<Rows>,
    pub sums: Arc<WaitingSums>,
    /// Sums whose commit failed.
    pub unwritten_sums: RequestSums,
    /// The time at which they were written last.
    pub summed: Instant,
    pub seen_version: i64,
    /// Pages of the audit whose commit failed.
    pub unwritten: Vec<Page>,
    pub leases: Leases,
    pub run: Run,
    pub retention: retention::Retention,
    /// Operations of the last batch.
    pub last: usize,
    pub errors: Errors,
}

/// The errors that the writer meets.
#[derive(Debug, Default)]
pub(super) struct Errors {
    commits: ErrorThrottle,
    looks: ErrorThrottle,
    upkeep: ErrorThrottle,
}

/// The results of the batch of a commit.
struct CommitResult {
    charges: Vec<BookingResult>,
    jobs: Vec<Result<(), StateError>>,
}

/// The charges, jobs, pages of the audit and sums of one commit.
type Work<'w> = (&'w [Charge], &'w mut [Box<dyn Job>], &'w [Page], &'w RequestSums);

impl Writer {
    /// Runs until every sender is gone and the queue is empty.
    pub fn run(mut self) {
        let runtime = runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime with nothing but a clock needs nothing from the system");
        let poll = if self.db.is_shared() { SHARED_POLL } else { POLL };
        let mut polled = Instant::now();
        loop {
            let wait = poll.saturating_sub(polled.elapsed());
            match self.next(&runtime, wait) {
                Ok(Some(first)) => {
                    let batch = self.gather(first, &runtime);
                    self.write(batch);
                }
                Ok(None) => break,
                Err(_) if self.unwritten.is_empty() && self.rows.len() == 0 => {}
                Err(_) => self.write(Vec::new()),
            }
            if polled.elapsed() >= poll {
                if self.summed.elapsed() >= SUM {
                    // What failed is logged, and stays for the next time.
                    let _ = self.write_sums();
                    self.try_again();
                }
                self.look_for_changes();
                self.keep_house();
                if self.db.is_unknown() && self.health.get() != Health::Latched {
                    self.watch.latch();
                }
                polled = Instant::now();
            }
        }
        self.write(Vec::new());
        let _ = self.write_sums();
        while self.unwritten.is_empty() && self.rows.len() > 0 {
            self.write(Vec::new());
        }
        if !self.unwritten.is_empty() {
            let rows = self.unwritten_rows() + self.rows.len();
            tracing::error!(rows, "audit rows could not be written before the end");
        }
        let Self { db, leases, run, accounts, .. } = &mut self;
        let ended = db.transaction(|tx| {
            leases.give_back_all(tx, accounts)?;
            run.stop(tx)
        });
        if let Err(error) = ended {
            tracing::error!(error = crate::causes(&error), "the end of this run could not be noted");
        }
    }

    fn unwritten_rows(&self) -> usize {
        self.unwritten.iter().map(Page::len).sum()
    }

    fn next(&mut self, runtime: &Runtime, wait: Duration) -> Result<Option<Operation>, Elapsed> {
        runtime.block_on(async { tokio::time::timeout(wait, self.queue.recv()).await })
    }

    fn gather(&mut self, first: Operation, runtime: &Runtime) -> Vec<Operation> {
        let mut batch = vec![first];
        self.take_waiting(&mut batch);
        if batch.iter().all(|operation| matches!(operation, Operation::Record))
            && let Ok(Some(next)) = self.next(runtime, LINGER)
        {
            batch.push(next);
            self.take_waiting(&mut batch);
        }
        self.wait_for_more(&mut batch);
        batch
    }

    /// Waits briefly where far fewer operations came than for the commit before: clients that were answered after it call
    /// again, and would otherwise wait behind a commit of the first few of them.
    fn wait_for_more(&mut self, batch: &mut Vec<Operation>) {
        let begun = Instant::now();
        while batch.len() < self.last / 2 && begun.elapsed() < MAX_WAIT {
            let before = batch.len();
            thread::sleep(WAIT_STEP);
            self.take_waiting(batch);
            if batch.len() == before {
                break;
            }
        }
        self.last = batch.len();
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
        let (mut charges, mut jobs, mut lends, mut flushes, mut look) = (vec![], vec![], vec![], vec![], false);
        for operation in batch {
            match operation {
                Operation::Charge(charge) => charges.push(charge),
                // They are taken with every batch.
                Operation::Record => {}
                Operation::Job(job) => jobs.push(job),
                Operation::Lend(lend) => lends.push(lend),
                Operation::Look => look = true,
                Operation::Flush(done) => flushes.push(done),
            }
        }
        self.lend_all(lends);
        if self.db.is_shared() {
            // They lock accounts in another order than charges do, and so replicas would wait for one another in a circle.
            self.write_jobs(std::mem::take(&mut jobs));
        }
        let rows = if self.unwritten_rows() <= UNWRITTEN { self.rows.take() } else { None };
        let mut pages = std::mem::take(&mut self.unwritten);
        pages.extend(rows);
        match self.commit(&charges, &mut jobs, &pages) {
            Ok(committed) => {
                // On the runtime: to wake each caller from this thread would take longer than the commit.
                let runtime = charges.first().and_then(|charge| charge.runtime.clone());
                let outcomes = charges.into_iter().zip(committed.charges);
                let balances: Vec<_> = outcomes.filter_map(|(charge, outcome)| charge.finish(outcome)).collect();
                let answer = move || {
                    for (done, balance) in balances {
                        // Whoever waited may be gone; what is committed stays.
                        let _ = done.send(Ok(balance));
                    }
                };
                match runtime {
                    Some(runtime) => drop(runtime.spawn(async move { answer() })),
                    None => answer(),
                }
                self.finish_jobs(jobs, committed.jobs);
            }
            Err(undone) => {
                self.unwritten = pages;
                self.write_one_by_one(charges, jobs, &undone);
            }
        }
        if look {
            self.look_for_changes();
        }
        if !flushes.is_empty() {
            self.flush(flushes);
        }
    }

    fn flush(&mut self, flushes: Vec<oneshot::Sender<Result<(), StateError>>>) {
        let unwritten = std::mem::take(&mut self.unwritten);
        let flushed = self.write_pages(unwritten).and_then(|()| {
            // There may have been too many to be taken.
            let rows = self.rows.take();
            self.write_pages(rows.into_iter().collect())
        });
        let flushed = flushed.and_then(|()| self.write_sums());
        for done in flushes {
            let _ = done.send(flushed.as_ref().copied().map_err(error_of));
        }
    }

    /// Writes the sums of requests in a commit of their own, which keeps no charge waiting for those of other replicas.
    fn write_sums(&mut self) -> Result<(), TransactionFailure> {
        self.summed = Instant::now();
        let mut sums = std::mem::take(&mut self.unwritten_sums);
        sums.append(self.sums.take());
        let written = self.commit_all((&[], &mut [], &[]), &sums);
        if written.is_err() {
            self.unwritten_sums = sums;
        }
        written.map(|_| ())
    }

    /// Writes a few pages and takes them back, while commits fail: a server that gets no calls because it is not ready
    /// would otherwise never become ready again.
    fn try_again(&mut self) {
        const BYTES: [u8; 16 << 10] = [0; 16 << 10];
        if self.health.get() != Health::Failing {
            return;
        }
        let tried = self.db.transaction(|tx| {
            tx.execute("INSERT INTO setting (name, value) VALUES ('trial', ?1)", &[Value::Blob(&BYTES)])?;
            tx.execute("DELETE FROM setting WHERE name = 'trial'", &[])
        });
        if tried.is_ok() {
            self.health.set(Health::Good);
        }
    }

    fn write_pages(&mut self, pages: Vec<Page>) -> Result<(), TransactionFailure> {
        let written = self.commit(&[], &mut [], &pages);
        if written.is_err() {
            self.unwritten = pages;
        }
        written.map(|_| ())
    }

    fn write_one_by_one(&mut self, charges: Vec<Charge>, jobs: Vec<Box<dyn Job>>, undone: &TransactionFailure) {
        if is_held_up(undone.error()) {
            // It took long, and whoever has another account is not to be refused for it.
            self.look_for_changes();
        }
        let again = matches!(undone, TransactionFailure::Certain(_)) && charges.len() + jobs.len() > 1;
        if !again {
            for charge in charges {
                charge.fail(error_of(undone));
            }
            for job in jobs {
                job.finish(Err(error_of(undone)));
            }
            return;
        }
        let mut held_up: HashMap<i64, TransactionFailure> = HashMap::new();
        for charge in charges {
            let account = charge.hold.account().id();
            if let Some(undone) = held_up.get(&account) {
                charge.fail(error_of(undone));
                continue;
            }
            match self.commit(std::slice::from_ref(&charge), &mut [], &[]) {
                Ok(committed) => {
                    if let Some((done, balance)) = charge.finish(committed.charges[0]) {
                        let _ = done.send(Ok(balance));
                    }
                }
                Err(undone) => {
                    charge.fail(error_of(&undone));
                    if is_held_up(undone.error()) {
                        held_up.insert(account, undone);
                        self.look_for_changes();
                    }
                }
            }
        }
        self.write_jobs(jobs);
    }

    /// Each in a commit of its own.
    fn write_jobs(&mut self, jobs: Vec<Box<dyn Job>>) {
        for job in jobs {
            let mut one = vec![job];
            match self.commit(&[], &mut one, &[]) {
                Ok(committed) => self.finish_jobs(one, committed.jobs),
                Err(undone) => one.into_iter().for_each(|job| job.finish(Err(error_of(&undone)))),
            }
        }
    }

    fn finish_jobs(&mut self, jobs: Vec<Box<dyn Job>>, results: Vec<Result<(), StateError>>) {
        if jobs.iter().zip(&results).any(|(job, result)| job.changes_roster() && result.is_ok()) {
            // Whoever learns that a key is revoked must find it refused.
            let _ = self.load() || self.load();
        }
        for (job, result) in jobs.into_iter().zip(results) {
            job.finish(result);
        }
    }

    fn commit(
        &mut self,
        charges: &[Charge],
        jobs: &mut [Box<dyn Job>],
        pages: &[Page],
    ) -> Result<CommitResult, TransactionFailure> {
        self.commit_all((charges, jobs, pages), &RequestSums::default())
    }

    /// Commits and returns the health of it.
    fn commit_all(
        &mut self,
        (charges, jobs, pages): (&[Charge], &mut [Box<dyn Job>], &[Page]),
        sums: &RequestSums,
    ) -> Result<CommitResult, TransactionFailure> {
        if self.health.get() == Health::Latched {
            return Err(TransactionFailure::Unknown(StateError::Latched));
        }
        if charges.is_empty() && jobs.is_empty() && pages.is_empty() && sums.is_empty() {
            return Ok(CommitResult { charges: Vec::new(), jobs: Vec::new() });
        }
        let begun = Instant::now();
        let (mut made, mut spent) = (None, lease::SettledLoans::default());
        let committed = self.attempt((charges, jobs, pages, sums), &mut made, &mut spent);
        self.commits.observe(begun.elapsed().as_secs_f64());
        match committed {
            Ok(()) => {
                self.leases.settled(&spent);
                self.leases.forget_lost(&spent, &self.accounts);
                // Sums may find room where charges find none.
                if sums.is_empty() {
                    self.health.set(Health::Good);
                }
            }
            Err(TransactionFailure::Unknown(error)) => {
                tracing::error!(error = crate::causes(&error), "a commit of the state ended in an unknown state");
                // A server across a network can be asked what became of it; a failed sync of a file cannot.
                if !self.db.is_shared() {
                    self.watch.latch();
                    return Err(TransactionFailure::Unknown(error));
                }
                self.health.set(Health::Failing);
                self.find_out()?;
            }
            Err(undone) => {
                self.leases.forget_lost(&spent, &self.accounts);
                self.health.set(Health::Failing);
                self.errors.commits.met("a commit of the state was undone", undone.error());
                return Err(undone);
            }
        }
        Ok(made.expect("a commit is tried when all of it is made"))
    }

    /// Makes all of a batch in `made` and commits it.
    fn attempt(
        &mut self,
        (charges, jobs, pages, sums): Work<'_>,
        made: &mut Option<CommitResult>,
        spent: &mut lease::SettledLoans,
    ) -> Result<(), TransactionFailure> {
        let Self { db, leases, run, .. } = self;
        db.attempt(|tx| {
            let (charged, page) = write_charges(tx, charges, leases, spent)?;
            let mut results = Vec::with_capacity(jobs.len());
            for job in jobs {
                results.push(tx.savepoint(|tx| job.run(tx)));
                tx.still_open()?;
            }
            audit::write(tx, page.iter().chain(pages))?;
            sums.write(tx)?;
            // By its beat a shared database is asked for the batch, should the answer to its commit be lost.
            if !charges.is_empty() || tx.is_shared() {
                run.beat(tx)?;
            }
            *made = Some(CommitResult { charges: charged, jobs: results });
            Ok(())
        })
    }

    /// After a commit whose answer never came: whether it is there.
    fn find_out(&mut self) -> Result<(), TransactionFailure> {
        const TRIES: u32 = 20;
        let Self { db, leases, accounts, run, .. } = self;
        leases.forget(accounts);
        for _ in 0..TRIES {
            match db.transaction(|tx| run.has_beaten(tx)) {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    return Err(TransactionFailure::Certain(StateError::NotCommitted(
                        "the connection broke".to_owned(),
                    )));
                }
                Err(_) => thread::sleep(Duration::from_millis(250)),
            }
        }
        Err(TransactionFailure::Unknown(StateError::NotCommitted("the database cannot be reached".to_owned())))
    }

    fn lend_all(&mut self, lends: Vec<Lend>) {
        let mut held_up = HashSet::new();
        for Lend { account, need, done } in lends {
            let lent = if held_up.contains(&account) {
                Err(StateError::NotCommitted("another server held the account for too long".to_owned()))
            } else {
                self.lend(account, need)
            };
            if lent.as_ref().is_err_and(is_held_up) {
                held_up.insert(account);
                self.look_for_changes();
            }
            let _ = done.send(lent);
        }
    }

    fn lend(&mut self, account: i64, need: i64) -> Result<bool, StateError> {
        let Self { db, leases, accounts, .. } = self;
        if !db.is_shared() {
            return Ok(false);
        }
        let account = accounts.account(account);
        // Another waiter may have been lent enough for both.
        if account.spare() >= need {
            return Ok(true);
        }
        let missing = need - account.spare();
        if leases.is_empty(account.id(), missing) {
            return Ok(false);
        }
        let mut spent = lease::SettledLoans::default();
        let mut lent = db.transaction(|tx| leases.lend(tx, &account, need, &mut spent));
        if leases.forget_lost(&spent, accounts) {
            lent = db.transaction(|tx| leases.lend(tx, &account, need, &mut spent));
        }
        match lent? {
            Some(lent) => leases.lent(&account, lent),
            // Somebody gave back what was held meanwhile.
            None if account.spare() >= need => {}
            None => {
                leases.found_empty(account.id(), missing);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Keys and credits may have been changed by a command in another process.
    fn look_for_changes(&mut self) {
        let asked_ms = crate::clock::milliseconds();
        let version = match self.db.data_version() {
            Ok(Some(version)) => Ok(version),
            Ok(None) => self.db.transaction(|tx| {
                let row = tx.row("SELECT version FROM roster_version WHERE only_row = 1", &[])?;
                row.map_or(Ok(0), |row| row.int(0))
            }),
            Err(error) => Err(error),
        };
        match version {
            Ok(version) if version == self.seen_version => self.accounts.seen(asked_ms),
            Ok(version) => {
                if self.load() {
                    self.seen_version = version;
                }
            }
            Err(error) => {
                self.errors.looks.met("changes of the state cannot be looked for", &error);
            }
        }
    }

    fn load(&mut self) -> bool {
        let Self { db, accounts, .. } = self;
        let loaded = db.transaction(|tx| accounts.load(tx));
        if let Err(error) = &loaded {
            self.errors.looks.met("keys and credits could not be read anew", error);
            // The next look tries again, whatever it finds.
            self.seen_version = i64::MIN;
        }
        self.leases.forget_empty();
        loaded.is_ok()
    }

    /// Does what is due from time to time: leases, the beat of this run, rows that are kept long enough.
    fn keep_house(&mut self) {
        if self.health.get() == Health::Latched {
            return;
        }
        let Self { db, accounts, leases, run, retention, .. } = self;
        let kept = (|| {
            if db.is_shared() {
                leases.renew(db, accounts)?;
                leases.look(db, accounts)?;
            }
            if run.is_due() {
                db.transaction(|tx| run.beat(tx))?;
            }
            run.look_for_killed(db)?;
            retention.run(db)
        })();
        if let Err(error) = kept {
            self.errors.upkeep.met("the state could not be tidied", &error);
        }
    }
}

fn error_of(undone: &TransactionFailure) -> StateError {
    match undone {
        TransactionFailure::NotBegun(error) | TransactionFailure::Certain(error) => {
            StateError::NotCommitted(crate::causes(error))
        }
        TransactionFailure::Unknown(_) => StateError::Latched,
    }
}
