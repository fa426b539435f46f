//! Chains of which nothing is held are refused; those with labels alone answer with nothing, and say so.

use headwater_engine::{ErrorKind, Method, Reason, endpoint};
use headwater_types::Chain;
use serde_json::{Value, json};

use crate::town;
use crate::town::{
    ALICE, BOB, ETHER, PAID, USDT, about, ask, batch, between, data, engine, person, reason, send, town,
    town_with_a_label_on,
};

const TRON: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";

fn codes(town: &town::Town, name: &str, request: &Value) -> Vec<String> {
    ask(town, name, request).unwrap().warnings.into_iter().map(|warning| warning.code).collect()
}

/// A request about TRON, or about Bitcoin where an endpoint knows no other chain, and the field that names the chain.
fn elsewhere() -> Vec<(&'static str, Value, Option<&'static str>)> {
    let (about, chain) = (json!({"blockchain": "tron", "address": TRON}), Some("blockchain"));
    let pair = json!({"blockchain": "tron", "target": TRON, "counterparty": "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"});
    let token = json!({"blockchain": "tron", "contract": "native"});
    let hash = "ab".repeat(32);
    vec![
        ("transactions", about.clone(), chain),
        ("transaction", json!({"hash": hash, "blockchain": "tron"}), chain),
        ("counterparty", about.clone(), chain),
        ("counterparty/transfer-between", pair.clone(), chain),
        ("counterparty/overview", pair, chain),
        ("counterparty/list", json!({"address": PAID[0]}), chain),
        ("balance-history", about.clone(), chain),
        ("wallet-overview", about.clone(), chain),
        ("token/holders", token.clone(), chain),
        ("token/concentration", token, chain),
        ("token/holders", json!({"blockchain": "tron", "contract": TRON}), chain),
        ("token/addresses_flow", json!({"blockchain": "tron", "addresses": [TRON]}), chain),
        ("labels", about.clone(), chain),
        ("labels/search", json!({"q": "exchange", "chain": "tron"}), Some("chain")),
        ("address-risk", about.clone(), chain),
        ("address-classify", json!({"blockchain": "tron", "addresses": [TRON]}), chain),
        ("trace", about.clone(), chain),
        ("path", json!({"blockchain": "bitcoin", "source": PAID[0], "targets": [PAID[1]]}), chain),
        ("exposure", about, chain),
        ("btc/change-address", json!({"txid": hash}), None),
        ("btc/cluster", json!({"address": PAID[0]}), None),
        ("cross-chain", json!({"txhash": hash, "chain": "tron"}), Some("chain")),
        ("cross-chain/batch", json!({"queries": [{"txhash": hash}], "chain": "tron"}), Some("chain")),
    ]
}

#[test]
fn chain_without_rows_and_labels_is_refused() {
    let (town, nothing) = (town(), engine(vec![]));
    for (name, request, field) in elsewhere() {
        let error = ask(&town, name, &request).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidInput(Reason::ChainNotHeld), "{name} {request}");
        assert_eq!(error.field.as_deref(), field, "{name}");
        assert!(error.message.ends_with("; it contains ethereum"), "{}", error.message);
        let error = ask(&nothing, name, &request).unwrap_err();
        assert!(error.message.ends_with("; it contains no chain yet"), "{}", error.message);
    }
    let evm = json!({"blockchain": "evm", "address": person(ALICE).to_string()});
    assert!(ask(&town, "address-risk", &evm).is_ok());
    assert_eq!(reason(&nothing, "address-risk", &evm).0, Reason::ChainNotHeld);
}

#[test]
fn label_of_a_chain_makes_it_held() {
    let towns = [Chain::TRON, Chain::BITCOIN].map(town_with_a_label_on);
    for (name, request, _) in elsewhere() {
        let refused = towns.each_ref().map(|town| match ask(town, name, &request) {
            Ok(_) => None,
            Err(error) => Some(error.kind),
        });
        let not_held = Some(ErrorKind::InvalidInput(Reason::ChainNotHeld));
        assert!(refused.contains(&not_held), "{name}: the label is on one of the two");
        assert_ne!(refused, [not_held; 2], "{name}");
    }
}

#[test]
fn calls_without_rows_and_labels_know_every_chain() {
    let nothing = engine(vec![]);
    for (name, request) in [
        ("chains", json!({})),
        ("registry", json!({})),
        ("assets", json!({"chain": "tron"})),
        ("resolve", json!({"blockchain": "tron"})),
        ("rates", json!({"symbols": "trx"})),
        ("rates/symbols", json!({})),
        ("addresses/resolve", json!({"q": TRON, "chain": "tron"})),
        ("addresses/autocomplete", json!({"q": &TRON[..5], "chain": "tron"})),
    ] {
        assert!(ask(&nothing, name, &request).is_ok(), "{name}");
    }
}

#[test]
fn unknown_field_is_refused_by_every_endpoint() {
    for endpoint in headwater_engine::ENDPOINTS {
        let mut request = (endpoint.example.request)();
        request["colour"] = json!(null);
        let ignored = ask(&town(), endpoint.name, &request).map_err(|error| error.kind);
        assert_ne!(ignored.err(), Some(ErrorKind::InvalidInput(Reason::UnknownField)), "{}", endpoint.name);
        request["colour"] = json!("");
        let refused = (Reason::UnknownField, Some("colour".to_owned()));
        assert_eq!(reason(&town(), endpoint.name, &request), refused, "{}", endpoint.name);
    }
    assert_eq!(endpoint("token/addresses_flow").unwrap().method, Method::Get);
}

#[test]
fn nobody_holds_anything_where_only_labels_are_held() {
    for (chain, request) in [
        (Chain::BITCOIN, json!({"blockchain": "bitcoin"})),
        (Chain::TRON, json!({"blockchain": "tron", "contract": "native"})),
        (Chain::BSC, json!({"blockchain": "bsc", "contract": "0x55d398326f99059ff775485246999027b3197955"})),
    ] {
        let town = town_with_a_label_on(chain);
        let holders = data(&town, "token/holders", &request);
        assert_eq!((&holders["holders"], &holders["excluded"]), (&json!([]), &json!([])), "{request}");
        assert_eq!((&holders["holder_count"], &holders["total_supply_raw"]), (&json!(0), &json!("0")), "{request}");
        let measured = data(&town, "token/concentration", &request);
        assert_eq!((&measured["holder_count"], &measured["concentration"]["gini"]), (&json!(0), &json!(0.0)));
        for name in ["token/holders", "token/concentration"] {
            assert_eq!(codes(&town, name, &request), ["no_data"], "{name} {request}");
        }
    }
    let unknown = json!({"blockchain": "bsc", "contract": person(USDT).to_string()});
    let error = ask(&town_with_a_label_on(Chain::BSC), "token/holders", &unknown).unwrap_err();
    assert!(error.message.ends_with("on bsc; no block is held"), "{}", error.message);
}

#[test]
fn a_history_without_data_has_no_days_but_those_asked_for() {
    let town = town_with_a_label_on(Chain::TRON);
    let request = |more: Value| {
        let mut request = json!({"blockchain": "tron", "address": TRON});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request
    };
    for (more, timestamp) in [(json!({}), 0), (json!({"start_time": 86_400}), 86_400)] {
        let history = data(&town, "balance-history", &request(more.clone()));
        assert_eq!(history["data_points"], json!([]), "{more}");
        let end = json!({"timestamp": timestamp, "block_number": null, "total_usd": null, "balances": []});
        assert_eq!(history["final_balance"], end);
        assert_eq!(codes(&town, "balance-history", &request(more)), ["no_data"]);
    }
    let asked = data(&town, "balance-history", &request(json!({"start_time": 0, "end_time": 86_400})));
    assert_eq!(asked["data_points"].as_array().unwrap().len(), 2);
}

#[test]
fn what_a_chain_supports_is_what_its_answers_say() {
    let chains = data(&town(), "chains", &json!({}));
    let names = ["transactions", "token/holders", "token/concentration", "token/addresses_flow", "balance-history"];
    let support = |chain: &str, name: &str| {
        let entry = chains["chains"].as_array().unwrap().iter().find(|entry| entry["chain"] == chain).unwrap();
        entry["endpoints"][name].as_str().unwrap().to_owned()
    };
    for name in names {
        assert_eq!((support("ethereum", name), support("bitcoin", name)), ("partial".into(), "none".into()), "{name}");
    }
    assert_eq!((support("ethereum", "labels"), support("bitcoin", "labels")), ("full".into(), "none".into()));
    let token = json!({"blockchain": "ethereum", "contract": person(USDT).to_string()});
    for (name, request) in
        [("balance-history", about(ALICE, json!({}))), ("token/holders", token.clone()), ("token/concentration", token)]
    {
        assert!(codes(&town(), name, &request).contains(&"partial_data".to_owned()), "{name}");
    }
    let bitcoin = json!({"blockchain": "bitcoin", "addresses": [PAID[0]]});
    assert_eq!(codes(&town_with_a_label_on(Chain::BITCOIN), "token/addresses_flow", &bitcoin), ["no_data"]);
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
