//! Tokens whose supply or balances change without a `Transfer`, worked by hand.

use headwater_ledger::facts::{LogFacts, Movement, TransactionFacts};
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};

use crate::town::{ALICE, BOB, CAROL, FAKE, USDT, about, ask, batch, column, data, engine, person, send, token};
use crate::town::{Town, hash};

/// The codes of the warnings of an answer, but for that of blocks that are not held.
fn warnings(town: &Town, name: &str, request: &Value) -> Vec<String> {
    let codes = ask(town, name, request).unwrap().warnings.into_iter().map(|warning| warning.code);
    codes.filter(|code| code != "partial_data").collect()
}

fn of_usdt(more: Value) -> Value {
    let mut request = json!({"blockchain": "ethereum", "contract": person(USDT).to_string()});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

/// Alice supplies to a pool whose token is USDT here, and gets another token. Of both contracts the first logs the mint of
/// an interest-bearing token.
fn interest() -> Town {
    let mut supply = send(1, 1, 0, ALICE, CAROL, 0);
    supply.movements = vec![token(0, USDT, 0, ALICE, 5_000_000)];
    let topics = vec![Keccak256::digest("Mint(address,address,uint256,uint256,uint256)").into()];
    supply.logs = vec![LogFacts { index: 1, address: person(USDT), topics, data: Vec::new() }];
    let mut other = send(2, 2, 0, BOB, CAROL, 0);
    other.movements = vec![token(0, FAKE, BOB, ALICE, 3_000_000)];
    engine(vec![batch(vec![supply, other])])
}

#[test]
fn token_that_logs_interest_is_flagged_and_warned_of() {
    let town = interest();
    let request = about(ALICE, json!({"include_unverified": true, "order": "asc"}));
    let rows = data(&town, "transactions", &request);
    let is_flagged: Vec<_> = column(&rows, "flags")
        .into_iter()
        .map(|flags| flags.as_array().unwrap().contains(&json!("rebasing")))
        .collect();
    assert_eq!(is_flagged, [true, false]);
    let detail = data(&town, "transaction", &json!({"hash": rows["datas"][0]["tx_hash"]}));
    assert!(detail["transfers"].as_array().unwrap().iter().any(|row| row["flags"] == json!(["rebasing"])), "{detail}");
    let history = data(&town, "balance-history", &request_of_history());
    assert_eq!(history["warnings"], json!([format!("rebasing_by_transfers:{}", person(USDT))]));
    for (name, request) in [("wallet-overview", about(ALICE, json!({}))), ("token/holders", of_usdt(json!({})))] {
        assert!(warnings(&town, name, &request).contains(&"rebasing_by_transfers".to_owned()), "{name}");
    }
}

fn request_of_history() -> Value {
    about(ALICE, json!({"start_time": 0, "end_time": 86_399, "contracts": [person(USDT).to_string()]}))
}

/// A transaction of Alice that issues or redeems USDT, of which the log names no owner.
fn supply(number: u8, to: u8, sides: (Option<u8>, Option<u8>), raw: u64) -> TransactionFacts {
    let mut call = send(number, u64::from(number), 0, ALICE, to, 0);
    let (from, to) = (sides.0.map(person), sides.1.map(person));
    call.movements = vec![Movement { from, to, ..token(0, USDT, 0, 0, raw) }];
    call
}

const ZERO: Option<u8> = Some(0);

#[test]
fn issue_by_the_owner_itself_is_held_by_the_sender() {
    let town = engine(vec![batch(vec![supply(1, USDT, (ZERO, None), 9), supply(2, USDT, (None, ZERO), 4)])]);
    let holders = data(&town, "token/holders", &of_usdt(json!({})));
    assert_eq!(holders["total_supply_raw"], "5");
    assert_eq!(holders["holders"][0]["address"], person(ALICE).to_string());
    assert_eq!(warnings(&town, "token/holders", &of_usdt(json!({}))), Vec::<String>::new());
}

#[test]
fn issue_through_a_wallet_moves_supply_and_no_balance() {
    // Alice calls a wallet of several keys, which calls the token.
    let town = engine(vec![batch(vec![supply(1, CAROL, (ZERO, None), 9), supply(2, CAROL, (None, ZERO), 4)])]);
    let holders = data(&town, "token/holders", &of_usdt(json!({})));
    assert_eq!((&holders["holders"], &holders["total_supply_raw"]), (&json!([]), &json!("0")));
    assert_eq!(warnings(&town, "token/holders", &of_usdt(json!({}))), ["supply_mismatch"]);
    for (number, kind, parties) in [
        (1, "mint", (json!(person(0).to_string()), Value::Null)),
        (2, "burn", (Value::Null, json!(person(0).to_string()))),
    ] {
        let id = hash(number).display(headwater_types::Family::Evm);
        let detail = data(&town, "transaction", &json!({ "hash": id }));
        let row = detail["transfers"].as_array().unwrap().iter().find(|row| row["contract"] != Value::Null).unwrap();
        assert_eq!((&row["from_address"], &row["to_address"]), (&parties.0, &parties.1));
        assert_eq!(row["transfer_type"], kind);
    }
}
