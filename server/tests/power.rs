//! Files that fail under a server, and power that is lost: nothing that was acknowledged is, and nothing has to be
//! repaired by hand. Names begin with `shim_`: what fails is a small library in C, which is built here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use headwater_server::state::{Environment, Home};

use crate::support::faults::{Chance, Faults, Happened, Unsynced, after_power_loss, read_log};
use crate::support::{Process, QUIET, check_ledger, is_full, random, reader, small_store, within};

const CREDITS: i64 = 1_000_000;
/// Calls of one run, over all clients: enough for the log of commits to be brought into the database on the way.
const CALLS: usize = 400;
const CLIENTS: usize = 4;

/// A store, and a state that every run begins with a copy of.
struct Bench {
    place: tempfile::TempDir,
    store: PathBuf,
    first: PathBuf,
    key: String,
    runs: usize,
}

/// What came of a run: the state it left, its log of operations, the answers that arrived, and when each did.
struct Run {
    state: PathBuf,
    log: Vec<(String, Happened)>,
    answers: Vec<(String, SystemTime)>,
    /// From the fault to the end of the process, where there was one that it did not die of at once.
    stopped_after: Option<Duration>,
}

impl Run {
    fn struck(&self) -> Option<(&str, SystemTime)> {
        self.log.iter().find_map(|(name, happened)| match happened {
            Happened::Struck(nanos) => Some((name.as_str(), UNIX_EPOCH + Duration::from_nanos(*nanos))),
            _ => None,
        })
    }
}

impl Bench {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let store = small_store(place.path());
        let first = place.path().join("first");
        let home = Home::in_folder(&first).unwrap();
        let made = home.office("t", |office| office.create_key("t", Environment::Test, CREDITS, None)).unwrap();
        Self { store, first, key: made.key.expose().to_owned(), place, runs: 0 }
    }

    fn fresh(&mut self) -> PathBuf {
        self.runs += 1;
        self.place.path().join(format!("run{}", self.runs))
    }

    /// Serves calls on a copy of a state until all are answered or the process is gone.
    fn run(&mut self, from: &Path, faults: impl FnOnce(Faults) -> Faults) -> Run {
        let state = self.fresh();
        after_power_loss(from, &[], Unsynced::Kept, &state);
        let log = state.with_extension("log");
        let faults = faults(Faults::on(&state).with("FAULTS_LOG", &log));
        let arguments = ["--state", state.to_str().unwrap(), "--admin-listen", "none"];
        let answers = Mutex::new(Vec::new());
        let mut ended = SystemTime::now();
        if let Some(mut server) = Process::with_faults(&self.store, &arguments, &faults) {
            thread::scope(|scope| {
                for _ in 0..CLIENTS {
                    scope.spawn(|| {
                        let Ok(mut client) = server.client() else { return };
                        for _ in 0..CALLS / CLIENTS {
                            let Ok(reply) = client.post("/v1/transactions", &self.key, QUIET) else { return };
                            if reply.status == 200 {
                                let id = reply.header("x-request-id").to_owned();
                                answers.lock().unwrap().push((id, SystemTime::now()));
                            }
                        }
                    });
                }
            });
            // One that goes on is told to stop, and may meet its fault on the way.
            server.terminate_if_alive();
            within(Duration::from_secs(30), "the process ends", || server.ended().is_some());
            ended = SystemTime::now();
        }
        let mut run = Run { log: read_log(&log), state, answers: answers.into_inner().unwrap(), stopped_after: None };
        run.stopped_after = run.struck().map(|(_, at)| ended.duration_since(at).unwrap_or_default());
        run
    }

    /// Opens a state as any start does and holds it against the answers that arrived; gives how many of those it lacks.
    fn lacking(state: &Path, answers: &[(String, SystemTime)]) -> usize {
        let home = Home::in_folder(state).unwrap_or_else(|error| panic!("{}: {error:?}", state.display()));
        home.check().unwrap_or_else(|error| panic!("{}: {error:?}", state.display()));
        check_ledger(&home).unwrap();
        let database = reader(&home);
        let number = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let charged = number("SELECT coalesce(-sum(amount), 0) FROM credit_ledger WHERE kind = 'charge'");
        assert_eq!(number("SELECT coalesce(sum(cost), 0) FROM audit WHERE status = 200"), charged);
        assert_eq!(CREDITS - number("SELECT balance FROM account"), charged);
        let mut rows = database.prepare("SELECT request_id FROM credit_ledger WHERE kind = 'charge'").unwrap();
        let rows: BTreeSet<String> = rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        answers.iter().filter(|(id, _)| !rows.contains(id)).count()
    }

    /// How many operations of a kind a run without faults takes.
    fn operations(&mut self, kinds: &str) -> u64 {
        let first = self.first.clone();
        let run = self.run(&first, |faults| faults);
        assert_eq!(run.answers.len(), CALLS);
        assert_eq!(Self::lacking(&run.state, &run.answers), 0);
        let counts = |happened: &Happened| match happened {
            Happened::Written { .. } => kinds.contains('w'),
            Happened::Truncated(_) => kinds.contains('t'),
            Happened::Synced => kinds.contains('s'),
            Happened::Removed | Happened::Struck(_) => false,
        };
        run.log.iter().filter(|(_, happened)| counts(happened)).count() as u64
    }

    fn forget(run: &Run) {
        let _ = fs::remove_dir_all(&run.state);
        let _ = fs::remove_file(run.state.with_extension("log"));
    }
}

#[test]
fn shim_a_sync_that_fails_stops_the_server_and_loses_nothing_that_was_answered() {
    let mut bench = Bench::new();
    let first = bench.first.clone();
    let syncs = bench.operations("s");
    let tries = if is_full() { 200 } else { 10 };
    let seed = random();
    println!("seed {seed}, {syncs} syncs in a run");
    let mut chance = Chance::new(seed);
    let (mut met, mut slowest, mut answered) = (0, Duration::ZERO, 0);
    for turn in 0..tries {
        let number = 1 + chance.below(syncs);
        let run = bench.run(&first, |faults| faults.at("s", number, "fail"));
        let Some((file, at)) = run.struck() else {
            // Threads take their turns differently in each run, and this one had fewer commits.
            Bench::forget(&run);
            continue;
        };
        met += 1;
        let place = format!("turn {turn}, sync {number} of {file}");
        answered += run.answers.len();
        let stopped = run.stopped_after.unwrap();
        slowest = slowest.max(stopped);
        assert!(stopped < Duration::from_secs(5), "{place}: it went on for {stopped:?}");
        // Pages whose sync failed are gone, as after a loss of power: nobody was told that they are there.
        let image = bench.fresh();
        after_power_loss(&first, &run.log, Unsynced::Dropped, &image);
        assert_eq!(Bench::lacking(&image, &run.answers), 0, "{place}, at {at:?}");
        assert_eq!(Bench::lacking(&run.state, &run.answers), 0, "{place}");
        Bench::forget(&run);
        fs::remove_dir_all(image).unwrap();
    }
    println!("{met} failed syncs: the process ended {slowest:.0?} after them at most; {answered} answers, lost 0");
    assert!(met * 2 >= tries, "most of the syncs are met");
}

#[test]
fn shim_power_that_is_lost_at_any_operation_and_again_in_recovery_loses_nothing_that_was_answered() {
    let mut bench = Bench::new();
    let first = bench.first.clone();
    let operations = bench.operations("wts");
    let tries = if is_full() { 300 } else { 12 };
    let seed = random();
    println!("seed {seed}, {operations} operations in a run");
    let mut chance = Chance::new(seed);
    let (mut met, mut answered, mut dropped, mut again, mut looked) = (0, 0, 0_usize, 0, 0);
    for turn in 0..tries {
        let number = 1 + chance.below(operations);
        let what = match chance.below(3) {
            0 => "before".to_owned(),
            1 => "after".to_owned(),
            _ => format!("tear={}", chance.below(9)),
        };
        let run = bench.run(&first, |faults| faults.at("wts", number, &what));
        met += usize::from(run.struck().is_some());
        answered += run.answers.len();
        let unsynced = |seed| [Unsynced::Dropped, Unsynced::Scattered(seed), Unsynced::Kept];
        for lost in unsynced(chance.below(u64::MAX)) {
            let image = bench.fresh();
            after_power_loss(&first, &run.log, lost, &image);
            dropped += usize::from(
                lost == Unsynced::Dropped
                    && fs::read(image.join("gateway.sqlite-wal")).ok()
                        != fs::read(run.state.join("gateway.sqlite-wal")).ok(),
            );
            // The power goes again while what is left is put in order and the next calls come in.
            let second = bench.run(&image, |faults| faults.at("wts", 1 + chance.below(60), "tear=1"));
            again += usize::from(second.struck().is_some());
            let end = bench.fresh();
            after_power_loss(&image, &second.log, lost, &end);
            let answers = [run.answers.clone(), second.answers.clone()].concat();
            looked += answers.len();
            let lacking = Bench::lacking(&end, &answers);
            assert_eq!(lacking, 0, "turn {turn}: operation {number}, {what}, {lost:?}, {}", end.display());
            Bench::forget(&second);
            for folder in [image, end] {
                fs::remove_dir_all(folder).unwrap();
            }
        }
        Bench::forget(&run);
    }
    println!(
        "{met} losses of power with 3 disks each, {again} more in recovery: {answered} answers, \
         looked for {looked} times, lost 0, repaired by hand 0; {dropped} disks lacked what was written and not synced"
    );
    assert!(met * 2 >= tries && again > 0 && dropped > 0);
    // The test would see a loss: on a disk that only says that it synced, there is one.
    let run = bench.run(&first, |faults| faults.at("w", operations / 4, "before").with("FAULTS_LIE", "1"));
    let image = bench.fresh();
    after_power_loss(&first, &run.log, Unsynced::Dropped, &image);
    let lost = Bench::lacking(&image, &run.answers);
    println!("a disk that lies about syncs: {lost} of {} answers lost", run.answers.len());
    assert!(lost > 0);
}

#[test]
fn shim_a_disk_without_room_refuses_calls_and_serves_again_with_room() {
    let mut bench = Bench::new();
    let state = bench.fresh();
    after_power_loss(&bench.first, &[], Unsynced::Kept, &state);
    let (rounds, switch) = (if is_full() { 200 } else { 5 }, bench.place.path().join("full"));
    let faults = Faults::on(&state).with("FAULTS_FULL", &switch);
    let arguments = ["--state", state.to_str().unwrap(), "--admin-listen", "none"];
    let server = Process::with_faults(&bench.store, &arguments, &faults).unwrap();
    let mut client = server.client().unwrap();
    let (mut answers, mut refused) = (Vec::new(), 0);
    for _ in 0..rounds {
        fs::write(&switch, "").unwrap();
        let mut last = 200;
        // What the log of commits has room for is still written.
        for _ in 0..5000 {
            let reply = client.post("/v1/transactions", &bench.key, QUIET).unwrap();
            last = reply.status;
            match last {
                200 => answers.push((reply.header("x-request-id").to_owned(), SystemTime::now())),
                502 => refused += 1,
                other => panic!("{other}"),
            }
            if last == 502 {
                break;
            }
        }
        assert_eq!(last, 502, "the disk never fills");
        let ready = client.send("GET", "/readyz", &[], b"").unwrap();
        assert_eq!((ready.status, ready.error().1.as_str()), (503, "storage_failed"));
        fs::remove_file(&switch).unwrap();
        let reply = client.post("/v1/transactions", &bench.key, QUIET).unwrap();
        assert_eq!(reply.status, 200, "served again without a restart");
        answers.push((reply.header("x-request-id").to_owned(), SystemTime::now()));
        let begun = Instant::now();
        within(Duration::from_secs(10), "it is ready again", || {
            client.send("GET", "/readyz", &[], b"").unwrap().status == 200
        });
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
    drop(server);
    assert_eq!(Bench::lacking(&state, &answers), 0);
    println!("{rounds} times without room: {} calls answered, {refused} refused with 502, difference 0", answers.len());
}
