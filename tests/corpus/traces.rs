//! Traces of real scams: the parts of the money add up.

use std::sync::Arc;

use headwater_engine::{QueryEngine, endpoint};
use headwater_ingest::{Options, Silent, ingest, list_prices};
use headwater_ledger::Cancel;
use headwater_ledger::store::{Store, Writer};
use serde_json::{Value, json};

use super::classifier::{one_in, some_of};

/// Scams that are traced.
const SCAMS: usize = 100;
/// The maximum distance of shares of six decimals from the sum of so many.
const ROUNDING: f64 = 1e-3;

/// The first scams of the table of classified addresses whose exports show some payments.
fn scams() -> Vec<String> {
    let path = headwater_tests::corpus().join("classifier/eth_address_labels.csv");
    let mut table = csv::Reader::from_path(path).unwrap();
    let rows = table.records().map(Result::unwrap);
    let is_meant = |row: &csv::StringRecord| &row[1] == "Scam" && row[6].parse::<u32>().is_ok_and(|count| count >= 10);
    rows.filter(is_meant).map(|row| row[0].to_owned()).take(SCAMS).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn corpus_the_money_of_a_hundred_scams_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    let scams = scams();
    assert_eq!(scams.len(), SCAMS);
    let files = some_of(folder.path(), one_in(8), &scams);
    let mut writer = Writer::open_or_create(folder.path().join("store")).unwrap();
    ingest(&files, &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    let prices = list_prices(&headwater_tests::corpus().join("prices/ETH-USD-1d.csv"), None).unwrap().entries;
    writer.import_prices("daily", prices).unwrap();
    drop(writer);
    let engine = QueryEngine::new(Arc::new(Store::open(folder.path().join("store")).unwrap()) as _);
    let (mut divided, mut cut) = (0, 0);
    for address in &scams {
        for method in ["haircut", "fifo"] {
            let settings = json!({"outward_depth": 3, "inward_depth": 3, "limit": 5, "method": method});
            let request = json!({"blockchain": "ethereum", "address": address, "track_setting": settings});
            let data = engine.answer(endpoint("trace").unwrap(), &request, &Cancel::new()).unwrap().value();
            for division in data["summary"]["divisions"].as_array().unwrap() {
                let parts =
                    ["ends", "returned", "stayed", "pruned", "filtered", "fees"].map(|part| number(&division[part]));
                let sum: f64 = parts.iter().sum();
                assert!((sum - 1.0).abs() < ROUNDING, "{address} {method}: {division}");
                assert!(parts.iter().all(|part| (0.0..=1.0).contains(part)), "{address} {method}: {division}");
                let ends = data["ends"].as_array().unwrap().iter();
                let shares: f64 =
                    ends.filter(|end| end["direction"] == division["direction"]).map(|end| number(&end["share"])).sum();
                assert!((shares - parts[0]).abs() < ROUNDING, "{address} {method}: {shares} of {division}");
                divided += 1;
            }
            cut += usize::from(data["truncated"] == true);
        }
    }
    println!("traces: {divided} divisions of {SCAMS} scams by two methods; {cut} traces were cut");
    assert!(divided > 2 * SCAMS, "{divided}");
}
