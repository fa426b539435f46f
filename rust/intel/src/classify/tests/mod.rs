//! A model worked by hand, answers of `LightGBM`, refusals, and invariants.

mod by_hand;
mod invariants;
mod oracle;
mod refusals;

use serde_json::Value;

use super::Model;

/// Two trees, worked by hand.
fn small() -> Value {
    serde_json::from_str(include_str!("../fixtures/small.json")).unwrap()
}

fn parse(model: &Value) -> Model {
    Model::parse(&serde_json::to_vec(model).unwrap()).unwrap()
}

fn near(one: f64, other: f64, tolerance: f64) {
    assert!((one - other).abs() <= tolerance, "{one} is not {other}");
}
