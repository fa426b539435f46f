//! Limits that several gateways keep together in Redis. Names begin with `redis_`: they start a `redis-server`, which
//! must be installed.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use headwater_server::gateway::{LimitSettings, Settings};
use headwater_state::{Plan, Rate};

use crate::support::redis::Redis;
use crate::support::{Client, Server, is_full};

const FREE: &str = "/v1/registry";

/// A gateway that shares its limits with two others.
fn replica(port: u16, rate: Rate) -> Server {
    Server::with(Settings {
        auth_required: false,
        limits: LimitSettings {
            enabled: true,
            plan: Arc::new(Plan { free: rate, concurrency: 1000, ..Plan::default() }),
            redis: Some(format!("redis://127.0.0.1:{port}/0").parse().unwrap()),
            replicas: 3,
            ..LimitSettings::default()
        },
        trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()],
        ..Settings::default()
    })
}

/// One and the same caller, whichever gateway it comes to.
const CALLER: (&str, &str) = ("X-Forwarded-For", "203.0.113.1");

/// Calls all gateways as fast as they answer while `meanwhile` runs; gives how many calls were admitted, and the time.
fn hammer(servers: &[Server], time: Duration, meanwhile: impl FnOnce()) -> (f64, f64) {
    let admitted = AtomicUsize::new(0);
    let started = Instant::now();
    thread::scope(|scope| {
        for server in servers {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut client: Client = server.client();
                    while started.elapsed() < time {
                        match client.send("GET", FREE, &[CALLER], b"").unwrap().status {
                            200 => drop(admitted.fetch_add(1, Ordering::Relaxed)),
                            429 => {}
                            other => panic!("{other}"),
                        }
                    }
                });
            }
        }
        meanwhile();
    });
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let admitted = admitted.into_inner() as f64;
    (admitted, started.elapsed().as_secs_f64())
}

#[test]
fn redis_lets_three_gateways_together_admit_what_one_would() {
    let redis = Redis::start();
    let servers: Vec<Server> = (0..3).map(|_| replica(redis.port, Rate::new(50, 100))).collect();
    let seconds = if is_full() { 60 } else { 4 };
    let (admitted, took) = hammer(&servers, Duration::from_secs(seconds), || {});
    let most = 100.0 + 50.0 * took;
    println!("redis: three gateways admitted {admitted} of at most {most:.1} in {took:.2} s (aim 0.99)");
    // On a busy machine Redis may answer too late now and then: that gateway goes by its own share for a second, which the
    // others know nothing of.
    let late = if is_full() { 0.01 } else { 0.1 };
    assert!(admitted <= most * (1.0 + late), "{admitted} of {most}");
    let least = if is_full() { 0.95 } else { 0.6 };
    assert!(admitted >= least * most, "{admitted} of {most}");
}

#[test]
fn redis_that_is_lost_and_comes_back_empty_opens_nothing() {
    let mut redis = Redis::start();
    let port = redis.port;
    let servers: Vec<Server> = (0..3).map(|_| replica(port, Rate::new(30, 60))).collect();
    let rounds = if is_full() { 20 } else { 2 };
    let (admitted, took) = hammer(&servers, Duration::from_secs(1 + 3 * rounds), || {
        for _ in 0..rounds {
            thread::sleep(Duration::from_millis(1500));
            redis.stop();
            thread::sleep(Duration::from_millis(1500));
            redis.begin();
        }
    });
    let most = 60.0 + 30.0 * took;
    println!("redis: lost {rounds} times, three gateways admitted {admitted} of at most {most:.1} in {took:.2} s");
    // While it is lost each gateway uses what it saw last: at the moment of the loss that is a call or two old.
    assert!(admitted <= most + 6.0 * f64::from(u32::try_from(rounds).unwrap()));
    assert!(admitted >= 0.6 * most, "{admitted} of {most}");
}

#[test]
fn silent_redis_delays_calls_briefly_and_lifts_no_limit() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = replica(silent.local_addr().unwrap().port(), Rate::new(10, 30));
    let mut client = server.client();
    let (started, mut slowest, mut admitted) = (Instant::now(), Duration::ZERO, 0);
    let (mut calls, mut kept_waiting) = (0, 0);
    while calls < 100 || started.elapsed() < Duration::from_secs(4) {
        let one = Instant::now();
        admitted += usize::from(client.send("GET", FREE, &[CALLER], b"").unwrap().status == 200);
        calls += 1;
        kept_waiting += usize::from(one.elapsed() > Duration::from_millis(900));
        slowest = slowest.max(one.elapsed());
        thread::sleep(Duration::from_millis(5));
    }
    let took = started.elapsed();
    println!(
        "redis that is silent: {calls} calls in {took:.1?}, slowest {slowest:.1?}, {kept_waiting} kept waiting for it, {admitted} admitted of a share of 10 and 3 a second"
    );
    assert!(slowest < Duration::from_secs(2));
    // The first finds out; on a busy machine others may be late for themselves.
    assert!(kept_waiting < calls / 20, "{kept_waiting} of {calls} calls waited for it");
    #[expect(clippy::cast_precision_loss, reason = "some thousands at most")]
    let admitted = admitted as f64;
    assert!((10.0..=11.0 + 3.4 * took.as_secs_f64()).contains(&admitted));
}
