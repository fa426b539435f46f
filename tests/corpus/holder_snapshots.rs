//! Real lists of holders as opening balances, and their concentration beside plain rational arithmetic.

use std::path::Path;
use std::sync::Arc;

use headwater_engine::{QueryEngine, endpoint};
use headwater_ingest::{IngestError, Options, Silent, SnapshotOptions, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::store::{Store, Writer};
use headwater_types::{Chain, Timestamp};
use serde_json::{Value, json};

const TORN: &str = "0x77777feddddffc19ff86db637967013e6c6a116c";
const POLIS: &str = "0xb5bea8a26d587cf665f2d78f077cca3c7f6341bd";

fn options(chain: Chain, contract: &str, decimals: Option<u8>) -> Options {
    let snapshot = SnapshotOptions {
        contract: Some(contract.to_owned()),
        at_block: Some(11_474_710),
        at_time: Some(Timestamp::new(1_608_249_600)),
        decimals,
    };
    Options { chain: Some(chain), snapshot, ..Options::default() }
}

fn read(file: &Path, options: &Options, store: &Path) -> Result<u64, IngestError> {
    let mut writer = Writer::open_or_create(store).unwrap();
    let report = ingest(&[file.to_owned()], options, &mut writer, &Silent, &Cancel::new())?;
    assert_eq!(report.files[0].format, "holder-snapshot");
    Ok(report.rows)
}

fn ask(store: &Path, name: &str, chain: Chain, contract: &str) -> Value {
    let engine = QueryEngine::new(Arc::new(Store::open(store).unwrap()));
    let request = json!({"blockchain": chain.name(), "contract": contract});
    engine.answer(endpoint(name).unwrap(), &request, &Cancel::new()).unwrap().value()
}

/// Amounts of one column in 10^-18, from text with or without an exponent, by plain schoolbook arithmetic.
fn amounts(file: &Path, skip: usize, scale: bool) -> Vec<u128> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(file).unwrap();
    let field = |row: csv::StringRecord| row[1].replace(',', "");
    let raw = |text: String| -> u128 {
        if !scale {
            return text.parse().unwrap();
        }
        let (mantissa, exponent) = text.split_once(['E', 'e']).unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let places = 18 + exponent.parse::<i64>().unwrap() - i64::try_from(fraction.len()).unwrap();
        let digits: u128 = format!("{whole}{fraction}").parse().unwrap();
        match u32::try_from(places) {
            Ok(places) => digits * 10_u128.pow(places),
            Err(_) => digits / 10_u128.pow(places.unsigned_abs().try_into().unwrap()),
        }
    };
    let mut all: Vec<u128> = reader.records().skip(skip).map(|row| raw(field(row.unwrap()))).collect();
    all.retain(|amount| *amount > 0);
    all.sort_unstable();
    all
}

/// Gini, HHI and the share of the ten largest, each a quotient of two integers rounded to twelve places.
fn measures(amounts: &[u128]) -> [f64; 3] {
    use num_bigint::BigUint as Big;
    let big = |number: u128| Big::from(number);
    let n = big(amounts.len() as u128);
    let sum: Big = amounts.iter().map(|amount| big(*amount)).sum();
    let squares: Big = amounts.iter().map(|amount| big(*amount) * *amount).sum();
    let ranked: Big = (1_u128..).zip(amounts).map(|(rank, amount)| big(*amount) * rank).sum();
    let top: Big = amounts.iter().rev().take(10).map(|amount| big(*amount)).sum();
    let quotient = |over: Big, under: Big| -> f64 {
        let digits = over * big(10).pow(12) / under;
        digits.to_string().parse::<f64>().unwrap() / 1e12
    };
    [quotient(ranked * 2_u8 - (&n + 1_u8) * &sum, n * &sum), quotient(squares, &sum * &sum), quotient(top, sum)]
}

fn holds(found: &Value, amounts: &[u128]) {
    let measures = measures(amounts);
    let concentration = &found["concentration"];
    let reported = ["gini", "hhi"].map(|name| concentration[name].as_f64().unwrap());
    let reported = [reported[0], reported[1], concentration["top10_pct"].as_f64().unwrap() / 100.0];
    for (reported, exact) in reported.into_iter().zip(measures) {
        assert!((reported - exact).abs() < 2e-12, "{reported} {exact}");
    }
    assert_eq!(found["holder_count"], amounts.len());
}

#[test]
fn corpus_the_airdrop_of_torn_is_a_list_without_a_line_of_names() {
    let file = headwater_tests::corpus().join("holders/torn_airdrop.csv");
    let folder = tempfile::tempdir().unwrap();
    let options = options(Chain::ETHEREUM, TORN, None);
    assert_eq!(read(&file, &options, folder.path()).unwrap(), 7514);
    assert_eq!(read(&file, &options, folder.path()).unwrap(), 7514, "again, and nothing is counted twice");
    let found = ask(folder.path(), "token/concentration", Chain::ETHEREUM, TORN);
    let amounts = amounts(&file, 0, false);
    assert_eq!(found["total_supply_raw"], amounts.iter().sum::<u128>().to_string());
    holds(&found, &amounts);
    // The published figures of the data's own README.
    let gini = found["concentration"]["gini"].as_f64().unwrap();
    assert!((gini - 0.697_743).abs() < 1e-6, "{gini}");
    let holders = ask(folder.path(), "token/holders", Chain::ETHEREUM, TORN);
    assert_eq!(holders["holders"][0]["balance_raw"], amounts.last().unwrap().to_string());
}

#[test]
fn corpus_polis_holders_are_in_whole_units_with_exponents() {
    let file = headwater_tests::corpus().join("holders/polis_bsc_holders.csv");
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(read(&file, &options(Chain::BSC, POLIS, Some(18)), folder.path()).unwrap(), 1010);
    let found = ask(folder.path(), "token/concentration", Chain::BSC, POLIS);
    assert_eq!(found["decimals"], 18);
    holds(&found, &amounts(&file, 1, true));
    let gini = found["concentration"]["gini"].as_f64().unwrap();
    assert!((gini - 0.958_233).abs() < 1e-6, "{gini}");

    let raw = read(&file, &options(Chain::BSC, POLIS, None), &folder.path().join("raw"));
    let error = raw.unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("--decimals"), "{error}");
    let nameless = Options { chain: Some(Chain::BSC), ..Options::default() };
    let error = read(&file, &nameless, &folder.path().join("nameless")).unwrap_err().to_string();
    assert!(error.contains("--contract"), "{error}");
}
