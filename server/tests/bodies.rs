//! Bodies that are meant to do harm.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::support::{Client, Process, QUIET, is_full, resident, run_json, small_store};

/// A hostile body: headers, how often which piece is sent, and the status that it meets.
struct Hostile<'a> {
    name: &'static str,
    headers: Vec<(&'a str, &'a str)>,
    body: Vec<u8>,
    status: u16,
    reason: &'static str,
}

#[test]
fn hostile_bodies_are_refused_at_once_and_leave_no_memory_behind() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let made = run_json(&["keys", "create", "--json", "--store", store.to_str().unwrap(), "--credits", "100000"]);
    let key = made["key"].as_str().unwrap();
    let server = Process::start(&store, &[]);
    let json = ("Content-Type", "application/json");
    let keyed = ("X-API-Key", key);
    let mut many = String::from("{\"blockchain\":\"ethereum\"");
    for field in 0..60_000 {
        write!(many, ",\"f{field}\":0").unwrap();
    }
    many.push('}');
    assert!(many.len() < 1 << 20);
    let number = format!("{{\"limit\":{}}}", "1".repeat((1 << 20) - 20));
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let text = |text: &str| text.as_bytes().to_vec();
    let gzip = ("Content-Encoding", "gzip");
    let hostile = |name, headers: Vec<_>, body, status, reason| Hostile { name, headers, body, status, reason };
    let cases = [
        hostile(
            "a stated length of 1 GiB",
            vec![keyed, json, ("Content-Length", "1073741824")],
            Vec::new(),
            413,
            "payload_too_large",
        ),
        hostile("2 MiB", vec![keyed, json], vec![b' '; 2 << 20], 413, "payload_too_large"),
        hostile("a depth of 100,000", vec![keyed, json], deep.into_bytes(), 400, "invalid_json"),
        hostile("60,000 unknown fields", vec![keyed, json], many.into_bytes(), 400, "invalid_json"),
        hostile("a number of 1 MiB", vec![keyed, json], number.into_bytes(), 400, "invalid_json"),
        hostile(
            "a field given twice",
            vec![keyed, json],
            text(r#"{"blockchain":"ethereum","blockchain":"tron"}"#),
            400,
            "invalid_json",
        ),
        hostile("gzip", vec![keyed, json, gzip], vec![0x1f, 0x8b, 8, 0], 415, ""),
        hostile("another media type", vec![keyed, ("Content-Type", "text/xml")], text(QUIET), 415, ""),
        hostile("bytes that are no text", vec![keyed, json], vec![0xff; 1000], 400, "invalid_json"),
    ];
    let mut client = server.client().unwrap();
    let rounds = if is_full() { 50 } else { 3 };
    let (mut slowest, mut asked, mut before) = (Duration::ZERO, 0, 0);
    // The first round is not measured: what the allocator keeps for each thread is there before it begins.
    for round in 0..=rounds {
        if round == 1 {
            before = resident(server.id());
        }
        for case in &cases {
            let mut client = server.client().unwrap();
            let started = Instant::now();
            let reply = client.send("POST", "/v1/transactions", &case.headers, &case.body).unwrap();
            let took = started.elapsed();
            assert_eq!((reply.status, reply.error().1.as_str()), (case.status, case.reason), "{}", case.name);
            assert!(reply.body.len() < 10_000, "{}: the answer has {} bytes", case.name, reply.body.len());
            slowest = slowest.max(took);
            asked += 1;
        }
    }
    let chunked = endless_chunks(&server, key);
    let grew = || {
        assert_eq!(server.client().unwrap().post("/v1/transactions", key, QUIET).unwrap().status, 200);
        resident(server.id()).saturating_sub(before)
    };
    // What was given back the allocator hands on to the system a little later.
    let patience = Instant::now();
    let mut grown = grew();
    while grown > 32 << 20 && patience.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(100));
        grown = grew();
    }
    println!(
        "bodies: {asked} hostile ones, slowest refused in {slowest:.1?}, a chunked one of up to 1 GiB ended after {} KiB, memory +{} KiB",
        chunked >> 10,
        grown >> 10
    );
    assert!(slowest < Duration::from_secs(2));
    assert!(grown <= 32 << 20);
    assert_eq!(client.post("/v1/transactions", key, QUIET).unwrap().status, 200);
}

/// Sends up to 1 GiB in chunks until the server has had enough; gives the bytes that it let through.
fn endless_chunks(server: &Process, key: &str) -> usize {
    let mut client: Client = server.client().unwrap();
    let head = format!(
        "POST /v1/transactions HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    client.try_raw(head.as_bytes()).unwrap();
    let chunk = [b"10000\r\n".to_vec(), vec![b' '; 1 << 16], b"\r\n".to_vec()].concat();
    let mut sent = 0;
    while sent < 1 << 30 && client.try_raw(&chunk).is_ok() {
        sent += 1 << 16;
    }
    assert!(sent < 64 << 20, "{sent} bytes were let through");
    sent
}
