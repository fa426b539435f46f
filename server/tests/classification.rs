//! Classification over HTTP: one price for a call, refusals with the place of the address, tables, plans.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Reply, Server, within};

const PATH: &str = "/v1/address-classify";
const ADDRESS: &str = "0x00000000000000000000000000000000000000aa";
const TRON: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";

fn ask(server: &Server, key: &str, more: &[(&str, &str)], body: &Value) -> Reply {
    let headers = [&[("X-API-Key", key), ("Content-Type", "application/json")], more].concat();
    server.send("POST", PATH, &headers, &body.to_string())
}

fn of(addresses: &[&str]) -> Value {
    json!({"blockchain": "ethereum", "addresses": addresses})
}

#[test]
fn call_costs_five_credits_whatever_its_items_come_to() {
    let server = Server::start();
    let (_, key) = server.key(15);
    let reply = ask(&server, &key, &[], &of(&[ADDRESS; 100]));
    assert_eq!((reply.status, reply.header("x-credit-cost"), reply.header("x-credit-remaining")), (200, "5", "10"));
    let json = reply.json();
    let results = json["data"]["results"].as_array().unwrap();
    assert_eq!((results.len(), &results[99]["address"]), (100, &json!(ADDRESS)));
    // The store of this server is empty.
    let failed = |one: &Value| one["predicted_class"].is_null() && one["confidence"] == 0.0 && one["error"].is_string();
    assert!(results.iter().all(failed), "{json}");
    // Without a chain it is TRON.
    let reply = ask(&server, &key, &[], &json!({"addresses": [TRON]}));
    assert_eq!(reply.json()["data"]["results"][0]["blockchain"], "tron");
    let single = ask(&server, &key, &[], &of(&[ADDRESS]));
    assert_eq!((single.status, single.header("x-credit-remaining")), (200, "0"));
    assert_eq!(ask(&server, &key, &[], &of(&[ADDRESS, ADDRESS])).status, 402);
}

#[test]
fn refusal_names_the_place_and_costs_nothing() {
    let server = Server::start();
    let (_, key) = server.key(5);
    let many = vec![ADDRESS; 101];
    for (body, reason, field, index) in [
        (json!({}), "missing_field", "addresses", None),
        (of(&[]), "empty_list", "addresses", None),
        (of(&many), "too_many_items", "addresses", None),
        (of(&[ADDRESS, ADDRESS, ADDRESS, "0x12"]), "invalid_address", "addresses[3]", Some(3)),
        (json!({"addresses": [ADDRESS]}), "invalid_address", "addresses[0]", Some(0)),
        (json!({"addresses": [ADDRESS], "blockchain": "bsc"}), "unsupported_chain", "blockchain", None),
    ] {
        let reply = ask(&server, &key, &[], &body);
        let error = &reply.json()["error"];
        assert_eq!((reply.status, &error["details"]["reason"]), (400, &json!(reason)), "{body}");
        assert_eq!((&error["details"]["field"], error["details"]["index"].as_u64()), (&json!(field), index), "{body}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(field), "{message}");
    }
    let text = [("X-API-Key", key.as_str()), ("Content-Type", "text/plain")];
    assert_eq!(server.send("POST", PATH, &text, &of(&[ADDRESS]).to_string()).status, 415);
    assert_eq!(server.send("POST", PATH, &[], &of(&[ADDRESS]).to_string()).status, 401);
    assert_eq!(server.send("GET", PATH, &[("X-API-Key", &key)], "").status, 405);
    assert_eq!(ask(&server, &key, &[], &of(&[ADDRESS])).header("x-credit-remaining"), "0");
}

#[test]
fn table_has_a_line_per_address() {
    let server = Server::start();
    let (_, key) = server.key(5);
    let reply = ask(&server, &key, &[("Accept", "text/csv")], &of(&[ADDRESS, ADDRESS]));
    assert_eq!((reply.status, reply.header("content-type"), reply.header("x-credit-cost")), (200, "text/csv", "5"));
    let text = String::from_utf8(reply.body).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let head = "address,blockchain,predicted_class,confidence,probabilities,explained_class,contributions,error";
    assert_eq!((lines[0], lines.len()), (head, 3));
    assert!(lines[1].starts_with(&format!("{ADDRESS},ethereum,,0.0,,,,")), "{text}");
}

#[test]
fn plan_without_a_chain_refuses_its_addresses() {
    let server = Server::start();
    let (id, key) = server.key(100);
    server.admin(|admin| {
        admin.set_plan("narrow", r#"{"chains": ["ethereum"]}"#)?;
        admin.assign_plan(&id, "narrow")
    });
    let named = |chain: &str, address: &str| {
        ask(&server, &key, &[], &json!({"blockchain": chain, "addresses": [address]})).status
    };
    within(Duration::from_secs(20), "the plan is known", || named("tron", TRON) == 403);
    // Without a chain it is TRON.
    assert_eq!(ask(&server, &key, &[], &json!({"addresses": [TRON]})).status, 403);
    assert_eq!((named("eth", ADDRESS), named("bsc", ADDRESS)), (200, 400));
}

#[test]
fn description_states_bounds_chains_and_default() {
    let document = headwater_server::routes::document(headwater_engine::ENDPOINTS);
    let operation = &document["paths"][PATH]["post"];
    assert_eq!((&operation["x-credit-cost"], &operation["x-credit-unit"]), (&json!(5), &json!("call")));
    let schemas = &document["components"]["schemas"];
    let addresses = &schemas["AddressClassifyRequest"]["properties"]["addresses"];
    assert_eq!((&addresses["minItems"], &addresses["maxItems"]), (&json!(1), &json!(100)));
    assert_eq!(schemas["ChainOrTron"]["enum"], json!(["tron", "ethereum", "bitcoin"]));
    let chain = schemas["AddressClassifyRequest"]["properties"]["blockchain"]["description"].as_str().unwrap();
    assert!(chain.contains("`tron` when omitted"), "{chain}");
    // New classes may come: a class is open text.
    let class = &schemas["AddressClassification"]["properties"]["predicted_class"];
    assert!(class["enum"].is_null(), "{class}");
}
