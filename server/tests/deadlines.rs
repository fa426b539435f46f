//! Time that is up, and clients that are gone: the answer comes at once, and the work ends soon after.

use std::fs;
use std::net::Shutdown;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use headwater_state::StateLocation;

use crate::support::{Mood, QUIET, Server, connections, is_full, quantile, verdict, within};

/// Files of its state and connections that a server in this process has open; other tests have others.
fn handles(server: &Server) -> usize {
    let StateLocation::Folder(state) = server.home().place().clone() else { panic!("a state in a folder") };
    let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    open.filter(|file| file.starts_with(&state)).count() + connections(server.address)
}

#[test]
fn expired_and_abandoned_calls_cost_and_leave_nothing() {
    const DEADLINE: Duration = Duration::from_millis(100);
    let server = Server::hurried(100);
    let (_, key) = server.key(100_000);
    assert_eq!(server.client().post("/v1/counterparty", &key, QUIET).unwrap().status, 200);
    let (mut before, mut open_before, mut answered, mut late_again) = ([0; 3], 0, 1, 0);
    within(Duration::from_secs(20), "it has nothing to do", || {
        (before, open_before) = (server.held(), handles(&server));
        before[1..] == [2, 0]
    });
    server.moody.set(Mood::Slow);
    let (workers, each) = if is_full() { (20, 50) } else { (20, 8) };
    let times = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut client = server.client();
                for _ in 0..each {
                    let started = Instant::now();
                    let reply = client.post("/v1/counterparty", &key, QUIET).unwrap();
                    times.lock().unwrap().push(started.elapsed());
                    assert_eq!((reply.status, reply.error().0.as_str()), (504, "gateway_timeout"));
                    assert_eq!(reply.header("retry-after"), "30");
                }
            });
        }
    });
    let headers = [("X-API-Key", key.as_str()), ("Content-Type", "application/json")];
    for _ in 0..workers * each {
        let mut client = server.client();
        client.write("POST", "/v1/counterparty", &headers, QUIET.as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(2));
        client.shutdown(Shutdown::Both);
    }
    let mut times = times.into_inner().unwrap();
    let late = quantile(&mut times, 0.99).saturating_sub(DEADLINE);
    within(Duration::from_secs(20), "nothing is held", || server.gateway.state().accounts().held() == 0);
    server.moody.set(Mood::Good);
    // Work is at an end when every slot is free again: as many calls at once as there are get their answer.
    within(Duration::from_secs(20), "the slots are free", || {
        let status = server.client().post("/v1/counterparty", &key, QUIET).unwrap().status;
        answered += i64::from(status == 200);
        late_again += i64::from(status == 504);
        status == 200
    });
    let (mut after, mut open_after) = ([0; 3], 0);
    within(Duration::from_secs(20), "it has no more tasks, threads, connections and files than before", || {
        (after, open_after) = (server.held(), handles(&server));
        after.iter().zip(before).all(|(after, before)| *after <= before) && open_after <= open_before
    });
    // Each was under way when its client left, or it would not be in the audit as one whose client did.
    let all = workers * each;
    let mut gone = 0;
    within(Duration::from_secs(20), "the calls of clients that left are in the audit", || {
        gone = server.summed("status = 499");
        gone * 2 >= all
    });
    let charges = server.count("SELECT count(*) FROM credit_ledger WHERE kind = 'charge'");
    println!(
        "deadlines: {} calls answered 504, p99 {late:.1?} after the deadline of {DEADLINE:?} (aim 100 ms, {}); {all} \
         clients left, {gone} of them while their calls were under way; tasks, threads and connections {before:?} before, \
         {after:?} after; open files and connections {open_before} before, {open_after} after; {answered} answers with \
         200, {charges} charges",
        times.len(),
        verdict(late <= Duration::from_millis(100))
    );
    assert!(late < Duration::from_secs(2));
    assert!(gone <= all);
    let recorded = "status IN (499, 504) AND endpoint = '/v1/counterparty'";
    // On a busy machine a request may be read when its client is gone and the store is quick again: it is answered.
    let read_late = charges - answered;
    assert!((0..=all / 10).contains(&read_late), "whoever is not answered pays nothing: {read_late}");
    assert_eq!(server.summed(recorded) + read_late, 2 * all + late_again);
    assert_eq!(server.count("SELECT balance FROM account"), 100_000 - 5 * charges);
}

#[test]
fn a_client_that_leaves_while_its_call_waits_gives_up_its_place() {
    let server = Server::start();
    let (_, key) = server.key(100_000);
    server.moody.set(Mood::Slow);
    let headers = [("X-API-Key", key.as_str()), ("Content-Type", "application/json")];
    let started = Instant::now();
    for _ in 0..60 {
        let mut client = server.client();
        client.write("POST", "/v1/counterparty", &headers, QUIET.as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(1));
        client.shutdown(Shutdown::Both);
    }
    let reply = server.client().post("/v1/counterparty", &key, QUIET).unwrap();
    println!("deadlines: 60 clients left the queue, the next one was answered after {:.1?}", started.elapsed());
    assert_eq!(reply.status, 200);
    // Done one after the other on two cores they would take 60 * 300 ms / 2 = 9 s.
    let cores = thread::available_parallelism().map_or(2, usize::from) as u64;
    assert!(started.elapsed() < Duration::from_millis(9000 * 2 / cores.max(2) + 1000));
}

#[test]
fn nothing_is_left_open_once_clients_are_gone() {
    let server = Server::start();
    let (_, key) = server.key(100_000);
    for _ in 0..20 {
        server.client().post("/v1/transactions", &key, QUIET).unwrap();
    }
    let sockets = || connections(server.address);
    within(Duration::from_secs(5), "earlier connections are gone", || sockets() == 0);
    let mut clients: Vec<_> = (0..50).map(|_| server.client()).collect();
    for client in &mut clients {
        assert_eq!(client.send("GET", "/healthz", &[], b"").unwrap().status, 200);
    }
    let open = sockets();
    drop(clients);
    within(Duration::from_secs(5), "all connections are gone", || sockets() == 0);
    println!("connections: {open} open, 0 after their clients left");
    // Somebody may have tried a port that another server had before.
    assert!(open >= 50, "{open}");
}
