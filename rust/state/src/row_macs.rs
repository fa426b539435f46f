//! Row MACs: of every row that says who may do what, a MAC under the pepper. A row that was changed by anything but the
//! back office, above all a bit that flipped on the disk, does not match its MAC and is rejected.
//!
//! Balances are covered by the hash chain of the ledger.

use super::checksums::shown;
use super::db::{Row, Tx, Value};
use super::{Pepper, StateError};

/// A table whose rows have MACs.
#[derive(Debug)]
pub(super) struct MacTable {
    table: &'static str,
    /// Reads the row of an id: its id as text, and all columns that the MAC covers.
    one: &'static str,
    /// Reads all rows, each followed by its MAC. One statement each, so that concurrent commits are not half visible.
    all: &'static str,
    /// Reads the ids of MACs without a row.
    alone: &'static str,
}

/// Keys of callers.
pub(super) const KEYS: MacTable = MacTable {
    table: "api_key",
    one: "SELECT id, account_id, name, environment, digest, created_at, expires_at, revoked_at, rotated_to FROM api_key
          WHERE id = ?1",
    all: "SELECT id, account_id, name, environment, api_key.digest, created_at, expires_at, revoked_at, rotated_to,
                 row_mac.mac
          FROM api_key LEFT JOIN row_mac ON of_table = 'api_key' AND row_id = id",
    alone: "SELECT row_id FROM row_mac WHERE of_table = 'api_key'
            AND NOT EXISTS (SELECT 1 FROM api_key WHERE id = row_id)",
};
/// Accounts, as far as the ledger does not say what they hold.
pub(super) const ACCOUNTS: MacTable = MacTable {
    table: "account",
    one: "SELECT CAST(id AS TEXT), name, created_at, plan FROM account WHERE id = CAST(CAST(?1 AS TEXT) AS BIGINT)",
    all: "SELECT CAST(id AS TEXT), name, created_at, plan, mac
          FROM account LEFT JOIN row_mac ON of_table = 'account' AND row_id = CAST(id AS TEXT)",
    alone: "SELECT row_id FROM row_mac WHERE of_table = 'account'
            AND NOT EXISTS (SELECT 1 FROM account WHERE id = CAST(row_id AS BIGINT))",
};
/// Plans.
pub(super) const PLANS: MacTable = MacTable {
    table: "plan",
    one: "SELECT name, definition, created_at_ms, updated_at_ms FROM plan WHERE name = ?1",
    all: "SELECT name, definition, created_at_ms, updated_at_ms, mac
          FROM plan LEFT JOIN row_mac ON of_table = 'plan' AND row_id = name",
    alone: "SELECT row_id FROM row_mac WHERE of_table = 'plan' AND NOT EXISTS (SELECT 1 FROM plan WHERE name = row_id)",
};
/// Keys of the back office.
pub(super) const ADMINS: MacTable = MacTable {
    table: "admin_key",
    one: "SELECT id, name, digest, created_at, revoked_at FROM admin_key WHERE id = ?1",
    all: "SELECT id, name, admin_key.digest, created_at, revoked_at, row_mac.mac
          FROM admin_key LEFT JOIN row_mac ON of_table = 'admin_key' AND row_id = id",
    alone: "SELECT row_id FROM row_mac WHERE of_table = 'admin_key'
            AND NOT EXISTS (SELECT 1 FROM admin_key WHERE id = row_id)",
};

const ALL: [&MacTable; 4] = [&KEYS, &ACCOUNTS, &PLANS, &ADMINS];

/// Writes the MAC of a row as it is now, or removes that of a removed row.
pub(super) fn put(tx: &mut Tx<'_>, pepper: &Pepper, of: &MacTable, id: &str) -> Result<(), StateError> {
    let Some(row) = tx.row(of.one, &[id.into()])? else {
        tx.execute("DELETE FROM row_mac WHERE of_table = ?1 AND row_id = ?2", &[of.table.into(), id.into()])?;
        return Ok(());
    };
    tx.execute(
        "INSERT INTO row_mac (of_table, row_id, mac) VALUES (?1, ?2, ?3)
         ON CONFLICT (of_table, row_id) DO UPDATE SET mac = excluded.mac",
        &[of.table.into(), id.into(), (&mac(pepper, of, &row.values())).into()],
    )?;
    Ok(())
}

fn mac(pepper: &Pepper, of: &MacTable, columns: &[Value<'_>]) -> [u8; 32] {
    let columns: Vec<Vec<u8>> = columns.iter().map(Value::bytes).collect();
    let mut parts: Vec<&[u8]> = vec![b"row", of.table.as_bytes()];
    parts.extend(columns.iter().map(Vec::as_slice));
    pepper.digest(&parts)
}

/// Checks every MAC.
///
/// # Errors
/// [`StateError::CorruptRow`] naming the first row that does not match.
pub(super) fn check(tx: &mut Tx<'_>, pepper: &Pepper) -> Result<(), StateError> {
    // Damage may have made anything of the id.
    let broken =
        |of: &MacTable, row: &Row| Err(StateError::CorruptRow { table: of.table, id: shown(&row.values()[0]) });
    for of in ALL {
        for row in tx.rows(of.all, &[])? {
            let columns = row.values();
            let (found, covered) = columns.split_last().expect("a row ends with its MAC");
            if !matches!(found, Value::Blob(found) if **found == mac(pepper, of, covered)) {
                return broken(of, &row);
            }
        }
        // The row of such a MAC is gone, or has another id.
        if let Some(row) = tx.row(of.alone, &[])? {
            return broken(of, &row);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Environment, Home};

    #[test]
    fn a_row_changed_past_the_back_office_does_not_match_its_mac() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let made = home.admin("t", |admin| admin.create_key("t", Environment::Live, 5, None)).unwrap();
        home.admin("t", |admin| admin.set_plan("pro", "{}")).unwrap();
        home.admin("t", |admin| admin.assign_plan(&made.id, "pro")).unwrap();
        home.admin("t", |admin| admin.create_admin("bea")).unwrap();
        home.admin("t", |admin| admin.rotate_key(&made.id, 60, crate::Expiry::Inherited)).unwrap();
        home.admin("t", |admin| admin.revoke_key(&made.id)).unwrap();
        let mut db = home.connect(Access::Write).unwrap();
        db.transaction(|tx| check(tx, home.pepper())).unwrap();
        let changes: [(&'static str, &str); 7] = [
            ("UPDATE api_key SET revoked_at = NULL", "api_key"),
            ("UPDATE api_key SET account_id = account_id, name = 'u'", "api_key"),
            ("DELETE FROM api_key WHERE revoked_at IS NULL", "api_key"),
            ("UPDATE account SET plan = 'default'", "account"),
            ("UPDATE plan SET definition = definition || ' '", "plan"),
            ("UPDATE admin_key SET digest = zeroblob(32)", "admin_key"),
            ("DELETE FROM row_mac WHERE of_table = 'plan'", "plan"),
        ];
        for (change, table) in changes {
            let found = db.transaction(|tx| {
                tx.execute(change, &[])?;
                check(tx, home.pepper())
            });
            assert!(
                matches!(&found, Err(StateError::CorruptRow { table: found, .. }) if *found == table),
                "{change}: {found:?}"
            );
        }
        home.admin("t", |admin| admin.remove_plan("pro")).unwrap();
        db.transaction(|tx| check(tx, home.pepper())).unwrap();
    }
}
