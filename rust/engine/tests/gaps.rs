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

/// Returns the message and the count of the warning of gaps.
fn gaps(request: &Value) -> Option<(String, u64)> {
    let warnings = ask(&town(), "transactions", request).unwrap().warnings;
    let gap = warnings.into_iter().find(|warning| warning.code == "gap")?;
    Some((gap.message, gap.count.unwrap()))
}

#[test]
fn gap_is_named_once_for_kinds_that_lack_the_same() {
    let (message, count) = gaps(&about(ALICE, json!({}))).unwrap();
    let expected =
        "the store lacks for ethereum: block headers, transactions of blocks 16 to 17; traces of blocks 21 to 30. ";
    assert!(message.starts_with(expected) && message.contains("--rpc URL --from 16 --to 17"), "{message}");
    assert_eq!(count, 2);
}

#[test]
fn gap_outside_of_the_window_is_not_warned_of() {
    let window = |from: Option<u64>, to: Option<u64>| {
        let secs = |block: Option<u64>| block.map(|block| time(block).secs());
        about(ALICE, json!({"start_time": secs(from), "end_time": secs(to)}))
    };
    assert_eq!(gaps(&window(None, Some(14))), None);
    assert_eq!(gaps(&window(Some(15), Some(18))).unwrap().1, 1);
    let (later, count) = gaps(&window(Some(19), None)).unwrap();
    assert!(count == 1 && later.contains("traces"), "{later}");
    assert_eq!(gaps(&window(Some(18), None)).unwrap().1, 2, "the gap may end at the time of block 18");
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
