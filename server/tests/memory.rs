//! The memory of queries: one that would take more than its share gets advice to ask for less, one that finds none left
//! is asked to come again, and the others continue.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, BlockFacts, Body, TransactionFacts};
use headwater_ledger::memory::{FREE_BYTES, Purpose, Reservation};
use headwater_ledger::read::Status;
use headwater_ledger::store::{MemoryStore, Writer};
use headwater_server::gateway::{Deadlines, ListenerConfig, Settings};
use headwater_types::{Address, Amount, Chain, Timestamp, TxHash};

use crate::support::{Mood, Process, QUIET, Server, is_full, within};

fn person(number: u64) -> Address {
    let mut bytes = [0x77; 20];
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    Address::Evm(bytes)
}

/// The account that all of it is about.
const HUB: u64 = 1;

/// The hub pays and is paid by so many others.
pub fn hub(others: u64, movements: std::ops::Range<u64>) -> Batch {
    let mut batch = Batch::new(Chain::ETHEREUM);
    for number in movements {
        let time = Timestamp::new(1_600_000_000 + i64::try_from(number).unwrap());
        let other = 10 + number % others;
        let (from, to) = if number % 3 == 0 { (HUB, other) } else { (other, HUB) };
        let value = Amount::from(1 + number * 7919 % 1_000_003);
        let mut hash = [1; 32];
        hash[..8].copy_from_slice(&number.wrapping_mul(0xbf58_476d_1ce4_e5b9).to_be_bytes());
        hash[8..16].copy_from_slice(&number.to_be_bytes());
        batch.blocks.push(BlockFacts { number: 1 + number, hash: None, parent: None, time });
        batch.transactions.push(TransactionFacts {
            time: Some(time),
            index: Some(0),
            body: Some(Body { from: Some(person(from)), to: Some(person(to)), value }),
            status: Some(Status::Success),
            ..TransactionFacts::new(TxHash::new(hash), 1 + number)
        });
    }
    batch
}

pub fn about_the_hub(more: &str) -> String {
    format!(r#"{{"blockchain":"ethereum","address":"{}"{more}}}"#, person(HUB))
}

/// A gateway over a hub of 3,000 movements with 1,000 others.
fn gateway(total: u64, per_query: u64, deadlines: Deadlines) -> (Server, String) {
    let mut store = MemoryStore::default();
    store.commit(hub(1000, 0..3000), &Cancel::new()).unwrap();
    let settings = Settings { memory_bytes: total, query_memory_bytes: per_query, deadlines, ..Settings::default() };
    let server = Server::over(store, ListenerConfig::default(), settings);
    let (_, key) = server.key(1000);
    (server, key)
}

/// Takes memory of the gateway as a query would.
fn take(server: &Server, bytes: u64) -> Reservation {
    let purpose = Purpose { what: "the rows of the test", narrower: "wait" };
    let mut held = server.gateway.memory().token().holding(purpose);
    held.reach(usize::try_from(FREE_BYTES + bytes).unwrap()).unwrap();
    held
}

fn figure(server: &Server, name: &str) -> u64 {
    let scraped = server.gateway.scrape();
    let line = scraped.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} in {scraped}")).trim().parse().unwrap()
}

#[test]
fn query_over_its_share_gets_advice_and_costs_nothing() {
    let share = 200_000;
    let (server, key) = gateway(1 << 20, share, Deadlines::default());
    let by_value = about_the_hub(r#","sort":"amount_usd","limit":10"#);
    let ranking = about_the_hub(r#","start_time":1600000001"#);
    for (path, body, named) in [
        ("/v1/transactions", &by_value, "the movements of the address"),
        ("/v1/counterparty", &ranking, "the counterparties of the address"),
    ] {
        let reply = server.client().post(path, &key, body).unwrap();
        assert_eq!((reply.status, reply.error()), (400, ("bad_request".to_owned(), "query_too_large".to_owned())));
        let error = &reply.json()["error"];
        assert_eq!((reply.header("retry-after"), error["details"]["limit"].as_u64()), ("", Some(share)));
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(named) && message.contains("ask for fewer days"), "{message}");
    }
    // As a table it is refused too, before its first byte.
    let headers = [("X-API-Key", key.as_str()), ("Content-Type", "application/json"), ("Accept", "text/csv")];
    let reply = server.send("POST", "/v1/transactions", &headers, &by_value);
    assert_eq!((reply.status, reply.error().1.as_str()), (400, "query_too_large"));
    assert_eq!(server.gateway.state().accounts().held(), 0);
    assert_eq!(server.count("SELECT count(*) FROM credit_ledger WHERE kind = 'charge'"), 0);
    // What asks for less is answered, and so is everybody else.
    for body in [
        about_the_hub(r#","sort":"amount_usd","limit":10,"start_time":1600002900"#),
        about_the_hub(""),
        QUIET.to_owned(),
    ] {
        assert_eq!(server.client().post("/v1/transactions", &key, &body).unwrap().status, 200, "{body}");
    }
    assert_eq!(figure(&server, "headwater_query_memory_over_share_total"), 3);
    assert_eq!(figure(&server, "headwater_query_memory_exhausted_total"), 0);
    within(Duration::from_secs(5), "all is given back", || figure(&server, "headwater_query_memory_bytes") == 0);
    assert!(figure(&server, "headwater_query_memory_most_bytes") <= 1 << 20);
}

#[test]
fn a_query_waits_until_its_share_is_free() {
    let (server, key) = gateway(1 << 20, 1 << 20, Deadlines::default());
    let held = take(&server, 1000);
    let is_answered = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let reply = server.client().post("/v1/transactions", &key, QUIET).unwrap();
            is_answered.store(true, Ordering::SeqCst);
            reply.status
        });
        // Free and light ones do not wait.
        for _ in 0..5 {
            assert_eq!(server.send("GET", "/v1/chains", &[("X-API-Key", &key)], "").status, 200);
            thread::sleep(Duration::from_millis(40));
        }
        assert!(!is_answered.load(Ordering::SeqCst));
        drop(held);
        assert_eq!(waiting.join().unwrap(), 200);
    });
    within(Duration::from_secs(5), "all is given back", || server.gateway.memory().usage().taken == 0);
}

#[test]
fn query_waiting_for_memory_ends_with_deadline_or_client() {
    let (server, key) = gateway(1 << 20, 1 << 20, Deadlines::all(Duration::from_secs(2)));
    let held = take(&server, 1000);
    let reply = server.client().post("/v1/transactions", &key, QUIET).unwrap();
    assert_eq!((reply.status, reply.error().0.as_str()), (504, "gateway_timeout"));
    let headers = [("X-API-Key", key.as_str()), ("Content-Type", "application/json")];
    let mut client = server.client();
    client.write("POST", "/v1/transactions", &headers, QUIET.as_bytes()).unwrap();
    drop(client);
    within(Duration::from_secs(5), "nothing is held", || server.gateway.state().accounts().held() == 0);
    drop(held);
    assert_eq!(server.client().post("/v1/transactions", &key, QUIET).unwrap().status, 200);
    assert_eq!(server.gateway.memory().usage().taken, 0);
}

#[test]
fn query_without_memory_left_is_asked_to_retry() {
    let total = 8 << 20;
    let (server, key) = gateway(total, total, Deadlines::default());
    server.moody.set(Mood::Slow);
    let before = server.moody.asked.load(Ordering::SeqCst);
    let ranking = about_the_hub(r#","start_time":1600000001"#);
    let reply = thread::scope(|scope| {
        let asked = scope.spawn(|| server.client().post("/v1/counterparty", &key, &ranking).unwrap());
        // It has begun, and its store takes 300 ms to answer.
        within(Duration::from_secs(20), "it is at work", || server.moody.asked.load(Ordering::SeqCst) > before);
        let held = take(&server, total - 1000);
        // Whoever was let in before, as light calls are, is answered while its answer is short.
        let reply = asked.join().unwrap();
        server.moody.set(Mood::Good);
        assert_eq!(server.send("GET", "/v1/chains?include=none", &[("X-API-Key", &key)], "").status, 200);
        drop(held);
        reply
    });
    assert_eq!((reply.status, reply.error()), (429, ("too_many_requests".to_owned(), "overloaded".to_owned())));
    assert_eq!(reply.header("retry-after"), "1");
    assert_eq!(figure(&server, "headwater_query_memory_exhausted_total"), 1);
    assert_eq!(server.count("SELECT count(*) FROM credit_ledger WHERE kind = 'charge'"), 0);
    assert_eq!(server.client().post("/v1/counterparty", &key, &ranking).unwrap().status, 200);
    within(Duration::from_secs(5), "all is given back", || server.gateway.memory().usage().taken == 0);
}

#[test]
fn work_that_panics_gives_its_memory_back() {
    let (server, key) = gateway(1 << 20, 1 << 20, Deadlines::default());
    server.moody.set(Mood::Panics);
    for _ in 0..5 {
        assert_eq!(server.client().post("/v1/counterparty", &key, QUIET).unwrap().status, 500);
    }
    server.moody.set(Mood::Good);
    assert_eq!(server.client().post("/v1/counterparty", &key, QUIET).unwrap().status, 200);
    within(Duration::from_secs(5), "all is given back", || server.gateway.memory().usage().taken == 0);
}

/// Anonymous memory of a process in bytes.
fn anonymous(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Sends heavy questions of eight clients at once; returns the largest growth of the server, and its answers.
fn besieged(store: &Path, budget: [&str; 2], rounds: usize) -> (u64, [usize; 3]) {
    let [total, share] = budget.map(str::to_owned);
    let settings = [format!("limits.memory_mib={total}"), format!("limits.query_memory_mib={share}")];
    let server = Process::start(
        store,
        &["--set", "auth.required=false", "--set", &settings[0], "--set", &settings[1], "--admin-listen", "none"],
    );
    let ask = |path: &str, body: &str| {
        let headers = [("Content-Type", "application/json")];
        server.client().unwrap().send("POST", path, &headers, body.as_bytes()).unwrap()
    };
    assert_eq!(ask("/v1/transactions", QUIET).status, 200);
    let before = anonymous(server.id());
    let (most, is_over) = (AtomicU64::new(before), AtomicBool::new(false));
    let (answers, left) = (Mutex::new([0; 3]), AtomicUsize::new(8));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                most.fetch_max(anonymous(server.id()), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
            }
        });
        for client in 0..8_usize {
            let (answers, left, is_over, ask) = (&answers, &left, &is_over, &ask);
            scope.spawn(move || {
                for round in 0..rounds {
                    let (path, more) = match (client + round) % 4 {
                        0 => ("/v1/counterparty", r#","start_time":1600000001"#),
                        1 => ("/v1/transactions", r#","sort":"amount_usd","limit":1000"#),
                        2 => ("/v1/wallet-overview", ""),
                        _ => ("/v1/transactions", r#","limit":1000"#),
                    };
                    let reply = ask(path, &about_the_hub(more));
                    let place = match reply.status {
                        200 => 0,
                        400 => 1,
                        429 => 2,
                        other => panic!("{other} of {path}"),
                    };
                    answers.lock().unwrap()[place] += 1;
                }
                if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                    is_over.store(true, Ordering::Relaxed);
                }
            });
        }
    });
    (most.into_inner() - before, answers.into_inner().unwrap())
}

#[test]
fn eight_heavy_queries_stay_below_their_memory() {
    let (movements, rounds) = if is_full() { (2_000_000, 12) } else { (90_000, 3) };
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("hub.hw");
    let mut writer = Writer::open_or_create(&store).unwrap();
    for part in 0..3 {
        writer.commit(hub(movements / 3, movements * part / 3..movements * (part + 1) / 3), &Cancel::new()).unwrap();
    }
    drop(writer);
    // The first is as good as none: nobody is refused.
    let budgets = if is_full() {
        [["8192", "4096"], ["512", "128"], ["1024", "512"]]
    } else {
        [["8192", "4096"], ["16", "8"], ["64", "32"]]
    };
    for budget in budgets {
        let (grown, [answered, too_large, overloaded]) = besieged(&store, budget, rounds);
        println!(
            "memory: {movements} movements, {} MiB for all and {} for one: grew by {} MiB at most; {answered} answered, \
             {too_large} too large, {overloaded} reported to come again",
            budget[0],
            budget[1],
            grown >> 20
        );
        let [total, share] = budget.map(|mib| mib.parse::<u64>().unwrap());
        assert!(answered > 0 && (too_large > 0) == (share < 4096), "{budget:?}");
        // What was given back the allocator keeps for a while, thread by thread; what is mapped of the store, and what
        // queries take that does not grow with the data, is counted nowhere.
        assert!(grown <= (2 * total + 256) << 20, "{} MiB", grown >> 20);
    }
}
