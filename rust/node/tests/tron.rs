//! Loads from nodes of TRON: blocks with their infos.

use std::path::Path;

use headwater_ingest::{Options, Silent, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Claim, TransactionFacts};
use headwater_ledger::read::{CoverageTable, Transactions as _};
use headwater_ledger::store::Writer;
use headwater_node::{HistoryReport, NodeError, Providers};
use headwater_types::{Amount, Chain, Family, TxHash};

use crate::fake::{Disturbance, FakeNode, digest, load as load_chain, load_until, ranges};
use crate::tron_node::{Fault, LIE, SOLID, amount, chain, infos, node};

const TABLES: [CoverageTable; 6] = [
    CoverageTable::Blocks,
    CoverageTable::Transactions,
    CoverageTable::Receipts,
    CoverageTable::TokenTransfers,
    CoverageTable::Logs,
    CoverageTable::VerifiedTransactions,
];

fn load(store: &Path, nodes: &[&FakeNode], range: (u64, Option<u64>)) -> (Result<HistoryReport, NodeError>, Providers) {
    load_chain(store, Chain::TRON, nodes, range)
}

/// A store of the same answers from files, with the claims that a load makes.
fn ingested(store: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (blocks, of_blocks) = (folder.path().join("blocks.json"), folder.path().join("infos.json"));
    let chain = &chain()[1..=usize::try_from(SOLID).unwrap()];
    std::fs::write(&blocks, serde_json::json!({ "block": chain }).to_string()).unwrap();
    let lines: Vec<String> = chain.iter().map(|block| infos(block).to_string()).filter(|line| line != "[]").collect();
    std::fs::write(&of_blocks, lines.join("\n")).unwrap();
    let mut writer = Writer::open_or_create(store).unwrap();
    ingest(&[blocks, of_blocks], &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    let mut batch = Batch::new(Chain::TRON);
    batch.claims = TABLES.map(|table| Claim::Blocks { first: 1, last: SOLID, table }).to_vec();
    writer.commit(batch, &Cancel::new()).unwrap();
    drop(writer);
    digest(store)
}

/// The facts that a store holds of a transaction of a block.
fn facts(store: &Path, block: usize, place: usize) -> TransactionFacts {
    let hash = TxHash::parse(Family::Tron, chain()[block]["transactions"][place]["txID"].as_str().unwrap()).unwrap();
    let snapshot = Writer::open_or_create(store).unwrap().snapshot();
    let found = snapshot.find_transaction(Chain::TRON, &hash).unwrap().unwrap();
    snapshot.transaction(found).unwrap().facts
}

#[test]
fn tron_load_equals_an_ingest_of_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (store, read) = (folder.path().join("store"), folder.path().join("read"));
    let node = node(Fault::None);
    let report = load(&store, &[&node], (1, None)).0.unwrap();
    assert_eq!((report.to, report.blocks, report.traced), (SOLID, SOLID, 0));
    for table in TABLES {
        assert_eq!(ranges(&store, Chain::TRON, table), [(1, SOLID)], "{table:?}");
    }
    for table in [CoverageTable::Traces, CoverageTable::VerifiedReceipts] {
        assert_eq!(ranges(&store, Chain::TRON, table), [], "{table:?}");
    }
    assert!(
        report.notes[0].contains("vm.saveInternalTx") && report.notes[0].contains("35 calls"),
        "{:?}",
        report.notes
    );
    assert_eq!(facts(&store, 23, 0).body.unwrap().value, Amount::from(amount(23)));
    let call = facts(&store, 24, 1);
    assert_eq!((call.fee, call.logs.len(), call.movements.len()), (Some(Amount::from(345_000)), 1, 2));
    assert_eq!(digest(&store), ingested(&read));
    // Infos of blocks without transactions are not asked for, and nothing twice.
    let asked = || node.asked("/wallet/gettransactioninfobyblocknum");
    assert_eq!(asked(), 35);
    assert_eq!(load(&store, &[&node], (1, None)).0.unwrap().held, SOLID);
    assert_eq!(asked(), 35);
}

#[test]
fn tron_lies_are_named_and_others_are_asked() {
    for (fault, code) in [
        (Fault::EmptyInfos, "count"),
        (Fault::InfosObject, "malformed"),
        (Fault::ShiftedInfos, "position"),
        (Fault::MissingInfo, "count"),
        (Fault::DoubledInfo, "position"),
        (Fault::Result, "derived_field"),
        (Fault::Amount, "derived_field"),
        (Fault::Id, "transaction_hash"),
        (Fault::MissingTransaction, "transactions_root"),
        (Fault::Time, "block_hash"),
        (Fault::Unsigned, "signature"),
        (Fault::ShiftedBlocks, "block"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let (liar, honest) = (node(fault), node(Fault::None));
        let (alone, providers) = load(&store, &[&liar], (1, None));
        let error = alone.unwrap_err().to_string();
        // Blocks that were not asked for are named by the first one that was.
        let block = if fault == Fault::ShiftedBlocks { 21 } else { LIE };
        assert!(error.contains(&format!("block {block}")), "{fault:?}: {error}");
        let card = providers.all()[0].card();
        assert_eq!(card.lies.keys().collect::<Vec<_>>(), [code], "{fault:?}: {card:?}");
        assert!(card.aside.is_some(), "{fault:?}");
        let (report, _) = load(&store, &[&liar, &honest], (1, None));
        assert_eq!(report.unwrap().to, SOLID, "{fault:?}");
        assert_eq!(digest(&store), ingested(&folder.path().join("read")), "{fault:?}");
    }
}

#[test]
fn tron_block_that_is_missing_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let (without, whole) = (node(Fault::MissingBlock), node(Fault::None));
    let (report, providers) = load(&store, &[&without], (1, None));
    let report = report.unwrap();
    assert!(report.gaps.iter().any(|gap| (gap.from_block..=gap.to_block).contains(&LIE)), "{report:?}");
    assert!(providers.all()[0].card().lies.is_empty());
    assert!(load(&store, &[&without, &whole], (1, None)).0.unwrap().gaps.is_empty());
    assert_eq!(digest(&store), ingested(&folder.path().join("read")));
}

#[test]
fn limits_of_tron_nodes_are_kept() {
    for fault in [
        Fault::Busy,
        Fault::Suspended,
        Fault::SmallRange,
        Fault::Disturbed(Disturbance::RateLimit),
        Fault::Disturbed(Disturbance::Cut),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let node = node(fault);
        let (report, providers) = load(&folder.path().join("store"), &[&node], (1, Some(4)));
        assert_eq!(report.unwrap_or_else(|error| panic!("{fault:?}: {error}")).blocks, 4, "{fault:?}");
        let card = providers.all()[0].card();
        let is_limited = matches!(fault, Fault::Busy | Fault::Suspended | Fault::Disturbed(Disturbance::RateLimit));
        assert_eq!(card.rate_limited > 0, is_limited, "{fault:?}: {card:?}");
        assert!(card.lies.is_empty() && card.aside.is_none(), "{fault:?}: {card:?}");
    }
}

#[test]
fn stopped_tron_load_continues_to_the_same_digest() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let node = node(Fault::None);
    load(&store, &[&node], (9, Some(12))).0.unwrap();
    load_until(&store, Chain::TRON, &node, (1, None), 10).unwrap_err();
    load(&store, &[&node], (1, None)).0.unwrap();
    assert_eq!(digest(&store), ingested(&folder.path().join("read")));
}

#[test]
fn final_head_of_tron_is_the_solid_one_or_below() {
    let folder = tempfile::tempdir().unwrap();
    let (stale, current) = (node(Fault::StaleHead), node(Fault::None));
    let error = load(&folder.path().join("stale"), &[&stale], (1, Some(SOLID))).0.unwrap_err().to_string();
    assert!(error.contains("block 40 is not final") && error.contains("is 30"), "{error}");
    assert_eq!(load(&folder.path().join("both"), &[&stale, &current], (31, Some(SOLID))).0.unwrap().to, SOLID);
    let without = node(Fault::NoSolid);
    assert_eq!(load(&folder.path().join("without"), &[&without], (35, None)).0.unwrap().to, SOLID);
}

#[test]
fn node_of_another_tron_network_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(Fault::OtherChain);
    let (outcome, providers) = load(&folder.path().join("store"), &[&node], (1, None));
    assert!(outcome.unwrap_err().to_string().contains("its first block is"));
    assert!(providers.all()[0].card().lies.contains_key("chain_id"));
}

#[test]
fn tron_node_without_history_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(Fault::Lite);
    let error = load(&folder.path().join("store"), &[&node], (1, None)).0.unwrap_err().to_string();
    assert!(error.contains("lite fullnode"), "{error}");
}

#[test]
fn json_rpc_of_tron_is_named_or_left_for_the_interface() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let (mut alone, mut beside) = (node(Fault::JsonRpcOnly), node(Fault::JsonRpc));
    for node in [&mut alone, &mut beside] {
        node.url.push_str("/jsonrpc");
    }
    let error = load(&store, &[&alone], (1, None)).0.unwrap_err().to_string();
    assert!(error.contains("JSON-RPC of TRON") && error.contains("http://HOST:8090"), "{error}");
    assert_eq!(load(&store, &[&beside], (1, None)).0.unwrap().to, SOLID);
}

#[test]
fn key_of_trongrid_comes_from_the_address() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let mut node = node(Fault::Key);
    let error = load(&store, &[&node], (1, Some(4))).0.unwrap_err().to_string();
    assert!(error.contains("status 401"), "{error}");
    node.url = node.url.replace("http://", "http://abc-123@");
    assert_eq!(load(&store, &[&node], (1, Some(4))).0.unwrap().blocks, 4);
}
