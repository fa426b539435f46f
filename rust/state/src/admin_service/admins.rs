//! Keys of the people who run the service, for the admin listener.

use headwater_types::text::{SHOWN, shortened};
use serde::Serialize;
use serde_json::json;
use subtle::ConstantTimeEq;

use super::{AdminService, NewKey, is_possible, json as as_json};
use crate::{Environment, KeyText, Row, StateError, now_ms, row_macs};

/// An admin key as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdminListing {
    /// Public id.
    pub id: String,
    /// The name of its owner.
    pub name: String,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds; null while it is valid.
    pub revoked_at: Option<i64>,
}

impl AdminListing {
    fn read(row: &Row) -> Result<Self, StateError> {
        Ok(Self {
            id: row.text(0)?.to_owned(),
            name: row.text(1)?.to_owned(),
            created_at: row.int(2)?,
            revoked_at: row.maybe_int(3)?,
        })
    }
}

impl AdminService<'_, '_> {
    /// Makes an admin key.
    ///
    /// # Errors
    /// When the name cannot be, or the database fails.
    pub fn create_admin(&mut self, name: &str) -> Result<NewKey, StateError> {
        Self::check_name(name)?;
        let key = KeyText::generate(Environment::Admin)?;
        let digest = self.pepper.key_digest(&key);
        self.tx.execute(
            "INSERT INTO admin_key (id, name, digest, created_at) VALUES (?1, ?2, ?3, ?4)",
            &[key.id().into(), name.into(), (&digest).into(), (now_ms() / 1000).into()],
        )?;
        self.authenticate(&row_macs::ADMINS, key.id())?;
        self.changed("admin.create", key.id(), None, Some(&json!({"name": name})))?;
        Ok(NewKey { id: key.id().to_owned(), name: name.to_owned(), key, credits: 0, expires_at: None })
    }

    /// All admin keys, oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn list_admins(&mut self) -> Result<Vec<AdminListing>, StateError> {
        let rows =
            self.tx.rows("SELECT id, name, created_at, revoked_at FROM admin_key ORDER BY created_at, id", &[])?;
        rows.iter().map(AdminListing::read).collect()
    }

    /// Revokes an admin key. One that is revoked already stays as it is.
    ///
    /// # Errors
    /// When the key is unknown.
    pub fn revoke_admin(&mut self, id: &str) -> Result<AdminListing, StateError> {
        let before = self.admin(id)?;
        self.tx.execute(
            "UPDATE admin_key SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1",
            &[id.into(), (now_ms() / 1000).into()],
        )?;
        self.authenticate(&row_macs::ADMINS, id)?;
        let after = self.admin(id)?;
        self.changed("admin.revoke", id, Some(&as_json(&before)), Some(&as_json(&after)))?;
        Ok(after)
    }

    fn admin(&mut self, id: &str) -> Result<AdminListing, StateError> {
        let unknown = || StateError::UnknownAdmin(shortened(id, SHOWN));
        if !is_possible(id) {
            return Err(unknown());
        }
        let row = self.tx.row("SELECT id, name, created_at, revoked_at FROM admin_key WHERE id = ?1", &[id.into()])?;
        AdminListing::read(&row.ok_or_else(unknown)?)
    }

    /// The id of an admin key that is good; `None` when it is not.
    ///
    /// # Errors
    /// When the database fails.
    pub fn identify_admin(&mut self, text: &str) -> Result<Option<String>, StateError> {
        let Some(key) = KeyText::parse(text).filter(|key| key.environment() == Environment::Admin) else {
            return Ok(None);
        };
        let digest = self.pepper.key_digest(&key);
        let row = self.tx.row("SELECT digest, revoked_at FROM admin_key WHERE id = ?1", &[key.id().into()])?;
        // An unknown id takes as long as a wrong secret.
        let expected = row.as_ref().map_or(Ok([0; 32]), |row| row.digest(0))?;
        let same = bool::from(digest.ct_eq(&expected));
        let valid = row.is_some_and(|row| row.maybe_int(1).is_ok_and(|revoked| revoked.is_none()));
        Ok((same && valid).then(|| key.id().to_owned()))
    }
}
