//! What sources state otherwise than by movements: lists of holders, amounts in doubles.

use headwater_ledger::facts::{AmountOf, Batch, Body, TransactionFacts, opening};
use headwater_ledger::read::Status;
use headwater_types::{Address, Amount, Chain, Timestamp};
use serde_json::{Value, json};

use crate::town;
use crate::town::{
    ALICE, BOB, CAROL, ETHER, USDT, about, batch, column, data, engine, hash, person, send, time, token,
};

/// At the end of block 2 Alice holds 70 USDT and Bob 30; what moved in it is in that. Then Alice pays Carol 20.
fn snapshot() -> town::Town {
    let before =
        TransactionFacts { movements: vec![token(0, USDT, BOB, ALICE, 5_000_000)], ..send(1, 2, 0, ALICE, USDT, 0) };
    let after =
        TransactionFacts { movements: vec![token(0, USDT, ALICE, CAROL, 20_000_000)], ..send(2, 3, 0, ALICE, USDT, 0) };
    let held: Vec<(Address, Amount)> = [(ALICE, 70_000_000), (BOB, 30_000_000)]
        .map(|(who, amount): (u8, u64)| (person(who), Amount::from(amount)))
        .into();
    let mut transactions = vec![before];
    transactions.extend(opening(Chain::ETHEREUM, person(USDT), 2, time(2), held).unwrap());
    transactions.push(after);
    engine(vec![batch(transactions)])
}

#[test]
fn a_list_of_holders_begins_the_history_of_its_token() {
    let town = snapshot();
    let request = json!({"blockchain": "ethereum", "contract": person(USDT).to_string()});
    let holders = data(&town, "token/holders", &request);
    let rows: Vec<_> = holders["holders"].as_array().unwrap().iter().map(|row| &row["balance_raw"]).collect();
    assert_eq!(rows, ["50000000", "30000000", "20000000"]);
    assert_eq!(holders["total_supply_raw"], "100000000");
    let wallet = data(&town, "wallet-overview", &about(ALICE, json!({"symbols": ["usdt"]})));
    let usdt = &wallet["balances"][0];
    // What is listed is listed, what was held at the beginning is in no sum of movements.
    assert_eq!(
        (&usdt["balance"], &usdt["received_amount"], &usdt["sent_amount"]),
        (&json!("50"), &json!("5"), &json!("20"))
    );
    assert_eq!(
        column(&data(&town, "transactions", &about(ALICE, json!({"symbols": ["usdt"]}))), "amount"),
        ["20", "5"]
    );
}

#[test]
fn a_history_says_what_it_stands_on_and_leaves_out_the_days_before() {
    let town = snapshot();
    let history = |start: i64, end: i64| {
        data(
            &town,
            "balance-history",
            &about(ALICE, json!({"symbols": ["usdt"], "start_time": start, "end_time": end})),
        )
    };
    let secs = |block| Timestamp::secs(time(block));
    let last = history(secs(2), secs(3));
    assert_eq!(last["final_balance"]["balances"][0]["balance"], "50");
    assert_eq!(last["basis"], json!({person(USDT).to_string(): "snapshot"}));
    assert_eq!(history(secs(2), secs(2))["final_balance"]["balances"][0]["balance"], "70");
    let early = history(secs(1), secs(1));
    assert_eq!(early["final_balance"]["balances"], json!([]));
    assert_eq!(early["warnings"], json!([format!("before_snapshot:{}", person(USDT))]));
}

#[test]
fn amounts_that_were_rounded_to_doubles_are_flagged_and_in_no_balance() {
    let rounded = TransactionFacts { approximate: [AmountOf::Value].into(), ..send(1, 1, 0, BOB, ALICE, ETHER) };
    let town = engine(vec![batch(vec![rounded, send(2, 2, 0, BOB, ALICE, 2 * ETHER)])]);
    let list = town::ask(&town, "transactions", &about(ALICE, json!({}))).unwrap();
    assert!(list.warnings.iter().any(|warning| warning.code == "approximate_amounts"));
    let list = list.value();
    assert_eq!(column(&list, "flags"), [&json!([]), &json!(["approximate"])]);
    let transaction = data(&town, "transaction", &json!({"hash": hash(1).display(Chain::ETHEREUM.family())}));
    assert_eq!(transaction["transfers"][0]["flags"], json!(["approximate"]));
    let balance = |name: &str, at: fn(&Value) -> &Value| at(&data(&town, name, &about(ALICE, json!({})))).clone();
    assert_eq!(balance("wallet-overview", |wallet| &wallet["balances"][0]["balance"]), "2");
    assert_eq!(balance("balance-history", |history| &history["final_balance"]["balances"][0]["balance"]), "2");
}

#[test]
fn what_has_no_receiver_on_tron_creates_no_contract() {
    let who = Address::Tron([0x11; 20]);
    let body = Body { from: Some(who), to: None, value: Amount::ZERO };
    let facts = TransactionFacts::new(hash(1), 1);
    let vote = TransactionFacts { time: Some(time(1)), status: Some(Status::Success), body: Some(body), ..facts };
    let mut batch = Batch::new(Chain::TRON);
    batch.transactions = vec![vote];
    let request = json!({"blockchain": "tron", "address": who.to_string(), "include_zero_value": true});
    let list = data(&engine(vec![batch]), "transactions", &request);
    assert_eq!(column(&list, "flags"), [&json!(["zero_value"])]);
}
