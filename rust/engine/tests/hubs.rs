//! An account of so many movements that they are divided between threads is answered as on one.

use headwater_ledger::facts::TransactionFacts;
use headwater_types::TxHash;
use serde_json::json;

use crate::town;
use crate::town::{ALICE, BOB, FAKE, USDT, about, ask, batch, between, data, engine, send, token};

/// 70 000 transactions of Alice in 10 000 blocks.
fn hub() -> town::Town {
    let transaction = |number: u64| -> TransactionFacts {
        let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let other = u8::try_from(0x20 + spread % 150).unwrap();
        let (from, to) = if spread.is_multiple_of(3) { (other, ALICE) } else { (ALICE, other) };
        let index = u32::try_from(number % 7).unwrap();
        let mut facts = send(0, 1 + number / 7, index, from, to, u128::from(spread) * 1_000_000_007);
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.wrapping_mul(0xbf58_476d_1ce4_e5b9).to_be_bytes());
        facts.hash = TxHash::new(bytes);
        if number.is_multiple_of(4) {
            facts.movements = vec![token(0, USDT, to, from, spread), token(1, USDT, from, BOB, number)];
            facts.movements.push(token(2, FAKE, from, to, 1));
        }
        facts
    };
    engine(vec![batch((0..70_000).map(transaction).collect())])
}

#[test]
fn a_hub_is_answered_alike_on_one_thread_and_on_two() {
    let hub = hub();
    for (name, request) in [
        // A time range is not what edges are grouped over, so these are walks whatever else the ledger keeps.
        ("counterparty", about(ALICE, json!({"start_time": 1500, "limit": 1000}))),
        ("counterparty", about(ALICE, json!({"end_time": 90_000, "output_asset": "per_symbol", "limit": 1000}))),
        ("counterparty", about(ALICE, json!({"symbols": ["usdt"], "output_asset": "eth", "sort": "sent_amount"}))),
        ("counterparty/overview", between(BOB, ALICE, json!({}))),
        ("wallet-overview", about(ALICE, json!({}))),
        ("wallet-overview", about(ALICE, json!({"symbols": ["usdt"]}))),
    ] {
        let answer = data(&hub, name, &request).to_string();
        assert!(answer.contains("usdt"), "{answer:.300}");
    }
    // A page of a long list is counted as far as it is read, a sum whole.
    let said = |name, request| {
        let warnings = ask(&hub, name, &request).unwrap().warnings;
        warnings.into_iter().find(|warning| warning.code == "unverified_hidden").unwrap()
    };
    let page = said("transactions", about(ALICE, json!({"limit": 100})));
    assert!(page.count.is_some_and(|count| count < 50), "{page:?}");
    assert!(page.message.contains("movements or more are hidden"), "{}", page.message);
    assert_eq!(said("transactions", about(ALICE, json!({"sort": "amount_usd"}))).count, Some(17_500));
    assert_eq!(said("wallet-overview", about(ALICE, json!({}))).count, Some(1));
}
