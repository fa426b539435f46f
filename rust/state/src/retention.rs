//! Deletion of rows that were kept long enough, a little at a time.

use std::time::{Duration, Instant};

use super::audit::DAY_MS;
use super::db::Db;
use super::{StateError, idempotency, now_ms, sums};

/// The interval between deletions.
const EVERY: Duration = Duration::from_secs(30);
/// Most rows of a table that are deleted at a time, so that no request waits long for it: a page of the audit or an answer
/// may have 100 kB and more.
const ROWS: i64 = 100;
/// The maximum time of one run.
const LONGEST: Duration = Duration::from_millis(20);

/// The time that rows are kept.
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
        let begun = Instant::now();
        self.last = Some(begun);
        while self.delete(db)? >= ROWS.unsigned_abs() {
            if begun.elapsed() > LONGEST {
                // There is more: it continues at the next look, so that it keeps pace with what is written.
                self.last = None;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Deletes a little; gives how many rows at most of a table.
    fn delete(&self, db: &mut Db) -> Result<u64, StateError> {
        let now = now_ms();
        db.transaction(|tx| {
            let mut deleted = tx.execute(
                "DELETE FROM idempotency WHERE (account_id, key) IN
                 (SELECT account_id, key FROM idempotency WHERE created_at_ms < ?1 LIMIT ?2)",
                &[(now - idempotency::KEPT_MS).into(), ROWS.into()],
            )?;
            if let Some(days) = self.audit_days {
                // Ids grow with time, so the oldest pages are first.
                deleted = deleted.max(tx.execute(
                    "DELETE FROM audit_page WHERE last_id IN
                     (SELECT last_id FROM (SELECT last_id, last_ms FROM audit_page ORDER BY last_id LIMIT ?2) AS oldest
                      WHERE last_ms < ?1)",
                    &[(now - i64::from(days) * DAY_MS).into(), ROWS.into()],
                )?);
                deleted = deleted.max(sums::delete(tx, now - i64::from(days) * DAY_MS, ROWS)?);
            }
            deleted = deleted.max(sums::add_up(tx, now, ROWS)?);
            tx.execute("DELETE FROM server_run WHERE stopped_at_ms < ?1", &[(now - 30 * DAY_MS).into()])?;
            Ok(deleted)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Home};

    #[test]
    fn what_is_old_is_deleted_a_little_at_a_time_and_all_of_it() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let mut db = home.connect(Access::Write).unwrap();
        let page = |db: &mut Db, id: i64, at_ms: i64| {
            db.transaction(|tx| {
                tx.execute(
                    "INSERT INTO audit_page (last_id, first_id, last_ms, requests, body, checksum)
                     VALUES (?1, ?1, ?2, 1, '[]', 0)",
                    &[(&format!("{id:08}")).into(), at_ms.into()],
                )
            })
            .unwrap();
        };
        for id in 0..250 {
            page(&mut db, id, 1);
        }
        page(&mut db, 250, now_ms());
        let mut retention = Retention::new(Some(1));
        assert_eq!(retention.delete(&mut db).unwrap(), 100);
        while retention.last.is_none() {
            retention.run(&mut db).unwrap();
        }
        let left = db.transaction(|tx| tx.rows("SELECT last_id FROM audit_page", &[])).unwrap();
        assert_eq!((left.len(), left[0].text(0).unwrap()), (1, "00000250"));
    }
}
