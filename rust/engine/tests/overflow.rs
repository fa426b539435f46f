//! A token that forges its amounts: two transfers of 2^256 - 1 to one address. Worked by hand.

use headwater_engine::Reason;
use headwater_types::Amount;
use serde_json::{Value, json};

use crate::town::{
    ALICE, BOB, CAROL, ETHER, FAKE, Town, about, ask, batch, between, column, data, engine, person, reason, send, token,
};

fn text(byte: u8) -> String {
    person(byte).to_string()
}

/// An ether from Alice to Bob, then three times 2^256 - 1 of the fake: twice from Alice to Bob, once to Carol. Of each
/// that is one movement of 2^256 - 1 and fits, but what Bob received and Alice sent does not.
fn forged() -> Town {
    let all = |log, to| {
        let mut movement = token(log, FAKE, ALICE, to, 1);
        movement.amount = Amount::MAX;
        movement
    };
    let gift = send(1, 1, 0, ALICE, BOB, ETHER);
    let (mut second, mut third) = (send(2, 2, 0, ALICE, FAKE, 0), send(3, 3, 0, ALICE, FAKE, 0));
    second.movements = vec![all(0, BOB), all(1, CAROL)];
    third.movements = vec![all(0, BOB)];
    engine(vec![batch(vec![gift, second, third])])
}

/// The fields of the warnings that name the fake.
fn told(name: &str, request: &Value) -> Vec<String> {
    let warnings = ask(&forged(), name, request).unwrap().warnings;
    let of_fake = warnings.into_iter().filter(|warning| warning.code == "amount_overflow");
    of_fake
        .inspect(|warning| assert!(warning.message.contains(&text(FAKE))))
        .filter_map(|warning| warning.field)
        .collect()
}

fn of_fake(who: u8) -> Value {
    about(who, json!({"contracts": [text(FAKE)]}))
}

fn token_request(more: Value) -> Value {
    let mut request = json!({"blockchain": "ethereum", "contract": text(FAKE)});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

#[test]
fn an_asset_that_is_not_in_the_answer_does_not_spoil_it() {
    let town = forged();
    let history = data(&town, "balance-history", &about(BOB, json!({})));
    assert_eq!(history["data_points"].as_array().unwrap().len(), 30);
    assert_eq!(history["final_balance"]["balances"][0]["balance"], "1");
    assert_eq!((&history["final_balance"]["total_usd"], &history["warnings"]), (&json!(2.0), &json!([])));
    assert_eq!(data(&town, "wallet-overview", &about(BOB, json!({})))["balances"][0]["balance"], "1");
    for name in ["balance-history", "wallet-overview", "counterparty", "transactions"] {
        assert!(told(name, &about(BOB, json!({}))).is_empty(), "{name}");
    }
}

#[test]
fn sums_past_256_bits_are_null_and_named() {
    let town = forged();
    let max = Amount::MAX.to_decimal(6);
    let ranking = data(&town, "counterparty", &of_fake(ALICE));
    assert_eq!(column(&ranking, "address"), [&json!(text(BOB)), &json!(text(CAROL))]);
    assert_eq!(column(&ranking, "sent_amount"), [&json!(null), &json!(max)]);
    assert_eq!(column(&ranking, "net_amount"), [&json!(null), &json!(format!("-{max}"))]);
    assert_eq!(column(&ranking, "received_amount"), [&json!("0"), &json!("0")]);
    assert_eq!(
        (column(&ranking, "total_transfers"), told("counterparty", &of_fake(ALICE))),
        (vec![&json!(2), &json!(1)], vec!["datas".to_owned()])
    );

    let request = between(BOB, ALICE, json!({"contracts": [text(FAKE)]}));
    let overview = data(&town, "counterparty/overview", &request);
    assert_eq!((&overview["total_amount"], &overview["total_count"]), (&json!(null), &json!(2)));
    let [sent, received] = [0, 1].map(|way| &overview["transfer_betweens"][way]["amount"]);
    assert_eq!((sent, received), (&json!("0"), &json!(null)));
    assert_eq!(overview["transfer_betweens"][1]["symbols"][0]["amount"], json!(null));
    assert_eq!(told("counterparty/overview", &request), ["transfer_betweens"]);

    let unverified = about(BOB, json!({"include_unverified": true}));
    let wallet = data(&town, "wallet-overview", &unverified);
    let [ether, fake] = [0, 1].map(|place| &wallet["balances"][place]);
    assert_eq!((&ether["balance"], &ether["received_amount"]), (&json!("1"), &json!("1")));
    let unknown = ["balance", "balance_raw", "received_amount"].map(|field| &fake[field]);
    assert_eq!((unknown, &fake["sent_amount"], &fake["received_count"]), ([&json!(null); 3], &json!("0"), &json!(2)));
    assert_eq!(told("wallet-overview", &unverified), ["balances"]);
    // One movement of the largest amount is no sum that passes it.
    let carol = data(&town, "wallet-overview", &of_fake(CAROL));
    assert_eq!(carol["balances"][0]["balance_raw"], Amount::MAX.to_string());
    assert!(told("wallet-overview", &of_fake(CAROL)).is_empty());

    let history = data(&town, "balance-history", &of_fake(BOB));
    assert_eq!(history["warnings"], json!([format!("amount_overflow:{}", text(FAKE))]));
    assert_eq!(history["final_balance"]["balances"][0]["balance_raw"], json!(null));
    assert_eq!(history["final_balance"]["total_usd"], json!(null));
}

#[test]
fn holders_and_flows_of_it_are_answered_without_what_cannot_be_told() {
    let town = forged();
    let holders = data(&town, "token/holders", &token_request(json!({})));
    let rows: Vec<_> =
        holders["holders"].as_array().unwrap().iter().map(|row| (&row["address"], &row["balance_raw"])).collect();
    assert_eq!(rows, [(&json!(text(BOB)), &json!(null)), (&json!(text(CAROL)), &json!(Amount::MAX.to_string()))]);
    assert_eq!((&holders["total_supply"], &holders["total_supply_raw"]), (&json!(null), &json!(null)));
    assert_eq!(
        (&holders["holder_count"], told("token/holders", &token_request(json!({})))),
        (&json!(2), vec!["total_supply".to_owned()])
    );
    let refused = reason(&town, "token/concentration", &token_request(json!({})));
    assert_eq!(refused, (Reason::InvalidContract, Some("contract".to_owned())));

    let request = token_request(json!({"addresses": [text(ALICE), text(BOB), text(CAROL)]}));
    let flows = data(&town, "token/addresses_flow", &request);
    let of =
        |field: &str| flows["addresses"].as_array().unwrap().iter().map(|row| row[field].clone()).collect::<Vec<_>>();
    let max = Amount::MAX.to_f64(6);
    assert_eq!(
        (of("received"), of("sent")),
        (vec![json!(0.0), json!(null), json!(max)], vec![json!(null), json!(0.0), json!(0.0)])
    );
    let totals = ["received_total", "sent_total", "internal_total", "net_flow_total", "external_sent_total"];
    assert_eq!(totals.map(|field| &flows["aggregate"][field]), [&json!(null); 5]);
    assert_eq!(
        (of("tx_count"), told("token/addresses_flow", &request)),
        (vec![json!(2), json!(2), json!(1)], vec!["aggregate".to_owned()])
    );
}
