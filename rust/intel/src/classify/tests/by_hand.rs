//! The two trees of `small.json`:
//!
//! ```text
//! Exchange (starts at 0)                         Scam (starts at 1)
//!   in_count <= 10 ?            8 rows             out_count <= 3, or missing ?  8 rows
//!     out_count <= 2.5 ?        6 rows               -1                          4 rows
//!       0.5                     4 rows               +1                          4 rows
//!       1.5                     2 rows
//!     2.5                       2 rows
//! ```

use std::num::NonZeroU64;

use serde_json::json;

use super::super::{Model, UNKNOWN, Verdict};
use super::{near, parse, small};

const NAN: f64 = f64::NAN;

fn transfers(count: u64) -> NonZeroU64 {
    NonZeroU64::new(count).unwrap()
}

#[test]
fn trees_go_left_up_to_the_threshold() {
    let model = parse(&small());
    assert_eq!(model.raw_scores(&[10.0, 2.5]), [0.5, 0.0]);
    assert_eq!(model.raw_scores(&[10.0, 3.0]), [1.5, 0.0]);
    assert_eq!(model.raw_scores(&[10.1, 3.1]), [2.5, 2.0]);
    assert_eq!(model.raw_scores(&[f64::NEG_INFINITY, f64::INFINITY]), [1.5, 2.0]);
}

#[test]
fn missing_values_go_where_the_node_says() {
    let model = parse(&small());
    assert_eq!(model.raw_scores(&[NAN, 9.0]), [2.5, 2.0]);
    assert_eq!(model.raw_scores(&[5.0, NAN]), [1.5, 0.0]);
}

#[test]
fn the_largest_threshold_stands_for_infinity() {
    let mut model = small();
    model["trees"]["threshold"][0] = json!(f64::MAX);
    let model = parse(&model);
    assert_eq!(model.raw_scores(&[f64::INFINITY, 0.0]), [0.5, 0.0]);
    assert_eq!(model.raw_scores(&[NAN, 0.0]), [2.5, 0.0]);
}

#[test]
fn trees_without_splits_add_their_leaf() {
    let mut model = small();
    let trees = &mut model["trees"];
    for (key, value) in [("class", json!(0)), ("nodes", json!(0)), ("leaf", json!(0.25)), ("leaf_cover", json!(8))] {
        trees[key].as_array_mut().unwrap().push(value);
    }
    let model = parse(&model);
    assert_eq!(model.raw_scores(&[5.0, 4.0]), [1.75, 2.0]);
    near(model.expected_score(0), 1.5, 1e-12);
    near(model.contributions(&[5.0, 4.0], 0)[0], -1.0 / 3.0, 1e-12);
}

#[test]
fn models_without_trees_answer_their_initial_scores() {
    let mut model = small();
    for list in model["trees"].as_object_mut().unwrap().values_mut() {
        *list = json!([]);
    }
    let model = parse(&model);
    assert_eq!(model.raw_scores(&[5.0, 4.0]), [0.0, 1.0]);
    assert_eq!(model.contributions(&[5.0, 4.0], 1), [0.0, 0.0]);
}

#[test]
fn probabilities_are_calibrated() {
    // Raw 0.5 and 0 become 0.5 / 0.5 + 1 = 2 and 0: p = e^2 / (e^2 + 1).
    let p = parse(&small()).probabilities(&[0.0, 0.0]);
    near(p[0], 1.0 / (1.0 + (-2.0_f64).exp()), 1e-15);
    near(p[1], 1.0 / (1.0 + 2.0_f64.exp()), 1e-15);
}

/// v of no feature is 1.25; of `in_count` (4 · 0.5 + 2 · 1.5) / 6 = 5/6; of `out_count` 0.75 · 1.5 + 0.25 · 2.5 = 1.75;
/// of both 1.5. So `in_count` adds ((5/6 - 1.25) + (1.5 - 1.75)) / 2 and `out_count` ((1.75 - 1.25) + (1.5 - 5/6)) / 2.
#[test]
fn contributions_are_shapley_values() {
    let model = parse(&small());
    near(model.expected_score(0), 1.25, 1e-12);
    let parts = model.contributions(&[5.0, 4.0], 0);
    near(parts[0], -1.0 / 3.0, 1e-12);
    near(parts[1], 7.0 / 12.0, 1e-12);
    near(model.expected_score(1), 1.0, 1e-12);
    let parts = model.contributions(&[5.0, 4.0], 1);
    near(parts[0], 0.0, 1e-12);
    near(parts[1], 1.0, 1e-12);
}

#[test]
fn accessors_return_what_the_file_says() {
    let bytes = include_bytes!("../fixtures/small.json");
    let model = Model::parse(bytes).unwrap();
    assert_eq!((model.chain().name(), model.version(), model.features_version()), ("ethereum", "by hand", 1));
    assert_eq!(model.priors(), [0.25, 0.75]);
    assert_eq!(model.card()["purpose"], "a test of two trees, worked by hand");
    assert_eq!(model.digest(), format!("{:016x}", xxhash_rust::xxh3::xxh3_64(bytes)));
}

/// A model of a chain and classes with the given priors, and p = 1/2 for each of its two classes at (5, 4).
fn model(chain: &str, classes: [&str; 2], priors: [f64; 2]) -> Model {
    let mut model = small();
    model["chain"] = json!(chain);
    model["classes"] = json!(classes);
    model["priors"] = json!(priors);
    parse(&model)
}

fn check(verdict: &Verdict, class: &str, confidence: f64, probabilities: [f64; 2]) {
    assert_eq!(verdict.class, class);
    near(verdict.confidence, confidence, 1e-12);
    near(verdict.probabilities[0], probabilities[0], 1e-12);
    near(verdict.probabilities[1], probabilities[1], 1e-12);
}

#[test]
fn verdicts_lean_on_priors_below_five_transfers() {
    let model = model("ethereum", ["Exchange", "Scam"], [0.25, 0.75]);
    check(&model.verdict(&[5.0, 4.0], transfers(5)), "Exchange", 0.5, [0.5, 0.5]);
    // ψ = 4 / 14: 2/14 + 10/14 of the priors.
    let q = [2.0 / 14.0 + 2.5 / 14.0, 2.0 / 14.0 + 7.5 / 14.0];
    check(&model.verdict(&[5.0, 4.0], transfers(4)), UNKNOWN, 1.0 - q[1], q);
}

#[test]
fn fewer_than_five_transfers_are_unknown() {
    for chain in ["ethereum", "tron", "bitcoin"] {
        // 1 less the largest other q is more than an answer for lack of data may be sure of.
        let model = model(chain, ["Exchange", UNKNOWN], [0.0, 1.0]);
        let q = 0.5 / 11.0;
        check(&model.verdict(&[5.0, 4.0], transfers(1)), UNKNOWN, 0.9, [q, 1.0 - q]);
        check(&model.verdict(&[5.0, 4.0], transfers(5)), "Exchange", 0.5, [0.5, 0.5]);
    }
}

#[test]
fn classes_are_called_from_their_least_odds_on() {
    let with = |odds: f64| {
        let mut model = small();
        model["classes"] = json!(["Exchange", UNKNOWN]);
        model["least_odds"] = json!([odds, 1.0]);
        // Logits 5 and 4: p = e / (e + 1) and 1 / (e + 1).
        model["calibration"]["offsets"] = json!([2, 0]);
        parse(&model)
    };
    let p = 1.0 / (1.0 + (-1.0_f64).exp());
    check(&with(2.7).verdict(&[5.0, 4.0], transfers(9)), "Exchange", p, [p, 1.0 - p]);
    check(&with(2.8).verdict(&[5.0, 4.0], transfers(9)), UNKNOWN, 1.0 - p, [p, 1.0 - p]);
}

/// p of three classes at (5, 4): initial score 3 with T = 0.5, b = -2 gives the logit 4 as the others have, so 1/3
/// each.
#[test]
fn tron_needs_half_of_the_probability() {
    let three = |chain: &str, third: &str| {
        let mut model = small();
        model["chain"] = json!(chain);
        model["classes"] = json!(["Exchange", "Scam", third]);
        model["priors"] = json!([0.2, 0.5, 0.3]);
        model["initial"] = json!([0, 1, 3]);
        model["calibration"]["offsets"] = json!([1, 0, -2]);
        parse(&model)
    };
    let unsure = three("tron", "Mixer").verdict(&[5.0, 4.0], transfers(10));
    assert_eq!(unsure.class, UNKNOWN);
    near(unsure.confidence, 2.0 / 3.0, 1e-12);
    let elsewhere = three("ethereum", "Mixer").verdict(&[5.0, 4.0], transfers(10));
    assert_eq!(elsewhere.class, "Exchange");
    near(elsewhere.confidence, 1.0 / 3.0, 1e-12);
    let sure = model("tron", ["Exchange", "Scam"], [0.25, 0.75]).verdict(&[5.0, 4.0], transfers(10));
    assert_eq!((sure.class.as_str(), sure.confidence), ("Exchange", 0.5));
}
