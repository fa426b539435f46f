//! Loads from a node that answers from recorded blocks, and that lies, fails and limits as providers do.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use headwater_ledger::Cancel;
use headwater_ledger::Store;
use headwater_ledger::read::{CoverageTable, Generation as _};
use headwater_ledger::store::Writer;
use headwater_node::{
    HistoryOptions, HistoryProgress, HistoryReport, HistoryState, NodeError, Providers, Traces, load_history,
};
use headwater_types::{Chain, Timestamp};
use serde_json::{Value, json};

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
    /// Every second request is refused for a moment.
    RateLimit,
    /// Every third connection is cut.
    Cut,
    /// It has no receipts of blocks.
    NoBlockReceipts,
    /// It takes no more than two calls at once.
    SmallBatch,
}

/// The recorded blocks: those with their receipts and traces, and balances of accounts that only received.
fn history() -> Value {
    serde_json::from_str(include_str!("fixtures/anvil_history.json")).unwrap()
}

/// A node that answers from the recorded blocks.
struct Node {
    url: String,
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Node {
    fn start(fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, answering) =
            (Arc::default(), Answering { blocks: history(), fault, requests: AtomicUsize::new(0) });
        let answering = Arc::new(answering);
        let counts = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answering, counts) = (Arc::clone(&answering), Arc::clone(&counts));
                thread::spawn(move || answering.serve(&stream, &counts));
            }
        });
        Self { url, asked }
    }

    /// Returns how often a method was called.
    fn asked(&self, method: &str) -> usize {
        self.asked.lock().unwrap().get(method).copied().unwrap_or(0)
    }
}

struct Answering {
    blocks: Value,
    fault: Fault,
    requests: AtomicUsize,
}

impl Answering {
    fn serve(&self, stream: &TcpStream, counts: &Mutex<BTreeMap<String, usize>>) -> Option<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let mut length = 0;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).ok()? == 0 {
                    return None;
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().ok()?;
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            let request = self.requests.fetch_add(1, Ordering::Relaxed);
            if self.fault == Fault::Cut && request % 3 == 1 {
                return None;
            }
            if self.fault == Fault::RateLimit && request % 2 == 1 {
                write(stream, "429 Too Many Requests", "Retry-After: 0\r\n", "{}")?;
                continue;
            }
            let asked: Value = serde_json::from_slice(&body).ok()?;
            let calls = asked.as_array().cloned().unwrap_or_else(|| vec![asked.clone()]);
            if self.fault == Fault::SmallBatch && calls.len() > 2 {
                let error =
                    json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "batch size exceeds 2"}});
                write(stream, "200 OK", "", &error.to_string())?;
                continue;
            }
            let answers: Vec<Value> = calls.iter().map(|call| self.answer(call, counts)).collect();
            let text = if asked.is_array() { Value::from(answers).to_string() } else { answers[0].to_string() };
            write(stream, "200 OK", "", &text)?;
        }
    }

    fn answer(&self, call: &Value, counts: &Mutex<BTreeMap<String, usize>>) -> Value {
        let method = call["method"].as_str().unwrap_or_default();
        *counts.lock().unwrap().entry(method.to_owned()).or_default() += 1;
        let unknown = json!({"code": -32601, "message": "the method does not exist/is not available"});
        let result = match method {
            "eth_chainId" => json!("0x1"),
            "eth_getBlockByNumber" => {
                let mut block = self.block(&call["params"][0]);
                if call["params"][1] == false {
                    let whole = block["transactions"].as_array().unwrap();
                    block["transactions"] = whole.iter().map(|transaction| transaction["hash"].clone()).collect();
                }
                block
            }
            "eth_getBlockReceipts" if self.fault == Fault::NoBlockReceipts => {
                return json!({"jsonrpc": "2.0", "id": call["id"], "error": unknown});
            }
            "eth_getBlockReceipts" => self.receipts(&call["params"][0]),
            "eth_getTransactionReceipt" => {
                let blocks = self.blocks["blocks"].as_array().unwrap().iter();
                let mut receipts = blocks.flat_map(|block| block["receipts"].as_array().unwrap());
                receipts.find(|receipt| receipt["transactionHash"] == call["params"][0]).cloned().unwrap_or_default()
            }
            "trace_block" => self.at(&call["params"][0])["traces"].clone(),
            _ => return json!({"jsonrpc": "2.0", "id": call["id"], "error": unknown}),
        };
        json!({"jsonrpc": "2.0", "id": call["id"], "result": result})
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

fn write(mut stream: &TcpStream, status: &str, headers: &str, text: &str) -> Option<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(text.as_bytes()).ok()
}

struct Silent;

impl HistoryProgress for Silent {
    fn update(&self, _: HistoryState) {}
}

fn load(
    store: &std::path::Path,
    urls: &[&Node],
    range: (u64, Option<u64>),
) -> (Result<HistoryReport, NodeError>, Providers) {
    let urls: Vec<String> = urls.iter().map(|node| node.url.clone()).collect();
    let providers = Providers::new(&urls, None).unwrap();
    let options = HistoryOptions {
        chain: Chain::ETHEREUM,
        from: Some(range.0),
        to: range.1,
        parallel: 3,
        traces: Traces::WherePossible,
        imported_at: Timestamp::new(1_767_225_600),
    };
    (load_history(store, &providers, &options, &Silent, &Cancel::new()), providers)
}

fn ranges(store: &std::path::Path, table: CoverageTable) -> Vec<(u64, u64)> {
    let writer = Writer::open_or_create(store).unwrap();
    let snapshot = writer.snapshot();
    let coverage = &snapshot.coverage()[&Chain::ETHEREUM];
    coverage.ranges.get(&table).cloned().unwrap_or_default()
}

#[test]
fn load_brings_all_tables_verified_and_repeats_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let node = Node::start(Fault::None);
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
    let node = Node::start(Fault::None);
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    load(&whole, &[&node], (0, None)).0.unwrap();
    for (from, to) in [(7, 9), (0, 3), (2, 8), (0, 11)] {
        load(&parts, &[&node], (from, Some(to))).0.unwrap();
    }
    let digest = |store: &std::path::Path| Store::open(store).unwrap().digest(&Cancel::new()).unwrap().to_string();
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
        let (liar, honest) = (Node::start(fault), Node::start(Fault::None));
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
    for fault in [Fault::RateLimit, Fault::Cut, Fault::NoBlockReceipts, Fault::SmallBatch] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let node = Node::start(fault);
        let (report, providers) = load(&store, &[&node], (0, None));
        assert_eq!(report.unwrap_or_else(|error| panic!("{fault:?}: {error}")).blocks, 12, "{fault:?}");
        let card = providers.all()[0].card();
        assert_eq!(
            (card.rate_limited > 0, card.failed > 0),
            (fault == Fault::RateLimit, fault == Fault::Cut),
            "{fault:?}"
        );
        assert!(card.lies.is_empty() && card.aside.is_none(), "{fault:?}: {card:?}");
    }
}

#[test]
fn stale_head_is_no_reorg_but_the_end_of_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let (stale, current) = (Node::start(Fault::StaleHead), Node::start(Fault::None));
    let error = load(&store, &[&stale], (0, Some(11))).0.unwrap_err().to_string();
    assert!(error.contains("block 11 is not final") && error.contains("is 5"), "{error}");
    assert_eq!(load(&store, &[&stale, &current], (0, None)).0.unwrap().to, 11);
}
