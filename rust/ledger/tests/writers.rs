//! Several writers of one store, in one process and in several: each change waits for its turn, none is lost, and a
//! process that is killed gives its turn up.

#![expect(clippy::disallowed_methods, reason = "the test passes a folder to the process it starts")]

use std::io::{self, BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use headwater_ledger::facts::Batch;
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::market::PricePoint;
use headwater_ledger::read::{Generation, Labels};
use headwater_ledger::store::disk::{Disk, DiskFile, SystemDisk};
use headwater_ledger::store::{LabelImport, MemoryStore, Writer, WriterOptions};
use headwater_ledger::{Cancel, LedgerError, Snapshot, Store};
use headwater_testkit::{Chainlet, address, claim, is_full, label_import};
use headwater_types::{Chain, Timestamp};

const CHAIN: Chain = Chain::ETHEREUM;
const FOLDER: &str = "HEADWATER_TEST_FOLDER";

/// The disk of the system without syncs, for tests that lose no power.
struct NoSync(SystemDisk);

struct NoSyncFile(Box<dyn DiskFile>);

impl Disk for NoSync {
    fn create_folder(&mut self, path: &Path) -> io::Result<()> {
        self.0.create_folder(path)
    }

    fn create(&mut self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(NoSyncFile(self.0.create(path)?)))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn sync_folder(&mut self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
}

impl DiskFile for NoSyncFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn fast(path: &Path) -> Writer {
    WriterOptions::default().named("test").open_on(path, Box::new(NoSync(SystemDisk))).unwrap()
}

fn draw(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

fn transfers(first: u64, count: u64) -> Batch {
    let chain = Chainlet::ethereum().at_block(first);
    (first..first + count).fold(chain, |chain, number| chain.transfer(number % 5, 7, number).fee(1)).batch()
}

fn price(number: u64) -> PricePoint {
    PricePoint { symbol: "eth".into(), time: Timestamp::new(1000), usd: f64::from(u32::try_from(number).unwrap()) }
}

fn list(number: u64) -> LabelImport {
    let claim = claim(CHAIN, address(CHAIN, number % 5), Code::Mixer, Level::Forensic, "group");
    label_import(&format!("list {number}"), vec![claim], 1000)
}

/// The change of a number: a commit, an import, a merge or a build.
fn change(writer: &mut Writer, number: u64) -> Result<(), LedgerError> {
    let cancel = Cancel::new();
    match number % 8 {
        5 => writer.import_prices(&format!("source {}", number % 3), vec![price(number)]).map(drop),
        6 => writer.import_labels(list(number)).map(drop),
        7 if number % 16 == 7 => writer.compact(CHAIN, &|_, _| {}, &cancel).map(drop),
        7 => writer.rebuild_sidecars(&|_, _, _| {}, &cancel).map(drop),
        _ => writer.commit(transfers(1 + 10 * number, 3), &cancel).map(drop),
    }
}

fn claims(ledger: &Snapshot) -> Vec<String> {
    let mut claims = Vec::new();
    let read = ledger.labels().each(&mut |_, claim| {
        claims.push(format!("{:?}", claim.to_owned()));
        Ok(())
    });
    read.unwrap();
    claims.sort();
    claims
}

/// The contents of a store, whatever the order of its changes.
fn contents(path: &Path) -> (String, Vec<String>, Vec<String>) {
    let store = Store::open(path).unwrap();
    let mut imports: Vec<_> = store.stats().unwrap().imports.into_iter().map(|import| import.source).collect();
    imports.sort();
    (store.digest(&Cancel::new()).unwrap().to_string(), imports, claims(&store.snapshot().unwrap()))
}

/// The same change of a store in memory, which has no files to merge or build.
fn change_in_memory(store: &mut MemoryStore, number: u64) -> u64 {
    match number % 8 {
        5 => store.import_prices(&format!("source {}", number % 3), vec![price(number)]).map(|_| 1),
        6 => store.import_labels(list(number)).map(|_| 1),
        7 => Ok(0),
        _ => store.commit(transfers(1 + 10 * number, 3), &Cancel::new()).map(|_| 0),
    }
    .unwrap()
}

#[test]
fn writers_that_take_turns_leave_what_one_would() {
    let seeds = if is_full() { 5000 } else { 240 };
    for seed in 0..seeds {
        let folder = tempfile::tempdir().unwrap();
        let mut writers: Vec<Writer> = (0..3).map(|_| fast(folder.path())).collect();
        writers[2].begin_load();
        let (mut one, mut imports, mut random) = (MemoryStore::default(), 0, seed);
        for _ in 0..8 {
            let (number, place) = (draw(&mut random, 64), usize::try_from(draw(&mut random, 3)).unwrap());
            change(&mut writers[place], number).unwrap();
            imports += change_in_memory(&mut one, number);
            let held = writers[place].snapshot().coverage().get(&CHAIN).map(|held| held.transactions);
            assert_eq!(held, one.snapshot().coverage().get(&CHAIN).map(|held| held.transactions), "seed {seed}");
            let versions: Vec<_> = writers[place].import_versions().iter().map(|import| import.version).collect();
            assert_eq!(versions, (1..=imports).collect::<Vec<u64>>(), "seed {seed}");
        }
        let store = Store::open(folder.path()).unwrap();
        let (digest, expected) = (store.digest(&Cancel::new()).unwrap(), one.digest(&Cancel::new()).unwrap());
        assert_eq!(digest, expected, "seed {seed}");
        assert_eq!(claims(&store.snapshot().unwrap()), claims(&one.snapshot()), "seed {seed}");
        if seed % 10 == 0 {
            assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound(), "seed {seed}");
        }
    }
}

#[test]
fn writers_at_the_same_time_lose_no_update() {
    let rounds = if is_full() { 100 } else { 12 };
    for round in 0..rounds {
        let (folder, single) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        thread::scope(|scope| {
            for part in 0..3 {
                let path = folder.path();
                scope.spawn(move || {
                    let mut writer = fast(path);
                    (0..10).for_each(|step| change(&mut writer, 100 * round + 3 * step + part).unwrap());
                });
            }
        });
        let mut one = fast(single.path());
        (0..30).for_each(|step| change(&mut one, 100 * round + step).unwrap());
        // Of prices at one time the last import counts.
        for path in [folder.path(), single.path()] {
            fast(path).import_prices("last", vec![price(1)]).unwrap();
        }
        assert_eq!(contents(folder.path()), contents(single.path()), "round {round}");
    }
}

#[test]
fn exclusive_work_sees_every_commit_and_no_other_writer() {
    let folder = tempfile::tempdir().unwrap();
    let (mut first, mut second) = (fast(folder.path()), fast(folder.path()));
    second.commit(transfers(1, 5), &Cancel::new()).unwrap();
    assert!(first.snapshot().coverage().is_empty(), "a snapshot is that of the last turn");
    let rival = WriterOptions::default().wait_at_most(Duration::ZERO);
    first
        .exclusively(&Cancel::new(), |first| {
            assert_eq!(first.snapshot().coverage()[&CHAIN].transactions, 5);
            assert!(matches!(rival.clone().open(folder.path()), Err(LedgerError::Locked { .. })));
            first.commit(transfers(10, 5), &Cancel::new())?;
            assert!(matches!(rival.clone().open(folder.path()), Err(LedgerError::Locked { .. })));
            Ok::<_, LedgerError>(())
        })
        .unwrap();
    drop(rival.open(folder.path()).unwrap());
    let error = first.exclusively(&Cancel::new(), |_| Err::<(), _>(LedgerError::UnknownVersion(1)));
    assert!(matches!(error, Err(LedgerError::UnknownVersion(1))));
    second.commit(transfers(20, 5), &Cancel::new()).unwrap();
    assert_eq!(second.snapshot().coverage()[&CHAIN].transactions, 15);
}

#[test]
fn commit_sets_aside_what_another_writer_contradicts() {
    let folder = tempfile::tempdir().unwrap();
    let (mut first, mut second) = (fast(folder.path()), fast(folder.path()));
    let other = Chainlet::ethereum().at_block(1).transfer(1, 7, 999).fee(1).batch();
    second.commit(other, &Cancel::new()).unwrap();
    assert!(matches!(first.commit(transfers(1, 3), &Cancel::new()), Err(LedgerError::Conflict { .. })));
    let (report, aside) = first.commit_consistent(transfers(1, 3), &Cancel::new()).unwrap();
    assert_eq!((report.unwrap().added, aside.len()), (2, 1));
    let (report, aside) = first.commit_consistent(transfers(1, 1), &Cancel::new()).unwrap();
    assert!(aside.len() == 1 && report.is_none_or(|report| report.added == 0));
}

#[test]
fn wait_ends_when_it_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let (mut holder, cancel) = (fast(folder.path()), Cancel::new());
    let mut waiting = WriterOptions::default().cancelled_by(&cancel).open(folder.path()).unwrap();
    holder
        .exclusively(&Cancel::new(), |_| {
            let of_call = Cancel::new();
            of_call.cancel();
            let committed = waiting.commit(transfers(1, 1), &of_call);
            assert!(matches!(committed, Err(LedgerError::Cancelled(_))));
            cancel.cancel();
            assert!(matches!(waiting.import_prices("p", Vec::new()), Err(LedgerError::Cancelled(_))));
            Ok::<_, LedgerError>(())
        })
        .unwrap();
}

/// The other process; does nothing when run as an ordinary test.
#[test]
fn other_process() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let options = WriterOptions::default().named("headwater ingest");
    let mut writer = options.open_on(Path::new(&folder), Box::new(NoSync(SystemDisk))).unwrap();
    let say = |text: &str| {
        println!("other: {text}");
        io::stdout().flush().unwrap();
    };
    match std::env::var("HEADWATER_TEST_WORK").unwrap().as_str() {
        "hold" => writer
            .exclusively(&Cancel::new(), |_| {
                say("holding");
                thread::sleep(Duration::from_mins(10));
                Ok::<_, LedgerError>(())
            })
            .unwrap(),
        "loop" => {
            say("looping");
            for number in 0.. {
                writer.commit(transfers(100_000 + number, 1), &Cancel::new()).unwrap();
            }
        }
        steps => {
            let steps: Vec<u64> = steps.split(',').map(|number| number.parse().unwrap()).collect();
            for number in steps {
                change(&mut writer, number).unwrap();
            }
        }
    }
}

struct Other {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn start(folder: &Path, work: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["other_process", "--exact", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder)
            .env("HEADWATER_TEST_WORK", work)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    fn at_work(folder: &Path, work: &str, sign: &str) -> Self {
        let mut other = Self::start(folder, work);
        assert!(other.lines.by_ref().map_while(Result::ok).any(|line| line.contains(sign)));
        other
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[test]
fn processes_at_the_same_time_lose_no_update() {
    let rounds = if is_full() { 50 } else { 5 };
    for round in 0..rounds {
        let (folder, single) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let numbers = |part: u64| (0..20).map(move |step| 100 * round + 3 * step + part);
        let text = |part| numbers(part).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
        let others = [1, 2].map(|part| Other::start(folder.path(), &text(part)));
        let mut writer = fast(folder.path());
        numbers(0).for_each(|number| change(&mut writer, number).unwrap());
        for mut other in others {
            assert!(other.process.wait().unwrap().success());
        }
        let mut one = fast(single.path());
        (0..60).for_each(|step| change(&mut one, 100 * round + step).unwrap());
        for path in [folder.path(), single.path()] {
            fast(path).import_prices("last", vec![price(1)]).unwrap();
        }
        assert_eq!(contents(folder.path()), contents(single.path()), "round {round}");
    }
}

#[test]
fn waiting_writer_learns_who_writes_until_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    drop(fast(folder.path()));
    let other = Other::at_work(folder.path(), "hold", "holding");
    let process = other.process.id();
    let rival = WriterOptions::default().wait_at_most(Duration::from_millis(300));
    let began = Instant::now();
    let Err(error) = rival.open(folder.path()) else { panic!("the other process has the lock") };
    assert!(began.elapsed() >= Duration::from_millis(300) && began.elapsed() < Duration::from_secs(2));
    let text = error.to_string();
    let expected =
        format!("is locked by headwater ingest (process {process}), which has been writing for 0 s: gave up");
    assert!(text.contains(&expected) && text.contains("try again when that has ended, or stop it"), "{text}");

    let (notices, noted) = (Arc::new(Mutex::new(Vec::new())), Instant::now());
    let kept = Arc::clone(&notices);
    let options =
        WriterOptions::default().on_wait(move |wait| kept.lock().unwrap().push((wait.to_string(), wait.waited)));
    let path = folder.path().to_owned();
    let waiting = thread::spawn(move || options.open(path).map(drop));
    while notices.lock().unwrap().is_empty() {
        assert!(noted.elapsed() < Duration::from_secs(30) && !waiting.is_finished());
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(300));
    other.kill();
    waiting.join().unwrap().unwrap();
    let notices = notices.lock().unwrap();
    let [(text, waited)] = &notices[..] else { panic!("one notice a wait: {notices:?}") };
    let expected = format!("waiting for headwater ingest (process {process}), which has been writing for ");
    assert!(text.contains(&expected) && *waited >= Duration::from_secs(2), "{text}");
}

#[test]
fn writer_that_commits_in_a_loop_starves_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = fast(folder.path());
    let other = Other::at_work(folder.path(), "loop", "looping");
    let commits = 30;
    let (mut waits, mut turns) = (Vec::new(), Vec::new());
    let mut before = None;
    for number in 0..commits {
        let began = Instant::now();
        let generation = writer.commit(transfers(1 + number, 1), &Cancel::new()).unwrap().generation;
        waits.push(began.elapsed());
        turns.extend(before.replace(generation).map(|before| generation - before));
    }
    other.kill();
    waits.sort_unstable();
    turns.sort_unstable();
    let middle = waits.len() / 2;
    println!("median wait and commit {:?}, longest {:?}", waits[middle], waits[waits.len() - 1]);
    println!("generations per commit: median {}, most {}", turns[middle], turns[turns.len() - 1]);
    assert!(turns[middle] <= 6, "the other writer had so many turns in between: {turns:?}");
    assert!(waits[waits.len() - 1] < Duration::from_secs(5), "{waits:?}");
}

/// Prints the time of commits that take a turn each, over that of the same commits in one turn, and of commits that
/// alternate with those of another writer.
#[test]
fn turn_of_its_own_costs_a_commit_little() {
    let commits = if is_full() { 1000 } else { 100 };
    let commit = |writer: &mut Writer, number: u64| writer.commit(transfers(1 + number, 1), &Cancel::new()).map(drop);
    let time = |work: &mut dyn FnMut(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        let began = Instant::now();
        work(folder.path());
        began.elapsed()
    };
    let one_turn = time(&mut |path| {
        let work = |writer: &mut Writer| (0..commits).try_for_each(|number| commit(writer, number));
        fast(path).exclusively(&Cancel::new(), work).unwrap();
    });
    let own_turns = time(&mut |path| {
        let mut writer = fast(path);
        (0..commits).for_each(|number| commit(&mut writer, number).unwrap());
    });
    let alternating = time(&mut |path| {
        let mut writers = [fast(path), fast(path)];
        (0..commits).for_each(|number| commit(&mut writers[(number % 2) as usize], number).unwrap());
    });
    println!("{commits} commits in one turn {one_turn:?}, in turns {own_turns:?}, alternating {alternating:?}");
    assert!(own_turns < one_turn * 2, "{own_turns:?} and {one_turn:?}");
}
