//! More calls than can be done: those that are taken are done, the others are refused at once, light ones keep their
//! place.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use headwater_server::gateway::Settings;

use crate::support::hub::{HUB, Way, hash, store_with_a_hub};
use crate::support::{
    Client, Mood, Process, QUIET, Server, at_once, is_full, made_key, quantile, resident, verdict, within,
};

/// Share of what is done at capacity that is still done beyond it.
const GOODPUT: f64 = 0.9;
/// Within which 99 of 100 light calls are answered.
const LIGHT: Duration = Duration::from_millis(250);
/// Answers are kept in at most 64 MiB, and the queries at work need less together than one of them may take.
const MAX_MEMORY: u64 = (64 + 128) << 20;
/// Returns how long the store takes for a call: 300 ms in full.
fn slow_ms() -> u64 {
    if is_full() { 300 } else { 100 }
}

/// Within which all is as before.
const AGAIN: Duration = Duration::from_secs(5);

#[test]
fn heavy_calls_beyond_the_queue_fail_fast_beside_light_ones() {
    let server = Server::start();
    let (_, key) = server.key(1_000_000);
    server.moody.slow_ms.store(slow_ms(), Ordering::SeqCst);
    server.moody.set(Mood::Slow);
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let clients = cores + 64 + 30;
    let (done, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
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
                        refused.fetch_add(1, Ordering::Relaxed);
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
    let (done, refused) = (done.into_inner(), refused.into_inner());
    println!(
        "overload: {clients} heavy calls at once, {done} done, {refused} refused in at most {:.1?}; 5 light ones beside them took {light_times:.1?}",
        slowest_refusal.into_inner().unwrap()
    );
    // Those whose threads come after the first slots are free again take a place that others had.
    assert_eq!((done + refused, light), (clients, 5));
    assert!(done >= cores + 64 && refused > 0, "{done} done, {refused} refused");
    assert_eq!(server.gateway.state().accounts().held(), 0);
}

/// Calls per second of so many clients, those refused, and how long a light call took beside them.
fn load(server: &Server, key: &str, clients: usize, time: Duration) -> (f64, usize, Vec<Duration>) {
    let (done, refused, over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let mut took = time;
    let times = thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = server.client();
                while !over.load(Ordering::Relaxed) {
                    match client.post("/v1/counterparty", key, QUIET).unwrap().status {
                        200 => drop(done.fetch_add(usize::from(!over.load(Ordering::Relaxed)), Ordering::Relaxed)),
                        429 => {
                            refused.fetch_add(1, Ordering::Relaxed);
                            thread::sleep(Duration::from_millis(50));
                        }
                        other => panic!("{other}"),
                    }
                }
            });
        }
        let mut times = Vec::new();
        let begun = Instant::now();
        let end = begun + time;
        let mut client = server.client();
        while Instant::now() < end {
            let started = Instant::now();
            assert_eq!(client.send("GET", "/healthz", &[], b"").unwrap().status, 200);
            times.push(started.elapsed());
            thread::sleep(Duration::from_millis(5));
        }
        over.store(true, Ordering::Relaxed);
        took = begun.elapsed();
        times
    });
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let rate = done.into_inner() as f64 / took.as_secs_f64();
    (rate, refused.into_inner(), times)
}

#[test]
fn overload_of_five_times_keeps_goodput_and_recovers() {
    // Each call takes a slot for a time of its own, whatever the machine does besides: capacity is known, and far below what the
    // connections could carry.
    let server = Server::with(Settings { cache_bytes: 0, ..Settings::default() });
    let (_, key) = server.key(10_000_000);
    server.moody.slow_ms.store(slow_ms(), Ordering::SeqCst);
    server.moody.set(Mood::Slow);
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let time = Duration::from_secs(if is_full() { 30 } else { 2 });
    let (peak, _, _) = load(&server, &key, cores + 2, time);
    let (goodput, refused, mut times) = load(&server, &key, 5 * (cores + 64), time);
    let health = quantile(&mut times, 0.99);
    server.moody.set(Mood::Good);
    let started = Instant::now();
    within(AGAIN, "it is itself again", || {
        server.client().post("/v1/counterparty", &key, QUIET).unwrap().status == 200
    });
    let kept = goodput / peak;
    println!(
        "overload: {peak:.1} calls/s at capacity, {goodput:.1} at five times that, {kept:.2} of it (aim 0.9: {}; {refused} asked to come later), /healthz {} of {} with p99 {health:.1?} (aim 250 ms: {}), itself again after {:.1?} (aim 5 s: met)",
        verdict(kept >= GOODPUT),
        times.len(),
        times.len(),
        verdict(health <= LIGHT),
        started.elapsed()
    );
    assert!(refused > 0);
    let (least, slowest) = if is_full() { (GOODPUT, LIGHT) } else { (0.6, Duration::from_secs(2)) };
    assert!(kept >= least && health <= slowest, "{kept} {health:?}");
}

/// The figures beside other calls.
struct LoadFigures {
    /// The times of light calls.
    light: Vec<Duration>,
    /// The times of `/healthz`.
    health: Vec<Duration>,
    /// Most memory that the server had.
    memory: u64,
}

/// The figures of more calls than can be done.
struct OverloadFigures {
    /// Calls a second that were answered.
    goodput: f64,
    /// Calls that were asked to come later.
    refused: usize,
    seen: LoadFigures,
    /// The time after the last of them until a heavy call was answered.
    again: Duration,
}

/// A server with real work to do, and the keys of those who ask it.
struct Busy {
    server: Process,
    heavy: String,
    light: String,
    payments: u32,
    /// Heavy calls so far: none is like another, so no answer is kept.
    calls: AtomicU64,
}

impl Busy {
    fn start(place: &std::path::Path, payments: u32) -> Self {
        let store = store_with_a_hub(place, payments, Way::In);
        let (heavy, light) = (made_key(&store, 100_000_000), made_key(&store, 100_000_000));
        Self { server: Process::start(&store, &[]), heavy, light, payments, calls: AtomicU64::new(0) }
    }

    fn client(&self) -> Client {
        self.server.client().unwrap()
    }

    /// A ranking over all of the account, another one each time.
    fn heavy(&self, client: &mut Client) -> u16 {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let body = format!(
            r#"{{"blockchain":"ethereum","address":"{HUB}","start_time":1438918300,"end_time":{}}}"#,
            2_000_000_000 + number
        );
        client.post("/v1/counterparty", &self.heavy, &body).unwrap().status
    }

    /// A transaction, another one each time; how long it took.
    fn light(&self, client: &mut Client, number: u32) -> Duration {
        let path = format!("/v1/transaction/{}?blockchain=ethereum", hash(number % self.payments));
        let started = Instant::now();
        let reply = client.send("GET", &path, &[("X-API-Key", &self.light)], b"").unwrap();
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
        started.elapsed()
    }

    /// Light calls, one every 10 ms, until it is enough; `/healthz` is asked between them.
    fn watch(&self, enough: impl Fn() -> bool) -> LoadFigures {
        let mut client = self.client();
        let (mut light, mut health, mut memory) = (Vec::new(), Vec::new(), 0);
        for number in 0.. {
            if enough() {
                break;
            }
            light.push(self.light(&mut client, number * 7));
            let started = Instant::now();
            assert_eq!(client.send("GET", "/healthz", &[], b"").unwrap().status, 200);
            health.push(started.elapsed());
            memory = resident(self.server.id()).max(memory);
            thread::sleep(Duration::from_millis(10));
        }
        LoadFigures { light, health, memory }
    }

    /// So many heavy calls a second, sent when they are due whether earlier ones are answered or not.
    fn overload(&self, rate: f64, time: Duration) -> OverloadFigures {
        // As many as can be inside, and as many again to be refused.
        let senders = 2 * (thread::available_parallelism().map_or(2, usize::from) + 64);
        let (due, done, refused) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let started = Instant::now();
        let (seen, again) = thread::scope(|scope| {
            let watched = scope.spawn(|| self.watch(|| started.elapsed() >= time));
            let again = scope.spawn(|| {
                thread::sleep(time);
                within(Duration::from_secs(30), "it is itself again", || self.heavy(&mut self.client()) == 200);
                started.elapsed().saturating_sub(time)
            });
            at_once(senders, |_| {
                loop {
                    let number = u32::try_from(due.fetch_add(1, Ordering::Relaxed)).unwrap();
                    let at = Duration::from_secs_f64(f64::from(number) / rate);
                    if at >= time {
                        break;
                    }
                    thread::sleep(at.saturating_sub(started.elapsed()));
                    // A connection that waited for its turn would be ended as idle.
                    match self.heavy(&mut self.client()) {
                        200 => drop(done.fetch_add(usize::from(started.elapsed() <= time), Ordering::Relaxed)),
                        429 => drop(refused.fetch_add(1, Ordering::Relaxed)),
                        other => panic!("{other}"),
                    }
                }
            });
            (watched.join().unwrap(), again.join().unwrap())
        });
        let done = u32::try_from(done.into_inner()).unwrap();
        OverloadFigures { goodput: f64::from(done) / time.as_secs_f64(), refused: refused.into_inner(), seen, again }
    }

    /// Heavy calls a second of as many clients as can be at work.
    fn peak(&self, time: Duration) -> f64 {
        let started = Instant::now();
        let done = at_once(thread::available_parallelism().map_or(2, usize::from), |_| {
            let mut client = self.client();
            let mut done = 0_u32;
            while started.elapsed() < time {
                assert_eq!(self.heavy(&mut client), 200);
                done += 1;
            }
            done
        });
        f64::from(done.iter().sum::<u32>()) / started.elapsed().as_secs_f64()
    }
}

#[test]
fn overload_of_real_work_spares_light_calls_and_memory() {
    let time = Duration::from_secs(if is_full() { 300 } else { 4 });
    let place = tempfile::tempdir().unwrap();
    let busy = Busy::start(place.path(), 20_000);
    let started = Instant::now();
    let mut quiet = busy.watch(|| started.elapsed() > Duration::from_secs(1)).light;
    let peak = busy.peak(time.min(Duration::from_secs(20)));
    let before = resident(busy.server.id());
    // A slow machine is given as many calls as fill its queue twice.
    let offered = (5.0 * peak).max(150.0 / time.as_secs_f64());
    let OverloadFigures { goodput, refused, seen, again } = busy.overload(offered, time);
    let LoadFigures { mut light, mut health, memory } = seen;
    let [quiet, light, health] =
        [&mut quiet, &mut light, &mut health].map(|times| (times.len(), quantile(times, 0.99)));
    let kept = goodput / peak;
    let grown = memory.saturating_sub(before);
    println!(
        "overload: real work, {peak:.1} calls/s at capacity, {goodput:.1} when {offered:.1} are asked, {kept:.2} of it (aim 0.9: {}; {refused} asked to come later); {} light calls with a key, p99 {:.1?} quiet, {:.1?} beside it (aim 250 ms: {}); /healthz {} of {} with p99 {:.1?}; memory {} MiB, {} at capacity, so {} more (aim 192 more: {}); itself again after {again:.1?} (aim 5 s: {})",
        verdict(kept >= GOODPUT),
        light.0,
        quiet.1,
        light.1,
        verdict(light.1 <= LIGHT),
        health.0,
        health.0,
        health.1,
        memory >> 20,
        before >> 20,
        grown >> 20,
        verdict(grown <= MAX_MEMORY),
        verdict(again <= AGAIN)
    );
    assert!(refused > 0);
    // On a machine with other work the two rates are of different moments.
    assert!(kept >= 0.5, "{goodput} of {peak}");
    let (slowest, latest) = if is_full() { (LIGHT, AGAIN) } else { (Duration::from_secs(3), Duration::from_secs(30)) };
    assert!(light.1 <= slowest && again <= latest, "{:?} {again:?}", light.1);
    assert!(grown <= MAX_MEMORY, "{before} {memory}");
}
