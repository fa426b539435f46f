//! Hostile text in every column of every format: characters of several bytes where digits are expected, NUL characters,
//! digits of other scripts, numbers past all bounds. Nothing of it may panic, whatever is made of it.

use headwater_ingest::{OnError, list_exchange_rates, list_prices, list_tokens};
use serde_json::Value;

use super::evm::{self, A, B, hash};
use super::{Door, forms, tron};
use crate::fuzz::put;

/// Runs in full; a second's worth of them otherwise.
const FULL_RUNS: usize = 1_000_000;

/// One text in so many is tried in a place. A row has more places than this, and files have the same kinds of columns.
const STEP: usize = 3;

/// Texts in place of one of so many bytes: some as long as it is, so that they pass checks of lengths.
fn hostile(length: usize) -> Vec<String> {
    let filled = |start: &str, end: &str| {
        let zeros = length.saturating_sub(start.len() + end.len());
        format!("{start}{}{end}", "0".repeat(zeros))
    };
    let mut texts = vec![
        filled("€", ""),
        filled("0€", ""),
        filled("0x€", ""),
        filled("", "€"),
        filled("0x", "é"),
        filled("𝟙", "𝟙"),
        "€".repeat(length.div_ceil(3)),
        "é".repeat(length.div_ceil(2)),
    ];
    let fixed = [
        "€",
        "\0",
        "a\0b",
        "0\0",
        "\u{feff}1",
        "١٢٣",
        "1e999",
        "1e-999",
        "1.5",
        "-1",
        "-0",
        "+1",
        "0x",
        "0X1",
        "NaN",
        "Infinity",
        "\u{202e}1",
        "null",
        "[€]",
        "{€,€}",
        "['€' '€']",
        "2023-05-01 €2:00:00",
        "2023-05-0€ 12:00:00+00:00",
        "€-€-€ €:€:€",
        "99999999999999999999999999999999999999999999999999999999999999999999999999999999",
        "GENESIS",
        "\\N",
        "\u{85}",
        "\u{2028}",
    ];
    texts.extend(fixed.map(str::to_owned));
    texts
}

/// A valid file, of which any plain value can be replaced.
enum Sample {
    Table {
        rows: Vec<Vec<String>>,
        delimiter: u8,
        places: Vec<(usize, usize)>,
    },
    /// Documents, one a line, and where their plain values are.
    Documents {
        documents: Vec<Value>,
        places: Vec<(usize, String)>,
    },
}

impl Sample {
    fn table(table: &str, delimiter: u8) -> Self {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(table.as_bytes());
        let rows: Vec<Vec<String>> =
            reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
        let places = rows.iter().enumerate().flat_map(|(row, cells)| (0..cells.len()).map(move |cell| (row, cell)));
        Self::Table { places: places.collect(), rows, delimiter }
    }

    fn documents(lines: &str) -> Self {
        let documents: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut places = Vec::new();
        for (number, document) in documents.iter().enumerate() {
            leaves(document, String::new(), &mut |place| places.push((number, place)));
        }
        Self::Documents { documents, places }
    }

    fn places(&self) -> usize {
        match self {
            Self::Table { places, .. } => places.len(),
            Self::Documents { places, .. } => places.len(),
        }
    }

    /// Returns how long the value at a place is.
    fn length(&self, place: usize) -> usize {
        match self {
            Self::Table { rows, places, .. } => rows[places[place].0][places[place].1].len(),
            Self::Documents { documents, places } => {
                let (number, way) = &places[place];
                documents[*number].pointer(way).map_or(0, |value| value.as_str().map_or(4, str::len))
            }
        }
    }

    /// The file with other texts at some places.
    fn with(&self, texts: &[(usize, &str)]) -> Vec<u8> {
        match self {
            Self::Table { rows, delimiter, places } => {
                let mut rows = rows.clone();
                for &(place, text) in texts {
                    let (row, cell) = places[place];
                    text.clone_into(&mut rows[row][cell]);
                }
                let mut out = csv::WriterBuilder::new().flexible(true).delimiter(*delimiter).from_writer(Vec::new());
                for row in rows {
                    out.write_record(row).unwrap();
                }
                out.into_inner().unwrap()
            }
            Self::Documents { documents, places } => {
                let mut documents = documents.clone();
                for &(place, text) in texts {
                    let (number, way) = &places[place];
                    *documents[*number].pointer_mut(way).unwrap() = Value::String(text.to_owned());
                }
                documents.iter().map(Value::to_string).collect::<Vec<_>>().join("\n").into_bytes()
            }
        }
    }
}

fn leaves(value: &Value, way: String, found: &mut dyn FnMut(String)) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(number, item)| leaves(item, format!("{way}/{number}"), found));
        }
        Value::Object(members) => members.iter().for_each(|(name, item)| leaves(item, format!("{way}/{name}"), found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found(way),
    }
}

/// Names of files and their contents, of each format that is text.
fn samples() -> Vec<(&'static str, Sample)> {
    let (of, own) = (hash(1), hash(2));
    let cryo = format!(
        "block_number,transaction_index,transfer_index,transaction_hash,from_address,to_address,value_string,chain_id\n5,0,0,{of},{A},{B},5,1\n5,0,1,{of},{B},{A},4,1\n"
    );
    let cryo_logs = format!(
        "block_number,block_hash,transaction_index,log_index,transaction_hash,address,topic0,topic1,topic2,topic3,data,chain_id\n5,{own},0,1,{of},{A},{of},{own},,,0x,1\n"
    );
    let blocks = format!(
        "number,hash,parent_hash,timestamp,gas_limit,withdrawals\n6,{own},{of},1438918233,5000,\"{{\"\"address\"\":\"\"{A}\"\",\"\"amount\"\":\"\"5\"\"}}\"\n"
    );
    let logs = format!(
        "log_index,transaction_hash,transaction_index,block_hash,block_number,address,data,topics\n0,{of},0,,5,{A},0x,\"['{of}' '{own}']\"\n"
    );
    let contracts =
        format!("address,bytecode,function_sighashes,is_erc20,is_erc721,block_number\n{A},0x,,False,True,5\n");
    let receipts = format!(
        "transaction_hash,transaction_index,block_hash,block_number,cumulative_gas_used,gas_used,contract_address,root,status,effective_gas_price,blob_gas_used,blob_gas_price\n{of},0,{own},5,21000,21000,{A},,1,7,131072,3\n"
    );
    let big = format!(
        r#"{{"block_hash":"{own}","block_number":"5","block_timestamp":"2023-05-01 12:00:00 UTC","transaction_hash":"{of}","event_index":"1","address":"{A}","from_address":"{A}","to_address":"{B}","quantity":"5","event_type":"ERC-20"}}"#
    );
    let coin = r#"{"hash":"9d289086d37677d078bb6ceee1730706a68e02a28b1cb1551bd245268edcbc8c","size":100,"virtual_size":100,"version":1,"lock_time":0,"block_number":650000,"block_hash":"422acd6f9c8e414f8112a6f8d7272df9a723ec00bf77a51bd02c1852c5fd0665","block_timestamp":1600000000,"is_coinbase":false,"index":1,"inputs":[{"index":0,"spent_transaction_hash":"2fb8682072e2cd6e485079c1ddefd2a54c57aeddf25befddcde71e2f5968c032","spent_output_index":0,"script_hex":"00","sequence":1,"type":"pubkeyhash","addresses":["1FosNq2ATkFHFNeK9ML6dDuZdSXXHqxLXy"],"value":6}],"outputs":[{"index":0,"script_hex":"76a914a26ef2803b20a544ccc89277a868cfd4339f8dbf88ac","type":"pubkeyhash","addresses":["1FosNq2ATkFHFNeK9ML6dDuZdSXXHqxLXy"],"value":5}],"fee":1}"#;
    let core = r#"{"hash":"422acd6f9c8e414f8112a6f8d7272df9a723ec00bf77a51bd02c1852c5fd0665","height":5,"time":1600000000,"previousblockhash":"422acd6f9c8e414f8112a6f8d7272df9a723ec00bf77a51bd02c1852c5fd0666","merkleroot":"00","nonce":1,"tx":[{"txid":"9d289086d37677d078bb6ceee1730706a68e02a28b1cb1551bd245268edcbc8c","version":1,"locktime":0,"weight":400,"vin":[{"txid":"2fb8682072e2cd6e485079c1ddefd2a54c57aeddf25befddcde71e2f5968c032","vout":0,"sequence":1}],"vout":[{"value":0.5,"n":0,"scriptPubKey":{"hex":"76a914a26ef2803b20a544ccc89277a868cfd4339f8dbf88ac"}}],"fee":0.1}]}"#;
    let mut all: Vec<(&'static str, Sample)> = vec![
        ("ethereum__native_transfers__5_to_5.csv", Sample::table(&cryo, b',')),
        ("ethereum__logs__5_to_5.csv", Sample::table(&cryo_logs, b',')),
        ("blocks.csv", Sample::table(&blocks, b',')),
        ("logs.csv", Sample::table(&logs, b';')),
        ("contracts.csv", Sample::table(&contracts, b',')),
        ("receipts.csv", Sample::table(&receipts, b',')),
        ("bigquery.json", Sample::documents(&big)),
        ("bitcoin.json", Sample::documents(coin)),
        ("core.json", Sample::documents(core)),
    ];
    for table in forms::tables() {
        let delimiter = if table.lines().next().is_some_and(|header| header.contains('\t')) { b'\t' } else { b',' };
        all.push(("table.csv", Sample::table(&table, delimiter)));
    }
    all.extend(forms::documents_of_tables().iter().map(|document| ("documents.json", Sample::documents(document))));
    all.extend(evm::answers().iter().map(|answers| ("answers.json", Sample::documents(answers))));
    all.extend(tron::answers().iter().map(|answers| ("tron.json", Sample::documents(answers))));
    all
}

#[test]
fn hostile_text_in_every_column_never_panics() {
    let samples = samples();
    let mut runs = 0;
    let mut run = |door: &Door, content: Vec<u8>| {
        put(&door.path, content);
        for on_error in [OnError::Stop, OnError::Skip] {
            let _ = door.read(on_error);
            runs += 1;
        }
    };
    let doors: Vec<Door> = samples.iter().map(|(name, _)| Door::of(name)).collect();
    // Every text in every place in the long runs, else every so many of them, from another one on in each place.
    let is_full = headwater_testkit::is_full();
    let step = if is_full { 1 } else { STEP };
    for ((_, sample), door) in samples.iter().zip(&doors) {
        for place in 0..sample.places() {
            for text in hostile(sample.length(place)).iter().skip(place % step).step_by(step) {
                run(door, sample.with(&[(place, text)]));
            }
        }
    }
    // In full, two places at once, by a generator that gives the same ones every time.
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % below
    };
    let pairs = if is_full { FULL_RUNS / 2 } else { 0 };
    for _ in 0..pairs {
        let number = next(samples.len());
        let sample = &samples[number].1;
        let places = [next(sample.places()), next(sample.places())];
        let texts = places.map(|place| hostile(sample.length(place)));
        let [one, other] = [0, 1].map(|at| (places[at], texts[at][next(texts[at].len())].as_str()));
        run(&doors[number], sample.with(&[one, other]));
    }
    println!("fuzz columns: {runs} runs over {} files", samples.len());
    assert!(runs > 10_000 / step, "{runs} runs");
}

#[test]
fn hostile_text_in_every_column_of_markets_never_panics() {
    let prices = "symbol,ts,price_usd,source\nBTC,1643932800,36000.5,x\n";
    let candles = "Unix,Date,Symbol,Open,High,Low,Close,Volume ETH,Volume USD\n1643932800,2022-02-04 00:00:00,ETH/USD,1,1,1,2692.92,1,1\n";
    let yahoo = "Date,Open,High,Low,Close,Adj Close,Volume\n2022-02-14,1,1,1,2900.5,2900.5,1\n";
    let rates = "date,currency,units_per_usd\n2022-02-14,EUR,0.88\n";
    let tokens = format!("address,symbol,name,decimals,chainId,verified,coingecko_id\n{A},TOK,Token,18,1,true,token\n");
    let folder = tempfile::tempdir().unwrap();
    for (name, table) in
        [("p.csv", prices), ("c.csv", candles), ("ETH-USD.csv", yahoo), ("fx.csv", rates), ("t.csv", &tokens)]
    {
        let path = folder.path().join(name);
        let sample = Sample::table(table, b',');
        for place in 0..sample.places() {
            for text in hostile(sample.length(place)) {
                put(&path, sample.with(&[(place, &text)]));
                let _ = list_prices(&path, None);
                let _ = list_exchange_rates(&path);
                let _ = list_tokens(&path, None);
            }
        }
    }
}
