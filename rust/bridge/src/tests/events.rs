//! The event table against the collected events of real bridges.

use super::{corpus_json, fixed, text};
use crate::Tables;

#[test]
fn corpus_events_are_all_in_the_tables() {
    let events = corpus_json("events.json");
    let events = events.as_array().unwrap();
    for event in events {
        let topic0: [u8; 32] = fixed(text(event, "topic0"));
        let known = Tables::builtin().events_of(&topic0).any(|known| known.signature() == text(event, "signature"));
        assert!(known, "{}", text(event, "declaration"));
    }
    assert_eq!(events.len(), 214);
}

#[test]
fn corpus_contracts_are_all_in_the_tables() {
    let contracts = corpus_json("contracts.json");
    for contract in contracts.as_array().unwrap() {
        let chain = match text(contract, "chain") {
            "evm" => None,
            name => Some(super::chain_named(name)),
        };
        let known = Tables::builtin().contracts().iter().any(|known| {
            known.family() == text(contract, "family")
                && known.chain() == chain
                && known.address() == text(contract, "address")
        });
        assert!(known, "{contract}");
    }
}
