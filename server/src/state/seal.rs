//! Seals: of every row that says who may do what, a digest under the pepper. A row that was changed by anything but the
//! back office, a bit that flipped on the disk above all, no longer fits its seal and is not acted on.
//!
//! Balances have their own: the chain of the ledger.

use super::db::{Row, Tx, Value};
use super::sums::shown;
use super::{Pepper, StateError};

/// A table whose rows are sealed.
#[derive(Debug)]
pub(super) struct Sealed {
    table: &'static str,
    /// Reads the row of an id: its id as text, and all that the seal covers.
    one: &'static str,
    /// Reads all rows, each with its seal behind it. One statement each, so that what others commit meanwhile is not
    /// half seen.
    all: &'static str,
    /// Reads the ids of seals that have no row.
    alone: &'static str,
}

/// Keys of callers.
pub(super) const KEYS: Sealed = Sealed {
    table: "api_key",
    one: "SELECT id, account_id, name, environment, digest, created_at, expires_at, revoked_at, rotated_to FROM api_key
          WHERE id = ?1",
    all: "SELECT id, account_id, name, environment, api_key.digest, created_at, expires_at, revoked_at, rotated_to,
                 seal.digest
          FROM api_key LEFT JOIN seal ON of_table = 'api_key' AND row_id = id",
    alone: "SELECT row_id FROM seal WHERE of_table = 'api_key'
            AND NOT EXISTS (SELECT 1 FROM api_key WHERE id = row_id)",
};
/// Accounts, as far as the ledger does not say what they hold.
pub(super) const ACCOUNTS: Sealed = Sealed {
    table: "account",
    one: "SELECT CAST(id AS TEXT), name, created_at, plan FROM account WHERE id = CAST(CAST(?1 AS TEXT) AS BIGINT)",
    all: "SELECT CAST(id AS TEXT), name, created_at, plan, digest
          FROM account LEFT JOIN seal ON of_table = 'account' AND row_id = CAST(id AS TEXT)",
    alone: "SELECT row_id FROM seal WHERE of_table = 'account'
            AND NOT EXISTS (SELECT 1 FROM account WHERE id = CAST(row_id AS BIGINT))",
};
/// Plans.
pub(super) const PLANS: Sealed = Sealed {
    table: "plan",
    one: "SELECT name, definition, created_at_ms, updated_at_ms FROM plan WHERE name = ?1",
    all: "SELECT name, definition, created_at_ms, updated_at_ms, digest
          FROM plan LEFT JOIN seal ON of_table = 'plan' AND row_id = name",
    alone: "SELECT row_id FROM seal WHERE of_table = 'plan' AND NOT EXISTS (SELECT 1 FROM plan WHERE name = row_id)",
};
/// Keys of the back office.
pub(super) const ADMINS: Sealed = Sealed {
    table: "admin_key",
    one: "SELECT id, name, digest, created_at, revoked_at FROM admin_key WHERE id = ?1",
    all: "SELECT id, name, admin_key.digest, created_at, revoked_at, seal.digest
          FROM admin_key LEFT JOIN seal ON of_table = 'admin_key' AND row_id = id",
    alone: "SELECT row_id FROM seal WHERE of_table = 'admin_key'
            AND NOT EXISTS (SELECT 1 FROM admin_key WHERE id = row_id)",
};

const ALL: [&Sealed; 4] = [&KEYS, &ACCOUNTS, &PLANS, &ADMINS];

/// The setting that says that all rows are sealed; a state of an earlier schema has none.
const DONE: &str = "sealed";

/// Seals a row as it is now; one that is not there any more loses its seal.
pub(super) fn put(tx: &mut Tx<'_>, pepper: &Pepper, of: &Sealed, id: &str) -> Result<(), StateError> {
    let Some(row) = tx.row(of.one, &[id.into()])? else {
        tx.execute("DELETE FROM seal WHERE of_table = ?1 AND row_id = ?2", &[of.table.into(), id.into()])?;
        return Ok(());
    };
    write(tx, of, id, &digest(pepper, of, &row.values()))
}

fn write(tx: &mut Tx<'_>, of: &Sealed, id: &str, digest: &[u8; 32]) -> Result<(), StateError> {
    tx.execute(
        "INSERT INTO seal (of_table, row_id, digest) VALUES (?1, ?2, ?3)
         ON CONFLICT (of_table, row_id) DO UPDATE SET digest = excluded.digest",
        &[of.table.into(), id.into(), digest.into()],
    )?;
    Ok(())
}

fn digest(pepper: &Pepper, of: &Sealed, columns: &[Value<'_>]) -> [u8; 32] {
    let columns: Vec<Vec<u8>> = columns.iter().map(Value::bytes).collect();
    let mut parts: Vec<&[u8]> = vec![b"seal", of.table.as_bytes()];
    parts.extend(columns.iter().map(Vec::as_slice));
    pepper.digest(&parts)
}

/// Checks every seal. A state of an earlier schema is sealed as it is.
///
/// # Errors
/// [`StateError::BrokenSeal`] naming the first row that does not fit.
pub(super) fn check(tx: &mut Tx<'_>, pepper: &Pepper) -> Result<(), StateError> {
    // Damage may have made anything of the id.
    let broken = |of: &Sealed, row: &Row| Err(StateError::BrokenSeal { table: of.table, id: shown(&row.values()[0]) });
    for of in ALL {
        for row in tx.rows(of.all, &[])? {
            let columns = row.values();
            let (seal, covered) = columns.split_last().expect("a row ends with its seal");
            if !matches!(seal, Value::Blob(seal) if **seal == digest(pepper, of, covered)) {
                return broken(of, &row);
            }
        }
        // The row of such a seal is gone, or has another id.
        if let Some(row) = tx.row(of.alone, &[])? {
            return broken(of, &row);
        }
    }
    Ok(())
}

/// Seals a state that has no seals yet.
pub(super) fn begin(tx: &mut Tx<'_>, pepper: &Pepper) -> Result<(), StateError> {
    if is_done(tx)? {
        return Ok(());
    }
    // One replica seals. The others would wait for its rows no longer than for any, or seal anew what it changed since.
    tx.hold_migration()?;
    if is_done(tx)? {
        return Ok(());
    }
    for of in ALL {
        for row in tx.rows(of.all, &[])? {
            let columns = row.values();
            let (_, covered) = columns.split_last().expect("a row ends with its seal");
            write(tx, of, row.text(0)?, &digest(pepper, of, covered))?;
        }
    }
    let value: [u8; 1] = [1];
    tx.execute(
        "INSERT INTO setting (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        &[DONE.into(), Value::Blob(&value)],
    )?;
    Ok(())
}

fn is_done(tx: &mut Tx<'_>) -> Result<bool, StateError> {
    match tx.row("SELECT value FROM setting WHERE name = ?1", &[DONE.into()])? {
        None => Ok(false),
        Some(row) if row.blob(0)? == [1] => Ok(true),
        Some(_) => Err(StateError::BrokenSeal { table: "setting", id: DONE.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Access, Environment, Home};

    #[test]
    fn a_row_that_the_back_office_did_not_change_no_longer_fits() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let made = home.office("t", |office| office.create_key("t", Environment::Live, 5, None)).unwrap();
        home.office("t", |office| office.set_plan("pro", "{}")).unwrap();
        home.office("t", |office| office.assign_plan(&made.id, "pro")).unwrap();
        home.office("t", |office| office.create_admin("bea")).unwrap();
        home.office("t", |office| office.rotate_key(&made.id, 60)).unwrap();
        home.office("t", |office| office.revoke_key(&made.id)).unwrap();
        let mut db = home.connect(Access::Write).unwrap();
        db.transaction(|tx| check(tx, home.pepper())).unwrap();
        let changes: [(&'static str, &str); 7] = [
            ("UPDATE api_key SET revoked_at = NULL", "api_key"),
            ("UPDATE api_key SET account_id = account_id, name = 'u'", "api_key"),
            ("DELETE FROM api_key WHERE revoked_at IS NULL", "api_key"),
            ("UPDATE account SET plan = 'default'", "account"),
            ("UPDATE plan SET definition = definition || ' '", "plan"),
            ("UPDATE admin_key SET digest = zeroblob(32)", "admin_key"),
            ("DELETE FROM seal WHERE of_table = 'plan'", "plan"),
        ];
        for (change, table) in changes {
            let found = db.transaction(|tx| {
                tx.execute(change, &[])?;
                check(tx, home.pepper())
            });
            assert!(
                matches!(&found, Err(StateError::BrokenSeal { table: found, .. }) if *found == table),
                "{change}: {found:?}"
            );
        }
        home.office("t", |office| office.remove_plan("pro")).unwrap();
        db.transaction(|tx| check(tx, home.pepper())).unwrap();
    }

    #[test]
    fn a_state_without_seals_is_sealed_once() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        home.office("t", |office| office.create_key("t", Environment::Live, 5, None)).unwrap();
        let mut db = home.connect(Access::Write).unwrap();
        db.transaction(|tx| {
            tx.execute("DELETE FROM seal", &[])?;
            tx.execute("DELETE FROM setting WHERE name = 'sealed'", &[])
        })
        .unwrap();
        drop(Home::in_folder(place.path()).unwrap());
        db.transaction(|tx| check(tx, home.pepper())).unwrap();
        db.transaction(|tx| tx.execute("DELETE FROM seal", &[])).unwrap();
        drop(Home::in_folder(place.path()).unwrap());
        assert!(db.transaction(|tx| check(tx, home.pepper())).is_err(), "only once");
    }
}
