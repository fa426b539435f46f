//! A server that is asked to stop finishes what it took.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use headwater_state::Home;

use crate::support::{Mood, Process, QUIET, Server, check_ledger, is_full, reader, run_json, small_store};

#[test]
fn signal_under_load_fails_no_accepted_request() {
    let rounds = if is_full() { 20 } else { 3 };
    let (mut all, mut failed, mut slowest) = (0, 0, Duration::ZERO);
    for _ in 0..rounds {
        let place = tempfile::tempdir().unwrap();
        let store = small_store(place.path());
        let made =
            run_json(&["keys", "create", "--json", "--store", store.to_str().unwrap(), "--credits", "100000000"]);
        let key = made["key"].as_str().unwrap();
        let mut server = Process::start(&store, &[]);
        let (answered, broken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ended = thread::scope(|scope| {
            for number in 0..24 {
                let (server, answered, broken) = (&server, &answered, &broken);
                scope.spawn(move || {
                    // Until the listener is closed: who cannot connect was not accepted.
                    while let Ok(mut client) = server.client() {
                        for turn in 0_u32.. {
                            match client.post("/v1/transactions", key, QUIET) {
                                Ok(reply) => {
                                    assert_eq!(reply.status, 200);
                                    answered.fetch_add(1, Ordering::Relaxed);
                                    if reply.header("connection") == "close" {
                                        break;
                                    }
                                }
                                Err(error) => {
                                    // A new connection that is reset was taken by the system and by nobody else.
                                    let accepted = turn > 0 || error.kind() != ErrorKind::ConnectionReset;
                                    broken.fetch_add(usize::from(accepted), Ordering::Relaxed);
                                    break;
                                }
                            }
                            if number % 4 == 0 {
                                thread::sleep(Duration::from_millis(20));
                            }
                        }
                    }
                });
            }
            thread::sleep(Duration::from_millis(700));
            let started = Instant::now();
            server.terminate();
            started
        });
        assert_eq!(server.wait(), Some(0));
        slowest = slowest.max(ended.elapsed());
        all += answered.into_inner();
        failed += broken.into_inner();
        let home = Home::in_folder(&Home::beside(&store)).unwrap();
        check_ledger(&home).unwrap();
        let database = reader(&home);
        let number = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let charged = number("SELECT -sum(amount) FROM credit_ledger WHERE kind = 'charge'");
        assert_eq!(number("SELECT 100000000 - balance FROM account"), charged);
        assert_eq!(number("SELECT sum(cost) FROM audit WHERE status = 200"), charged);
    }
    println!(
        "SIGTERM under load: {rounds} times, {all} requests answered, {failed} accepted ones failed, slowest end {slowest:.1?}"
    );
    assert!(all > 0);
    assert_eq!(failed, 0);
    assert!(slowest < Duration::from_secs(30));
}

#[test]
fn a_request_under_way_is_answered_and_its_connection_closed() {
    let server = Server::start();
    let (_, key) = server.key(10);
    server.moody.set(Mood::Slow);
    let (mut client, mut idle) = (server.client(), server.client());
    assert_eq!(idle.send("GET", "/healthz", &[], b"").unwrap().status, 200);
    let headers = [("X-API-Key", key.as_str()), ("Content-Type", "application/json")];
    client.write("POST", "/v1/transactions", &headers, QUIET.as_bytes()).unwrap();
    crate::support::within(Duration::from_secs(2), "the call is under way", || {
        server.gateway.state().accounts().held() == 5
    });
    let address = server.address;
    drop(server);
    let reply = client.read(false).unwrap();
    assert_eq!((reply.status, reply.header("connection")), (200, "close"));
    assert!(idle.read(false).is_err(), "an idle connection is closed");
    assert!(crate::support::Client::connect(address).is_err(), "nobody listens any more");
}
