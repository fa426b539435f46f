//! Blocks of real nodes: as recorded they are verified, and with any field changed they are refused.

mod evm;
mod flips;
mod tron;

use serde_json::Value;

/// The answers of a fixture.
fn recorded(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("a fixture is JSON")
}
