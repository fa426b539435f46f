//! The accounts that the gateway holds in memory: who may call, and how many credits are left.
//!
//! The database is the truth. Balances here follow it in the order of commits, since only the writer's thread
//! changes them; what requests hold in reserve lives here alone and is nothing after a restart.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use foldhash::quality::RandomState;

use super::db::Tx;
use super::plan::{self, Plan};
use super::{KeyId, KeyText, Pepper, StateError};
use crate::clock::milliseconds;

/// A caller who showed a valid key.
#[derive(Debug, Clone)]
pub struct Caller(Arc<KeyRecord>);

impl Caller {
    /// Id of the key.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.0.id
    }

    /// The account that pays.
    #[must_use]
    pub fn account(&self) -> &Arc<Account> {
        &self.0.account
    }

    /// Returns what its keys may do; `None` where the configuration says it.
    #[must_use]
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.0.plan.as_ref()
    }
}

/// The reason why a key is not good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It has not the form of a key, or its checksum does not fit.
    Malformed,
    /// No such key, or not this secret.
    Unknown,
    /// It was revoked.
    Revoked,
    /// Its time is over, since then in Unix seconds.
    Expired(i64),
    /// The key cannot be checked: the shared database has not been seen for a while.
    Unverified,
}

#[derive(Debug)]
struct KeyRecord {
    id: KeyId,
    account: Arc<Account>,
    plan: Option<Arc<Plan>>,
    revoked: bool,
    expires_at_secs: Option<i64>,
}

/// An account with its credits.
#[derive(Debug)]
pub struct Account {
    id: i64,
    /// As the last commit left it. Changed under the lock of the funds, read without it by every answer.
    balance: AtomicI64,
    /// True once somebody asked for it.
    asked: AtomicBool,
    funds: Mutex<Funds>,
}

/// `spendable` is what this process may spend: the balance where it has the database for itself, what it was lent of
/// it where replicas share one.
#[derive(Debug, Clone, Copy, Default)]
struct Funds {
    spendable: i64,
    held: i64,
    /// Grows when all that was lent is called in: what was held of it cannot be settled any more.
    loans: u64,
}

impl Account {
    const fn new(id: i64) -> Self {
        let asked = AtomicBool::new(false);
        Self { id, balance: AtomicI64::new(0), asked, funds: Mutex::new(Funds { spendable: 0, held: 0, loans: 0 }) }
    }

    /// Number of the account in the database.
    #[must_use]
    pub const fn id(&self) -> i64 {
        self.id
    }

    /// Credits left as last seen, what is held in reserve included.
    #[must_use]
    pub fn balance(&self) -> i64 {
        // Most often it is set already: a look disturbs no other core.
        if !self.asked.load(Ordering::Relaxed) {
            self.asked.store(true, Ordering::Relaxed);
        }
        self.balance.load(Ordering::Relaxed)
    }

    /// The balance is as the database has it now.
    pub(super) fn saw(&self, balance: i64) {
        self.balance.store(balance, Ordering::Relaxed);
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
        if funds.spendable - funds.held < cost {
            return None;
        }
        funds.held += cost;
        let loan = funds.loans;
        drop(funds);
        Some(Hold { account: Arc::clone(self), cost, loan })
    }

    /// Returns what this process may spend without asking, less what is held.
    pub(super) fn spare(&self) -> i64 {
        let funds = self.funds();
        funds.spendable - funds.held
    }

    /// More or less may be spent here; the balance is as the database has it.
    pub(super) fn lend(&self, change: i64, balance: i64) {
        let mut funds = self.funds();
        funds.spendable += change;
        self.balance.store(balance, Ordering::Relaxed);
    }

    /// Nothing may be spent here any more until it is lent again.
    pub(super) fn call_in(&self) {
        let mut funds = self.funds();
        funds.spendable = 0;
        funds.loans += 1;
    }

    /// The same, unless something is held; returns whether it was done.
    pub(super) fn call_in_idle(&self) -> bool {
        let mut funds = self.funds();
        let idle = funds.held == 0;
        if idle {
            funds.spendable = 0;
            funds.loans += 1;
        }
        idle
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
    loan: u64,
}

impl Hold {
    /// Returns what is held.
    #[must_use]
    pub const fn cost(&self) -> i64 {
        self.cost
    }

    /// The account that pays.
    #[must_use]
    pub const fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Returns whether what is held may still be settled.
    pub(super) fn is_current(&self) -> bool {
        self.account.funds().loans == self.loan
    }

    /// The same hold over no more than `cost`: the rest is given back at once.
    #[must_use]
    pub fn lowered_to(mut self, cost: i64) -> Self {
        let kept = cost.clamp(0, self.cost);
        if kept < self.cost {
            self.account.funds().held -= self.cost - kept;
            self.cost = kept;
        }
        self
    }

    /// The charge is committed: the balance is now `balance`, and the hold ends.
    pub(super) fn settle(mut self, balance: i64) {
        let mut funds = self.account.funds();
        self.account.balance.store(balance, Ordering::Relaxed);
        if funds.loans == self.loan {
            funds.spendable -= self.cost;
        }
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

/// The time for which a replica that does not see the shared database trusts its copy of the keys.
const TRUSTED_MS: u64 = 5_000;

/// Keys as requests find them.
#[derive(Debug, Default)]
struct Roster {
    /// Entries by the digest of the whole key. Without the pepper nobody can aim at an entry, so the time of a look-up
    /// reveals nothing of which part of a key was right: an unknown id and a wrong last letter go the same way.
    by_digest: HashMap<[u8; 32], Arc<KeyRecord>, RandomState>,
    by_id: HashMap<KeyId, Arc<KeyRecord>>,
    /// The plans of accounts, where they are stored.
    plans: HashMap<i64, Arc<Plan>>,
}

/// All keys and accounts.
#[derive(Debug)]
pub struct AccountCache {
    pepper: Pepper,
    keys: ArcSwap<Roster>,
    accounts: Mutex<HashMap<i64, Arc<Account>>>,
    /// True if replicas share the database.
    shared: bool,
    /// When the database was last seen, by the clock of the gateway.
    seen_ms: AtomicU64,
}

impl AccountCache {
    pub(super) fn new(pepper: Pepper, shared: bool) -> Self {
        Self {
            pepper,
            keys: ArcSwap::default(),
            accounts: Mutex::default(),
            shared,
            seen_ms: AtomicU64::new(milliseconds()),
        }
    }

    /// Finds who shows a key. Costs no look-up in the database.
    ///
    /// # Errors
    /// A [`Refusal`], which says more than a client may learn unless the secret was right.
    pub fn identify(&self, text: &str, now_secs: i64) -> Result<Caller, Refusal> {
        let digest = self.pepper.key_digest(&KeyText::parse(text).ok_or(Refusal::Malformed)?);
        self.holder_of(&digest, now_secs)
    }

    fn holder_of(&self, digest: &[u8; 32], now_secs: i64) -> Result<Caller, Refusal> {
        self.check_seen()?;
        let keys = self.keys.load();
        let key = keys.by_digest.get(digest).ok_or(Refusal::Unknown)?;
        if key.revoked {
            return Err(Refusal::Revoked);
        }
        if let Some(end) = key.expires_at_secs.filter(|end| now_secs >= *end) {
            return Err(Refusal::Expired(end));
        }
        Ok(Caller(Arc::clone(key)))
    }

    /// Refuses to say who is good when the shared database was not seen for too long.
    fn check_seen(&self) -> Result<(), Refusal> {
        let since_ms = || milliseconds().saturating_sub(self.seen_ms.load(Ordering::Acquire));
        if self.shared && since_ms() > TRUSTED_MS { Err(Refusal::Unverified) } else { Ok(()) }
    }

    /// Returns whether a key that was good is so still, for connections that stay open.
    #[must_use]
    pub fn is_good(&self, key_id: &str, now_secs: i64) -> bool {
        let keys = self.keys.load();
        keys.by_id.get(key_id).is_some_and(|key| !key.revoked && key.expires_at_secs.is_none_or(|end| now_secs < end))
    }

    /// The holder of a key that is good, by its id: for who showed it in another form before.
    #[must_use]
    pub fn holder(&self, key_id: &str, now_secs: i64) -> Option<Caller> {
        if !self.is_good(key_id, now_secs) {
            return None;
        }
        let keys = self.keys.load();
        keys.by_id.get(key_id).map(|record| Caller(Arc::clone(record)))
    }

    /// Returns what the keys of an account may do; `None` where the configuration says it.
    #[must_use]
    pub fn plan_of(&self, account: i64) -> Option<Arc<Plan>> {
        self.keys.load().plans.get(&account).map(Arc::clone)
    }

    /// Notes that the shared database answered what it was asked at that time, by [`milliseconds`]:
    /// what it says is as old as the question.
    pub(super) fn seen(&self, asked_ms: u64) {
        self.seen_ms.store(asked_ms, Ordering::Release);
    }

    /// The account of this number, whoever asks first for it.
    pub(super) fn account(&self, id: i64) -> Arc<Account> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(accounts.entry(id).or_insert_with(|| Arc::new(Account::new(id))))
    }

    /// Reads keys, plans and balances anew. Only the thread that commits may call it, else it could bring back a
    /// balance that a commit has changed since.
    pub(super) fn load(&self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        let asked_ms = milliseconds();
        let plans = plan::read_all(tx)?;
        let rows = tx.rows(
            "SELECT api_key.id, digest, expires_at, revoked_at, account_id, balance, plan
             FROM api_key JOIN account ON account.id = account_id",
            &[],
        )?;
        let mut keys = Roster::default();
        for row in &rows {
            let id = row.text(0)?;
            let id = KeyId::from(id).map_err(|_| StateError::CorruptRow { table: "api_key", id: id.to_owned() })?;
            let account = self.account(row.int(4)?);
            let balance = row.int(5)?;
            {
                let mut funds = account.funds();
                account.balance.store(balance, Ordering::Relaxed);
                if !self.shared {
                    funds.spendable = balance;
                }
            }
            let record = Arc::new(KeyRecord {
                id,
                account,
                plan: plans.get(row.text(6)?).cloned(),
                revoked: row.maybe_int(3)?.is_some(),
                expires_at_secs: row.maybe_int(2)?,
            });
            if let Some(plan) = &record.plan {
                keys.plans.insert(record.account.id(), Arc::clone(plan));
            }
            keys.by_digest.insert(row.digest(1)?, Arc::clone(&record));
            keys.by_id.insert(record.id, record);
        }
        self.keys.store(Arc::new(keys));
        self.seen(asked_ms);
        Ok(())
    }

    /// Accounts whose balance somebody wanted to know since this was asked for the last time.
    pub(super) fn asked(&self) -> Vec<Arc<Account>> {
        let accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.values().filter(|account| account.asked.swap(false, Ordering::Relaxed)).map(Arc::clone).collect()
    }

    /// All credits held by requests under way, over all accounts.
    #[must_use]
    pub fn held(&self) -> i64 {
        let accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.values().map(|account| account.held()).sum()
    }
}

#[cfg(test)]
mod tests;
