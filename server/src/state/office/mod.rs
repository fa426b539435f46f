//! The back office: everything that people who run the service change, through the command line or the admin listener,
//! with a server running or not. Each change is one transaction, and is in the audit of the back office with what was
//! there before and after.

mod admins;
mod credits;
mod keys;
mod plans;
mod records;

use serde::Serialize;
use serde_json::Value as Json;
use uuid::Uuid;

use super::db::{Tx, Value, sum};
use super::seal::{self, Sealed};
use super::{Access, Home, Pepper, StateError, now_ms};

pub use admins::AdminListing;
pub use credits::LostAnswer;
pub use keys::{KeyListing, NewKey};
pub use records::{ChangeListing, Usage, UsageLine};

/// The back office, inside an open transaction.
pub struct Office<'o, 'tx> {
    tx: &'o mut Tx<'tx>,
    pepper: &'o Pepper,
    actor: &'o str,
}

impl<'o, 'tx> Office<'o, 'tx> {
    /// `actor` is who the changes are made by, for the audit.
    pub fn new(tx: &'o mut Tx<'tx>, pepper: &'o Pepper, actor: &'o str) -> Self {
        Self { tx, pepper, actor }
    }

    /// Seals a row that was changed.
    fn seal(&mut self, of: &Sealed, id: &str) -> Result<(), StateError> {
        seal::put(self.tx, self.pepper, of, id)
    }

    /// Notes a change, and tells replicas to look. Neither `before` nor `after` may hold a secret.
    fn changed(
        &mut self,
        action: &str,
        target: &str,
        before: Option<&Json>,
        after: Option<&Json>,
    ) -> Result<(), StateError> {
        let text = |json: Option<&Json>| json.map(Json::to_string);
        let (id, before, after) = (Uuid::now_v7().to_string(), text(before), text(after));
        let mut values: Vec<Value<'_>> = vec![
            (&id).into(),
            now_ms().into(),
            self.actor.into(),
            action.into(),
            target.into(),
            before.as_ref().into(),
            after.as_ref().into(),
        ];
        values.push(sum(&values).into());
        self.tx.execute(
            "INSERT INTO admin_audit (id, ts_ms, actor, action, target, before_json, after_json, sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            &values,
        )?;
        if self.tx.is_shared() {
            self.tx.execute("UPDATE roster_version SET version = version + 1 WHERE only_row = 1", &[])?;
            // Delivered when the transaction is committed.
            self.tx.rows("SELECT CAST(pg_notify('headwater', '') AS TEXT)", &[])?;
        }
        Ok(())
    }
}

impl Home {
    /// Opens the back office for one change or question. A server may be running on the same state.
    ///
    /// # Errors
    /// What `work` fails with, or the database.
    pub fn office<T>(
        &self,
        actor: &str,
        work: impl FnOnce(&mut Office<'_, '_>) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let mut db = self.connect(Access::Write)?;
        db.transaction(|tx| work(&mut Office::new(tx, self.pepper(), actor)))
    }
}

fn json(record: impl Serialize) -> Json {
    serde_json::to_value(record).expect("plain records have a JSON form")
}
