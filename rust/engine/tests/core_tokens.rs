//! Tokens that the program knows without an import, and what is said of those that it does not know.

use headwater_engine::Warning;
use headwater_ledger::facts::Movement;
use headwater_types::{Address, Asset, Chain};
use serde_json::{Value, json};

use crate::town::{
    ALICE, BOB, CAROL, ETHER, FAKE, Town, about, ask, batch, between, column, data, engine, over, person, price, send,
    token, town,
};

const TETHER: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";

/// Alice receives 100 USDT of Carol and sends 40 of them to Bob, in a store without a registry.
fn unimported(prices: &[(&str, f64)]) -> Town {
    let tether = Asset::Token(Address::parse(Chain::ETHEREUM, TETHER).unwrap());
    let moved = |from, to, raw| Movement { asset: tether, ..token(0, 0, from, to, raw) };
    let mut paid = send(1, 1, 0, CAROL, ALICE, ETHER);
    paid.movements = vec![moved(CAROL, ALICE, 100_000_000)];
    let mut spent = send(2, 2, 0, ALICE, BOB, ETHER / 2);
    spent.movements = vec![moved(ALICE, BOB, 40_000_000)];
    over(vec![batch(vec![paid, spent])], vec![], prices.iter().map(|(symbol, usd)| price(symbol, *usd)).collect())
}

#[test]
fn core_token_without_import_is_named_and_valued() {
    let town = unimported(&[("usdt", 1.0)]);
    let list = data(&town, "transactions", &about(ALICE, json!({"symbols": ["usdt"]})));
    assert_eq!(column(&list, "amount"), ["40", "100"]);
    assert_eq!(column(&list, "amount_usd"), [40.0, 100.0]);
    let named = json!({"symbol": "usdt", "contract": TETHER, "decimals": 6, "verified": true});
    for (field, value) in named.as_object().unwrap() {
        assert_eq!(column(&list, field), [value, value], "{field}");
    }
    let wallet = data(&town, "wallet-overview", &about(ALICE, json!({})));
    let held = wallet["balances"].as_array().unwrap().iter().find(|held| held["contract"] == TETHER).unwrap();
    assert_eq!((&held["balance"], &held["balance_usd"]), (&json!("60"), &json!(60.0)));
    assert_eq!(hidden(&town, "transactions", &about(ALICE, json!({}))), None);
}

#[test]
fn core_stablecoin_without_price_is_worth_its_balance() {
    let town = unimported(&[]);
    let holders = data(&town, "token/holders", &json!({"blockchain": "ethereum", "contract": TETHER}));
    let [alice, bob] = &holders["holders"].as_array().unwrap()[..] else { panic!("{holders}") };
    assert_eq!((&alice["balance"], &alice["balance_usd"]), (&json!(60.0), &json!(60.0)));
    assert_eq!((&bob["balance"], &bob["balance_usd"]), (&json!(40.0), &json!(40.0)));
    let resolved = data(&town, "resolve", &json!({"blockchain": "ethereum", "symbols": ["usdt"]}));
    assert_eq!(resolved["assets"][0]["contract"], TETHER);
}

/// The warning, which comes once at most.
fn hidden_warning(town: &Town, name: &str, request: &Value) -> Option<Warning> {
    let mut found = ask(town, name, request).unwrap().warnings;
    found.retain(|warning| warning.code == "unverified_hidden");
    assert!(found.len() <= 1, "{name} {request}: {found:?}");
    found.pop()
}

/// How many are said to be hidden.
fn hidden(town: &Town, name: &str, request: &Value) -> Option<u64> {
    hidden_warning(town, name, request).map(|warning| warning.count.unwrap())
}

/// Bob sent Alice one movement of a token that no registry knows, beside what is verified.
#[test]
fn unverified_hidden_is_announced_with_its_count() {
    let town = town();
    let fake = person(FAKE).to_string();
    for (name, request, expected) in [
        ("transactions", about(ALICE, json!({})), Some(1)),
        ("transactions", about(ALICE, json!({"sort": "amount_usd"})), Some(1)),
        ("transactions", about(ALICE, json!({"direction": "out"})), None),
        ("transactions", about(ALICE, json!({"include_unverified": true})), None),
        ("transactions", about(ALICE, json!({"symbols": ["usdt"]})), None),
        ("transactions", about(ALICE, json!({"contracts": [fake]})), None),
        ("counterparty/transfer-between", between(ALICE, BOB, json!({})), Some(1)),
        ("counterparty/overview", between(ALICE, BOB, json!({})), Some(1)),
        ("counterparty/overview", between(ALICE, CAROL, json!({})), None),
        // Bob has a row; that of the token beside it is hidden, from edges and from movements.
        ("counterparty", about(ALICE, json!({})), None),
        ("counterparty", about(ALICE, json!({"output_asset": "per_symbol"})), Some(1)),
        ("counterparty", about(ALICE, json!({"output_asset": "per_symbol", "start_time": 0})), Some(1)),
        ("wallet-overview", about(ALICE, json!({})), Some(1)),
        ("wallet-overview", about(CAROL, json!({})), None),
        ("wallet-overview", about(ALICE, json!({"include_unverified": true})), None),
        ("balance-history", about(ALICE, json!({})), Some(1)),
        ("balance-history", about(ALICE, json!({"end_time": 1010})), None),
        ("balance-history", about(ALICE, json!({"symbols": ["usdt"]})), None),
    ] {
        assert_eq!(hidden(&town, name, &request), expected, "{name} {request}");
    }
    let said = hidden_warning(&town, "transactions", &about(ALICE, json!({}))).unwrap();
    assert!(said.message.starts_with("1 movement is hidden: "), "{}", said.message);
    for remedy in ["headwater tokens import", "include_unverified"] {
        assert!(said.message.contains(remedy), "{}", said.message);
    }
}

#[test]
fn unverified_counterparties_without_other_movements_are_counted() {
    let mut mixed = send(1, 1, 0, ALICE, BOB, ETHER);
    mixed.movements = vec![token(0, FAKE, BOB, ALICE, 5), token(1, FAKE, CAROL, ALICE, 5)];
    mixed.movements.extend([token(2, FAKE, 0x44, ALICE, 0), token(3, FAKE, 0x45, 0x46, 5)]);
    let town = engine(vec![batch(vec![mixed])]);
    for more in [json!({}), json!({"start_time": 0}), json!({"output_asset": "usd"}), json!({"output_asset": "eth"})] {
        assert_eq!(hidden(&town, "counterparty", &about(ALICE, more.clone())), Some(1), "{more}");
    }
    assert_eq!(hidden(&town, "counterparty/list", &about(ALICE, json!({}))), Some(1));
    assert_eq!(hidden(&town, "counterparty", &about(ALICE, json!({"include_unverified": true}))), None);
}
