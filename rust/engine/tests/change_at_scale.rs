//! How many transactions are judged to leave change out of a list of counterparties, and what that takes:
//!
//! `cargo test --release -p headwater-engine change_at_scale -- --nocapture`
#![expect(clippy::disallowed_methods, reason = "it measures time, which is told and not judged")]

use std::sync::Arc;
use std::time::Instant;

use headwater_engine::{QueryEngine, endpoint};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Claim, InputFacts, OutPoint, TransactionFacts, UtxoFacts};
use headwater_ledger::read::CoverageTable;
use headwater_ledger::store::in_memory;
use headwater_testkit::{address, pay_to};
use headwater_types::{Chain, Timestamp, TxHash};
use serde_json::{Value, json};

/// Transactions that are judged.
const LIMIT: u64 = 20_000;
const PAYER: u64 = 1;
const SHOP: u64 = 2;
/// The first address of change.
const CHANGE: u64 = 1_000;

fn hash(number: u64) -> TxHash {
    let mut hash = [7; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    TxHash::new(hash)
}

fn transaction(number: u64, utxo: UtxoFacts) -> TransactionFacts {
    TransactionFacts {
        time: Some(Timestamp::new(1_600_000_000 + i64::try_from(number).unwrap())),
        index: Some(0),
        utxo: Some(utxo),
        ..TransactionFacts::new(hash(number), number)
    }
}

/// An address that is paid a coin and spends it on a payment of a round amount, with change at a new address, again and again.
fn engine(payments: u64) -> QueryEngine {
    let mut batch = Batch::new(Chain::BITCOIN);
    for payment in 0..payments {
        let (coin, spent) = (2 * payment + 1, 2 * payment + 2);
        batch.transactions.push(transaction(coin, UtxoFacts::new(true, vec![], vec![pay_to(PAYER, 9_000_001)])));
        let input = InputFacts::new(OutPoint { hash: hash(coin), index: 0 }, None);
        let outputs = vec![pay_to(SHOP, 5_000_000), pay_to(CHANGE + payment, 3_999_001)];
        batch.transactions.push(transaction(spent, UtxoFacts::new(false, vec![input], outputs)));
    }
    batch.claims.push(Claim::Blocks { first: 1, last: 2 * payments, table: CoverageTable::Transactions });
    QueryEngine::new(in_memory(vec![batch], Vec::new(), Vec::new()).unwrap() as Arc<_>)
}

#[test]
fn change_is_left_out_of_so_many_transactions_at_most() {
    // A coin and a payment are two movements of the payer.
    let engine = engine(LIMIT / 2 + 1);
    let ask = |more: Value| {
        let mut request = json!({"address": address(Chain::BITCOIN, PAYER).to_string()});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let started = Instant::now();
        let answer = engine.answer(endpoint("counterparty/list").unwrap(), &request, &Cancel::new()).unwrap();
        println!("{more}: {:.0} ms", started.elapsed().as_secs_f64() * 1e3);
        let is_cut = answer.warnings.iter().any(|warning| warning.code == "change_limit");
        (answer.value()["sent_address_count"].clone(), is_cut)
    };
    assert_eq!(ask(json!({})), (json!(LIMIT / 2 + 2), true));
    assert_eq!(ask(json!({"include_change": "true"})), (json!(LIMIT / 2 + 2), false));
    // Without the last coin and payment.
    let end_time = (1_600_000_000 + LIMIT).to_string();
    assert_eq!(ask(json!({"end_time": end_time})), (json!(1), false));
    assert_eq!(ask(json!({"end_time": end_time, "include_change": "true"})), (json!(LIMIT / 2 + 1), false));
}
