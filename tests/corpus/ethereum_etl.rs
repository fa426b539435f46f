//! The rows that ethereum-etl publishes as expected, read to exactly the values in them.
//!
//! The test reads the same files on its own, by the letter of the format, and compares field by field.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use headwater_ingest::{Gathered, IngestReport, Options, Silent, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, MovementFact, TransactionFacts};
use headwater_ledger::read::Status;
use headwater_types::{Address, Asset, Family, Timestamp};

/// A row as text by column; lists joined by commas; absent and empty values are left out.
type TextRow = BTreeMap<String, String>;

fn fixtures() -> PathBuf {
    headwater_tests::corpus().join("ethereum/ethereum-etl")
}

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

fn expected(path: &Path) -> Vec<TextRow> {
    let text = text_of(path);
    let filled = |row: TextRow| row.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    if path.to_string_lossy().contains(".json") {
        let plain = |value: &serde_json::Value| match value {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Array(items) => {
                items.iter().filter_map(|item| item.as_str()).collect::<Vec<_>>().join(",")
            }
            other => other.to_string(),
        };
        let row = |line: &str| {
            let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&quoted(line)).unwrap();
            filled(object.iter().map(|(name, value)| (name.clone(), plain(value))).collect())
        };
        return text.lines().map(row).collect();
    }
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize::<TextRow>().map(|row| filled(row.unwrap())).collect()
}

/// The line with its numbers in quotes, so that an ordinary parser keeps all their digits.
fn quoted(line: &str) -> String {
    let mut parts = line.split("\": ");
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        text += "\": ";
        if digits > 0 {
            text.extend(["\"", number, "\"", rest]);
        } else {
            text += rest;
        }
    }
    text
}

fn ingest(paths: &[PathBuf]) -> (IngestReport, Vec<Batch>) {
    let mut target = Gathered::default();
    let report = ingest_into(paths, &Options::default(), &mut target, &Silent, &Cancel::new()).unwrap();
    (report, target.batches)
}

/// A file of blocks that gives every block named a time, for tables that carry none.
fn times(folder: &Path, blocks: &BTreeSet<String>) -> PathBuf {
    let path = folder.join("blocks.csv");
    let rows: Vec<String> = blocks.iter().map(|number| format!("{number},,,{number},1\n")).collect();
    std::fs::write(&path, format!("number,hash,parent_hash,timestamp,gas_limit\n{}", rows.concat())).unwrap();
    path
}

/// Reads one file together with times for its blocks.
fn read(path: &Path) -> (Vec<TextRow>, Vec<TransactionFacts>, Batch) {
    let folder = tempfile::tempdir().unwrap();
    let rows = expected(path);
    let blocks = rows.iter().filter_map(|row| row.get("block_number").cloned()).collect();
    let (report, mut batches) = ingest(&[path.to_owned(), times(folder.path(), &blocks)]);
    let file = report.files.iter().find(|file| file.path == path).unwrap();
    assert_eq!((file.rows, file.skipped), (rows.len() as u64, 0), "{}", path.display());
    assert_eq!(batches.len(), 1);
    let batch = batches.remove(0);
    (rows, batch.transactions.clone(), batch)
}

fn hash(facts: &TransactionFacts) -> String {
    facts.hash.display(Family::Evm)
}

fn address(address: Option<Address>) -> Option<String> {
    address.map(|address| address.to_string())
}

fn cell(row: &TextRow, name: &str) -> Option<String> {
    row.get(name).cloned()
}

fn hex_text(bytes: Option<&Vec<u8>>) -> Option<String> {
    bytes.map(|bytes| format!("0x{}", hex::encode(bytes)))
}

fn status(row: &TextRow, name: &str) -> Option<Status> {
    row.get(name).map(|status| if status == "1" { Status::Success } else { Status::Failed })
}

#[expect(clippy::needless_pass_by_value, reason = "callers compare values that they have just made")]
fn same<T: PartialEq + std::fmt::Debug>(row: &TextRow, name: &str, read: T, expected: T) {
    assert_eq!(read, expected, "{name} of {row:?}");
}

#[test]
fn corpus_blocks_are_read_to_the_values_published() {
    for name in [
        "test_export_blocks_job/block_with_logs/expected_blocks.csv",
        "test_export_blocks_job/block_without_transactions/expected_blocks.csv",
        "test_export_blocks_job/blocks_with_transactions/expected_blocks.csv",
        "test_stream/blocks_1755634_1755635/expected_blocks.json",
        "test_stream/blocks_17173049_17173050/expected_blocks.json",
    ] {
        let path = fixtures().join(name);
        let rows = expected(&path);
        let (_, batches) = ingest(&[path]);
        assert_eq!(batches[0].blocks.len(), rows.len());
        for (row, block) in rows.iter().zip(&batches[0].blocks) {
            same(row, "number", block.number.to_string(), row["number"].clone());
            same(row, "hash", block.hash.unwrap().display(Family::Evm), row["hash"].clone());
            same(row, "parent_hash", block.parent.unwrap().display(Family::Evm), row["parent_hash"].clone());
            // The header of the first block says zero; the chain began later.
            let secs = if block.number == 0 { 1_438_269_973 } else { row["timestamp"].parse().unwrap() };
            same(row, "timestamp", block.time, Timestamp::new(secs));
        }
    }
}

#[test]
fn corpus_transactions_are_read_to_the_values_published() {
    let mut count = 0;
    for name in [
        "test_export_blocks_job/block_with_logs/expected_transactions.csv",
        "test_export_blocks_job/blocks_with_transactions/expected_transactions.csv",
        "test_stream/blocks_1755634_1755635/expected_transactions.json",
        "test_stream/blocks_17173049_17173050/expected_transactions.json.gz",
    ] {
        let (rows, transactions, _) = read(&fixtures().join(name));
        assert_eq!(transactions.len(), rows.len());
        count += rows.len();
        for (row, facts) in rows.iter().zip(&transactions) {
            let body = facts.body.unwrap();
            let number = |value: Option<String>, name: &str| same(row, name, value, cell(row, name));
            number(Some(hash(facts)), "hash");
            number(Some(facts.block.to_string()), "block_number");
            number(facts.index.map(|index| index.to_string()), "transaction_index");
            number(address(body.from), "from_address");
            number(address(body.to), "to_address");
            number(Some(body.value.to_string()), "value");
            number(facts.nonce.map(|nonce| nonce.to_string()), "nonce");
            number(facts.gas_limit.map(|gas| gas.to_string()), "gas");
            number(facts.gas_price.map(|price| price.to_string()), "gas_price");
            number(hex_text(facts.input.as_ref()), "input");
            number(facts.time.map(|time| time.secs().to_string()), "block_timestamp");
            number(facts.gas_used.map(|gas| gas.to_string()), "receipt_gas_used");
            number(facts.effective_gas_price.map(|price| price.to_string()), "receipt_effective_gas_price");
            same(row, "receipt_status", facts.status, status(row, "receipt_status"));
            if facts.status != Some(Status::Failed) {
                number(address(facts.created), "receipt_contract_address");
            }
        }
    }
    assert_eq!(count, 308);
}

#[test]
fn corpus_logs_and_transfers_equal_the_published_values() {
    for (logs, transfers) in [
        (
            "test_extract_token_transfers_job/logs/logs.csv",
            "test_extract_token_transfers_job/logs/expected_token_transfers.csv",
        ),
        (
            "test_stream/blocks_1755634_1755635/expected_logs.json",
            "test_stream/blocks_1755634_1755635/expected_token_transfers.json",
        ),
        (
            "test_stream/blocks_17173049_17173050/expected_logs.json.gz",
            "test_stream/blocks_17173049_17173050/expected_token_transfers.json.gz",
        ),
    ] {
        let (rows, transactions, _) = read(&fixtures().join(logs));
        let mut read_logs = BTreeMap::new();
        for facts in &transactions {
            for log in &facts.logs {
                read_logs.insert((facts.block.to_string(), log.index), (facts, log));
            }
        }
        assert_eq!(read_logs.len(), rows.len());
        for row in &rows {
            let (facts, log) = read_logs[&(row["block_number"].clone(), row["log_index"].parse().unwrap())];
            same(row, "transaction_hash", hash(facts), row["transaction_hash"].clone());
            same(row, "transaction_index", facts.index.map(|index| index.to_string()), cell(row, "transaction_index"));
            same(row, "address", log.address.to_string(), row["address"].clone());
            same(row, "data", format!("0x{}", hex::encode(&log.data)), row["data"].clone());
            let topics: Vec<_> = log.topics.iter().map(|topic| format!("0x{}", hex::encode(topic))).collect();
            same(row, "topics", topics.join(","), cell(row, "topics").unwrap_or_default());
        }
        // The movements that the logs stand for are those that ethereum-etl extracts from them. It reads neither
        // what wraps the native coin nor multi-tokens; those are told apart by their topic.
        let is_transfer = |facts: &TransactionFacts, index: u64| {
            let log = facts.logs.iter().find(|log| log.index == index).unwrap();
            hex::encode(log.topics[0]).starts_with("ddf252ad")
        };
        let mut extracted = rows_of(&transactions);
        extracted.retain(|key, _| {
            let (facts, _) = read_logs[key];
            is_transfer(facts, key.1)
        });
        let (rows, transactions, _) = read(&fixtures().join(transfers));
        let published = published(&rows);
        assert_eq!(rows_of(&transactions), published, "{transfers}");
        assert_eq!(extracted, published, "{logs}");
    }
}

type Transfer = (String, String, String, String, String);

fn rows_of(transactions: &[TransactionFacts]) -> BTreeMap<(String, u64), Transfer> {
    let mut rows = BTreeMap::new();
    for facts in transactions {
        for movement in &facts.movements {
            let Asset::Token(contract) = movement.asset else { panic!("a token movement") };
            assert!(movement.kind != MovementFact::Internal);
            let key = (facts.block.to_string(), movement.ordinal.shown().unwrap());
            let from = address(movement.from).unwrap();
            let to = address(movement.to).unwrap();
            let row = (hash(facts), contract.to_string(), from, to, movement.amount.to_string());
            assert!(rows.insert(key, row).is_none());
        }
    }
    rows
}

fn published(rows: &[TextRow]) -> BTreeMap<(String, u64), Transfer> {
    let row = |row: &TextRow| {
        let cells = |name: &str| row[name].clone();
        let key = (cells("block_number"), row["log_index"].parse().unwrap());
        let names = ["transaction_hash", "token_address", "from_address", "to_address", "value"];
        let [hash, token, from, to, value] = names.map(cells);
        (key, (hash, token, from, to, value))
    };
    rows.iter().map(row).collect()
}

/// The sums of the traces of a transaction: own value and status, then (from, to, value) of each movement inside.
type TraceOutcome = (Option<String>, Option<Status>, Vec<(String, String, String)>);

fn judged(batch: &Batch) -> BTreeMap<String, TraceOutcome> {
    let mut all = BTreeMap::new();
    for facts in &batch.transactions {
        let inside = facts.movements.iter().map(|movement| {
            let from = address(movement.from).unwrap();
            (from, address(movement.to).unwrap(), movement.amount.to_string())
        });
        let own = facts.body.map(|body| body.value.to_string());
        all.insert(hash(facts), (own, facts.status, inside.collect()));
    }
    all
}

/// Worked by hand from the published rows.
#[test]
fn corpus_traces_move_what_they_should() {
    let traces = |name: &str| {
        let path = fixtures().join(format!("test_export_traces_job/{name}/expected_traces.csv"));
        judged(&read(&path).2)
    };
    let success = Some(Status::Success);
    let own = |value: &str| (Some(value.to_owned()), success, vec![]);

    let created = traces("block_with_create");
    assert_eq!(
        created["0x2c3cfb8d7f3039fcad64bd231beb0229af55f9114d74aef12a6f228ad1dac100"],
        own("64655529900000002048")
    );
    assert_eq!(created["0xe4de004685c7b5fe48854cfb54cd59686f3f7cbf95e68c3984dfd672fe677871"], own("0"));
    assert_eq!(created["REWARD_1000690_f8b483dba2c3b7176a3da549ad41a48bb3121069"], own("5000000000000000000"));
    assert_eq!(created.len(), 3);

    let failed = traces("block_with_error");
    let value = Some("1000000000000000000".to_owned());
    assert_eq!(
        failed["0xa2f089480e6fd907e786a88d928ba20feeca2ca37ffa84c2d54bae42f5d989c9"],
        (value, Some(Status::Failed), vec![])
    );

    // The callcode inside moves nothing.
    let nested = traces("block_with_subtraces");
    assert_eq!(
        nested["0xea1093d492a1dcb1bef708f771a99a96ff05dcab81ca76c31940300177fcf49f"],
        own("100000000000000000000")
    );

    let destroyed = traces("block_with_suicide");
    let inside = (
        "0x474faa5018639791952fae334e2911700ac7fe9b".to_owned(),
        "0x83973747eec131bf9a08ac64fb1a518e891bdf4b".to_owned(),
        "50000000000000000".to_owned(),
    );
    assert_eq!(
        destroyed["0x91acb43c5f141c393a189e091c190c9ffb20e4e8a502e4cc3087be9587bdbc89"],
        (Some("0".to_owned()), success, vec![inside])
    );
}

/// The traces of geth name no transaction; the transactions of the same blocks are in the traces of the other node.
#[test]
fn corpus_traces_of_geth_join_by_their_place() {
    for name in ["block_with_create", "block_with_error", "block_with_subtraces", "block_with_suicide"] {
        let parity = fixtures().join(format!("test_export_traces_job/{name}/expected_traces.csv"));
        let geth = fixtures().join(format!("test_extract_geth_traces_job/{name}/expected_traces.csv"));
        let folder = tempfile::tempdir().unwrap();
        let rows = expected(&parity);
        let blocks = rows.iter().map(|row| row["block_number"].clone()).collect();
        // Transactions with their place, as the table of transactions gives it.
        let transactions: String = rows
            .iter()
            .filter(|row| row.contains_key("transaction_hash") && !row.contains_key("trace_address"))
            .map(|row| {
                let cells = ["transaction_hash", "block_number", "transaction_index", "from_address", "value"];
                cells.map(|name| row[name].clone()).join(",") + ",,1\n"
            })
            .collect();
        let path = folder.path().join("transactions.csv");
        let header = "hash,block_number,transaction_index,from_address,value,to_address,gas\n";
        // Only place and hash matter here; a creation has no receiver, so leave the receiver to the traces.
        std::fs::write(&path, format!("{header}{transactions}")).unwrap();
        let (_, batches) = ingest(&[path, geth.clone(), times(folder.path(), &blocks)]);
        let of_geth: BTreeMap<_, _> = {
            let count = rows
                .iter()
                .filter(|row| row.contains_key("transaction_hash") && !row.contains_key("trace_address"))
                .count();
            let batch = Batch { transactions: batches[0].transactions[count..].to_vec(), ..batches[0].clone() };
            judged(&batch)
        };
        let of_parity = judged(&read(&parity).2);
        for (hash, (own, status, _)) in &of_geth {
            assert_eq!((own, status), (&of_parity[hash].0, &of_parity[hash].1), "{name} {hash}");
        }
        assert!(!of_geth.is_empty());
    }
}

#[test]
fn corpus_contracts_and_tokens_are_read_to_the_values_published() {
    let (_, batches) = ingest(&[fixtures().join("test_export_contracts_job/erc721_contract/expected_contracts.json")]);
    assert_eq!(batches[0].contracts[0].to_string(), "0x06012c8cf97bead5deae237070f9587f8e7a266d");
    for name in ["token_with_alternative_return_type", "token_with_invalid_data"] {
        let path = fixtures().join(format!("test_export_tokens_job/{name}/expected_tokens.csv"));
        let rows = expected(&path);
        let (_, batches) = ingest(&[path]);
        assert_eq!(batches[0].tokens.len(), rows.len());
        for (row, token) in rows.iter().zip(&batches[0].tokens) {
            same(row, "address", Some(token.contract.to_string()), cell(row, "address"));
            same(row, "symbol", token.symbol.clone(), cell(row, "symbol"));
            same(row, "name", token.name.clone(), cell(row, "name"));
            same(row, "decimals", token.decimals.map(|decimals| decimals.to_string()), cell(row, "decimals"));
        }
    }
}

#[test]
fn corpus_export_without_rows_is_an_error_where_it_is_alone() {
    let empty = fixtures().join("test_export_blocks_job/block_without_transactions/expected_transactions.csv");
    let blocks = fixtures().join("test_export_blocks_job/block_without_transactions/expected_blocks.csv");
    let mut target = Gathered::default();
    let alone = ingest_into(std::slice::from_ref(&empty), &Options::default(), &mut target, &Silent, &Cancel::new());
    assert!(alone.unwrap_err().to_string().contains("expected_transactions.csv"));
    let (report, _) = ingest(&[blocks, empty]);
    assert_eq!(report.rows, 1);
}
