//! A wall clock that jumps by an hour, forwards and back. Names begin with `shim_`: the clock is that of `faults.c`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use headwater_server::events::webhook::sign::Secret;
use headwater_state::Home;

use crate::support::faults::Faults;
use crate::support::live::{LiveStore, Receiver, webhook};
use crate::support::{Process, QUIET, check_ledger, is_full, run_json, verdict, within};

const HOUR_SECS: i64 = 3600;

/// A clock of a server that tests set.
struct Clock {
    file: PathBuf,
    off_secs: Arc<AtomicI64>,
}

impl Clock {
    fn new(file: PathBuf) -> Self {
        fs::write(&file, 0_i64.to_ne_bytes()).unwrap();
        Self { file, off_secs: Arc::default() }
    }

    fn jump(&self, off_secs: i64) {
        use std::os::unix::fs::FileExt;
        // In its place: the server has it mapped.
        let file = fs::OpenOptions::new().write(true).open(&self.file).unwrap();
        self.off_secs.store(off_secs, Ordering::SeqCst);
        file.write_all_at(&(off_secs * 1_000_000_000).to_ne_bytes(), 0).unwrap();
    }

    fn faults(&self, state: &std::path::Path) -> Faults {
        Faults::on(state).with("FAULTS_CLOCK", &self.file)
    }
}

fn now_secs() -> i64 {
    i64::try_from(SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap()
}

/// Jumps forth and back until it is asked to stop; returns how often.
fn jumping(clock: &Clock, stop: &AtomicBool, pause: Duration) -> usize {
    let mut jumps = 0;
    for off in [HOUR_SECS, 0, -HOUR_SECS, 0, HOUR_SECS, -HOUR_SECS, 1, -1].into_iter().cycle() {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        clock.jump(off);
        jumps += 1;
        thread::sleep(pause);
    }
    jumps
}

#[test]
fn shim_clock_jump_neither_admits_nor_blocks_more_calls() {
    const RATE: u32 = 40;
    const BURST: u32 = 20;
    let live = LiveStore::new();
    let store = live.store();
    let made = run_json(&["keys", "create", "--json", "--store", store.to_str().unwrap(), "--credits", "1000000"]);
    let key = made["key"].as_str().unwrap();
    let clock = Clock::new(store.with_file_name("clock"));
    let rate = format!("limits.medium={RATE}/{BURST}");
    let faults = clock.faults(&Home::beside(&store));
    let settings = ["--set", "limits.enabled=true", "--set", &rate, "--admin-listen", "none"];
    let server = Process::with_faults(&store, &settings, &faults).unwrap();
    let time = Duration::from_secs(if is_full() { 60 } else { 4 });
    let (stop, admitted) = (AtomicBool::new(false), AtomicUsize::new(0));
    let begun = Instant::now();
    let jumps = thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = server.client().unwrap();
                while !stop.load(Ordering::SeqCst) {
                    let reply = client.post("/v1/transactions", key, QUIET).unwrap();
                    match reply.status {
                        200 => drop(admitted.fetch_add(1, Ordering::SeqCst)),
                        429 => {
                            // Nobody is sent away for an hour.
                            let after: u64 = reply.header("retry-after").parse().unwrap();
                            assert!(after <= 60, "retry after {after} s");
                            thread::sleep(Duration::from_millis(2));
                        }
                        other => panic!("{other}"),
                    }
                }
            });
        }
        let jumper = scope.spawn(|| jumping(&clock, &stop, Duration::from_millis(150)));
        thread::sleep(time);
        stop.store(true, Ordering::SeqCst);
        jumper.join().unwrap()
    });
    let most = f64::from(BURST) + f64::from(RATE) * begun.elapsed().as_secs_f64();
    let admitted = u32::try_from(admitted.into_inner()).unwrap();
    println!(
        "{jumps} jumps of the clock by up to an hour: {admitted} calls admitted of at most {most:.1} (aim 0.99 of them: {})",
        verdict(f64::from(admitted) >= 0.99 * most)
    );
    assert!(f64::from(admitted) <= most);
    // A loaded machine may ask for somewhat less; a limiter that the clock stopped for a while would let in far less.
    let least = if is_full() { 0.9 } else { 0.5 };
    assert!(f64::from(admitted) >= least * most, "{admitted} of {most}");
    drop(server);
    check_ledger(&Home::in_folder(&Home::beside(&store)).unwrap()).unwrap();
}

#[test]
fn shim_clock_jump_keeps_deliveries_once_in_time_and_signed() {
    let mut live = LiveStore::new();
    let store = live.store();
    let key = run_json(&["keys", "create", "--json", "--store", store.to_str().unwrap()])["key"].clone();
    let key = key.as_str().unwrap();
    let clock = Clock::new(store.with_file_name("clock"));
    let faults = clock.faults(&Home::beside(&store));
    // What the server's clock showed when each delivery came, and how far it was from the signed time.
    let (off, furthest) = (Arc::clone(&clock.off_secs), Arc::new(AtomicI64::new(0)));
    let worst = Arc::clone(&furthest);
    let seen = Arc::new(Mutex::new(BTreeMap::<String, usize>::new()));
    let counted = Arc::clone(&seen);
    let receiver = Receiver::start(move |received| {
        let apart = received.timestamp - now_secs() - off.load(Ordering::SeqCst);
        worst.fetch_max(apart.abs(), Ordering::SeqCst);
        *counted.lock().unwrap().entry(received.id.clone()).or_default() += 1;
        // Long enough for the clock to jump while its lease is.
        thread::sleep(Duration::from_millis(400));
        "200 OK".to_owned()
    });
    let settings = ["--set", "webhooks.allow_private_targets=true", "--admin-listen", "none"];
    let server = Process::with_faults(&store, &settings, &faults).unwrap();
    let (_, secret) = webhook(server.address, key, &receiver.url("in"));
    thread::sleep(Duration::from_millis(1500));
    let (blocks, per_block) = if is_full() { (60, 4) } else { (4, 4) };
    let (mut jumps, mut slowest) = (0, Duration::ZERO);
    for block in 0..blocks {
        live.block(per_block);
        let begun = Instant::now();
        let expected = (block + 1) * usize::try_from(per_block).unwrap();
        within(Duration::from_mins(1), "all arrive, none an hour later", || seen.lock().unwrap().len() >= expected);
        slowest = slowest.max(begun.elapsed());
        // They wait for their answers, under their leases.
        clock.jump(if block % 2 == 0 { HOUR_SECS } else { -HOUR_SECS });
        jumps += 1;
    }
    // What would come twice comes within the time of a look.
    thread::sleep(Duration::from_secs(1));
    let received = receiver.received();
    let secret = Secret::parse(&secret).unwrap();
    let forged = received
        .iter()
        .filter(|one| !one.signatures.contains(&secret.sign(&one.id, one.timestamp, one.body.as_bytes())));
    let (forged, twice) = (forged.count(), seen.lock().unwrap().values().filter(|times| **times > 1).count());
    let furthest = furthest.load(Ordering::SeqCst);
    println!(
        "{jumps} jumps of an hour with deliveries under way: {} deliveries, twice {twice}, badly signed {forged}, \
         signed time at most {furthest} s from the server's clock, slowest block {slowest:.1?}",
        received.len()
    );
    assert_eq!((twice, forged), (0, 0));
    assert!(furthest <= 60, "{furthest} s");
}
