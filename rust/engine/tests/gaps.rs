//! Blocks that are missing between those that are held: named by the calls that they touch, and listed by `/v1/chains`.

use headwater_ledger::facts::{BlockFacts, Claim};
use headwater_ledger::read::CoverageTable;
use serde_json::{Value, json};

use crate::town::{ALICE, BOB, Town, about, ask, batch, data, engine, send, time};

/// Blocks 10 to 30 without 16 and 17; traces end at block 20, and transactions were verified from 20 on.
fn town() -> Town {
    let mut held =
        batch(vec![send(1, 10, 0, ALICE, BOB, 5), send(2, 20, 0, BOB, ALICE, 3), send(3, 30, 0, ALICE, BOB, 1)]);
    let ends = [15, 18].map(|number| BlockFacts { number, hash: None, parent: None, time: time(number) });
    held.blocks.extend(ends);
    let claim = |(first, last), table| Claim::Blocks { first, last, table };
    for range in [(10, 15), (18, 30)] {
        held.claims.push(claim(range, CoverageTable::Blocks));
        held.claims.push(claim(range, CoverageTable::Transactions));
    }
    held.claims.push(claim((10, 20), CoverageTable::Traces));
    held.claims.push(claim((20, 30), CoverageTable::VerifiedTransactions));
    engine(vec![held])
}

fn gaps(request: &Value) -> Vec<String> {
    let warnings = ask(&town(), "transactions", request).unwrap().warnings;
    warnings.into_iter().filter(|warning| warning.code == "gap").map(|warning| warning.message).collect()
}

#[test]
fn gap_is_named_once_for_kinds_that_lack_the_same() {
    let messages = gaps(&about(ALICE, json!({})));
    assert_eq!(messages.len(), 2);
    assert!(messages[0].starts_with("the store lacks block headers, transactions of ethereum for blocks 16 to 17:"));
    assert!(messages[1].starts_with("the store lacks traces of ethereum for blocks 21 to 30:"), "{messages:?}");
}

#[test]
fn gap_outside_of_the_window_is_not_warned_of() {
    let window = |from: Option<u64>, to: Option<u64>| {
        let secs = |block: Option<u64>| block.map(|block| time(block).secs());
        about(ALICE, json!({"start_time": secs(from), "end_time": secs(to)}))
    };
    assert!(gaps(&window(None, Some(14))).is_empty());
    assert_eq!(gaps(&window(Some(15), Some(18))).len(), 1);
    let later = gaps(&window(Some(19), None));
    assert!(later.len() == 1 && later[0].contains("traces"), "{later:?}");
    assert_eq!(gaps(&window(Some(18), None)).len(), 2, "the gap may end at the time of block 18");
}

#[test]
fn chains_list_what_is_held_missing_and_unverified() {
    let chains = data(&town(), "chains", &json!({"include": ["none"]}));
    let ethereum = chains["chains"].as_array().unwrap().iter().find(|entry| entry["chain"] == "ethereum").unwrap();
    let range = |from: u64, to: u64| json!({"from_block": from, "to_block": to});
    let kinds: Vec<&str> =
        ethereum["held"].as_array().unwrap().iter().map(|kind| kind["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["blocks", "transactions", "traces"]);
    let transactions = &ethereum["held"][1];
    assert_eq!(transactions["ranges"], json!([range(10, 15), range(18, 30)]));
    assert_eq!((&transactions["gaps"], &transactions["missing_blocks"]), (&json!([range(16, 17)]), &json!(2)));
    assert_eq!(transactions["unverified"], json!([range(10, 15), range(18, 19)]));
    assert_eq!((&transactions["blocks"], &transactions["unverified_blocks"]), (&json!(19), &json!(8)));
    let traces = &ethereum["held"][2];
    assert_eq!((&traces["gaps"], &traces["unverified"]), (&json!([range(21, 30)]), &json!([range(10, 20)])));
}
