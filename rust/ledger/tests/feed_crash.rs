//! kill -9 while a store follows a chain: the items of the change feed are exactly what is held.
//!
//! The test starts itself as the process to be killed, which appends blocks, takes some back and makes others final.
#![expect(clippy::disallowed_methods, reason = "the test passes a folder to the process it starts")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use headwater_ledger::facts::Batch;
use headwater_ledger::read::{Generation, Generations, Transactions};
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Store};
use headwater_testkit::{Chainlet, followed};
use headwater_types::{Chain, TxHash};

const FOLDER: &str = "HEADWATER_FEED_CRASH_FOLDER";
const CHAIN: Chain = Chain::ETHEREUM;

fn block(number: u64, fork: u8, parent_fork: u8) -> Batch {
    let chain = Chainlet::ethereum().at_block(number).transfer(number % 5, 7, number).same_block().transfer(8, 9, 1);
    let mut batch = chain.batch();
    for facts in &mut batch.transactions {
        let mut bytes = *facts.hash.as_bytes();
        bytes[12] = fork;
        facts.hash = TxHash::new(bytes);
    }
    followed(batch, fork, parent_fork)
}

/// The fork of the newest block, by the last byte of its hash.
fn newest(writer: &Writer) -> Option<(u64, u8)> {
    let ledger = writer.snapshot();
    let number = ledger.coverage().get(&CHAIN)?.last_block?;
    let hash = ledger.block(CHAIN, number).unwrap()?.hash?;
    Some((number, hash.as_bytes()[31]))
}

/// The process that is killed; does nothing when run as an ordinary test.
#[test]
fn victim() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut writer = Writer::open_or_create(Path::new(&folder)).unwrap();
    loop {
        let (number, fork) = newest(&writer).unwrap_or((0, 1));
        let position = writer.feed().newest();
        if position % 9 == 8 && number > 3 {
            writer.roll_back_tail(CHAIN, number - 2).unwrap();
        } else {
            let next = if position.is_multiple_of(5) { fork % 100 + 1 } else { fork };
            writer.append_tail_block(block(number + 1, next, fork)).unwrap();
        }
        println!("acknowledged {}", writer.feed().newest());
        std::io::stdout().flush().unwrap();
        let (number, _) = newest(&writer).unwrap();
        if position.is_multiple_of(20) && number > 8 {
            writer.seal_tail(CHAIN, number - 6).unwrap();
        }
    }
}

fn acknowledged(line: &str) -> Option<u64> {
    line.split("acknowledged ").nth(1)?.trim().parse().ok()
}

/// Goes through the feed and holds what it comes to against the ledger.
fn check(folder: &Path, known: u64) -> u64 {
    let store = Store::open(folder).unwrap();
    let report = store.verify(&|_, _| {}, &Cancel::new()).unwrap();
    assert!(report.is_sound(), "{report:?}");
    let (feed, ledger) = (store.feed().unwrap(), store.current().unwrap());
    assert!(feed.newest() >= known, "{} items, {known} acknowledged", feed.newest());
    let mut held: BTreeMap<u64, _> = BTreeMap::new();
    for (position, item) in (1..).zip(feed.after(0, usize::MAX).unwrap()) {
        assert_eq!(item.position, position);
        if item.removed {
            assert_eq!(held.remove(&item.number), item.hash, "item {position}");
        } else {
            assert_eq!(held.insert(item.number, item.hash.unwrap()), None, "item {position}");
        }
        if !item.removed {
            assert_eq!(item.head, item.number);
        }
    }
    for (number, hash) in &held {
        assert_eq!(ledger.block(CHAIN, *number).unwrap().unwrap().hash, Some(*hash));
    }
    let transactions = ledger.coverage().get(&CHAIN).map_or(0, |coverage| coverage.transactions);
    assert_eq!(transactions, 2 * held.len() as u64);
    feed.newest()
}

#[test]
fn kill_9_at_any_moment_leaves_feed_and_store_equal() {
    let moments = if headwater_testkit::is_full() { 200 } else { 12 };
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros();
    let mut seed = u64::try_from(seed).unwrap();
    println!("seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let mut known = 0;
    for _ in 0..moments {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["victim", "--exact", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines().map_while(Result::ok);
        known = lines.by_ref().find_map(|line| acknowledged(&line)).expect("the victim follows").max(known);
        std::thread::sleep(Duration::from_micros((seed >> 33) % 150_000));
        victim.kill().unwrap();
        victim.wait().unwrap();
        known = lines.filter_map(|line| acknowledged(&line)).fold(known, u64::max);
        known = check(folder.path(), known);
    }
    println!("{moments} kills, {known} items of the feed");
}
