//! Blockchair: dumps of tables by day, tab separated, hashes and addresses with `0x` and without.

use std::path::{Path, PathBuf};

use headwater_ingest::{OnError, Options};
use headwater_ledger::facts::{BlockFacts, Claim, MovementFact};
use headwater_ledger::read::{CoverageTable, Ordinal, Status};
use headwater_types::{Amount, Chain};

use crate::rewritten::bigquery::bitcoin_rows;
use crate::rewritten::table::{Column, Form, Kind, column, made, text};
use crate::rewritten::{Source, corpus, formats, gathered, plainly, rows, stated, write};

const STREAM: &str = "ethereum/ethereum-etl/test_stream/blocks_17173049_17173050";

/// Hex without its mark.
fn bare(name: &'static str, source: &'static str) -> Column {
    made(name, Kind::Text, move |row| Some(row.get(source)?.trim_start_matches("0x").to_owned()))
}

fn time(name: &'static str, source: &'static str) -> Column {
    made(name, Kind::Text, move |row| {
        let time = headwater_types::Timestamp::new(row.get(source)?.parse().unwrap()).to_string();
        Some(time.replace('T', " ").replace('Z', ""))
    })
}

fn fee(row: &Source) -> Option<u128> {
    let number = |name: &str| row.get(name)?.parse::<u128>().ok();
    Some(number("receipt_gas_used")? * number("receipt_effective_gas_price")?)
}

fn transactions() -> Vec<Column> {
    let creates = |row: &Source| !row.contains_key("to_address");
    vec![
        column("block_id", Kind::Text, "block_number"),
        column("index", Kind::Text, "transaction_index"),
        bare("hash", "hash"),
        time("time", "block_timestamp"),
        made("failed", Kind::Text, |row| Some(u8::from(row["receipt_status"] == "0").to_string())),
        made("type", Kind::Text, move |row| Some(if creates(row) { "create_tree" } else { "call_tree" }.to_owned())),
        bare("sender", "from_address"),
        made("recipient", Kind::Text, |row| {
            let address = row.get("to_address").or(row.get("receipt_contract_address"))?;
            Some(address.trim_start_matches("0x").to_owned())
        }),
        column("value", Kind::Text, "value"),
        made("fee", Kind::Text, |row| Some(fee(row)?.to_string())),
        column("gas_used", Kind::Text, "receipt_gas_used"),
        column("gas_limit", Kind::Text, "gas"),
        column("gas_price", Kind::Text, "gas_price"),
        bare("input_hex", "input"),
        column("nonce", Kind::Text, "nonce"),
    ]
}

fn dump(folder: &Path, name: &str, columns: &[Column], rows: &[Source]) -> PathBuf {
    text(&folder.join(format!("blockchair_{name}_20230502.tsv")), Form::Tabs, columns, rows)
}

#[test]
fn corpus_transactions_of_ethereum_state_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let read = rows(&corpus().join(STREAM).join("expected_transactions.json.gz"));
    let without = ["type", "item_id", "item_timestamp", "gas_price", "receipt_effective_gas_price", "block_hash"];
    let mut expected = stated(&[plainly(&folder.path().join("plain.csv"), &read, &without)], &Options::default());
    for row in &read {
        let facts = expected
            .transactions
            .values_mut()
            .find(|facts| facts.hash.display(Chain::ETHEREUM.family()) == row["hash"]);
        facts.unwrap().fee = fee(row).map(|fee| Amount::parse_raw(&fee.to_string()).unwrap());
    }
    let file = dump(folder.path(), "ethereum_transactions", &transactions(), &read);
    let (report, batches) = gathered(std::slice::from_ref(&file), &Options::default()).unwrap();
    assert_eq!((formats(&report), report.files[0].warnings.len()), (vec!["blockchair/ethereum"], 0));
    for table in [CoverageTable::Transactions, CoverageTable::Receipts] {
        assert!(batches[0].claims.contains(&Claim::Blocks { first: 17_173_049, last: 17_173_050, table }));
    }
    assert_eq!(stated(&[file], &Options::default()), expected);
}

fn calls() -> Vec<Column> {
    vec![
        column("block_id", Kind::Text, "block_number"),
        column("transaction_hash", Kind::Text, "transaction_hash"),
        made("index", Kind::Text, |row| {
            let below = row.get("trace_address").map(|path| format!(".{}", path.replace(',', "."))).unwrap_or_default();
            Some(format!("0{below}"))
        }),
        made("depth", Kind::Text, |_| Some("0".to_owned())),
        time("time", "block_timestamp"),
        made("failed", Kind::Text, |row| Some((row["status"] == "0").to_string())),
        column("fail_reason", Kind::Text, "error"),
        made("type", Kind::Text, |row| match row["trace_type"].as_str() {
            "suicide" => Some("selfdestruct".to_owned()),
            "reward" => Some("synthetic_coinbase".to_owned()),
            "create" => Some("create2".to_owned()),
            _ => row.get("call_type").cloned(),
        }),
        column("sender", Kind::Text, "from_address"),
        column("recipient", Kind::Text, "to_address"),
        column("value", Kind::Text, "value"),
        made("transferred", Kind::Text, |row| {
            let moves = row.get("call_type").is_none_or(|kind| kind == "call");
            Some((row["status"] == "1" && moves).to_string())
        }),
    ]
}

#[test]
fn corpus_calls_state_what_traces_state_but_for_rewards() {
    for name in ["block_with_create", "block_with_error", "block_with_subtraces", "block_with_suicide"] {
        let folder = tempfile::tempdir().unwrap();
        let mut read =
            rows(&corpus().join("ethereum/ethereum-etl/test_export_traces_job").join(name).join("expected_traces.csv"));
        for row in &mut read {
            row.insert("block_timestamp".to_owned(), "1460000000".to_owned());
            row.entry("status".to_owned()).or_insert_with(|| "1".to_owned());
        }
        let mut expected = stated(&[plainly(&folder.path().join("plain.csv"), &read, &[])], &Options::default());
        expected.transactions.retain(|hash, _| !hash.is_made());
        for facts in expected.transactions.values_mut() {
            facts.index = None;
        }
        let file = dump(folder.path(), "ethereum_calls", &calls(), &read);
        let (report, _) = gathered(std::slice::from_ref(&file), &Options::default()).unwrap();
        assert_eq!(formats(&report), ["blockchair/ethereum"]);
        assert!(report.files[0].warnings[0].contains("rewards of miners include fees"));
        assert_eq!(stated(&[file], &Options::default()), expected);
    }
}

const A: &str = "00000000000000000000000000000000000000aa";
const B: &str = "00000000000000000000000000000000000000bb";
const C: &str = "00000000000000000000000000000000000000cc";

fn hash(last: u8) -> String {
    format!("{}{last:02x}", "ab".repeat(31))
}

const TRANSFERS: &str = "block_id\ttransaction_hash\ttime\ttoken_address\ttoken_name\ttoken_symbol\ttoken_decimals\tsender\trecipient\tvalue";

fn transfer(block: u64, value: &str) -> String {
    format!("{block}\t{}\t2021-01-01 00:00:05\t{C}\tA \"quoted, name\tTOK\t18\t{A}\t{B}\t{value}\n", hash(1))
}

#[test]
fn equal_transfers_of_a_dump_are_separate_and_have_no_index() {
    let folder = tempfile::tempdir().unwrap();
    let content = format!("{TRANSFERS}\n{}{}", transfer(5, "7"), transfer(5, "7"));
    let file = write(folder.path(), "blockchair_erc-20_transactions_20210101.tsv", &content);
    let (report, batches) = gathered(&[file], &Options::default()).unwrap();
    assert_eq!((formats(&report), report.files[0].chain.as_str()), (vec!["blockchair/ethereum"], "ethereum"));
    let [facts] = &batches[0].transactions[..] else { panic!("one transaction: {batches:?}") };
    let read: Vec<_> = facts.movements.iter().map(|row| (row.kind, row.ordinal, row.amount)).collect();
    let seven = (MovementFact::Token, Ordinal::Unindexed(0), Amount::from(7));
    assert_eq!((read, facts.time.unwrap().secs()), (vec![seven, seven], 1_609_459_205));
    assert_eq!(batches[0].tokens[0].name.as_deref(), Some("A \"quoted, name"));
    let bsc = Options { chain: Some(Chain::BSC), ..Options::default() };
    let file = write(folder.path(), "transfers.tsv", &content);
    assert_eq!(gathered(&[file], &bsc).unwrap().1[0].chain, Chain::BSC);
}

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (row, parts) in [
        (transfer(5, "7.5"), ["line 2", "\"value\"", "7.5"]),
        (transfer(5, "7").replace(A, "aa"), ["line 2", "\"sender\"", "with 0x or without"]),
        (transfer(5, "7").replace("01 00:00:05", "01"), ["line 2", "\"time\"", "2021-01-01"]),
        (transfer(5, "7") + &transfer(4, "7"), ["line 3", "\"block_id\"", "sort the file"]),
        (transfer(5, "7").replace("\t18", ""), ["line 2", "9 fields", "10 fields"]),
    ] {
        let file = write(folder.path(), "t.tsv", &format!("{TRANSFERS}\n{row}"));
        let error = gathered(std::slice::from_ref(&file), &Options::default()).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        let skip = Options { on_error: OnError::Skip, ..Options::default() };
        match gathered(&[file], &skip) {
            Ok((report, _)) => assert_eq!(report.skipped, 1),
            Err(nothing_left) => assert!(nothing_left.to_string().contains("1 rows are wrong"), "{nothing_left}"),
        }
    }
}

const BLOCK: &str = "50001";
const MINTED: &str = "e1882d41800d96d0fddc196cd8d3f0b45d65b030c652d97eaba79a1174e64d58";
const SPENDER: &str = "7940cdde4d713e171849efc6bd89939185be270266c94e92369e3877ad89455b";
const SPENT: &str = "7940cdde4d713e171849efc6bd89939185be270266c94e92369e3877ad89455a";
const KEY_SCRIPT: &str = "4104c1b5671c8975087cc796d6ea73d2407591528b5c669106f9b6ab6ef6e373a57553e14866aaeffc44a9f58e5ee0c7faa7add7474f0a2c55a22cb40b949fdc933cac";
const HASH_SCRIPT: &str = "76a914b5cd7aaed869cd5ccb45868e8666e7e934a2373688ac";
const OWNER: &str = "1HaHTfmvoUW6i6nhJf8jJs6tU4cHNmBQHQ";

/// The coinbase of the block and the last transaction of [`bitcoin_rows`], as the three dumps of a day.
fn bitcoin_dumps(folder: &Path, day: &str) -> [PathBuf; 3] {
    let time = "2010-04-10 16:31:40";
    let transactions = format!(
        "block_id\thash\ttime\tsize\tweight\tversion\tlock_time\tis_coinbase\thas_witness\tinput_count\toutput_count\tfee\n\
         {BLOCK}\t{MINTED}\t{time}\t135\t540\t1\t0\t1\t0\t1\t1\t0\n\
         {BLOCK}\t{SPENDER}\t{time}\t226\t904\t1\t0\t0\t0\t1\t1\t29\n"
    );
    let header = "block_id\ttransaction_hash\tindex\ttime\tvalue\tvalue_usd\trecipient\ttype\tscript_hex\tis_from_coinbase\tis_spendable";
    let outputs = format!(
        "{header}\n{BLOCK}\t{MINTED}\t0\t{time}\t5000000000\t150\t1PkqKGbNLDdDJGveCcNUMV9CEFH77ADrPQ\tpubkey\t{KEY_SCRIPT}\t1\t-1\n\
         {BLOCK}\t{SPENDER}\t0\t{time}\t7000000000\t150\t{OWNER}\tpubkeyhash\t{HASH_SCRIPT}\t0\t-1\n"
    );
    let inputs = format!(
        "{header}\tspending_block_id\tspending_transaction_hash\tspending_index\tspending_time\tspending_value_usd\tspending_sequence\tspending_signature_hex\tspending_witness\tlifespan\tcdd\n\
         49000\t{SPENT}\t3\t2010-04-01 00:00:00\t7000000029\t150\t{OWNER}\tpubkeyhash\t{HASH_SCRIPT}\t0\t-1\t{BLOCK}\t{SPENDER}\t0\t{time}\t150\t4294967295\t00\t\t10\t5\n"
    );
    [("transactions", transactions), ("inputs", inputs), ("outputs", outputs)]
        .map(|(table, content)| write(folder, &format!("blockchair_bitcoin_{table}_{day}.tsv"), &content))
}

#[test]
fn corpus_dumps_of_a_day_come_to_whole_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let lines = bitcoin_rows();
    let kept: Vec<&str> = lines
        .lines()
        .filter(|line| [MINTED, SPENDER].iter().any(|hash| line.contains(&format!("{{\"hash\": \"{hash}"))))
        .collect();
    let mut expected = stated(&[write(folder.path(), "plain.json", &(kept.join("\n") + "\n"))], &Options::default());
    assert_eq!(expected.transactions.len(), 2);
    for facts in expected.transactions.values_mut() {
        (facts.index, facts.block_hash) = (None, None);
        let (number, time) = (facts.block, facts.time.unwrap());
        expected.blocks.insert(number, BlockFacts { number, hash: None, parent: None, time });
    }
    let [transactions, inputs, outputs] = bitcoin_dumps(folder.path(), "20100410");
    let all = [outputs.clone(), transactions.clone(), inputs.clone()];
    let report = gathered(&all, &Options::default()).unwrap().0;
    assert_eq!(formats(&report), ["blockchair/bitcoin"; 3]);
    assert!(report.files.iter().all(|file| file.warnings.is_empty() && file.rows > 0));
    assert_eq!(stated(&all, &Options::default()), expected);
    // Without the table of transactions the same, but for what only it tells.
    let parts = stated(&[outputs.clone(), inputs], &Options::default());
    for (hash, facts) in &parts.transactions {
        let whole = expected.transactions[hash].utxo.as_ref().unwrap();
        let utxo = facts.utxo.as_ref().unwrap();
        assert_eq!((&utxo.inputs, &utxo.outputs), (&whole.inputs, &whole.outputs));
        assert_eq!((utxo.version, facts.fee, facts.status), (None, None, Some(Status::Success)));
    }
    assert_eq!(parts.transactions.len(), 2);
    // Half a transaction is none.
    let (report, batches) = gathered(&[outputs, transactions], &Options::default()).unwrap();
    assert_eq!(batches[0].transactions.len(), 1);
    assert!(report.files[1].warnings[0].starts_with("1 transactions were left out"));
}

#[test]
fn dumps_of_other_chains_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [_, _, outputs] = bitcoin_dumps(folder.path(), "20100410");
    let other = folder.path().join("blockchair_litecoin_outputs_20100410.tsv");
    std::fs::copy(&outputs, &other).unwrap();
    assert!(gathered(&[other], &Options::default()).unwrap_err().to_string().contains("its name says litecoin"));
    let content = std::fs::read_to_string(&outputs).unwrap().replace(OWNER, "1PkqKGbNLDdDJGveCcNUMV9CEFH77ADrPQ");
    let file = write(folder.path(), "outputs.tsv", &content);
    let error = gathered(&[file], &Options::default()).unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("recipient") && error.contains("another chain"), "{error}");
}
