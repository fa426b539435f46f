//! Requests repeated under one key: answered alike, paid once.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use headwater_server::gateway::{Deadlines, Settings};
use headwater_state::Home;

use crate::support::{
    Client, Mood, Process, QUIET, Reply, Server, at_once, check_ledger, is_full, random, reader, run_json, small_store,
    within,
};

fn headers<'a>(key: &'a str, idempotency_key: &'a str) -> [(&'a str, &'a str); 3] {
    [("X-API-Key", key), ("Content-Type", "application/json"), ("Idempotency-Key", idempotency_key)]
}

fn call(client: &mut Client, key: &str, idempotency_key: &str, body: &str) -> Reply {
    client.send("POST", "/v1/transactions", &headers(key, idempotency_key), body.as_bytes()).unwrap()
}

/// A webhook to be made.
const HOOK: &str = r#"{"target_url":"https://hooks.example.com/in","event_type":"large_transfer"}"#;

#[test]
fn a_repeated_request_has_the_same_bytes_and_costs_nothing_more() {
    let server = Server::start();
    let (_, key) = server.key(10);
    let mut client = server.client();
    let first = call(&mut client, &key, "job 7", QUIET);
    assert_eq!((first.status, first.header("x-credit-cost"), first.header("x-credit-remaining")), (200, "5", "5"));
    // Whatever becomes of the credits.
    assert_eq!(client.post("/v1/transactions", &key, QUIET).unwrap().status, 200);
    assert_eq!(client.post("/v1/transactions", &key, QUIET).unwrap().status, 402);
    for _ in 0..3 {
        let again = call(&mut client, &key, "job 7", QUIET);
        assert_eq!((again.status, again.header("idempotent-replayed")), (200, "true"));
        assert_eq!((again.header("x-credit-cost"), again.header("x-credit-remaining")), ("0", "0"));
        assert_eq!(again.body, first.body);
        // The id in the header is the one in the body.
        assert_eq!(again.header("x-request-id"), first.json()["meta"]["request_id"]);
    }
    // A chain under another name is the same chain.
    let alias = call(&mut client, &key, "job 7", &QUIET.replace("ethereum", "ETH"));
    assert_eq!((alias.header("idempotent-replayed"), &alias.body), ("true", &first.body));
    let other = call(&mut client, &key, "job 7", &QUIET.replace("aa\"", "ab\""));
    assert_eq!((other.status, other.error()), (409, ("conflict".into(), "idempotency_mismatch".into())));
    assert_eq!(server.count("SELECT count(*) FROM credit_ledger WHERE kind = 'charge'"), 2);
    assert_eq!(server.count("SELECT count(*) FROM audit WHERE endpoint = '/v1/transactions'"), 6);
    assert_eq!(server.summed("endpoint = '/v1/transactions'"), 2, "what was refused is counted");
}

#[test]
fn the_body_is_checked_before_a_repeated_request_is_looked_for() {
    let server = Server::start();
    let (_, key) = server.key(0);
    let mut client = server.client();
    // With an idempotency key a bad body is reported before missing credits.
    assert_eq!(call(&mut client, &key, "a", "{").status, 400);
    for bad in
        [r#"{"blockchain": "ethereum"}"#, r#"{"blockchain": "doge", "address": "x"}"#, &QUIET.replace("aa\"", "\"")]
    {
        assert_eq!(call(&mut client, &key, "a", bad).status, 400, "{bad}");
    }
    assert_eq!(call(&mut client, &key, "a", QUIET).status, 402);
    let long = "x".repeat(256);
    let reply = call(&mut client, &key, &long, QUIET);
    assert_eq!((reply.status, reply.error().1.as_str()), (400, "invalid_value"));
}

#[test]
fn what_was_no_success_is_done_anew() {
    // A panic that prints where it was takes longer than the calls of a hurried server have.
    let unhurried = [(Mood::Broken, 502), (Mood::Panics, 500)];
    for (server, moods) in [(Server::start(), &unhurried[..]), (Server::hurried(100), &[(Mood::Slow, 504)])] {
        let (_, key) = server.key(100);
        let mut client = server.client();
        assert_eq!(call(&mut client, &key, "a", "{}").status, 400);
        for (mood, status) in moods {
            server.moody.set(*mood);
            assert_eq!(call(&mut client, &key, "a", QUIET).status, *status);
        }
        server.moody.set(Mood::Good);
        let reply = call(&mut client, &key, "a", QUIET);
        assert_eq!((reply.status, reply.header("idempotent-replayed")), (200, ""));
        assert_eq!(server.count("SELECT -sum(amount) FROM credit_ledger WHERE kind = 'charge'"), 5);
    }
}

#[test]
fn a_repeated_table_is_made_again_from_its_generation() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = store.to_str().unwrap();
    let made = run_json(&["keys", "create", "--json", "--store", at, "--credits", "10"]);
    let key = made["key"].as_str().unwrap();
    let server = Process::start(&store, &[]);
    let body = r#"{"blockchain":"ethereum","address":"0xa1e4380a3b1f749673e270229993ee55f35663b4"}"#;
    let mut client = server.client().unwrap();
    let table =
        [("X-API-Key", key), ("Content-Type", "application/json"), ("Accept", "text/csv"), ("Idempotency-Key", "t")];
    let mut ask = || client.send("POST", "/v1/transactions", &table, body.as_bytes()).unwrap();
    let first = ask();
    assert_eq!((first.status, first.header("x-credit-remaining")), (200, "5"));
    let more = crate::support::TRANSACTIONS
        .replace("0x5c504ed4", "0x6c504ed4")
        .replace(",0,0x4e3a", ",1,0x4e3a")
        .replace(",46147,0,", ",46147,1,");
    std::fs::write(place.path().join("more.csv"), more).unwrap();
    run_json(&["ingest", "--json", "--store", at, place.path().join("more.csv").to_str().unwrap()]);
    let again = ask();
    assert_eq!((again.status, again.header("x-credit-cost"), again.header("idempotent-replayed")), (200, "0", "true"));
    assert_eq!(again.body, first.body);
    // The same key in another form is another request.
    let json = client.send("POST", "/v1/transactions", &headers(key, "t"), body.as_bytes()).unwrap();
    assert_eq!(json.status, 409);
}

const DUPLICATES: usize = 20;

#[test]
fn duplicates_that_come_together_over_kills_are_paid_once() {
    let (keys, kills) = if is_full() { (1000, 20) } else { (60, 3) };
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let made = run_json(&["keys", "create", "--json", "--store", store.to_str().unwrap(), "--credits", "100000"]);
    let key = made["key"].as_str().unwrap();
    let server = Mutex::new(Process::start(&store, &[]));
    let seed = random();
    println!("seed {seed}");
    let bodies = Mutex::new(vec![BTreeSet::new(); keys]);
    let rounds = Barrier::new(DUPLICATES);
    thread::scope(|scope| {
        for duplicate in 0..DUPLICATES {
            let (server, bodies, rounds, store) = (&server, &bodies, &rounds, &store);
            scope.spawn(move || {
                for number in 0..keys {
                    rounds.wait();
                    if duplicate == 0 && number % (keys / kills) == keys / kills / 2 {
                        // In the middle of the others' calls.
                        thread::sleep(Duration::from_micros((seed >> (number % 40)) % 8000));
                        let mut server = server.lock().unwrap();
                        server.kill();
                        *server = Process::start(store, &[]);
                    }
                    loop {
                        let address = server.lock().unwrap().address;
                        let answer = Client::connect(address).and_then(|mut client| {
                            client.send(
                                "POST",
                                "/v1/transactions",
                                &headers(key, &format!("k{number}")),
                                QUIET.as_bytes(),
                            )
                        });
                        match answer {
                            Ok(reply) if reply.status == 200 => {
                                bodies.lock().unwrap()[number].insert(reply.body);
                                break;
                            }
                            Ok(reply) => assert_eq!(reply.status, 429),
                            Err(_) => thread::sleep(Duration::from_millis(5)),
                        }
                    }
                }
            });
        }
    });
    assert!(bodies.into_inner().unwrap().iter().all(|bodies| bodies.len() == 1), "equal bytes under each key");
    let mut server = server.into_inner().unwrap();
    server.terminate();
    server.wait();
    let home = Home::in_folder(&Home::beside(&store)).unwrap();
    let charges: i64 = reader(&home)
        .query_row("SELECT count(*) FROM credit_ledger WHERE kind = 'charge'", [], |row| row.get(0))
        .unwrap();
    println!("{keys} keys x {DUPLICATES} duplicates, {kills} kills: {charges} charges, bodies equal under each key");
    assert_eq!(charges, i64::try_from(keys).unwrap());
    check_ledger(&home).unwrap();
}

#[test]
fn waiting_for_an_idempotency_key_counts_to_the_deadline() {
    let seconds = Duration::from_secs;
    let times = [("/v1/counterparty", 4), ("/v1/transactions", 5), ("/v1/wallet-overview", 1), ("/v1/webhooks", 1)];
    let endpoints = times.iter().map(|(path, secs)| ((*path).to_owned(), seconds(*secs))).collect();
    let deadlines = Deadlines { endpoints, ..Deadlines::default() };
    let server = Server::with(Settings { deadlines, ..Settings::default() });
    let (_, key) = server.key(100);
    let ask = |path: &str| {
        let body = if path == "/v1/webhooks" { HOOK } else { QUIET };
        let begun = Instant::now();
        let reply = server.send("POST", path, &headers(&key, "k"), body);
        (reply.status, reply.header("retry-after").to_owned(), begun.elapsed())
    };
    // Each call looks at the store when its values are checked and when it is at work, where it stays.
    server.moody.asked.store(0, Ordering::SeqCst);
    server.moody.set(Mood::Halting);
    thread::scope(|scope| {
        let first = scope.spawn(|| ask("/v1/counterparty"));
        within(seconds(3), "the first call is at work", || server.moody.asked.load(Ordering::SeqCst) == 2);
        let second = scope.spawn(|| ask("/v1/transactions"));
        let others = ["/v1/wallet-overview", "/v1/webhooks"];
        for (status, retry_after, took) in at_once(2, |number| ask(others[number])) {
            assert_eq!((status, retry_after.as_str()), (429, "1"));
            assert!(took >= seconds(1), "{took:?}");
        }
        // That of a webhook looked at the store for its filters, before it waited.
        assert_eq!(server.moody.asked.swap(2, Ordering::SeqCst), 3);
        assert_eq!(first.join().unwrap().0, 504);
        let (status, retry_after, took) = second.join().unwrap();
        assert_eq!((status, retry_after.as_str()), (504, "30"));
        assert_eq!(server.moody.asked.load(Ordering::SeqCst), 4, "it had its turn and was at work");
        println!("a call of 5 s that waited for one of 4 s ended after {took:.1?}");
        // With a time of its own for the work it would be 9 s.
        assert!((seconds(5)..seconds(8)).contains(&took), "{took:?}");
    });
    server.moody.set(Mood::Good);
    assert_eq!(ask("/v1/transactions").0, 200);
    assert_eq!(server.count("SELECT -sum(amount) FROM credit_ledger WHERE kind = 'charge'"), 5);
}

#[test]
fn repeated_webhook_creation_makes_one_webhook() {
    let server = Server::start();
    let (_, key) = server.key(0);
    let make = |body: &str| server.send("POST", "/v1/webhooks", &headers(&key, "w"), body);
    let first = make(HOOK);
    assert_eq!(first.status, 201);
    let again = make(HOOK);
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, "true"));
    assert_eq!(again.body, first.body);
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(make(&HOOK.replace("/in", "/out")).status, 409);
    assert_eq!(server.count("SELECT count(*) FROM webhook_endpoint"), 1);
    // The secret lies nowhere in clear.
    let secret = first.json()["data"]["secret"].as_str().unwrap().to_owned();
    server.flush();
    let state = server.home().database().unwrap().parent().unwrap().to_owned();
    let files = [state.clone(), state.join("audit")].map(|folder| std::fs::read_dir(folder).unwrap());
    for file in files.into_iter().flatten().map(|file| file.unwrap().path()).filter(|path| path.is_file()) {
        let bytes = std::fs::read(file).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
}

#[test]
fn usage_counts_calls_and_credits_by_endpoint() {
    let server = Server::start();
    let (_, key) = server.key(100);
    for _ in 0..3 {
        server.client().post("/v1/transactions", &key, QUIET).unwrap();
    }
    server.client().post("/v1/transactions", &key, "{}").unwrap();
    let usage = server.send("GET", "/v1/usage", &[("X-API-Key", &key)], "");
    assert_eq!((usage.status, usage.header("x-credit-cost")), (200, "0"));
    let data = &usage.json()["data"];
    assert_eq!((&data["credit_remaining"], &data["plan"]), (&85.into(), &"default".into()));
    let line =
        data["by_endpoint"].as_array().unwrap().iter().find(|line| line["endpoint"] == "/v1/transactions").unwrap();
    assert_eq!((&line["calls"], &line["failed"], &line["credits"]), (&4.into(), &1.into(), &15.into()));
    assert_eq!(server.send("GET", "/v1/usage", &[], "").status, 401);
}
