//! Several states on one PostgreSQL, each with its own thread that commits: they never wait for one another in a circle,
//! nor for long.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use headwater_state::{
    Access, AdminService, Caller, DEFAULT_PLAN, Db, Environment, Expiry, Home, NewKey, Options, SECRET_FILES, State,
    StateError, StateLocation,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::books::row;
use crate::support::postgres::Postgres;
use crate::support::{StopOnDrop, within};

struct SharedServer {
    home: Home,
    /// Stops behind what uses it.
    postgres: Postgres,
    place: TempDir,
}

impl SharedServer {
    fn start() -> Self {
        let place = tempfile::tempdir().unwrap();
        let postgres = Postgres::start();
        Self { home: postgres.home(place.path()), postgres, place }
    }

    fn key(&self, credits: i64) -> NewKey {
        self.home.admin("t", |admin| admin.create_key("t", Environment::Live, credits, None)).unwrap()
    }

    fn serve(&self) -> State {
        State::start(&self.home, Options::default(), Box::new(|| panic!("latched"))).unwrap()
    }

    fn db(&self) -> Db {
        self.home.connect(Access::Write).unwrap()
    }

    fn number(&self, sql: &'static str) -> i64 {
        self.db().transaction(|tx| tx.rows(sql, &[])).unwrap()[0].int(0).unwrap()
    }

    /// Does one thing in the back office, and another while the first is not yet committed.
    fn beside<A: Send, B: Send>(
        &self,
        first: impl FnOnce(&mut AdminService<'_, '_>) -> Result<A, StateError> + Send,
        second: impl FnOnce(&mut AdminService<'_, '_>) -> Result<B, StateError> + Send,
    ) -> (Result<A, StateError>, Result<B, StateError>) {
        let (done, begin) = mpsc::channel();
        thread::scope(|scope| {
            let first = scope.spawn(move || {
                self.home.admin("first", |admin| {
                    let made = first(admin);
                    done.send(()).unwrap();
                    thread::sleep(Duration::from_millis(500));
                    made
                })
            });
            begin.recv().unwrap();
            let second = self.home.admin("second", second);
            (first.join().unwrap(), second)
        })
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn caller(state: &State, key: &NewKey) -> Caller {
    state.accounts().identify(key.key.expose(), 0).unwrap()
}

/// A call of this key that costs 5; gives what is left.
async fn pay(state: &State, key: &NewKey, number: u32) -> Result<i64, StateError> {
    let caller = caller(state, key);
    let hold = state.reserve(caller.account(), 5).await?.ok_or(StateError::Insufficient { cost: 5 })?;
    state.charge(hold, row(number, &key.id, caller.account().id(), 5), None).await
}

#[test]
fn postgres_commits_on_shared_accounts_never_deadlock() {
    const CALLS: u32 = 300;
    let shared = SharedServer::start();
    let keys = [shared.key(1_000_000), shared.key(1_000_000)];
    let states = [shared.serve(), shared.serve()];
    let number = AtomicU32::new(0);
    thread::scope(|scope| {
        for (one, state) in states.iter().enumerate() {
            let (paid, other, number) = (&keys[one], &keys[1 - one], &number);
            scope.spawn(move || {
                let next = || number.fetch_add(1, Ordering::Relaxed);
                runtime().block_on(async {
                    let counted = caller(state, other).account().id();
                    for call in 0..CALLS {
                        // A call of the other's account that failed, in one commit with one of this account that is paid.
                        assert!(state.note(row(next(), &other.id, counted, 0)).is_ok());
                        pay(state, paid, next()).await.unwrap();
                        if call % 10 == 0 {
                            let id = other.id.clone();
                            let given = state.admin("t", move |admin| admin.add_credits(&id, 1));
                            let (given, paid) = tokio::join!(given, pay(state, paid, next()));
                            given.unwrap();
                            paid.unwrap();
                        }
                    }
                });
            });
        }
    });
    for state in states {
        state.close();
    }
    within(Duration::from_secs(5), "all is counted", || {
        shared.number("SELECT CAST(sum(calls) AS BIGINT) FROM usage_day") == i64::from(number.load(Ordering::Relaxed))
    });
    // The errors of sessions are reported when they end.
    thread::sleep(Duration::from_millis(500));
    assert_eq!(shared.number("SELECT CAST(sum(deadlocks) AS BIGINT) FROM pg_stat_database"), 0);
}

#[test]
fn postgres_concurrent_admin_changes_are_serialised() {
    let shared = SharedServer::start();
    let key = shared.key(100);
    let state = shared.serve();
    runtime().block_on(pay(&state, &key, 1)).unwrap();
    state.close();
    let refund = |admin: &mut AdminService<'_, '_>| admin.refund("0000-00000001");
    let (first, second) = shared.beside(refund, refund);
    assert_eq!(first.unwrap(), (5, 100));
    assert!(matches!(second, Err(StateError::UnknownCharge(_))), "{second:?}");

    let rotate = |admin: &mut AdminService<'_, '_>| admin.rotate_key(&key.id, 60, Expiry::Inherited);
    let (first, second) = shared.beside(rotate, rotate);
    let new = first.unwrap();
    assert!(matches!(second, Err(StateError::DeadKey(_))), "{second:?}");

    let set = || shared.home.admin("t", |admin| admin.set_plan("pro", "{}")).unwrap();
    let assign = |admin: &mut AdminService<'_, '_>| admin.assign_plan(&new.id, "pro");
    let remove = |admin: &mut AdminService<'_, '_>| admin.remove_plan("pro");
    set();
    let (first, second) = shared.beside(assign, remove);
    first.unwrap();
    second.unwrap();
    assert_eq!(shared.home.admin("t", |admin| admin.key(&new.id)).unwrap().plan, DEFAULT_PLAN);
    set();
    let (first, second) = shared.beside(remove, assign);
    first.unwrap();
    assert!(matches!(second, Err(StateError::UnknownPlan(_))), "{second:?}");
    // Every MAC matches.
    shared.serve().close();
}

#[test]
fn postgres_lost_loan_costs_one_call_only() {
    let shared = SharedServer::start();
    let (key, other) = (shared.key(100), shared.key(100));
    let state = shared.serve();
    let runtime = runtime();
    runtime.block_on(pay(&state, &key, 1)).unwrap();
    // As another replica does once its term is over.
    let take_back = || {
        let taken = shared.db().transaction(|tx| {
            tx.execute("DELETE FROM credit_lease", &[])?;
            tx.execute("UPDATE account SET leased = 0", &[])
        });
        taken.unwrap();
    };
    take_back();
    let both = async { tokio::join!(pay(&state, &key, 2), pay(&state, &other, 3)) };
    let (lost, paid) = runtime.block_on(both);
    assert!(matches!(lost, Err(StateError::NotCommitted(_))), "{lost:?}");
    assert_eq!(paid.unwrap(), 95);
    assert_eq!(runtime.block_on(pay(&state, &key, 4)).unwrap(), 90);
    // The same where more is to be lent than there was.
    take_back();
    assert!(runtime.block_on(state.reserve(caller(&state, &key).account(), 90)).unwrap().is_some());
    state.close();
    assert_eq!(shared.number("SELECT CAST(sum(leased) AS BIGINT) FROM account"), 0);
}

#[test]
fn postgres_asks_for_credits_that_are_not_there_once_a_second() {
    let shared = SharedServer::start();
    let key = shared.key(0);
    let state = shared.serve();
    let caller = caller(&state, &key);
    let runtime = runtime();
    let has_some = || runtime.block_on(state.reserve(caller.account(), 1)).unwrap().is_some();
    let asked = Instant::now();
    assert!(!has_some());
    // Past the back office, which would notify others of it.
    shared.db().transaction(|tx| tx.execute("UPDATE account SET balance = 1", &[])).unwrap();
    within(Duration::from_secs(20), "it is asked again", || {
        let had = has_some();
        assert!(!had || asked.elapsed() >= Duration::from_secs(1), "asked again after {:?}", asked.elapsed());
        had
    });
    shared.db().transaction(|tx| tx.execute("UPDATE account SET balance = 0, leased = 0", &[])).unwrap();
    shared.db().transaction(|tx| tx.execute("DELETE FROM credit_lease", &[])).unwrap();
    drop(state);

    let key = shared.key(0);
    let state = shared.serve();
    let account = state.accounts().identify(key.key.expose(), 0).unwrap().account().clone();
    let has_some = || runtime.block_on(state.reserve(&account, 1)).unwrap().is_some();
    assert!(!has_some());
    shared.home.admin("t", |admin| admin.add_credits(&key.id, 5)).unwrap();
    within(Duration::from_secs(10), "what the back office of another process gives is there", has_some);
    state.close();
}

#[test]
fn postgres_credits_for_so_many_calls_are_for_so_many_at_once() {
    const CALLS: usize = 40;
    let shared = SharedServer::start();
    let keys = [(); 5].map(|()| shared.key(5 * i64::try_from(CALLS).unwrap()));
    let state = shared.serve();
    for key in &keys {
        let caller = caller(&state, key);
        let held = runtime().block_on(join_all((0..=CALLS).map(|_| state.reserve(caller.account(), 5))));
        assert_eq!(held.iter().flatten().flatten().count(), CALLS, "and one finds nothing");
    }
    state.close();
}

#[test]
fn postgres_looking_for_a_state_makes_none() {
    let place = tempfile::tempdir().unwrap();
    let shared = SharedServer::start();
    let mut client = postgres::Client::connect(&shared.postgres.url(), postgres::NoTls).unwrap();
    client.batch_execute("CREATE DATABASE empty").unwrap();
    let empty = StateLocation::parse(&shared.postgres.database("empty")).unwrap();
    for name in SECRET_FILES {
        std::fs::copy(shared.place.path().join(name), place.path().join(name)).unwrap();
    }
    let found = Home::open_existing(&empty, Some(place.path()));
    assert!(matches!(found, Err(StateError::NoState { .. })), "{found:?}");
    let backup = place.path().join("backup");
    shared.home.back_up(&backup).unwrap();
    Home::restore(&backup, &empty, Some(place.path())).unwrap();
}

#[test]
fn postgres_replicas_serve_beside_one_stopped_in_a_commit() {
    let shared = SharedServer::start();
    let (key, other) = (shared.key(1000), shared.key(1000));
    let state = shared.serve();
    runtime().block_on(async {
        pay(&state, &key, 1).await.unwrap();
        pay(&state, &other, 2).await.unwrap();
    });
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = StopOnDrop(&stop);
        let (held, begin) = mpsc::channel();
        let (stopped, stop) = (shared.db(), &stop);
        scope.spawn(move || {
            let mut stopped = stopped;
            let ended = stopped.transaction(|tx| {
                tx.rows("SELECT balance FROM account ORDER BY id LIMIT 1 /*lock*/", &[])?;
                held.send(()).unwrap();
                let held = Instant::now();
                while held.elapsed() < Duration::from_secs(20) && !stop.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(20));
                }
                Ok(())
            });
            assert!(ended.is_err(), "it is not waited for for ever");
        });
        begin.recv().unwrap();
        let begun = Instant::now();
        let trusted = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                state.accounts().identify(other.key.expose(), 0).unwrap();
                thread::sleep(Duration::from_millis(20));
            }
        });
        runtime().block_on(async {
            let both =
                tokio::join!(pay(&state, &key, 3), pay(&state, &key, 4), pay(&state, &key, 5), pay(&state, &other, 6));
            assert!(both.0.is_err() && both.1.is_err() && both.2.is_err(), "{both:?}");
            both.3.unwrap();
            for number in 7.. {
                if pay(&state, &key, number).await.is_ok() {
                    break;
                }
            }
        });
        let took = begun.elapsed();
        stop.store(true, Ordering::Relaxed);
        trusted.join().unwrap();
        println!("an account held by a server that is stopped is free after {took:.1?}; keys were known all the time");
        assert!(took < Duration::from_secs(19), "{took:?}");
    });
    state.close();
}

#[test]
fn postgres_loans_in_use_are_renewed_and_others_returned() {
    let shared = SharedServer::start();
    let keys: Vec<NewKey> = (0..20).map(|_| shared.key(100)).collect();
    let state = shared.serve();
    let runtime = runtime();
    // Those of the first ten stay in use.
    let holds: Vec<_> = keys
        .iter()
        .enumerate()
        .map(|(number, key)| {
            let caller = caller(&state, key);
            let hold = runtime.block_on(state.reserve(caller.account(), 5)).unwrap().unwrap();
            (number < 10).then_some(hold)
        })
        .collect();
    let first = "SELECT CAST(min(expires_at_ms) AS BIGINT) FROM credit_lease";
    let begun = shared.number(first);
    assert_eq!(shared.number("SELECT count(*) FROM credit_lease"), 20);
    within(Duration::from_secs(30), "those in use are there, and renewed", || {
        shared.number("SELECT count(*) FROM credit_lease") == 10 && shared.number(first) > begun
    });
    assert_eq!(shared.number("SELECT count(*) FROM account WHERE leased > 0"), 10);
    drop(holds);
    state.close();
    assert_eq!(shared.number("SELECT CAST(sum(leased) AS BIGINT) FROM account"), 0);
}
