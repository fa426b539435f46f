//! `BigQuery`: the tables of its public data sets, in the types and forms it exports.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema};
use headwater_ingest::Options;
use headwater_ledger::facts::{MovementFact, TransactionFacts};
use headwater_ledger::read::{Ordinal, Status};
use headwater_types::{Amount, Chain, TxHash};

use crate::rewritten::table::{Column, Form, Kind, column, made, parquet, text};
use crate::rewritten::{Source, corpus, formats, gathered, plainly, rows, stated, write};

const STREAM: &str = "ethereum/ethereum-etl/test_stream/blocks_17173049_17173050";
/// What a stream writes beside the tables.
const STREAM_ONLY: &[&str] = &["type", "item_id", "item_timestamp", "withdrawals"];

fn blocks() -> Vec<Column> {
    vec![
        column("timestamp", Kind::Time, "timestamp"),
        column("number", Kind::I64, "number"),
        column("hash", Kind::Text, "hash"),
        column("parent_hash", Kind::Text, "parent_hash"),
        column("miner", Kind::Text, "miner"),
        column("difficulty", Kind::Numeric, "difficulty"),
        column("gas_limit", Kind::I64, "gas_limit"),
        column("gas_used", Kind::I64, "gas_used"),
    ]
}

fn transactions() -> Vec<Column> {
    vec![
        column("hash", Kind::Text, "hash"),
        column("nonce", Kind::I64, "nonce"),
        column("transaction_index", Kind::I64, "transaction_index"),
        column("from_address", Kind::Text, "from_address"),
        column("to_address", Kind::Text, "to_address"),
        column("value", Kind::Numeric, "value"),
        column("gas", Kind::I64, "gas"),
        column("gas_price", Kind::I64, "gas_price"),
        column("input", Kind::Text, "input"),
        column("receipt_gas_used", Kind::I64, "receipt_gas_used"),
        column("receipt_contract_address", Kind::Text, "receipt_contract_address"),
        column("receipt_status", Kind::I64, "receipt_status"),
        column("block_timestamp", Kind::Time, "block_timestamp"),
        column("block_number", Kind::I64, "block_number"),
        column("block_hash", Kind::Text, "block_hash"),
        column("receipt_effective_gas_price", Kind::I64, "receipt_effective_gas_price"),
    ]
}

fn logs() -> Vec<Column> {
    vec![
        column("log_index", Kind::I64, "log_index"),
        column("transaction_hash", Kind::Text, "transaction_hash"),
        column("transaction_index", Kind::I64, "transaction_index"),
        column("address", Kind::Text, "address"),
        column("data", Kind::Text, "data"),
        column("topics", Kind::List, "topics"),
        made("block_timestamp", Kind::Time, |_| Some("1683029999".to_owned())),
        column("block_number", Kind::I64, "block_number"),
        column("block_hash", Kind::Text, "block_hash"),
    ]
}

fn token_transfers() -> Vec<Column> {
    vec![
        column("token_address", Kind::Text, "token_address"),
        column("from_address", Kind::Text, "from_address"),
        column("to_address", Kind::Text, "to_address"),
        column("value", Kind::Text, "value"),
        column("transaction_hash", Kind::Text, "transaction_hash"),
        column("log_index", Kind::I64, "log_index"),
        column("block_timestamp", Kind::Time, "block_timestamp"),
        column("block_number", Kind::I64, "block_number"),
        column("block_hash", Kind::Text, "block_hash"),
    ]
}

fn traces() -> Vec<Column> {
    let mut columns = vec![column("value", Kind::Numeric, "value")];
    for name in [
        "transaction_hash",
        "from_address",
        "to_address",
        "trace_type",
        "call_type",
        "reward_type",
        "trace_address",
        "error",
    ] {
        columns.push(column(name, Kind::Text, name));
    }
    for name in ["transaction_index", "status", "block_number"] {
        columns.push(column(name, Kind::I64, name));
    }
    columns.push(made("block_timestamp", Kind::Time, |_| Some("1460000000".to_owned())));
    columns
}

type Columns = fn() -> Vec<Column>;

/// Writes tables in each form, and holds them against the rows they were made of.
fn agree(format: &str, tables: &[(&str, Vec<Source>, Columns)], without: &[&str], forms: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let plain: Vec<PathBuf> = tables
        .iter()
        .map(|(name, rows, _)| plainly(&folder.path().join(format!("plain_{name}.csv")), rows, without))
        .collect();
    let expected = stated(&plain, &Options::default());
    assert!(!expected.transactions.is_empty());
    for form in forms {
        let paths: Vec<PathBuf> = tables.iter().map(|table| one(folder.path(), table, form)).collect();
        let report = gathered(&paths, &Options::default()).unwrap().0;
        assert!(formats(&report).iter().all(|found| *found == format), "{form}: {:?}", formats(&report));
        assert_eq!(stated(&paths, &Options::default()), expected, "{form}");
    }
}

fn one(folder: &Path, (name, rows, columns): &(&str, Vec<Source>, Columns), form: &str) -> PathBuf {
    let path = folder.join(format!("{name}.{form}"));
    match form {
        "parquet" => parquet(&path, &columns(), rows),
        "csv" => text(&path, Form::Csv, &columns(), rows),
        _ => text(&path, Form::Lines, &columns(), rows),
    }
}

#[test]
fn corpus_two_blocks_of_ethereum_state_the_same() {
    let folder = corpus().join(STREAM);
    let blocks_read = rows(&folder.join("expected_blocks.json"));
    let transactions_read = rows(&folder.join("expected_transactions.json.gz"));
    let tables: &[(&str, Vec<Source>, Columns)] =
        &[("blocks", blocks_read.clone(), blocks), ("transactions", transactions_read, transactions)];
    agree("bigquery/ethereum", tables, STREAM_ONLY, &["parquet", "csv", "json"]);
    let first = |rows: Vec<Source>| -> Vec<Source> {
        rows.into_iter().filter(|row| row["block_number"] == "17173049").collect()
    };
    let logs_read = first(rows(&folder.join("expected_logs.json.gz")));
    // A list has no form in CSV.
    agree("bigquery/ethereum", &[("logs", logs_read, logs)], STREAM_ONLY, &["parquet", "json"]);
    let transfers = first(rows(&folder.join("expected_token_transfers.json.gz")));
    agree(
        "bigquery/ethereum",
        &[("token_transfers", transfers, token_transfers)],
        STREAM_ONLY,
        &["parquet", "csv", "json"],
    );
}

#[test]
fn corpus_traces_of_ethereum_state_the_same() {
    for name in ["block_with_create", "block_with_error", "block_with_subtraces", "block_with_suicide"] {
        let path = corpus().join("ethereum/ethereum-etl/test_export_traces_job").join(name).join("expected_traces.csv");
        let mut rows = rows(&path);
        for row in &mut rows {
            row.insert("block_timestamp".to_owned(), "1460000000".to_owned());
        }
        agree("bigquery/ethereum", &[("traces", rows, traces)], &[], &["parquet", "csv", "json"]);
    }
}

#[test]
fn an_export_claims_runs_of_blocks_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let hash = format!("0x{}", "ab".repeat(32));
    let content = format!(
        "hash,block_number,from_address,to_address,value,gas,block_timestamp\n{hash},5,{A},{B},9,1,2021-01-01 00:00:00 UTC\n"
    );
    let (report, batches) = gathered(&[write(folder.path(), "t.csv", &content)], &Options::default()).unwrap();
    assert_eq!((formats(&report), batches[0].claims.len()), (vec!["bigquery/ethereum"], 0));
    assert_eq!(batches[0].transactions[0].time.unwrap().secs(), 1_609_459_200);
    let iso = content.replace("2021-01-01 00:00:00 UTC", "2021-01-01T00:00:00Z");
    let (_, batches) = gathered(&[write(folder.path(), "t.csv", &iso)], &Options::default()).unwrap();
    assert_eq!(batches[0].transactions[0].time.unwrap().secs(), 1_609_459_200);
    let wrong = content.replace("2021-01-01 00", "2021-13-01 00");
    let error = gathered(&[write(folder.path(), "t.csv", &wrong)], &Options::default()).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("block_timestamp") && error.contains("2021-13"), "{error}");
}

/// Writes JSON lines as Parquet of a schema.
pub fn nested(path: &Path, schema: Schema, lines: &str) -> PathBuf {
    let mut reader = arrow_json::ReaderBuilder::new(Arc::new(schema.clone())).build(lines.as_bytes()).unwrap();
    let batch = reader.next().unwrap().unwrap();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, Arc::new(schema), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path.to_owned()
}

pub fn field(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, true)
}

fn list(kind: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("element", kind, true)))
}

/// The schema of transactions, by the type of amounts and the column of owners.
pub fn bitcoin_schema(amount: &DataType, owners: &Field, time: &DataType) -> Schema {
    let output = || {
        vec![
            field("index", DataType::Int64),
            field("script_asm", DataType::Utf8),
            field("script_hex", DataType::Utf8),
            field("required_signatures", DataType::Int64),
            field("type", DataType::Utf8),
            owners.clone(),
            field("value", amount.clone()),
        ]
    };
    let mut input = vec![
        field("spent_transaction_hash", DataType::Utf8),
        field("spent_output_index", DataType::Int64),
        field("sequence", DataType::Int64),
    ];
    input.extend(output());
    let of = |fields: Vec<Field>| list(DataType::Struct(Fields::from(fields)));
    Schema::new(vec![
        field("hash", DataType::Utf8),
        field("size", DataType::Int64),
        field("virtual_size", DataType::Int64),
        field("version", DataType::Int64),
        field("lock_time", DataType::Int64),
        field("block_hash", DataType::Utf8),
        field("block_number", DataType::Int64),
        field("block_timestamp", time.clone()),
        field("index", DataType::Int64),
        field("is_coinbase", DataType::Boolean),
        field("output_value", amount.clone()),
        field("fee", amount.clone()),
        field("inputs", of(input)),
        field("outputs", of(output())),
    ])
}

pub fn bitcoin_rows() -> String {
    let path = corpus().join("bitcoin/bitcoin-etl/block_with_transactions/expected_transactions.json");
    let text = std::fs::read_to_string(path).unwrap();
    // What `enrich_transactions` adds to an input, and a fee that fits it.
    let spent =
        "\"type\": \"pubkeyhash\", \"addresses\": [\"1HaHTfmvoUW6i6nhJf8jJs6tU4cHNmBQHQ\"], \"value\": 7000000029";
    let of_block = "{\"hash\": \"7940cdde4d713e171849efc6bd89939185be270266c94e92369e3877ad89455b\", \"block_number\": 50001, \
        \"block_hash\": \"000000001c920d495e1eeef2452b6d1c6c229a919b28196c103ecffebabee141\", \"block_timestamp\": 1270917100, \
        \"is_coinbase\": false, \"index\": 1, \"fee\": 29, \"version\": 1, \"lock_time\": 0, \"size\": 226, \"virtual_size\": 226";
    let output = "{\"index\": 0, \"script_hex\": \"76a914b5cd7aaed869cd5ccb45868e8666e7e934a2373688ac\", \"type\": \"pubkeyhash\", \
        \"addresses\": [\"1HaHTfmvoUW6i6nhJf8jJs6tU4cHNmBQHQ\"], \"value\": 7000000000}";
    let input = format!(
        "{{\"index\": 0, \"spent_transaction_hash\": \"7940cdde4d713e171849efc6bd89939185be270266c94e92369e3877ad89455a\", \
         \"spent_output_index\": 3, \"script_hex\": \"00\", \"sequence\": 4294967295, {spent}}}"
    );
    text.trim_end().to_owned() + &format!("\n{of_block}, \"inputs\": [{input}], \"outputs\": [{output}]}}\n")
}

#[test]
fn corpus_transactions_of_bitcoin_state_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let lines = bitcoin_rows();
    let plain = write(folder.path(), "plain.json", &lines);
    let expected = stated(std::slice::from_ref(&plain), &Options::default());
    assert!(expected.transactions.len() > 3);
    assert_eq!(formats(&gathered(&[plain], &Options::default()).unwrap().0), ["bitcoin-etl"]);

    let owners = field("addresses", list(DataType::Utf8));
    let micros = DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, Some("+00:00".into()));
    let schema = bitcoin_schema(&DataType::Decimal128(38, 9), &owners, &micros);
    let timed = times(&lines, |secs| format!("{secs}000000"));
    let file = nested(&folder.path().join("transactions.parquet"), schema, &timed);
    let as_text = times(&lines, |secs| {
        let time = headwater_types::Timestamp::new(secs.parse().unwrap()).to_string();
        format!("\"{}\"", time.replace('T', " ").replace('Z', " UTC"))
    });
    // As BigQuery writes integers of 64 bits.
    let as_text = as_text
        .replace("\"value\": 7000000000}", "\"value\": \"7000000000\"}")
        .replace("\"index\": 1,", "\"index\": \"1\",");
    let exported = write(folder.path(), "transactions.json", &as_text);
    for file in [file, exported] {
        let report = gathered(std::slice::from_ref(&file), &Options::default()).unwrap().0;
        assert_eq!(formats(&report), ["bigquery/bitcoin"]);
        assert_eq!(stated(&[file], &Options::default()), expected);
    }
}

/// The lines with other times.
pub fn times(lines: &str, time: impl Fn(&str) -> String) -> String {
    let line = |line: &str| {
        let start = line.find("\"block_timestamp\": ").unwrap() + "\"block_timestamp\": ".len();
        let digits = line[start..].bytes().take_while(u8::is_ascii_digit).count();
        format!("{}{}{}\n", &line[..start], time(&line[start..start + digits]), &line[start + digits..])
    };
    lines.lines().map(line).collect()
}

#[test]
fn corpus_blocks_of_bitcoin_state_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let read = rows(&corpus().join("bitcoin/bitcoin-etl/block_with_transactions/expected_blocks.json"));
    let columns = || {
        vec![
            column("hash", Kind::Text, "hash"),
            column("number", Kind::I64, "number"),
            column("merkle_root", Kind::Text, "merkle_root"),
            column("timestamp", Kind::Time, "timestamp"),
            made("timestamp_month", Kind::Text, |_| Some("2010-04-01".to_owned())),
            column("bits", Kind::Text, "bits"),
        ]
    };
    let plain = corpus().join("bitcoin/bitcoin-etl/block_with_transactions/expected_blocks.json");
    let expected = stated(&[plain], &Options::default());
    for form in ["parquet", "json"] {
        let file = one(folder.path(), &("blocks", read.clone(), columns), form);
        assert_eq!(
            formats(&gathered(std::slice::from_ref(&file), &Options::default()).unwrap().0),
            ["bigquery/bitcoin"]
        );
        assert_eq!(stated(&[file], &Options::default()), expected);
    }
}

fn chain_blocks() -> Vec<Column> {
    vec![
        column("block_hash", Kind::Text, "hash"),
        column("block_number", Kind::I64, "number"),
        column("block_timestamp", Kind::Time, "timestamp"),
        column("parent_hash", Kind::Text, "parent_hash"),
        column("gas_limit", Kind::I64, "gas_limit"),
        column("difficulty", Kind::Record, "difficulty"),
    ]
}

fn chain_transactions() -> Vec<Column> {
    vec![
        column("block_hash", Kind::Text, "block_hash"),
        column("block_number", Kind::I64, "block_number"),
        column("block_timestamp", Kind::Time, "block_timestamp"),
        column("transaction_hash", Kind::Text, "hash"),
        column("transaction_index", Kind::I64, "transaction_index"),
        column("nonce", Kind::BigNumeric, "nonce"),
        column("from_address", Kind::Text, "from_address"),
        column("to_address", Kind::Text, "to_address"),
        column("value", Kind::Record, "value"),
        column("gas", Kind::I64, "gas"),
        column("gas_price", Kind::Record, "gas_price"),
        column("input", Kind::Text, "input"),
    ]
}

fn chain_receipts() -> Vec<Column> {
    vec![
        column("block_hash", Kind::Text, "block_hash"),
        column("block_timestamp", Kind::Time, "block_timestamp"),
        column("block_number", Kind::I64, "block_number"),
        column("transaction_hash", Kind::Text, "hash"),
        column("contract_address", Kind::Text, "receipt_contract_address"),
        column("cumulative_gas_used", Kind::I64, "receipt_cumulative_gas_used"),
        column("gas_used", Kind::I64, "receipt_gas_used"),
        column("effective_gas_price", Kind::I64, "receipt_effective_gas_price"),
        column("status", Kind::I64, "receipt_status"),
    ]
}

fn chain_transfers() -> Vec<Column> {
    vec![
        column("block_hash", Kind::Text, "block_hash"),
        column("block_number", Kind::I64, "block_number"),
        column("block_timestamp", Kind::Time, "block_timestamp"),
        column("transaction_hash", Kind::Text, "transaction_hash"),
        column("event_index", Kind::I64, "log_index"),
        column("address", Kind::Text, "token_address"),
        made("event_type", Kind::Text, |_| Some("ERC-20".to_owned())),
        column("from_address", Kind::Text, "from_address"),
        column("to_address", Kind::Text, "to_address"),
        column("quantity", Kind::Text, "value"),
        made("removed", Kind::Flag, |_| Some("false".to_owned())),
    ]
}

#[test]
fn corpus_the_view_of_chains_states_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let source = corpus().join(STREAM);
    let sources = [
        rows(&source.join("expected_blocks.json")),
        rows(&source.join("expected_transactions.json.gz")),
        rows(&source.join("expected_token_transfers.json.gz")),
    ];
    let plain: Vec<PathBuf> = sources
        .iter()
        .enumerate()
        .map(|(place, rows)| plainly(&folder.path().join(format!("plain{place}.csv")), rows, STREAM_ONLY))
        .collect();
    let expected = stated(&plain, &Options::default());
    let [blocks, transactions, transfers] = sources;
    let tables: [(&str, Vec<Source>, Columns); 4] = [
        ("blocks", blocks, chain_blocks),
        ("transactions", transactions.clone(), chain_transactions),
        ("receipts", transactions, chain_receipts),
        ("token_transfers", transfers, chain_transfers),
    ];
    for form in ["parquet", "json"] {
        let paths: Vec<PathBuf> = tables.iter().map(|table| one(folder.path(), table, form)).collect();
        let report = gathered(&paths, &Options::default()).unwrap().0;
        // Receipts of both data sets have the same columns.
        let known = |name: &&str| ["bigquery/blockchain", "bigquery/ethereum"].contains(name);
        assert!(formats(&report).iter().all(known), "{:?}", formats(&report));
        assert_eq!(stated(&paths, &Options::default()), expected, "{form}");
    }
}

const A: &str = "0x00000000000000000000000000000000000000aa";
const B: &str = "0x00000000000000000000000000000000000000bb";
const C: &str = "0x00000000000000000000000000000000000000cc";

fn hash(last: u8) -> String {
    format!("0x{}{last:02x}", "ab".repeat(31))
}

#[test]
fn frames_of_records_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let frame = |path: &str, kind: &str, action: &str, result: &str, error: &str| {
        format!(
            "{{\"block_hash\":\"{}\",\"block_number\":5,\"block_timestamp\":\"2016-01-01 00:00:00 UTC\",\"transaction_hash\":\"{}\",\
             \"transaction_index\":1,\"trace_type\":\"{kind}\",\"trace_address\":[{path}],\"action\":{{{action}}},\"result\":{{{result}}},\"error\":{error}}}\n",
            hash(90),
            hash(1)
        )
    };
    let call = |from: &str, to: &str, kind: &str, value: u64| {
        format!(
            "\"from_address\":\"{from}\",\"to_address\":\"{to}\",\"call_type\":\"{kind}\",\"value_lossless\":\"{value}\""
        )
    };
    let lines = [
        frame("", "call", &call(A, B, "call", 9), "", "null"),
        frame("0", "call", &call(B, C, "delegatecall", 9), "", "null"),
        frame("1", "call", &call(B, C, "call", 2), "", "\"Reverted\""),
        frame(
            "2",
            "create",
            &format!("\"from_address\":\"{B}\",\"value_lossless\":\"3\""),
            &format!("\"address\":\"{C}\""),
            "null",
        ),
        frame(
            "3",
            "suicide",
            &format!(
                "\"self_destructed_address\":\"{C}\",\"refund_address\":\"{A}\",\"refund_balance_lossless\":\"4\""
            ),
            "",
            "null",
        ),
        frame(
            "",
            "reward",
            &format!("\"author\":\"{A}\",\"reward_type\":\"block\",\"value_lossless\":\"5\""),
            "",
            "null",
        ),
    ];
    let texts =
        ["from_address", "to_address", "call_type", "value_lossless", "author", "reward_type", "refund_address"];
    let more = ["refund_balance_lossless", "self_destructed_address"];
    let action = texts.iter().chain(&more).map(|name| field(name, DataType::Utf8)).collect::<Vec<_>>();
    let schema = Schema::new(vec![
        field("block_hash", DataType::Utf8),
        field("block_number", DataType::Int64),
        field("block_timestamp", DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, Some("+00:00".into()))),
        field("transaction_hash", DataType::Utf8),
        field("transaction_index", DataType::Int64),
        field("trace_type", DataType::Utf8),
        field("trace_address", list(DataType::Int64)),
        field("action", DataType::Struct(Fields::from(action))),
        field("result", DataType::Struct(Fields::from(vec![field("address", DataType::Utf8)]))),
        field("error", DataType::Utf8),
    ]);
    let lines = lines.concat();
    let in_parquet = lines.replace(" UTC", "Z").replace("01-01 00", "01-01T00");
    let files = [write(folder.path(), "t.json", &lines), nested(&folder.path().join("t.parquet"), schema, &in_parquet)];
    for file in files {
        let (report, batches) = gathered(&[file], &Options::default()).unwrap();
        assert_eq!(formats(&report), ["bigquery/blockchain"]);
        let of = |made| batches[0].transactions.iter().find(|facts| facts.hash.is_made() == made).unwrap();
        let facts: &TransactionFacts = of(false);
        let moved: Vec<_> = facts.movements.iter().map(|row| row.amount.to_u128().unwrap()).collect();
        assert_eq!(
            (facts.body.unwrap().value, facts.status, moved),
            (Amount::from(9), Some(Status::Success), vec![3, 4])
        );
        assert_eq!((of(true).body.unwrap().value, facts.time.unwrap().secs()), (Amount::from(5), 1_451_606_400));
    }
}

#[test]
fn tokens_that_are_not_fungible_are_told_by_their_type() {
    let folder = tempfile::tempdir().unwrap();
    let header = "block_number,block_timestamp,transaction_hash,event_index,address,event_type,event_hash,from_address,to_address,token_id,quantity";
    let row = |index: u8, kind: &str, event: &str, id: &str| {
        format!("5,2016-01-01 00:00:00 UTC,{},{index},{C},{kind},{event},{A},{B},{id},2\n", hash(1))
    };
    let usdt = "0xdac17f958d2ee523a2206206994597c13d831ec7";
    let batch = "0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb";
    let content = [
        // A contract is fungible or it is not.
        row(0, "ERC20", "", "").replace(C, usdt),
        row(1, "ERC-721", "", "77"),
        row(2, "ERC-721", "", ""),
        row(3, "ERC-1155", "", "8"),
        row(4, "ERC-1155", batch, "8"),
        row(4, "ERC-1155", batch, "9"),
    ];
    let file = write(folder.path(), "t.csv", &format!("{header}\n{}", content.concat()));
    let (report, batches) = gathered(&[file], &Options::default()).unwrap();
    let movements = &batches[0].transactions[0].clone().canonical(Chain::ETHEREUM).unwrap().movements;
    let read: Vec<_> =
        movements.iter().map(|row| (row.kind, row.ordinal.number(), row.amount.to_u128().unwrap())).collect();
    let other = MovementFact::NonFungible;
    assert_eq!(read, [(MovementFact::Token, 0, 2), (other, 1, 77), (other, 3, 2), (other, 4, 0)]);
    assert_eq!(report.non_fungible, 5);
}

#[test]
fn tron_is_told_by_its_block_hashes_and_read_with_its_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let block = format!("0x{:016x}{}", 60_000_000, "cd".repeat(24));
    let usdt = "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c";
    let word = |address: &str| format!("\"0x{:0>64}\"", &address[2..]);
    let transfer = "\"0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef\"";
    let head = format!(
        "\"block_hash\":\"{block}\",\"block_timestamp\":\"2024-03-15 00:00:00 UTC\",\"transaction_hash\":\"{}\"",
        hash(1)
    );
    let record = |value: &str| format!("{{\"string_value\":\"{value}\",\"bignumeric_value\":\"{value}\"}}");
    let files = [
        write(
            folder.path(),
            "blocks.json",
            &format!(
                "{{\"block_hash\":\"{block}\",\"block_number\":60000000,\"block_timestamp\":\"2024-03-15 00:00:00 UTC\",\"parent_hash\":\"{}\",\"gas_limit\":1}}\n",
                hash(3)
            ),
        ),
        write(
            folder.path(),
            "transactions.json",
            &format!(
                "{{{head},\"transaction_index\":4,\"nonce\":\"0\",\"from_address\":\"{A}\",\"to_address\":\"{B}\",\"value\":{},\"gas\":9,\"gas_price\":{},\"input\":\"0x\"}}\n",
                record("1000000"),
                record("420")
            ),
        ),
        write(
            folder.path(),
            "logs.json",
            &format!(
                "{{{head},\"log_index\":7,\"address\":\"{usdt}\",\"topics\":[{transfer},{},{}],\"data\":\"0x{:064x}\"}}\n",
                word(A),
                word(B),
                5
            ),
        ),
    ];
    let (report, batches) = gathered(&files, &Options::default()).unwrap();
    assert_eq!(formats(&report), ["bigquery/blockchain"; 3]);
    assert_eq!((batches.len(), batches[0].chain), (1, Chain::TRON));
    let facts = stated(&files, &Options::default()).transactions.into_values().next().unwrap();
    assert_eq!((facts.block, facts.index, facts.nonce, facts.gas_price), (60_000_000, Some(4), None, None));
    let movement = &facts.movements[0];
    assert_eq!(
        (movement.kind, movement.ordinal, movement.amount),
        (MovementFact::Token, Ordinal::Indexed(7), Amount::from(5))
    );
    assert_eq!(movement.asset.contract().unwrap().to_string(), "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t");
    assert_eq!((facts.body.unwrap().from, facts.body.unwrap().to), (movement.from, movement.to));
    assert_eq!(facts.hash, TxHash::parse(Chain::TRON.family(), &hash(1)).unwrap());
    assert!(report.files.iter().any(|file| file.warnings.iter().any(|warning| warning.contains("TRC-10"))));
}
