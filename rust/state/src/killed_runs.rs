//! Runs of servers that were killed, and the charges whose answers may never have arrived.

use super::db::{Row, Tx};
use super::{StateError, checksums};

/// A run of a shared database that has not shown itself for so long is dead.
pub(super) const DEAD_MS: i64 = 60_000;
/// A run of a shared database whose connection is gone is dead when it has not shown itself for so long: one that lives has
/// another connection within this time, and shows itself meanwhile when it charges.
const DISCONNECTED_MS: i64 = 2_000;

/// The remains of killed runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BootReport {
    /// Runs that ended without saying so.
    pub killed_runs: u64,
    /// Charges whose answers may never have arrived.
    pub lost_answers: u64,
}

/// Notes which of some answers were charged, since only those can be lost; gives how many.
pub(super) fn note_lost<'a>(
    tx: &mut Tx<'_>,
    run_id: &str,
    unsent: impl Iterator<Item = &'a str>,
    now_ms: i64,
) -> Result<u64, StateError> {
    let mut lost = 0;
    for request_id in unsent {
        let noted = tx.execute(
            "INSERT INTO lost_answer (request_id, run_id, found_at_ms)
             SELECT request_id, ?2, CAST(?3 AS BIGINT) FROM credit_ledger WHERE request_id = ?1 AND kind = 'charge'
             ON CONFLICT DO NOTHING",
            &[request_id.into(), run_id.into(), now_ms.into()],
        )?;
        if noted > 0 {
            checksums::renew(tx, &checksums::LOST, &[request_id.into()])?;
        }
        lost += noted;
    }
    Ok(lost)
}

/// Notes what other runs left behind that have not shown themselves since then and did not say that they ended.
pub(super) fn note_killed(tx: &mut Tx<'_>, own: &str, alive_since: i64) -> Result<BootReport, StateError> {
    let killed = tx.rows(
        "SELECT id, unsent FROM server_run WHERE stopped_at_ms IS NULL AND beat_at_ms < ?1 AND id <> ?2
         ORDER BY id /*skip locked*/",
        &[alive_since.into(), own.into()],
    )?;
    note_all(tx, &killed)
}

/// Runs that did not say that they ended and do not run any more, each with what it had not sent at its last commit.
/// `alone` is true where no server runs on the folder of the state. Where one does, those that ended without saying so were
/// noted when it started.
fn killed_runs(tx: &mut Tx<'_>, alone: bool) -> Result<Vec<Row>, StateError> {
    if !tx.is_shared() {
        let all = "SELECT id, unsent FROM server_run WHERE stopped_at_ms IS NULL ORDER BY id";
        return if alone { tx.rows(all, &[]) } else { Ok(Vec::new()) };
    }
    let now = tx.clock_ms()?;
    // Each server has the lock of its run for as long as it is connected.
    tx.rows(
        "SELECT id, unsent FROM server_run WHERE stopped_at_ms IS NULL AND (beat_at_ms < ?1 OR (beat_at_ms < ?2 AND
             pg_try_advisory_xact_lock_shared(hashtextextended('headwater run ' || id, 0))))
         ORDER BY id",
        &[(now - DEAD_MS).into(), (now - DISCONNECTED_MS).into()],
    )
}

/// Requests that killed runs had charged or were about to charge, and had not sent at their last commit.
pub(super) fn killed_unsent(tx: &mut Tx<'_>, alone: bool) -> Result<Vec<String>, StateError> {
    let mut unsent = Vec::new();
    for row in killed_runs(tx, alone)? {
        unsent.extend(row.text(1)?.split_whitespace().map(str::to_owned));
    }
    Ok(unsent)
}

/// Notes what killed runs left behind, as [`killed_unsent`] finds them.
pub(super) fn note_all_killed(tx: &mut Tx<'_>, alone: bool) -> Result<BootReport, StateError> {
    let killed = killed_runs(tx, alone)?;
    note_all(tx, &killed)
}

/// Notes what these runs left behind, and that they ended.
fn note_all(tx: &mut Tx<'_>, killed: &[Row]) -> Result<BootReport, StateError> {
    let now = tx.clock_ms()?;
    let mut report = BootReport::default();
    for row in killed {
        report.killed_runs += 1;
        report.lost_answers += note_lost(tx, row.text(0)?, row.text(1)?.split_whitespace(), now)?;
        tx.execute("UPDATE server_run SET stopped_at_ms = ?2 WHERE id = ?1", &[row.text(0)?.into(), now.into()])?;
        checksums::renew(tx, &checksums::RUNS, &[row.text(0)?.into()])?;
    }
    Ok(report)
}
