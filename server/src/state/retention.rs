//! What is deleted once it was kept long enough, a little at a time.

use std::time::{Duration, Instant};

use super::audit::DAY_MS;
use super::db::Db;
use super::{StateError, idempotency, now_ms};

/// How often something is deleted.
const EVERY: Duration = Duration::from_secs(30);
/// Most rows of a table that are deleted at a time, so that no request waits long for it.
const ROWS: i64 = 5_000;

/// How long rows are kept.
#[derive(Debug)]
pub(super) struct Retention {
    audit_days: Option<u32>,
    last: Option<Instant>,
}

impl Retention {
    /// Audit rows are kept for so many days; for ever when not given. The credit ledger is never deleted from.
    pub const fn new(audit_days: Option<u32>) -> Self {
        Self { audit_days, last: None }
    }

    /// Deletes what is due.
    pub fn run(&mut self, db: &mut Db) -> Result<(), StateError> {
        if self.last.is_some_and(|last| last.elapsed() < EVERY) {
            return Ok(());
        }
        self.last = Some(Instant::now());
        let now = now_ms();
        let deleted = db.transaction(|tx| {
            let mut deleted = tx.execute(
                "DELETE FROM idempotency WHERE (account_id, key) IN
                 (SELECT account_id, key FROM idempotency WHERE created_at_ms < ?1 LIMIT ?2)",
                &[(now - idempotency::KEPT_MS).into(), ROWS.into()],
            )?;
            if let Some(days) = self.audit_days {
                // Ids grow with time, so the oldest pages stand first.
                deleted = deleted.max(tx.execute(
                    "DELETE FROM audit_page WHERE last_id IN
                     (SELECT last_id FROM (SELECT last_id, last_ms FROM audit_page ORDER BY last_id LIMIT ?2) AS oldest
                      WHERE last_ms < ?1)",
                    &[(now - i64::from(days) * DAY_MS).into(), ROWS.into()],
                )?);
            }
            tx.execute("DELETE FROM server_run WHERE stopped_at_ms < ?1", &[(now - 30 * DAY_MS).into()])?;
            Ok(deleted)
        })?;
        if deleted >= ROWS.unsigned_abs() {
            // There is more: it goes on at the next look, so that it keeps pace with what is written.
            self.last = None;
        }
        Ok(())
    }
}
