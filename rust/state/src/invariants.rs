//! The invariants of credits: whatever order reservations, settlements, top-ups and revocations come in, memory and database
//! hold what a model of whole numbers says. Account cache, charges and back office are the real ones, on a real database.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use http::Method;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use tokio::sync::oneshot;

use super::account_cache::{AccountCache, Caller};
use super::audit::{self, RequestId};
use super::db::Tx;
use super::lease::{Leases, SettledLoans};
use super::ledger::{BookingResult, Charge, write_charges};
use super::{Access, AdminService, AuditRow, Environment, Hold, Home, NewKey, Refusal, StateError};

const KEYS: usize = 2;
const SLOTS: usize = 4;
const GIVEN: i64 = 20;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A request of a key takes a slot and holds credits.
    Reserve { key: usize, slot: usize, cost: i64 },
    /// The requests of these slots are answered in one commit.
    Settle([bool; SLOTS]),
    /// A request ends in any other way.
    Void(usize),
    /// Another process gives credits.
    TopUp { key: usize, credits: i64 },
    /// Another process revokes a key.
    Revoke(usize),
    /// The server sees what other processes changed.
    Load,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..KEYS, 0..SLOTS, 1..=12_i64).prop_map(|(key, slot, cost)| Step::Reserve { key, slot, cost }),
        3 => any::<[bool; SLOTS]>().prop_map(Step::Settle),
        1 => (0..SLOTS).prop_map(Step::Void),
        1 => (0..KEYS, 1..=15_i64).prop_map(|(key, credits)| Step::TopUp { key, credits }),
        1 => (0..KEYS).prop_map(Step::Revoke),
        2 => Just(Step::Load),
    ]
}

/// The model of one key and its account in whole numbers.
#[derive(Debug, Clone, Copy)]
struct Model {
    balance: i64,
    /// The credits that the server believes it may spend: it learns of more when it looks.
    spendable: i64,
    revoked: bool,
    refused: bool,
}

struct World<'a, 'tx> {
    tx: &'a mut Tx<'tx>,
    home: &'a Home,
    keys: &'a [NewKey],
    accounts: AccountCache,
    models: [Model; KEYS],
    open: BTreeMap<usize, (usize, Caller, Hold)>,
    requests: usize,
    charged: [i64; KEYS],
    given: [i64; KEYS],
}

impl World<'_, '_> {
    fn take(&mut self, step: Step) -> Result<(), StateError> {
        match step {
            Step::Reserve { key, slot, cost } => self.reserve(key, slot, cost),
            Step::Settle(which) => self.settle(which)?,
            Step::Void(slot) => drop(self.open.remove(&slot)),
            Step::TopUp { key, credits } => {
                AdminService::new(self.tx, self.home.pepper(), "t").add_credits(&self.keys[key].id, credits)?;
                self.models[key].balance += credits;
                self.given[key] += credits;
            }
            Step::Revoke(key) => {
                AdminService::new(self.tx, self.home.pepper(), "t").revoke_key(&self.keys[key].id)?;
                self.models[key].revoked = true;
            }
            Step::Load => {
                self.accounts.load(self.tx)?;
                for model in &mut self.models {
                    model.spendable = model.balance;
                    model.refused = model.revoked;
                }
            }
        }
        self.check()
    }

    fn held(&self, key: usize) -> i64 {
        self.open.values().filter(|(owner, ..)| *owner == key).map(|(_, _, hold)| hold.cost()).sum()
    }

    fn reserve(&mut self, key: usize, slot: usize, cost: i64) {
        if self.open.contains_key(&slot) {
            return;
        }
        let model = self.models[key];
        let caller = match self.accounts.identify(self.keys[key].key.expose(), 0) {
            Ok(caller) => caller,
            Err(refusal) => {
                assert_eq!((refusal, model.refused), (Refusal::Revoked, true));
                return;
            }
        };
        assert!(!model.refused, "a revoked key is refused as soon as the server has read it");
        let hold = caller.account().reserve(cost);
        assert_eq!(hold.is_some(), model.spendable - self.held(key) >= cost, "held exactly while there is enough");
        if let Some(hold) = hold {
            self.open.insert(slot, (key, caller, hold));
        }
    }

    fn settle(&mut self, which: [bool; SLOTS]) -> Result<(), StateError> {
        let slots: Vec<usize> = (0..SLOTS).filter(|slot| which[*slot] && self.open.contains_key(slot)).collect();
        let mut owners = Vec::new();
        let charges: Vec<Charge> = slots
            .iter()
            .map(|slot| {
                let (owner, caller, hold) = self.open.remove(slot).expect("it is open");
                owners.push((owner, hold.cost()));
                self.requests += 1;
                let audit = audit_row(self.requests, &caller, hold.cost());
                Charge { hold, audit, keep: None, done: oneshot::channel().0, runtime: None }
            })
            .collect();
        let (outcomes, page) = write_charges(self.tx, &charges, &Leases::new("t"), &mut SettledLoans::default())?;
        audit::write(self.tx, &page)?;
        for ((charge, outcome), (owner, cost)) in charges.into_iter().zip(outcomes).zip(owners) {
            let model = &mut self.models[owner];
            model.balance -= cost;
            model.spendable -= cost;
            self.charged[owner] += cost;
            // What was held is there: nothing takes credits away but charges.
            assert_eq!(outcome, BookingResult::Done(model.balance));
            charge.hold.settle(model.balance);
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), StateError> {
        for (key, made) in self.keys.iter().enumerate() {
            let row = self.tx.row(
                "SELECT balance, (SELECT sum(amount) FROM credit_ledger WHERE account_id = account.id),
                        (SELECT coalesce(sum(cost), 0) FROM audit WHERE key_id = ?1)
                 FROM account WHERE id = (SELECT account_id FROM api_key WHERE id = ?1)",
                &[(&made.id).into()],
            )?;
            let row = row.expect("the account is there");
            let (balance, ledger, audited) = (row.int(0)?, row.int(1)?, row.int(2)?);
            assert_eq!((balance, ledger), (self.models[key].balance, balance), "ledger, balance and model agree");
            assert_eq!(audited, self.charged[key], "what was charged is in the audit");
            assert!(balance >= 0 && balance + self.charged[key] == self.given[key], "every credit is somewhere");
        }
        let held: i64 = (0..KEYS).map(|key| self.held(key)).sum();
        assert_eq!(self.accounts.held(), held, "what is held is what holds say");
        Ok(())
    }
}

fn audit_row(number: usize, caller: &Caller, cost: i64) -> AuditRow {
    AuditRow {
        request_id: RequestId::from(&format!("request-{number:08}")).unwrap(),
        correlation_id: None,
        key_id: Some(caller.key_id()),
        account: Some(caller.account().id()),
        method: Method::POST,
        endpoint: Some("/v1/transactions"),
        status: 200,
        cost,
        duration_ms: 1,
        bytes: 1,
        parameter_hash: None,
        parameters: None,
        ts_ms: 1_700_000_000_000,
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the environment may name another seed")]
fn credit_invariants_hold_over_any_sequence_of_operations() {
    let sequences = if headwater_testkit::is_full() { 100_000 } else { 1_000 };
    let seed = std::env::var("HEADWATER_SEED").map_or(20_261_122, |seed| seed.parse().unwrap());
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&u64::to_le_bytes(seed));
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    let keys: Vec<NewKey> = (0..KEYS)
        .map(|_| home.admin("t", |admin| admin.create_key("t", Environment::Test, GIVEN, None)).unwrap())
        .collect();
    let db = std::cell::RefCell::new(home.connect(Access::Write).unwrap());
    let config = Config { cases: sequences, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let done = runner.run(&vec(step(), 0..30), |steps| {
        let work = |tx: &mut Tx<'_>| {
            let accounts = AccountCache::new(home.pepper().clone(), false);
            accounts.load(tx)?;
            let model = Model { balance: GIVEN, spendable: GIVEN, revoked: false, refused: false };
            let mut world = World {
                tx,
                home: &home,
                keys: &keys,
                accounts,
                models: [model; KEYS],
                open: BTreeMap::new(),
                requests: 0,
                charged: [0; KEYS],
                given: [GIVEN; KEYS],
            };
            for step in &steps {
                world.take(*step)?;
            }
            world.open.clear();
            assert_eq!(world.accounts.held(), 0);
            // Undone: the next sequence begins where this one did.
            Err::<(), StateError>(StateError::Closed)
        };
        let ended = catch_unwind(AssertUnwindSafe(|| db.borrow_mut().transaction(work)));
        match ended {
            Ok(Err(StateError::Closed)) => Ok(()),
            Ok(other) => Err(TestCaseError::fail(format!("{other:?}"))),
            Err(panic) => {
                // Its transaction ends with its connection.
                *db.borrow_mut() = home.connect(Access::Write).unwrap();
                resume_unwind(panic)
            }
        }
    });
    done.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    println!("{sequences} random sequences (seed {seed}): 0 violations");
}
