//! The small inputs of `cases-labels/`: every claim and every count that is right, by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use headwater_ingest::labels::{Counts, FreezeLog, LabelOptions, Labels, freezes, read_labels};
use headwater_ledger::labels::{Claim, Code, entity_key};
use headwater_types::{Address, Chain, Timestamp};
use serde_json::Value;

fn folder(case: &str) -> PathBuf {
    headwater_tests::corpus().join("cases-labels").join(case)
}

fn expected(case: &str) -> Value {
    let text = std::fs::read_to_string(folder(case).join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The input files of a case.
fn inputs(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| !path.ends_with("expected.json")).collect();
    files.sort();
    files
}

fn day(time: Option<Timestamp>) -> Value {
    time.map_or(Value::Null, |time| time.to_string().split_once('T').unwrap().0.into())
}

/// A claim as the cases write it, with the key of its entity.
fn row(claim: &Claim, code: &str) -> Vec<String> {
    let cells = [
        claim.scope.name().into(),
        claim.address.to_string().into(),
        code.into(),
        claim.level.name().into(),
        (*claim.group).into(),
        day(claim.asserted_at),
        day(claim.valid_until),
        claim.entity.as_deref().map_or(Value::Null, |entity| entity_key(entity).into()),
    ];
    cells.iter().map(Value::to_string).collect()
}

fn rows(labels: &[Labels]) -> Vec<Vec<String>> {
    let claims = labels.iter().flat_map(|labels| &labels.claims);
    let mut rows: Vec<_> = claims.filter_map(|claim| Some(row(claim, claim.code?.name()))).collect();
    rows.sort();
    rows
}

fn expected_rows(expected: &Value) -> Vec<Vec<String>> {
    let entity = |cell: &Value| cell.as_str().map_or(Value::Null, |entity| entity_key(entity).into());
    let row = |row: &Value| {
        let cells = row.as_array().unwrap();
        let (last, others) = cells.split_last().unwrap();
        others.iter().chain([&entity(last)]).map(Value::to_string).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = expected["claims"].as_array().unwrap().iter().map(row).collect();
    rows.sort();
    rows
}

fn by_name(counts: Counts) -> BTreeMap<String, u64> {
    serde_json::from_value(serde_json::to_value(counts).unwrap()).unwrap()
}

/// All counters of the imports together.
fn counts(labels: &[Labels]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for labels in labels {
        for (name, count) in by_name(labels.counts) {
            *sums.entry(name).or_insert(0) += count;
        }
    }
    sums
}

/// Holds imports against what a case expects.
fn check(case: &str, labels: &[Labels]) {
    let expected = expected(case);
    let warnings: Vec<_> = labels.iter().flat_map(|labels| &labels.warnings).collect();
    assert_eq!(rows(labels), expected_rows(&expected), "claims of {case}; warnings: {warnings:#?}");
    // Counters that the case does not name are 0.
    let mut right = by_name(Counts::default());
    right.extend(serde_json::from_value::<BTreeMap<String, u64>>(expected["counts"].clone()).unwrap());
    assert_eq!(counts(labels), right, "counts of {case}; warnings: {warnings:#?}");

    let foreign: BTreeSet<&str> =
        labels.iter().flat_map(|labels| &labels.foreign).map(|foreign| foreign.address.as_str()).collect();
    let coded: BTreeSet<String> = labels
        .iter()
        .flat_map(|labels| &labels.claims)
        .filter(|claim| claim.code.is_some())
        .map(|claim| claim.address.to_string())
        .collect();
    for skipped in expected["skipped"].as_array().unwrap() {
        let (address, reason) = (skipped[0].as_str().unwrap(), skipped[1].as_str().unwrap());
        if reason == "other_ticker" {
            assert!(foreign.contains(address), "{case}: {address} is kept under its ticker");
        }
        if reason != "end_without_start" {
            let lower = address.to_ascii_lowercase();
            assert!(!coded.contains(address) && !coded.contains(&lower), "{case}: {address} has a claim");
        }
    }
}

fn read(paths: &[PathBuf], options: &LabelOptions) -> Labels {
    read_labels(paths, options).unwrap_or_else(|error| panic!("{paths:?}: {error}"))
}

/// Reads all files of a case as one import.
fn import(case: &str, options: &LabelOptions) {
    check(case, &[read(&inputs(&folder(case)), options)]);
}

macro_rules! imports {
    ($($name:ident $case:literal,)+) => {
        $(
            #[test]
            fn $name() {
                import($case, &LabelOptions::default());
            }
        )+

        /// The cases that are read without options.
        const IMPORTS: &[&str] = &[$($case),+];
    };
}

imports! {
    corpus_labels_bitcoinabuse "bitcoinabuse",
    corpus_labels_cryptoscamdb "cryptoscamdb",
    corpus_labels_eth_labels "eth-labels",
    corpus_labels_eu_csv "eu-csv",
    corpus_labels_il_nbctf "il-nbctf",
    corpus_labels_mining_pools "mining-pools",
    corpus_labels_myetherwallet "myetherwallet",
    corpus_labels_ofac_advanced "ofac-advanced",
    corpus_labels_ofac_advanced_entries "ofac-advanced-entries",
    corpus_labels_ofac_enhanced "ofac-enhanced",
    corpus_labels_ofac_enhanced_dates "ofac-enhanced-dates",
    corpus_labels_ofac_sdn_comments "ofac-sdn-comments",
    corpus_labels_ofac_sdn_csv "ofac-sdn-csv",
    corpus_labels_ofac_sdn_xml "ofac-sdn-xml",
    corpus_labels_ofac_text_lists "ofac-text-lists",
    corpus_labels_oli "oli",
    corpus_labels_opensanctions_csv "opensanctions-csv",
    corpus_labels_opensanctions_ftm "opensanctions-ftm",
    corpus_labels_ransomwhere "ransomwhere",
    corpus_labels_scamsniffer "scamsniffer",
    corpus_labels_tagpack "tagpack",
    corpus_labels_tagpack_fields "tagpack-fields",
}

/// The cases with a test of their own.
const OTHERS: [&str; 6] =
    ["etherscan-metadata", "exchange-reserves", "freeze-etl", "freeze-tron", "issuer-freeze", "ofac-delisting"];

#[test]
fn corpus_labels_have_a_test_for_every_case() {
    let cases: BTreeSet<String> = std::fs::read_dir(folder(""))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("expected.json").is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let tested: BTreeSet<String> = IMPORTS.iter().chain(&OTHERS).map(|case| (*case).to_owned()).collect();
    assert_eq!(cases, tested);
}

#[test]
fn corpus_labels_etherscan_metadata() {
    import("etherscan-metadata", &LabelOptions { chain: Some(Chain::ETHEREUM), ..LabelOptions::default() });
}

#[test]
fn corpus_labels_exchange_reserves() {
    let case = "exchange-reserves";
    let one = |file: &str, entity: &str, group: &str| {
        let options =
            LabelOptions { entity: Some(entity.to_owned()), group: Some(group.to_owned()), ..LabelOptions::default() };
        read(&[folder(case).join(file)], &options)
    };
    check(case, &[one("bybit.csv", "Bybit", "bybit.com"), one("okx.csv", "OKX", "okx.com")]);
}

/// An entry that vanished from a list between two imports was delisted; the letters of an address may change their
/// case. A broken list is refused.
#[test]
fn corpus_labels_ofac_delisting() {
    let case = "ofac-delisting";
    let list = |date: &str| inputs(&folder(case).join(date));
    let (first, second) =
        (read(&list("2024-09-01"), &LabelOptions::default()), read(&list("2025-03-25"), &LabelOptions::default()));
    assert_eq!((&first.source, &first.list), (&second.source, &second.list));
    let error = read_labels(&list("2025-03-26"), &LabelOptions::default()).unwrap_err().to_string();
    assert!(error.contains("sanctioned_addresses_ETH.txt"), "{error}");

    let still: BTreeSet<Address> = second.claims.iter().map(|claim| claim.address).collect();
    let gone = first.claims.iter().filter(|claim| !still.contains(&claim.address));
    let mut found: Vec<_> = gone.map(|claim| row(claim, Code::SanctionDelisted.name())).collect();
    found.extend(rows(std::slice::from_ref(&second)));
    found.sort();
    assert_eq!(found, expected_rows(&expected(case)));
}

/// A log that owns its topics and data.
struct Log {
    chain: Chain,
    block: u64,
    time: Timestamp,
    place: u64,
    contract: Address,
    topics: Vec<[u8; 32]>,
    data: Vec<u8>,
}

fn freezes_of(logs: &[Log]) -> Labels {
    let borrowed = logs.iter().map(|log| FreezeLog {
        chain: log.chain,
        block: log.block,
        time: log.time,
        log_index: log.place,
        contract: log.contract,
        topics: &log.topics,
        data: &log.data,
    });
    freezes(borrowed, &[])
}

fn words(text: &str) -> Vec<[u8; 32]> {
    let word = |digits: &str| hex::decode(digits.trim_start_matches("0x")).unwrap().try_into().unwrap();
    text.split(',').filter(|topic| !topic.is_empty()).map(word).collect()
}

/// Logs as Ethereum ETL exports them, with the times of its blocks.
fn etl_logs(folder: &Path) -> Vec<Log> {
    let table = |name: &str| {
        let mut reader = csv::Reader::from_path(folder.join(name)).unwrap();
        let header = reader.headers().unwrap().clone();
        let rows: Vec<BTreeMap<String, String>> = reader
            .records()
            .map(|record| header.iter().map(str::to_owned).zip(record.unwrap().iter().map(str::to_owned)).collect())
            .collect();
        rows
    };
    let times: BTreeMap<String, i64> = table("blocks.csv")
        .into_iter()
        .map(|block| (block["number"].clone(), block["timestamp"].parse().unwrap()))
        .collect();
    let log = |log: BTreeMap<String, String>| Log {
        chain: Chain::ETHEREUM,
        block: log["block_number"].parse().unwrap(),
        time: Timestamp::new(times[&log["block_number"]]),
        place: log["log_index"].parse().unwrap(),
        contract: Address::parse(Chain::ETHEREUM, &log["address"]).unwrap(),
        topics: words(&log["topics"]),
        data: hex::decode(log["data"].trim_start_matches("0x")).unwrap(),
    };
    table("logs.csv").into_iter().map(log).collect()
}

/// Logs as a TRON node prints them: in order, without an index.
fn tron_logs(folder: &Path) -> Vec<Log> {
    let text = std::fs::read_to_string(folder.join("infos.json")).unwrap();
    let infos: Value = serde_json::from_str(&text).unwrap();
    let mut logs = Vec::new();
    for info in infos.as_array().unwrap() {
        for log in info["log"].as_array().into_iter().flatten() {
            let topics = log["topics"].as_array().unwrap().iter().map(|topic| topic.as_str().unwrap());
            logs.push(Log {
                chain: Chain::TRON,
                block: info["blockNumber"].as_u64().unwrap(),
                time: Timestamp::new(info["blockTimeStamp"].as_i64().unwrap() / 1_000),
                place: u64::try_from(logs.len()).unwrap(),
                contract: Address::parse(Chain::TRON, &format!("41{}", log["address"].as_str().unwrap())).unwrap(),
                topics: words(&topics.collect::<Vec<_>>().join(",")),
                data: hex::decode(log["data"].as_str().unwrap_or_default()).unwrap(),
            });
        }
    }
    logs
}

#[test]
fn corpus_labels_issuer_freeze() {
    check("issuer-freeze", &[freezes_of(&etl_logs(&folder("issuer-freeze")))]);
}

#[test]
fn corpus_labels_freeze_etl() {
    check("freeze-etl", &[freezes_of(&etl_logs(&folder("freeze-etl")))]);
}

#[test]
fn corpus_labels_freeze_tron() {
    check("freeze-tron", &[freezes_of(&tron_logs(&folder("freeze-tron")))]);
}
