//! Loads from a node that answers from recorded blocks, and that lies, fails and limits as providers do.

use std::path::Path;

use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Body, TransactionFacts};
use headwater_ledger::read::CoverageTable;
use headwater_ledger::store::Writer;
use headwater_node::{HistoryReport, NodeError, Providers};
use headwater_types::{Address, Amount, Chain, Timestamp, TxHash};
use serde_json::{Value, json};

use crate::fake::{Disturbance, FakeNode, RpcError, digest, json_rpc, load as load_chain, ranges as ranges_of};

/// The way in which a node goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Receipts of a block are empty although it has transactions.
    EmptyReceipts,
    /// Receipts are those of the block before.
    ShiftedReceipts,
    /// One receipt is missing.
    MissingReceipt,
    /// The index of a log is another.
    LogIndex,
    /// The value of a transaction is another.
    Value,
    /// The head is lower than the range.
    StaleHead,
    /// The head is beyond all blocks that there can be.
    HugeHead,
    /// It is of another chain.
    OtherChain,
    /// It does not say of which chain it is.
    NoChain,
    /// A block has no traces although it has transactions.
    EmptyTraces,
    /// It has no receipts of blocks.
    NoBlockReceipts,
    /// A failure that passes, or a limit.
    Disturbed(Disturbance),
}

/// The recorded blocks: those with their receipts and traces, and balances of accounts that only received.
fn history() -> Value {
    serde_json::from_str(include_str!("fixtures/anvil_history.json")).unwrap()
}

/// Starts a node that answers from the recorded blocks.
fn node(fault: Fault) -> FakeNode {
    let answering = Answering { blocks: history(), fault };
    let disturbance = if let Fault::Disturbed(disturbance) = fault { disturbance } else { Disturbance::None };
    FakeNode::start(disturbance, move |request| {
        json_rpc(request, "200 OK", |method, params| answering.answer(method, params))
    })
}

struct Answering {
    blocks: Value,
    fault: Fault,
}

const UNKNOWN: RpcError = (-32601, "the method does not exist/is not available");

impl Answering {
    fn answer(&self, method: &str, params: &Value) -> Result<Value, RpcError> {
        Ok(match method {
            "eth_chainId" if self.fault == Fault::NoChain => return Err(UNKNOWN),
            "eth_chainId" => json!(if self.fault == Fault::OtherChain { "0x5" } else { "0x1" }),
            "eth_getBlockByNumber" if self.fault == Fault::HugeHead && params[1] == false => {
                json!({"number": "0xffffffffff"})
            }
            "eth_getBlockByNumber" => {
                let mut block = self.block(&params[0]);
                if params[1] == false {
                    let whole = block["transactions"].as_array().unwrap();
                    block["transactions"] = whole.iter().map(|transaction| transaction["hash"].clone()).collect();
                }
                block
            }
            "eth_getBlockReceipts" if self.fault == Fault::NoBlockReceipts => return Err(UNKNOWN),
            "eth_getBlockReceipts" => self.receipts(&params[0]),
            "eth_getTransactionReceipt" => {
                let blocks = self.blocks["blocks"].as_array().unwrap().iter();
                let mut receipts = blocks.flat_map(|block| block["receipts"].as_array().unwrap());
                receipts.find(|receipt| receipt["transactionHash"] == params[0]).cloned().unwrap_or_default()
            }
            "trace_block" if self.fault == Fault::EmptyTraces && params[0] == "0x3" => json!([]),
            "trace_block" => self.at(&params[0])["traces"].clone(),
            _ => return Err(UNKNOWN),
        })
    }

    fn at(&self, number: &Value) -> &Value {
        let number = number.as_str().and_then(|text| usize::from_str_radix(text.strip_prefix("0x")?, 16).ok());
        number.map_or(&Value::Null, |number| &self.blocks["blocks"][number])
    }

    fn block(&self, number: &Value) -> Value {
        let last = if self.fault == Fault::StaleHead { "0x5" } else { "0xb" };
        let tag = number.as_str().filter(|tag| matches!(*tag, "latest" | "finalized"));
        let mut block = self.at(&json!(tag.map_or(number.as_str().unwrap_or_default(), |_| last)))["block"].clone();
        if self.fault == Fault::Value && block["number"] == "0x3" {
            block["transactions"][0]["value"] = json!("0xffff");
        }
        block
    }

    fn receipts(&self, hash: &Value) -> Value {
        let blocks = self.blocks["blocks"].as_array().unwrap();
        let place = blocks.iter().position(|block| block["block"]["hash"] == *hash).unwrap();
        let mut receipts = blocks[place]["receipts"].clone();
        if place == 3 {
            match self.fault {
                Fault::EmptyReceipts => receipts = json!([]),
                Fault::ShiftedReceipts => receipts = blocks[place - 1]["receipts"].clone(),
                Fault::MissingReceipt => {
                    receipts.as_array_mut().unwrap().remove(1);
                }
                Fault::LogIndex => receipts[3]["logs"][0]["logIndex"] = json!("0x7"),
                _ => {}
            }
        }
        receipts
    }
}

const RATE_LIMIT: Fault = Fault::Disturbed(Disturbance::RateLimit);
const CUT: Fault = Fault::Disturbed(Disturbance::Cut);
const SMALL_BATCH: Fault = Fault::Disturbed(Disturbance::SmallBatch);

fn load(store: &Path, nodes: &[&FakeNode], range: (u64, Option<u64>)) -> (Result<HistoryReport, NodeError>, Providers) {
    load_chain(store, Chain::ETHEREUM, nodes, range)
}

fn ranges(store: &Path, table: CoverageTable) -> Vec<(u64, u64)> {
    ranges_of(store, Chain::ETHEREUM, table)
}

#[test]
fn load_brings_all_tables_verified_and_repeats_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let node = node(Fault::None);
    let (report, _) = load(&store, &[&node], (0, None));
    let report = report.unwrap();
    assert_eq!((report.from, report.to, report.held, report.blocks, report.traced), (0, 11, 0, 12, 12));
    for table in [
        CoverageTable::Blocks,
        CoverageTable::Transactions,
        CoverageTable::Receipts,
        CoverageTable::Logs,
        CoverageTable::Traces,
        CoverageTable::VerifiedTransactions,
        CoverageTable::VerifiedReceipts,
    ] {
        assert_eq!(ranges(&store, table), [(0, 11)], "{table:?}");
    }
    let asked = node.asked("eth_getBlockReceipts");
    let (again, _) = load(&store, &[&node], (0, None));
    let again = again.unwrap();
    assert_eq!((again.held, again.blocks, again.traced), (12, 0, 0));
    assert_eq!(node.asked("eth_getBlockReceipts"), asked);
}

#[test]
fn load_in_parts_equals_a_load_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(Fault::None);
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    load(&whole, &[&node], (0, None)).0.unwrap();
    for (from, to) in [(7, 9), (0, 3), (2, 8), (0, 11)] {
        load(&parts, &[&node], (from, Some(to))).0.unwrap();
    }
    assert_eq!(digest(&whole), digest(&parts));
}

#[test]
fn lies_are_named_and_another_provider_is_asked() {
    for (fault, code) in [
        (Fault::EmptyReceipts, "count"),
        (Fault::ShiftedReceipts, "position"),
        (Fault::MissingReceipt, "count"),
        (Fault::LogIndex, "position"),
        (Fault::Value, "transaction_hash"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let (liar, honest) = (node(fault), node(Fault::None));
        let (alone, providers) = load(&store, &[&liar], (0, None));
        let error = alone.unwrap_err().to_string();
        assert!(error.contains("block 3"), "{fault:?}: {error}");
        let card = providers.all()[0].card();
        assert_eq!(card.lies.keys().collect::<Vec<_>>(), [code], "{fault:?}: {card:?}");
        assert!(card.aside.is_some(), "{fault:?}");
        let (report, _) = load(&store, &[&liar, &honest], (0, None));
        assert_eq!(report.unwrap().to, 11, "{fault:?}");
        assert_eq!(ranges(&store, CoverageTable::VerifiedReceipts), [(0, 11)], "{fault:?}");
    }
}

#[test]
fn faults_that_pass_are_waited_for() {
    for fault in [RATE_LIMIT, CUT, Fault::NoBlockReceipts, SMALL_BATCH] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let node = node(fault);
        let (report, providers) = load(&store, &[&node], (0, None));
        assert_eq!(report.unwrap_or_else(|error| panic!("{fault:?}: {error}")).blocks, 12, "{fault:?}");
        let card = providers.all()[0].card();
        assert_eq!((card.rate_limited > 0, card.failed > 0), (fault == RATE_LIMIT, fault == CUT), "{fault:?}");
        assert!(card.lies.is_empty() && card.aside.is_none(), "{fault:?}: {card:?}");
    }
}

#[test]
fn stale_head_ends_the_load_without_a_reorg() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let (stale, current) = (node(Fault::StaleHead), node(Fault::None));
    let error = load(&store, &[&stale], (0, Some(11))).0.unwrap_err().to_string();
    assert!(error.contains("block 11 is not final") && error.contains("is 5"), "{error}");
    let report = load(&store, &[&stale, &current], (0, None)).0.unwrap();
    assert_eq!(report.to, 5, "no single provider makes a block final");
    assert!(report.notes[0].contains("5 by") && report.notes[0].contains("11 by"), "{:?}", report.notes);
    assert_eq!(load(&store, &[&stale, &current], (0, Some(11))).0.unwrap().to, 11);
}

#[test]
fn providers_that_fail_the_first_check_are_not_asked() {
    for fault in [Fault::OtherChain, Fault::NoChain, Fault::HugeHead] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let (wrong, honest) = (node(fault), node(Fault::None));
        let (report, providers) = load(&store, &[&wrong, &honest], (0, None));
        assert_eq!(report.unwrap().to, 11, "{fault:?}");
        assert!(providers.all()[0].card().aside.is_some(), "{fault:?}");
        assert_eq!(wrong.asked("eth_getBlockReceipts"), 0, "{fault:?}");
        assert!(load(&store, &[&wrong], (0, None)).0.is_err(), "{fault:?}");
    }
}

#[test]
fn traces_are_compared_with_the_transactions_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let (liar, honest) = (node(Fault::EmptyTraces), node(Fault::None));
    let (report, providers) = load(&store, &[&liar], (0, None));
    assert!(report.unwrap().traces_missing.unwrap().contains("block 3: its traces are of 0 transactions"));
    assert_eq!(providers.all()[0].card().lies.keys().collect::<Vec<_>>(), ["traces"]);
    assert_eq!(load(&store, &[&liar, &honest], (0, None)).0.unwrap().traces_missing, None);
    assert_eq!(ranges(&store, CoverageTable::Traces), [(0, 11)]);
}

#[test]
fn rows_of_another_source_are_not_marked_as_verified() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let person = |byte| Some(Address::Evm([byte; 20]));
    let made_up = TransactionFacts {
        time: Some(Timestamp::new(1_700_000_000)),
        body: Some(Body { from: person(1), to: person(2), value: Amount::from_u128(10) }),
        ..TransactionFacts::new(TxHash::new([7; 32]), 3)
    };
    let time = history()["blocks"][3]["block"]["timestamp"].as_str().unwrap().to_owned();
    let time = i64::from_str_radix(time.trim_start_matches("0x"), 16).unwrap();
    let mut batch = Batch::new(Chain::ETHEREUM);
    batch.transactions = vec![TransactionFacts { time: Some(Timestamp::new(time)), ..made_up }];
    Writer::open_or_create(&store).unwrap().commit(batch, &Cancel::new()).unwrap();
    let report = load(&store, &[&node(Fault::None)], (0, None)).0.unwrap();
    assert!(report.notes[0].contains("rows of block 3 that its node does not have"), "{:?}", report.notes);
    assert_eq!(ranges(&store, CoverageTable::Transactions), [(0, 11)]);
    assert_eq!(ranges(&store, CoverageTable::VerifiedTransactions), [(0, 2), (4, 11)]);
}

#[test]
fn rates_that_are_none_are_refused() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
        let error = Providers::new(&["http://127.0.0.1:1".to_owned()], Some(rate)).unwrap_err();
        assert!(error.to_string().contains("expected a number of at least 0.001"), "{error}");
    }
}
