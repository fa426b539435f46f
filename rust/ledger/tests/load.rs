//! Loads: many commits that leave merges and edges for their end.

use headwater_ledger::edges::EdgeOrder;
use headwater_ledger::facts::Batch;
use headwater_ledger::read::{Generation, Ledger};
use headwater_ledger::store::{MemoryStore, Merges, Writer};
use headwater_ledger::{Cancel, Store};
use headwater_testkit::{Chainlet, address};
use headwater_types::Chain;

const CHAIN: Chain = Chain::ETHEREUM;

fn transfers(first: u64, count: u64) -> Batch {
    let chain = Chainlet::ethereum().at_block(first);
    (first..first + count).fold(chain, |chain, number| chain.transfer(number % 5, 7, number).fee(1)).batch()
}

#[test]
fn load_merges_only_crowded_segments_and_holds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let mut straight = MemoryStore::default();
    straight.commit(transfers(1, 210), &Cancel::new()).unwrap();
    let segments = || store.stats().unwrap().chains[&CHAIN].segments;

    writer.begin_load();
    for round in 0..70 {
        let report = writer.commit(transfers(1 + 3 * round, 3), &Cancel::new()).unwrap();
        assert_eq!(report.merges, Merges::Done);
        // The 64th makes one of all of them.
        assert_eq!(segments(), if round < 63 { round + 1 } else { round - 62 });
        assert_eq!(store.snapshot().unwrap().coverage()[&CHAIN].transactions, 3 * (round + 1), "each commit is seen");
    }
    let digest = || store.digest(&Cancel::new()).unwrap().to_string();
    let expected = straight.digest(&Cancel::new()).unwrap().to_string();
    assert_eq!(digest(), expected);
    writer.commit(transfers(211, 3), &Cancel::new()).unwrap();
    assert_eq!(segments(), 8, "as small as seven others, but not due before the end");
    straight.commit(transfers(211, 3), &Cancel::new()).unwrap();
    writer.commit(transfers(214, 3), &Cancel::new()).unwrap();
    straight.commit(transfers(214, 3), &Cancel::new()).unwrap();
    writer.end_load(&Cancel::new()).unwrap();
    assert!(segments() < 8, "what the tiers ask for");
    assert_eq!(digest(), straight.digest(&Cancel::new()).unwrap().to_string());
    assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
}

#[test]
fn a_load_that_was_broken_off_is_ended_by_the_next_commit() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    writer.begin_load();
    for round in 0..20 {
        writer.commit(transfers(1 + round, 1), &Cancel::new()).unwrap();
    }
    drop(writer);
    let segments = || Store::open(folder.path()).unwrap().stats().unwrap().chains[&CHAIN].segments;
    assert_eq!(segments(), 20);
    Writer::open_or_create(folder.path()).unwrap().commit(transfers(30, 1), &Cancel::new()).unwrap();
    assert_eq!(segments(), 1);
}

#[test]
fn a_load_builds_no_edges_and_they_are_built_when_asked_for() {
    let chain = Chainlet::ethereum();
    let batch =
        (0..66_000).fold(chain, |chain, number| chain.same_block().transfer(1, number % 89 + 200, number + 1)).batch();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    writer.begin_load();
    writer.commit(batch.clone(), &Cancel::new()).unwrap();
    let edges = |ledger: &dyn Ledger| {
        let account = ledger.account(CHAIN, &address(CHAIN, 1)).unwrap().unwrap();
        ledger.edges(&account, EdgeOrder::Total, usize::MAX, &Cancel::new()).unwrap()
    };
    assert_eq!(edges(&*writer.snapshot()), None, "too many to be grouped on reading");
    writer.end_load(&Cancel::new()).unwrap();
    assert!(writer.rebuild_sidecars(&|_, _, _| {}, &Cancel::new()).unwrap());
    let other = tempfile::tempdir().unwrap();
    let mut prompt = Writer::open_or_create(other.path()).unwrap();
    prompt.commit(batch, &Cancel::new()).unwrap();
    assert_eq!(edges(&*writer.snapshot()).unwrap(), edges(&*prompt.snapshot()).unwrap());
}
