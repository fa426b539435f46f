//! Checksums: of every row that neither a MAC nor the chain of the ledger covers, a checksum in the row itself, which
//! detects a bit that flips on the disk. They detect damage only; rows that must not be forged have a MAC or the chain.

use super::StateError;
use super::db::{Row, Tx, Value, checksum};

/// A table with checksums: its rows as the checksum covers them, followed by the checksum.
struct ChecksummedTable {
    table: &'static str,
    rows: &'static str,
}

const WRITTEN_ONCE: [ChecksummedTable; 6] = [
    ChecksummedTable {
        table: "admin_audit",
        rows: "SELECT id, ts_ms, actor, action, target, before_json, after_json, checksum FROM admin_audit",
    },
    ChecksummedTable {
        table: "audit_page",
        rows: "SELECT last_id, first_id, last_ms, requests, body, checksum FROM audit_page",
    },
    ChecksummedTable {
        table: "idempotency",
        rows:
            "SELECT account_id, key, request_hash, request_id, status, body, sealed, generation, created_at_ms, checksum
               FROM idempotency",
    },
    ChecksummedTable {
        table: "outbox_event",
        rows: "SELECT id, type, created_at_ms, body, checksum FROM outbox_event",
    },
    ChecksummedTable {
        table: "webhook_attempt",
        rows: "SELECT event_id, endpoint_id, number, at_ms, status, duration_ms, error, checksum FROM webhook_attempt",
    },
    ChecksummedTable { table: "stream_event", rows: "SELECT id, position, at_ms, checksum FROM stream_event" },
];

/// A table whose rows change, each with its checksum.
#[derive(Debug)]
pub struct MutableTable {
    table: &'static str,
    rows: &'static str,
    one: &'static str,
    put: &'static str,
}

/// The columns that the checksum covers, in their order; which row is meant; the parameter behind those of that.
macro_rules! changing {
    ($table:literal, $columns:literal, $which:literal, $checksum:literal) => {
        MutableTable {
            table: $table,
            rows: concat!("SELECT ", $columns, ", checksum FROM ", $table),
            one: concat!("SELECT ", $columns, " FROM ", $table, " WHERE ", $which),
            put: concat!("UPDATE ", $table, " SET checksum = ", $checksum, " WHERE ", $which),
        }
    };
}

/// By id.
pub const WEBHOOKS: MutableTable = changing!(
    "webhook_endpoint",
    "id, account_id, key_id, target_url, event_type, filters, status, status_reason, created_at_ms, updated_at_ms",
    "id = ?1",
    "?2"
);
/// By event and webhook.
pub const DELIVERIES: MutableTable = changing!(
    "webhook_delivery",
    "event_id, endpoint_id, status, attempts, next_at_ms, lease_owner, lease_until_ms, created_at_ms, finished_at_ms",
    "event_id = ?1 AND endpoint_id = ?2",
    "?3"
);
/// By name.
pub const POSITIONS: MutableTable = changing!("outbox_position", "name, position, generation", "name = ?1", "?2");
/// By id.
pub(super) const RUNS: MutableTable =
    changing!("server_run", "id, started_at_ms, beat_at_ms, stopped_at_ms, unsent", "id = ?1", "?2");
/// By request.
pub(super) const LOST: MutableTable =
    changing!("lost_answer", "request_id, run_id, found_at_ms, refunded_at_ms", "request_id = ?1", "?2");

const CHANGING: [&MutableTable; 4] = [&DELIVERIES, &POSITIONS, &RUNS, &LOST];

/// The numbers that one call, one that failed and one credit add to the checksum of a day's usage, so that it grows by
/// what is added without being read. Each bit of a count that flips leaves a difference.
const OF_CALLS: i64 = 3;
const OF_FAILED: i64 = 5;
const OF_CREDITS: i64 = 7;

/// The checksum of a day's usage that begins with these counts.
pub(super) fn of_usage(day: &[Value<'_>; 4], calls: i64, failed: i64, credits: i64) -> i64 {
    checksum(day) + OF_CALLS * calls + OF_FAILED * failed + OF_CREDITS * credits
}

/// The checksum of a sum of requests, whose key is its first four columns. It grows as that of a day's usage does.
pub(super) fn of_requests(key: &[Value<'_>; 4], requests: i64) -> i64 {
    checksum(key) + OF_CALLS * requests
}

/// Returns whether a sum of requests fits its checksum.
pub(super) fn requests_fit(row: &Row) -> bool {
    let values = row.values();
    let [span, minute, endpoint, status, Value::Int(requests), Value::Int(found)] = values[..] else { return false };
    let grown = requests.checked_mul(OF_CALLS);
    grown.and_then(|grown| checksum(&[span, minute, endpoint, status]).checked_add(grown)) == Some(found)
}

/// Writes the checksum of a row anew after a change; nothing where it is not there any more.
///
/// # Errors
/// When the database cannot be read or written.
pub fn renew(tx: &mut Tx<'_>, of: &'static MutableTable, which: &[Value<'_>]) -> Result<(), StateError> {
    if let Some(row) = tx.row(of.one, which)? {
        let checksum = checksum(&row.values());
        tx.execute(of.put, &[which, &[checksum.into()]].concat())?;
    }
    Ok(())
}

/// Returns whether a row fits the checksum behind its columns.
#[must_use]
pub fn fits(row: &Row) -> bool {
    let values = row.values();
    let Some((last, covered)) = values.split_last() else { return true };
    matches!(last, Value::Int(found) if *found == checksum(covered))
}

/// Returns whether the counts of a day fit their checksum.
pub(super) fn usage_fits(row: &Row) -> bool {
    let values = row.values();
    let [account, day, endpoint, key, Value::Int(calls), Value::Int(failed), Value::Int(credits), Value::Int(found)] =
        values[..]
    else {
        return false;
    };
    // A count that damage made so large that its checksum has no number fits nothing.
    let Some(grown) = [(OF_CALLS, calls), (OF_FAILED, failed), (OF_CREDITS, credits)]
        .into_iter()
        .try_fold(checksum(&[account, day, endpoint, key]), |grown, (each, count)| {
            grown.checked_add(count.checked_mul(each)?)
        })
    else {
        return false;
    };
    found == grown
}

/// Checks the counts of a day against their checksum.
pub(super) fn check_usage(row: &Row) -> Result<(), StateError> {
    if usage_fits(row) { Ok(()) } else { Err(corrupt("usage_day", row, 4)) }
}

/// The error of a row that the first columns name, `named` of them.
fn corrupt(table: &'static str, row: &Row, named: usize) -> StateError {
    let id: Vec<String> = row.values().iter().take(named).map(shown).collect();
    StateError::CorruptRow { table, id: id.join(" ") }
}

/// Checks the rows of a table, which the first columns name, `named` of them.
fn check_table(
    tx: &mut Tx<'_>,
    (table, rows): (&'static str, &'static str),
    fits: fn(&Row) -> bool,
    named: usize,
) -> Result<(), StateError> {
    tx.each(rows, &mut |row| {
        if fits(&row) {
            return Ok(());
        }
        Err(corrupt(table, &row, named))
    })
}

/// A value as people read it.
pub(super) fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Text(text) => (*text).to_owned(),
        Value::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

/// Checks what is acted on without a look at its checksum: webhooks.
pub(super) fn check_acted_on(tx: &mut Tx<'_>) -> Result<(), StateError> {
    check_table(tx, (WEBHOOKS.table, WEBHOOKS.rows), fits, 1)
}

/// Checks all checksums.
///
/// # Errors
/// [`StateError::CorruptRow`] naming the first row that does not fit.
pub(super) fn check(tx: &mut Tx<'_>) -> Result<(), StateError> {
    check_acted_on(tx)?;
    WRITTEN_ONCE.iter().try_for_each(|of| check_table(tx, (of.table, of.rows), fits, 1))?;
    CHANGING.iter().try_for_each(|of| check_table(tx, (of.table, of.rows), fits, 1))?;
    let usage = "SELECT account_id, day, endpoint, key_id, calls, failed, credits, checksum FROM usage_day";
    check_table(tx, ("usage_day", usage), usage_fits, 4)?;
    let sums = "SELECT span, minute, endpoint, status, requests, checksum FROM request_sum";
    check_table(tx, ("request_sum", sums), requests_fit, 4)?;
    // Their values are compared with the secrets whenever a state is opened.
    let strange = "SELECT name FROM setting WHERE name NOT IN ('pepper', 'master') ORDER BY name";
    match tx.row(strange, &[])? {
        None => Ok(()),
        Some(row) => Err(StateError::CorruptRow { table: "setting", id: shown(&row.values()[0]) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Environment, Home};

    #[test]
    fn a_changed_row_does_not_match_its_checksum() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        home.admin("t", |admin| admin.create_key("t", Environment::Live, 5, None)).unwrap();
        let mut db = home.connect(Access::Write).unwrap();
        db.transaction(check).unwrap();
        let found = db.transaction(|tx| {
            tx.execute("DROP TRIGGER admin_audit_no_update", &[])?;
            tx.execute("UPDATE admin_audit SET actor = 'u'", &[])?;
            check(tx)
        });
        assert!(matches!(found, Err(StateError::CorruptRow { table: "admin_audit", .. })), "{found:?}");
    }

    #[test]
    fn a_corrupt_row_is_named_by_the_values_of_its_key() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        home.admin("t", |admin| admin.create_key("t", Environment::Live, 0, None)).unwrap();
        let mut db = home.connect(Access::Write).unwrap();
        let found = db.transaction(|tx| {
            tx.execute(
                "INSERT INTO usage_day (account_id, day, endpoint, key_id, calls, failed, credits, checksum)
                 VALUES (1, 20000, '/v1/transactions', 'k', 2, 0, 5, 1)",
                &[],
            )?;
            check(tx)
        });
        let text = found.unwrap_err().to_string();
        assert!(text.starts_with("the row \"1 20000 /v1/transactions k\" of usage_day"), "{text}");
    }
}
