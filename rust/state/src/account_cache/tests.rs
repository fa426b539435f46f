use super::*;
use headwater_testkit::is_full;

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
fn lowered_hold_gives_the_rest_back_at_once_and_never_grows() {
    let account = account(20);
    let hold = account.reserve(20).unwrap().lowered_to(15);
    assert_eq!((hold.cost(), account.held()), (15, 15));
    let other = account.reserve(5).unwrap();
    let hold = hold.lowered_to(99);
    assert_eq!((hold.cost(), account.held(), account.reserve(1).is_none()), (15, 20, true));
    hold.settle(5);
    assert_eq!((account.balance(), account.held()), (5, 5));
    let nothing = other.lowered_to(-1);
    assert_eq!((nothing.cost(), account.held()), (0, 0));
    drop(nothing);
    assert_eq!((account.balance(), account.held()), (5, 0));
    // What was called in meanwhile is lowered like the rest.
    let hold = account.reserve(5).unwrap();
    account.call_in();
    let hold = hold.lowered_to(2);
    assert_eq!((hold.is_current(), account.held()), (false, 2));
    drop(hold);
    assert_eq!(account.held(), 0);
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

/// The actions of threads on keys and credits. Each step is one action that no other thread can see half of, and nothing
/// else is shared: a look at the roster, a change of the funds under their one lock, the roster replaced, a commit of the
/// database. The balance that is shown is one number that only the writer
/// sets. So the orders of steps are all interleavings there are. What takes several actions is several steps: a
/// charge is committed and then settled; keys and credits are read, then the funds set, then the roster replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A request finds who shows its key, or is refused.
    Identify(usize),
    Reserve(usize),
    /// The request ends without an answer.
    Void(usize),
    /// Its charge is committed, where its loan still exists.
    Commit(usize),
    Settle(usize),
    /// Another process gives credits.
    TopUp(i64),
    /// Another process revokes the key.
    Revoke,
    /// The three actions of [`AccountCache::load`].
    Read,
    Fund,
    Replace,
    /// The two actions of a loan to a replica: set aside in the database, then here to be spent.
    SetAside(i64),
    Lend,
    /// The loan is not known for sure any more.
    CallIn,
}

impl Step {
    /// Returns whether it is a part of something that the one thread of the writer does, and whether the last.
    const fn of_writer(self) -> Option<bool> {
        match self {
            Self::Identify(_) | Self::Reserve(_) | Self::Void(_) | Self::TopUp(_) | Self::Revoke => None,
            Self::Commit(_) | Self::Read | Self::Fund | Self::SetAside(_) => Some(false),
            Self::Settle(_) | Self::Replace | Self::Lend | Self::CallIn => Some(true),
        }
    }
}

/// The contents of the database.
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
    accounts: AccountCache,
    account: Arc<Account>,
    database: Database,
    /// As the writer has read it.
    read: Option<Database>,
    /// Set aside and not yet there to be spent.
    on_its_way: i64,
    /// True if the roster says that the key is revoked.
    refused: bool,
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
        let (accounts, account) = (AccountCache::new(Pepper::new([0; 32]), shared), Arc::new(Account::new(1)));
        accounts.keys.store(Self::roster(&account, false));
        let mut world = Self {
            shared,
            accounts,
            account,
            database: Database { balance, revoked: false, lent: 0 },
            read: None,
            on_its_way: 0,
            refused: false,
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

    /// As [`AccountCache::load`] makes it.
    fn roster(account: &Arc<Account>, revoked: bool) -> Arc<Roster> {
        let id = KeyId::from("12345678").unwrap();
        let record = KeyRecord { id, account: Arc::clone(account), plan: None, revoked, expires_at_secs: None };
        let mut roster = Roster::default();
        roster.by_digest.insert(Self::DIGEST, Arc::new(record));
        Arc::new(roster)
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Identify(request) => {
                let found = self.accounts.holder_of(&Self::DIGEST, 0);
                assert_eq!(found.as_ref().err(), self.refused.then_some(&Refusal::Revoked));
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
                self.accounts.keys.store(Self::roster(&self.account, self.refused));
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
        for step in [Step::Read, Step::Fund, Step::Replace] {
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
fn interleavings(threads: &[&[Step]], writing: Option<usize>, so_far: &mut Vec<Step>, each: &mut dyn FnMut(&[Step])) {
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

#[test]
fn requests_and_back_office_in_any_order_keep_every_credit() {
    use Step::{Fund, Read, Replace, Revoke, TopUp};
    let office = [TopUp(5), Revoke, Read, Fund, Replace];
    let revokes = [Revoke, Read, Fund, Replace];
    let again = [&leaves(1)[..], &pays(1)].concat();
    let mut orders = every_order([&pays(0), &pays(1), &pays(2)], false)
        + every_order([&pays(0), &pays(1), &office], false)
        + every_order([&pays(0), &leaves(1), &office], false)
        + every_order([&pays(0), &leaves(1), &revokes], false);
    if is_full() {
        orders += every_order([&pays(0), &again, &office], false);
    }
    println!("{orders} orders of the steps of requests, a top-up and a revocation in three threads: 0 violations");
}

#[test]
fn requests_and_loans_in_any_order_keep_every_credit() {
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
    println!("{orders} orders of the steps of requests at a replica and of its loans in three threads: 0 violations");
}
