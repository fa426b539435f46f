//! What the gateway holds in memory: who may call, and what is left of whose credits.
//!
//! The database is the truth. Balances here follow it in the order of commits, since only the writer's thread
//! changes them; what requests hold in reserve lives here alone and is nothing after a restart.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use rusqlite::Connection;
use subtle::ConstantTimeEq;

use super::{KeyText, Pepper};

/// A key that was shown and found good.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Id of the key.
    pub key_id: Arc<str>,
    /// The account that pays.
    pub account: Arc<Account>,
}

/// Why a key is not good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It has not the form of a key, or its checksum does not fit.
    Malformed,
    /// No such key, or not this secret.
    Unknown,
    /// It was revoked.
    Revoked,
    /// Its time is over.
    Expired,
}

#[derive(Debug)]
struct KeyRecord {
    id: Arc<str>,
    digest: [u8; 32],
    account: Arc<Account>,
    revoked: bool,
    expires_at_secs: Option<i64>,
}

/// An account with its credits.
#[derive(Debug)]
pub struct Account {
    id: i64,
    funds: Mutex<Funds>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Funds {
    balance: i64,
    held: i64,
}

impl Account {
    fn new(id: i64) -> Self {
        Self { id, funds: Mutex::default() }
    }

    /// Number of the account in the database.
    #[must_use]
    pub const fn id(&self) -> i64 {
        self.id
    }

    /// Credits left, what is held in reserve included.
    #[must_use]
    pub fn balance(&self) -> i64 {
        self.funds().balance
    }

    /// Credits held by requests under way.
    #[must_use]
    pub fn held(&self) -> i64 {
        self.funds().held
    }

    /// Holds `cost` credits for a request; `None` when what is not yet held does not cover it.
    #[must_use]
    pub fn reserve(self: &Arc<Self>, cost: i64) -> Option<Hold> {
        let mut funds = self.funds();
        if funds.balance - funds.held < cost {
            return None;
        }
        funds.held += cost;
        drop(funds);
        Some(Hold { account: Arc::clone(self), cost })
    }

    fn funds(&self) -> MutexGuard<'_, Funds> {
        // No code panics while it holds the lock with half a change done.
        self.funds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Credits held for one request. Dropped without being settled, it gives them back: that is how every end but a
/// committed answer costs nothing.
#[derive(Debug)]
pub struct Hold {
    account: Arc<Account>,
    cost: i64,
}

impl Hold {
    /// What is held.
    #[must_use]
    pub const fn cost(&self) -> i64 {
        self.cost
    }

    /// The account that pays.
    #[must_use]
    pub const fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// The charge is committed: the balance is now `balance`, and the hold ends.
    pub(super) fn settle(mut self, balance: i64) {
        let mut funds = self.account.funds();
        funds.balance = balance;
        funds.held -= self.cost;
        drop(funds);
        self.cost = 0;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.account.funds().held -= self.cost;
    }
}

/// All keys and accounts.
#[derive(Debug)]
pub struct Book {
    pepper: Pepper,
    keys: ArcSwap<HashMap<String, KeyRecord>>,
    /// Compared with when the id is unknown, so that an unknown id takes as long as a wrong secret.
    nobody: [u8; 32],
}

impl Book {
    pub(super) fn new(pepper: Pepper) -> Self {
        let nobody = pepper.digest(&[b"nobody"]);
        Self { pepper, keys: ArcSwap::default(), nobody }
    }

    /// Finds who shows a key. Costs no look-up in the database.
    ///
    /// # Errors
    /// A [`Refusal`], which says more than a client may be told unless the secret was right.
    pub fn identify(&self, text: &str, now_secs: i64) -> Result<Caller, Refusal> {
        let key = KeyText::parse(text).ok_or(Refusal::Malformed)?;
        let digest = self.pepper.key_digest(&key);
        let keys = self.keys.load();
        let record = keys.get(key.id());
        let expected = record.map_or(&self.nobody, |record| &record.digest);
        let same = bool::from(digest.ct_eq(expected));
        match record {
            Some(record) if same => {
                if record.revoked {
                    Err(Refusal::Revoked)
                } else if record.expires_at_secs.is_some_and(|end| now_secs >= end) {
                    Err(Refusal::Expired)
                } else {
                    Ok(Caller { key_id: Arc::clone(&record.id), account: Arc::clone(&record.account) })
                }
            }
            _ => Err(Refusal::Unknown),
        }
    }

    /// A digest of request parameters for the audit: equal for equal ones, and useless without the pepper.
    #[must_use]
    pub fn parameter_hash(&self, endpoint: &str, parameters: &[u8]) -> [u8; 32] {
        self.pepper.digest(&[b"parameters", endpoint.as_bytes(), parameters])
    }

    /// Reads keys and balances anew. Only the thread that commits may call it, else it could bring back a balance
    /// that a commit has changed since.
    pub(super) fn load(&self, connection: &Connection) -> rusqlite::Result<()> {
        let old = self.keys.load();
        let mut accounts: HashMap<i64, Arc<Account>> =
            old.values().map(|record| (record.account.id, Arc::clone(&record.account))).collect();
        let mut statement = connection.prepare_cached(
            "SELECT api_key.id, digest, expires_at, revoked_at IS NOT NULL, account_id, balance
             FROM api_key JOIN account ON account.id = account_id",
        )?;
        let mut rows = statement.query([])?;
        let mut keys = HashMap::with_capacity(old.len());
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            let account_id: i64 = row.get(4)?;
            let account = accounts.entry(account_id).or_insert_with(|| Arc::new(Account::new(account_id)));
            account.funds().balance = row.get(5)?;
            let record = KeyRecord {
                id: id.as_str().into(),
                digest: row.get(1)?,
                account: Arc::clone(account),
                revoked: row.get(3)?,
                expires_at_secs: row.get(2)?,
            };
            keys.insert(id, record);
        }
        self.keys.store(Arc::new(keys));
        Ok(())
    }

    /// All credits held by requests under way, over all accounts.
    #[must_use]
    pub fn held(&self) -> i64 {
        let keys = self.keys.load();
        let accounts: HashMap<i64, &Arc<Account>> =
            keys.values().map(|record| (record.account.id, &record.account)).collect();
        accounts.values().map(|account| account.held()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(balance: i64) -> Arc<Account> {
        let account = Arc::new(Account::new(1));
        account.funds().balance = balance;
        account
    }

    #[test]
    fn what_is_held_cannot_be_held_twice() {
        let account = account(10);
        let first = account.reserve(5).unwrap();
        let second = account.reserve(5).unwrap();
        assert!(account.reserve(5).is_none());
        drop(first);
        assert_eq!((account.balance(), account.held()), (10, 5));
        second.settle(5);
        assert_eq!((account.balance(), account.held()), (5, 0));
        assert!(account.reserve(5).is_some());
        assert!(account.reserve(6).is_none());
    }

    #[test]
    fn a_hold_ends_with_whoever_has_it_even_in_a_panic() {
        let account = account(10);
        let hold = account.reserve(5);
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _hold = hold;
            panic!("a handler breaks");
        }));
        assert!(ended.is_err());
        assert_eq!(account.held(), 0);
    }
}
