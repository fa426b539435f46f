//! Clients that hold a connection as cheaply as they can: all of them are gone in time, and nobody else notices.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use headwater_server::gateway::{Settings, Terms};

use crate::http2::{HEADERS, PREFACE, frame, get, settings};
use crate::support::{Server, full, quantile};

/// A way to hold a connection: what is sent at first, and again and again.
struct Attack {
    name: &'static str,
    first: Vec<u8>,
    again: Vec<u8>,
}

fn attacks() -> Vec<Attack> {
    let text = |text: &str| text.as_bytes().to_vec();
    let post =
        "POST /v1/transactions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
    let large = "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20);
    // A window of nothing: the answer is there and cannot be sent.
    let shut = [PREFACE, &settings(&[(4, 0)]), &get(1, "/openapi.json")].concat();
    // HEADERS without END_HEADERS: what must follow never comes.
    let half = [PREFACE, &settings(&[]), &frame(HEADERS, 0, 1, &[0x82])].concat();
    let attack = |name, first, again| Attack { name, first, again };
    vec![
        attack("no bytes", Vec::new(), Vec::new()),
        attack("slow head", text("GET / HTTP/1.1\r\nX: "), text("a")),
        attack("slow body", text(post), text(" ")),
        attack("slow read", large.into_bytes(), Vec::new()),
        attack("idle", text("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), Vec::new()),
        attack("HTTP/2 with nothing to say", [PREFACE, &settings(&[])].concat(), Vec::new()),
        attack("HTTP/2 with a shut window", shut, Vec::new()),
        attack("HTTP/2 with half a head", half, Vec::new()),
    ]
}

/// Holds a connection until the server ends it; gives how long that took.
fn hold(address: SocketAddr, attack: &Attack, give_up: Duration) -> Option<Duration> {
    let mut stream = TcpStream::connect(address).ok()?;
    let started = Instant::now();
    let mut gone = stream.write_all(&attack.first).is_err();
    stream.set_read_timeout(Some(Duration::from_millis(50))).ok()?;
    // One byte at a time is all that a slow reader reads; the others wait for the end.
    let mut read = vec![0; if attack.name == "slow read" { 1 } else { 1 << 16 }];
    while !gone && started.elapsed() < give_up {
        thread::sleep(Duration::from_millis(200));
        gone = match stream.read(&mut read) {
            Ok(read) => read == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        };
        gone |= stream.write_all(&attack.again).is_err();
        // What was sent before the end may lie in the system's buffers; whether the end is there, a write tells.
        gone |= attack.name == "slow read" && started.elapsed() > Duration::from_secs(1) && is_reset(&stream);
    }
    gone.then(|| started.elapsed())
}

/// Whether the other end has closed, without taking what it sent.
fn is_reset(stream: &TcpStream) -> bool {
    stream.take_error().is_ok_and(|error| error.is_some()) || (&*stream).write_all(b"\r\n").is_err()
}

#[test]
fn slow_clients_are_gone_in_time_and_nobody_else_notices() {
    let (each, terms) = if full() {
        (625, Terms::default())
    } else {
        let short = Terms {
            head: Duration::from_secs(1),
            idle: Duration::from_secs(2),
            stall: Duration::from_secs(2),
            ..Terms::default()
        };
        (10, short)
    };
    // The longest: a body has 10 s, and an HTTP/2 connection another idle time after its answer, and a moment to go.
    let most = terms.idle.max(Duration::from_secs(12)) + Duration::from_secs(5);
    let server = Server::on(terms, Settings { auth_required: false, ..Settings::default() });
    let ask = |count: usize, pause: u64| {
        let mut times = Vec::new();
        let mut failed = 0;
        for _ in 0..count {
            let started = Instant::now();
            let status = server.client().send("GET", "/healthz", &[], b"").map_or(0, |reply| reply.status);
            times.push(started.elapsed());
            failed += usize::from(status != 200);
            thread::sleep(Duration::from_millis(pause));
        }
        (quantile(&mut times, 0.99), failed)
    };
    let (quiet, _) = ask(100, 2);
    let attacks = attacks();
    let (still_there, longest) = (AtomicUsize::new(0), Mutex::new(vec![Duration::ZERO; attacks.len()]));
    let over = AtomicBool::new(false);
    let (loud, failed, asked) = thread::scope(|scope| {
        let (longest, still_there, over, ask) = (&longest, &still_there, &over, &ask);
        let normal = scope.spawn(move || {
            let (mut times, mut failed, mut asked) = (Vec::new(), 0, 0);
            while !over.load(Ordering::Relaxed) {
                let (time, lost) = ask(50, 5);
                times.push(time);
                failed += lost;
                asked += 50;
            }
            (times.into_iter().max().unwrap_or_default(), failed, asked)
        });
        let holders: Vec<_> = attacks
            .iter()
            .enumerate()
            .flat_map(|(kind, attack)| (0..each).map(move |_| (kind, attack)))
            .map(|(kind, attack)| {
                let builder = thread::Builder::new().stack_size(128 << 10);
                let held = move || match hold(server.address, attack, most + Duration::from_secs(10)) {
                    Some(time) => {
                        let mut longest = longest.lock().unwrap();
                        longest[kind] = longest[kind].max(time);
                    }
                    None => drop(still_there.fetch_add(1, Ordering::Relaxed)),
                };
                builder.spawn_scoped(scope, held).unwrap()
            })
            .collect();
        for holder in holders {
            holder.join().unwrap();
        }
        over.store(true, Ordering::Relaxed);
        normal.join().unwrap()
    });
    let longest = longest.into_inner().unwrap();
    for (attack, time) in attacks.iter().zip(&longest) {
        println!("slow clients: {each} with {}: all gone after {time:.1?}", attack.name);
    }
    println!(
        "slow clients: {asked} normal requests beside them, {failed} failed, p99 {quiet:.1?} quiet, {loud:.1?} beside them"
    );
    assert_eq!((still_there.into_inner(), failed), (0, 0));
    assert!(longest.iter().all(|time| *time < most), "{longest:?}");
}
