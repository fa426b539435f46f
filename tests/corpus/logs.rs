//! Real event logs, read back by contract and first topic, against an ordinary parser's count of the files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use headwater_ingest::{Gathered, Options, Silent, ingest_into};
use headwater_ledger::logs::{FirstTopic, LogFilter};
use headwater_ledger::read::{Logs, Transactions};
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Snapshot, Store};
use headwater_types::{Address, Chain};
use serde_json::Value;

/// Contract, first topic (empty where there is none), block, log index, data.
type Row = (String, String, u64, u64, String);

fn text_of(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    let mut text = String::new();
    if path.extension().is_some_and(|ending| ending == "gz") {
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    text
}

/// The rows of a file of one log per line.
fn published(path: &Path, block: &str, index: &str) -> Vec<Row> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let row = |line: &str| {
        let log: Value = serde_json::from_str(line).unwrap();
        let first = log["topics"].as_array().unwrap().first().map(text).unwrap_or_default();
        let [block, index] = [block, index].map(|name| log[name].as_u64().unwrap());
        (text(&log["address"]), first, block, index, text(&log["data"]))
    };
    text_of(path).lines().map(row).collect()
}

/// The files in a store on disk, each batch a commit of its own, then in one segment.
fn stored(root: &Path, files: &[PathBuf]) -> std::sync::Arc<Snapshot> {
    let mut target = Gathered::default();
    ingest_into(files, &Options::default(), &mut target, &Silent, &Cancel::new()).unwrap();
    let mut writer = Writer::open_or_create(root).unwrap();
    for batch in target.batches {
        let chain = batch.chain;
        writer.commit(batch, &Cancel::new()).unwrap();
        writer.compact(chain, &|_, _| {}, &Cancel::new()).unwrap();
    }
    assert_eq!(Store::open(root).unwrap().stats().unwrap().chains.values().map(|held| held.underived).sum::<u64>(), 0);
    assert!(Store::open(root).unwrap().verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
    writer.snapshot()
}

fn first_topic(text: &str) -> FirstTopic {
    let bytes = hex::decode(text.trim_start_matches("0x")).unwrap();
    if bytes.is_empty() { FirstTopic::Absent } else { FirstTopic::from(<[u8; 32]>::try_from(bytes).unwrap()) }
}

/// Every contract and first topic has as many logs as the file, in order of block and index, with the same data.
fn check(ledger: &Snapshot, chain: Chain, rows: &[Row]) {
    let mut groups: BTreeMap<(String, String), Vec<&Row>> = BTreeMap::new();
    let mut contracts: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        groups.entry((row.0.clone(), row.1.clone())).or_default().push(row);
        *contracts.entry(row.0.clone()).or_default() += 1;
    }
    let cancel = Cancel::new();
    let mut transactions = BTreeSet::new();
    for ((contract, topic), mut rows) in groups {
        rows.sort_by_key(|row| (row.2, row.3));
        let of = LogFilter::of(Address::parse(chain, &contract).unwrap());
        let filter = LogFilter { first_topic: first_topic(&topic), ..of };
        let logs = ledger.log_page(chain, &filter, usize::MAX, &cancel).unwrap();
        let data = |bytes: &[u8]| format!("0x{}", hex::encode(bytes));
        let read: Vec<_> = logs.iter().map(|log| (log.head.block, log.index, data(&log.data))).collect();
        let expected: Vec<_> = rows.iter().map(|row| (row.2, row.3, row.4.clone())).collect();
        assert_eq!(read, expected, "{contract} {topic}");
        let middle = rows[rows.len() / 2].2;
        let later = LogFilter { blocks: middle..=u64::MAX, ..filter };
        let expected = rows.iter().filter(|row| row.2 >= middle).count();
        assert_eq!(ledger.logs(chain, &later, &cancel).unwrap().count(), expected);
        transactions.extend(logs.iter().map(|log| log.transaction));
    }
    for (contract, count) in contracts {
        let all = LogFilter::of(Address::parse(chain, &contract).unwrap());
        assert_eq!(ledger.logs(chain, &all, &cancel).unwrap().count(), count, "{contract}");
    }
    let of_transactions = transactions.iter().map(|transaction| {
        let logs = ledger.transaction_logs(*transaction).unwrap();
        assert_eq!(logs.len(), ledger.transaction(*transaction).unwrap().facts.logs.len());
        logs.len()
    });
    assert_eq!(of_transactions.sum::<usize>(), rows.len());
}

#[test]
fn corpus_logs_of_graphsense_are_counted_by_contract_and_topic() {
    let folder = headwater_tests::corpus().join("ethereum/graphsense-spark/tokens");
    let files = ["blocks.csv.gz", "transactions.csv.gz", "logs.json.gz"].map(|name| folder.join(name));
    let rows = published(&files[2], "blockId", "logIndex");
    assert_eq!(rows.len(), 2228);
    let root = tempfile::tempdir().unwrap();
    let ledger = stored(root.path(), &files);
    let indexes = std::fs::read_dir(root.path().join("logs")).unwrap().count();
    assert!(indexes > 0, "so many logs have an index");
    check(&ledger, Chain::ETHEREUM, &rows);
}

#[test]
fn corpus_block_logs_are_counted_by_contract_and_topic() {
    let stream = headwater_tests::corpus().join("ethereum/ethereum-etl/test_stream");
    let files = |folder: &str, names: [&str; 3]| names.map(|name| stream.join(folder).join(name));
    let early =
        files("blocks_1755634_1755635", ["expected_blocks.json", "expected_transactions.json", "expected_logs.json"]);
    let late = files(
        "blocks_17173049_17173050",
        ["expected_blocks.json", "expected_transactions.json.gz", "expected_logs.json.gz"],
    );
    let mut rows = published(&early[2], "block_number", "log_index");
    rows.extend(published(&late[2], "block_number", "log_index"));
    let root = tempfile::tempdir().unwrap();
    check(&stored(root.path(), &[early, late].concat()), Chain::ETHEREUM, &rows);
    assert!(rows.len() > 500, "two whole blocks have many logs: {}", rows.len());
}

/// Made by hand in the form of a node, which gives logs no index: they are counted in the order of the file.
#[test]
fn corpus_logs_of_tron_are_counted_by_contract_and_topic() {
    let folder = headwater_tests::corpus().join("cases-labels/freeze-tron");
    let infos: Value = serde_json::from_str(&text_of(&folder.join("infos.json"))).unwrap();
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for info in infos.as_array().unwrap() {
        for log in info["log"].as_array().into_iter().flatten() {
            let block = info["blockNumber"].as_u64().unwrap();
            let index = next.entry(block).or_default();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let contract = format!("41{}", log["address"].as_str().unwrap());
            let first = log["topics"].as_array().and_then(|topics| topics.first()).map(text).unwrap_or_default();
            rows.push((contract, first, block, *index, format!("0x{}", text(&log["data"]))));
            *index += 1;
        }
    }
    assert!(!rows.is_empty());
    let root = tempfile::tempdir().unwrap();
    let ledger = stored(root.path(), &[folder.join("block.json"), folder.join("infos.json")]);
    check(&ledger, Chain::TRON, &rows);
}
