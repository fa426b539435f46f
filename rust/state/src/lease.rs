//! Credits lent to a replica: where several share one balance, each spends what it was lent without asking, and settles
//! it with every commit. What is lent is set aside in the account, so that all together never spend more than there is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::StateError;
use super::account_cache::{Account, AccountCache};
use super::db::{Db, Tx};

/// Lifetime of a loan that is not renewed, by the clock of the database.
const TERM_MS: i64 = 60_000;
/// The interval at which loans are renewed.
const RENEWED: Duration = Duration::from_secs(10);
/// The interval at which balances that are shown are read.
const LOOKED: Duration = Duration::from_secs(1);
/// After how long without use a loan is given back.
const IDLE: Duration = Duration::from_secs(10);
/// The time for which an account that had not enough is not asked again.
const EMPTY: Duration = Duration::from_secs(1);
/// Most that is lent beyond what is needed at once.
const AHEAD: i64 = 10_000;

/// The credits that were lent to this process.
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

/// The credits that were lent by a transaction that is not committed yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingLoan {
    id: i64,
    amount: i64,
    balance: i64,
}

/// The loans that a transaction settles, by account.
#[derive(Debug, Default)]
pub(super) struct SettledLoans {
    settled: Vec<(i64, i64)>,
    /// Accounts whose loans are not there any more, whatever becomes of the transaction.
    lost: Vec<i64>,
}

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

    /// Returns whether an account was found a moment ago not to have as much more: calls without credits must not keep
    /// the one thread that commits from those with them.
    pub fn is_empty(&self, account: i64, missing: i64) -> bool {
        self.empty.get(&account).is_some_and(|(asked, asked_for)| missing >= *asked_for && asked.elapsed() < EMPTY)
    }

    /// An account has not as much more.
    pub fn found_empty(&mut self, account: i64, missing: i64) {
        self.empty.insert(account, (Instant::now(), missing));
    }

    /// Credits may have been added.
    pub fn forget_empty(&mut self) {
        self.empty.clear();
    }

    /// Borrows at least what is missing; `None` where the account does not have it.
    pub fn lend(
        &self,
        tx: &mut Tx<'_>,
        account: &Account,
        need: i64,
        spent: &mut SettledLoans,
    ) -> Result<Option<PendingLoan>, StateError> {
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
                    spent.lost.push(account.id());
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
        Ok(Some(PendingLoan { id, amount, balance }))
    }

    /// The transaction that lent it is committed.
    pub fn lent(&mut self, account: &Account, lent: PendingLoan) {
        let new = Lease { id: lent.id, granted: 0, settled: 0, used: Instant::now() };
        self.open.entry(account.id()).or_insert(new).granted += lent.amount;
        account.lend(lent.amount, lent.balance);
    }

    /// Takes what was spent out of what was lent, inside the transaction that books it; false where the loan is not there
    /// any more, and nothing was taken.
    pub fn settle(
        &self,
        tx: &mut Tx<'_>,
        account: i64,
        credits: i64,
        spent: &mut SettledLoans,
    ) -> Result<bool, StateError> {
        if credits == 0 || !tx.is_shared() {
            return Ok(true);
        }
        let settled = match self.open.get(&account) {
            Some(lease) => tx.execute(
                "UPDATE credit_lease SET settled = settled + ?2 WHERE id = ?1 AND closed = 0 AND settled + ?2 <= granted",
                &[lease.id.into(), credits.into()],
            )?,
            None => 0,
        };
        if settled == 0 {
            spent.lost.push(account);
            return Ok(false);
        }
        tx.execute("UPDATE account SET leased = leased - ?2 WHERE id = ?1", &[account.into(), credits.into()])?;
        spent.settled.push((account, credits));
        Ok(true)
    }

    /// Forgets the loans that a transaction found gone, whether it was committed or not; returns whether there were any.
    pub fn forget_lost(&mut self, spent: &SettledLoans, accounts: &AccountCache) -> bool {
        for account in &spent.lost {
            self.open.remove(account);
            accounts.account(*account).call_in();
        }
        !spent.lost.is_empty()
    }

    /// The transaction that settled it is committed.
    pub fn settled(&mut self, spent: &SettledLoans) {
        for (account, credits) in &spent.settled {
            if let Some(lease) = self.open.get_mut(account) {
                lease.settled += credits;
                lease.used = Instant::now();
            }
        }
    }

    /// Reads the balances that somebody wanted to know: other replicas spend of them too.
    pub fn look(&mut self, db: &mut Db, accounts: &AccountCache) -> Result<(), StateError> {
        if self.looked.elapsed() < LOOKED {
            return Ok(());
        }
        self.looked = Instant::now();
        let asked: BTreeMap<i64, _> = accounts.asked().into_iter().map(|account| (account.id(), account)).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let which = numbers(asked.keys());
        let balances = db.transaction(|tx| {
            tx.rows(
                "SELECT id, balance FROM account WHERE id = ANY (CAST(string_to_array(?1, ' ') AS BIGINT[]))",
                &[(&which).into()],
            )
        })?;
        for row in &balances {
            asked[&row.int(0)?].saw(row.int(1)?);
        }
        Ok(())
    }

    /// Renews what is in use and gives back what is not, all of it in a few statements: one for each account would hold up
    /// the charges of many.
    pub fn renew(&mut self, db: &mut Db, accounts: &AccountCache) -> Result<(), StateError> {
        if self.renewed.elapsed() < RENEWED {
            return Ok(());
        }
        self.renewed = Instant::now();
        self.empty.retain(|_, (asked, _)| asked.elapsed() < EMPTY);
        let idle =
            |account: &i64, lease: &mut Lease| lease.used.elapsed() > IDLE && accounts.account(*account).call_in_idle();
        let idle: Vec<i64> = self.open.extract_if(.., idle).map(|(_, lease)| lease.id).collect();
        if !idle.is_empty() {
            db.transaction(|tx| give_back(tx, &idle))?;
        }
        if self.open.is_empty() {
            return Ok(());
        }
        let which = numbers(self.open.values().map(|lease| &lease.id));
        let renewed = db.transaction(|tx| {
            let now = tx.clock_ms()?;
            tx.rows(
                "UPDATE credit_lease SET expires_at_ms = ?2
                 WHERE id = ANY (CAST(string_to_array(?1, ' ') AS BIGINT[])) AND closed = 0 RETURNING id",
                &[(&which).into(), (now + TERM_MS).into()],
            )
        })?;
        let renewed = renewed.iter().map(|row| row.int(0)).collect::<Result<BTreeSet<i64>, _>>()?;
        for (account, _) in self.open.extract_if(.., |_, lease| !renewed.contains(&lease.id)) {
            accounts.account(account).call_in();
        }
        Ok(())
    }

    /// Forgets a loan that is no longer known for sure: it is not spent any more, and comes back when its term ends.
    pub fn forget(&mut self, accounts: &AccountCache) {
        for id in std::mem::take(&mut self.open).into_keys() {
            accounts.account(id).call_in();
        }
    }

    /// Gives everything back, at the end.
    pub fn give_back_all(&mut self, tx: &mut Tx<'_>, accounts: &AccountCache) -> Result<(), StateError> {
        let open = std::mem::take(&mut self.open);
        for account in open.keys() {
            accounts.account(*account).call_in();
        }
        give_back(tx, &open.values().map(|lease| lease.id).collect::<Vec<_>>())
    }
}

/// Ends loans and gives their accounts back what was not settled. Without any it asks nothing: a state of its own has no
/// table of them.
fn give_back(tx: &mut Tx<'_>, leases: &[i64]) -> Result<(), StateError> {
    if leases.is_empty() {
        return Ok(());
    }
    let which = numbers(leases);
    // In the order in which charges lock them.
    tx.rows(
        "SELECT id FROM account WHERE id IN (SELECT account_id FROM credit_lease
             WHERE id = ANY (CAST(string_to_array(?1, ' ') AS BIGINT[]))) ORDER BY id /*lock*/",
        &[(&which).into()],
    )?;
    tx.execute(
        "WITH ended AS (DELETE FROM credit_lease WHERE closed = 0
                 AND id = ANY (CAST(string_to_array(?1, ' ') AS BIGINT[])) RETURNING account_id, granted - settled AS back),
             given AS (SELECT account_id, CAST(sum(back) AS BIGINT) AS back FROM ended GROUP BY account_id)
         UPDATE account SET leased = leased - back FROM given WHERE account.id = account_id",
        &[(&which).into()],
    )?;
    Ok(())
}

/// Numbers as one parameter.
fn numbers<'a>(numbers: impl IntoIterator<Item = &'a i64>) -> String {
    numbers.into_iter().map(i64::to_string).collect::<Vec<_>>().join(" ")
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
