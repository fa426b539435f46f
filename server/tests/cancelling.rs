//! Work on a large account stops soon after it is cancelled, whatever it is doing.

use std::fs;
use std::net::Shutdown;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use headwater_engine::{ErrorKind, QueryEngine, endpoint};
use headwater_ledger::{Cancel, Store};
use serde_json::{Value, json};

use crate::support::hub::{HUB, Way, store_with_a_hub};
use crate::support::{Process, QUIET, at_once, is_full, made_key, quantile, verdict};

/// Within which 99 of 100 have stopped.
const AIM: Duration = Duration::from_millis(250);
/// The time within which 99 of 100 get the error about their deadline.
const AIM_LATE: Duration = Duration::from_millis(100);

/// Requests that look at all of the account.
fn requests() -> Vec<(&'static str, Value)> {
    let hub = |more: Value| {
        let mut request = json!({"blockchain": "ethereum", "address": HUB});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request
    };
    vec![
        ("transactions", hub(json!({"filter_criterias": [{"symbol": "ETH", "min_value": "1000000"}]}))),
        ("counterparty", hub(json!({}))),
        ("counterparty", hub(json!({"symbols": ["ETH"], "sort": "sent_amount"}))),
        ("counterparty", hub(json!({"start_time": 1_438_918_300}))),
        (
            "counterparty/overview",
            json!({"blockchain": "ethereum", "target": HUB, "counterparty": format!("0x{:040x}", 1)}),
        ),
        ("wallet-overview", hub(json!({}))),
        ("balance-history", hub(json!({"start_time": 1_438_905_600, "end_time": 1_439_000_000}))),
        ("token/addresses_flow", json!({"blockchain": "ethereum", "addresses": HUB})),
    ]
}

#[test]
fn cancelled_work_stops_soon() {
    let place = tempfile::tempdir().unwrap();
    let payments = if is_full() { 1_000_000 } else { 120_000 };
    let store = store_with_a_hub(place.path(), payments, Way::In);
    let engine = QueryEngine::new(Arc::new(Store::open(&store).unwrap()));
    let rounds = if is_full() { 25 } else { 5 };
    let (mut stopped, mut times) = (0, Vec::new());
    for (name, request) in requests() {
        let endpoint = endpoint(name).unwrap();
        let started = Instant::now();
        if let Err(error) = engine.answer(endpoint, &request, &Cancel::new()) {
            panic!("{name} {request}: {error:?}");
        }
        let whole = started.elapsed();
        let mut slowest = Duration::ZERO;
        for round in 0..rounds {
            let cancel = Cancel::new();
            let (engine, request, token) = (engine.clone(), request.clone(), cancel.clone());
            let work = thread::spawn(move || {
                let answer = engine.answer(endpoint, &request, &token);
                (answer.err().map(|error| error.kind), Instant::now())
            });
            thread::sleep(whole * round / rounds);
            let cancelled_at = Instant::now();
            cancel.cancel();
            let (error, ended) = work.join().unwrap();
            assert!(matches!(error, None | Some(ErrorKind::Cancelled)), "{name}: {error:?}");
            stopped += u32::from(error.is_some());
            let took = ended.saturating_duration_since(cancelled_at);
            slowest = slowest.max(took);
            if error.is_some() {
                times.push(took);
            }
        }
        println!("cancelling: {name} over {payments} movements takes {whole:.1?}, stops within {slowest:.1?}");
        assert!(slowest < Duration::from_secs(2), "{name}: {slowest:?}");
    }
    assert!(stopped > 0, "nothing took long enough to be stopped");
    let (half, most) = (quantile(&mut times, 0.5), quantile(&mut times, 0.99));
    println!(
        "cancelling: {stopped} were stopped, p50 {half:.1?}, p99 {most:.1?} after the request to stop (aim 250 ms, {})",
        verdict(most <= AIM)
    );
}

/// Time that all threads of a process have worked, whether one of them works or waits for a processor, and how many
/// there are.
fn work_of(process: u32) -> (Duration, bool, usize) {
    let (mut time, mut busy, mut threads) = (0, false, 0);
    for thread in fs::read_dir(format!("/proc/{process}/task")).unwrap() {
        let thread = thread.unwrap().path();
        // One may end in between.
        let Ok(spent) = fs::read_to_string(thread.join("schedstat")) else { continue };
        let Ok(state) = fs::read_to_string(thread.join("stat")) else { continue };
        time += spent.split(' ').next().unwrap().parse::<u64>().unwrap();
        busy |= state.rsplit_once(") ").unwrap().1.starts_with('R');
        threads += 1;
    }
    (Duration::from_nanos(time), busy, threads)
}

/// Measures how long a process keeps working from now on: until it works for less than a fifth of a moment.
fn goes_on(process: u32) -> Duration {
    const MOMENT: Duration = Duration::from_millis(10);
    let begun = Instant::now();
    loop {
        let (now, (before, ..)) = (begun.elapsed(), work_of(process));
        thread::sleep(MOMENT);
        let (after, busy, _) = work_of(process);
        // The time of threads that ended meanwhile is gone from the sum.
        if !busy && after.saturating_sub(before) < MOMENT / 5 {
            return now;
        }
        assert!(now < Duration::from_secs(30), "it works on");
    }
}

#[test]
fn a_server_is_idle_soon_after_nobody_waits_for_its_work() {
    let place = tempfile::tempdir().unwrap();
    let (payments, left, rounds) = if is_full() { (1_000_000, 300, 60) } else { (120_000, 12, 1) };
    let store = store_with_a_hub(place.path(), payments, Way::In);
    let key = made_key(&store, 1_000_000);
    let server = Process::start(&store, &["--admin-listen", "none", "--set", "limits.heavy_secs=1"]);
    // Readers of the state are made when two read at once for the first time, up to eight, and kept: they are not a leak.
    let files = || -> Vec<PathBuf> {
        let open = fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap();
        let open: Vec<_> = open.filter_map(|file| fs::read_link(file.unwrap().path()).ok()).collect();
        let is_database = |file: &PathBuf| file.to_string_lossy().contains("/gateway.sqlite");
        let of_database = open.iter().filter(|file| file.ends_with("gateway.sqlite")).count();
        assert!(of_database <= 9, "{open:#?}");
        open.into_iter().filter(|file| !is_database(file)).collect()
    };
    // Each asks something else, so that none is answered with what is kept of another.
    let body = |number: u64| {
        json!({"blockchain": "ethereum", "address": HUB, "start_time": 1_438_918_240 + number}).to_string()
    };
    let headers = [("X-API-Key", key.as_str()), ("Content-Type", "application/json")];
    assert_eq!(server.client().unwrap().post("/v1/transactions", &key, QUIET).unwrap().status, 200);
    let (mut idle, mut over, mut under_way) = (Vec::new(), Vec::new(), 0);
    let mut before = None;
    for number in 0..left {
        let mut client = server.client().unwrap();
        let (begun, ..) = work_of(server.id());
        client.write("POST", "/v1/counterparty", &headers, body(number).as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(20 + 7 * (number % 10)));
        let (worked, ..) = work_of(server.id());
        client.shutdown(Shutdown::Both);
        drop(client);
        let took = goes_on(server.id());
        // It had begun: what is counted is work that stopped.
        if worked.saturating_sub(begun) > Duration::from_millis(5) {
            under_way += 1;
            idle.push(took);
        }
        // The first one has opened what is kept open.
        before.get_or_insert_with(&files);
    }
    // More at once than are done before the time of all is up.
    let at_a_time = (8 * thread::available_parallelism().map_or(2, usize::from)).min(60);
    for round in 0..rounds {
        let cancelled_at = at_once(at_a_time, |number| {
            let body = body(left + round * at_a_time as u64 + number as u64);
            let mut client = server.client().unwrap();
            let started = Instant::now();
            (client.post("/v1/counterparty", &key, &body).unwrap().status, started.elapsed())
        });
        idle.push(goes_on(server.id()));
        let late = cancelled_at.iter().filter(|(status, _)| *status == 504);
        over.extend(late.map(|(_, took)| took.saturating_sub(Duration::from_secs(1))));
    }
    let before = before.unwrap();
    let (begun, mut after) = (Instant::now(), files());
    while after.len() > before.len() && begun.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(10));
        after = files();
    }
    assert!(after.len() <= before.len(), "{before:#?} {after:#?}");
    let (before, after) = (before.len(), after.len());
    let (half, most) = (quantile(&mut idle, 0.5), quantile(&mut idle, 0.99));
    println!(
        "cancelling: {under_way} of {left} clients left calls under way over {payments} movements, {} calls came to their \
         deadline of 1 s; the server was idle p50 {half:.1?}, p99 {most:.1?} after (aim 250 ms, {}); open files and \
         connections {before} before, {after} after",
        over.len(),
        verdict(most <= AIM)
    );
    assert!(under_way * 2 > left, "most had begun");
    assert!(most < Duration::from_secs(2));
    // A fast machine is done with the small account before.
    assert!(!is_full() || !over.is_empty(), "nothing took longer than its deadline");
    if !over.is_empty() {
        let late = quantile(&mut over, 0.99);
        println!("cancelling: 504 p99 {late:.1?} after the deadline (aim 100 ms, {})", verdict(late <= AIM_LATE));
    }
}
