//! AWS Public Blockchain Data: the same tables by day, with doubles.

use std::path::{Path, PathBuf};

use arrow::datatypes::{DataType, TimeUnit};
use headwater_ingest::Options;
use headwater_ledger::facts::AmountOf;
use headwater_ledger::read::Ordinal;
use headwater_types::Amount;

use crate::rewritten::bigquery::{bitcoin_rows, bitcoin_schema, field, nested, times};
use crate::rewritten::table::{Column, Kind, column, made, parquet};
use crate::rewritten::{Source, corpus, formats, gathered, plainly, rows, stated, write};

const STREAM: &str = "ethereum/ethereum-etl/test_stream/blocks_17173049_17173050";
const STREAM_ONLY: &[&str] = &["type", "item_id", "item_timestamp", "withdrawals"];

fn double(name: &'static str) -> Column {
    made(name, Kind::F64, move |row| row.get(name).cloned())
}

fn blocks() -> Vec<Column> {
    vec![
        column("timestamp", Kind::Time, "timestamp"),
        column("number", Kind::I64, "number"),
        column("hash", Kind::Text, "hash"),
        column("parent_hash", Kind::Text, "parent_hash"),
        double("difficulty"),
        double("total_difficulty"),
        column("gas_limit", Kind::I64, "gas_limit"),
    ]
}

fn transactions() -> Vec<Column> {
    let mut columns: Vec<Column> =
        ["hash", "from_address", "to_address", "input", "block_hash", "receipt_contract_address"]
            .map(|name| column(name, Kind::Text, name))
            .into();
    columns.extend(
        ["nonce", "transaction_index", "gas", "gas_price", "block_number", "receipt_gas_used", "receipt_status"]
            .map(|name| column(name, Kind::I64, name)),
    );
    columns.push(column("receipt_effective_gas_price", Kind::I64, "receipt_effective_gas_price"));
    columns.push(column("block_timestamp", Kind::Time, "block_timestamp"));
    columns.push(double("value"));
    columns
}

fn logs() -> Vec<Column> {
    vec![
        column("log_index", Kind::I64, "log_index"),
        column("transaction_hash", Kind::Text, "transaction_hash"),
        column("transaction_index", Kind::I64, "transaction_index"),
        column("address", Kind::Text, "address"),
        column("data", Kind::Text, "data"),
        column("topics", Kind::List, "topics"),
        column("block_number", Kind::I64, "block_number"),
        column("block_hash", Kind::Text, "block_hash"),
    ]
}

fn by_day(folder: &Path, name: &str, columns: &[Column], rows: &[Source]) -> PathBuf {
    let day = folder.join(name).join("date=2023-05-02");
    std::fs::create_dir_all(&day).unwrap();
    parquet(&day.join("part-00000.snappy.parquet"), columns, rows)
}

#[test]
fn corpus_blocks_of_ethereum_differ_in_last_digits_only() {
    let folder = tempfile::tempdir().unwrap();
    let source = corpus().join(STREAM);
    let read = [
        rows(&source.join("expected_blocks.json")),
        rows(&source.join("expected_transactions.json.gz")),
        rows(&source.join("expected_logs.json.gz")),
    ];
    let plain = |place: usize| plainly(&folder.path().join(format!("plain{place}.csv")), &read[place], STREAM_ONLY);
    let plain = [plain(0), plain(1), plain(2)];
    let files = [
        by_day(folder.path(), "blocks", &blocks(), &read[0]),
        by_day(folder.path(), "transactions", &transactions(), &read[1]),
        by_day(folder.path(), "logs", &logs(), &read[2]),
    ];
    let report = gathered(&files, &Options::default()).unwrap().0;
    assert_eq!(formats(&report), ["aws/ethereum"; 3]);
    let exact = stated(&plain, &Options::default());
    let mut found = stated(&files, &Options::default());
    let mut rounded = 0;
    for (hash, facts) in &exact.transactions {
        let (value, stated) = (facts.body.unwrap().value, &mut found.transactions.get_mut(hash).unwrap().body);
        let difference = value.abs_diff(stated.unwrap().value);
        // Half of the last of 53 bits.
        let bound = value.to_u128().unwrap() >> 53;
        assert!(difference.to_u128().unwrap() <= bound, "{value} was stated as {stated:?}");
        rounded += usize::from(!difference.is_zero());
        *stated = facts.body;
        let marked = found.transactions.get_mut(hash).unwrap().approximate.remove(&AmountOf::Value);
        assert_eq!(marked, value >= Amount::from(1 << 53), "{value}");
    }
    // Everything else is the same, the amounts in logs to the last digit.
    assert_eq!(found, exact);
    assert!(rounded > 0, "no value of two blocks needs more than a double keeps");
}

fn token_transfers() -> Vec<Column> {
    vec![
        column("token_address", Kind::Text, "token_address"),
        column("from_address", Kind::Text, "from_address"),
        column("to_address", Kind::Text, "to_address"),
        double("value"),
        column("transaction_hash", Kind::Text, "transaction_hash"),
        column("log_index", Kind::I64, "log_index"),
        column("block_timestamp", Kind::Time, "block_timestamp"),
        column("block_number", Kind::I64, "block_number"),
        column("block_hash", Kind::Text, "block_hash"),
    ]
}

#[test]
fn corpus_logs_take_the_place_of_amounts_kept_as_doubles() {
    let folder = tempfile::tempdir().unwrap();
    let source = corpus().join(STREAM);
    let blocks_read = rows(&source.join("expected_blocks.json"));
    let logs_read = rows(&source.join("expected_logs.json.gz"));
    let transfers = rows(&source.join("expected_token_transfers.json.gz"));
    let blocks = by_day(folder.path(), "blocks", &blocks(), &blocks_read);
    let logs = by_day(folder.path(), "logs", &logs(), &logs_read);
    let doubles = by_day(folder.path(), "token_transfers", &token_transfers(), &transfers);
    let alone = stated(&[blocks.clone(), doubles.clone()], &Options::default());
    let marked: usize = alone.transactions.values().map(|facts| facts.approximate.len()).sum();
    let all: usize = alone.transactions.values().map(|facts| facts.movements.len()).sum();
    assert!(marked > 0 && marked < all, "{marked} of {all}");
    for facts in alone.transactions.values() {
        for movement in &facts.movements {
            let Ordinal::Indexed(index) = movement.ordinal else { panic!("a transfer has a log index") };
            assert_eq!(facts.approximate.contains(&AmountOf::Token(index)), movement.amount >= Amount::from(1 << 53));
        }
    }
    let exact = stated(&[blocks.clone(), logs.clone()], &Options::default());
    assert_eq!(stated(&[blocks, doubles, logs], &Options::default()), exact);
}

#[test]
fn a_double_is_read_as_the_roundest_number_it_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let hash = |last: usize| format!("0x{last:064x}");
    let values = ["0", "1", "31337", "9007199254740992", "1000000000000000000", "100000000000000000000000", "1.5"];
    let row = |(place, value): (usize, &&str)| -> Source {
        let pairs = [("hash", hash(place)), ("value", (*value).to_owned())];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    };
    let rows: Vec<Source> = values.iter().enumerate().map(row).collect();
    let given = |name: &'static str, kind, value: &'static str| made(name, kind, move |_| Some(value.to_owned()));
    let columns = [
        column("hash", Kind::Text, "hash"),
        given("from_address", Kind::Text, "0x00000000000000000000000000000000000000aa"),
        given("to_address", Kind::Text, "0x00000000000000000000000000000000000000bb"),
        given("gas", Kind::I64, "1"),
        given("block_number", Kind::I64, "5"),
        given("block_timestamp", Kind::Time, "1460000000"),
        double("value"),
    ];
    let file = parquet(&folder.path().join("t.parquet"), &columns, &rows[..6]);
    let found = stated(&[file], &Options::default()).transactions;
    let read: Vec<Amount> = found.values().map(|facts| facts.body.unwrap().value).collect();
    assert_eq!(read, values[..6].iter().map(|value| Amount::parse_raw(value).unwrap()).collect::<Vec<_>>());
    let file = parquet(&folder.path().join("t.parquet"), &columns, &rows);
    let error = gathered(&[file], &Options::default()).unwrap_err().to_string();
    assert!(error.contains("row 7") && error.contains("\"value\"") && error.contains("1.5"), "{error}");
}

#[test]
fn corpus_transactions_of_bitcoin_state_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let lines = bitcoin_rows();
    let expected = stated(&[write(folder.path(), "plain.json", &lines)], &Options::default());
    let schema = bitcoin_schema(
        &DataType::Float64,
        &field("address", DataType::Utf8),
        &DataType::Timestamp(TimeUnit::Nanosecond, None),
    );
    let doubled = times(&in_bitcoin(&lines), |secs| format!("{secs}000000000"));
    let file = nested(&folder.path().join("transactions.parquet"), schema, &doubled);
    assert_eq!(formats(&gathered(std::slice::from_ref(&file), &Options::default()).unwrap().0), ["aws/bitcoin"]);
    assert_eq!(stated(&[file], &Options::default()), expected);
}

/// Amounts in bitcoin, and one text instead of a list of addresses.
fn in_bitcoin(lines: &str) -> String {
    let mut text = lines.to_owned();
    for name in ["\"value\": ", "\"fee\": ", "\"output_value\": "] {
        let mut parts = text.split(name);
        let mut joined = parts.next().unwrap().to_owned();
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = part.split_at(digits);
            let number =
                number.parse::<f64>().map_or_else(|_| String::new(), |satoshis| format!("{:?}", satoshis / 1e8));
            joined.extend([name, &number, rest]);
        }
        text = joined;
    }
    text.replace("\"addresses\": [\"", "\"address\": \"").replace("\"], \"value\"", "\", \"value\"")
}
