//! Clients that hold a connection as cheaply as they can: all of them are gone in time, and nobody else notices.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use headwater_ledger::Cancel;
use headwater_ledger::market::TokenListing;
use headwater_ledger::store::MemoryStore;
use headwater_server::gateway::{LimitSettings, ListenerConfig, Settings};
use headwater_state::Plan;
use headwater_types::{Address, Chain};

use crate::http2::{HEADERS, PREFACE, frame, get, settings};
use crate::memory::{about_the_hub, hub};
use crate::support::{Client, QUIET, Server, is_full, quantile, verdict, within};

/// Returns how often an attacker does what it does. Thousands that did it more often would be a load of their own.
fn pace() -> Duration {
    Duration::from_millis(if is_full() { 1000 } else { 200 })
}

/// A way to hold a connection: what is sent at first, and again and again.
struct Attack {
    name: &'static str,
    first: Vec<u8>,
    again: &'static [u8],
    /// True if it takes its answer a byte at a time.
    reads_slowly: bool,
}

/// Ways that need nothing but a listener.
fn attacks() -> Vec<Attack> {
    let post = "POST /v1/transactions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
    // A window of nothing: the answer is there and cannot be sent.
    let shut = [PREFACE, &settings(&[(4, 0)]), &get(1, "/openapi.json")].concat();
    // HEADERS without END_HEADERS: what must follow never comes.
    let half = [PREFACE, &settings(&[]), &frame(HEADERS, 0, 1, &[0x82])].concat();
    let attack = |name, first, again| Attack { name, first, again, reads_slowly: false };
    vec![
        attack("no bytes", Vec::new(), b""),
        attack("slow head", b"GET / HTTP/1.1\r\nX: ".to_vec(), b"a"),
        attack("slow body", post.into(), b" "),
        attack("idle", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), b""),
        attack("HTTP/2 with nothing to say", [PREFACE, &settings(&[])].concat(), b""),
        attack("HTTP/2 with a shut window", shut, b""),
        attack("HTTP/2 with half a head", half, b""),
    ]
}

/// Asks for much and takes little of it.
fn slow_read() -> Attack {
    let first = "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(20).into_bytes();
    // What was sent before the end may lie in the system's buffers; whether the end is there, a write shows.
    Attack { name: "slow read", first, again: b"\r\n", reads_slowly: true }
}

/// A connection that is held.
struct SlowConnection {
    kind: usize,
    stream: TcpStream,
    started: Instant,
}

impl SlowConnection {
    fn open(address: SocketAddr, kind: usize, attack: &Attack) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&attack.first).unwrap();
        stream.set_nonblocking(true).unwrap();
        Self { kind, stream, started: Instant::now() }
    }

    /// Does again what the attack does; returns whether the server has ended the connection.
    fn is_gone(&mut self, attack: &Attack, buffer: &mut [u8]) -> bool {
        let room = if attack.reads_slowly { 1 } else { buffer.len() };
        let would_wait = |kind: ErrorKind| kind == ErrorKind::WouldBlock;
        let ended = match self.stream.read(&mut buffer[..room]) {
            Ok(read) => read == 0,
            Err(error) => !would_wait(error.kind()),
        };
        ended || self.stream.write_all(attack.again).is_err_and(|error| !would_wait(error.kind()))
    }
}

/// Holds so many connections of each kind until the server has ended them. One thread does it, each connection in its
/// turn, so that what is measured beside it is the server and not the attack. Gives the longest of each kind; kinds of
/// which some are still there at the end have no time.
fn hold(address: SocketAddr, attacks: &[Attack], each: usize, give_up: Duration) -> Vec<Option<Duration>> {
    let kinds = (0..each).flat_map(|_| 0..attacks.len());
    let mut held: Vec<SlowConnection> = kinds.map(|kind| SlowConnection::open(address, kind, &attacks[kind])).collect();
    let mut longest = vec![Some(Duration::ZERO); attacks.len()];
    let (begun, mut buffer) = (Instant::now(), vec![0; 64 << 10]);
    while !held.is_empty() && begun.elapsed() < give_up {
        let (round, count) = (Instant::now(), held.len());
        let mut place = 0_u32;
        held.retain_mut(|one| {
            place += 1;
            // A round takes the whole pace, in steps of a hundred connections.
            if place.is_multiple_of(100) {
                let due = pace() * place / u32::try_from(count).unwrap();
                thread::sleep(due.saturating_sub(round.elapsed()));
            }
            let gone = one.is_gone(&attacks[one.kind], &mut buffer);
            if gone {
                longest[one.kind] = longest[one.kind].max(Some(one.started.elapsed()));
            }
            !gone
        });
        thread::sleep(pace().saturating_sub(round.elapsed()));
    }
    for one in held {
        longest[one.kind] = None;
    }
    longest
}

/// Asks on new connections, one after the other, until it is enough; gives how long each took and how many failed.
fn ask(address: SocketAddr, enough: impl Fn(usize) -> bool) -> (Vec<Duration>, usize) {
    let (mut times, mut failed) = (Vec::new(), 0);
    while !enough(times.len()) {
        let started = Instant::now();
        let reply = Client::connect(address).and_then(|mut client| client.send("GET", "/healthz", &[], b""));
        times.push(started.elapsed());
        failed += usize::from(reply.map_or(0, |reply| reply.status) != 200);
        thread::sleep(Duration::from_millis(5));
    }
    (times, failed)
}

/// Attacks a listener and asks it at the same time.
fn attack(listener: &str, address: SocketAddr, terms: &ListenerConfig, attacks: &[Attack], each: usize) {
    // The longest: a body has 10 s, and an HTTP/2 connection another idle time after its answer, and a moment to go.
    let most = terms.idle.max(Duration::from_secs(12)) + Duration::from_secs(5);
    let (mut quiet, _) = ask(address, |asked| asked == 400);
    let over = AtomicBool::new(false);
    let (longest, (mut loud, failed)) = thread::scope(|scope| {
        let normal = scope.spawn(|| ask(address, |_| over.load(Ordering::Relaxed)));
        let longest = hold(address, attacks, each, most + Duration::from_secs(10));
        over.store(true, Ordering::Relaxed);
        (longest, normal.join().unwrap())
    });
    for (attack, time) in attacks.iter().zip(&longest) {
        println!("slow clients, {listener}: {each} with {}: all gone after {time:.1?}", attack.name);
    }
    let p = |times: &mut Vec<Duration>| [0.5, 0.99, 1.0].map(|share| quantile(times, share));
    let (before, beside) = (p(&mut quiet), p(&mut loud));
    let slower = beside[1].as_secs_f64() / before[1].as_secs_f64();
    let last = longest.iter().copied().max().flatten().unwrap_or(Duration::MAX);
    println!(
        "slow clients, {listener}: {} normal requests beside {}, {failed} failed (aim 0: {}); p50, p99 and longest {before:.1?} quiet, {beside:.1?} beside them, p99 {slower:.1} times (aim 2: {}); the last of the slow ones gone after {last:.1?} (aim 65 s: {})",
        loud.len(),
        each * attacks.len(),
        verdict(failed == 0),
        verdict(slower <= 2.0),
        verdict(longest.iter().all(|time| time.is_some_and(|time| time <= Duration::from_secs(65)))),
    );
    assert_eq!(failed, 0);
    assert!(longest.iter().all(|time| time.is_some_and(|time| time < most)), "{longest:?}");
}

/// A configuration under which a test need not wait for long, or those of every day.
fn terms() -> ListenerConfig {
    if is_full() {
        return ListenerConfig::default();
    }
    let (head, idle, stall) = (Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(2));
    ListenerConfig { head, idle, stall, ..ListenerConfig::default() }
}

#[test]
fn slow_clients_are_gone_in_time_and_nobody_else_notices() {
    let server = Server::on(terms(), Settings { auth_required: false, ..Settings::default() });
    let mut attacks = attacks();
    attacks.push(slow_read());
    attack("public", server.address, &terms(), &attacks, if is_full() { 625 } else { 10 });
}

#[test]
fn slow_clients_of_the_admin_listener_are_gone_in_time_as_well() {
    let server = Server::on(terms(), Settings::default());
    attack("admin", server.admin, &terms(), &attacks(), if is_full() { 35 } else { 10 });
}

/// Bytes that the system holds for a client on the side of its server: sent and not taken, or not yet sent.
fn unread(client: &TcpStream) -> u64 {
    let port = |address: SocketAddr| format!(":{:04X}", address.port());
    let (ours, theirs) = (port(client.peer_addr().unwrap()), port(client.local_addr().unwrap()));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|line| line[1].ends_with(&ours) && line[2].ends_with(&theirs)).unwrap();
    u64::from_str_radix(line[4].split(':').next().unwrap(), 16).unwrap()
}

#[test]
fn the_system_holds_little_for_a_client_that_does_not_read() {
    let server = Server::on(ListenerConfig::default(), Settings { auth_required: false, ..Settings::default() });
    // Who connects before the server takes its first connection has what the system gives.
    assert_eq!(server.send("GET", "/healthz", &[], "").status, 200);
    let clients: Vec<SlowConnection> = (0..20).map(|_| SlowConnection::open(server.address, 0, &slow_read())).collect();
    let held = || clients.iter().map(|client| unread(&client.stream)).collect::<Vec<_>>();
    within(Duration::from_secs(10), "all of them are answered", || held().iter().all(|bytes| *bytes > 0));
    thread::sleep(Duration::from_millis(500));
    let held = held();
    println!("slow clients: the system holds up to {:?} bytes for one that does not read", held.iter().max());
    assert!(held.iter().all(|bytes| *bytes < 1 << 20), "{held:?}");
}

/// A server over so many movements of one account with as many others.
fn about_many(movements: u64, settings: Settings) -> Server {
    let mut store = MemoryStore::default();
    store.commit(hub(movements, 0..movements), &Cancel::new()).unwrap();
    Server::over(store, ListenerConfig::default(), settings)
}

#[test]
fn unread_tables_take_no_slot_and_are_whole_once_read() {
    const MOVEMENTS: u64 = 10_000;
    const JSON: (&str, &str) = ("Content-Type", "application/json");
    let server = about_many(MOVEMENTS, Settings { auth_required: false, ..Settings::default() });
    let body = about_the_hub(&format!(r#","limit":{MOVEMENTS}"#));
    // More than there are slots for calls like these.
    let slots = 4 * thread::available_parallelism().unwrap().get();
    let mut slow: Vec<Client> = (0..slots.min(100)).map(|_| server.client()).collect();
    for client in &mut slow {
        client.write("POST", "/v1/transactions", &[JSON, ("Accept", "application/x-ndjson")], body.as_bytes()).unwrap();
    }
    // They have begun, and continue until nothing more can be sent.
    thread::sleep(Duration::from_secs(1));
    let started = Instant::now();
    for _ in 0..10 {
        assert_eq!(server.send("POST", "/v1/transactions", &[JSON], QUIET).status, 200);
        assert_eq!(server.send("GET", "/v1/addresses/autocomplete?q=0xabc00", &[], "").status, 200);
    }
    println!("slow clients: 20 calls beside {} tables that nobody reads took {:.1?}", slow.len(), started.elapsed());
    thread::scope(|scope| {
        for client in &mut slow {
            scope.spawn(|| {
                let reply = client.read(false).unwrap();
                let rows = reply.body.split(|byte| *byte == b'\n').count() - 1;
                assert_eq!((reply.status, rows as u64), (200, MOVEMENTS));
            });
        }
    });
}

/// A store that lists so many tokens.
fn listing(tokens: u32) -> MemoryStore {
    let listed = (0..tokens).map(|number| {
        let mut contract = [0x11; 20];
        contract[..4].copy_from_slice(&number.to_be_bytes());
        TokenListing {
            chain: Chain::ETHEREUM,
            contract: Address::Evm(contract),
            symbol: format!("T{number}"),
            name: format!("the token of the number {number}"),
            decimals: 18,
            verified: true,
            coingecko_id: None,
        }
    });
    let mut store = MemoryStore::default();
    store.import_tokens("test", listed.collect()).unwrap();
    store
}

#[test]
fn large_answer_counts_as_a_call_until_it_is_sent() {
    const CALLS: u32 = 3;
    let limits = LimitSettings {
        enabled: true,
        plan: Arc::new(Plan { concurrency: CALLS, ..Plan::default() }),
        ..LimitSettings::default()
    };
    let server = Server::over(listing(30_000), ListenerConfig::default(), Settings { limits, ..Settings::default() });
    let (_, key) = server.key(0);
    let own = [("X-API-Key", key.as_str())];
    let ask = || server.send("GET", "/v1/addresses/autocomplete?q=0xabc00", &own, "");
    let request =
        format!("GET /v1/registry HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nConnection: close\r\n\r\n");
    let slow = (0..CALLS).map(|_| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        // Its answer is made, as its first byte is there.
        stream.read_exact(&mut [0]).unwrap();
        stream
    });
    let slow: Vec<TcpStream> = slow.collect();
    let refused = ask();
    assert_eq!((refused.status, refused.error().1.as_str()), (429, "concurrency"));
    let (_, other) = server.key(0);
    assert_eq!(server.send("GET", "/v1/addresses/autocomplete?q=0xabc00", &[("X-API-Key", &other)], "").status, 200);
    for mut stream in slow {
        let read = stream.read_to_end(&mut Vec::new()).unwrap();
        assert!(read > 3 << 20, "{read} bytes");
    }
    within(Duration::from_secs(10), "a place is free", || ask().status == 200);
}
