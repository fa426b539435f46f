//! Chains of which nothing is held answer with nothing, and say so.

use serde_json::{Value, json};

use crate::town;
use crate::town::{
    ALICE, BOB, ETHER, PAID, USDT, about, ask, batch, between, data, engine, person, reason, send, town,
};

const TRON: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";

fn codes(town: &town::Town, name: &str, request: &Value) -> Vec<String> {
    ask(town, name, request).unwrap().warnings.into_iter().map(|warning| warning.code).collect()
}

#[test]
fn nobody_holds_anything_on_a_chain_without_data() {
    let nothing = engine(vec![]);
    for (town, request) in [
        (&town(), json!({"blockchain": "bitcoin"})),
        (&town(), json!({"blockchain": "tron", "contract": "native"})),
        (&town(), json!({"blockchain": "bsc", "contract": person(USDT).to_string()})),
        (&nothing, json!({"blockchain": "ethereum", "contract": person(USDT).to_string()})),
    ] {
        let holders = data(town, "token/holders", &request);
        assert_eq!((&holders["holders"], &holders["excluded"]), (&json!([]), &json!([])), "{request}");
        assert_eq!((&holders["holder_count"], &holders["total_supply_raw"]), (&json!(0), &json!("0")), "{request}");
        let measured = data(town, "token/concentration", &request);
        assert_eq!((&measured["holder_count"], &measured["concentration"]["gini"]), (&json!(0), &json!(0.0)));
        for name in ["token/holders", "token/concentration"] {
            assert_eq!(codes(town, name, &request), ["no_data"], "{name} {request}");
        }
    }
}

#[test]
fn a_history_without_data_has_no_days_but_those_asked_for() {
    let request = |more: Value| {
        let mut request = json!({"blockchain": "tron", "address": TRON});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request
    };
    for (more, timestamp) in [(json!({}), 0), (json!({"start_time": 86_400}), 86_400)] {
        let history = data(&town(), "balance-history", &request(more.clone()));
        assert_eq!(history["data_points"], json!([]), "{more}");
        let end = json!({"timestamp": timestamp, "block_number": null, "total_usd": null, "balances": []});
        assert_eq!(history["final_balance"], end);
        assert_eq!(codes(&town(), "balance-history", &request(more)), ["no_data"]);
    }
    let asked = data(&town(), "balance-history", &request(json!({"start_time": 0, "end_time": 86_400})));
    assert_eq!(asked["data_points"].as_array().unwrap().len(), 2);
}

#[test]
fn what_a_chain_supports_is_what_its_answers_say() {
    let chains = data(&town(), "chains", &json!({}));
    let names = ["transactions", "token/holders", "token/concentration", "token/addresses_flow", "balance-history"];
    let support = |chain: &str| {
        let entry = chains["chains"].as_array().unwrap().iter().find(|entry| entry["chain"] == chain).unwrap();
        names.map(|name| entry["endpoints"][name].as_str().unwrap())
    };
    assert_eq!((support("ethereum"), support("bitcoin")), (["partial"; 5], ["none"; 5]));
    let token = json!({"blockchain": "ethereum", "contract": person(USDT).to_string()});
    for (name, request) in
        [("balance-history", about(ALICE, json!({}))), ("token/holders", token.clone()), ("token/concentration", token)]
    {
        assert!(codes(&town(), name, &request).contains(&"partial_data".to_owned()), "{name}");
    }
    let bitcoin = json!({"blockchain": "bitcoin", "addresses": [PAID[0]]});
    assert_eq!(codes(&town(), "token/addresses_flow", &bitcoin), ["no_data"]);
}

#[test]
fn numbers_of_32_bits_are_refused_behind_them() {
    use headwater_engine::Reason::InvalidValue;
    let holders =
        |offset: i64| json!({"blockchain": "ethereum", "contract": person(USDT).to_string(), "offset": offset});
    assert_eq!(data(&town(), "token/holders", &holders(2_147_483_647))["holders"], json!([]));
    assert_eq!(reason(&town(), "token/holders", &holders(2_147_483_648)), (InvalidValue, Some("offset".to_owned())));
    let ranking = |least: i64| about(ALICE, json!({"min_interactions": least}));
    assert_eq!(data(&town(), "counterparty", &ranking(2_147_483_647))["datas"], json!([]));
    for least in [-1, 2_147_483_648] {
        let refused = reason(&town(), "counterparty", &ranking(least));
        assert_eq!(refused, (InvalidValue, Some("min_interactions".to_owned())));
    }
}

/// Half an ether to Bob at two dollars: a dollar.
#[test]
fn an_overview_by_symbol_says_in_what_its_own_sums_are() {
    let town = engine(vec![batch(vec![send(1, 1, 0, ALICE, BOB, ETHER / 2)])]);
    let overview = |more: Value| data(&town, "counterparty/overview", &between(ALICE, BOB, more));
    let all = overview(json!({"output_asset": "per_symbol"}));
    let sums = |overview: &Value| {
        let sent = &overview["transfer_betweens"][0];
        [&overview["total_amount"], &sent["amount"], &sent["symbols"][0]["amount"], &overview["amount_unit"]]
            .map(Value::clone)
    };
    assert_eq!(sums(&all), ["1", "1", "0.5", "usd"].map(Value::from));
    let one = overview(json!({"output_asset": "per_symbol", "symbols": ["eth"]}));
    assert_eq!(sums(&one), ["0.5", "0.5", "0.5", "eth"].map(Value::from));
}
