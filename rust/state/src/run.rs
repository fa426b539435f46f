//! A run of a server: which charged answers were not sent yet, so that after a kill it is known which may be lost.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldhash::quality::RandomState;

use super::db::{Db, Tx, Value, checksum};
use super::killed_runs::{BootReport, DEAD_MS, note_killed, note_lost};
use super::{AdminService, Pepper, RequestId, StateError, checksums};

/// The interval at which a run without charges shows that it lives.
const BEAT: Duration = Duration::from_secs(10);
/// The interval at which the others look for such a run.
const LOOK: Duration = Duration::from_secs(10);

/// Charged answers on their way to their clients.
#[derive(Debug, Default)]
pub struct UnsentAnswers(Mutex<HashSet<RequestId, RandomState>>);

impl UnsentAnswers {
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
    /// The last beat, one that was not committed among them: later by a millisecond at least than the one before.
    beat_ms: i64,
    unsent: Arc<UnsentAnswers>,
    beaten: Instant,
    looked: Instant,
    /// The pepper that refunds are made with, where they are made without being asked for.
    refunds: Option<Pepper>,
}

impl Run {
    /// Begins a run, and notes what runs that were killed left behind: where it is `alone`, all that did not say that they
    /// ended.
    pub fn start(
        tx: &mut Tx<'_>,
        id: &str,
        unsent: Arc<UnsentAnswers>,
        alone: bool,
    ) -> Result<(Self, BootReport), StateError> {
        let now = tx.clock_ms()?;
        let report = match (tx.is_shared(), alone) {
            (true, _) => note_killed(tx, id, now - DEAD_MS)?,
            (false, true) => note_killed(tx, id, i64::MAX)?,
            // The clocks of the others do not show which of them lives: the next one that is alone decides.
            (false, false) => BootReport::default(),
        };
        tx.execute(
            "INSERT INTO server_run (id, started_at_ms, beat_at_ms, unsent) VALUES (?1, ?2, ?2, '')",
            &[id.into(), now.into()],
        )?;
        checksums::renew(tx, &checksums::RUNS, &[id.into()])?;
        let (beaten, looked) = (Instant::now(), Instant::now());
        Ok((Self { id: id.to_owned(), started_ms: now, beat_ms: now, unsent, beaten, looked, refunds: None }, report))
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
        let BootReport { killed_runs, lost_answers } = db.transaction(|tx| {
            let now = tx.clock_ms()?;
            note_killed(tx, &self.id, now - DEAD_MS)
        })?;
        if killed_runs > 0 {
            tracing::warn!(
                killed_runs,
                lost_answers,
                "another server ended without saying so; `headwater credits lost` lists answers that were charged and may \
                 not have arrived, and whether they were refunded"
            );
        }
        // What a server noted that died before it gave it back is given back as well.
        if let Some(pepper) = &self.refunds {
            db.transaction(|tx| AdminService::new(tx, pepper, "server").refund_noted())?;
        }
        Ok(())
    }

    /// Returns whether it is time to show that this run lives.
    pub fn is_due(&self) -> bool {
        self.beaten.elapsed() > BEAT
    }

    /// Notes which answers are under way, those of the open transaction among them.
    pub fn beat(&mut self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        self.beaten = Instant::now();
        self.beat_ms = tx.clock_ms()?.max(self.beat_ms + 1);
        // Copied first: to write them takes so long that requests would wait for it.
        let unsent = self.unsent.set().clone();
        let unsent = unsent.iter().map(RequestId::as_str).collect::<Vec<_>>().join(" ");
        let row = [(&self.id).into(), self.started_ms.into(), self.beat_ms.into(), Value::Null, (&unsent).into()];
        let [id, _, beat, _, unsent] = row;
        // Known here, so that a commit need not read it back.
        tx.execute(
            "UPDATE server_run SET beat_at_ms = ?2, stopped_at_ms = NULL, unsent = ?3, checksum = ?4 WHERE id = ?1",
            &[id, beat, unsent, checksum(&row).into()],
        )?;
        Ok(())
    }

    /// Returns whether the last beat is there, once whoever may still be committing it is done.
    pub fn has_beaten(&self, tx: &mut Tx<'_>) -> Result<bool, StateError> {
        let row = tx.row("SELECT beat_at_ms FROM server_run WHERE id = ?1 /*lock*/", &[(&self.id).into()])?;
        Ok(row.map(|row| row.int(0)).transpose()? == Some(self.beat_ms))
    }

    /// Ends the run. What was charged and never sent is noted as lost.
    pub fn stop(&mut self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        let now = tx.clock_ms()?;
        let unsent = self.unsent.set().clone();
        note_lost(tx, &self.id, unsent.iter().map(RequestId::as_str), now)?;
        tx.execute(
            "UPDATE server_run SET stopped_at_ms = ?2, unsent = '' WHERE id = ?1",
            &[(&self.id).into(), now.into()],
        )?;
        checksums::renew(tx, &checksums::RUNS, &[(&self.id).into()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Entry, Kind, book};
    use crate::{Access, Environment, Home, Options, State};

    /// A state on which a server was killed that had charged for `sent` and `unsent`, and was about to charge for `other`.
    fn killed(home: &Home) -> String {
        let made = home.admin("t", |admin| admin.create_key("t", Environment::Live, 50, None)).unwrap();
        let mut db = home.connect(Access::Write).unwrap();
        db.transaction(|tx| {
            for request_id in ["sent", "unsent"] {
                let (kind, endpoint) = (Kind::Charge, Some("/v1/transactions"));
                book(
                    tx,
                    Entry { request_id, account: 1, kind, amount: -5, key_id: Some(&made.id), endpoint, ts_ms: 1 },
                )?;
            }
            let unsent = Arc::new(UnsentAnswers::default());
            for id in ["unsent", "other"] {
                unsent.begin(RequestId::from(id).unwrap());
            }
            let (mut run, _) = Run::start(tx, "killed", unsent, true)?;
            run.beat(tx)
        })
        .unwrap();
        made.id
    }

    #[test]
    fn losses_of_a_killed_server_are_known_before_the_next_start() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        State::start(&home, Options::default(), Box::new(|| ())).unwrap().close();
        let key = killed(&home);
        let lost = || home.consult(|admin| Ok((admin.lost_answers(9)?, admin.open_losses()?))).unwrap();
        let (listed, open) = lost();
        let shown: Vec<_> = listed.iter().map(|one| (one.request_id.as_str(), one.credits)).collect();
        assert_eq!((shown, open), (vec![("unsent", 5)], 1));
        assert_eq!((listed[0].key_id.as_deref(), listed[0].refunded_at_ms), (Some(key.as_str()), None));
        // The next server notes them, and they are listed once.
        let state = State::start(&home, Options::default(), Box::new(|| ())).unwrap();
        assert_eq!(state.boot_report(), BootReport { killed_runs: 1, lost_answers: 1 });
        assert_eq!(lost().0, listed);
        state.close();
        assert_eq!(lost(), (listed, 1));
    }

    #[test]
    fn losses_are_refunded_before_the_next_start_and_once() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        State::start(&home, Options::default(), Box::new(|| ())).unwrap().close();
        let key = killed(&home);
        #[expect(clippy::redundant_closure_for_method_calls, reason = "`AdminService` has two lifetimes")]
        let refund = || home.admin("t", |admin| admin.refund_lost()).unwrap();
        assert_eq!((refund(), refund()), (1, 0));
        let (listed, open) = home.consult(|admin| Ok((admin.lost_answers(9)?, admin.open_losses()?))).unwrap();
        assert!(listed.len() == 1 && listed[0].refunded_at_ms.is_some() && open == 0, "{listed:?}");
        let state = State::start(&home, Options::default(), Box::new(|| ())).unwrap();
        assert_eq!(state.boot_report(), BootReport::default(), "it was noted already");
        state.close();
        // 50 less the 10 that were charged, and 5 given back.
        assert_eq!(home.consult(|admin| admin.key(&key)).unwrap().credits, 45);
        home.check().unwrap();
    }

    #[test]
    fn answers_under_way_of_a_running_server_are_not_lost() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let running = State::start(&home, Options::default(), Box::new(|| ())).unwrap();
        killed(&home);
        let lost = || home.consult(|admin| Ok((admin.lost_answers(9)?.len(), admin.open_losses()?))).unwrap();
        assert_eq!(lost(), (0, 0), "a server runs, and which run is its own nobody says");
        running.close();
        assert_eq!(lost(), (1, 1));
    }
}
