//! More calls than can be done: those that are taken are done, the others are told at once, light ones keep their place.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use headwater_server::gateway::Settings;

use crate::support::{Mood, QUIET, Server, full, quantile, within};

#[test]
fn heavy_calls_beyond_the_queue_are_told_at_once_and_light_ones_are_answered() {
    let server = Server::start();
    let (_, key) = server.key(1_000_000);
    server.moody.set(Mood::Slow);
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let clients = cores + 64 + 30;
    let (done, told) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let slowest_refusal = Mutex::new(Duration::ZERO);
    let (light, light_times) = thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let started = Instant::now();
                let reply = server.client().post("/v1/counterparty", &key, QUIET).unwrap();
                match reply.status {
                    200 => drop(done.fetch_add(1, Ordering::Relaxed)),
                    429 => {
                        assert_eq!((reply.error().1.as_str(), reply.header("retry-after")), ("overloaded", "1"));
                        told.fetch_add(1, Ordering::Relaxed);
                        let mut slowest = slowest_refusal.lock().unwrap();
                        *slowest = slowest.max(started.elapsed());
                    }
                    other => panic!("{other}"),
                }
            });
        }
        thread::sleep(Duration::from_millis(200));
        let mut times = Vec::new();
        let mut answered = 0;
        for _ in 0..5 {
            let started = Instant::now();
            answered += usize::from(server.send("GET", "/v1/chains", &[("X-API-Key", &key)], "").status == 200);
            times.push(started.elapsed());
        }
        (answered, times)
    });
    let (done, told) = (done.into_inner(), told.into_inner());
    println!(
        "overload: {clients} heavy calls at once, {done} done, {told} told in at most {:.1?}; 5 light ones of 300 ms took {light_times:.1?}",
        slowest_refusal.into_inner().unwrap()
    );
    assert_eq!((done, told, light), (cores + 64, 30, 5));
    assert_eq!(server.gateway.state().book().held(), 0);
}

/// Calls per second of so many clients, those refused, and how long a light call took beside them.
fn load(server: &Server, key: &str, clients: usize, time: Duration) -> (f64, usize, Vec<Duration>) {
    let (done, told, over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let times = thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = server.client();
                while !over.load(Ordering::Relaxed) {
                    match client.post("/v1/counterparty", key, QUIET).unwrap().status {
                        200 => drop(done.fetch_add(usize::from(!over.load(Ordering::Relaxed)), Ordering::Relaxed)),
                        429 => {
                            told.fetch_add(1, Ordering::Relaxed);
                            thread::sleep(Duration::from_millis(50));
                        }
                        other => panic!("{other}"),
                    }
                }
            });
        }
        let mut times = Vec::new();
        let end = Instant::now() + time;
        let mut client = server.client();
        while Instant::now() < end {
            let started = Instant::now();
            assert_eq!(client.send("GET", "/healthz", &[], b"").unwrap().status, 200);
            times.push(started.elapsed());
            thread::sleep(Duration::from_millis(5));
        }
        over.store(true, Ordering::Relaxed);
        times
    });
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let rate = done.into_inner() as f64 / time.as_secs_f64();
    (rate, told.into_inner(), times)
}

#[test]
fn at_five_times_its_capacity_it_does_as_much_as_ever_and_is_itself_again_at_once() {
    // Each call takes a slot for 300 ms, whatever the machine does besides: capacity is known, and far below what the
    // connections could carry.
    let server = Server::with(Settings { cache_bytes: 0, ..Settings::default() });
    let (_, key) = server.key(10_000_000);
    server.moody.set(Mood::Slow);
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let time = Duration::from_secs(if full() { 300 } else { 3 });
    let (peak, _, _) = load(&server, &key, cores + 2, time.min(Duration::from_secs(20)));
    let (goodput, told, mut times) = load(&server, &key, 5 * (cores + 64), time);
    let health = quantile(&mut times, 0.99);
    server.moody.set(Mood::Good);
    let started = Instant::now();
    within(Duration::from_secs(5), "it is itself again", || {
        server.client().post("/v1/counterparty", &key, QUIET).unwrap().status == 200
    });
    println!(
        "overload: {peak:.1} calls/s at capacity, {goodput:.1} at five times that ({told} told to come later), /healthz {} of {} with p99 {health:.1?}, itself again after {:.1?}",
        times.len(),
        times.len(),
        started.elapsed()
    );
    assert!(told > 0);
    assert!(goodput >= 0.8 * peak, "{goodput} of {peak}");
    assert!(health < Duration::from_secs(2));
}
