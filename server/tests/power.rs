//! Files that fail under a server, and power that is lost: nothing that was acknowledged is, and nothing has to be
//! repaired by hand. Names begin with `shim_`: what fails is a small library in C, which is built here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use headwater_state::{Environment, Home};

use crate::support::faults::{Chance, Faults, FileEvent, UnsyncedPolicy, after_power_loss, read_log};
use crate::support::{Process, QUIET, Reply, check_ledger, is_full, random, reader, small_store, within};

const CREDITS: i64 = 1_000_000;
/// Calls of one run, over all clients: enough for the log of commits to be brought into the database on the way.
const CALLS: usize = 400;
const CLIENTS: usize = 4;

/// The signal of a process that aborts.
const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;

/// A store, and a state that every run begins with a copy of.
struct Bench {
    place: tempfile::TempDir,
    store: PathBuf,
    first: PathBuf,
    key: String,
    runs: usize,
}

/// An answer that arrived.
#[derive(Debug, Clone)]
struct Answer {
    id: String,
    status: u16,
    /// When its call was sent, and when it was there.
    sent: SystemTime,
    arrived: SystemTime,
}

/// The end of a process.
#[derive(Debug, Clone, Copy)]
enum End {
    /// Before it served.
    AtStart,
    /// While it served, or once it was asked to stop, which is when.
    Serving { status: ExitStatus, stopped_at: Option<SystemTime> },
}

/// The consequence of a fault in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    NotMet,
    /// It ended before it served.
    AtStart,
    /// It ended by itself.
    Stopped,
    /// It kept serving, having refused at most the calls of one commit.
    ServedOn,
    /// It had been asked to stop, and did.
    Stopping,
}

/// The result of a run: the state it left, its log of operations, the answers that arrived, and its end.
struct Run {
    state: PathBuf,
    log: Vec<(String, FileEvent)>,
    answers: Vec<Answer>,
    end: End,
    ended: SystemTime,
}

impl Run {
    fn struck(&self) -> Option<(&str, SystemTime)> {
        struck(&self.log)
    }

    /// Returns the number of calls that were acknowledged.
    fn acknowledged(&self) -> usize {
        self.answers.iter().filter(|answer| answer.status == 200).count()
    }

    /// From the fault to the end of the process.
    fn stopped_after(&self) -> Duration {
        self.struck().map_or(Duration::ZERO, |(_, at)| self.ended.duration_since(at).unwrap_or_default())
    }

    /// From the fault to the last acknowledged answer, where one arrived behind it.
    fn answered_after(&self) -> Duration {
        let Some((_, at)) = self.struck() else { return Duration::ZERO };
        let acknowledged = self.answers.iter().filter(|answer| answer.status == 200);
        acknowledged.filter_map(|answer| answer.arrived.duration_since(at).ok()).max().unwrap_or_default()
    }

    /// Holds a run against what has to come of a fault that ends the server: it ends by itself within `limit`, and no
    /// call that was sent behind the fault is acknowledged.
    fn has_to_stop(&self, limit: Duration) -> Result<Fate, String> {
        let Some((_, at)) = self.struck() else { return Ok(Fate::NotMet) };
        let late = self.answers.iter().filter(|answer| answer.status == 200 && answer.sent > at).count();
        if late > 0 {
            return Err(format!("{late} calls that were sent after it were acknowledged"));
        }
        let answered = self.answered_after();
        if answered > limit {
            return Err(format!("an answer was acknowledged {answered:?} after it"));
        }
        let fate = match self.end {
            End::AtStart => Fate::AtStart,
            End::Serving { stopped_at: Some(stopped_at), .. } if at >= stopped_at => return Ok(Fate::Stopping),
            End::Serving { status, .. } if status.signal() == Some(SIGABRT) => Fate::Stopped,
            End::Serving { status, .. } => return Err(format!("it ran until it was asked to stop: {status}")),
        };
        let stopped = self.stopped_after();
        if stopped > limit { Err(format!("it ran for {stopped:?}")) } else { Ok(fate) }
    }

    /// The same of a fault that the server may outlive: then it refuses the calls of one commit at most, and every other
    /// one is acknowledged.
    fn may_serve_on(&self, limit: Duration) -> Result<Fate, String> {
        let Some((_, at)) = self.struck() else { return Ok(Fate::NotMet) };
        if let Some(answer) = self.answers.iter().find(|answer| ![200, 502].contains(&answer.status)) {
            return Err(format!("a call was answered {}", answer.status));
        }
        match self.end {
            End::Serving { status, stopped_at: Some(stopped_at) } if status.success() && at < stopped_at => {
                let refused = self.answers.len() - self.acknowledged();
                if self.answers.len() < CALLS || refused > CLIENTS {
                    return Err(format!("it ran with {} answers, {refused} of them refused", self.answers.len()));
                }
                Ok(Fate::ServedOn)
            }
            _ => self.has_to_stop(limit),
        }
    }
}

/// Returns where a fault fell, and when.
fn struck(log: &[(String, FileEvent)]) -> Option<(&str, SystemTime)> {
    log.iter().find_map(|(name, happened)| match happened {
        FileEvent::Struck(nanos) => Some((name.as_str(), UNIX_EPOCH + Duration::from_nanos(*nanos))),
        _ => None,
    })
}

/// Returns how long a server may run that must not: a second, and more beside other tests.
fn stop_limit() -> Duration {
    Duration::from_secs(if is_full() { 1 } else { 5 })
}

impl Bench {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let store = small_store(place.path());
        let first = place.path().join("first");
        let home = Home::in_folder(&first).unwrap();
        let made = home.admin("t", |admin| admin.create_key("t", Environment::Test, CREDITS, None)).unwrap();
        Self { store, first, key: made.key.expose().to_owned(), place, runs: 0 }
    }

    fn fresh(&mut self) -> PathBuf {
        self.runs += 1;
        self.place.path().join(format!("run{}", self.runs))
    }

    /// Serves calls on a copy of a state until all are answered or the process is gone.
    fn run(&mut self, from: &Path, faults: impl FnOnce(Faults) -> Faults) -> Run {
        let state = self.fresh();
        after_power_loss(from, &[], UnsyncedPolicy::Kept, &state);
        let log = state.with_extension("log");
        let faults = faults(Faults::on(&state).with("FAULTS_LOG", &log));
        let arguments = ["--state", state.to_str().unwrap(), "--admin-listen", "none"];
        let answers = Mutex::new(Vec::new());
        let mut end = End::AtStart;
        if let Some(mut server) = Process::with_faults(&self.store, &arguments, &faults) {
            thread::scope(|scope| {
                for _ in 0..CLIENTS {
                    scope.spawn(|| {
                        let Ok(mut client) = server.client() else { return };
                        for _ in 0..CALLS / CLIENTS {
                            let sent = SystemTime::now();
                            let Ok(reply) = client.post("/v1/transactions", &self.key, QUIET) else { return };
                            let (id, arrived) = (reply.header("x-request-id").to_owned(), SystemTime::now());
                            answers.lock().unwrap().push(Answer { id, status: reply.status, sent, arrived });
                        }
                    });
                }
            });
            // One that was struck has its time to end by itself: not by the signal of this test. The others are asked to
            // stop, and may meet their fault on the way.
            let cut_off = answers.lock().unwrap().len() < CALLS;
            let limit = match (struck(&read_log(&log)), cut_off) {
                (None, false) => Duration::ZERO,
                // All that it was asked it answered: what still has to end it comes at once.
                (Some(_), false) => Duration::from_millis(250),
                (_, true) => Duration::from_secs(10),
            };
            let (begun, mut stopped_at) = (Instant::now(), None);
            while server.ended().is_none() && begun.elapsed() < limit {
                thread::sleep(Duration::from_millis(2));
            }
            if server.ended().is_none() {
                stopped_at = Some(SystemTime::now());
                server.terminate_if_alive();
                within(Duration::from_secs(30), "the process ends", || server.ended().is_some());
            }
            end = End::Serving { status: server.ended().unwrap(), stopped_at };
        }
        let ended = SystemTime::now();
        let run = Run { log: read_log(&log), state, answers: answers.into_inner().unwrap(), end, ended };
        match (run.end, run.struck()) {
            (End::AtStart, None) => panic!("{}: the server does not start", run.state.display()),
            (End::Serving { status, .. }, None) => assert!(status.success(), "{}: {status}", run.state.display()),
            _ => {}
        }
        run
    }

    /// Opens a state as any start does and holds it against the answers that arrived; gives how many of those it lacks.
    fn lacking(state: &Path, answers: &[Answer]) -> usize {
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
        answers.iter().filter(|answer| answer.status == 200 && !rows.contains(&answer.id)).count()
    }

    /// Returns the number of writes, truncations and syncs that a run without faults takes.
    fn operations(&mut self) -> [u64; 3] {
        let first = self.first.clone();
        let run = self.run(&first, |faults| faults);
        assert_eq!(run.acknowledged(), CALLS);
        assert_eq!(Self::lacking(&run.state, &run.answers), 0);
        let mut counts = [0; 3];
        for (_, happened) in &run.log {
            match happened {
                FileEvent::Written { .. } => counts[0] += 1,
                FileEvent::Truncated(_) => counts[1] += 1,
                FileEvent::Synced => counts[2] += 1,
                FileEvent::NotSynced | FileEvent::Removed | FileEvent::Struck(_) => {}
            }
        }
        counts
    }

    fn forget(run: &Run) {
        let _ = fs::remove_dir_all(&run.state);
        let _ = fs::remove_file(run.state.with_extension("log"));
    }
}

#[test]
fn shim_failed_sync_stops_the_server_and_loses_no_answer() {
    let mut bench = Bench::new();
    let first = bench.first.clone();
    let [_, _, syncs] = bench.operations();
    let tries = if is_full() { 200 } else { 6 };
    let seed = random();
    println!("seed {seed}, {syncs} syncs in a run");
    let mut chance = Chance::new(seed);
    let (mut met, mut slowest, mut answered, mut latest) = (0, Duration::ZERO, 0, Duration::ZERO);
    let mut fates: BTreeMap<Fate, usize> = BTreeMap::new();
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
        answered += run.acknowledged();
        let fate = run.has_to_stop(stop_limit()).unwrap_or_else(|error| panic!("{place}: {error}"));
        *fates.entry(fate).or_default() += 1;
        if fate != Fate::Stopping {
            slowest = slowest.max(run.stopped_after());
        }
        latest = latest.max(run.answered_after());
        // Pages whose sync failed are gone, as after a loss of power: they were never acknowledged.
        let image = bench.fresh();
        after_power_loss(&first, &run.log, UnsyncedPolicy::Dropped, &image);
        assert_eq!(Bench::lacking(&image, &run.answers), 0, "{place}, at {at:?}");
        assert_eq!(Bench::lacking(&run.state, &run.answers), 0, "{place}");
        // It starts again and serves as if nothing had been.
        let again = bench.run(&run.state, |faults| faults);
        assert_eq!(again.acknowledged(), CALLS, "{place}");
        assert_eq!(Bench::lacking(&again.state, &[run.answers.clone(), again.answers.clone()].concat()), 0, "{place}");
        Bench::forget(&again);
        Bench::forget(&run);
        fs::remove_dir_all(image).unwrap();
    }
    let of = |fate| fates.get(&fate).copied().unwrap_or_default();
    println!(
        "{met} failed syncs: {} servers stopped by themselves (SIGABRT), {} at their start, {slowest:.0?} after them at \
         most; {} syncs of those that were stopping already; {answered} answers, lost 0, the last one {latest:.1?} after \
         the fault, to calls that were sent after it 0; restarted {met}",
        of(Fate::Stopped),
        of(Fate::AtStart),
        of(Fate::Stopping)
    );
    assert!(met * 2 >= tries && of(Fate::Stopped) * 2 >= met, "most of the syncs are met while it serves");
    // The test would see a server that continues: here is one, which never hears of the fault.
    let run = bench.run(&first, |faults| faults.at("s", syncs / 4, "pass"));
    let error = run.has_to_stop(stop_limit()).unwrap_err();
    println!("a sync that only the test takes for failed: {error}");
}

/// A fault of `faults.c` at an operation of a run.
struct Fault {
    kinds: &'static str,
    /// Only among those of files whose names end so.
    file: &'static str,
    number: u64,
    what: String,
}

impl Fault {
    /// Every fourth one fails and leaves the process alive: writes, truncations and syncs in turn, and those writes
    /// that a server can do without. At the others it dies.
    fn draw(turn: usize, chance: &mut Chance, [writes, truncations, syncs]: [u64; 3]) -> Self {
        let all = writes + truncations + syncs;
        let (kinds, file, count) = match (turn % 4, turn / 4 % 4) {
            (3, 0) => ("w", "", writes),
            (3, 1) => ("t", "", truncations.max(1)),
            // There is one of them to each commit, of which a run may have far fewer than another.
            (3, 2) => ("w", "gateway.watermark", (syncs / 4).max(1)),
            (3, _) => ("s", "", syncs),
            _ => ("wts", "", all),
        };
        let what = match turn % 4 {
            0 => "before".to_owned(),
            1 => "after".to_owned(),
            2 => format!("tear={}", chance.below(9)),
            _ => "fail".to_owned(),
        };
        Self { kinds, file, number: 1 + chance.below(count), what }
    }

    fn on(&self, faults: Faults) -> Faults {
        faults.at(self.kinds, self.number, &self.what).with("FAULTS_FILE", self.file)
    }
}

#[test]
fn shim_power_loss_and_faults_lose_no_answer() {
    let mut bench = Bench::new();
    let first = bench.first.clone();
    let counts = bench.operations();
    let tries = if is_full() { 400 } else { 16 };
    let seed = random();
    println!("seed {seed}, {} writes, {} truncations, {} syncs in a run", counts[0], counts[1], counts[2]);
    let mut chance = Chance::new(seed);
    let (mut died, mut answered, mut dropped, mut again, mut looked) = (0, 0, 0_usize, 0, 0);
    let mut failed: BTreeMap<(&str, Fate), usize> = BTreeMap::new();
    for turn in 0..tries {
        let fault = Fault::draw(turn, &mut chance, counts);
        let Fault { kinds, file, number, ref what } = fault;
        let place = format!("turn {turn}: operation {number} of {kinds} {file}, {what}");
        let run = bench.run(&first, |faults| fault.on(faults));
        answered += run.acknowledged();
        if what == "fail" {
            let fate = run.may_serve_on(stop_limit());
            let fate = fate.unwrap_or_else(|error| panic!("{place}, {:?}: {error}", run.struck()));
            *failed.entry((kinds, fate)).or_default() += 1;
            // It starts again, on what it left, and serves as if nothing had been.
            let again = bench.run(&run.state, |faults| faults);
            assert_eq!(again.acknowledged(), CALLS, "{place}");
            let answers = [run.answers.clone(), again.answers.clone()].concat();
            assert_eq!(Bench::lacking(&again.state, &answers), 0, "{place}");
            Bench::forget(&again);
        } else if run.struck().is_some() {
            died += 1;
            let killed = matches!(run.end, End::Serving { status, .. } if status.signal() == Some(SIGKILL));
            assert!(killed || matches!(run.end, End::AtStart), "{place}: {:?}", run.end);
        }
        let unsynced = |seed| [UnsyncedPolicy::Dropped, UnsyncedPolicy::Scattered(seed), UnsyncedPolicy::Kept];
        for lost in unsynced(chance.below(u64::MAX)) {
            let image = bench.fresh();
            after_power_loss(&first, &run.log, lost, &image);
            dropped += usize::from(
                lost == UnsyncedPolicy::Dropped
                    && fs::read(image.join("gateway.sqlite-wal")).ok()
                        != fs::read(run.state.join("gateway.sqlite-wal")).ok(),
            );
            // The power goes again, or an operation fails, while what is left is put in order and the next calls come in.
            let next = if chance.below(4) == 0 { "fail" } else { "tear=1" };
            let second = bench.run(&image, |faults| faults.at("wts", 1 + chance.below(60), next));
            if next == "fail" {
                second
                    .may_serve_on(stop_limit())
                    .unwrap_or_else(|error| panic!("{place}, {lost:?}, then {next}: {error}"));
            }
            again += usize::from(second.struck().is_some());
            let end = bench.fresh();
            after_power_loss(&image, &second.log, lost, &end);
            let answers = [run.answers.clone(), second.answers.clone()].concat();
            looked += answers.len();
            let lacking = Bench::lacking(&end, &answers);
            assert_eq!(lacking, 0, "{place}, {lost:?}, then {next}, {}", end.display());
            Bench::forget(&second);
            for folder in [image, end] {
                fs::remove_dir_all(folder).unwrap();
            }
        }
        Bench::forget(&run);
    }
    let of = |fate| failed.iter().filter(|((_, found), _)| *found == fate).map(|(_, times)| times).sum::<usize>();
    let met = |kind: &str| {
        let met = failed.iter().filter(|((found, fate), _)| *found == kind && *fate != Fate::NotMet);
        met.map(|(_, times)| times).sum::<usize>()
    };
    println!(
        "{} writes, {} truncations and {} syncs that failed: stopped {}, at the start {}, served on {}, while stopping {}; \
         started again and lost 0",
        met("w"),
        met("t"),
        met("s"),
        of(Fate::Stopped),
        of(Fate::AtStart),
        of(Fate::ServedOn),
        of(Fate::Stopping)
    );
    println!(
        "{died} losses of power, each of these with 3 disks, {again} more faults in recovery: {answered} answers, \
         looked for {looked} times, lost 0, repaired by hand 0; {dropped} disks lacked what was written and not synced"
    );
    assert!((died + met("w") + met("t") + met("s")) * 2 >= tries && again > 0 && dropped > 0);
    assert!(of(Fate::Stopped) > 0 && of(Fate::ServedOn) > 0, "{failed:?}");
    // The test would see a loss: on a disk that only says that it synced, there is one.
    let run =
        bench.run(&first, |faults| faults.at("w", counts.iter().sum::<u64>() / 4, "before").with("FAULTS_LIE", "1"));
    let image = bench.fresh();
    after_power_loss(&first, &run.log, UnsyncedPolicy::Dropped, &image);
    let lost = Bench::lacking(&image, &run.answers);
    println!("a disk that lies about syncs: {lost} of {} answers lost", run.answers.len());
    assert!(lost > 0);
}

#[test]
fn shim_full_disk_refuses_calls_until_there_is_room() {
    let mut bench = Bench::new();
    let state = bench.fresh();
    after_power_loss(&bench.first, &[], UnsyncedPolicy::Kept, &state);
    let (rounds, switch) = (if is_full() { 200 } else { 5 }, bench.place.path().join("full"));
    let faults = Faults::on(&state).with("FAULTS_FULL", &switch);
    let arguments = ["--state", state.to_str().unwrap(), "--admin-listen", "none"];
    let server = Process::with_faults(&bench.store, &arguments, &faults).unwrap();
    let mut client = server.client().unwrap();
    let (mut answers, mut refused) = (Vec::new(), 0);
    let acknowledged = |reply: &Reply| {
        let now = SystemTime::now();
        Answer { id: reply.header("x-request-id").to_owned(), status: reply.status, sent: now, arrived: now }
    };
    for _ in 0..rounds {
        fs::write(&switch, "").unwrap();
        let mut last = 200;
        // What the log of commits has room for is still written.
        for _ in 0..5000 {
            let reply = client.post("/v1/transactions", &bench.key, QUIET).unwrap();
            last = reply.status;
            match last {
                200 => answers.push(acknowledged(&reply)),
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
        answers.push(acknowledged(&reply));
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
