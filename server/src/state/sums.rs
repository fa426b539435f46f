//! Sums: of rows that are written once, a checksum in the row itself, so that a bit that flips on the disk
//! is seen. They hold off damage only; what must not be forged has a seal or the chain of the ledger.

use super::StateError;
use super::db::{Row, Tx, Value, sum};

/// What a row of a schema before sums has.
const NONE: i64 = -1;

/// A table with sums: its rows as the sum covers them, the sum behind them.
struct Summed {
    table: &'static str,
    rows: &'static str,
}

const WRITTEN_ONCE: [Summed; 6] = [
    Summed {
        table: "admin_audit",
        rows: "SELECT id, ts_ms, actor, action, target, before_json, after_json, sum FROM admin_audit",
    },
    Summed { table: "audit_page", rows: "SELECT last_id, first_id, last_ms, requests, body, sum FROM audit_page" },
    Summed {
        table: "idempotency",
        rows: "SELECT account_id, key, request_hash, request_id, status, body, sealed, generation, created_at_ms, sum
               FROM idempotency",
    },
    Summed { table: "outbox_event", rows: "SELECT id, type, created_at_ms, body, sum FROM outbox_event" },
    Summed {
        table: "webhook_attempt",
        rows: "SELECT event_id, endpoint_id, number, at_ms, status, duration_ms, error, sum FROM webhook_attempt",
    },
    Summed { table: "stream_event", rows: "SELECT id, position, at_ms, sum FROM stream_event" },
];

const WEBHOOKS: Summed = Summed {
    table: "webhook_endpoint",
    rows: "SELECT id, account_id, key_id, target_url, event_type, filters, status, status_reason, created_at_ms,
                  updated_at_ms, sum FROM webhook_endpoint",
};

/// Whether a row fits the sum behind its columns.
pub(crate) fn fits(row: &Row) -> bool {
    let values = row.values();
    let Some((last, covered)) = values.split_last() else { return true };
    matches!(last, Value::Int(found) if *found == NONE || *found == sum(covered))
}

fn check_table(tx: &mut Tx<'_>, of: &Summed) -> Result<(), StateError> {
    tx.each(of.rows, &mut |row| {
        if fits(row) {
            return Ok(());
        }
        let id = match row.values().first() {
            Some(Value::Text(text)) => (*text).to_owned(),
            other => format!("{other:?}"),
        };
        Err(StateError::BrokenSeal { table: of.table, id })
    })
}

/// Writes the sum of a webhook anew after a change.
pub(crate) fn webhook(tx: &mut Tx<'_>, id: &str) -> Result<(), StateError> {
    let row = tx.row(
        "SELECT id, account_id, key_id, target_url, event_type, filters, status, status_reason, created_at_ms,
                updated_at_ms FROM webhook_endpoint WHERE id = ?1",
        &[id.into()],
    )?;
    if let Some(row) = row {
        let sum = sum(&row.values());
        tx.execute("UPDATE webhook_endpoint SET sum = ?2 WHERE id = ?1", &[id.into(), sum.into()])?;
    }
    Ok(())
}

/// Checks what is acted on without a look at its sum: webhooks.
pub(super) fn check_acted_on(tx: &mut Tx<'_>) -> Result<(), StateError> {
    check_table(tx, &WEBHOOKS)
}

/// Checks all sums.
///
/// # Errors
/// [`StateError::BrokenSeal`] naming the first row that does not fit.
pub(super) fn check(tx: &mut Tx<'_>) -> Result<(), StateError> {
    check_acted_on(tx)?;
    WRITTEN_ONCE.iter().try_for_each(|of| check_table(tx, of))?;
    // Their values are held against secrets and seals whenever a state is opened, as long as they have their names.
    let strange = "SELECT name FROM setting WHERE name NOT IN ('pepper', 'master', 'sealed') ORDER BY name";
    match tx.row(strange, &[])? {
        None => Ok(()),
        Some(row) => Err(StateError::BrokenSeal { table: "setting", id: row.text(0)?.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Access, Environment, Home};

    #[test]
    fn a_row_that_changed_after_it_was_written_no_longer_fits() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        home.office("t", |office| office.create_key("t", Environment::Live, 5, None)).unwrap();
        let mut db = home.connect(Access::Write).unwrap();
        db.transaction(check).unwrap();
        let found = db.transaction(|tx| {
            tx.execute("DROP TRIGGER admin_audit_no_update", &[])?;
            tx.execute("UPDATE admin_audit SET actor = 'u'", &[])?;
            check(tx)
        });
        assert!(matches!(found, Err(StateError::BrokenSeal { table: "admin_audit", .. })), "{found:?}");
    }
}
