//! Sums of the requests that the database does not list: those that were refused, and those without a key. Each of them is
//! a line of the audit log (`request_log`); here they are counted by minute, endpoint and status, so that the database
//! grows with time and not with their number.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use headwater_types::text::{SHOWN, shortened};
use serde::Serialize;

use super::audit::{self, AuditRow, Count, DAY_MS, UsageKey};
use super::db::{Row, Tx, Value};
use super::{StateError, checksums};

/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;
/// Minutes of a day.
const DAY: i64 = 1440;
/// Days for which minutes are kept; then they are added up to days.
const MINUTE_DAYS: i64 = 7;
/// Sums that wait for the database at most; while it cannot be written, further ones are counted by day.
const WAITING: usize = 20_000;
/// The endpoint of a request that met no route.
const NO_ROUTE: &str = "";

/// Minute, endpoint and status.
type SumKey = (i64, &'static str, u16);

/// Sums that are written together.
#[derive(Debug, Default)]
pub(super) struct RequestSums {
    minutes: BTreeMap<SumKey, i64>,
    /// The calls of accounts among them.
    usage: BTreeMap<UsageKey, Count>,
}

impl RequestSums {
    pub fn is_empty(&self) -> bool {
        self.minutes.is_empty()
    }

    fn add_requests(&mut self, (minute, endpoint, status): SumKey, requests: i64) {
        let key = (minute, endpoint, status);
        let is_full = self.minutes.len() >= WAITING && !self.minutes.contains_key(&key);
        let minute = if is_full { minute - minute.rem_euclid(DAY) } else { minute };
        *self.minutes.entry((minute, endpoint, status)).or_default() += requests;
    }

    fn add(&mut self, row: &AuditRow) {
        let minute = row.ts_ms.div_euclid(MINUTE_MS);
        self.add_requests((minute, row.endpoint.unwrap_or(NO_ROUTE), row.status), 1);
        if let (Some(account), Some(endpoint)) = (row.account, row.endpoint) {
            let count =
                self.usage.entry((account, row.ts_ms.div_euclid(DAY_MS), endpoint, row.key_id.unwrap_or_default()));
            let count = count.or_default();
            count.add(&Count::of(row));
        }
    }

    /// Adds later sums.
    pub fn append(&mut self, other: Self) {
        for (key, requests) in other.minutes {
            self.add_requests(key, requests);
        }
        for (key, count) in other.usage {
            self.usage.entry(key).or_default().add(&count);
        }
    }

    /// Writes them.
    pub fn write(&self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        audit::write_usage(tx, &self.usage)?;
        self.minutes.iter().try_for_each(|((minute, endpoint, status), requests)| {
            add(tx, [1.into(), (*minute).into(), (*endpoint).into(), i64::from(*status).into()], *requests)
        })
    }
}

/// Sums until they are written.
#[derive(Debug, Default)]
pub(super) struct WaitingSums(Mutex<RequestSums>);

impl WaitingSums {
    pub fn add(&self, row: &AuditRow) {
        self.lock().add(row);
    }

    pub fn take(&self) -> RequestSums {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, RequestSums> {
        // No code panics while it holds the lock with half a change done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds requests to the sum of a span, minute, endpoint and status.
fn add(tx: &mut Tx<'_>, key: [Value<'_>; 4], requests: i64) -> Result<(), StateError> {
    let [span, minute, endpoint, status] = key;
    let checksum = checksums::of_requests(&key, requests);
    let grown = checksum - checksums::of_requests(&key, 0);
    tx.execute(
        "INSERT INTO request_sum (span, minute, endpoint, status, requests, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (span, minute, endpoint, status) DO UPDATE SET
             requests = request_sum.requests + excluded.requests, checksum = request_sum.checksum + ?7",
        &[span, minute, endpoint, status, requests.into(), checksum.into(), grown.into()],
    )?;
    Ok(())
}

/// Adds some of the oldest minutes to their days, once they were kept long enough; gives how many.
pub(super) fn add_up(tx: &mut Tx<'_>, now_ms: i64, rows: i64) -> Result<u64, StateError> {
    let kept_from = (now_ms / DAY_MS - MINUTE_DAYS) * DAY;
    let taken = tx.rows(
        "DELETE FROM request_sum WHERE (span, minute, endpoint, status) IN
         (SELECT span, minute, endpoint, status FROM request_sum WHERE span = 1 AND minute < ?1
          ORDER BY minute, endpoint, status LIMIT ?2)
         RETURNING span, minute, endpoint, status, requests, checksum",
        &[kept_from.into(), rows.into()],
    )?;
    let mut days: BTreeMap<(i64, &str, i64), i64> = BTreeMap::new();
    for row in &taken {
        check(row)?;
        let minute = row.int(1)?;
        *days.entry((minute - minute.rem_euclid(DAY), row.text(2)?, row.int(3)?)).or_default() += row.int(4)?;
    }
    for ((day, endpoint, status), requests) in days {
        add(tx, [DAY.into(), day.into(), endpoint.into(), status.into()], requests)?;
    }
    Ok(taken.len() as u64)
}

/// Deletes some sums from before a time; gives how many.
pub(super) fn delete(tx: &mut Tx<'_>, before_ms: i64, rows: i64) -> Result<u64, StateError> {
    tx.execute(
        "DELETE FROM request_sum WHERE (span, minute, endpoint, status) IN
         (SELECT span, minute, endpoint, status FROM request_sum WHERE span IN (1, 1440) AND minute < ?1 LIMIT ?2)",
        &[(before_ms / MINUTE_MS).into(), rows.into()],
    )
}

fn check(row: &Row) -> Result<(), StateError> {
    if checksums::requests_fit(row) {
        return Ok(());
    }
    let id = format!("{} {} {} {}", row.int(0)?, row.int(1)?, row.text(2)?, row.int(3)?);
    Err(StateError::CorruptRow { table: "request_sum", id })
}

/// Requests of a minute, or of a day, with one endpoint and one status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestSum {
    /// First second of the span, in epoch seconds.
    pub start: i64,
    /// Length of the span in seconds: 60, or 86,400 for what is older than seven days.
    pub span_secs: i64,
    /// Route that was met; null where there is none.
    pub endpoint: Option<String>,
    /// Status; 499 when the client went away.
    pub status: i64,
    /// Requests.
    pub requests: i64,
}

impl RequestSum {
    /// The text behind which a list continues.
    #[must_use]
    pub fn cursor(&self) -> String {
        format!("{}:{}:{}", self.start, self.status, self.endpoint.as_deref().unwrap_or(NO_ROUTE))
    }
}

/// A selection of sums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SumFilter {
    /// With this status only.
    pub status: Option<u16>,
    /// Not before, epoch seconds.
    pub from_secs: Option<i64>,
    /// The cursor of the last sum of the list before.
    pub after: Option<String>,
    /// At most so many.
    pub limit: u32,
}

/// Sums, newest first.
pub(super) fn list(tx: &mut Tx<'_>, filter: &SumFilter) -> Result<Vec<RequestSum>, StateError> {
    /// Minutes and days never overlap, so that one list follows the other.
    const SPANS: [i64; 2] = [1, DAY];
    let refused = |text: &str| StateError::BadCursor(shortened(text, SHOWN));
    let after = match &filter.after {
        None => (i64::MAX, NO_ROUTE, 0),
        Some(text) => parse_cursor(text).ok_or_else(|| refused(text))?,
    };
    let from = filter.from_secs.map_or(i64::MIN, |from| from.div_euclid(60));
    let status = filter.status.map(i64::from);
    let mut sums = Vec::new();
    for span in SPANS {
        let rows = tx.rows(
            "SELECT span, minute, endpoint, status, requests, checksum FROM request_sum
             WHERE span = ?1 AND minute > ?2 - span AND minute <= ?3 AND (minute, endpoint, status) < (?3, ?4, ?5)
               AND (CAST(?6 AS BIGINT) IS NULL OR status = ?6)
             ORDER BY minute DESC, endpoint DESC, status DESC LIMIT ?7",
            &[
                span.into(),
                from.max(0).into(),
                after.0.into(),
                after.1.into(),
                after.2.into(),
                status.into(),
                (i64::from(filter.limit) - i64::try_from(sums.len()).unwrap_or(i64::MAX)).into(),
            ],
        )?;
        for row in &rows {
            check(row)?;
            sums.push(RequestSum {
                start: row.int(1)? * 60,
                span_secs: row.int(0)? * 60,
                endpoint: Some(row.text(2)?).filter(|endpoint| !endpoint.is_empty()).map(str::to_owned),
                status: row.int(3)?,
                requests: row.int(4)?,
            });
        }
    }
    Ok(sums)
}

fn parse_cursor(text: &str) -> Option<(i64, &str, i64)> {
    let (start, rest) = text.split_once(':')?;
    let (status, endpoint) = rest.split_once(':')?;
    let start: i64 = start.parse().ok()?;
    (start % 60 == 0).then_some(())?;
    Some((start / 60, endpoint, status.parse().ok()?))
}

#[cfg(test)]
mod tests;
