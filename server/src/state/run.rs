//! A run of a server: which charged answers were not sent yet, so that after a kill it is known which may be lost.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldhash::quality::RandomState;

use super::db::{Db, Tx, Value, sum};
use super::{Office, Pepper, RequestId, StateError, sums};

/// How often a run without charges shows that it lives.
const BEAT: Duration = Duration::from_secs(10);
/// A run of a shared database that has not shown itself for so long is dead.
const DEAD_MS: i64 = 60_000;
/// How often the others look for such a run.
const LOOK: Duration = Duration::from_secs(10);

/// Charged answers on their way to their clients.
#[derive(Debug, Default)]
pub struct Unsent(Mutex<HashSet<RequestId, RandomState>>);

impl Unsent {
    /// An answer is about to be charged.
    pub(super) fn begin(&self, request_id: RequestId) {
        self.set().insert(request_id);
    }

    /// It was sent, or never charged.
    pub fn end(&self, request_id: &RequestId) {
        self.set().remove(request_id);
    }

    fn set(&self) -> MutexGuard<'_, HashSet<RequestId, RandomState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// This run.
#[derive(Debug)]
pub(super) struct Run {
    id: String,
    started_ms: i64,
    unsent: Arc<Unsent>,
    beaten: Instant,
    looked: Instant,
    /// What refunds are made with, where they are made without being asked for.
    refunds: Option<Pepper>,
}

/// What killed runs left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BootReport {
    /// Runs that ended without saying so.
    pub killed_runs: u64,
    /// Charges whose answers may never have arrived.
    pub lost_answers: u64,
}

impl Run {
    /// Begins a run, and notes what runs that were killed left behind.
    pub fn start(tx: &mut Tx<'_>, id: &str, unsent: Arc<Unsent>) -> Result<(Self, BootReport), StateError> {
        let report = note_killed(tx)?;
        let now = tx.clock_ms()?;
        tx.execute(
            "INSERT INTO server_run (id, started_at_ms, beat_at_ms, unsent) VALUES (?1, ?2, ?2, '')",
            &[id.into(), now.into()],
        )?;
        sums::renew(tx, &sums::RUNS, &[id.into()])?;
        let (beaten, looked) = (Instant::now(), Instant::now());
        Ok((Self { id: id.to_owned(), started_ms: now, unsent, beaten, looked, refunds: None }, report))
    }

    /// Lets what killed replicas charged for answers that may be lost be given back by itself.
    pub fn refund_lost(&mut self, pepper: Pepper) {
        self.refunds = Some(pepper);
    }

    /// Looks now and then for replicas that were killed while this one runs on.
    pub fn look_for_killed(&mut self, db: &mut Db) -> Result<(), StateError> {
        if !db.is_shared() || self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = Instant::now();
        let BootReport { killed_runs, lost_answers } = db.transaction(note_killed)?;
        if killed_runs == 0 {
            return Ok(());
        }
        if lost_answers > 0
            && let Some(pepper) = &self.refunds
        {
            db.transaction(|tx| Office::new(tx, pepper, "server").refund_lost())?;
        }
        tracing::warn!(
            killed_runs,
            lost_answers,
            "another server ended without saying so; `headwater credits lost` lists answers that were charged and may not \
             have arrived, and whether they were refunded"
        );
        Ok(())
    }

    /// Whether it is time to show that this run lives.
    pub fn is_due(&self) -> bool {
        self.beaten.elapsed() > BEAT
    }

    /// Notes which answers are under way, those of the open transaction among them.
    pub fn beat(&mut self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        self.beaten = Instant::now();
        let now = tx.clock_ms()?;
        // Copied first: to write them takes so long that requests would wait for it.
        let unsent = self.unsent.set().clone();
        let unsent = unsent.iter().map(RequestId::as_str).collect::<Vec<_>>().join(" ");
        let row = [(&self.id).into(), self.started_ms.into(), now.into(), Value::Null, (&unsent).into()];
        let [id, _, beat, _, unsent] = row;
        // Known here, so that a commit need not read it back.
        tx.execute(
            "UPDATE server_run SET beat_at_ms = ?2, unsent = ?3, sum = ?4 WHERE id = ?1",
            &[id, beat, unsent, sum(&row).into()],
        )?;
        Ok(())
    }

    /// Ends the run; nothing of it is lost.
    pub fn stop(&mut self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        let now = tx.clock_ms()?;
        tx.execute(
            "UPDATE server_run SET stopped_at_ms = ?2, unsent = '' WHERE id = ?1",
            &[(&self.id).into(), now.into()],
        )?;
        sums::renew(tx, &sums::RUNS, &[(&self.id).into()])
    }
}

/// Notes what runs that were killed left behind.
fn note_killed(tx: &mut Tx<'_>) -> Result<BootReport, StateError> {
    let now = tx.clock_ms()?;
    let mut report = BootReport::default();
    // An embedded database has one server at a time; of a shared one others may be alive.
    let alive_since = if tx.is_shared() { now - DEAD_MS } else { i64::MAX };
    let killed = tx.rows(
        "SELECT id, unsent FROM server_run WHERE stopped_at_ms IS NULL AND beat_at_ms < ?1 ORDER BY id /*skip locked*/",
        &[alive_since.into()],
    )?;
    for row in &killed {
        report.killed_runs += 1;
        for request_id in row.text(1)?.split_whitespace() {
            // Only what was charged can be lost.
            let lost = tx.execute(
                "INSERT INTO lost_answer (request_id, run_id, found_at_ms)
                 SELECT request_id, ?2, CAST(?3 AS BIGINT) FROM credit_ledger WHERE request_id = ?1 AND kind = 'charge'
                 ON CONFLICT DO NOTHING",
                &[request_id.into(), row.text(0)?.into(), now.into()],
            )?;
            if lost > 0 {
                sums::renew(tx, &sums::LOST, &[request_id.into()])?;
            }
            report.lost_answers += lost;
        }
        tx.execute("UPDATE server_run SET stopped_at_ms = ?2 WHERE id = ?1", &[row.text(0)?.into(), now.into()])?;
        sums::renew(tx, &sums::RUNS, &[row.text(0)?.into()])?;
    }
    Ok(report)
}
