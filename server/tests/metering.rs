//! Credits: exact under load, nothing for anything but a delivered success.

use std::collections::BTreeSet;
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use headwater_engine::{ENDPOINTS, Method};
use headwater_server::gateway::{LimitSettings, Settings};
use headwater_state::{Plan, Rate};

use crate::support::{Client, Mood, QUIET, Server, check_ledger, is_full, verdict, within};

#[test]
fn a_balance_for_exactly_100_calls_gives_exactly_100_successes() {
    let (repeats, connections, calls) = if is_full() { (100, 500, 20) } else { (3, 50, 40) };
    let server = Server::start();
    for _ in 0..repeats {
        let (id, key) = server.key(500);
        let seen = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..connections {
                scope.spawn(|| {
                    let mut client = server.client();
                    for _ in 0..calls {
                        let reply = client.post("/v1/transactions", &key, QUIET).unwrap();
                        let remaining: i64 = reply.header("x-credit-remaining").parse().unwrap();
                        seen.lock().unwrap().push((reply.status, remaining));
                    }
                });
            }
        });
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), connections * calls);
        let paid: Vec<i64> = seen.iter().filter(|(status, _)| *status == 200).map(|(_, left)| *left).collect();
        assert_eq!(paid.len(), 100);
        assert!(seen.iter().all(|(status, left)| matches!(status, 200 | 402) && *left >= 0));
        // Every answer saw the balance of its own commit: no gap and no repeat.
        assert_eq!(paid.iter().copied().collect::<BTreeSet<_>>(), (0..100).map(|call| call * 5).collect());
        assert_eq!(server.admin(|admin| admin.key(&id)).credits, 0);
    }
    let charged = repeats * 500;
    assert_eq!(server.count("SELECT -sum(amount) FROM credit_ledger WHERE kind = 'charge'"), charged);
    assert_eq!(server.count("SELECT sum(cost) FROM audit WHERE status = 200"), charged);
    assert_eq!(server.count("SELECT min(balance_after) FROM credit_ledger"), 0);
    assert_eq!(server.gateway.state().accounts().held(), 0);
    check_ledger(&server.home()).unwrap();
    println!("{repeats} times {} calls for 100: exactly 100 answered, lowest balance 0", connections * calls);
}

#[test]
fn every_answer_says_what_its_row_in_the_ledger_says() {
    let (clients, calls) = if is_full() { (200, 5000) } else { (20, 150) };
    let server = Server::start();
    let (_, key) = server.key(i64::try_from(clients * calls * 5).unwrap());
    let seen = Mutex::new(Vec::with_capacity(clients * calls));
    thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = server.client();
                let mut mine = Vec::with_capacity(calls);
                for _ in 0..calls {
                    let reply = client.post("/v1/transactions", &key, QUIET).unwrap();
                    let json = reply.json();
                    let header = |name: &str| reply.header(name).parse::<i64>().unwrap();
                    assert_eq!(json["meta"]["credit_cost"], header("x-credit-cost"));
                    assert_eq!(json["meta"]["credit_remaining"], header("x-credit-remaining"));
                    assert_eq!(json["meta"]["request_id"], reply.header("x-request-id"));
                    mine.push((
                        reply.header("x-request-id").to_owned(),
                        header("x-credit-cost"),
                        header("x-credit-remaining"),
                    ));
                }
                seen.lock().unwrap().append(&mut mine);
            });
        }
    });
    let mut seen = seen.into_inner().unwrap();
    server.flush();
    let database = server.database();
    let mut rows =
        database.prepare("SELECT request_id, -amount, balance_after FROM credit_ledger WHERE kind = 'charge'").unwrap();
    let mut rows: Vec<(String, i64, i64)> = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    seen.sort();
    rows.sort();
    assert_eq!(seen.len(), clients * calls);
    assert!(seen == rows, "header, body and ledger agree");
    let mut left: Vec<i64> = seen.into_iter().map(|(_, _, left)| left).collect();
    left.sort_unstable();
    assert!(left.iter().zip(0_i64..).all(|(left, place)| *left == place * 5), "no gap, no repeat");
    println!("{} answers of {clients} clients: header, body and ledger row agree in all", left.len());
}

/// An endpoint of each price.
const PRICED: [(&str, i64); 3] = [("/v1/transactions", 5), ("/v1/token/holders", 10), ("/v1/token/concentration", 15)];

/// An endpoint of each price that takes a body.
const WITH_BODY: [&str; 2] = ["/v1/transactions", "/v1/exposure"];

/// Writes a call of one of them; one that is not `whole` lacks what it has to say.
fn write(client: &mut Client, path: &str, key: &str, whole: bool) -> io::Result<()> {
    let shown = [("X-API-Key", key), ("Content-Type", "application/json")];
    match (path, whole) {
        ("/v1/transactions", true) => client.write("POST", path, &shown, QUIET.as_bytes()),
        ("/v1/transactions", false) => client.write("POST", path, &shown, b"{}"),
        (_, true) => client.write("GET", &format!("{path}?blockchain=ethereum&contract=native"), &shown[..1], b""),
        (_, false) => client.write("GET", path, &shown[..1], b""),
    }
}

/// The status of a refusal, which must say that it cost nothing.
fn refused(client: &mut Client, path: &str, key: &str, whole: bool) -> u16 {
    write(client, path, key, whole).unwrap();
    let reply = client.read(false).unwrap();
    reply.error();
    reply.status
}

/// Asserts that nothing is held, and that accounts have what they were given.
fn assert_untouched(server: &Server, given: i64) {
    within(Duration::from_secs(20), "nothing is held", || server.gateway.state().accounts().held() == 0);
    assert_eq!(server.count("SELECT sum(balance) FROM account"), given);
    assert_eq!(server.count("SELECT count(*) FROM credit_ledger WHERE kind <> 'grant'"), 0);
    assert_eq!(server.count("SELECT coalesce(sum(credits), 0) FROM usage_day"), 0);
    check_ledger(&server.home()).unwrap();
}

#[test]
fn only_a_success_costs() {
    let rounds = if is_full() { 1000 } else { 20 };
    let (server, hurried) = (Server::start(), Server::hurried(20));
    // Once a second: what is let in meets a store that cannot be read.
    let once = Plan { medium: Rate::new(1, 1), heavy: Rate::new(1, 1), ..Plan::default() };
    let limits = LimitSettings { enabled: true, plan: Arc::new(once), ..LimitSettings::default() };
    let limited = Server::with(Settings { limits, ..Settings::default() });
    let [(_, key), (_, late), (_, often)] = [&server, &hurried, &limited].map(|server| server.key(1000));
    // One credit less than each price.
    let poor = PRICED.map(|(_, cost)| server.key(cost - 1).1);
    hurried.moody.set(Mood::Slow);
    limited.moody.set(Mood::Broken);
    let (mut client, mut hurry, mut eager) = (server.client(), hurried.client(), limited.client());
    for _ in 0..rounds {
        for ((path, _), poor) in PRICED.into_iter().zip(&poor) {
            let mut statuses = vec![
                refused(&mut client, path, &key, false),
                refused(&mut client, path, "no key", true),
                refused(&mut client, path, poor, true),
            ];
            for mood in [Mood::Broken, Mood::Panics] {
                server.moody.set(mood);
                statuses.push(refused(&mut client, path, &key, true));
            }
            server.moody.set(Mood::Good);
            statuses.push(refused(&mut hurry, path, &late, true));
            assert_eq!(statuses, [400, 401, 402, 502, 500, 504], "{path}");
            while refused(&mut eager, path, &often, true) != 429 {}
        }
        for path in WITH_BODY {
            let unmarked = client.send("POST", path, &[("X-API-Key", &key)], b"{}").unwrap();
            assert_eq!((unmarked.status, unmarked.error().0.as_str()), (415, "unsupported_media_type"));
        }
    }
    assert!(ENDPOINTS.iter().all(|endpoint| endpoint.cost <= 10 || endpoint.method == Method::Get));
    let given = PRICED.iter().fold(1000, |given, (_, cost)| given + cost - 1);
    for (server, given) in [(&server, given), (&hurried, 1000), (&limited, 1000)] {
        assert_untouched(server, given);
    }
    let recorded =
        |server: &Server, status: u16, path: &str| server.summed(&format!("status = {status} AND endpoint = '{path}'"));
    for (path, _) in PRICED {
        for status in [400, 401, 402, 500, 502] {
            assert_eq!(recorded(&server, status, path), rounds, "{status} of {path}");
        }
        assert_eq!(recorded(&hurried, 504, path), rounds, "504 of {path}");
        assert_eq!(recorded(&limited, 429, path), rounds, "429 of {path}");
    }
    for path in WITH_BODY {
        assert_eq!(recorded(&server, 415, path), rounds, "415 of {path}");
    }
    println!(
        "{rounds} times each of 400, 401, 402, 429, 500, 502 and 504 at each price of 5, 10 and 15, and of 415 at 5 and 10, \
         since nothing dearer takes a body: deducted 0, held 0"
    );
}

/// Lets clients of a key leave while their calls are under way, some at work and the others in line; gives how long
/// anything was held behind them. Nothing where that took the machine so long that answers may have come before.
fn leave(server: &Server, (path, cost): (&str, i64), (id, key): &(String, String), clients: i64) -> Option<Duration> {
    /// The first part of the 300 ms that an answer takes.
    const SOON: Duration = Duration::from_millis(150);
    let mut callers: Vec<Client> = (0..clients).map(|_| server.client()).collect();
    let held = || server.gateway.state().accounts().held();
    let begun = Instant::now();
    for caller in &mut callers {
        write(caller, path, key, true).unwrap();
    }
    while held() != clients * cost && begun.elapsed() < SOON {
        thread::sleep(Duration::from_millis(1));
    }
    let all = held() == clients * cost;
    for caller in &callers {
        caller.shutdown(Shutdown::Both);
    }
    let (left, soon) = (Instant::now(), begun.elapsed() < SOON);
    within(Duration::from_secs(10), "nothing is held", || held() == 0);
    let took = left.elapsed();
    if !(all && soon) {
        return None;
    }
    let gone = || {
        let lines = server.logged();
        lines.iter().filter(|line| line["status"] == 499 && line["key_id"] == id.as_str()).count()
    };
    within(Duration::from_secs(10), "the lines are there", || i64::try_from(gone()).unwrap() == clients);
    assert_eq!(server.admin(|admin| admin.key(id)).credits, 1000, "{path}");
    Some(took)
}

#[test]
fn a_client_that_leaves_before_the_answer_pays_nothing() {
    const TOGETHER: i64 = 10;
    let rounds = if is_full() { 100 } else { 2 };
    let server = Server::start();
    let (mut slowest, mut tries) = (Duration::ZERO, 0);
    for _ in 0..rounds {
        for priced in PRICED {
            slowest = slowest.max(loop {
                tries += 1;
                assert!(tries < 100 * rounds, "the machine is too slow for clients that leave in time");
                let key = server.key(1000);
                server.moody.set(Mood::Slow);
                let left = leave(&server, priced, &key, TOGETHER);
                server.moody.set(Mood::Good);
                if let Some(took) = left {
                    break took;
                }
            });
        }
    }
    let met = slowest <= Duration::from_secs(1);
    println!(
        "{} clients that left before the answer at each price of 5, 10 and 15, ten at a time: deducted 0, held 0 after {} ms \
         at most (aim 1 s, {})",
        rounds * TOGETHER,
        slowest.as_millis(),
        verdict(met)
    );
    assert!(met || !is_full(), "held for {slowest:?}");
    let (_, key) = server.key(1000);
    assert_eq!(server.client().post("/v1/transactions", &key, QUIET).unwrap().header("x-credit-remaining"), "995");
}

#[test]
fn credits_granted_during_calls_are_counted_once() {
    let server = Server::start();
    let (id, key) = server.key(50);
    let paid = thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = server.client();
                    let mut call = |_: &i32| client.post("/v1/transactions", &key, QUIET).unwrap().status == 200;
                    (0..100).collect::<Vec<i32>>().iter().filter(|turn| call(turn)).count()
                })
            })
            .collect();
        for _ in 0..20 {
            server.admin(|admin| admin.add_credits(&id, 7));
            thread::sleep(Duration::from_millis(5));
        }
        callers.into_iter().map(|caller| caller.join().unwrap()).sum::<usize>()
    });
    let charged = i64::try_from(paid).unwrap() * 5;
    assert_eq!(server.count("SELECT balance FROM account"), 50 + 140 - charged);
    assert_eq!(server.count("SELECT -sum(amount) FROM credit_ledger WHERE kind = 'charge'"), charged);
    check_ledger(&server.home()).unwrap();
    let left = (50 + 140 - charged).to_string();
    within(Duration::from_secs(20), "the balance in memory is the one on disk", || {
        server.send("GET", "/v1/chains", &[("X-API-Key", &key)], "").header("x-credit-remaining") == left
    });
}

#[test]
fn without_a_commit_there_is_no_success() {
    let server = Server::start();
    let (_, key) = server.key(100);
    let writer = rusqlite::Connection::open(server.database().path().unwrap()).unwrap();
    writer.busy_timeout(Duration::from_secs(5)).unwrap();
    writer.execute_batch("ALTER TABLE credit_ledger RENAME TO hidden").unwrap();
    let mut client = server.client();
    for _ in 0..3 {
        let reply = client.post("/v1/transactions", &key, QUIET).unwrap();
        assert_eq!((reply.status, reply.error().0.as_str()), (502, "bad_gateway"));
        assert_eq!(reply.header("x-credit-remaining"), "100");
        assert!(!String::from_utf8_lossy(&reply.body).contains("credit_ledger"));
    }
    assert_eq!(server.gateway.state().accounts().held(), 0);
    writer.execute_batch("ALTER TABLE hidden RENAME TO credit_ledger").unwrap();
    let reply = client.post("/v1/transactions", &key, QUIET).unwrap();
    assert_eq!((reply.status, reply.header("x-credit-remaining")), (200, "95"));
    assert_eq!(server.summed("status = 502"), 3);
    assert_eq!(server.send("GET", "/readyz", &[], "").status, 200);
    check_ledger(&server.home()).unwrap();
}

#[test]
fn a_balance_that_another_process_took_away_is_never_overdrawn() {
    let server = Server::start();
    let (_, key) = server.key(100);
    // The next one who asks is kept waiting.
    server.moody.asked.store(1, Ordering::SeqCst);
    server.moody.set(Mood::Halting);
    thread::scope(|scope| {
        let call = scope.spawn(|| server.client().post("/v1/transactions", &key, QUIET).unwrap());
        within(Duration::from_secs(20), "the call is under way", || server.gateway.state().accounts().held() == 5);
        let writer = rusqlite::Connection::open(server.database().path().unwrap()).unwrap();
        writer.busy_timeout(Duration::from_secs(5)).unwrap();
        writer.execute("UPDATE account SET balance = 3", []).unwrap();
        server.moody.set(Mood::Good);
        assert_eq!(call.join().unwrap().error().0, "insufficient_credit");
    });
    assert_eq!(server.count("SELECT balance FROM account"), 3);
    assert_eq!(server.gateway.state().accounts().held(), 0);
}

#[test]
fn full_disk_loses_no_row_and_recovers_without_a_restart() {
    let server = Server::start();
    let (_, key) = server.key(1_000_000);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    // The writer's own connection may not make the file any larger, as on a disk without room.
    let set = |sql: &'static str| {
        runtime.block_on(server.gateway.state().write(move |tx| tx.rows(sql, &[]).map(drop))).unwrap();
    };
    set("PRAGMA max_page_count = 1");
    let mut client = server.client();
    let (mut paid, mut refused) = (0, 0);
    while refused < 20 {
        let reply = client.post("/v1/transactions", &key, QUIET).unwrap();
        match reply.status {
            200 => paid += 1,
            502 => refused += 1,
            other => panic!("{other}"),
        }
        assert!(paid < 100_000, "the disk never fills");
    }
    let ready = server.send("GET", "/readyz", &[], "");
    assert_eq!((ready.status, ready.error().1.as_str()), (503, "storage_failed"));
    assert_eq!(server.gateway.state().accounts().held(), 0);
    let unwritten = probed_in_a_crowd(&server, &key, || set("PRAGMA max_page_count = 1073741823"));
    // Though nobody but the probes asks meanwhile.
    within(Duration::from_secs(20), "it is ready again", || server.send("GET", "/readyz", &[], "").status == 200);
    assert_eq!(server.client().post("/v1/transactions", &key, QUIET).unwrap().status, 200);
    let charged = server.count("SELECT count(*) FROM credit_ledger WHERE kind = 'charge'");
    assert_eq!(charged, paid + 1);
    assert_eq!(server.count("SELECT sum(cost) FROM audit WHERE status = 200"), charged * 5);
    assert_eq!(server.summed("status = 502"), refused, "what was refused is recorded");
    assert_eq!(server.count("SELECT count(*) FROM audit WHERE endpoint = '/v1/registry'"), unwritten);
    check_ledger(&server.home()).unwrap();
    println!(
        "a full disk: {paid} paid before it, {refused} refused on it, difference 0; probes answered while {unwritten} rows waited"
    );
}

/// Calls until each waits for its row in the audit, asks whether the server lives, and gives the disk room again. The
/// calls that were made.
fn probed_in_a_crowd(server: &Server, key: &str, make_room: impl FnOnce()) -> i64 {
    let (made, answered, over) = (AtomicI64::new(0), AtomicI64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = server.client();
                while !over.load(Ordering::Relaxed) {
                    made.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(client.send("GET", "/v1/registry", &[("X-API-Key", key)], b"").unwrap().status, 200);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut last = -1;
        while last != answered.load(Ordering::Relaxed) {
            last = answered.load(Ordering::Relaxed);
            thread::sleep(Duration::from_secs(1));
        }
        for _ in 0..100 {
            let asked = Instant::now();
            assert_eq!(server.send("GET", "/healthz", &[], "").status, 200);
            assert_eq!(server.send("GET", "/readyz", &[], "").status, 503);
            assert!(asked.elapsed() < Duration::from_secs(5), "a probe waited for {:?}", asked.elapsed());
        }
        assert_eq!(answered.load(Ordering::Relaxed), last, "calls wait for their rows");
        over.store(true, Ordering::Relaxed);
        make_room();
    });
    made.into_inner()
}
