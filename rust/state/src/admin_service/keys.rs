//! Keys: made, listed, revoked, rotated.

use headwater_types::text::{SHOWN, shortened};
use serde::Serialize;
use serde_json::json;

use super::{AdminService, is_possible, json as as_json};
use crate::ledger::{GENESIS, Kind};
use crate::plan::DEFAULT_PLAN;
use crate::{Environment, KeyText, Row, StateError, now_ms, row_macs};

/// A key as lists show it: never its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyListing {
    /// Public id.
    pub id: String,
    /// Name given at creation.
    pub name: String,
    /// `live` or `test`.
    pub environment: String,
    /// Plan of its account.
    pub plan: String,
    /// Credits left.
    pub credits: i64,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds; null while nothing ends it.
    pub expires_at: Option<i64>,
    /// Unix seconds; null while it is valid.
    pub revoked_at: Option<i64>,
    /// Id of the key that takes its place.
    pub rotated_to: Option<String>,
}

/// A key that was just made.
#[derive(Debug)]
pub struct NewKey {
    /// Public id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The whole key: the only time it is there.
    pub key: KeyText,
    /// Credits of its account.
    pub credits: i64,
}

const LISTING: &str = "SELECT api_key.id, api_key.name, environment, plan, balance, api_key.created_at, expires_at, \
                       revoked_at, rotated_to
                       FROM api_key JOIN account ON account.id = account_id ORDER BY api_key.created_at, api_key.id";

impl KeyListing {
    fn read(row: &Row) -> Result<Self, StateError> {
        Ok(Self {
            id: row.text(0)?.to_owned(),
            name: row.text(1)?.to_owned(),
            environment: row.text(2)?.to_owned(),
            plan: row.text(3)?.to_owned(),
            credits: row.int(4)?,
            created_at: row.int(5)?,
            expires_at: row.maybe_int(6)?,
            revoked_at: row.maybe_int(7)?,
            rotated_to: row.maybe_text(8)?.map(str::to_owned),
        })
    }
}

impl AdminService<'_, '_> {
    /// Makes an account with a key and gives it credits.
    ///
    /// # Errors
    /// When the name cannot be, `credits` is negative, the plan is unknown, or the database fails.
    pub fn create_key(
        &mut self,
        name: &str,
        environment: Environment,
        credits: i64,
        plan: Option<&str>,
    ) -> Result<NewKey, StateError> {
        Self::check_name(name)?;
        if credits < 0 {
            return Err(StateError::BadAmount { amount: credits });
        }
        let plan = plan.unwrap_or(DEFAULT_PLAN);
        self.known_plan(plan)?;
        let row = self.tx.row(
            "INSERT INTO account (name, balance, head, created_at, plan) VALUES (?1, 0, ?2, ?3, ?4) RETURNING id",
            &[name.into(), (&GENESIS).into(), (now_ms() / 1000).into(), plan.into()],
        )?;
        let account = row.ok_or(StateError::Closed)?.int(0)?;
        self.authenticate(&row_macs::ACCOUNTS, &account.to_string())?;
        let key = self.insert_key(account, name, environment)?;
        if credits > 0 {
            self.book(account, Some(key.id()), Kind::Grant, credits)?;
        }
        let after = json!({"name": name, "environment": environment.name(), "credits": credits, "plan": plan});
        self.changed("keys.create", key.id(), None, Some(&after))?;
        Ok(NewKey { id: key.id().to_owned(), name: name.to_owned(), key, credits })
    }

    /// All keys, oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn list_keys(&mut self) -> Result<Vec<KeyListing>, StateError> {
        self.tx.rows(LISTING, &[])?.iter().map(KeyListing::read).collect()
    }

    /// Revokes a key: the next request with it is refused. A key that is revoked already stays as it is.
    ///
    /// # Errors
    /// When the key is unknown.
    pub fn revoke_key(&mut self, id: &str) -> Result<KeyListing, StateError> {
        let before = self.locked_key(id)?;
        self.tx.execute(
            "UPDATE api_key SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1",
            &[id.into(), (now_ms() / 1000).into()],
        )?;
        self.authenticate(&row_macs::KEYS, id)?;
        let after = self.key(id)?;
        self.changed("keys.revoke", id, Some(&as_json(&before)), Some(&as_json(&after)))?;
        Ok(after)
    }

    /// Makes a key that takes the place of another on the same account; the old one is good for `grace_secs` more.
    ///
    /// # Errors
    /// When the key is unknown, or no longer valid.
    pub fn rotate_key(&mut self, id: &str, grace_secs: u32) -> Result<NewKey, StateError> {
        let before = self.locked_key(id)?;
        let now = now_ms() / 1000;
        let is_dead = before.revoked_at.is_some()
            || before.rotated_to.is_some()
            || before.expires_at.is_some_and(|end| now >= end);
        if is_dead {
            return Err(StateError::DeadKey(id.to_owned()));
        }
        let account = self.account_of(id)?;
        let environment = Environment::parse(&before.environment).unwrap_or(Environment::Live);
        let key = self.insert_key(account, &before.name, environment)?;
        self.tx.execute(
            "UPDATE api_key SET expires_at = ?2, rotated_to = ?3 WHERE id = ?1",
            &[id.into(), (now + i64::from(grace_secs)).into(), key.id().into()],
        )?;
        self.authenticate(&row_macs::KEYS, id)?;
        let after = self.key(id)?;
        self.changed("keys.rotate", id, Some(&as_json(&before)), Some(&as_json(&after)))?;
        Ok(NewKey { id: key.id().to_owned(), name: before.name, key, credits: before.credits })
    }

    /// A key by its id.
    ///
    /// # Errors
    /// When the key is unknown.
    pub fn key(&mut self, id: &str) -> Result<KeyListing, StateError> {
        possible(id)?;
        let row = self.tx.row(
            "SELECT api_key.id, api_key.name, environment, plan, balance, api_key.created_at, expires_at, revoked_at,
                    rotated_to
             FROM api_key JOIN account ON account.id = account_id WHERE api_key.id = ?1",
            &[id.into()],
        )?;
        KeyListing::read(&row.ok_or_else(|| StateError::UnknownKey(id.to_owned()))?)
    }

    /// A key as it is until the transaction ends.
    fn locked_key(&mut self, id: &str) -> Result<KeyListing, StateError> {
        possible(id)?;
        self.tx.row("SELECT id FROM api_key WHERE id = ?1 /*lock*/", &[id.into()])?;
        self.key(id)
    }

    pub(super) fn account_of(&mut self, key_id: &str) -> Result<i64, StateError> {
        possible(key_id)?;
        let row = self.tx.row("SELECT account_id FROM api_key WHERE id = ?1", &[key_id.into()])?;
        row.ok_or_else(|| StateError::UnknownKey(key_id.to_owned()))?.int(0)
    }

    fn insert_key(&mut self, account: i64, name: &str, environment: Environment) -> Result<KeyText, StateError> {
        let key = KeyText::generate(environment)?;
        let digest = self.pepper.key_digest(&key);
        self.tx.execute(
            "INSERT INTO api_key (id, account_id, name, environment, digest, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            &[
                key.id().into(),
                account.into(),
                name.into(),
                environment.name().into(),
                (&digest).into(),
                (now_ms() / 1000).into(),
            ],
        )?;
        self.authenticate(&row_macs::KEYS, key.id())?;
        Ok(key)
    }
}

fn possible(id: &str) -> Result<(), StateError> {
    if is_possible(id) { Ok(()) } else { Err(StateError::UnknownKey(shortened(id, SHOWN))) }
}
