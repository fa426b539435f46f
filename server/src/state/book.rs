//! What the gateway holds in memory: who may call, and what is left of whose credits.
//!
//! The database is the truth. Balances here follow it in the order of commits, since only the writer's thread
//! changes them; what requests hold in reserve lives here alone and is nothing after a restart.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use foldhash::quality::RandomState;

use super::db::Tx;
use super::plan;
use super::{KeyId, KeyText, Pepper, StateError};
use crate::gateway::Plan;
use crate::spread::Place;

/// Who showed a key that was found good.
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

    /// What its keys may do; `None` where the configuration says it.
    #[must_use]
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.0.plan.as_ref()
    }

    /// Counts one more call under way, unless there are `most` of them. Each that was counted is to be ended.
    #[must_use]
    pub fn begin_call(&self, most: u32) -> bool {
        let one_more = |calls| (calls < most).then(|| calls + 1);
        self.0.calls.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_more).is_ok()
    }

    /// A call is over.
    pub fn end_call(&self) {
        self.0.calls.0.fetch_sub(1, Ordering::AcqRel);
    }
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
    /// Whether it is still good cannot be known: the shared database has not been seen for a while.
    Unverified,
}

#[derive(Debug)]
struct KeyRecord {
    id: KeyId,
    account: Arc<Account>,
    plan: Option<Arc<Plan>>,
    revoked: bool,
    expires_at_secs: Option<i64>,
    /// Calls under way, however often the keys are read anew meanwhile.
    calls: Arc<Place<AtomicU32>>,
}

/// An account with its credits.
#[derive(Debug)]
pub struct Account {
    id: i64,
    /// As the last commit left it. Changed under the lock of the funds, read without it by every answer.
    balance: AtomicI64,
    /// Whether somebody wanted to know it.
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

    /// What this process may spend without asking, less what is held.
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

    /// The same, unless something is held; tells whether it was done.
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

    /// Whether what is held may still be settled.
    pub(super) fn is_current(&self) -> bool {
        self.account.funds().loans == self.loan
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

/// How long a replica that does not see the shared database goes on to trust what it knows of keys.
const TRUSTED_MS: u64 = 5_000;

/// Keys as requests find them.
#[derive(Debug, Default)]
struct Roster {
    /// By the digest of the whole key. Without the pepper nobody can aim at an entry, so how long a look-up takes tells
    /// nothing of which part of a key was right: an unknown id and a wrong last letter go the same way.
    by_digest: HashMap<[u8; 32], Arc<KeyRecord>, RandomState>,
    by_id: HashMap<KeyId, Arc<KeyRecord>>,
    /// What the keys of an account may do, where its plan is stored.
    plans: HashMap<i64, Arc<Plan>>,
}

/// All keys and accounts.
#[derive(Debug)]
pub struct Book {
    pepper: Pepper,
    keys: ArcSwap<Roster>,
    /// Changes whenever the keys were read anew, and after that.
    edition: AtomicU64,
    accounts: Mutex<HashMap<i64, Arc<Account>>>,
    /// Whether replicas share the database.
    shared: bool,
    /// When the database was last seen, by the clock of the gateway.
    seen_ms: AtomicU64,
}

impl Book {
    pub(super) fn new(pepper: Pepper, shared: bool) -> Self {
        Self {
            pepper,
            keys: ArcSwap::default(),
            edition: AtomicU64::default(),
            accounts: Mutex::default(),
            shared,
            seen_ms: AtomicU64::new(crate::gateway::milliseconds()),
        }
    }

    /// Finds who shows a key. Costs no look-up in the database.
    ///
    /// # Errors
    /// A [`Refusal`], which says more than a client may be told unless the secret was right.
    pub fn identify(&self, text: &str, now_secs: i64) -> Result<Caller, Refusal> {
        let digest = self.digest(text).ok_or(Refusal::Malformed)?;
        self.holder_of(&digest, now_secs)
    }

    /// The digest that a key is found by; `None` where the text is no key.
    #[must_use]
    pub fn digest(&self, text: &str) -> Option<[u8; 32]> {
        Some(self.pepper.key_digest(&KeyText::parse(text)?))
    }

    /// Finds who shows a key with this digest.
    ///
    /// # Errors
    /// As [`Book::identify`].
    pub fn holder_of(&self, digest: &[u8; 32], now_secs: i64) -> Result<Caller, Refusal> {
        self.check_seen()?;
        let keys = self.keys.load();
        let caller = Caller(Arc::clone(keys.by_digest.get(digest).ok_or(Refusal::Unknown)?));
        self.check(&caller, now_secs)?;
        Ok(caller)
    }

    /// A number that is another one once any key was changed.
    #[must_use]
    pub fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    /// Whether a key is good, as far as it says itself: for who found its holder in this edition.
    ///
    /// # Errors
    /// As [`Book::identify`].
    pub fn check(&self, caller: &Caller, now_secs: i64) -> Result<(), Refusal> {
        self.check_seen()?;
        if caller.0.revoked {
            return Err(Refusal::Revoked);
        }
        if caller.0.expires_at_secs.is_some_and(|end| now_secs >= end) {
            return Err(Refusal::Expired);
        }
        Ok(())
    }

    /// Refuses to say who is good when the shared database was not seen for too long.
    fn check_seen(&self) -> Result<(), Refusal> {
        let since_ms = || crate::gateway::milliseconds().saturating_sub(self.seen_ms.load(Ordering::Acquire));
        if self.shared && since_ms() > TRUSTED_MS { Err(Refusal::Unverified) } else { Ok(()) }
    }

    /// A digest of request parameters for the audit: equal for equal ones, and useless without the pepper.
    #[must_use]
    pub fn parameter_hash(&self, endpoint: &str, parameters: &[u8]) -> [u8; 32] {
        self.pepper.digest(&[b"parameters", endpoint.as_bytes(), parameters])
    }

    /// Whether a key that was good is so still, for connections that stay open.
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

    /// What the keys of an account may do; `None` where the configuration says it.
    #[must_use]
    pub fn plan_of(&self, account: i64) -> Option<Arc<Plan>> {
        self.keys.load().plans.get(&account).map(Arc::clone)
    }

    /// Notes that the shared database answered.
    pub(super) fn seen(&self) {
        self.seen_ms.store(crate::gateway::milliseconds(), Ordering::Release);
    }

    /// The account of this number, whoever asks first for it.
    pub(super) fn account(&self, id: i64) -> Arc<Account> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(accounts.entry(id).or_insert_with(|| Arc::new(Account::new(id))))
    }

    /// Reads keys, plans and balances anew. Only the thread that commits may call it, else it could bring back a
    /// balance that a commit has changed since.
    pub(super) fn load(&self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        let plans = plan::read_all(tx)?;
        let rows = tx.rows(
            "SELECT api_key.id, digest, expires_at, revoked_at, account_id, balance, plan
             FROM api_key JOIN account ON account.id = account_id",
            &[],
        )?;
        let (before, mut keys) = (self.keys.load(), Roster::default());
        for row in &rows {
            let id = row.text(0)?;
            let id = KeyId::from(id).map_err(|_| StateError::BrokenSeal { table: "api_key", id: id.to_owned() })?;
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
                calls: before.by_id.get(&id).map(|known| Arc::clone(&known.calls)).unwrap_or_default(),
            });
            if let Some(plan) = &record.plan {
                keys.plans.insert(record.account.id(), Arc::clone(plan));
            }
            keys.by_digest.insert(row.digest(1)?, Arc::clone(&record));
            keys.by_id.insert(record.id, record);
        }
        self.keys.store(Arc::new(keys));
        self.edition.fetch_add(1, Ordering::Release);
        self.seen();
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
mod tests {
    use super::*;

    fn account(balance: i64) -> Arc<Account> {
        let account = Arc::new(Account::new(1));
        account.lend(balance, balance);
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

    /// What threads do to keys and credits. Each step is one action that no other thread can see half of, and nothing
    /// else is shared: a look at the roster or at its edition, a change of the funds under their one lock, the roster or
    /// its edition replaced, a commit of the database. The balance that is shown is one number that only the writer
    /// sets. So the orders of steps are all interleavings there are. What takes several actions is several steps: a
    /// charge is committed and then settled; keys and credits are read, then the funds set, then the roster replaced,
    /// then its edition told.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Step {
        /// A request on a new connection finds who shows its key, or is refused.
        Identify(usize),
        /// The two actions of one on a connection that knows who shows the key: what the edition is, and a look at the
        /// roster where it is another.
        Glance(usize),
        Look(usize),
        Reserve(usize),
        /// The request ends without an answer.
        Void(usize),
        /// Its charge is committed, where its loan still stands.
        Commit(usize),
        Settle(usize),
        /// Another process gives credits.
        TopUp(i64),
        /// Another process revokes the key.
        Revoke,
        /// The four actions of [`Book::load`].
        Read,
        Fund,
        Replace,
        Tell,
        /// The two actions of a loan to a replica: set aside in the database, then here to be spent.
        SetAside(i64),
        Lend,
        /// What was lent is not known for sure any more.
        CallIn,
    }

    impl Step {
        /// Whether it is a part of something that the one thread of the writer does, and whether the last.
        const fn of_writer(self) -> Option<bool> {
            match self {
                Self::Identify(_)
                | Self::Glance(_)
                | Self::Look(_)
                | Self::Reserve(_)
                | Self::Void(_)
                | Self::TopUp(_)
                | Self::Revoke => None,
                Self::Commit(_) | Self::Read | Self::Fund | Self::SetAside(_) => Some(false),
                Self::Settle(_) | Self::Replace | Self::Tell | Self::Lend | Self::CallIn => Some(true),
            }
        }
    }

    /// What the database says.
    #[derive(Debug, Clone, Copy)]
    struct Database {
        balance: i64,
        revoked: bool,
        /// Set aside for this replica and not spent.
        lent: i64,
    }

    /// A key with its account, beside a model of the database.
    struct World {
        shared: bool,
        book: Book,
        account: Arc<Account>,
        database: Database,
        /// As the writer has read it.
        read: Option<Database>,
        /// Set aside and not yet there to be spent.
        on_its_way: i64,
        /// Whether the roster says that the key is revoked, and whether that was told.
        refused: bool,
        told: bool,
        /// Who shows the key, as a connection found it in the first edition.
        known: (u64, Caller),
        /// What requests on it saw of the edition, and whether the revocation was told by then.
        seen: [(u64, bool); 3],
        callers: [Option<Caller>; 3],
        holds: [Option<Hold>; 3],
        /// Balances after charges that are committed and not settled.
        committed: [Option<i64>; 3],
        charged: i64,
    }

    impl World {
        const COST: i64 = 5;
        const DIGEST: [u8; 32] = [7; 32];

        /// A process that has the database for itself may spend the balance, a replica what it was lent, which is nothing
        /// yet.
        fn new(balance: i64, shared: bool) -> Self {
            let (book, account) = (Book::new(Pepper::new([0; 32]), shared), Arc::new(Account::new(1)));
            book.keys.store(Self::roster(&account, false));
            let known = (book.edition(), book.holder_of(&Self::DIGEST, 0).unwrap());
            let mut world = Self {
                shared,
                book,
                account,
                database: Database { balance, revoked: false, lent: 0 },
                read: None,
                on_its_way: 0,
                refused: false,
                told: false,
                known,
                seen: [(0, false); 3],
                callers: [None, None, None],
                holds: [None, None, None],
                committed: [None, None, None],
                charged: 0,
            };
            for step in [Step::Read, Step::Fund] {
                world.take(step);
            }
            world
        }

        /// As [`Book::load`] makes it.
        fn roster(account: &Arc<Account>, revoked: bool) -> Arc<Roster> {
            let id = KeyId::from("12345678").unwrap();
            let (account, calls) = (Arc::clone(account), Arc::default());
            let record = KeyRecord { id, account, plan: None, revoked, expires_at_secs: None, calls };
            let mut roster = Roster::default();
            roster.by_digest.insert(Self::DIGEST, Arc::new(record));
            Arc::new(roster)
        }

        fn take(&mut self, step: Step) {
            match step {
                Step::Identify(request) => {
                    let found = self.book.holder_of(&Self::DIGEST, 0);
                    assert_eq!(found.as_ref().err(), self.refused.then_some(&Refusal::Revoked));
                    self.callers[request] = found.ok();
                }
                Step::Glance(request) => self.seen[request] = (self.book.edition(), self.told),
                Step::Look(request) => {
                    let ((edition, told), (of, known)) = (self.seen[request], &self.known);
                    let found = if edition == *of {
                        self.book.check(known, 0).map(|()| known.clone())
                    } else {
                        self.book.holder_of(&Self::DIGEST, 0)
                    };
                    assert!(!told || found.is_err(), "what was told is known to every request that comes after");
                    assert!(self.refused || found.is_ok(), "a good key is not refused");
                    self.callers[request] = found.ok();
                }
                Step::Reserve(request) => {
                    let caller = self.callers[request].as_ref();
                    self.holds[request] = caller.and_then(|caller| caller.account().reserve(Self::COST));
                }
                Step::Void(request) => drop(self.holds[request].take()),
                Step::Commit(request) => self.commit(request),
                Step::Settle(request) => {
                    if let Some(balance) = self.committed[request].take() {
                        self.holds[request].take().expect("it was committed").settle(balance);
                    }
                }
                Step::TopUp(credits) => self.database.balance += credits,
                Step::Revoke => self.database.revoked = true,
                Step::Read => self.read = Some(self.database),
                Step::Fund => {
                    let balance = self.read.expect("it was read").balance;
                    let mut funds = self.account.funds();
                    self.account.balance.store(balance, Ordering::Relaxed);
                    if !self.shared {
                        funds.spendable = balance;
                    }
                }
                Step::Replace => {
                    self.refused = self.read.take().expect("it was read").revoked;
                    self.book.keys.store(Self::roster(&self.account, self.refused));
                }
                Step::Tell => {
                    self.book.edition.fetch_add(1, Ordering::Release);
                    self.told = self.refused;
                }
                Step::SetAside(credits) => {
                    self.on_its_way = credits.min(self.database.balance - self.database.lent);
                    self.database.lent += self.on_its_way;
                }
                Step::Lend => self.account.lend(std::mem::take(&mut self.on_its_way), self.database.balance),
                Step::CallIn => {
                    self.account.call_in();
                    // Its term ends.
                    self.database.lent = 0;
                }
            }
            self.check();
        }

        fn commit(&mut self, request: usize) {
            let Some(hold) = &self.holds[request] else { return };
            if !hold.is_current() {
                self.holds[request] = None;
                return;
            }
            self.database.balance -= Self::COST;
            self.database.lent -= if self.shared { Self::COST } else { 0 };
            self.charged += Self::COST;
            self.committed[request] = Some(self.database.balance);
        }

        fn check(&self) {
            let Database { balance, lent, .. } = self.database;
            // Nothing takes credits away but charges, so what was held is there when it is charged.
            assert!(balance >= 0 && (0..=balance).contains(&lent), "nothing is overdrawn");
            let held: i64 = self.holds.iter().flatten().map(Hold::cost).sum();
            assert_eq!(self.account.held(), held, "what is held is what holds say");
            let unpaid = self.holds.iter().zip(&self.committed).filter_map(|(hold, committed)| match committed {
                None => hold.as_ref().filter(|hold| hold.is_current()).map(Hold::cost),
                Some(_) => None,
            });
            let may_spend = if self.shared { lent } else { balance };
            let spare = self.account.spare();
            assert!(spare + unpaid.sum::<i64>() <= may_spend, "nothing can be spent twice");
            let settled = self.committed.iter().all(Option::is_none);
            assert!(!settled || self.account.balance() <= balance, "no answer shows more than there is");
        }

        /// When all requests are over and the writer has looked once more.
        fn end(mut self, given: i64) {
            drop(std::mem::take(&mut self.holds));
            for step in [Step::Read, Step::Fund, Step::Replace, Step::Tell] {
                self.take(step);
            }
            let Database { balance, revoked, lent } = self.database;
            assert_eq!(balance + self.charged, given, "every credit is somewhere");
            assert_eq!((self.account.held(), self.account.balance(), self.refused), (0, balance, revoked));
            assert_eq!(self.account.spare(), if self.shared { lent } else { balance });
        }
    }

    /// Every way in which the steps of some threads can follow one another. What the writer's thread does comes one
    /// after the other, whichever request it is for: `writing` is whose it does.
    fn interleavings(
        threads: &[&[Step]],
        writing: Option<usize>,
        so_far: &mut Vec<Step>,
        each: &mut dyn FnMut(&[Step]),
    ) {
        if threads.iter().all(|steps| steps.is_empty()) {
            each(so_far);
        }
        for (place, steps) in threads.iter().enumerate() {
            let Some((first, rest)) = steps.split_first() else { continue };
            let writing = match first.of_writer() {
                None => writing,
                Some(_) if writing.is_some_and(|other| other != place) => continue,
                Some(last) => (!last).then_some(place),
            };
            let mut others = threads.to_vec();
            others[place] = rest;
            so_far.push(*first);
            interleavings(&others, writing, so_far, each);
            so_far.pop();
        }
    }

    /// Takes the steps of three threads in every order, each beginning with balances about the price; gives the number of
    /// orders.
    fn every_order(threads: [&[Step]; 3], shared: bool) -> usize {
        let given: i64 =
            threads.iter().copied().flatten().map(|step| if let Step::TopUp(more) = step { *more } else { 0 }).sum();
        let mut orders = 0;
        for balance in [0, 4, 5, 9, 10] {
            interleavings(&threads, None, &mut Vec::new(), &mut |steps| {
                orders += 1;
                let mut world = World::new(balance, shared);
                for step in steps {
                    world.take(*step);
                }
                world.end(balance + given);
            });
        }
        orders
    }

    /// A request that is answered.
    const fn pays(request: usize) -> [Step; 4] {
        [Step::Identify(request), Step::Reserve(request), Step::Commit(request), Step::Settle(request)]
    }

    /// One that ends without an answer.
    const fn leaves(request: usize) -> [Step; 3] {
        [Step::Identify(request), Step::Reserve(request), Step::Void(request)]
    }

    fn is_full() -> bool {
        std::env::var_os("HEADWATER_FULL").is_some()
    }

    #[test]
    fn no_order_of_the_steps_of_requests_and_the_back_office_overdraws_or_loses_a_credit() {
        use Step::{Commit, Fund, Glance, Look, Read, Replace, Reserve, Revoke, Settle, Tell, TopUp};
        let office = [TopUp(5), Revoke, Read, Fund, Replace];
        let revokes = [Revoke, Read, Fund, Replace, Tell];
        let stays = [Glance(0), Look(0), Reserve(0), Commit(0), Settle(0)];
        let again = [&leaves(1)[..], &pays(1)].concat();
        let mut orders = every_order([&pays(0), &pays(1), &pays(2)], false)
            + every_order([&pays(0), &pays(1), &office], false)
            + every_order([&pays(0), &leaves(1), &office], false)
            + every_order([&stays, &leaves(1), &revokes], false);
        if is_full() {
            orders += every_order([&pays(0), &again, &office], false);
        }
        println!("{orders} orders of the steps of requests, a top-up and a revocation in three threads: 0 violations");
    }

    #[test]
    fn no_order_of_the_steps_of_requests_and_loans_overdraws_or_loses_a_credit() {
        use Step::{CallIn, Lend, SetAside};
        let lent = [SetAside(5), Lend, SetAside(5), Lend];
        let called_in = [SetAside(10), Lend, CallIn, SetAside(5), Lend];
        let again = [&leaves(1)[..], &pays(1)].concat();
        let mut orders = every_order([&pays(0), &pays(1), &lent], true)
            + every_order([&pays(0), &leaves(1), &lent], true)
            + every_order([&pays(0), &pays(1), &called_in], true);
        if is_full() {
            orders += every_order([&pays(0), &again, &called_in], true);
        }
        println!(
            "{orders} orders of the steps of requests at a replica and of its loans in three threads: 0 violations"
        );
    }
}
