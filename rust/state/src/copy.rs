//! The rows of a state, from one database into another of either kind.
//!
//! What belongs to processes that run is left behind: credits that are lent to replicas come back to their accounts,
//! tickets of streams are good where they were given.

use std::path::Path;

use super::StateError;
use super::db::{Access, Db, Insert, Row, Tx};

/// A table with the columns that are copied.
struct Table {
    name: &'static str,
    read: &'static str,
    any: &'static str,
    embedded: Insert,
    /// Numbers that the database would give by itself are those of the source.
    shared: Insert,
}

macro_rules! table {
    ($name:literal, $columns:literal) => {
        Table {
            name: $name,
            read: concat!("SELECT ", $columns, " FROM ", $name),
            any: concat!("SELECT 1 FROM ", $name, " LIMIT 1"),
            embedded: Insert {
                head: concat!("INSERT INTO ", $name, " (", $columns, ")"),
                columns: commas($columns) + 1,
            },
            shared: Insert {
                head: concat!("INSERT INTO ", $name, " (", $columns, ") OVERRIDING SYSTEM VALUE"),
                columns: commas($columns) + 1,
            },
        }
    };
}

/// All that is copied, what is referred to before what refers to it.
const TABLES: &[Table] = &[
    table!("setting", "name, value"),
    table!("plan", "name, definition, created_at_ms, updated_at_ms"),
    table!("account", "id, name, balance, entries, head, created_at, plan"),
    table!("api_key", "id, account_id, name, environment, digest, created_at, expires_at, revoked_at, rotated_to"),
    table!(
        "credit_ledger",
        "request_id, account_id, entry, kind, amount, balance_after, key_id, endpoint, ts_ms, hash"
    ),
    table!("audit_page", "last_id, first_id, last_ms, requests, body, checksum"),
    table!("row_mac", "of_table, row_id, mac"),
    table!("usage_day", "account_id, day, endpoint, key_id, calls, failed, credits, checksum"),
    table!("request_sum", "span, minute, endpoint, status, requests, checksum"),
    table!(
        "idempotency",
        "account_id, key, request_hash, request_id, status, body, sealed, generation, created_at_ms, checksum"
    ),
    table!("server_run", "id, started_at_ms, beat_at_ms, stopped_at_ms, unsent, checksum"),
    table!("lost_answer", "request_id, run_id, found_at_ms, refunded_at_ms, checksum"),
    table!("admin_key", "id, name, digest, created_at, revoked_at"),
    table!("admin_audit", "id, ts_ms, actor, action, target, before_json, after_json, checksum"),
    table!(
        "webhook_endpoint",
        "id, account_id, key_id, target_url, event_type, filters, status, status_reason, created_at_ms, updated_at_ms, failing_since_ms, throttled_until_ms, checksum"
    ),
    table!("webhook_secret", "endpoint_id, number, sealed, created_at_ms, expires_at_ms"),
    table!("outbox_event", "seq, id, type, created_at_ms, body, checksum"),
    table!(
        "webhook_delivery",
        "event_id, endpoint_id, status, attempts, next_at_ms, lease_owner, lease_until_ms, created_at_ms, finished_at_ms, checksum"
    ),
    table!("webhook_attempt", "event_id, endpoint_id, number, at_ms, status, duration_ms, error, checksum"),
    table!("stream_event", "id, position, at_ms, checksum"),
    table!("outbox_position", "name, position, generation, checksum"),
];

/// Rows that are held at a time.
const ROWS: usize = 500;
/// Bytes that are held at a time.
const BYTES: usize = 4 << 20;

const fn commas(text: &str) -> usize {
    let (bytes, mut place, mut count) = (text.as_bytes(), 0, 0);
    while place < bytes.len() {
        if bytes[place] == b',' {
            count += 1;
        }
        place += 1;
    }
    count
}

/// Copies a database of either kind, whole and as it is at one moment, while others write to it, into a new `SQLite` file,
/// which is there already and empty.
///
/// # Errors
/// When the copy cannot be written.
pub(super) fn copy_to_file(from: &mut Db, path: &Path) -> Result<(), StateError> {
    if from.copy_file(path)? {
        return Ok(());
    }
    let mut copied = Db::open_sqlite(path, Access::Write)?;
    copy(from, &mut copied)?;
    copied.checkpoint_to_single_file()
}

/// Copies all rows as they are at one moment, while others may write to `from`. All of them are there afterwards, or
/// none.
///
/// # Errors
/// When a database fails, or `to` holds rows already.
pub(super) fn copy(from: &mut Db, to: &mut Db) -> Result<(), StateError> {
    from.transaction(|source| {
        source.repeatable_read()?;
        to.transaction(|target| {
            target.lift_statement_timeout()?;
            check_empty(target)?;
            TABLES.iter().try_for_each(|table| copy_table(source, target, table))?;
            continue_counting(target)
        })
    })
}

/// Refuses a database that holds anything.
pub(super) fn check_empty(target: &mut Tx<'_>) -> Result<(), StateError> {
    for table in TABLES {
        if target.row(table.any, &[])?.is_some() {
            return Err(StateError::NotEmpty { table: table.name });
        }
    }
    Ok(())
}

fn copy_table(source: &mut Tx<'_>, target: &mut Tx<'_>, table: &'static Table) -> Result<(), StateError> {
    let into = if target.is_shared() { &table.shared } else { &table.embedded };
    let (mut rows, mut bytes) = (Vec::new(), 0);
    let mut put = |rows: &mut Vec<Row>| {
        let values: Vec<_> = rows.iter().map(Row::values).collect();
        if target.insert(into, &values)? != rows.len() as u64 {
            return Err(StateError::NotEmpty { table: table.name });
        }
        rows.clear();
        Ok(())
    };
    source.each(table.read, &mut |row| {
        bytes += row.bytes();
        rows.push(row);
        if rows.len() >= ROWS || bytes >= BYTES {
            bytes = 0;
            put(&mut rows)?;
        }
        Ok(())
    })?;
    if rows.is_empty() { Ok(()) } else { put(&mut rows) }
}

/// Continues the numbers of the database behind what was copied, and makes servers that run read it anew.
fn continue_counting(target: &mut Tx<'_>) -> Result<(), StateError> {
    if !target.is_shared() {
        return Ok(());
    }
    for sql in [
        "SELECT CAST(setval(pg_get_serial_sequence('account', 'id'), coalesce(max(id), 0) + 1, false) AS BIGINT)
         FROM account",
        "SELECT CAST(setval(pg_get_serial_sequence('outbox_event', 'seq'), coalesce(max(seq), 0) + 1, false) AS BIGINT)
         FROM outbox_event",
    ] {
        target.rows(sql, &[])?;
    }
    target.execute("UPDATE roster_version SET version = version + 1 WHERE only_row = 1", &[])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Home;

    #[test]
    fn copy_has_every_table_but_those_of_running_processes() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let mut db = home.connect(Access::Read).unwrap();
        let there = db
            .transaction(|tx| {
                tx.rows(
                    "SELECT tables.name || '.' || columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
                     WHERE tables.type = 'table' AND tables.name NOT IN ('stream_ticket', 'commit_count')",
                    &[],
                )
            })
            .unwrap();
        let there: BTreeSet<String> = there.iter().map(|row| row.text(0).unwrap().to_owned()).collect();
        let copied = TABLES.iter().flat_map(|table| {
            let columns = table.read.strip_prefix("SELECT ").unwrap().split_once(" FROM ").unwrap().0;
            columns.split(", ").map(|column| format!("{}.{column}", table.name))
        });
        assert_eq!(copied.collect::<BTreeSet<_>>(), there);
        for table in TABLES {
            assert_eq!(table.read.matches(',').count() + 1, table.embedded.columns, "{}", table.name);
        }
    }
}
