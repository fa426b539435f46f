//! Many who are connected and say nothing, and many who ask the same.

use std::time::{Duration, Instant};

use crate::support::hub::{Way, store_with_a_hub};
use crate::support::{Client, Process, at_once, is_full, made_key, quantile, resident, small_store, verdict};

#[test]
fn idle_connection_takes_little_memory() {
    /// The maximum memory of 10,000 of them.
    const MOST: u64 = 256 << 20;
    let count = if is_full() { 10_000 } else { 500 };
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    // All of them are to be there at the end.
    let server = Process::start(&store, &["--set", "auth.required=false", "--set", "server.idle_secs=3600"]);
    let open = || {
        let mut client = server.client().unwrap();
        assert_eq!(client.send("GET", "/v1/chains", &[], b"").unwrap().status, 200);
        client
    };
    let mut first: Vec<Client> = (0..50).map(|_| open()).collect();
    let before = resident(server.id());
    let mut clients: Vec<Client> = (0..count).map(|_| open()).collect();
    let all = resident(server.id());
    let each = all.saturating_sub(before) / count;
    for client in first.iter_mut().chain(&mut clients).step_by(10) {
        assert_eq!(client.send("GET", "/healthz", &[], b"").unwrap().status, 200);
    }
    println!(
        "connections: {count} kept without a request take {each} bytes each, the process has {} MiB (aim 256 with 10,000: {}), {} before them",
        all >> 20,
        verdict(all <= MOST),
        before >> 20
    );
    assert!(all <= MOST, "{all} bytes");
    // A small crowd is measured by what it adds to the process around it, and what the allocator rounds up.
    assert!(each <= MOST / 10_000 + (4 << 20) / count, "{each} bytes each");
}

#[test]
fn an_answer_that_is_kept_is_given_again_quickly() {
    /// Within which 99 of 100 are answered.
    const AIM: Duration = Duration::from_millis(30);
    let (payments, calls) = if is_full() { (1_000_000, 5_000) } else { (20_000, 250) };
    let place = tempfile::tempdir().unwrap();
    let store = store_with_a_hub(place.path(), payments, Way::Out);
    let key = made_key(&store, 1_000_000);
    let server = Process::start(&store, &[]);
    let ask = |client: &mut Client| {
        let started = Instant::now();
        let path = "/v1/token/holders?blockchain=ethereum&contract=native&limit=100";
        let reply = client.send("GET", path, &[("X-API-Key", &key)], b"").unwrap();
        assert_eq!(reply.status, 200);
        (started.elapsed(), reply.json()["data"]["holders"].as_array().map_or(0, Vec::len))
    };
    let (first, holders) = ask(&mut server.client().unwrap());
    assert_eq!(holders, 100);
    let one_by_one = |_: usize| {
        let mut client = server.client().unwrap();
        (0..calls).map(|_| ask(&mut client).0).collect::<Vec<_>>()
    };
    for clients in [1, 8] {
        let mut times = at_once(clients, one_by_one).concat();
        let [half, most] = [0.5, 0.99].map(|share| quantile(&mut times, share));
        println!(
            "holders: 100 of {payments}, first answer {first:.1?}; {} kept ones to {clients} clients at once, p50 {half:.1?}, p99 {most:.1?} (aim 30 ms: {})",
            times.len(),
            verdict(most <= AIM)
        );
        // The slowest wait for a processor as long as others keep it busy.
        let half_aim = if is_full() { AIM } else { 4 * AIM };
        assert!(half <= half_aim && most <= Duration::from_secs(2), "{half:?} {most:?}");
    }
}
