//! The records of the audit: requests, changes of the back office, usage.

use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

use super::AdminService;
use crate::audit::{self, AuditFilter, AuditListing, DAY_MS};
use crate::db::Tx;
use crate::sums::{self, RequestSum, SumFilter};
use crate::{StateError, checksums};

/// A change that the back office made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeListing {
    /// Its id.
    pub id: String,
    /// Unix milliseconds.
    pub ts_ms: i64,
    /// The person who made it.
    pub actor: String,
    /// The action.
    pub action: String,
    /// To what.
    pub target: String,
    /// The state before, as JSON text.
    pub before: Option<String>,
    /// The state after, as JSON text.
    pub after: Option<String>,
}

/// Calls and credits of an account over a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Usage {
    /// Credits left.
    pub credit_remaining: i64,
    /// Plan of the account.
    pub plan: String,
    /// First second of the period: of the UTC month.
    pub period_start: i64,
    /// Last second of the period.
    pub period_end: i64,
    /// By endpoint, in order of its path.
    pub by_endpoint: Vec<UsageLine>,
}

/// Calls and credits of one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct UsageLine {
    /// Path of the endpoint.
    #[schema(example = "/v1/transactions")]
    pub endpoint: String,
    /// Calls, whatever became of them.
    #[schema(minimum = 0)]
    pub calls: i64,
    /// Those of them that failed, which cost nothing.
    #[schema(minimum = 0)]
    pub failed: i64,
    /// Credits deducted.
    #[schema(minimum = 0)]
    pub credits: i64,
}

impl Usage {
    /// Reads the usage of an account in the UTC month of `now_ms`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn read(tx: &mut Tx<'_>, account: i64, now_ms: i64) -> Result<Self, StateError> {
        let (first, last) = month(now_ms.div_euclid(DAY_MS));
        let row = tx.row("SELECT balance, plan FROM account WHERE id = ?1", &[account.into()])?;
        let row = row.ok_or(StateError::Closed)?;
        let rows = tx.rows(
            "SELECT account_id, day, endpoint, key_id, calls, failed, credits, checksum FROM usage_day
             WHERE account_id = ?1 AND day >= ?2 AND day <= ?3 ORDER BY endpoint, day, key_id",
            &[account.into(), first.into(), last.into()],
        )?;
        let mut by_endpoint: Vec<UsageLine> = Vec::new();
        for row in &rows {
            checksums::check_usage(row)?;
            let (endpoint, calls, failed, credits) = (row.text(2)?, row.int(4)?, row.int(5)?, row.int(6)?);
            match by_endpoint.last_mut().filter(|line| line.endpoint == endpoint) {
                Some(line) => {
                    line.calls += calls;
                    line.failed += failed;
                    line.credits += credits;
                }
                None => by_endpoint.push(UsageLine { endpoint: endpoint.to_owned(), calls, failed, credits }),
            }
        }
        Ok(Self {
            credit_remaining: row.int(0)?,
            plan: row.text(1)?.to_owned(),
            period_start: first * 86_400,
            period_end: (last + 1) * 86_400 - 1,
            by_endpoint,
        })
    }
}

/// First and last day of the month of a day, all counted from 1970-01-01.
pub(super) fn month(day: i64) -> (i64, i64) {
    use chrono::{Datelike, Days, Months, NaiveDate};
    let epoch = NaiveDate::default();
    let date = epoch.checked_add_days(Days::new(day.unsigned_abs())).unwrap_or(epoch);
    let first = date.with_day(1).unwrap_or(date);
    let next = first.checked_add_months(Months::new(1)).unwrap_or(first);
    let number = |date: NaiveDate| date.signed_duration_since(epoch).num_days();
    (number(first), number(next) - 1)
}

impl AdminService<'_, '_> {
    /// Notes that the state, secrets included, is copied into a folder.
    ///
    /// # Errors
    /// When the database fails.
    pub fn note_backup(&mut self, folder: &str) -> Result<(), StateError> {
        self.changed("state.backup", folder, None, None)
    }

    /// Notes that claims of the store about an address were disputed or confirmed; `entries` are those of the history of
    /// the store.
    ///
    /// # Errors
    /// When the database fails.
    pub fn note_dispute(&mut self, action: &str, address: &str, entries: &Json) -> Result<(), StateError> {
        self.changed(&format!("labels.{action}"), address, None, Some(entries))
    }

    /// Requests, newest first.
    ///
    /// # Errors
    /// When what the list is to continue behind is not an id, or the database fails.
    pub fn audit(&mut self, filter: &AuditFilter) -> Result<Vec<AuditListing>, StateError> {
        filter.before.as_deref().map_or(Ok(()), Self::check_cursor)?;
        audit::list(self.tx, filter)
    }

    /// Sums of the requests that the database does not list, newest first.
    ///
    /// # Errors
    /// When what the list is to continue behind is not a cursor of such a list, or the database fails.
    pub fn request_sums(&mut self, filter: &SumFilter) -> Result<Vec<RequestSum>, StateError> {
        sums::list(self.tx, filter)
    }

    /// Changes that the back office made, newest first; those before the one with the id `before`, where it is given.
    ///
    /// # Errors
    /// When `before` is not an id, or the database fails.
    pub fn changes(&mut self, before: Option<&str>, limit: u32) -> Result<Vec<ChangeListing>, StateError> {
        before.map_or(Ok(()), Self::check_cursor)?;
        let rows = self.tx.rows(
            "SELECT id, ts_ms, actor, action, target, before_json, after_json FROM admin_audit
             WHERE CAST(?1 AS TEXT) IS NULL OR id < ?1 ORDER BY id DESC LIMIT ?2",
            &[before.into(), i64::from(limit).into()],
        )?;
        rows.iter()
            .map(|row| {
                Ok(ChangeListing {
                    id: row.text(0)?.to_owned(),
                    ts_ms: row.int(1)?,
                    actor: row.text(2)?.to_owned(),
                    action: row.text(3)?.to_owned(),
                    target: row.text(4)?.to_owned(),
                    before: row.maybe_text(5)?.map(str::to_owned),
                    after: row.maybe_text(6)?.map(str::to_owned),
                })
            })
            .collect()
    }

    /// Usage of the account of a key in the month of `now_ms`.
    ///
    /// # Errors
    /// When the key is unknown.
    pub fn usage(&mut self, key_id: &str, now_ms: i64) -> Result<Usage, StateError> {
        let account = self.account_of(key_id)?;
        Usage::read(self.tx, account, now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::month;

    #[test]
    fn a_period_is_a_month_of_utc() {
        // 2024-02-29 is day 19,782: February of a leap year has 29 days.
        assert_eq!(month(19_782), (19_754, 19_782));
        // 2026-11-22 is day 20,779: from the 1st, 20,758, to the 30th.
        assert_eq!(month(20_779), (20_758, 20_787));
        assert_eq!(month(0), (0, 30));
    }
}
