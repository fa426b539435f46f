//! A price per item: the most that a call can cost is held, what succeeded is charged.

use std::thread;
use std::time::Duration;

use headwater_server::gateway::Settings;
use serde_json::{Value, json};

use crate::support::{Mood, Reply, Server, within};

const PATH: &str = "/v1/address-risk/batch";
const ADDRESS: &str = "0x00000000000000000000000000000000000000aa";

/// So many queries that succeed, and so many that fail.
fn queries(good: usize, bad: usize) -> String {
    let query = |address: &str| json!({"blockchain": "ethereum", "address": address});
    let all: Vec<Value> = (0..good).map(|_| query(ADDRESS)).chain((0..bad).map(|_| query("0x12"))).collect();
    json!({"queries": all}).to_string()
}

fn ask(server: &Server, key: &str, more: &[(&str, &str)], body: &str) -> Reply {
    let headers = [&[("X-API-Key", key), ("Content-Type", "application/json")], more].concat();
    server.send("POST", PATH, &headers, body)
}

/// Status, cost and rest as the headers state them.
fn summary(reply: &Reply) -> (u16, &str, &str) {
    (reply.status, reply.header("x-credit-cost"), reply.header("x-credit-remaining"))
}

fn charged(server: &Server) -> i64 {
    let charged = server.count("SELECT coalesce(-sum(amount), 0) FROM credit_ledger WHERE kind = 'charge'");
    assert_eq!(server.count("SELECT coalesce(sum(cost), 0) FROM audit WHERE status = 200"), charged);
    assert_eq!(server.gateway.state().accounts().held(), 0);
    charged
}

#[test]
fn items_that_succeeded_are_charged_and_the_others_are_not() {
    let server = Server::start();
    let (_, key) = server.key(100);
    let reply = ask(&server, &key, &[], &queries(3, 2));
    assert_eq!(summary(&reply), (200, "15", "85"));
    let json = reply.json();
    assert_eq!((&json["meta"]["credit_cost"], &json["meta"]["credit_remaining"]), (&json!(15), &json!(85)));
    let failed: Vec<bool> =
        json["data"]["results"].as_array().unwrap().iter().map(|one| one["error"].is_string()).collect();
    assert_eq!(failed, [false, false, false, true, true]);
    // What was given before costs the same when it comes from the cache.
    assert_eq!(summary(&ask(&server, &key, &[], &queries(3, 2))), (200, "15", "70"));
    assert_eq!(charged(&server), 30);
    assert_eq!(server.count("SELECT count(*) FROM credit_ledger WHERE kind = 'charge' AND amount = -15"), 2);
}

#[test]
fn batch_without_a_success_costs_nothing() {
    let server = Server::start();
    let (_, key) = server.key(10);
    let reply = ask(&server, &key, &[], &queries(0, 2));
    assert_eq!(summary(&reply), (200, "0", "10"));
    assert_eq!(reply.json()["meta"]["credit_cost"], 0);
    let reply = ask(&server, &key, &[("Idempotency-Key", "a")], &queries(0, 2));
    assert_eq!(summary(&reply), (200, "0", "10"));
    let table = ask(&server, &key, &[("Accept", "text/csv")], &queries(0, 2));
    assert_eq!(summary(&table), (200, "0", "10"));
    assert_eq!(charged(&server), 0);
    assert_eq!(server.count("SELECT count(*) FROM credit_ledger WHERE kind = 'charge'"), 0);
}

#[test]
fn balance_must_cover_every_item_though_some_fail() {
    let server = Server::start();
    let (_, key) = server.key(14);
    let reply = ask(&server, &key, &[], &queries(1, 2));
    assert_eq!((reply.status, reply.error().0.as_str()), (402, "insufficient_credit"));
    assert!(reply.json()["error"]["message"].as_str().unwrap().contains("15 credits"));
    assert_eq!(reply.header("x-credit-remaining"), "14");
    // A body that is refused is refused before credits are looked at.
    let many = queries(51, 0);
    for (body, status, reason) in [
        ("{", 400, "invalid_json"),
        (r#"{"queries": []}"#, 400, "empty_list"),
        (many.as_str(), 400, "too_many_items"),
        (r#"{"queries": [{"blockchain": "ethereum", "address": "x", "symbols": []}]}"#, 400, "unknown_field"),
    ] {
        let reply = ask(&server, &key, &[], body);
        assert_eq!((reply.status, reply.error().1.as_str()), (status, reason), "{body}");
    }
    let text = [("X-API-Key", key.as_str()), ("Content-Type", "text/plain")];
    assert_eq!(server.send("POST", PATH, &text, &queries(9, 0)).status, 415);
    let reply = ask(&server, &key, &[], &queries(1, 1));
    assert_eq!(summary(&reply), (200, "5", "9"));
    assert_eq!(charged(&server), 5);
}

#[test]
fn maximum_cost_is_held_during_the_work_and_the_rest_freed() {
    let server = Server::start();
    let (_, key) = server.key(100);
    server.moody.slow_ms.store(700, std::sync::atomic::Ordering::SeqCst);
    server.moody.set(Mood::Slow);
    thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&server, &key, &[], &queries(2, 8)));
        let held = || server.gateway.state().accounts().held() == 50;
        within(Duration::from_secs(20), "50 credits are held", held);
        let reply = asked.join().unwrap();
        assert_eq!(summary(&reply), (200, "10", "90"));
    });
    server.moody.set(Mood::Good);
    assert_eq!(charged(&server), 10);
}

#[test]
fn batch_that_is_no_success_is_free() {
    let (server, hurried) = (Server::start(), Server::hurried(100));
    let ((_, key), (_, late)) = (server.key(100), hurried.key(100));
    for (mood, status) in [(Mood::Broken, 502), (Mood::Panics, 500)] {
        server.moody.set(mood);
        for more in [&[][..], &[("Idempotency-Key", "k")], &[("Accept", "text/csv")]] {
            assert_eq!(ask(&server, &key, more, &queries(2, 1)).status, status, "{mood:?} {more:?}");
        }
    }
    hurried.moody.set(Mood::Slow);
    assert_eq!(ask(&hurried, &late, &[], &queries(2, 1)).status, 504);
    for server in [&server, &hurried] {
        server.moody.set(Mood::Good);
        within(Duration::from_secs(20), "nothing is held", || server.gateway.state().accounts().held() == 0);
        assert_eq!(charged(server), 0);
    }
}

#[test]
fn repeated_batch_is_charged_once() {
    let server = Server::start();
    let (_, key) = server.key(20);
    let again = [("Idempotency-Key", "job")];
    let first = ask(&server, &key, &again, &queries(2, 1));
    assert_eq!(summary(&first), (200, "10", "10"));
    for _ in 0..2 {
        // What is left would not cover it any more.
        let reply = ask(&server, &key, &again, &queries(2, 1));
        assert_eq!((reply.status, reply.header("idempotent-replayed")), (200, "true"));
        assert_eq!((reply.header("x-credit-cost"), &reply.body), ("0", &first.body));
    }
    assert_eq!(ask(&server, &key, &again, &queries(1, 1)).status, 409);
    let table = [("Idempotency-Key", "table"), ("Accept", "application/x-ndjson")];
    let first = ask(&server, &key, &table, &queries(1, 1));
    assert_eq!(summary(&first), (200, "5", "5"));
    let replayed = ask(&server, &key, &table, &queries(1, 1));
    assert_eq!((summary(&replayed), replayed.header("idempotent-replayed")), ((200, "0", "5"), "true"));
    assert_eq!(replayed.body, first.body);
    assert_eq!(charged(&server), 15);
}

#[test]
fn table_of_a_batch_is_charged_by_its_items() {
    let server = Server::start();
    let (_, key) = server.key(100);
    let reply = ask(&server, &key, &[("Accept", "text/csv")], &queries(2, 1));
    assert_eq!((summary(&reply), reply.header("content-type")), ((200, "10", "90"), "text/csv"));
    let text = String::from_utf8(reply.body).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("blockchain,address,assessment,assessment_reasons,composite_score,risk_level,gated,"),
        "{text}"
    );
    assert_eq!(lines.len(), 4);
    assert!(lines[3].starts_with("ethereum,0x12,,") && lines[3].contains("queries[2].address"), "{text}");
    assert_eq!(charged(&server), 10);
}

#[test]
fn calls_without_a_key_are_free_where_none_is_required() {
    let server = Server::with(Settings { auth_required: false, ..Settings::default() });
    let reply = server.send("POST", PATH, &[("Content-Type", "application/json")], &queries(2, 1));
    assert_eq!((reply.status, reply.header("x-credit-cost")), (200, "0"));
    assert_eq!(reply.json()["data"]["results"].as_array().unwrap().len(), 3);
}

#[test]
fn plan_without_a_chain_refuses_a_batch_that_names_it() {
    let server = Server::start();
    let (id, key) = server.key(100);
    server.admin(|admin| {
        admin.set_plan("narrow", r#"{"chains": ["ethereum"]}"#)?;
        admin.assign_plan(&id, "narrow")
    });
    let batch = |chains: &[&str]| {
        let queries: Vec<Value> = chains.iter().map(|chain| json!({"blockchain": chain, "address": ADDRESS})).collect();
        ask(&server, &key, &[], &json!({"queries": queries}).to_string()).status
    };
    within(Duration::from_secs(20), "the plan is known", || batch(&["bsc"]) == 403);
    assert_eq!([batch(&["eth"]), batch(&["eth", "56"]), batch(&["eth", "evm"])], [200, 403, 403]);
    // A chain that is none is an error of its item.
    assert_eq!(batch(&["eth", "solana"]), 200);
    let single = |chain: &str| {
        let body = json!({"blockchain": chain, "address": ADDRESS}).to_string();
        server.client().post("/v1/address-risk", &key, &body).unwrap().status
    };
    assert_eq!([single("eth"), single("EVM"), single("bsc")], [200, 403, 403]);
}

#[test]
fn description_says_that_items_are_paid() {
    let document = headwater_server::routes::document(headwater_engine::ENDPOINTS);
    let operation = &document["paths"][PATH]["post"];
    assert_eq!((&operation["x-credit-cost"], &operation["x-credit-unit"]), (&json!(5), &json!("item")));
    let text = operation["description"].as_str().unwrap();
    assert!(text.contains("5 credits per item of `queries` that succeeds"), "{text}");
    let bounds = &document["components"]["schemas"]["AddressRiskBatchRequest"]["properties"]["queries"];
    assert_eq!((&bounds["minItems"], &bounds["maxItems"]), (&json!(1), &json!(50)));
    assert_eq!(document["paths"]["/v1/address-risk"]["post"]["x-credit-unit"], "call");
}
