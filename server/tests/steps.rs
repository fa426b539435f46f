//! A fault at each step of a charge: what is answered, what the ledger says and what was deducted stay one number. Names
//! of what dies by `faults.c` begin with `shim_`.

use std::collections::BTreeSet;
use std::net::Shutdown;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use headwater_state::{Access, Environment, Home};

use crate::support::faults::{Chance, Faults};
use crate::support::{Mood, Process, QUIET, Server, check_ledger, is_full, random, reader, small_store, within};

const CREDITS: i64 = 1_000_000_000;
const CLIENTS: usize = 8;

/// A state that server after server dies on.
struct Scene {
    store: PathBuf,
    home: Home,
    key: String,
    received: BTreeSet<String>,
    _place: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let store = small_store(place.path());
        let home = Home::in_folder(&Home::beside(&store)).unwrap();
        let made = home.admin("t", |admin| admin.create_key("t", Environment::Test, CREDITS, None)).unwrap();
        Self { store, home, key: made.key.expose().to_owned(), received: BTreeSet::new(), _place: place }
    }

    fn state(&self) -> PathBuf {
        Home::beside(&self.store)
    }

    /// Calls until the server dies of its fault; whether it did.
    fn until_it_dies(&mut self, faults: &Faults) -> bool {
        let arguments = ["--admin-listen", "none", "--set", "log.filter=off,headwater_server::gateway::call=trace"];
        let Some(mut server) = Process::with_faults(&self.store, &arguments, faults) else { return true };
        let received = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    let Ok(mut client) = server.client() else { return };
                    for _ in 0..50 {
                        let Ok(reply) = client.post("/v1/transactions", &self.key, QUIET) else { return };
                        // A commit that fails is reported to those who wait for it before the process is gone.
                        assert!(matches!(reply.status, 200 | 502), "{}", reply.status);
                        if reply.status == 200 {
                            received.lock().unwrap().push(reply.header("x-request-id").to_owned());
                        }
                    }
                });
            }
        });
        self.received.extend(received.into_inner().unwrap());
        let mut died = false;
        for _ in 0..200 {
            died = server.ended().is_some();
            if died {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        server.kill();
        died
    }

    /// Holds everything against everything; gives the charges, and how many of them were not received.
    fn settle(&self) -> (i64, usize) {
        // Opened as a start opens it: what a dead server left behind is put in order.
        drop(self.home.connect(Access::Write).unwrap());
        let database = reader(&self.home);
        let number = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let charged = number("SELECT coalesce(-sum(amount), 0) FROM credit_ledger WHERE kind = 'charge'");
        let audited = number("SELECT coalesce(sum(cost), 0) FROM audit WHERE status BETWEEN 200 AND 299");
        let deducted = CREDITS - number("SELECT balance FROM account");
        assert_eq!((audited, deducted), (charged, charged), "audit, ledger and balance are one");
        let mut rows = database.prepare("SELECT request_id FROM credit_ledger WHERE kind = 'charge'").unwrap();
        let rows: BTreeSet<String> = rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(self.received.difference(&rows).count(), 0, "no answer without its row");
        (charged / 5, rows.difference(&self.received).count())
    }
}

fn rounds() -> u64 {
    if is_full() { 1000 } else { 12 }
}

/// Server after server dies at a step, each time at another call.
fn dies(step: &str, fault: impl Fn(Faults, u64) -> Faults) {
    let mut scene = Scene::new();
    let seed = random();
    let mut chance = Chance::new(seed);
    let mut died = 0;
    for _ in 0..rounds() {
        let faults = fault(Faults::on(&scene.state()), 1 + chance.below(30));
        died += u64::from(scene.until_it_dies(&faults));
        scene.settle();
    }
    // The next start notes what the last one left behind; nothing is held by anybody.
    let mut server = Process::start(&scene.store, &["--admin-listen", "none"]);
    let (charges, undelivered) = scene.settle();
    let reply = server.client().unwrap().post("/v1/transactions", &scene.key, QUIET).unwrap();
    assert_eq!(reply.header("x-credit-remaining"), (CREDITS - charges * 5 - 5).to_string());
    server.terminate();
    server.wait();
    check_ledger(&scene.home).unwrap();
    assert!(died * 10 >= rounds() * 9, "{died} of {} died", rounds());
    println!(
        "{step}: {died} deaths (seed {seed}), {} answers received, {charges} charges, {undelivered} paid for and not \
         received, difference 0, held 0",
        scene.received.len()
    );
}

/// It dies when it logs this.
fn said(text: &'static str) -> impl Fn(Faults, u64) -> Faults {
    move |faults, call| faults.with("FAULTS_SAID", text).with("FAULTS_SAID_AT", call.to_string())
}

/// The log of commits, which a commit is written to and synced in.
fn in_the_log(faults: Faults, operations: &'static str, number: u64, what: &str) -> Faults {
    faults.at(operations, number, what).with("FAULTS_FILE", "-wal")
}

#[test]
fn shim_a_death_after_the_reservation_leaves_one_truth() {
    dies("after the reservation", said("credits are held"));
}

#[test]
fn shim_a_death_after_the_work_leaves_one_truth() {
    dies("after the work", said("the work is done"));
}

#[test]
fn shim_a_death_before_the_commit_leaves_one_truth() {
    dies("before the commit", |faults, call| in_the_log(faults, "w", call * 5, "before"));
}

#[test]
fn shim_a_death_in_the_commit_leaves_one_truth() {
    dies("in the commit", |faults, call| in_the_log(faults, "w", call * 5, "tear=3"));
}

#[test]
fn shim_a_commit_that_says_an_error_leaves_one_truth() {
    dies("of a commit that says an error", |faults, call| in_the_log(faults, "s", 2 + call / 3, "fail"));
}

#[test]
fn shim_a_death_right_after_the_commit_leaves_one_truth() {
    dies("after the commit, before the answer", |faults, call| in_the_log(faults, "s", 2 + call / 3, "after"));
}

#[test]
fn shim_a_death_between_commit_and_answer_leaves_one_truth() {
    dies("after the commit, before the answer", said("the charge is committed"));
}

/// Steps at which a call ends and its server continues.
#[test]
fn a_call_that_ends_at_any_step_before_its_commit_costs_nothing() {
    let server = Server::start();
    let (_, key) = server.key(CREDITS);
    let mut paid = 0;
    for round in 0..rounds() {
        // The work panics, the store cannot be read, the client leaves during the work.
        for (mood, status) in [(Mood::Panics, 500), (Mood::Broken, 502)] {
            server.moody.set(mood);
            assert_eq!(server.client().post("/v1/transactions", &key, QUIET).unwrap().status, status);
        }
        server.moody.set(Mood::Good);
        let mut client = server.client();
        let headers = [("X-API-Key", key.as_str()), ("Content-Type", "application/json")];
        client.write("POST", "/v1/transactions", &headers, QUIET.as_bytes()).unwrap();
        // At a moment of its own in each round: in the work, at the commit, or behind it.
        thread::sleep(Duration::from_micros(round % 40 * 25));
        client.shutdown(Shutdown::Both);
        paid += i64::from(server.client().post("/v1/transactions", &key, QUIET).unwrap().status == 200);
    }
    within(Duration::from_secs(5), "nothing is held", || server.gateway.state().accounts().held() == 0);
    let charged = server.count("SELECT coalesce(-sum(amount), 0) FROM credit_ledger WHERE kind = 'charge'");
    assert_eq!(server.count("SELECT sum(cost) FROM audit WHERE status BETWEEN 200 AND 299"), charged);
    assert_eq!(CREDITS - server.count("SELECT balance FROM account"), charged);
    let left = charged / 5 - paid;
    assert!((0..=i64::try_from(rounds()).unwrap()).contains(&left));
    check_ledger(&server.home()).unwrap();
    println!(
        "{} calls whose work panicked or failed or whose client left: paid {left}, all of those after their commit; \
         difference 0, held 0",
        rounds() * 3
    );
}

/// The database refuses a commit with a known outcome, and then takes the next.
#[test]
fn refused_commit_costs_nothing_and_the_next_succeeds() {
    let server = Server::start();
    let (_, key) = server.key(CREDITS);
    let place = server.database().path().map(Path::new).unwrap().to_owned();
    let writer = rusqlite::Connection::open(place).unwrap();
    writer.busy_timeout(Duration::from_secs(5)).unwrap();
    let mut client = server.client();
    let (mut paid, mut refused) = (0, 0);
    for _ in 0..rounds() {
        writer
            .execute_batch(
                "CREATE TRIGGER refuse BEFORE INSERT ON credit_ledger WHEN NEW.kind = 'charge'
                 BEGIN SELECT RAISE(ABORT, 'refused'); END",
            )
            .unwrap();
        refused += i64::from(client.post("/v1/transactions", &key, QUIET).unwrap().status == 502);
        writer.execute_batch("DROP TRIGGER refuse").unwrap();
        paid += i64::from(client.post("/v1/transactions", &key, QUIET).unwrap().status == 200);
    }
    let expected = i64::try_from(rounds()).unwrap();
    assert_eq!((paid, refused), (expected, expected));
    assert_eq!(server.count("SELECT -sum(amount) FROM credit_ledger WHERE kind = 'charge'"), paid * 5);
    assert_eq!(server.count("SELECT sum(cost) FROM audit WHERE status = 200"), paid * 5);
    assert_eq!(CREDITS - server.count("SELECT balance FROM account"), paid * 5);
    assert_eq!(server.gateway.state().accounts().held(), 0);
    check_ledger(&server.home()).unwrap();
    println!("{refused} commits refused, {paid} gone through between them: difference 0, held 0");
}
