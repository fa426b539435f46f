//! A run of a server: which charged answers were not sent yet, so that after a kill it is known which may be lost.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::StateError;
use super::db::Tx;

/// How often a run without charges shows that it lives.
const BEAT: Duration = Duration::from_secs(10);
/// A run of a shared database that has not shown itself for so long is dead.
const DEAD_MS: i64 = 60_000;

/// Charged answers on their way to their clients.
#[derive(Debug, Default)]
pub struct Unsent(Mutex<BTreeSet<String>>);

impl Unsent {
    /// An answer is about to be charged.
    pub(super) fn begin(&self, request_id: &str) {
        self.set().insert(request_id.to_owned());
    }

    /// It was sent, or never charged.
    pub fn end(&self, request_id: &str) {
        self.set().remove(request_id);
    }

    fn set(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// This run.
#[derive(Debug)]
pub(super) struct Run {
    id: String,
    unsent: Arc<Unsent>,
    beaten: Instant,
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
        let now = tx.clock_ms()?;
        let mut report = BootReport::default();
        // An embedded database has one server at a time; of a shared one others may be alive.
        let alive_since = if tx.is_shared() { now - DEAD_MS } else { i64::MAX };
        let killed = tx.rows(
            "SELECT id, unsent FROM server_run WHERE stopped_at_ms IS NULL AND beat_at_ms < ?1",
            &[alive_since.into()],
        )?;
        for row in &killed {
            report.killed_runs += 1;
            for request_id in row.text(1)?.split_whitespace() {
                // Only what was charged can be lost.
                report.lost_answers += tx.execute(
                    "INSERT INTO lost_answer (request_id, run_id, found_at_ms)
                     SELECT request_id, ?2, CAST(?3 AS BIGINT) FROM credit_ledger WHERE request_id = ?1 AND kind = 'charge'
                     ON CONFLICT DO NOTHING",
                    &[request_id.into(), row.text(0)?.into(), now.into()],
                )?;
            }
            tx.execute("UPDATE server_run SET stopped_at_ms = ?2 WHERE id = ?1", &[row.text(0)?.into(), now.into()])?;
        }
        tx.execute(
            "INSERT INTO server_run (id, started_at_ms, beat_at_ms, unsent) VALUES (?1, ?2, ?2, '')",
            &[id.into(), now.into()],
        )?;
        Ok((Self { id: id.to_owned(), unsent, beaten: Instant::now() }, report))
    }

    /// Whether it is time to show that this run lives.
    pub fn is_due(&self) -> bool {
        self.beaten.elapsed() > BEAT
    }

    /// Notes which answers are under way, those of the open transaction among them.
    pub fn beat(&mut self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        self.beaten = Instant::now();
        let now = tx.clock_ms()?;
        let unsent = self.unsent.set().iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        tx.execute(
            "UPDATE server_run SET beat_at_ms = ?2, unsent = ?3 WHERE id = ?1",
            &[(&self.id).into(), now.into(), (&unsent).into()],
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
        Ok(())
    }
}
