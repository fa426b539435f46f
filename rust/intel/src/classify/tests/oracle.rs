//! Answers of `LightGBM` and numpy, which `fixtures/make.py` wrote.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::super::Model;
use super::near;

const MODEL: &[u8] = include_bytes!("../fixtures/lightgbm.json.gz");
const EXPECTED: &[u8] = include_bytes!("../fixtures/lightgbm-expected.json.gz");

/// The contract is 1e-6; what is left is the rounding of sums in another order.
const TOLERANCE: f64 = 1e-10;

fn model() -> Model {
    Model::parse(MODEL).unwrap()
}

fn inflated(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut text).unwrap();
    text
}

/// Numbers; JSON has none for NaN and the infinities, which are texts.
fn numbers(list: &Value) -> Vec<f64> {
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap());
    list.as_array().unwrap().iter().map(number).collect()
}

/// Calls `check` with each row and its expected value under `key`.
fn each_row(key: &str, check: impl Fn(&[f64], &Value)) {
    let expected: Value = serde_json::from_slice(&inflated(EXPECTED)).unwrap();
    let (rows, answers) = (expected["rows"].as_array().unwrap(), expected[key].as_array().unwrap());
    assert_eq!((rows.len(), answers.len()), (71, 71));
    for (row, answer) in rows.iter().zip(answers) {
        check(&numbers(row), answer);
    }
}

fn all_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        near(*found, *expected, TOLERANCE);
    }
}

#[test]
fn raw_scores_equal_lightgbm() {
    let model = model();
    each_row("raw", |row, expected| all_near(&model.raw_scores(row), &numbers(expected)));
}

#[test]
fn probabilities_equal_numpy() {
    let model = model();
    each_row("probabilities", |row, expected| all_near(&model.probabilities(row), &numbers(expected)));
}

#[test]
fn contributions_equal_lightgbm() {
    let model = model();
    each_row("contributions", |row, expected| {
        for (class, expected) in expected.as_array().unwrap().iter().enumerate() {
            let mut found = model.contributions(row, class);
            found.push(model.expected_score(class));
            all_near(&found, &numbers(expected));
        }
    });
}

#[test]
fn gzip_and_plain_files_are_the_same_model() {
    let plain = Model::parse(&inflated(MODEL)).unwrap();
    assert_ne!(plain.digest(), model().digest());
    each_row("raw", |row, _| {
        let bits = |scores: Vec<f64>| scores.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(plain.raw_scores(row)), bits(model().raw_scores(row)));
    });
}

#[test]
fn models_of_the_program_are_read_and_small() {
    let classifiers = crate::classify::Classifiers::standard();
    for chain in [headwater_types::Chain::ETHEREUM, headwater_types::Chain::TRON] {
        let model = classifiers.of(chain).unwrap().model();
        assert!(model.classes().iter().any(|class| class == crate::classify::UNKNOWN));
        assert!(model.card()["simulated_classes"].is_array() && model.card()["examples"].is_array());
    }
    let bytes: u64 = ["ethereum", "tron"]
        .map(|chain| format!("{}/models/{chain}.json.gz", env!("CARGO_MANIFEST_DIR")))
        .map(|path| std::fs::metadata(path).unwrap().len())
        .iter()
        .sum();
    assert!(bytes < 5 << 20, "the models of the program have 5 MB at most");
}
