//! Keys: made, listed, revoked, rotated.

use headwater_types::text::{SHOWN, shortened};
use headwater_types::{TimeWindow, Timestamp};
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
    /// Unix seconds: from then on it is refused; null while nothing ends it.
    pub expires_at: Option<i64>,
    /// Unix seconds; null while it is valid.
    pub revoked_at: Option<i64>,
    /// Id of the key that takes its place.
    pub rotated_to: Option<String>,
    /// Its validity now.
    pub status: KeyStatus,
}

/// The validity of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyStatus {
    /// It is accepted.
    Active,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked,
}

impl KeyStatus {
    const fn of(expires_at: Option<i64>, revoked_at: Option<i64>, now_secs: i64) -> Self {
        match (revoked_at, expires_at) {
            (Some(_), _) => Self::Revoked,
            (None, Some(end)) if now_secs >= end => Self::Expired,
            (None, _) => Self::Active,
        }
    }

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

/// The end of a key that takes the place of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// The end that the key before it had, or none.
    Inherited,
    /// No end.
    Never,
    /// This end, in Unix seconds.
    At(i64),
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
    /// Unix seconds: from then on it is refused.
    pub expires_at: Option<i64>,
}

const LISTING: &str = "SELECT api_key.id, api_key.name, environment, plan, balance, api_key.created_at, expires_at, \
                       revoked_at, rotated_to
                       FROM api_key JOIN account ON account.id = account_id ORDER BY api_key.created_at, api_key.id";

impl KeyListing {
    fn read(row: &Row) -> Result<Self, StateError> {
        let (expires_at, revoked_at) = (row.maybe_int(6)?, row.maybe_int(7)?);
        Ok(Self {
            id: row.text(0)?.to_owned(),
            name: row.text(1)?.to_owned(),
            environment: row.text(2)?.to_owned(),
            plan: row.text(3)?.to_owned(),
            credits: row.int(4)?,
            created_at: row.int(5)?,
            expires_at,
            revoked_at,
            rotated_to: row.maybe_text(8)?.map(str::to_owned),
            status: KeyStatus::of(expires_at, revoked_at, now_ms() / 1000),
        })
    }
}

impl AdminService<'_, '_> {
    /// Makes an account with a key that does not expire, and gives it credits.
    ///
    /// # Errors
    /// As [`AdminService::create_expiring_key`].
    pub fn create_key(
        &mut self,
        name: &str,
        environment: Environment,
        credits: i64,
        plan: Option<&str>,
    ) -> Result<NewKey, StateError> {
        self.create_expiring_key(name, environment, credits, plan, None)
    }

    /// Makes an account with a key and gives it credits. From `expires_at` on, in Unix seconds, the key is refused.
    ///
    /// # Errors
    /// When the name cannot be, `credits` is negative, the plan is unknown, the key would have expired already, or the
    /// database fails.
    pub fn create_expiring_key(
        &mut self,
        name: &str,
        environment: Environment,
        credits: i64,
        plan: Option<&str>,
        expires_at: Option<i64>,
    ) -> Result<NewKey, StateError> {
        Self::check_name(name)?;
        expires_at.map_or(Ok(()), check_expiry)?;
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
        let key = self.insert_key(account, name, environment, expires_at)?;
        if credits > 0 {
            self.book(account, Some(key.id()), Kind::Grant, credits)?;
        }
        let environment = environment.name();
        let after = json!({
            "name": name, "environment": environment, "credits": credits, "plan": plan, "expires_at": expires_at
        });
        self.changed("keys.create", key.id(), None, Some(&after))?;
        Ok(NewKey { id: key.id().to_owned(), name: name.to_owned(), key, credits, expires_at })
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

    /// Makes a key that takes the place of another on the same account; the old one is good for `grace_secs` more, though
    /// never longer than it would have been. One that has expired can be replaced by a key with another end.
    ///
    /// # Errors
    /// When the key is unknown, revoked or was rotated already, and when the new one would have expired already.
    pub fn rotate_key(&mut self, id: &str, grace_secs: u32, expiry: Expiry) -> Result<NewKey, StateError> {
        let before = self.locked_key(id)?;
        let now = now_ms() / 1000;
        if before.revoked_at.is_some() || before.rotated_to.is_some() {
            return Err(StateError::DeadKey(id.to_owned()));
        }
        let expires_at = match (expiry, before.expires_at) {
            (Expiry::Inherited, Some(at)) if now >= at => {
                return Err(StateError::ExpiredKey { id: id.to_owned(), at: Timestamp::new(at) });
            }
            (Expiry::Inherited, end) => end,
            (Expiry::Never, _) => None,
            (Expiry::At(end), _) => {
                check_expiry(end)?;
                Some(end)
            }
        };
        let account = self.account_of(id)?;
        let environment = Environment::parse(&before.environment).unwrap_or(Environment::Live);
        let key = self.insert_key(account, &before.name, environment, expires_at)?;
        let grace_end = now + i64::from(grace_secs);
        let old_end = before.expires_at.map_or(grace_end, |end| end.min(grace_end));
        self.tx.execute(
            "UPDATE api_key SET expires_at = ?2, rotated_to = ?3 WHERE id = ?1",
            &[id.into(), old_end.into(), key.id().into()],
        )?;
        self.authenticate(&row_macs::KEYS, id)?;
        let after = self.key(id)?;
        self.changed("keys.rotate", id, Some(&as_json(&before)), Some(&as_json(&after)))?;
        Ok(NewKey { id: key.id().to_owned(), name: before.name, key, credits: before.credits, expires_at })
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

    fn insert_key(
        &mut self,
        account: i64,
        name: &str,
        environment: Environment,
        expires_at: Option<i64>,
    ) -> Result<KeyText, StateError> {
        let key = KeyText::generate(environment)?;
        let digest = self.pepper.key_digest(&key);
        self.tx.execute(
            "INSERT INTO api_key (id, account_id, name, environment, digest, created_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            &[
                key.id().into(),
                account.into(),
                name.into(),
                environment.name().into(),
                (&digest).into(),
                (now_ms() / 1000).into(),
                expires_at.into(),
            ],
        )?;
        self.authenticate(&row_macs::KEYS, key.id())?;
        Ok(key)
    }
}

/// Checks that a key can expire at `secs`: later than now, and not at a time that milliseconds would say.
fn check_expiry(secs: i64) -> Result<(), StateError> {
    let now = now_ms() / 1000;
    if secs > now && secs <= TimeWindow::LAST_SECS {
        return Ok(());
    }
    Err(StateError::BadExpiry { secs, now: Timestamp::new(now) })
}

pub(super) fn possible(id: &str) -> Result<(), StateError> {
    if is_possible(id) { Ok(()) } else { Err(StateError::UnknownKey(shortened(id, SHOWN))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Home, Options, Refusal, State};

    const DAY: i64 = 86_400;

    fn now() -> i64 {
        now_ms() / 1000
    }

    #[test]
    fn expiring_key_is_refused_from_its_second_on() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let end = now() + 90 * DAY;
        let make = |end| home.admin("t", |admin| admin.create_expiring_key("t", Environment::Live, 0, None, end));
        let (made, endless) = (make(Some(end)).unwrap(), make(None).unwrap());
        let state = State::start(&home, Options::default(), Box::new(|| ())).unwrap();
        let identify = |key: &NewKey, at| state.accounts().identify(key.key.expose(), at).map(|caller| caller.key_id());
        assert!(identify(&made, end - 1).is_ok() && state.accounts().is_good(&made.id, end - 1));
        assert_eq!(identify(&made, end).unwrap_err(), Refusal::Expired(end));
        assert!(!state.accounts().is_good(&made.id, end) && state.accounts().holder(&made.id, end).is_none());
        assert!(identify(&endless, end).is_ok());
        state.close();
    }

    #[test]
    #[expect(clippy::redundant_closure_for_method_calls, reason = "`AdminService` has two lifetimes")]
    fn key_cannot_expire_before_now_or_in_milliseconds() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        for end in [-1, 0, now(), (now() + DAY) * 1000] {
            let made = home.admin("t", |admin| admin.create_expiring_key("t", Environment::Live, 0, None, Some(end)));
            assert!(matches!(made, Err(StateError::BadExpiry { secs, .. }) if secs == end), "{made:?}");
        }
        assert_eq!(home.consult(|admin| admin.list_keys()).unwrap(), [], "no account was made");
    }

    #[test]
    fn rotation_never_lengthens_the_life_of_a_key_unasked() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let end = now() + DAY;
        let make = || home.admin("t", |admin| admin.create_expiring_key("t", Environment::Live, 0, None, Some(end)));
        let key = |id: &str| home.consult(|admin| admin.key(id)).unwrap();
        let rotate = |id: &str, grace, expiry| home.admin("t", |admin| admin.rotate_key(id, grace, expiry));
        // A grace of a week would be longer than the day that is left.
        let old = make().unwrap();
        let new = rotate(&old.id, 7 * 86_400, Expiry::Inherited).unwrap();
        assert_eq!((key(&old.id).expires_at, new.expires_at), (Some(end), Some(end)));
        let old = make().unwrap();
        let (later, begun) = (end + DAY, now());
        let new = rotate(&old.id, 3600, Expiry::At(later)).unwrap();
        let old_end = key(&old.id).expires_at.unwrap();
        assert!((begun + 3600..=now() + 3600).contains(&old_end), "{old_end}");
        assert_eq!(key(&new.id).expires_at, Some(later));
        assert_eq!(rotate(&make().unwrap().id, 0, Expiry::Never).unwrap().expires_at, None);
        let refused = rotate(&make().unwrap().id, 0, Expiry::At(begun - 1));
        assert!(matches!(refused, Err(StateError::BadExpiry { .. })), "{refused:?}");
    }

    #[test]
    fn expired_key_is_replaced_by_one_with_another_end() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let made = home.admin("t", |admin| admin.create_key("t", Environment::Live, 70, None)).unwrap();
        let past = now() - DAY;
        home.admin("t", |admin| {
            admin.tx.execute("UPDATE api_key SET expires_at = ?1", &[past.into()])?;
            admin.authenticate(&row_macs::KEYS, &made.id)
        })
        .unwrap();
        let key = |id: &str| home.consult(|admin| admin.key(id)).unwrap();
        let rotate = |id: &str, expiry| home.admin("t", |admin| admin.rotate_key(id, 3600, expiry));
        assert_eq!(key(&made.id).status, KeyStatus::Expired);
        let refused = rotate(&made.id, Expiry::Inherited).unwrap_err().to_string();
        assert!(refused.contains(&Timestamp::new(past).to_string()) && refused.contains("--expires"), "{refused}");
        let new = rotate(&made.id, Expiry::Never).unwrap();
        assert_eq!((key(&new.id).credits, key(&new.id).status), (70, KeyStatus::Active), "on the same account");
        assert_eq!(key(&made.id).expires_at, Some(past), "the grace does not bring the old one back");
        assert!(matches!(rotate(&made.id, Expiry::Never), Err(StateError::DeadKey(_))));
        home.admin("t", |admin| admin.revoke_key(&made.id)).unwrap();
        assert_eq!(key(&made.id).status, KeyStatus::Revoked);
    }
}
