//! kill -9 at random moments: the store opens and holds exactly the acknowledged commits.
//!
//! The test starts itself as the process to be killed. That process commits in a loop and prints a line after each
//! acknowledged commit; what is held afterwards must be what was acknowledged, or one commit more, whose
//! acknowledgement the kill came before.
#![expect(clippy::disallowed_methods, reason = "the test passes a folder to the process it starts")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use headwater_ledger::facts::Batch;
use headwater_ledger::read::Generations;
use headwater_ledger::store::{MemoryStore, Writer};
use headwater_ledger::{Cancel, Store};
use headwater_testkit::Chainlet;
use headwater_types::Chain;

const FOLDER: &str = "HEADWATER_CRASH_FOLDER";
const MERGE_FOLDER: &str = "HEADWATER_CRASH_MERGE_FOLDER";
const PER_COMMIT: u64 = 20;

/// Commit `number`: new transactions, and more about those of the commit before, so that segments are rewritten.
fn batch(number: u64) -> Batch {
    let first = 1 + number * PER_COMMIT;
    let full = |first: u64| {
        let chain = Chainlet::ethereum().at_block(first);
        (first..first + PER_COMMIT).fold(chain, |chain, block| chain.transfer(block % 9, 7, block).fee(block)).batch()
    };
    let mut batch = full(first);
    batch.transactions.iter_mut().for_each(|facts| facts.fee = None);
    if number > 0 {
        let before = full(first - PER_COMMIT);
        batch.blocks.extend(before.blocks);
        batch.transactions.extend(before.transactions);
    }
    batch
}

/// The process that is killed; does nothing when run as an ordinary test.
#[test]
fn victim() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut writer = Writer::open_or_create(Path::new(&folder)).unwrap();
    let held = writer.snapshot();
    let held =
        headwater_ledger::read::Generation::coverage(&*held).get(&Chain::ETHEREUM).map_or(0, |held| held.transactions);
    for number in held / PER_COMMIT.. {
        writer.commit(batch(number), &Cancel::new()).unwrap();
        println!("acknowledged {number}");
        std::io::stdout().flush().unwrap();
    }
}

fn acknowledged(line: &str) -> Option<u64> {
    line.split("acknowledged ").nth(1)?.trim().parse().ok()
}

#[test]
fn kill_9_at_any_moment_leaves_exactly_the_acknowledged_commits() {
    let moments = if headwater_testkit::is_full() { 200 } else { 20 };
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros();
    let mut seed = u64::try_from(seed).unwrap();
    println!("seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let mut known = 0;
    for moment in 0..moments {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["victim", "--exact", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        if moment % 4 != 0 {
            // Let it come into the loop first; every fourth is killed while it opens the store.
            let first = lines.by_ref().map_while(Result::ok).find_map(|line| acknowledged(&line));
            known = known.max(first.expect("the victim commits") + 1);
        }
        std::thread::sleep(Duration::from_micros((seed >> 33) % 60_000));
        victim.kill().unwrap();
        victim.wait().unwrap();
        known = lines
            .map_while(Result::ok)
            .filter_map(|line| acknowledged(&line))
            .map(|last| last + 1)
            .fold(known, u64::max);

        if !folder.path().join("writer.lock").exists() || Store::open(folder.path()).is_err() {
            assert_eq!(known, 0, "a store is there once a commit was acknowledged");
            continue;
        }
        let store = Store::open(folder.path()).unwrap();
        let coverage = store.current().unwrap().coverage().get(&Chain::ETHEREUM).cloned().unwrap_or_default();
        assert_eq!(coverage.transactions % PER_COMMIT, 0, "no commit is there in part");
        let held = coverage.transactions / PER_COMMIT;
        assert!(held == known || held == known + 1, "{held} held, {known} acknowledged, seed {seed}");
        known = held;
        let report = store.verify(&|_, _| {}, &Cancel::new()).unwrap();
        assert!(report.is_sound(), "seed {seed}: {report:?}");
        if moment % 5 == 0 || moment + 1 == moments {
            let mut straight = MemoryStore::default();
            for number in 0..held {
                straight.commit(batch(number), &Cancel::new()).unwrap();
            }
            let digest = store.digest(&Cancel::new()).unwrap();
            if held > 0 {
                assert_eq!(digest, straight.digest(&Cancel::new()).unwrap(), "seed {seed}");
            }
        }
    }
    assert!(known > 0, "the victim never came to a commit");
}

/// The process that is killed while it merges; does nothing when run as an ordinary test.
#[test]
fn merging_victim() {
    let Some(folder) = std::env::var_os(MERGE_FOLDER) else { return };
    let mut writer = Writer::open_or_create(Path::new(&folder)).unwrap();
    println!("merging");
    std::io::stdout().flush().unwrap();
    writer.compact(Chain::ETHEREUM, &|_, _| {}, &Cancel::new()).unwrap();
    println!("merged");
}

/// Starts the victim and gives its output when the merge begins.
fn merging(folder: &Path) -> (Child, impl Iterator<Item = String>) {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["merging_victim", "--exact", "--nocapture", "--test-threads=1"])
        .env(MERGE_FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.find(|line| line.contains("merging")).expect("the victim begins to merge");
    (victim, lines)
}

/// Six segments that no tier merges yet: 14,000 transactions and 112,000 postings.
fn unmerged(folder: &Path) {
    let mut writer = Writer::open_or_create(folder).unwrap();
    for number in 0..6 {
        let first = 1 + number * 2_400;
        let chain = (first..first + 2_400).fold(Chainlet::ethereum().at_block(first), |chain, block| {
            let chain = chain.transfer(block % 701, block % 7, block).fee(block);
            (0..3).fold(chain, |chain, token| chain.token_movement(token, block % 523, block % 11 + token, block))
        });
        writer.commit(chain.batch(), &Cancel::new()).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn kill_9_in_a_large_merge_loses_nothing() {
    let moments: u32 = if headwater_testkit::is_full() { 60 } else { 4 };
    let folder = tempfile::tempdir().unwrap();
    let pristine = folder.path().join("pristine");
    unmerged(&pristine);
    let state = |folder: &Path| {
        let store = Store::open(folder).unwrap();
        let report = store.verify(&|_, _| {}, &Cancel::new()).unwrap();
        assert!(report.is_sound(), "{report:?}");
        (store.digest(&Cancel::new()).unwrap(), store.stats().unwrap())
    };
    let (digest, before) = state(&pristine);
    let segments = |folder: &Path| std::fs::read_dir(folder.join("segments")).unwrap().count();
    assert_eq!(segments(&pristine), 6);

    // How long it takes when nobody disturbs it.
    let whole = folder.path().join("whole");
    copy(&pristine, &whole);
    let (mut victim, lines) = merging(&whole);
    let started = Instant::now();
    assert_eq!(lines.filter(|line| line.contains("merged")).count(), 1);
    let length = started.elapsed();
    victim.wait().unwrap();
    assert_eq!(state(&whole).0, digest);

    let (mut before_the_end, mut random) = (0, u64::from(std::process::id()));
    for moment in 0..moments {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let killed = folder.path().join("killed");
        copy(&pristine, &killed);
        let (mut victim, mut lines) = merging(&killed);
        // One after the other through the merge, each a little off.
        let thousandths = (u64::from(moment) * 1_000 + (random >> 33) % 1_000) / u64::from(moments);
        std::thread::sleep(length.mul_f64(f64::from(u32::try_from(thousandths).unwrap()) / 1_000.0));
        victim.kill().unwrap();
        victim.wait().unwrap();
        before_the_end += usize::from(!lines.any(|line| line.contains("merged")));
        let (held, stats) = state(&killed);
        assert_eq!(held, digest, "killed at {thousandths} thousandths");
        assert!(stats.generation >= before.generation);
        // The next writer ends what was begun.
        let mut writer = Writer::open_or_create(&killed).unwrap();
        writer.compact(Chain::ETHEREUM, &|_, _| {}, &Cancel::new()).unwrap();
        drop(writer);
        let (held, stats) = state(&killed);
        assert_eq!((held, stats.chains[&Chain::ETHEREUM].segments), (digest, 1));
        std::fs::remove_dir_all(&killed).unwrap();
    }
    println!("{before_the_end} of {moments} kills came before the end of a merge of {length:?}");
    assert!(before_the_end > 0, "a kill in the first moments comes before the end");
}
