//! Webhooks, streams and tickets of several servers on one PostgreSQL.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use headwater_server::events::webhook::sign::Secret;
use headwater_state::Access;
use serde_json::json;

use crate::support::live::{LiveStore, ReceivedDelivery, Receiver, Socket, call, webhook};
use crate::support::replicas::Replicas;
use crate::support::{Process, is_full, random, within};

const OK: &str = "200 OK";
const LOCAL: [&str; 2] = ["--set", "webhooks.allow_private_targets=true"];

fn is_signed(received: &ReceivedDelivery, secret: &str) -> bool {
    let expected = Secret::parse(secret).unwrap().sign(&received.id, received.timestamp, received.body.as_bytes());
    received.signatures.contains(&expected)
}

/// Counts how often each event came.
fn by_id(received: &[ReceivedDelivery]) -> BTreeMap<&str, usize> {
    received.iter().fold(BTreeMap::new(), |mut each, one| {
        *each.entry(one.id.as_str()).or_default() += 1;
        each
    })
}

/// Streams that listen, and those that have heard something.
#[derive(Default)]
struct StreamCounts {
    ready: AtomicUsize,
    heard: AtomicUsize,
}

/// Reads a stream at one server after another until it has seen so many events, or there was time enough for them; gives
/// how many ids it saw, how many of its events it had seen before, and whether they came in order.
fn listen(
    addresses: &RwLock<Vec<SocketAddr>>,
    first: usize,
    key: &str,
    listening: &StreamCounts,
    (total, until): (usize, Instant),
) -> (usize, usize, bool) {
    let mut seen: Vec<(i64, String)> = Vec::new();
    let mut turn = first;
    while seen.len() < total && Instant::now() < until {
        let address = {
            let addresses = addresses.read().unwrap();
            addresses[turn % addresses.len()]
        };
        turn += 1;
        let Ok(mut socket) = Socket::open(address, "", &[("X-API-Key", key)]) else {
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let after = seen.last().map(|(_, id)| id.clone());
        if let Err(code) = socket.subscribe(after.as_deref()) {
            assert_ne!(code, 4010, "an event that was sent is unknown");
            continue;
        }
        if after.is_none() {
            listening.ready.fetch_add(1, Ordering::SeqCst);
        }
        let limit = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        socket.stream().set_read_timeout(Some(limit)).unwrap();
        while seen.len() < total && Instant::now() < until {
            let Ok(event) = socket.event() else { break };
            if seen.is_empty() {
                listening.heard.fetch_add(1, Ordering::SeqCst);
            }
            seen.push(event);
        }
    }
    let ids: BTreeSet<&String> = seen.iter().map(|(_, id)| id).collect();
    (ids.len(), seen.len() - ids.len(), seen.is_sorted_by(|one, next| one.0 < next.0))
}

/// kill -9 of any of three servers at random moments while blocks arrive and the receiver fails one time in five.
#[test]
fn postgres_replicas_that_are_killed_lose_no_event() {
    let (kills, blocks, per_block) = if is_full() { (200, 1000, 100) } else { (5, 40, 10) };
    let mut live = LiveStore::new();
    let settings = [LOCAL[0], LOCAL[1], "--set", "webhooks.second_ms=5"];
    let mut replicas = Replicas::start(3, &live.store(), &settings);
    let (_, key) = replicas.key();
    let mut seed = random();
    println!("seed {seed}");
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let count = AtomicUsize::new(0);
    let receiver = Receiver::start(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        if number.is_multiple_of(5) { "500 No".to_owned() } else { OK.to_owned() }
    });
    // No pause: a webhook holds from the moment that it is made, whichever server makes the events.
    let addresses = RwLock::new(replicas.addresses());
    let listening = StreamCounts::default();
    let total = usize::try_from(blocks * per_block).unwrap();
    let until = Instant::now() + Duration::from_secs(if is_full() { 3600 } else { 180 });
    let mut secret = String::new();
    let streams: Vec<(usize, usize, bool)> = thread::scope(|scope| {
        let clients: Vec<_> = (0..3)
            .map(|number| {
                let (addresses, listening, key) = (&addresses, &listening, key.as_str());
                scope.spawn(move || listen(addresses, number, key, listening, (total, until)))
            })
            .collect();
        within(Duration::from_mins(1), "all streams listen", || listening.ready.load(Ordering::SeqCst) == 3);
        secret = webhook(replicas.servers[0].address, &key, &receiver.url("in")).1;
        let every = blocks / kills;
        for block in 0..blocks {
            live.block(per_block);
            // A stream continues behind what it heard: one that has heard nothing begins again, with what comes then.
            if block == 0 {
                within(Duration::from_mins(1), "all streams hear", || listening.heard.load(Ordering::SeqCst) == 3);
            }
            if block % every == every - 1 {
                thread::sleep(Duration::from_millis(next(300)));
                replicas.replace(usize::try_from(next(3)).unwrap());
                *addresses.write().unwrap() = replicas.addresses();
            }
        }
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    within(Duration::from_secs(if is_full() { 3600 } else { 120 }), "every event is delivered", || {
        thread::sleep(Duration::from_millis(200));
        by_id(&receiver.received()).len() >= total
    });
    let received = receiver.received();
    let (ids, forged) = (by_id(&received).len(), received.iter().filter(|one| !is_signed(one, &secret)).count());
    let (lost, twice) = streams.iter().fold((0, 0), |sum, one| (sum.0 + total - one.0, sum.1 + one.1));
    println!(
        "three replicas, {kills} kills, {total} events: lost {}, distinct ids {ids}, deliveries {}, badly signed {forged}; \
         3 streams: lost {lost}, reported twice {twice}",
        total.saturating_sub(ids),
        received.len()
    );
    assert_eq!((ids, forged, lost, twice), (total, 0, 0, 0));
    assert!(streams.iter().all(|one| one.2), "order was kept");
    // Those that were failed come again; what comes besides was under way when a server was killed.
    let (failed, repeated) = (received.len().div_ceil(5), received.len() - total);
    assert!(repeated <= failed + 4 * usize::try_from(kills).unwrap(), "{repeated} repeated, {failed} failed");
    replicas.home.check().unwrap();
}

#[test]
fn postgres_replicas_deliver_each_event_once_per_stream() {
    let blocks = if is_full() { 500 } else { 30 };
    let mut live = LiveStore::new();
    let replicas = Replicas::start(3, &live.store(), &LOCAL);
    let (_, key) = replicas.key();
    let receivers = [Receiver::start(|_| OK.to_owned()), Receiver::start(|_| OK.to_owned())];
    for (server, receiver) in replicas.servers.iter().zip(&receivers) {
        webhook(server.address, &key, &receiver.url("in"));
    }
    let mut sockets: Vec<Socket> = replicas
        .servers
        .iter()
        .map(|server| {
            let mut socket = Socket::open(server.address, "", &[("X-API-Key", &key)]).unwrap();
            socket.subscribe(None).unwrap();
            socket
        })
        .collect();
    for _ in 0..blocks {
        live.block(3);
    }
    let expected = 3 * blocks;
    let heard: Vec<Vec<(i64, String)>> =
        sockets.iter_mut().map(|socket| (0..expected).map(|_| socket.event().unwrap()).collect()).collect();
    assert!(heard.iter().all(|one| *one == heard[0]), "every stream receives the same, under the same numbers");
    let ids: BTreeSet<&String> = heard[0].iter().map(|(_, id)| id).collect();
    for receiver in &receivers {
        receiver.wait_for(Duration::from_mins(1), expected);
    }
    // Long enough for a second delivery to show itself.
    thread::sleep(Duration::from_secs(1));
    let taken: Vec<Vec<ReceivedDelivery>> = receivers.iter().map(Receiver::received).collect();
    println!("three replicas, {expected} events: delivered {} and {} times", taken[0].len(), taken[1].len());
    for received in &taken {
        let each = by_id(received);
        assert!(each.values().all(|count| *count == 1), "nothing is sent twice");
        assert!(each.keys().copied().eq(ids.iter().map(|id| id.as_str())), "the same ids as on the streams");
    }
}

#[test]
fn postgres_a_ticket_is_good_at_every_replica_and_once() {
    let rounds = if is_full() { 1000 } else { 20 };
    let live = LiveStore::new();
    let replicas = Replicas::start(3, &live.store(), &[]);
    let (id, key) = replicas.key();
    let addresses = replicas.addresses();
    let ticket = |address: SocketAddr| {
        let made = call(address, "POST", "/v1/stream/ticket", &key, "").json();
        format!("?ticket={}", made["data"]["ticket"].as_str().unwrap())
    };
    let mut opened_twice = 0;
    for round in 0..rounds {
        let query = ticket(addresses[round % 3]);
        // Shown to all of them at the same moment.
        let barrier = Barrier::new(3);
        let opened: usize = thread::scope(|scope| {
            let tries: Vec<_> = addresses
                .iter()
                .map(|address| {
                    let (barrier, query) = (&barrier, &query);
                    scope.spawn(move || {
                        barrier.wait();
                        Socket::open(*address, query, &[])
                    })
                })
                .collect();
            tries.into_iter().map(|one| usize::from(one.join().unwrap().is_ok())).sum()
        });
        assert!(opened >= 1, "a ticket is good at another server than the one that gave it");
        opened_twice += usize::from(opened > 1);
        assert_eq!(Socket::open(addresses[round % 3], &query, &[]).err(), Some(401));
    }
    println!("{rounds} tickets shown to three replicas at once: good more than once {opened_twice}");
    assert_eq!(opened_twice, 0);
    // Expired, made up, and of a key that was revoked meanwhile.
    let old = ticket(addresses[0]);
    let mut db = replicas.home.connect(Access::Write).unwrap();
    db.transaction(|tx| tx.execute("UPDATE stream_ticket SET expires_at_ms = 1", &[])).unwrap();
    assert_eq!(Socket::open(addresses[1], &old, &[]).err(), Some(401));
    assert_eq!(Socket::open(addresses[1], "?ticket=3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", &[]).err(), Some(401));
    let late = ticket(addresses[0]);
    replicas.home.admin("test", |admin| admin.revoke_key(&id)).unwrap();
    within(Duration::from_secs(5), "the key is refused", || {
        call(addresses[1], "GET", "/v1/chains", &key, "").status == 401
    });
    assert_eq!(Socket::open(addresses[1], &late, &[]).err(), Some(401));
}

/// A minute of the schedule takes 12 s here, and so long is a receiver that says 429 sent one at a time.
#[test]
fn postgres_replicas_throttle_a_receiver_together() {
    const EVENTS: usize = 20;
    const CAP: usize = 4;
    let mut live = LiveStore::new();
    let mut replicas = Replicas::start(3, &live.store(), &[LOCAL[0], LOCAL[1], "--set", "webhooks.second_ms=200"]);
    let (_, key) = replicas.key();
    let (is_busy, hangs) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    // How many the receiver held already when each came.
    let (held, beside) = (AtomicUsize::new(0), Arc::new(Mutex::new(Vec::new())));
    let (busy, waits, list) = (Arc::clone(&is_busy), Arc::clone(&hangs), Arc::clone(&beside));
    let receiver = Receiver::start(move |_| {
        list.lock().unwrap().push(held.fetch_add(1, Ordering::SeqCst));
        // Long enough to be met by whatever comes beside it.
        thread::sleep(Duration::from_millis(50));
        while waits.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(10));
        }
        held.fetch_sub(1, Ordering::SeqCst);
        if busy.load(Ordering::SeqCst) { "429 Later".to_owned() } else { OK.to_owned() }
    });
    webhook(replicas.servers[0].address, &key, &receiver.url("in"));
    live.block(EVENTS as u64);
    let begun = Instant::now();
    // The second attempts come after 5 s of the schedule, not after the minute.
    let received = receiver.wait_for(Duration::from_secs(30), 2 * EVENTS);
    let took = begun.elapsed();
    let early = by_id(&received);
    assert!(early.len() == EVENTS && early.values().all(|count| *count == 2), "{early:?}");
    let mut db = replicas.home.connect(Access::Write).unwrap();
    within(Duration::from_secs(30), "both attempts are written down", || {
        let written = "SELECT count(*) FROM webhook_delivery WHERE attempts = 2 AND lease_owner IS NULL";
        let count = db.transaction(|tx| tx.row(written, &[])).unwrap().unwrap().int(0).unwrap();
        usize::try_from(count) == Ok(EVENTS)
    });
    // It has too much for a long time now; who sends it the next is killed, and with it all others.
    is_busy.store(false, Ordering::SeqCst);
    let long = "UPDATE webhook_endpoint SET throttled_until_ms = 4102444800000";
    db.transaction(|tx| tx.execute(long, &[])).unwrap();
    hangs.store(true, Ordering::SeqCst);
    live.block(EVENTS as u64);
    within(Duration::from_secs(30), "one more is held", || beside.lock().unwrap().len() > 2 * EVENTS);
    replicas.servers.iter_mut().for_each(Process::kill);
    let killed = Instant::now();
    hangs.store(false, Ordering::SeqCst);
    replicas.servers = (0..3).map(|_| replicas.serve()).collect();
    let mut again = 0;
    within(Duration::from_mins(1), "it receives the rest, and again what was under way", || {
        let received = receiver.received();
        let late = by_id(&received).into_iter().filter(|(id, _)| !early.contains_key(id));
        let (ids, count) = late.fold((0, 0), |(ids, sum), (_, count)| (ids + 1, sum + count));
        again = count - ids;
        ids == EVENTS && again > 0
    });
    let beside = beside.lock().unwrap();
    println!(
        "a receiver that answers 429, three replicas: {EVENTS} deliveries tried twice in {took:.1?}, {} at a time and then \
         one; all killed over one delivery: the other {} and it once more within {:.1?}",
        beside[..CAP].iter().max().unwrap() + 1,
        EVENTS - 1,
        killed.elapsed()
    );
    // As many as had a place before the first was answered may come together, and no others.
    assert!(again == 1 && beside[CAP..].iter().all(|others| *others == 0), "{again} {beside:?}");
}

#[test]
fn a_change_of_a_webhook_leaves_what_another_replica_changed() {
    let live = LiveStore::new();
    let replicas = Replicas::start(1, &live.store(), &LOCAL);
    let (_, key) = replicas.key();
    let address = replicas.servers[0].address;
    let receiver = Receiver::start(|_| OK.to_owned());
    let path = format!("/v1/webhooks/{}", webhook(address, &key, &receiver.url("a")).0);
    let changed = json!({"target_url": receiver.url("b")}).to_string();
    let mut db = replicas.home.connect(Access::Write).unwrap();
    let reply = thread::scope(|scope| {
        // Another replica disables it, and has not yet committed that when the change comes.
        let change = db.transaction(|tx| {
            tx.execute("UPDATE webhook_endpoint SET status = 'disabled', status_reason = 'gone'", &[])?;
            let change = scope.spawn(|| call(address, "PATCH", &path, &key, &changed));
            thread::sleep(Duration::from_millis(500));
            Ok(change)
        });
        change.unwrap().join().unwrap()
    });
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    for view in [reply.json(), call(address, "GET", &path, &key, "").json()] {
        let data = &view["data"];
        assert_eq!((&data["status"], &data["status_reason"]), (&json!("disabled"), &json!("gone")), "{data}");
        assert_eq!(data["target_url"], receiver.url("b"));
    }
}
