//! The stream as its clients meet it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use headwater_server::events::{EventSettings, StreamTimes};
use serde_json::{Value, json};

use crate::support::live::{LiveServer, LiveStore, PAYER, Socket, call};
use crate::support::{Process, is_full, is_whole, random, run_json};

/// Opens a stream, once those that were just dropped have left it a place.
fn open(server: &LiveServer, key: &str) -> Socket {
    let begun = Instant::now();
    let (socket, welcome) = loop {
        let mut socket = Socket::open(server.address, "", &[("X-API-Key", key)]).unwrap();
        match socket.hear() {
            Ok(welcome) => break (socket, welcome),
            Err(4409) if begun.elapsed() < Duration::from_secs(20) => thread::sleep(Duration::from_millis(50)),
            Err(code) => panic!("closed with {code}"),
        }
    };
    assert_eq!((&welcome["type"], &welcome["heartbeat_seconds"]), (&json!("welcome"), &json!(30)));
    socket
}

#[test]
fn a_stream_opens_with_a_key_a_first_message_or_a_ticket() {
    let live = LiveStore::new();
    let stream_times = StreamTimes { auth: Duration::from_secs(2), ..StreamTimes::default() };
    let origins = vec!["https://app.example.com".to_owned()];
    let settings = EventSettings { origins, stream_times, ..EventSettings::default() };
    let server = LiveServer::start(&live.store(), settings);
    let (_, key) = server.key();
    open(&server, &key);
    let refused = |query: &str, headers: &[(&str, &str)]| Socket::open(server.address, query, headers).err();
    assert_eq!(refused("", &[("X-API-Key", "hw_live_nothing")]), Some(401));
    assert_eq!(refused("?ticket=nothing", &[]), Some(401));
    // The first message.
    let auth = |key: &str| {
        let mut socket = Socket::open(server.address, "", &[]).unwrap();
        socket.say(&json!({"action": "auth", "api_key": key}));
        socket.hear()
    };
    assert_eq!(auth(&key).unwrap()["type"], "welcome");
    assert_eq!(auth("hw_live_nothing"), Err(4401));
    let mut other = Socket::open(server.address, "", &[]).unwrap();
    other.say(&json!({"action": "ping", "id": "1"}));
    assert_eq!(other.hear(), Err(4401));
    let mut silent = Socket::open(server.address, "", &[]).unwrap();
    let begun = Instant::now();
    assert_eq!(silent.hear(), Err(4408));
    assert!(begun.elapsed() >= Duration::from_millis(1900));
    // A ticket is good once.
    let tickets = if is_full() { 10_000 } else { 50 };
    let mut used_again = 0;
    for _ in 0..tickets {
        let made = call(server.address, "POST", "/v1/stream/ticket", &key, "").json();
        let query = format!("?ticket={}", made["data"]["ticket"].as_str().unwrap());
        let mut socket = Socket::open(server.address, &query, &[]).unwrap();
        assert!(matches!(socket.hear(), Ok(_) | Err(4409)));
        used_again += usize::from(Socket::open(server.address, &query, &[]).is_ok());
    }
    println!("{tickets} tickets, {used_again} used again");
    assert_eq!(used_again, 0);
    assert_eq!(call(server.address, "POST", "/v1/stream/ticket", "", "").status, 401);
    // Whose page may open a stream.
    let host = server.address.to_string();
    let from = |origin: &str| Socket::open(server.address, "", &[("X-API-Key", &key), ("Origin", origin)]).err();
    assert_eq!(from("https://app.example.com"), None);
    assert_eq!(from(&format!("http://{host}")), None);
    for origin in ["https://evil.example.com", "null", "", "https://app.example.com.evil.com", &format!("ftp://{host}")]
    {
        assert_eq!(from(origin), Some(401), "{origin}");
    }
    // What is not a handshake.
    assert_eq!(call(server.address, "GET", "/v1/stream", &key, "").error().0, "bad_request");
    let unknown = crate::support::Client::connect(server.address).unwrap().send("GET", "/v1/stream", &[], b"").unwrap();
    assert_eq!(unknown.status, 401);
    let old = [
        ("X-API-Key", key.as_str()),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "8"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let old = crate::support::Client::connect(server.address).unwrap().send("GET", "/v1/stream", &old, b"").unwrap();
    assert_eq!((old.status, old.headers["sec-websocket-version"].as_str()), (400, "13"));
}

#[test]
fn client_receives_what_it_asks_for_and_nothing_else() {
    let mut live = LiveStore::new();
    let server = LiveServer::start(&live.store(), EventSettings::default());
    let (_, key) = server.key();
    let mut socket = open(&server, &key);
    socket.say(&json!({"action": "ping", "id": "p"}));
    assert_eq!(socket.hear().unwrap(), json!({"type": "pong", "id": "p"}));
    let subscription = socket.subscribe(None).unwrap();
    assert!(subscription.starts_with("sub_"));
    live.block(3);
    let mut seqs = Vec::new();
    for _ in 0..3 {
        let message = socket.hear().unwrap();
        assert_eq!((&message["type"], &message["subscription"]), (&json!("event"), &json!(subscription)));
        assert_eq!(message["event"]["type"], "address_activity");
        assert_eq!(message["event"]["data"]["matched_address"], PAYER);
        assert!(message["event"]["id"].as_str().unwrap().starts_with("evt_"));
        seqs.push(message["seq"].as_i64().unwrap());
    }
    assert!(seqs.is_sorted_by(|one, next| one < next), "{seqs:?}");
    socket.say(&json!({"action": "unsubscribe", "id": "u", "subscription": subscription}));
    assert_eq!(socket.hear().unwrap(), json!({"type": "unsubscribed", "id": "u", "subscription": subscription}));
    live.block(1);
    // What cannot be followed is refused, and ends nothing.
    // Addresses of which nothing is said: an event may come between two answers.
    let many: Vec<String> = (0..1001).map(|number| format!("0xffff{number:036x}")).collect();
    for message in [
        json!({"action": "subscribe", "id": "e", "event_type": "nonsense"}),
        json!({"action": "subscribe", "id": "e", "event_type": "address_activity", "filters": {"blockchain": "solana"}}),
        json!({"action": "unsubscribe", "id": "e", "subscription": subscription}),
        json!({"action": "dance", "id": "e"}),
    ] {
        socket.say(&message);
        let answer = socket.hear().unwrap();
        assert_eq!(
            (&answer["type"], &answer["id"], &answer["error"]["code"]),
            (&json!("error"), &json!("e"), &json!("bad_request")),
            "{message}"
        );
    }
    // As many as may be are taken in one message and one frame, which is how a page in a browser sends them.
    let mut watch = |addresses: &[String]| {
        let filters = json!({"blockchain": "ethereum", "addresses": addresses});
        let message = json!({"action": "subscribe", "id": "m", "event_type": "address_activity", "filters": filters});
        socket.say(&message);
        socket.hear().unwrap()
    };
    assert_eq!(watch(&many[..1000])["type"], "subscribed");
    assert!(watch(&many)["error"]["message"].as_str().unwrap().contains("1000"));
    // Without addresses nothing is sent, and that is said.
    socket.say(&json!({"action": "subscribe", "id": "r", "event_type": "risk_alert"}));
    let answer = socket.hear().unwrap();
    assert_eq!(answer["type"], "subscribed");
    assert!(!answer["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn a_message_has_at_most_64_kib_in_one_frame_or_several() {
    const MESSAGE: usize = 64 << 10;
    let live = LiveStore::new();
    let server = LiveServer::start(&live.store(), EventSettings::default());
    let (_, key) = server.key();
    let of = |message: Value, bytes: usize| {
        let text = message.to_string();
        let filling = " ".repeat(bytes - text.len());
        text + &filling
    };
    for frames in [1, 4] {
        let ping = |bytes: usize| {
            let mut socket = open(&server, &key);
            socket.frames(&of(json!({"action": "ping", "id": "p"}), bytes), bytes.div_ceil(frames));
            socket.hear().map(|answer| answer["type"].clone())
        };
        assert_eq!(ping(MESSAGE), Ok(json!("pong")));
        assert_eq!(ping(MESSAGE + 1), Err(1009));
    }
    // So has the one that says who comes.
    let auth = |bytes: usize| {
        let mut socket = Socket::open(server.address, "", &[]).unwrap();
        socket.frames(&of(json!({"action": "auth", "api_key": key}), bytes), bytes);
        socket.hear().map(|welcome| welcome["limits"]["message_bytes"].clone())
    };
    assert_eq!(auth(MESSAGE), Ok(json!(MESSAGE)));
    assert_eq!(auth(MESSAGE + 1), Err(1009));
}

#[test]
fn close_is_answered_and_a_non_websocket_gets_an_error() {
    let live = LiveStore::new();
    let server = LiveServer::start(&live.store(), EventSettings::default());
    let (_, key) = server.key();
    for mut socket in [open(&server, &key), Socket::open(server.address, "", &[]).unwrap()] {
        socket.close();
        assert_eq!(socket.closing(), 1000, "the code comes back");
    }
    for (code, frame) in [
        // A text that is not UTF-8, masked with zeros.
        (1007, &[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe][..]),
        // A text without a mask, a frame of no kind, one of reserved bits, one that continues with nothing.
        (1002, &[0x81, 0x02, b'h', b'i'][..]),
        (1002, &[0x83, 0x80, 0, 0, 0, 0][..]),
        (1002, &[0xc1, 0x80, 0, 0, 0, 0][..]),
        (1002, &[0x80, 0x80, 0, 0, 0, 0][..]),
        // A ping of 126 bytes.
        (1002, &[&[0x89, 0xfe, 0, 126][..], &[0; 130]].concat()),
    ] {
        let mut socket = open(&server, &key);
        socket.raw(frame);
        assert_eq!(socket.closing(), code, "{frame:?}");
    }
}

#[test]
fn message_limit_covers_any_second_without_pongs() {
    let live = LiveStore::new();
    let server = LiveServer::start(&live.store(), EventSettings::default());
    let (_, key) = server.key();
    let say = |socket: &mut Socket, messages: usize| {
        for number in 0..messages {
            socket.say(&json!({"action": "ping", "id": number.to_string()}));
        }
    };
    let mut socket = open(&server, &key);
    say(&mut socket, 20);
    // Answers to pings, masked with zeros.
    for _ in 0..30 {
        socket.raw(&[0x8a, 0x80, 0, 0, 0, 0]);
    }
    for _ in 0..20 {
        assert_eq!(socket.hear().unwrap()["type"], "pong");
    }
    say(&mut socket, 1);
    assert_eq!(socket.closing(), 4429);
    // Half of them before the end of a second since the first, half behind it.
    let mut socket = open(&server, &key);
    say(&mut socket, 1);
    thread::sleep(Duration::from_millis(700));
    say(&mut socket, 15);
    thread::sleep(Duration::from_millis(500));
    say(&mut socket, 15);
    assert_eq!(socket.closing(), 4429);
}

#[test]
fn limits_end_a_stream_with_their_own_codes() {
    let live = LiveStore::new();
    let mut server = LiveServer::start(&live.store(), EventSettings::default());
    let ((id, key), (_, other)) = (server.key(), server.key());
    let mut socket = open(&server, &key);
    for number in 0..30 {
        socket.say(&json!({"action": "ping", "id": number.to_string()}));
    }
    assert_eq!(socket.closing(), 4429);
    let mut socket = open(&server, &key);
    socket.say(&json!({"action": "resume", "id": "r", "after": "evt_00000000000000000000000000000000"}));
    assert_eq!(socket.closing(), 4010);
    let mut socket = open(&server, &key);
    assert_eq!(socket.subscribe(Some("evt_00000000000000000000000000000000")), Err(4010));
    drop(socket);
    // Ten streams of a key, and no more.
    let streams: Vec<Socket> = (0..10).map(|_| open(&server, &key)).collect();
    let mut eleventh = Socket::open(server.address, "", &[("X-API-Key", &key)]).unwrap();
    assert_eq!(eleventh.closing(), 4409);
    drop((streams, eleventh));
    let mut others = open(&server, &other);
    // A key that is revoked takes its streams with it, and nobody else's.
    let keys = if is_full() { 20 } else { 2 };
    let mut longest = Duration::ZERO;
    for number in 0..keys {
        let (id, key) = if number == 0 { (id.clone(), key.clone()) } else { server.key() };
        let mut streams: Vec<Socket> = (0..10).map(|_| open(&server, &key)).collect();
        server.revoke(&id);
        let revoked = Instant::now();
        for stream in &mut streams {
            assert_eq!(stream.closing(), 4401);
        }
        longest = longest.max(revoked.elapsed());
    }
    let aim = Duration::from_secs(1);
    println!(
        "10 streams of each of {keys} revoked keys were closed within {longest:?} (aim {aim:?}, {})",
        if longest <= aim { "met" } else { "missed" }
    );
    assert!(longest <= if is_full() { aim } else { Duration::from_secs(5) });
    others.say(&json!({"action": "ping", "id": "p"}));
    assert_eq!(others.hear().unwrap()["type"], "pong");
    // The end of the server, of which also hears who has not said yet who it is.
    let mut unknown = Socket::open(server.address, "", &[]).unwrap();
    server.begin_stop();
    assert_eq!((others.closing(), unknown.closing()), (1001, 1001));
}

/// A client that resumes behind a forgotten event gets 4010; one that resumes behind another misses nothing.
#[test]
fn a_cursor_is_expired_or_nothing_is_left_out_behind_it() {
    const PER_BLOCK: usize = 5;
    let (blocks, kept) = if is_full() { (200, 20) } else { (20, 4) };
    let mut live = LiveStore::new();
    live.forget_all_but(kept);
    let server = LiveServer::start(&live.store(), EventSettings::default());
    let mut listener = open(&server, &server.key().1);
    listener.subscribe(None).unwrap();
    let mut events: Vec<(i64, String)> = Vec::new();
    for _ in 0..blocks {
        live.block(PER_BLOCK as u64);
        events.extend((0..PER_BLOCK).map(|_| listener.event().unwrap()));
    }
    // What a server has read lately it keeps for a while, whatever the feed forgets.
    drop((server, listener));
    let server = LiveServer::start(&live.store(), EventSettings::default());
    let keys: Vec<String> = (0..5).map(|_| server.key().1).collect();
    let unknown = |number: usize| (0, format!("evt_{number:032x}"));
    let cursors: Vec<(i64, String)> = events.iter().cloned().chain((0..events.len()).map(unknown)).collect();
    let (mut expired, mut whole, mut gaps) = (0, 0, 0);
    for (place, (_, cursor)) in cursors.iter().enumerate() {
        // What is to come behind it, were it known; the last one has nothing behind it yet.
        let behind = events.get(place + 1..).unwrap_or_default();
        if place < events.len() && behind.is_empty() {
            continue;
        }
        for resumes in [false, true] {
            let mut socket = open(&server, &keys[place % keys.len()]);
            let begun = if resumes {
                socket.subscribe(None).unwrap();
                socket.say(&json!({"action": "resume", "id": "r", "after": cursor}));
                Ok(())
            } else {
                socket.subscribe(Some(cursor)).map(drop)
            };
            let outcome = match begun {
                Ok(()) if behind.is_empty() => Err(socket.closing()),
                Ok(()) => {
                    let mut heard = behind.iter().map(|event| socket.event().map(|heard| heard == *event));
                    heard.find(|one| *one != Ok(true)).unwrap_or(Ok(true))
                }
                Err(code) => Err(code),
            };
            match outcome {
                Err(4010) => expired += 1,
                Ok(true) => whole += 1,
                Ok(false) => gaps += 1,
                Err(code) => panic!("closed with {code} behind {cursor}"),
            }
        }
    }
    println!(
        "{} cursors, half of them of nothing: {expired} were closed with 4010, {whole} received all that came behind, \
         silent gaps {gaps}",
        expired + whole + gaps
    );
    assert_eq!(gaps, 0);
    // All that are unknown and most of the old ones; not those of the blocks that are kept.
    assert!(expired > 2 * events.len() && whole > 0, "{expired} expired, {whole} whole");
}

#[test]
fn slow_stream_clients_are_ended_and_others_kept() {
    let mut live = LiveStore::new();
    let server = LiveServer::start(&live.store(), EventSettings::default());
    let ((_, key), (_, other)) = (server.key(), server.key());
    let mut slow: Vec<Socket> = (0..10)
        .map(|_| {
            let mut socket = open(&server, &key);
            socket.subscribe(None).unwrap();
            socket
        })
        .collect();
    let mut stuck = slow.pop().unwrap();
    let mut healthy = open(&server, &other);
    healthy.subscribe(None).unwrap();
    let (blocks, per_block) = (50, 200);
    let heard = Arc::new(AtomicU64::new(0));
    let hears = Arc::clone(&heard);
    let reading = thread::spawn(move || {
        let mut seqs = Vec::new();
        while seqs.len() < 50 * 200 {
            seqs.push(healthy.event().unwrap().0);
            hears.fetch_add(1, Ordering::Relaxed);
        }
        seqs
    });
    let begun = Instant::now();
    // They continue reading, so that they find out why they are ended.
    let slow: Vec<_> = slow
        .into_iter()
        .map(|mut socket| {
            thread::spawn(move || {
                // So slow that they fall behind also where the machine makes events slowly.
                for heard in 0..blocks * per_block {
                    if let Err(code) = socket.event() {
                        return (heard, code);
                    }
                    if heard % 5 == 0 {
                        thread::sleep(Duration::from_millis(30));
                    }
                }
                (blocks * per_block, 0)
            })
        })
        .collect();
    for block in 0..blocks {
        // Who reads keeps up, however busy the machine is.
        let behind = |heard: &AtomicU64| heard.load(Ordering::Relaxed) + 3 * per_block < block * per_block;
        while behind(&heard) && !reading.is_finished() {
            thread::sleep(Duration::from_millis(5));
        }
        live.block(per_block);
        thread::sleep(Duration::from_millis(20));
    }
    let seqs = reading.join().unwrap();
    assert!(seqs.is_sorted_by(|one, next| one < next));
    // Who did not read at all gets the reason, if it reads again soon enough.
    let late = begun.elapsed();
    let code = stuck.closing();
    let outcome: Vec<(u64, u16)> = slow.into_iter().map(|one| one.join().unwrap()).collect();
    println!(
        "{} clients that read too slowly heard {:?} of {} events, {} of them were closed with 4008 ({:.1?}); one that \
         read nothing for {late:.1?} was closed with {code}",
        outcome.len(),
        outcome.iter().map(|one| one.0).collect::<Vec<u64>>(),
        blocks * per_block,
        outcome.iter().filter(|one| one.1 == 4008).count(),
        begun.elapsed()
    );
    assert!(outcome.iter().all(|(heard, _)| *heard < blocks * per_block), "{outcome:?}");
    // Who has too much before it to come to the word of the end in two seconds hears the end alone.
    assert!(outcome.iter().all(|(_, code)| matches!(code, 4008 | 0)) && matches!(code, 4008 | 0), "{outcome:?} {code}");
    assert!(!is_full() || outcome.iter().any(|(_, code)| *code == 4008), "{outcome:?}");
}

#[test]
fn burst_of_one_commit_reaches_a_reading_client_in_order() {
    let mut live = LiveStore::new();
    let server = LiveServer::start(&live.store(), EventSettings::default());
    let (_, key) = server.key();
    let mut socket = open(&server, &key);
    socket.subscribe(None).unwrap();
    for count in [5000, 3, 2000] {
        live.block(count);
    }
    let events: Vec<(i64, String)> = (0..7003).map(|_| socket.event().unwrap()).collect();
    assert!(events.is_sorted_by(|one, next| one.0 < next.0));
    live.block(1);
    let last = socket.event().unwrap();
    assert!(last.0 > events[7002].0);
    // Who comes late goes back to an event, twice, and receives each that came after it once.
    let mut late = open(&server, &key);
    late.subscribe(None).unwrap();
    late.say(&json!({"action": "resume", "id": "r", "after": events[6999].1}));
    let missed: Vec<(i64, String)> = (0..4).map(|_| late.event().unwrap()).collect();
    assert_eq!(missed[..3], events[7000..]);
    assert_eq!(missed[3], last);
    // Until it listens like others.
    thread::sleep(Duration::from_secs(2));
    late.say(&json!({"action": "resume", "id": "s", "after": events[6997].1}));
    let before: Vec<(i64, String)> = (0..2).map(|_| late.event().unwrap()).collect();
    assert_eq!(before[..], events[6998..7000]);
    thread::sleep(Duration::from_millis(500));
    live.block(1);
    assert!(late.event().unwrap().0 > last.0);
}

#[test]
fn confirmed_subscription_resumes_behind_its_own_events() {
    let mut live = LiveStore::new();
    let server = LiveServer::start(&live.store(), EventSettings::default());
    let ((_, key), (_, other)) = (server.key(), server.key());
    // Somebody else hears of every block at once.
    let mut somebody = open(&server, &other);
    somebody.subscribe(None).unwrap();
    let subscribe = |mut socket: Socket, after: Option<&str>| {
        let filters = json!({"blockchain": "ethereum", "addresses": [PAYER], "min_confirmations": 3});
        let event_type = "address_activity";
        socket.say(
            &json!({"action": "subscribe", "id": "s", "event_type": event_type, "filters": filters, "after": after}),
        );
        assert_eq!(socket.hear().unwrap()["type"], "subscribed");
        socket
    };
    let mut socket = subscribe(open(&server, &key), None);
    for _ in 0..6 {
        live.block(1);
    }
    let events: Vec<(i64, String)> = (0..4).map(|_| socket.event().unwrap()).collect();
    drop(socket);
    let mut again = subscribe(open(&server, &key), Some(&events[1].1));
    for expected in &events[2..] {
        assert_eq!(again.event().unwrap(), *expected);
    }
    live.block(1);
    assert!(again.event().unwrap().0 > events[3].0);
    // What another subscription of the connection received first says nothing of what this one received.
    let mut both = open(&server, &key);
    both.say(&json!({"action": "resume", "id": "r", "after": events[3].1}));
    let mut both = subscribe(both, None);
    let heard: BTreeSet<String> = (0..4).map(|_| both.event().unwrap().1).collect();
    assert!(heard.contains(&events[2].1) && heard.contains(&events[3].1), "{heard:?}");
}

/// Clients that are cut off by themselves and by kill -9 of the server, and continue behind what they saw last.
#[test]
fn returning_clients_miss_nothing_and_get_nothing_twice() {
    // The whole of it is a billion messages, which take hours: all clients and faults at a tenth of the rate for a tenth
    // of the time, and the whole rate and time with few of the clients.
    let sizes: &[Size] = match (is_full(), is_whole()) {
        (true, true) => &[Size { clients: 1000, blocks: 2400, per_block: 500, kills: 20, cuts: 1000 }],
        (true, false) => &[
            Size { clients: 1000, blocks: 240, per_block: 50, kills: 20, cuts: 1000 },
            Size { clients: 25, blocks: 2400, per_block: 500, kills: 20, cuts: 1000 },
        ],
        (false, _) => &[Size { clients: 10, blocks: 40, per_block: 10, kills: 3, cuts: 20 }],
    };
    sizes.iter().for_each(come_back);
}

/// The number of events and streams, and what befalls them.
struct Size {
    clients: usize,
    blocks: usize,
    per_block: usize,
    kills: usize,
    cuts: usize,
}

fn come_back(&Size { clients, blocks, per_block, kills, cuts }: &Size) {
    let first_seed = random();
    println!("seed {first_seed}");
    let mut live = LiveStore::new();
    let store = live.store();
    let keys: Vec<String> = (0..clients_keys(clients))
        .map(|_| {
            let made = run_json(&["keys", "create", "--json", "--store", store.to_str().unwrap(), "--credits", "0"]);
            made["key"].as_str().unwrap().to_owned()
        })
        .collect();
    let server = Mutex::new(Some(Process::start(&store, &[])));
    let address = Mutex::new(server.lock().unwrap().as_ref().unwrap().address);
    let expected = blocks * per_block;
    let (ready, cut) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let outcome: Vec<(usize, usize, bool)> = thread::scope(|scope| {
        let handles: Vec<_> = (0..clients)
            .map(|number| {
                let (keys, address, ready, cut) = (&keys, &address, &ready, &cut);
                scope.spawn(move || {
                    let mut seen: Vec<(i64, String)> = Vec::new();
                    let mut seed = first_seed + number as u64;
                    while seen.len() < expected {
                        let place = *address.lock().unwrap();
                        let key = &keys[number / 10];
                        let Ok(mut socket) = Socket::open(place, "", &[("X-API-Key", key)]) else {
                            thread::sleep(Duration::from_millis(50));
                            continue;
                        };
                        let after = seen.last().map(|(_, id)| id.clone());
                        if let Err(code) = socket.subscribe(after.as_deref()) {
                            assert_ne!(code, 4010, "an event that was sent is unknown");
                            thread::sleep(Duration::from_millis(50));
                            continue;
                        }
                        if after.is_none() {
                            ready.fetch_add(1, Ordering::SeqCst);
                        }
                        // Some streams are cut off after a while.
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        let mut left = if cut.load(Ordering::SeqCst) < cuts {
                            1 + (seed >> 33) as usize % (expected * clients / cuts).min(expected)
                        } else {
                            usize::MAX
                        };
                        while seen.len() < expected {
                            let Ok(event) = socket.event() else { break };
                            seen.push(event);
                            left -= 1;
                            if left == 0 {
                                cut.fetch_add(1, Ordering::SeqCst);
                                break;
                            }
                        }
                    }
                    let ids: BTreeSet<&String> = seen.iter().map(|(_, id)| id).collect();
                    let in_order = seen.is_sorted_by(|one, next| one.0 < next.0);
                    (expected - ids.len(), seen.len() - ids.len(), in_order)
                })
            })
            .collect();
        crate::support::within(Duration::from_mins(1), "all clients listen", || {
            ready.load(Ordering::SeqCst) >= clients
        });
        for block in 0..blocks {
            live.block(per_block as u64);
            thread::sleep(Duration::from_millis(if is_full() { 250 } else { 50 }));
            if block % (blocks / kills) == blocks / kills - 1 {
                let mut server = server.lock().unwrap();
                server.take().unwrap().kill();
                let again = Process::start(&store, &[]);
                *address.lock().unwrap() = again.address;
                *server = Some(again);
            }
        }
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    let (lost, twice): (usize, usize) = outcome.iter().fold((0, 0), |(lost, twice), one| (lost + one.0, twice + one.1));
    println!(
        "{clients} clients, {expected} events each, {} cut off, {kills} kills: lost {lost}, sent twice {twice}",
        cut.load(Ordering::SeqCst)
    );
    assert_eq!((lost, twice), (0, 0));
    assert!(outcome.iter().all(|one| one.2), "order was not kept");
}

/// Ten streams per key.
const fn clients_keys(clients: usize) -> usize {
    clients.div_ceil(10)
}

/// Measures what an open stream takes of the server while nothing happens.
#[test]
fn an_idle_stream_takes_little_memory() {
    let streams = if is_full() { 10_000 } else { 300 };
    let live = LiveStore::new();
    let store = live.store();
    let mut server = Process::start(&store, &["--set", "auth.required=false"]);
    let resident = || {
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", server.id())).unwrap();
        pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let open = || {
        let mut socket = Socket::open(server.address, "", &[]).unwrap();
        socket.hear().unwrap();
        socket
    };
    let first: Vec<Socket> = (0..50).map(|_| open()).collect();
    let before = resident();
    let sockets: Vec<Socket> = (0..streams).map(|_| open()).collect();
    let grown = resident().saturating_sub(before);
    println!("{streams} idle streams: {} bytes each", grown / streams);
    assert!(grown <= streams * (32 << 10) + (4 << 20), "{grown} bytes");
    assert!(sockets.iter().chain(&first).all(|socket| socket.stream().peer_addr().is_ok()));
    drop((sockets, first));
    server.kill();
}
