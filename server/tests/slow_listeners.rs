//! Clients of the stream that stop reading: they are ended, and the others notice nothing of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use headwater_server::events::{EventSettings, StreamTimes};

use crate::support::live::{LiveServer, LiveStore, Socket, call};
use crate::support::{Process, is_full, made_key, quantile, resident, within};

/// Streams that a key may have.
const OF_A_KEY: usize = 10;
/// Subscriptions of those who do not read: what all of the others get together would not fill a system's buffers soon.
const SUBSCRIPTIONS: usize = 50;

/// Streams that are open, as the figures of the server say.
fn open_streams(server: &Process) -> usize {
    let text = String::from_utf8(call(server.admin.unwrap(), "GET", "/metrics", "", "").body).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("headwater_streams_open ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn full_run_unread_streams_are_closed_and_others_served() {
    // Every event goes to every client: what all of them hear in a second is bounded by the machine.
    let (healthy, slow, blocks, per_block) = if is_full() { (990, 10, 480, 1) } else { (99, 1, 60, 5) };
    let mut live = LiveStore::new();
    let keys: Vec<String> = (0..(healthy + slow) / OF_A_KEY).map(|_| made_key(&live.store(), 0)).collect();
    let server = Process::start(&live.store(), &["--set", "metrics.open=true"]);
    let open = |number: usize| {
        let mut socket = Socket::open(server.address, "", &[("X-API-Key", &keys[number / OF_A_KEY])]).unwrap();
        socket.subscribe(None).unwrap();
        socket
    };
    let mut stuck: Vec<Socket> = (0..slow).map(open).collect();
    stuck.iter().for_each(Socket::hold_little);
    for _ in 1..SUBSCRIPTIONS {
        // A client may send 20 messages in a second.
        thread::sleep(Duration::from_millis(60));
        for socket in &mut stuck {
            socket.subscribe(None).unwrap();
        }
    }
    let listening: Vec<Socket> = (slow..slow + healthy).map(open).collect();
    assert_eq!(open_streams(&server), healthy + slow);
    let over = AtomicBool::new(false);
    let before = resident(server.id());
    let (mut delays, most, closed) = thread::scope(|scope| {
        let (over, server) = (&over, &server);
        let memory = scope.spawn(move || {
            let (mut most, begun) = (0, Instant::now());
            while !over.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_mins(5) {
                most = resident(server.id()).max(most);
                thread::sleep(Duration::from_millis(50));
            }
            most
        });
        let watched = scope.spawn(move || {
            let begun = Instant::now();
            within(Duration::from_mins(1), "those who do not read are closed", || open_streams(server) == healthy);
            begun.elapsed()
        });
        let expected = blocks * per_block;
        let readers: Vec<_> = listening
            .into_iter()
            .map(|mut socket| {
                let hear = move || {
                    (0..expected).map(|_| socket.event().map(|_| Instant::now()).unwrap()).collect::<Vec<Instant>>()
                };
                thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, hear).unwrap()
            })
            .collect();
        let mut committed = Vec::new();
        for _ in 0..blocks {
            live.block(per_block as u64);
            committed.push(Instant::now());
            thread::sleep(Duration::from_millis(125));
        }
        let heard: Vec<Vec<Instant>> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        let closed = watched.join().unwrap();
        over.store(true, Ordering::Relaxed);
        let delay = |(place, at): (usize, Instant)| at.saturating_duration_since(committed[place / per_block]);
        let delays: Vec<Duration> = heard.into_iter().flat_map(|one| one.into_iter().enumerate().map(delay)).collect();
        (delays, memory.join().unwrap(), closed)
    });
    // They read again when it is too late to get the reason: the next test shows who gets it.
    let codes: Vec<u16> = stuck.iter_mut().map(Socket::closing).collect();
    let closed_slow = codes.iter().filter(|code| **code == 4008).count();
    let (p50, p99) = (quantile(&mut delays, 0.5), quantile(&mut delays, 0.99));
    let met = |is_met: bool| if is_met { "met" } else { "missed" };
    println!(
        "slow streams: {slow} of {} do not read and are closed {closed:.1?} after the first event (aim 15 s, {}), {closed_slow} with \
         4008 and {} too long ago to get the reason; {} events to the others, p50 {p50:.1?}, p99 {p99:.1?} after the commit of \
         their block (aim 250 ms, {}); memory +{} KiB at most",
        healthy + slow,
        met(closed <= Duration::from_secs(15)),
        slow - closed_slow,
        delays.len(),
        met(p99 <= Duration::from_millis(250)),
        most.saturating_sub(before) >> 10
    );
    assert!(codes.iter().all(|code| matches!(code, 4008 | 0)), "{codes:?}");
    assert!(most.saturating_sub(before) <= 64 << 20);
}

/// A client that stops reading is given a time for what was written to it and 2 s for why it is ended: who reads again in
/// those finds it behind all that came before. The first time is 10 s, and 2 s here.
#[test]
fn slow_stream_that_reads_in_time_gets_the_reason() {
    let mut live = LiveStore::new();
    let stream_times = StreamTimes { write: Duration::from_secs(2), ..StreamTimes::default() };
    let server = LiveServer::start(&live.store(), EventSettings { stream_times, ..EventSettings::default() });
    let (_, key) = server.key();
    // The last ones come when the time for that is over, unless the server is late itself.
    let after_ms = [2600, 3000, 3400, 3800, 4600, 5600, 6800, 8200];
    let mut sockets: Vec<Socket> = (0..after_ms.len())
        .map(|_| {
            let mut socket = Socket::open(server.address, "", &[("X-API-Key", &key)]).unwrap();
            socket.subscribe(None).unwrap();
            socket
        })
        .collect();
    // More than systems hold, in one commit, which a stream receives as it reads: only the write takes too long.
    let events = 3000;
    live.block(events);
    let committed = Instant::now();
    let outcome: Vec<(u64, u16)> = thread::scope(|scope| {
        let reading: Vec<_> = sockets
            .iter_mut()
            .zip(after_ms)
            .map(|(socket, after_ms)| {
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(after_ms).saturating_sub(committed.elapsed()));
                    let mut heard = 0;
                    while heard < events {
                        match socket.event() {
                            Ok(_) => heard += 1,
                            Err(code) => return (heard, code),
                        }
                    }
                    // It came too early, and was kept.
                    (heard, 0)
                })
            })
            .collect();
        reading.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let counted = |is_it: fn(&(u64, u16)) -> bool| outcome.iter().filter(|one| is_it(one)).count();
    let (closed_slow, whole) = (counted(|one| one.1 == 4008), counted(|one| one.0 == 3000));
    println!(
        "slow streams: of {} that read again about when they are ended, {closed_slow} get 4008, {} come too late for it, \
         {whole} are kept; they had {:?} of {events} events",
        outcome.len(),
        outcome.len() - closed_slow - whole,
        outcome.iter().map(|one| one.0).collect::<Vec<u64>>()
    );
    assert!(closed_slow > 0 && outcome.iter().all(|(_, code)| matches!(code, 4008 | 0)), "{outcome:?}");
}
