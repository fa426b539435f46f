//! Credits lent to a replica: where several share one balance, each spends what it was lent without asking, and settles
//! it with every commit. What is lent is set aside in the account, so that all together never spend more than there is.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::StateError;
use super::book::{Account, Book};
use super::db::{Db, Tx};

/// How long a loan stands without being renewed, by the clock of the database.
const TERM_MS: i64 = 60_000;
/// How often loans are renewed.
const RENEWED: Duration = Duration::from_secs(10);
/// How often balances that are shown are read.
const LOOKED: Duration = Duration::from_secs(1);
/// After how long without use a loan is given back.
const IDLE: Duration = Duration::from_secs(10);
/// How long an account that had not enough is not asked again.
const EMPTY: Duration = Duration::from_millis(100);
/// Most that is lent beyond what is needed at once.
const AHEAD: i64 = 10_000;

/// What was lent to this process.
#[derive(Debug)]
pub(super) struct Leases {
    run_id: String,
    open: BTreeMap<i64, Lease>,
    /// Accounts that had less to lend than was needed: when they were asked, and for how much.
    empty: BTreeMap<i64, (Instant, i64)>,
    renewed: Instant,
    looked: Instant,
}

#[derive(Debug)]
struct Lease {
    id: i64,
    granted: i64,
    settled: i64,
    used: Instant,
}

/// What was lent by a transaction that is not committed yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lent {
    id: i64,
    amount: i64,
    balance: i64,
}

/// What a transaction settles, by account.
#[derive(Debug, Default)]
pub(super) struct Spent(Vec<(i64, i64)>);

impl Leases {
    pub fn new(run_id: &str) -> Self {
        Self {
            run_id: run_id.to_owned(),
            open: BTreeMap::new(),
            empty: BTreeMap::new(),
            renewed: Instant::now(),
            looked: Instant::now(),
        }
    }

    /// Whether an account was found a moment ago not to have as much more: calls without credits must not keep the one thread
    /// that commits from those with them.
    pub fn is_empty(&self, account: i64, missing: i64) -> bool {
        self.empty.get(&account).is_some_and(|(asked, asked_for)| missing >= *asked_for && asked.elapsed() < EMPTY)
    }

    /// An account has not as much more.
    pub fn found_empty(&mut self, account: i64, missing: i64) {
        self.empty.retain(|_, (asked, _)| asked.elapsed() < EMPTY);
        self.empty.insert(account, (Instant::now(), missing));
    }

    /// Credits may have been added.
    pub fn forget_empty(&mut self) {
        self.empty.clear();
    }

    /// Borrows at least what is missing; `None` where the account does not have it.
    pub fn lend(&self, tx: &mut Tx<'_>, account: &Account, need: i64) -> Result<Option<Lent>, StateError> {
        let Some(row) = tx.row("SELECT balance, leased FROM account WHERE id = ?1 /*lock*/", &[account.id().into()])?
        else {
            return Ok(None);
        };
        let balance = row.int(0)?;
        account.saw(balance);
        let free = balance - row.int(1)? + reclaim(tx, account.id())?;
        let missing = need - account.spare();
        let amount = missing.max((free / 4).min(AHEAD)).min(free);
        if amount < missing || amount <= 0 {
            return Ok(None);
        }
        tx.execute("UPDATE account SET leased = leased + ?2 WHERE id = ?1", &[account.id().into(), amount.into()])?;
        let expires = tx.clock_ms()? + TERM_MS;
        let id = match self.open.get(&account.id()) {
            Some(lease) => {
                let extended = tx.execute(
                    "UPDATE credit_lease SET granted = granted + ?2, expires_at_ms = ?3 WHERE id = ?1 AND closed = 0",
                    &[lease.id.into(), amount.into(), expires.into()],
                )?;
                if extended == 0 {
                    return Err(lost());
                }
                lease.id
            }
            None => {
                let row = tx.row(
                    "INSERT INTO credit_lease (account_id, run_id, granted, expires_at_ms) VALUES (?1, ?2, ?3, ?4)
                     RETURNING id",
                    &[account.id().into(), (&self.run_id).into(), amount.into(), expires.into()],
                )?;
                row.ok_or_else(lost)?.int(0)?
            }
        };
        Ok(Some(Lent { id, amount, balance }))
    }

    /// The transaction that lent it is committed.
    pub fn lent(&mut self, account: &Account, lent: Lent) {
        let new = Lease { id: lent.id, granted: 0, settled: 0, used: Instant::now() };
        self.open.entry(account.id()).or_insert(new).granted += lent.amount;
        account.lend(lent.amount, lent.balance);
    }

    /// Takes what was spent out of what was lent, inside the transaction that books it.
    pub fn settle(&self, tx: &mut Tx<'_>, account: i64, credits: i64, spent: &mut Spent) -> Result<(), StateError> {
        if credits == 0 || !tx.is_shared() {
            return Ok(());
        }
        let lease = self.open.get(&account).ok_or_else(lost)?;
        let settled = tx.execute(
            "UPDATE credit_lease SET settled = settled + ?2 WHERE id = ?1 AND closed = 0 AND settled + ?2 <= granted",
            &[lease.id.into(), credits.into()],
        )?;
        let freed =
            tx.execute("UPDATE account SET leased = leased - ?2 WHERE id = ?1", &[account.into(), credits.into()])?;
        if settled != 1 || freed != 1 {
            return Err(lost());
        }
        spent.0.push((account, credits));
        Ok(())
    }

    /// The transaction that settled it is committed.
    pub fn settled(&mut self, spent: &Spent) {
        for (account, credits) in &spent.0 {
            if let Some(lease) = self.open.get_mut(account) {
                lease.settled += credits;
                lease.used = Instant::now();
            }
        }
    }

    /// Reads the balances that somebody wanted to know: other replicas spend of them too.
    pub fn look(&mut self, db: &mut Db, book: &Book) -> Result<(), StateError> {
        if self.looked.elapsed() < LOOKED {
            return Ok(());
        }
        self.looked = Instant::now();
        let asked = book.asked();
        if asked.is_empty() {
            return Ok(());
        }
        db.transaction(|tx| {
            for account in asked {
                if let Some(row) = tx.row("SELECT balance FROM account WHERE id = ?1", &[account.id().into()])? {
                    account.saw(row.int(0)?);
                }
            }
            Ok(())
        })
    }

    /// Renews what is in use and gives back what is not.
    pub fn renew(&mut self, db: &mut Db, book: &Book) -> Result<(), StateError> {
        if self.renewed.elapsed() < RENEWED {
            return Ok(());
        }
        self.renewed = Instant::now();
        let accounts: Vec<i64> = self.open.keys().copied().collect();
        for id in accounts {
            let lease = &self.open[&id];
            let account = book.account(id);
            let idle = lease.used.elapsed() > IDLE && account.call_in_idle();
            let lease_id = lease.id;
            let kept = db.transaction(|tx| {
                if idle {
                    return give_back(tx, id, lease_id).map(|()| false);
                }
                let now = tx.clock_ms()?;
                let renewed = tx.execute(
                    "UPDATE credit_lease SET expires_at_ms = ?2 WHERE id = ?1 AND closed = 0",
                    &[lease_id.into(), (now + TERM_MS).into()],
                )?;
                Ok(renewed == 1)
            });
            match kept {
                Ok(true) => {}
                Ok(false) => {
                    self.open.remove(&id);
                    account.call_in();
                }
                Err(error) => {
                    self.open.remove(&id);
                    account.call_in();
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// What was lent is no longer known for sure: it is not spent any more, and comes back when its term ends.
    pub fn forget(&mut self, book: &Book) {
        for id in std::mem::take(&mut self.open).into_keys() {
            book.account(id).call_in();
        }
    }

    /// Gives everything back, at the end.
    pub fn give_back_all(&mut self, tx: &mut Tx<'_>, book: &Book) -> Result<(), StateError> {
        for (id, lease) in std::mem::take(&mut self.open) {
            book.account(id).call_in();
            give_back(tx, id, lease.id)?;
        }
        Ok(())
    }
}

/// Closes a loan and gives the account back what was not settled.
fn give_back(tx: &mut Tx<'_>, account: i64, lease: i64) -> Result<(), StateError> {
    tx.row("SELECT id FROM account WHERE id = ?1 /*lock*/", &[account.into()])?;
    let closed =
        tx.row("DELETE FROM credit_lease WHERE id = ?1 AND closed = 0 RETURNING granted - settled", &[lease.into()])?;
    if let Some(row) = closed {
        tx.execute("UPDATE account SET leased = leased - ?2 WHERE id = ?1", &[account.into(), row.int(0)?.into()])?;
    }
    Ok(())
}

/// Closes the loans of an account whose term ended; gives what came back. The account is locked.
fn reclaim(tx: &mut Tx<'_>, account: i64) -> Result<i64, StateError> {
    let now = tx.clock_ms()?;
    let closed = tx.rows(
        "DELETE FROM credit_lease WHERE account_id = ?1 AND closed = 0 AND expires_at_ms < ?2
         RETURNING granted - settled",
        &[account.into(), now.into()],
    )?;
    let mut back = 0;
    for row in &closed {
        back += row.int(0)?;
    }
    if back > 0 {
        tx.execute("UPDATE account SET leased = leased - ?2 WHERE id = ?1", &[account.into(), back.into()])?;
    }
    Ok(back)
}

fn lost() -> StateError {
    StateError::NotCommitted("the credits lent to this replica were called in".to_owned())
}
