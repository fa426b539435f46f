//! cryo: the datasets of its documentation, as Parquet with bytes, as CSV and as JSON with hex.

use std::path::{Path, PathBuf};

use headwater_ingest::{OnError, Options};
use headwater_ledger::facts::{AmountOf, Claim, MovementFact};
use headwater_ledger::read::{CoverageTable, Ordinal, Status};
use headwater_types::{Amount, Chain};

use crate::rewritten::table::{Column, Form, Kind, column, made, parquet, text};
use crate::rewritten::{Source, corpus, digest, formats, gathered, plainly, rows, write};

/// A number of 256 bits in the columns that cryo writes by default.
fn u256(names: [&'static str; 3], source: &'static str) -> Vec<Column> {
    let padded = move |row: &Source| {
        let value = Amount::parse_raw(row.get(source)?).unwrap();
        Some(format!("0x{}", hex::encode(value.to_be_bytes())))
    };
    vec![
        made(names[0], Kind::Bytes, padded),
        column(names[1], Kind::Text, source),
        made(names[2], Kind::F64, move |row| Some(format!("{:?}", row.get(source)?.parse::<f64>().unwrap()))),
    ]
}

fn chain_id() -> Column {
    made("chain_id", Kind::U64, |_| Some("1".to_owned()))
}

fn value() -> Vec<Column> {
    u256(["value_binary", "value_string", "value_f64"], "value")
}

fn blocks() -> Vec<Column> {
    vec![
        column("block_hash", Kind::Bytes, "hash"),
        column("parent_hash", Kind::Bytes, "parent_hash"),
        column("author", Kind::Bytes, "miner"),
        column("block_number", Kind::U32, "number"),
        column("gas_used", Kind::U64, "gas_used"),
        column("extra_data", Kind::Bytes, "extra_data"),
        column("timestamp", Kind::U32, "timestamp"),
        column("base_fee_per_gas", Kind::U64, "base_fee_per_gas"),
        chain_id(),
    ]
}

fn transactions() -> Vec<Column> {
    let mut columns = vec![
        column("block_number", Kind::U32, "block_number"),
        column("transaction_index", Kind::U64, "transaction_index"),
        column("transaction_hash", Kind::Bytes, "hash"),
        column("nonce", Kind::U64, "nonce"),
        column("from_address", Kind::Bytes, "from_address"),
        column("to_address", Kind::Bytes, "to_address"),
    ];
    columns.extend(value());
    columns.extend([
        column("input", Kind::Bytes, "input"),
        column("gas_limit", Kind::U64, "gas"),
        column("gas_used", Kind::U64, "receipt_gas_used"),
        column("gas_price", Kind::U64, "gas_price"),
        column("transaction_type", Kind::U32, "transaction_type"),
        made("success", Kind::Flag, |row| Some((row.get("receipt_status")? == "1").to_string())),
        made("n_input_bytes", Kind::U32, |row| Some((row.get("input")?.len() / 2 - 1).to_string())),
        chain_id(),
    ]);
    columns
}

fn topic(place: usize) -> impl Fn(&Source) -> Option<String> {
    move |row| row.get("topics")?.split(',').nth(place).map(str::to_owned)
}

fn logs() -> Vec<Column> {
    vec![
        column("block_number", Kind::U32, "block_number"),
        column("transaction_index", Kind::U32, "transaction_index"),
        column("log_index", Kind::U32, "log_index"),
        column("transaction_hash", Kind::Bytes, "transaction_hash"),
        column("address", Kind::Bytes, "address"),
        made("topic0", Kind::Bytes, topic(0)),
        made("topic1", Kind::Bytes, topic(1)),
        made("topic2", Kind::Bytes, topic(2)),
        made("topic3", Kind::Bytes, topic(3)),
        column("data", Kind::Bytes, "data"),
        chain_id(),
    ]
}

fn erc20_transfers() -> Vec<Column> {
    let mut columns = vec![
        column("block_number", Kind::U32, "block_number"),
        column("log_index", Kind::U32, "log_index"),
        column("transaction_hash", Kind::Bytes, "transaction_hash"),
        column("erc20", Kind::Bytes, "token_address"),
        column("from_address", Kind::Bytes, "from_address"),
        column("to_address", Kind::Bytes, "to_address"),
    ];
    columns.extend(value());
    columns.push(chain_id());
    columns
}

fn traces() -> Vec<Column> {
    let only = |kind: &'static str, name: &'static str| {
        move |row: &Source| row.get(name).filter(|_| row["trace_type"] == kind).cloned()
    };
    vec![
        made("action_from", Kind::Bytes, |row| match row["trace_type"].as_str() {
            "reward" => row.get("to_address").cloned(),
            _ => row.get("from_address").cloned(),
        }),
        made("action_to", Kind::Bytes, |row| {
            row.get("to_address").filter(|_| !["create", "reward"].contains(&row["trace_type"].as_str())).cloned()
        }),
        column("action_value", Kind::Text, "value"),
        made("action_call_type", Kind::Text, |row| {
            row.get("call_type")
                .map(|kind| kind.replace("delegatecall", "delegate_call").replace("callcode", "call_code"))
        }),
        column("action_reward_type", Kind::Text, "reward_type"),
        column("action_type", Kind::Text, "trace_type"),
        made("result_address", Kind::Bytes, only("create", "to_address")),
        made("trace_address", Kind::Text, |row| Some(row.get("trace_address")?.replace(',', "_"))),
        column("transaction_index", Kind::U32, "transaction_index"),
        column("transaction_hash", Kind::Bytes, "transaction_hash"),
        column("block_number", Kind::U32, "block_number"),
        column("error", Kind::Text, "error"),
        chain_id(),
    ]
}

/// Makes the columns of a dataset.
type Columns = fn() -> Vec<Column>;

/// Writes a dataset in each form, and holds each against the rows they were made of.
fn agree(tables: &[(&str, Vec<Source>, Columns)], range: &str, without: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let plain: Vec<PathBuf> = tables
        .iter()
        .map(|(name, rows, _)| plainly(&folder.path().join(format!("{name}.csv")), rows, without))
        .collect();
    let expected = digest(folder.path(), &plain);
    let report = gathered(&plain, &Options::default()).unwrap().0;
    assert!(formats(&report).iter().all(|format| *format == "ethereum-etl"));
    for ending in ["parquet", "csv", "json"] {
        let paths: Vec<PathBuf> = tables
            .iter()
            .map(|(name, rows, columns)| {
                let path = folder.path().join(format!("ethereum__{name}__{range}.{ending}"));
                match ending {
                    "parquet" => parquet(&path, &columns(), rows),
                    "csv" => text(&path, Form::Csv, &columns(), rows),
                    _ => text(&path, Form::Array, &columns(), rows),
                }
            })
            .collect();
        let report = gathered(&paths, &Options::default()).unwrap().0;
        assert!(report.files.iter().all(|file| file.format == "cryo" && file.warnings.is_empty()), "{report:?}");
        assert_eq!(digest(folder.path(), &paths), expected, "{ending}");
        // Under any other name the columns tell; nothing is claimed then, so only the facts are the same.
        let other = folder.path().join(format!("export.{ending}"));
        std::fs::copy(&paths[1], &other).unwrap();
        let (renamed, batches) = gathered(&[paths[0].clone(), other], &Options::default()).unwrap();
        assert_eq!(formats(&renamed), ["cryo", "cryo"]);
        assert_eq!(batches[0].transactions, gathered(&paths[..2], &Options::default()).unwrap().1[0].transactions);
    }
}

const STREAM: &str = "ethereum/ethereum-etl/test_stream/blocks_17173049_17173050";

#[test]
fn corpus_two_blocks_come_to_the_same_store_in_every_form() {
    let folder = corpus().join(STREAM);
    agree(
        &[
            ("blocks", rows(&folder.join("expected_blocks.json")), blocks),
            ("transactions", rows(&folder.join("expected_transactions.json.gz")), transactions),
            ("logs", rows(&folder.join("expected_logs.json.gz")), logs),
        ],
        "17173049_to_17173050",
        &["type", "withdrawals", "block_timestamp", "receipt_effective_gas_price", "receipt_contract_address"],
    );
}

#[test]
fn corpus_transfers_of_tokens_come_to_the_same_store() {
    let folder = corpus().join(STREAM);
    agree(
        &[
            ("blocks", rows(&folder.join("expected_blocks.json")), blocks),
            ("erc20_transfers", rows(&folder.join("expected_token_transfers.json.gz")), erc20_transfers),
        ],
        "17173049_to_17173050",
        &["type", "withdrawals", "block_timestamp"],
    );
}

/// A block for every one that rows name.
fn blocks_of(rows: &[Source]) -> Vec<Source> {
    let numbers: std::collections::BTreeSet<_> = rows.iter().map(|row| row["block_number"].clone()).collect();
    let block = |number: &String| {
        let pairs = [("number", number.as_str()), ("timestamp", "1500000000"), ("gas_limit", "1"), ("gas_used", "1")];
        let mut row: Source = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        for (name, last) in [("hash", 1_u64), ("parent_hash", 2)] {
            row.insert(name.to_owned(), format!("0x{:064x}", number.parse::<u64>().unwrap() * 10 + last));
        }
        row.insert("miner".to_owned(), format!("0x{:040x}", 7));
        row
    };
    numbers.iter().map(block).collect()
}

#[test]
fn corpus_traces_come_to_the_same_store() {
    for name in ["block_with_create", "block_with_error", "block_with_subtraces", "block_with_suicide"] {
        let path = corpus().join("ethereum/ethereum-etl/test_export_traces_job").join(name).join("expected_traces.csv");
        let rows = rows(&path);
        let blocks_made = blocks_of(&rows);
        let number = &blocks_made[0]["number"];
        let range = format!("{number:0>8}_to_{number:0>8}");
        agree(&[("blocks", blocks_made.clone(), blocks), ("traces", rows, traces)], &range, &["status"]);
    }
}

const A: &str = "0x00000000000000000000000000000000000000aa";
const B: &str = "0x00000000000000000000000000000000000000bb";
const C: &str = "0x00000000000000000000000000000000000000cc";
const ZERO: &str = "0x0000000000000000000000000000000000000000";

fn hash(last: u8) -> String {
    format!("0x{}{last:02x}", "ab".repeat(31))
}

fn block_file(folder: &Path) -> PathBuf {
    write(
        folder,
        "ethereum__blocks__00000005_to_00000006.csv",
        &format!(
            "block_number,block_hash,timestamp,author,chain_id\n5,{},1000,{A},1\n6,{},1012,{A},1\n",
            hash(90),
            hash(91)
        ),
    )
}

const NATIVE: &str = "block_number,transaction_index,transfer_index,transaction_hash,from_address,to_address,value_binary,value_string,value_f64,chain_id";

/// (transaction, from, to, value); no transaction is a reward.
fn native_transfers(rows: &[(Option<u8>, &str, &str, u64)]) -> String {
    let line = |(place, (transaction, from, to, value)): (usize, &(Option<u8>, &str, &str, u64))| {
        let (hash, index) = transaction.map_or((String::new(), String::new()), |tx| (hash(tx), tx.to_string()));
        format!("5,{index},{place},{hash},{from},{to},0x{value:064x},{value},{value}.0,1\n")
    };
    format!("{NATIVE}\n{}", rows.iter().enumerate().map(line).collect::<String>())
}

#[test]
fn native_transfers_state_what_cannot_be_a_call_of_other_code() {
    let folder = tempfile::tempdir().unwrap();
    let content = native_transfers(&[
        (Some(1), A, B, 9),
        (Some(1), B, C, 4),
        (Some(1), B, C, 4),
        (Some(1), B, A, 0),
        (Some(1), B, A, 9),
        (Some(2), A, C, 7),
        (Some(2), C, &format!("0x{}", "00".repeat(32)), 3),
        (None, ZERO, A, 50),
        (None, ZERO, A, 8),
    ]);
    let file = write(folder.path(), "ethereum__native_transfers__00000005_to_00000005.csv", &content);
    let (report, batches) = gathered(&[block_file(folder.path()), file], &Options::default()).unwrap();
    let [first, reward] = &batches[0].transactions[..] else { panic!("a transaction and a reward: {batches:?}") };
    let moved: Vec<_> = first.movements.iter().map(|row| (row.kind, row.ordinal, row.amount)).collect();
    let four = (MovementFact::Internal, Ordinal::Unindexed(0), Amount::from(4));
    assert_eq!(moved, [four, four], "the root is the transaction's own, nine may be a call of other code");
    assert_eq!((first.body, first.time.unwrap().secs()), (None, 1000));
    assert_eq!((reward.body.unwrap().value, reward.body.unwrap().from), (Amount::from(58), None));
    let claims = |table| batches[0].claims.contains(&Claim::Blocks { first: 5, last: 5, table });
    assert!(!claims(CoverageTable::Traces), "native transfers never complete the internal movements");
    let warnings = &report.files[1].warnings;
    assert!(warnings.iter().any(|warning| warning.starts_with("1 rows")), "{warnings:?}");
}

#[test]
fn native_transfers_beside_traces_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let trace = |path: &str, from: &str, to: &str, value: u64, call: &str| {
        format!("{from},{to},{value},{call},call,{path},1,{},5,,1\n", hash(1))
    };
    let header = "action_from,action_to,action_value,action_call_type,action_type,trace_address,transaction_index,transaction_hash,block_number,error,chain_id";
    let traces = [
        trace("", A, B, 9, "call"),
        trace("0", B, C, 9, "delegate_call"),
        trace("0_0", B, A, 4, "call"),
        trace("0_1", B, A, 4, "call"),
    ];
    let traces = format!("{header}\n{}", traces.concat());
    let traces = write(folder.path(), "ethereum__traces__00000005_to_00000005.csv", &traces);
    let native = native_transfers(&[(Some(1), A, B, 9), (Some(1), B, C, 9), (Some(1), B, A, 4), (Some(1), B, A, 4)]);
    let native = write(folder.path(), "ethereum__native_transfers__00000005_to_00000005.csv", &native);
    let blocks = block_file(folder.path());
    let alone = digest(folder.path(), &[blocks.clone(), traces.clone()]);
    assert_eq!(digest(folder.path(), &[blocks.clone(), traces.clone(), native.clone()]), alone);
    assert_ne!(digest(folder.path(), &[blocks, native]), alone);
}

#[test]
fn geth_calls_are_read_as_frames() {
    let folder = tempfile::tempdir().unwrap();
    let header = "typ,from_address,to_address,value_binary,value_string,value_f64,error,block_number,transaction_hash,transaction_index,trace_address,chain_id";
    let call = |typ: &str, path: &str, value: u64, error: &str| {
        format!("{typ},{A},{B},0x{value:064x},{value},{value}.0,{error},5,{},1,{path},1\n", hash(1))
    };
    let rows = [
        call("CALL", "", 9, ""),
        call("DELEGATECALL", "0", 9, ""),
        call("CALL", "0 0", 2, ""),
        call("CALL", "1", 3, "execution reverted"),
        call("CALL", "1 0", 4, ""),
        call("CREATE2", "2", 5, ""),
    ];
    let file =
        write(folder.path(), "ethereum__geth_calls__00000005_to_00000005.csv", &format!("{header}\n{}", rows.concat()));
    let (_, batches) = gathered(&[block_file(folder.path()), file], &Options::default()).unwrap();
    let facts = &batches[0].transactions[0];
    assert_eq!((facts.body.unwrap().value, facts.status), (Amount::from(9), Some(Status::Success)));
    let moved: Vec<_> = facts.movements.iter().map(|row| (row.ordinal, row.amount.to_u128().unwrap())).collect();
    assert_eq!(moved, [(Ordinal::Indexed(0), 2), (Ordinal::Indexed(1), 5)]);
    assert_eq!(batches[0].contracts.len(), 1);
}

const LOGS: &str =
    "block_number,transaction_index,log_index,transaction_hash,address,topic0,topic1,topic2,topic3,data,chain_id";

#[test]
fn a_file_of_one_contract_claims_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log = |place: u8, address: &str| format!("5,0,{place},{},{address},{},,,,0x,1\n", hash(1), hash(place));
    let name = "ethereum__logs__00000005_to_00000006.csv";
    for (second, expected) in [(A, 0), (B, 2)] {
        let file = write(folder.path(), name, &format!("{LOGS}\n{}{}", log(0, A), log(1, second)));
        let (report, batches) = gathered(&[block_file(folder.path()), file], &Options::default()).unwrap();
        let of_logs = |claim: &&Claim| !matches!(claim, Claim::Blocks { table: CoverageTable::Blocks, .. });
        assert_eq!(batches[0].claims.iter().filter(of_logs).count(), expected);
        assert_eq!(report.files[1].warnings.len(), usize::from(expected == 0));
    }
}

#[test]
fn the_chain_is_that_of_the_number_and_no_row_may_be_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = |id: &str| format!("block_number,block_hash,timestamp,author,chain_id\n5,{},1000,{A},{id}\n", hash(9));
    let file = write(folder.path(), "b.csv", &blocks("56"));
    assert_eq!(gathered(&[file], &Options::default()).unwrap().1[0].chain, Chain::BSC);
    let named = blocks("").replace(",chain_id", "").replace(",\n", "\n");
    let file = write(folder.path(), "bnb__blocks__00000005_to_00000005.csv", &named);
    assert_eq!(gathered(&[file], &Options::default()).unwrap().1[0].chain, Chain::BSC);
    let file = write(folder.path(), "ethereum__blocks__00000005_to_00000005.csv", &blocks("137"));
    let error = gathered(&[file], &Options::default()).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("chain_id") && error.contains("137"), "{error}");
}

#[test]
fn early_success_is_no_status() {
    let folder = tempfile::tempdir().unwrap();
    let header =
        "block_number,transaction_hash,from_address,to_address,value_string,gas_limit,nonce,success,timestamp,chain_id";
    let row = |block: u64, tx: u8, success: bool| format!("{block},{},{A},{B},5,1,1,{success},1000,1\n", hash(tx));
    let content =
        format!("{header}\n{}{}{}", row(4_369_999, 1, true), row(4_370_000, 2, true), row(4_370_000, 3, false));
    let file = write(folder.path(), "t.csv", &content);
    let (_, batches) = gathered(&[file], &Options::default()).unwrap();
    let status: Vec<_> = batches[0].transactions.iter().map(|facts| facts.status).collect();
    assert_eq!(status, [None, Some(Status::Success), Some(Status::Failed)]);
}

#[test]
fn an_amount_of_which_only_the_double_was_kept_is_approximate() {
    let folder = tempfile::tempdir().unwrap();
    let header = "block_number,transaction_hash,from_address,to_address,value_f64,gas_limit,nonce,timestamp,chain_id";
    let row = |tx: u8, value: &str| format!("5,{},{A},{B},{value},1,1,1000,1\n", hash(tx));
    let file = write(folder.path(), "t.csv", &format!("{header}\n{}{}", row(1, "31337.0"), row(2, "1.5e18")));
    let (_, batches) = gathered(&[file], &Options::default()).unwrap();
    let read: Vec<_> = batches[0]
        .transactions
        .iter()
        .map(|facts| (facts.body.unwrap().value.to_u128().unwrap(), facts.approximate.contains(&AmountOf::Value)))
        .collect();
    assert_eq!(read, [(31_337, false), (1_500_000_000_000_000_000, true)]);
    let native = native_transfers(&[(Some(1), A, B, 1)]).replace("value_binary,value_string,", "a,b,");
    let file = write(folder.path(), "n.csv", &native);
    assert!(gathered(&[file], &Options::default()).unwrap_err().to_string().contains("have to be exact"));
}

#[test]
fn balance_diffs_are_recognised_and_said_not_to_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let header = "block_number,transaction_index,transaction_hash,address,from_value_binary,from_value_string,to_value_binary,to_value_string,chain_id";
    let file = write(
        folder.path(),
        "ethereum__balance_diffs__00000005_to_00000005.csv",
        &format!("{header}\n5,0,,{A},0x00,0,0x01,1,1\n"),
    );
    let error = gathered(&[file], &Options::default()).unwrap_err().to_string();
    assert!(error.contains("gives no row") && error.contains("balance_diffs is not read"), "{error}");
}

#[test]
fn what_is_wrong_is_named_by_the_columns_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let transfers = "block_number,log_index,transaction_hash,erc20,from_address,to_address,value_binary,chain_id";
    for (row, parts) in [
        (format!("5,0,{},0xnone,{A},{B},0x05,1", hash(1)), ["line 2", "\"erc20\"", "0xnone"]),
        (format!("5,0,{},{C},{A},{B},0x05zz,1", hash(1)), ["line 2", "\"value_binary\"", "0x05zz"]),
        (format!("5,0,{},{C},{A},{B},,1", hash(1)), ["line 2", "\"value\"", "missing"]),
        (format!("-5,0,{},{C},{A},{B},0x05,1", hash(1)), ["line 2", "\"block_number\"", "-5"]),
    ] {
        let file = write(
            folder.path(),
            "ethereum__erc20_transfers__00000005_to_00000005.csv",
            &format!("{transfers}\n{row}\n"),
        );
        let error = gathered(std::slice::from_ref(&file), &Options::default()).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        let skip = Options { on_error: OnError::Skip, ..Options::default() };
        match gathered(&[file], &skip) {
            Ok((report, _)) => assert_eq!(report.skipped, 1),
            Err(nothing_left) => assert!(nothing_left.to_string().contains("1 rows are wrong"), "{nothing_left}"),
        }
    }
    let unsorted = native_transfers(&[(Some(1), A, B, 1), (Some(2), A, B, 1), (Some(1), B, C, 2)]);
    let file = write(folder.path(), "n.csv", &unsorted);
    assert!(gathered(&[file], &Options::default()).unwrap_err().to_string().contains("rows of a transaction together"));
}
