//! The back office: everything that people who run the service change, through the command line or the admin listener,
//! with a server running or not. Each change is one transaction, and is in the audit of the back office with what was
//! there before and after.

mod admins;
mod credits;
mod keys;
mod monthly_usage;
mod plans;
mod records;

use headwater_types::text::{SHOWN, shortened};
use serde::Serialize;
use serde_json::Value as Json;
use uuid::Uuid;

use super::db::{Tx, Value, checksum};
use super::row_macs::{self, MacTable};
use super::{Access, Home, Pepper, StateError, now_ms};

pub use admins::AdminListing;
pub use credits::LostAnswer;
pub use keys::{Expiry, KeyListing, KeyStatus, NewKey};
pub use monthly_usage::{KeyUsage, Month, MonthlyUsage};
pub use records::{ChangeListing, Usage, UsageLine};

/// The back office, inside an open transaction.
pub struct AdminService<'o, 'tx> {
    tx: &'o mut Tx<'tx>,
    pepper: &'o Pepper,
    actor: &'o str,
    /// The state, for what is known of its servers by more than its database.
    home: Option<&'o Home>,
}

impl<'o, 'tx> AdminService<'o, 'tx> {
    /// `actor` is who the changes are made by, for the audit.
    pub fn new(tx: &'o mut Tx<'tx>, pepper: &'o Pepper, actor: &'o str) -> Self {
        Self { tx, pepper, actor, home: None }
    }

    /// The same beside servers that may run or not.
    fn of(home: &'o Home, tx: &'o mut Tx<'tx>, actor: &'o str) -> Self {
        Self { home: Some(home), ..Self::new(tx, home.pepper(), actor) }
    }

    /// A name of a key: whose it is.
    ///
    /// # Errors
    /// When it is empty, longer than 200 characters, or holds control characters.
    pub fn check_name(name: &str) -> Result<(), StateError> {
        const LONGEST: usize = 200;
        let length = name.chars().count();
        if (1..=LONGEST).contains(&length) && !name.chars().any(char::is_control) {
            return Ok(());
        }
        Err(StateError::BadName(shortened(name, SHOWN)))
    }

    /// The id of the row that a list continues behind, as lists show ids.
    ///
    /// # Errors
    /// When it is none.
    pub fn check_cursor(id: &str) -> Result<(), StateError> {
        match Uuid::try_parse(id) {
            Ok(parsed) if parsed.hyphenated().to_string() == id => Ok(()),
            Ok(_) | Err(_) => Err(StateError::BadCursor(shortened(id, SHOWN))),
        }
    }

    /// Seals a row that was changed.
    fn authenticate(&mut self, of: &MacTable, id: &str) -> Result<(), StateError> {
        row_macs::put(self.tx, self.pepper, of, id)
    }

    /// Notes a change, and returns replicas to look. Neither `before` nor `after` may hold a secret.
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
        values.push(checksum(&values).into());
        self.tx.execute(
            "INSERT INTO admin_audit (id, ts_ms, actor, action, target, before_json, after_json, checksum)
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
    /// Opens the back office for a question, which holds up nobody however long it takes.
    ///
    /// # Errors
    /// What `work` fails with, or the database.
    pub fn consult<T>(
        &self,
        work: impl FnOnce(&mut AdminService<'_, '_>) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let mut db = self.connect(Access::Read)?;
        db.transaction(|tx| work(&mut AdminService::of(self, tx, "")))
    }

    /// Opens the back office for one change. A server may be running on the same state.
    ///
    /// # Errors
    /// What `work` fails with, or the database.
    pub fn admin<T>(
        &self,
        actor: &str,
        work: impl FnOnce(&mut AdminService<'_, '_>) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let mut db = self.connect(Access::Write)?;
        db.transaction(|tx| work(&mut AdminService::of(self, tx, actor)))
    }
}

/// Returns whether this may be the id of anything: what cannot be one need not be looked for, and a database may not
/// even take it.
fn is_possible(id: &str) -> bool {
    const LONGEST: usize = 64;
    (1..=LONGEST).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

fn json(record: impl Serialize) -> Json {
    serde_json::to_value(record).expect("plain records have a JSON form")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

    #[test]
    fn a_name_is_text_of_one_line_and_an_id_is_found_or_unknown() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let make = |name: &str| home.admin("t", |admin| admin.create_key(name, Environment::Live, 0, None));
        for name in ["", "a\nb", "a\0b", "a\u{9b}b", &"x".repeat(201)] {
            assert!(matches!(make(name), Err(StateError::BadName(_))), "{name:?}");
            let made = home.admin("t", |admin| admin.create_admin(name));
            assert!(matches!(made, Err(StateError::BadName(_))), "{name:?}");
        }
        make(&"ä".repeat(200)).unwrap();
        for id in ["a\0b", "", &"x".repeat(65), "ä"] {
            let unknown = home.consult(|admin| admin.key(id));
            assert!(matches!(unknown, Err(StateError::UnknownKey(_))), "{id:?}");
            let unknown = home.admin("t", |admin| admin.refund(id));
            assert!(matches!(unknown, Err(StateError::UnknownCharge(_))), "{id:?}");
            let unknown = home.admin("t", |admin| admin.revoke_admin(id));
            assert!(matches!(unknown, Err(StateError::UnknownAdmin(_))), "{id:?}");
        }
    }

    #[test]
    fn list_resumes_behind_an_id_and_nothing_else() {
        let id = Uuid::now_v7();
        assert!(AdminService::check_cursor(&id.to_string()).is_ok());
        for junk in ["", "xyz", "a\0b", &id.simple().to_string(), &id.to_string().to_uppercase()] {
            assert!(matches!(AdminService::check_cursor(junk), Err(StateError::BadCursor(_))), "{junk:?}");
        }
    }

    #[test]
    fn what_revoked_an_admin_key_is_noted_with_both_sides() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let id = home.admin("t", |admin| admin.create_admin("ops")).unwrap().id;
        let revoke = || home.admin("t", |admin| admin.revoke_admin(&id)).unwrap();
        assert_eq!(revoke(), revoke(), "a key that is revoked stays as it is");
        let changes = home.consult(|admin| admin.changes(None, 2)).unwrap();
        let revoked_at = |side: &Option<String>| {
            let side: Json = serde_json::from_str(side.as_deref().unwrap()).unwrap();
            assert_eq!(side["name"], "ops");
            side["revoked_at"].as_i64()
        };
        let [again, first] = &changes[..] else { panic!("{changes:?}") };
        assert_eq!((revoked_at(&first.before), revoked_at(&first.after).is_some()), (None, true));
        assert_eq!(revoked_at(&again.before), revoked_at(&again.after));
    }
}
