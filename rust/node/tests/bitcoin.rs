//! Loads from Bitcoin Core: verified blocks, and the outputs that they spend.

use std::path::Path;

use bitcoin::hashes::Hash as _;
use headwater_ingest::{Options, Silent, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Claim, TransactionFacts};
use headwater_ledger::read::{CoverageTable, Transactions as _};
use headwater_ledger::store::Writer;
use headwater_node::{HistoryReport, NodeError, Providers};
use headwater_types::{Chain, TxHash};

use crate::bitcoin_node::{Blocks, Fault, LIE, PRUNED};
use crate::fake::{Disturbance, FakeNode, digest, load as load_chain, load_until, ranges};

/// Blocks of the chain; the last final one is 40.
const COUNT: u8 = 47;
/// The first block of loads that begin in the middle.
const MIDDLE: u64 = 20;

fn load(store: &Path, nodes: &[&FakeNode], range: (u64, Option<u64>)) -> (Result<HistoryReport, NodeError>, Providers) {
    load_chain(store, Chain::BITCOIN, nodes, range)
}

/// A store of blocks from a file, with the claims that a load makes.
fn ingested(store: &Path, blocks: &Blocks, last: u64) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("blk00000.dat");
    std::fs::write(&file, blocks.file(usize::try_from(last).unwrap())).unwrap();
    let mut writer = Writer::open_or_create(store).unwrap();
    ingest(&[file], &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    let mut batch = Batch::new(Chain::BITCOIN);
    batch.claims = vec![Claim::Blocks { first: 0, last, table: CoverageTable::VerifiedTransactions }];
    writer.commit(batch, &Cancel::new()).unwrap();
    drop(writer);
    digest(store)
}

/// The facts that a store holds of a transaction of the chain.
fn facts(store: &Path, blocks: &Blocks, (height, place): (usize, usize)) -> TransactionFacts {
    let mut bytes = blocks.blocks[height].txdata[place].compute_txid().to_byte_array();
    bytes.reverse();
    let snapshot = Writer::open_or_create(store).unwrap().snapshot();
    let found = snapshot.find_transaction(Chain::BITCOIN, &TxHash::new(bytes)).unwrap().unwrap();
    snapshot.transaction(found).unwrap().facts
}

fn amounts(facts: &TransactionFacts) -> Vec<Option<u64>> {
    let inputs = facts.utxo.iter().flat_map(|utxo| &utxo.inputs);
    inputs.map(|input| input.spent.as_ref().map(|spent| spent.amount)).collect()
}

#[test]
fn bitcoin_load_equals_an_ingest_of_block_files() {
    check_equal(&Blocks::regtest(COUNT), 40);
}

#[test]
fn corpus_bitcoin_load_equals_an_ingest_of_block_files() {
    check_equal(&Blocks::mainnet(), 249);
}

/// Compares a load from a node with an ingest of the same blocks from a file.
fn check_equal(blocks: &Blocks, last: u64) {
    let folder = tempfile::tempdir().unwrap();
    let (loaded, read) = (folder.path().join("loaded"), folder.path().join("read"));
    let node = blocks.node(Fault::None);
    let report = load(&loaded, &[&node], (0, None)).0.unwrap();
    assert_eq!((report.to, report.blocks, report.notes.len()), (last, last + 1, 0));
    assert_eq!(digest(&loaded), ingested(&read, blocks, last));
    let asked = node.asked("getblock");
    assert_eq!(load(&loaded, &[&node], (0, None)).0.unwrap().held, last + 1);
    assert_eq!(node.asked("getblock"), asked, "nothing is asked for twice");
}

#[test]
fn bitcoin_load_from_the_middle_has_its_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let blocks = Blocks::regtest(COUNT);
    let node = blocks.node(Fault::None);
    // The age that a node states does not matter.
    let aged = folder.path().join("aged");
    load(&aged, &[&blocks.node(Fault::SpentHeight)], (MIDDLE, None)).0.unwrap();
    let report = load(&parts, &[&node], (MIDDLE, None)).0.unwrap();
    assert_eq!(digest(&aged), digest(&parts));
    assert_eq!((report.from, report.to, report.notes.len()), (MIDDLE, 40, 1));
    assert!(report.notes[0].contains("as nodes state them: no hash or signature"), "{}", report.notes[0]);
    // The coins of block 18 with its fees, and the change of block 19.
    let change = blocks.blocks[19].txdata[1].output[1].value.to_sat();
    assert_eq!(amounts(&facts(&parts, &blocks, (20, 1))), [Some(5_000_001_500), Some(change)]);
    load(&parts, &[&node], (0, Some(MIDDLE - 1))).0.unwrap();
    load(&whole, &[&node], (0, None)).0.unwrap();
    assert_eq!(digest(&whole), digest(&parts));
    // What the store holds by now is not asked for.
    let (asked, later) = (node.asked("getblock"), folder.path().join("later"));
    load(&later, &[&node], (0, Some(19))).0.unwrap();
    load(&later, &[&node], (20, Some(40))).0.unwrap();
    assert_eq!((node.asked("getblock") - asked, digest(&later)), (41, digest(&whole)));
}

/// Seven of the first 256 blocks spend outputs, to keys in signatures of that time.
#[test]
fn corpus_signatures_prove_owners_of_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let (store, blocks) = (folder.path().join("store"), Blocks::mainnet());
    let report = load(&store, &[&blocks.node(Fault::None)], (100, None)).0.unwrap();
    assert_eq!(report.to, 249);
    assert!(report.notes[0].starts_with("amounts of up to "), "{:?}", report.notes);
    // The first payment: 50 BTC of block 9.
    assert_eq!(amounts(&facts(&store, &blocks, (170, 1))), [Some(5_000_000_000)]);
}

#[test]
fn bitcoin_lies_are_named_and_others_are_asked() {
    let blocks = Blocks::regtest(COUNT);
    for (fault, block, code) in [
        (Fault::Shifted, LIE, "block_hash"),
        (Fault::Empty, LIE, "malformed"),
        (Fault::Short, LIE, "malformed"),
        (Fault::MissingTransaction, LIE, "transactions_root"),
        (Fault::Amount, LIE, "transactions_root"),
        (Fault::Witness, LIE, "witness_commitment"),
        (Fault::Hash, LIE, "parent"),
        (Fault::SpentValue, LIE, "spent_output"),
        (Fault::SpentScript, LIE, "spent_output"),
        (Fault::SpentOther, LIE, "position"),
        (Fault::SpentMissing, LIE, "count"),
        (Fault::SpentOwner, 20, "spent_output"),
        (Fault::SpentForm, 20, "spent_output"),
        (Fault::SpentLow, 20, "spent_output"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let (liar, honest) = (blocks.node(fault), blocks.node(Fault::None));
        let (alone, providers) = load(&store, &[&liar], (MIDDLE, None));
        let error = alone.unwrap_err().to_string();
        assert!(error.contains(&format!("block {block}")), "{fault:?}: {error}");
        let card = providers.all()[0].card();
        assert_eq!(card.lies.keys().collect::<Vec<_>>(), [code], "{fault:?}: {card:?}");
        assert!(card.aside.is_some(), "{fault:?}");
        let (report, _) = load(&store, &[&liar, &honest], (MIDDLE, None));
        assert_eq!(report.unwrap().to, 40, "{fault:?}");
        load(&store, &[&honest], (0, None)).0.unwrap();
        let read = folder.path().join("read");
        assert_eq!(digest(&store), ingested(&read, &blocks, 40), "{fault:?}");
    }
}

#[test]
fn node_without_spent_outputs_leaves_inputs_unknown() {
    let blocks = Blocks::regtest(COUNT);
    for fault in [Fault::NoSpent, Fault::Boolean] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let node = blocks.node(fault);
        let (report, providers) = load(&store, &[&node], (MIDDLE, None));
        let report = report.unwrap();
        assert_eq!(report.notes.len(), 1, "{fault:?}");
        assert!(report.notes[0].contains("before block 20 are unknown in 21 blocks"), "{}", report.notes[0]);
        let card = providers.all()[0].card();
        assert!(card.lacks.iter().any(|call| call == "getblock HASH 3") && card.aside.is_none(), "{card:?}");
        assert_eq!(amounts(&facts(&store, &blocks, (20, 1))), [None, None], "{fault:?}");
        // Outputs of the load itself are known.
        assert!(amounts(&facts(&store, &blocks, (22, 1))).iter().all(Option::is_some), "{fault:?}");
        load(&store, &[&node], (0, None)).0.unwrap();
        assert_eq!(digest(&store), ingested(&folder.path().join("read"), &blocks, 40), "{fault:?}");
    }
}

#[test]
fn nodes_that_state_spent_outputs_are_preferred() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let blocks = Blocks::regtest(COUNT);
    let (without, with) = (blocks.node(Fault::NoSpent), blocks.node(Fault::None));
    let report = load(&store, &[&without, &with], (MIDDLE, None)).0.unwrap();
    assert!(report.notes.iter().all(|note| note.contains("as nodes state them")), "{:?}", report.notes);
    assert_eq!(report.to, 40);
    assert!(amounts(&facts(&store, &blocks, (20, 1))).iter().all(Option::is_some));
}

#[test]
fn pruned_blocks_are_a_gap_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let blocks = Blocks::regtest(COUNT);
    let (pruned, whole) = (blocks.node(Fault::Pruned), blocks.node(Fault::None));
    let (report, providers) = load(&store, &[&pruned], (0, None));
    let report = report.unwrap();
    assert!(report.gaps.iter().any(|gap| gap.reasons.iter().any(|reason| reason.contains("pruned"))), "{report:?}");
    assert!(report.gaps.iter().all(|gap| gap.from_block < PRUNED), "{report:?}");
    let card = providers.all()[0].card();
    assert!(card.gaps > 0 && card.lies.is_empty() && card.aside.is_none(), "{card:?}");
    assert!(load(&store, &[&pruned, &whole], (0, None)).0.unwrap().gaps.is_empty());
    assert_eq!(ranges(&store, Chain::BITCOIN, CoverageTable::VerifiedTransactions), [(0, 40)]);
}

#[test]
fn disturbed_bitcoin_node_is_waited_for() {
    let blocks = Blocks::regtest(COUNT);
    for disturbance in [Disturbance::RateLimit, Disturbance::Cut, Disturbance::SmallBatch] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let node = blocks.node(Fault::Disturbed(disturbance));
        let (report, providers) = load(&store, &[&node], (MIDDLE, Some(MIDDLE + 4)));
        assert_eq!(report.unwrap_or_else(|error| panic!("{disturbance:?}: {error}")).blocks, 5, "{disturbance:?}");
        let card = providers.all()[0].card();
        let expected = (disturbance == Disturbance::RateLimit, disturbance == Disturbance::Cut);
        assert_eq!((card.rate_limited > 0, card.failed > 0), expected, "{disturbance:?}");
        assert!(card.lies.is_empty() && card.aside.is_none(), "{disturbance:?}: {card:?}");
    }
}

#[test]
fn stopped_bitcoin_load_continues_to_the_same_digest() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, stopped) = (folder.path().join("whole"), folder.path().join("stopped"));
    let blocks = Blocks::regtest(COUNT);
    let node = blocks.node(Fault::None);
    load(&whole, &[&node], (0, None)).0.unwrap();
    load(&stopped, &[&node], (0, Some(12))).0.unwrap();
    load_until(&stopped, Chain::BITCOIN, &node, (0, None), 10).unwrap_err();
    load(&stopped, &[&node], (0, None)).0.unwrap();
    assert_eq!(digest(&whole), digest(&stopped));
}

#[test]
fn stale_head_of_a_bitcoin_node_ends_its_load() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let blocks = Blocks::regtest(COUNT);
    let (stale, current) = (blocks.node(Fault::StaleHead), blocks.node(Fault::None));
    let error = load(&store, &[&stale], (0, Some(40))).0.unwrap_err().to_string();
    assert!(error.contains("block 40 is not final") && error.contains("is 30"), "{error}");
    assert_eq!(load(&store, &[&stale, &current], (0, None)).0.unwrap().to, 30);
    assert_eq!(load(&store, &[&stale, &current], (0, Some(40))).0.unwrap().to, 40);
}

#[test]
fn node_of_another_network_is_put_aside() {
    let blocks = Blocks::regtest(COUNT);
    for fault in [Fault::OtherNetwork, Fault::OtherChain] {
        let folder = tempfile::tempdir().unwrap();
        let node = blocks.node(fault);
        let (outcome, providers) = load(&folder.path().join("store"), &[&node], (0, None));
        let (error, card) = (outcome.unwrap_err().to_string(), providers.all()[0].card());
        assert!(error.contains("its first block is") && card.lies.contains_key("network"), "{fault:?}: {error}");
    }
}

#[test]
fn networks_do_not_mix_in_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let (regtest, main) = (Blocks::regtest(COUNT).node(Fault::None), Blocks::first_of_mainnet().node(Fault::None));
    let (report, providers) = load(&store, &[&regtest, &main], (0, Some(20)));
    assert_eq!(report.unwrap().blocks, 21);
    let aside = providers.all()[1].card().aside.unwrap();
    assert!(aside.contains("its network is mainnet") && aside.contains("is regtest"), "{aside}");
    let error = load(&store, &[&main], (0, Some(20))).0.unwrap_err().to_string();
    assert!(error.contains("its network is mainnet"), "{error}");
}

#[test]
fn wrong_login_names_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let mut node = Blocks::regtest(COUNT).node(Fault::Login);
    let error = load(&store, &[&node], (0, None)).0.unwrap_err().to_string();
    assert!(error.contains("status 401") && error.contains("login in the address"), "{error}");
    node.url = node.url.replace("http://", "http://me:secret@");
    assert_eq!(load(&store, &[&node], (0, None)).0.unwrap().to, 40);
}
