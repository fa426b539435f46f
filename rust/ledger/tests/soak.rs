//! A writer commits, merges, corrects and compacts while readers hold generations old and new: none of them ever sees
//! anything but the whole commits of the generation it holds.
//!
//! Seconds here, ten minutes with `HEADWATER_FULL`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use headwater_ledger::facts::Batch;
use headwater_ledger::read::{Generations, Ledger, Scan};
use headwater_ledger::store::{MemoryStore, Writer};
use headwater_ledger::{Cancel, Store};
use headwater_testkit::{Chainlet, address, hash};
use headwater_types::Chain;

const CHAIN: Chain = Chain::ETHEREUM;
const PER_COMMIT: u64 = 7;

/// Commit `number`: transfers of one block each, all from accounts below 5 to account 7.
fn batch(number: u64) -> Batch {
    let first = 1 + number * PER_COMMIT;
    let chain = Chainlet::ethereum().at_block(first);
    (first..first + PER_COMMIT).fold(chain, |chain, block| chain.transfer(block % 5, 7, block).fee(1)).batch()
}

/// Every tenth commit also adds to what is held: segments are corrected, not only added.
fn step(number: u64) -> Batch {
    let new = batch(number);
    if !number.is_multiple_of(10) {
        return new;
    }
    let mut more = batch(number / 2);
    more.transactions.iter_mut().for_each(|facts| facts.nonce = Some(number));
    united(new, more)
}

/// Checks what any generation must say of itself: as many postings of account 7 as transactions, whose hashes are all
/// there.
fn check(ledger: &dyn Ledger, probe: u64) -> u64 {
    let Some(coverage) = ledger.coverage().get(&CHAIN) else { return 0 };
    let transactions = coverage.transactions;
    assert_eq!(transactions % PER_COMMIT, 0, "commits are seen whole");
    let account = ledger.account(CHAIN, &address(CHAIN, 7)).unwrap().expect("every transfer goes to it");
    assert_eq!(ledger.count_postings(&account, &Scan::default(), &Cancel::new()).unwrap(), transactions);
    let block = 1 + probe % transactions;
    assert!(ledger.find_transaction(CHAIN, &hash(block, 0)).unwrap().is_some(), "block {block} of {transactions}");
    assert!(ledger.find_transaction(CHAIN, &hash(transactions + 1, 0)).unwrap().is_none());
    transactions
}

#[test]
fn readers_are_undisturbed_while_a_writer_commits_and_merges() {
    let length = Duration::from_secs(if headwater_testkit::is_full() { 600 } else { 4 });
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    writer.commit(batch(0), &Cancel::new()).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let (is_done, looks) = (AtomicBool::new(false), AtomicU64::new(0));
    let started = Instant::now();
    let mut committed = 1;
    std::thread::scope(|scope| {
        for reader in 0..3_u64 {
            let (store, is_done, looks) = (&store, &is_done, &looks);
            scope.spawn(move || {
                let mut probe = reader;
                let mut newest = 0;
                let held = store.current().unwrap();
                let of_held = check(&*held, 0);
                let mut kept = store.current().unwrap();
                while !is_done.load(Ordering::Relaxed) {
                    probe = probe.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let ledger = store.current().unwrap();
                    let transactions = check(&*ledger, probe >> 33);
                    assert!(transactions >= newest, "no commit is ever taken back");
                    newest = transactions;
                    // One generation is held from the first to the last moment, another for a while.
                    assert_eq!(check(&*held, probe >> 40), of_held);
                    let of_kept = check(&*kept, probe >> 35);
                    assert!(of_kept <= transactions);
                    if probe >> 60 == 0 {
                        kept = ledger;
                    }
                    looks.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while started.elapsed() < length {
            writer.commit(step(committed), &Cancel::new()).unwrap();
            committed += 1;
            if committed % 97 == 0 {
                writer.compact(CHAIN, &|_, _| {}, &Cancel::new()).unwrap();
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(looks.load(Ordering::Relaxed) > 10, "readers read");
    println!("{committed} commits, {} looks", looks.load(Ordering::Relaxed));
    let coverage = store.current().unwrap().coverage()[&CHAIN].clone();
    assert_eq!(coverage.transactions, committed * PER_COMMIT);
    let report = store.verify(&|_, _| {}, &Cancel::new()).unwrap();
    assert!(report.is_sound(), "{report:?}");
    let mut straight = MemoryStore::default();
    straight.commit((1..committed).map(step).fold(batch(0), united), &Cancel::new()).unwrap();
    assert_eq!(store.digest(&Cancel::new()).unwrap(), straight.digest(&Cancel::new()).unwrap());
}

fn united(mut all: Batch, batch: Batch) -> Batch {
    all.blocks.extend(batch.blocks);
    all.transactions.extend(batch.transactions);
    all
}
