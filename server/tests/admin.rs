//! The admin listener: what it does, what it refuses, and the figures it shows.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Client, QUIET, Reply, Server};

/// The data of an answer that must be a success.
fn data(reply: &Reply) -> Value {
    let json = reply.json();
    assert_eq!(reply.status, 200, "{json}");
    assert_eq!(json["meta"]["request_id"], reply.header("x-request-id"));
    json["data"].clone()
}

#[test]
fn a_key_lives_its_life_through_the_admin_listener() {
    let server = Server::start();
    let (admin_id, admin) = server.admin_key();
    let ask = |method: &str, path: &str, body: &str| server.ask_admin(method, path, &admin, body);
    data(&ask("PUT", "/admin/v1/plans/small", r#"{"concurrency": 3}"#));
    let made = data(&ask("POST", "/admin/v1/keys", r#"{"name": "n", "credits": 10, "test": true, "plan": "small"}"#));
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    assert!(key.starts_with("hw_test_"), "{key}");
    let path = |rest: &str| format!("/admin/v1/keys/{id}{rest}");
    // Known at once: no wait between the answer and the first call.
    let paid = server.client().post("/v1/transactions", key, QUIET).unwrap();
    assert_eq!((paid.status, paid.header("x-credit-remaining")), (200, "5"));
    assert_eq!(data(&ask("POST", &path("/credits"), r#"{"add": 7}"#))["credits"], 12);
    let refund = json!({"refund": paid.header("x-request-id")}).to_string();
    let refunded = data(&ask("POST", &path("/credits"), &refund));
    assert_eq!((&refunded["refunded"], &refunded["credits"]), (&json!(5), &json!(17)));
    assert_eq!(server.client().post("/v1/transactions", key, QUIET).unwrap().header("x-credit-remaining"), "12");
    assert_eq!(data(&ask("PUT", &path("/plan"), r#"{"plan": "default"}"#))["plan"], "default");
    assert_eq!(data(&ask("GET", &path(""), ""))["credits"], 12);
    let rotated = data(&ask("POST", &path("/rotate"), r#"{"grace_hours": 0}"#));
    assert_eq!(rotated["name"], made["name"]);
    let next = rotated["key"].as_str().unwrap();
    assert_eq!(server.client().post("/v1/transactions", key, QUIET).unwrap().status, 401);
    assert_eq!(server.client().post("/v1/transactions", next, QUIET).unwrap().status, 200);
    let usage = data(&ask("GET", &format!("/admin/v1/usage?key_id={id}"), ""));
    assert_eq!((&usage["credit_remaining"], &usage["by_endpoint"][0]["credits"]), (&json!(7), &json!(15)));
    let next_id = rotated["id"].as_str().unwrap();
    assert!(data(&ask("DELETE", &format!("/admin/v1/keys/{next_id}"), ""))["revoked_at"].is_i64());
    assert_eq!(server.client().post("/v1/transactions", next, QUIET).unwrap().status, 401);
    let keys = data(&ask("GET", "/admin/v1/keys", ""));
    assert_eq!(keys["keys"].as_array().unwrap().len(), 2);
    assert!(!keys.to_string().contains(&key[17..60]));
    assert_eq!(data(&ask("GET", "/admin/v1/plans", ""))["plans"].as_array().unwrap().len(), 2);
    data(&ask("DELETE", "/admin/v1/plans/small", ""));

    let changes = data(&ask("GET", "/admin/v1/changes?limit=1000", ""));
    let rows = changes["changes"].as_array().unwrap();
    let by_us = rows.iter().filter(|row| row["actor"] == format!("admin:{admin_id}"));
    let actions: Vec<&str> = by_us.map(|row| row["action"].as_str().unwrap()).collect();
    let expected = [
        "plans.remove",
        "keys.revoke",
        "keys.rotate",
        "plans.assign",
        "credits.refund",
        "credits.add",
        "keys.create",
        "plans.set",
    ];
    assert_eq!(actions, expected);
    let page = data(&ask("GET", "/admin/v1/changes?limit=2", ""));
    let cursor = page["next_cursor"].as_str().unwrap();
    let next_page = data(&ask("GET", &format!("/admin/v1/changes?limit=2&cursor={cursor}"), ""));
    assert_eq!(next_page["changes"][0], rows[2]);
}

#[test]
fn what_cannot_be_done_is_refused_as_the_public_api_refuses() {
    let server = Server::start();
    let (_, admin) = server.admin_key();
    let (id, _) = server.key(10);
    let (_, other) = server.key(10);
    let others = server.client().post("/v1/transactions", &other, QUIET).unwrap();
    let foreign = json!({"refund": others.header("x-request-id")}).to_string();
    let credits = format!("/admin/v1/keys/{id}/credits");
    for (status, reason, method, path, body) in [
        (404, "", "GET", "/admin/v1/keys/AAAAAAAA", ""),
        (404, "", "DELETE", "/admin/v1/keys/AAAAAAAA", ""),
        (404, "", "GET", "/admin/v1/nothing", ""),
        (404, "", "GET", "/v1/chains", ""),
        (404, "", "DELETE", "/admin/v1/plans/none", ""),
        (404, "", "DELETE", "/admin/v1/plans/default", ""),
        (404, "", "GET", "/admin/v1/usage?key_id=AAAAAAAA", ""),
        (404, "", "POST", &credits, r#"{"refund": "nothing"}"#),
        (404, "", "POST", &credits, &foreign),
        (405, "", "PUT", "/admin/v1/keys", "{}"),
        (400, "invalid_value", "POST", &credits, r#"{"add": 0}"#),
        (400, "invalid_type", "POST", &credits, r#"{"add": "5"}"#),
        (400, "missing_field", "POST", &credits, "{}"),
        (400, "invalid_value", "POST", &credits, r#"{"add": 1, "refund": "x"}"#),
        (400, "invalid_json", "POST", &credits, "{"),
        (400, "unknown_field", "POST", "/admin/v1/keys", r#"{"credit": 5}"#),
        (400, "invalid_value", "POST", "/admin/v1/keys", r#"{"credits": -5}"#),
        (404, "", "POST", "/admin/v1/keys", r#"{"plan": "none"}"#),
        (400, "unknown_field", "PUT", "/admin/v1/plans/x", r#"{"heavi": 1}"#),
        (400, "unknown_field", "GET", "/admin/v1/audit?stats=200", ""),
        (400, "limit_out_of_range", "GET", "/admin/v1/audit?limit=0", ""),
        (400, "missing_field", "GET", "/admin/v1/usage", ""),
        (400, "unknown_field", "POST", "/admin/v1/lost-answers", r#"{"request_id": "x"}"#),
        (400, "unknown_field", "POST", "/admin/v1/lost-answers?key_id=x", ""),
        (400, "unknown_field", "POST", "/admin/v1/keys?credits=1000", ""),
        (400, "unknown_field", "GET", "/admin/v1/keys?limit=5", ""),
        (404, "", "GET", "/admin/v1/keys/a%00b", ""),
        (404, "", "DELETE", "/admin/v1/keys/a%00b", ""),
        (404, "", "GET", "/admin/v1/usage?key_id=a%00b", ""),
        (404, "", "POST", &credits, r#"{"refund": "a\u0000b"}"#),
        (404, "", "PUT", &format!("/admin/v1/keys/{id}/plan"), r#"{"plan": "a\u0000b"}"#),
        (400, "invalid_value", "POST", "/admin/v1/keys", r#"{"name": "a\u0000b"}"#),
        (400, "invalid_value", "POST", "/admin/v1/keys", r#"{"name": "a\nb"}"#),
        (400, "invalid_value", "POST", "/admin/v1/keys", r#"{"name": ""}"#),
        (400, "invalid_value", "GET", "/admin/v1/audit?cursor=xyz", ""),
        (400, "invalid_value", "GET", "/admin/v1/audit/sums?cursor=xyz", ""),
        (400, "limit_out_of_range", "GET", "/admin/v1/audit/sums?limit=0", ""),
        (400, "invalid_value", "GET", "/admin/v1/audit?cursor=a%00b", ""),
        (400, "invalid_value", "GET", "/admin/v1/changes?cursor=junk", ""),
        (400, "invalid_value", "POST", &format!("/admin/v1/keys/{id}/rotate"), r#"{"grace_hours": 9999}"#),
    ] {
        let reply = server.ask_admin(method, path, &admin, body);
        assert_eq!((reply.status, reply.error().1.as_str()), (status, reason), "{method} {path} {body}");
    }
    server.ask_admin("DELETE", &format!("/admin/v1/keys/{id}"), &admin, "");
    assert_eq!(server.ask_admin("POST", &format!("/admin/v1/keys/{id}/rotate"), &admin, "").status, 409);
    let mut client = Client::connect(server.admin).unwrap();
    let plain = [("X-Admin-Key", admin.as_str()), ("Content-Type", "text/plain")];
    assert_eq!(client.send("POST", &credits, &plain, b"{}").unwrap().status, 415);
}

#[test]
fn what_is_wrong_is_named_by_its_field_and_changes_nothing() {
    let server = Server::start();
    let (_, admin) = server.admin_key();
    let (id, _) = server.key(10);
    let key = |rest: &str| format!("/admin/v1/keys/{id}{rest}");
    let plan = "/admin/v1/plans/x".to_owned();
    let audit = |query: &str| format!("/admin/v1/audit?{query}");
    let keys = "/admin/v1/keys".to_owned();
    for (method, path, body, reason, field) in [
        ("GET", audit("stats=200"), "", "unknown_field", "stats"),
        ("GET", audit("status=42"), "", "invalid_value", "status"),
        ("GET", audit("status=9999"), "", "invalid_value", "status"),
        ("GET", audit("status=-1"), "", "invalid_value", "status"),
        ("GET", audit("status=ok"), "", "invalid_type", "status"),
        ("GET", audit("status=200&status=400"), "", "invalid_value", "status"),
        ("GET", audit("since=1700000000000"), "", "milliseconds", "since"),
        ("GET", audit("since=-1"), "", "invalid_value", "since"),
        ("GET", audit("since=today"), "", "invalid_type", "since"),
        ("GET", audit("key_id="), "", "invalid_value", "key_id"),
        ("GET", audit("limit=-1"), "", "limit_out_of_range", "limit"),
        ("GET", audit("limit=1001"), "", "limit_out_of_range", "limit"),
        ("GET", audit("cursor=xyz"), "", "invalid_value", "cursor"),
        ("GET", "/admin/v1/usage".to_owned(), "", "missing_field", "key_id"),
        ("GET", "/admin/v1/usage?key=x&key_id=x".to_owned(), "", "unknown_field", "key"),
        ("POST", keys.clone(), r#"{"credit": 5}"#, "unknown_field", "credit"),
        ("POST", keys.clone(), r#"{"credits": "5"}"#, "invalid_type", "credits"),
        ("POST", keys.clone(), r#"{"credits": -5}"#, "invalid_value", "credits"),
        ("POST", keys.clone(), r#"{"name": 5}"#, "invalid_type", "name"),
        ("POST", keys.clone() + "?credits=5", "", "unknown_field", "credits"),
        ("POST", key("/credits"), r#"{"add": 0}"#, "invalid_value", "add"),
        ("POST", key("/credits"), r#"{"add": 1.5}"#, "invalid_type", "add"),
        ("POST", key("/credits"), "{}", "missing_field", "add"),
        ("POST", key("/credits"), r#"{"add": 1, "refund": "x"}"#, "invalid_value", "refund"),
        ("POST", key("/rotate"), r#"{"grace_hours": -1}"#, "invalid_value", "grace_hours"),
        ("PUT", key("/plan"), "{}", "missing_field", "plan"),
        ("DELETE", key(""), r#"{"id": "x"}"#, "unknown_field", "id"),
        ("PUT", plan.clone(), r#"{"heavi": 1}"#, "unknown_field", "heavi"),
        ("PUT", plan.clone(), r#"{"name": "y"}"#, "invalid_value", "name"),
        ("PUT", plan.clone(), r#"{"heavy": {"burst": 1}}"#, "missing_field", "heavy.per_second"),
        ("PUT", plan.clone(), r#"{"heavy": {"per_second": 0, "burst": 1}}"#, "invalid_value", "heavy"),
        ("PUT", plan.clone(), r#"{"concurrency": 0}"#, "invalid_value", "concurrency"),
        ("PUT", plan.clone(), r#"{"endpoints": ["/v1/rates", "nope"]}"#, "invalid_value", "endpoints[1]"),
        ("PUT", plan.clone(), r#"{"chains": ["doge"]}"#, "invalid_value", "chains[0]"),
    ] {
        let reply = server.ask_admin(method, &path, &admin, body);
        let details = &reply.json()["error"]["details"];
        assert_eq!(
            (reply.status, &details["reason"], &details["field"]),
            (400, &json!(reason), &json!(field)),
            "{method} {path} {body}"
        );
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(!message.contains("eserialize"), "{message}");
    }
    let refused = server.ask_admin("GET", &audit("status=9999"), &admin, "").json()["error"].clone();
    assert_eq!(refused["details"]["value"], "9999");
    assert!(refused["message"].as_str().unwrap().contains("100 to 599"), "{refused}");
    assert_eq!(data(&server.ask_admin("GET", &key(""), &admin, ""))["credits"], 10);
    assert_eq!(server.ask_admin("GET", &plan, &admin, "").status, 404);
    let made = data(&server.ask_admin("PUT", &plan, &admin, r#"{"name": "x", "concurrency": 3}"#));
    // What a plan is shown as makes it again.
    assert_eq!(data(&server.ask_admin("PUT", &plan, &admin, &made.to_string())), made);
}

/// The curl of the page, which here ends with an error where the answer is one.
const CURL: &str =
    r#"curl() { command curl --silent --show-error --fail-with-body --noproxy '*' --max-time 60 "$@"; }"#;

#[test]
fn back_office_page_names_every_route_with_working_examples() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/back-office.md");
    let page = std::fs::read_to_string(page).unwrap();
    for path in headwater_server::admin::PATHS {
        assert!(page.contains(&format!(" {path}`")), "{path}");
    }
    let (server, labels) = (Server::start(), crate::disputes::BackOfficeClient::with_labels());
    let ((_, admin), (id, key)) = (server.admin_key(), server.key(10));
    let paid = server.client().post("/v1/transactions", &key, QUIET).unwrap();
    let blocks: Vec<&str> = page.split("```bash\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 4, "{blocks:?}");
    for block in blocks {
        // Claims are in a store, keys of the other examples in a service without one.
        let is_about_labels = block.contains("/admin/v1/labels/");
        let (office, admin) = if is_about_labels { labels.place() } else { (server.admin, admin.as_str()) };
        let done = std::process::Command::new("bash")
            .args(["-euo", "pipefail", "-c", &format!("{CURL}\n{block}")])
            .env("ADMIN", format!("http://{office}"))
            .envs([("ADMIN_KEY", admin), ("KEY_ID", &id), ("REQUEST_ID", paid.header("x-request-id"))])
            .output()
            .unwrap();
        let said = [String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr)].concat();
        assert!(done.status.success() && !done.stdout.is_empty(), "{block}\n{said}");
    }
}

#[test]
fn a_wrong_admin_key_is_refused_and_guessing_is_slowed_down() {
    let server = Server::start();
    let (id, admin) = server.admin_key();
    let (_, key) = server.key(1);
    let mut wrong = admin.clone().into_bytes();
    wrong[30] = if wrong[30] == b'x' { b'y' } else { b'x' };
    let wrong = String::from_utf8(wrong).unwrap();
    for shown in ["", "nothing", &key, &wrong] {
        let reply = server.ask_admin("GET", "/admin/v1/keys", shown, "");
        assert_eq!((reply.status, reply.error().0.as_str()), (401, "unauthorized"), "{shown}");
    }
    assert_eq!(server.ask_admin("GET", "/admin/v1/keys", &admin, "").status, 200);
    let statuses: Vec<u16> = (0..30).map(|_| server.ask_admin("GET", "/metrics", "x", "").status).collect();
    assert!(statuses.contains(&429) && statuses[0] == 401, "{statuses:?}");
    let slowed = server.ask_admin("GET", "/metrics", "x", "");
    if slowed.status == 429 {
        assert_eq!((slowed.error().1.as_str(), slowed.header("retry-after")), ("rate_limited", "1"));
    }
    server.admin(|admin| admin.revoke_admin(&id));
    crate::support::within(std::time::Duration::from_secs(20), "the revoked key is refused", || {
        server.ask_admin("GET", "/admin/v1/keys", &admin, "").status == 401
    });
}

#[test]
fn admin_requests_are_audited_and_cost_nothing() {
    let server = Server::start();
    let (id, admin) = server.admin_key();
    let first = server.ask_admin("GET", "/admin/v1/keys/AAAAAAAA", &admin, "");
    let second = server.ask_admin("GET", "/admin/v1/keys", "wrong", "");
    server.flush();
    let lines = server.logged();
    let line = |reply: &Reply| lines.iter().find(|line| line["request_id"] == reply.header("x-request-id")).unwrap();
    assert_eq!((&line(&first)["endpoint"], &line(&first)["status"]), (&json!("/admin/v1/keys/{id}"), &json!(404)));
    assert_eq!(line(&first)["key_id"], format!("admin:{id}"));
    assert_eq!((&line(&second)["status"], line(&second).get("key_id")), (&json!(401), None));
    let sums = data(&server.ask_admin("GET", "/admin/v1/audit/sums?status=404", &admin, ""));
    let sum = &sums["sums"][0];
    assert_eq!(
        (&sum["endpoint"], &sum["requests"], &sum["span_secs"]),
        (&json!("/admin/v1/keys/{id}"), &json!(1), &json!(60))
    );
    assert_eq!(
        (&sums["next_cursor"], &sums["log"]["files"], &sums["log"]["lost_lines"]),
        (&Value::Null, &json!(1), &json!(0))
    );
    let one = data(&server.ask_admin("GET", "/admin/v1/audit/sums?limit=1", &admin, ""));
    let path = format!("/admin/v1/audit/sums?limit=1&cursor={}", one["next_cursor"].as_str().unwrap());
    assert_ne!(data(&server.ask_admin("GET", &path, &admin, ""))["sums"][0], one["sums"][0]);
    for kept in [&first, &second] {
        assert_eq!(
            server.count(&format!("SELECT count(*) FROM audit WHERE request_id = '{}'", kept.header("x-request-id"))),
            0
        );
    }
    let page = data(&server.ask_admin("GET", "/admin/v1/audit?limit=1", &admin, ""));
    let cursor = page["next_cursor"].as_str().unwrap();
    let next = data(&server.ask_admin("GET", &format!("/admin/v1/audit?limit=1&cursor={cursor}"), &admin, ""));
    assert!(next["requests"][0]["request_id"].as_str().unwrap() < cursor);
}

#[test]
fn lost_answers_and_backups_are_handled_over_http() {
    let server = Server::start();
    let (_, admin) = server.admin_key();
    server.key(10);
    assert_eq!(data(&server.ask_admin("GET", "/admin/v1/lost-answers", &admin, ""))["lost"], json!([]));
    assert_eq!(data(&server.ask_admin("POST", "/admin/v1/lost-answers", &admin, ""))["refunded_requests"], 0);
    let made = data(&server.ask_admin("POST", "/admin/v1/backup", &admin, ""));
    let change = &data(&server.ask_admin("GET", "/admin/v1/changes?limit=1", &admin, ""))["changes"][0];
    assert_eq!((&change["action"], &change["target"]), (&json!("state.backup"), &made["folder"]));
    assert_eq!(made["entries"], 1);
    let folder = std::path::Path::new(made["folder"].as_str().unwrap());
    let copy = headwater_state::Home::in_folder(folder).unwrap();
    assert_eq!(copy.check().unwrap().entries, 1);
}

#[test]
fn health_needs_no_key_and_figures_do() {
    let server = Server::start();
    for path in ["/healthz", "/readyz"] {
        let reply = Client::connect(server.admin).unwrap().send("GET", path, &[], b"").unwrap();
        assert_eq!(reply.status, 200, "{path}");
    }
    assert_eq!(Client::connect(server.admin).unwrap().send("GET", "/metrics", &[], b"").unwrap().status, 401);
    server.gateway.drain();
    let reply = Client::connect(server.admin).unwrap().send("GET", "/readyz", &[], b"").unwrap();
    assert_eq!((reply.status, reply.error().1.as_str()), (503, "draining"));
}

/// A line of a scrape: name, labels and value.
type Series = (String, Vec<(String, String)>, f64);

/// Every line of a scrape.
fn scrape(server: &Server, admin: &str) -> Vec<Series> {
    let reply = server.ask_admin("GET", "/metrics", admin, "");
    assert_eq!(reply.status, 200);
    assert!(
        reply.header("content-type").starts_with("application/openmetrics-text"),
        "{}",
        reply.header("content-type")
    );
    let text = String::from_utf8(reply.body).unwrap();
    assert!(text.ends_with("# EOF\n"));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let labels = labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}"));
            let pairs = labels.split("\",").filter(|pair| !pair.is_empty());
            let pairs = pairs.map(|pair| pair.split_once("=\"").unwrap_or_else(|| panic!("{line}")));
            let pairs = pairs.map(|(name, value)| (name.to_owned(), value.trim_end_matches('"').to_owned()));
            (name.to_owned(), pairs.collect(), value.parse().unwrap_or_else(|_| panic!("{line}")))
        })
        .collect()
}

#[test]
fn figures_count_what_happened_and_their_labels_stay_few() {
    let server = Server::start();
    let (_, admin) = server.admin_key();
    let (_, key) = server.key(1000);
    server.gateway.metrics().watch("test_watched", "A gauge of another part", || 7);
    let before = scrape(&server, &admin);
    for turn in 0..20 {
        assert_eq!(server.client().post("/v1/transactions", &key, QUIET).unwrap().status, 200);
        server.client().post("/v1/transactions", &format!("wrong-{turn}"), QUIET).unwrap();
        server.client().post("/v1/transactions", &key, &format!("{{\"x{turn}\": 1}}")).unwrap();
        server.send("GET", &format!("/v1/no-{turn}"), &[("X-API-Key", &key)], "");
        server.send("GET", &format!("/v1/transaction/0x{turn:064x}?blockchain=ethereum"), &[("X-API-Key", &key)], "");
        server.send(["GET", "PATCH", "BREW"][turn % 3], "/healthz", &[("X-Correlation-Id", &format!("c{turn}"))], "");
    }
    let lines = scrape(&server, &admin);
    let value = |name: &str, labels: &[(&str, &str)]| {
        let fits = |found: &[(String, String)]| {
            labels.iter().all(|(name, value)| found.iter().any(|(one, other)| one == name && other == value))
        };
        let sum = |lines: &[Series]| {
            lines.iter().filter(|(one, found, _)| one == name && fits(found)).map(|(_, _, value)| value).sum::<f64>()
        };
        // Making the key does not count.
        if name.ends_with("_total") || name.ends_with("_count") { sum(&lines) - sum(&before) } else { sum(&lines) }
    };
    let is = |name: &str, labels: &[(&str, &str)], expected: f64| {
        let found = value(name, labels);
        assert!((found - expected).abs() < 0.5, "{name} {labels:?}: {found} is not {expected}");
    };
    is("headwater_requests_total", &[("endpoint", "/v1/transactions"), ("status", "2xx")], 20.0);
    is("headwater_requests_total", &[("endpoint", "/v1/transactions"), ("status", "4xx")], 40.0);
    is("headwater_requests_total", &[("endpoint", "/v1/transaction/{hash}")], 20.0);
    is("headwater_refused_total", &[("code", "unauthorized")], 20.0);
    is("headwater_refused_total", &[("code", "bad_request"), ("reason", "unknown_field")], 20.0);
    is("headwater_credits_charged_total", &[], 100.0);
    is("headwater_request_duration_seconds_count", &[("class", "medium")], 60.0);
    // This very request.
    is("headwater_requests_in_flight", &[], 1.0);
    is("headwater_test_watched", &[], 7.0);
    assert!(value("headwater_state_commit_seconds_count", &[]) > 0.0);
    let secrets = [&key[9..17], &key[18..], &admin[10..18], "127.0.0.1", "wrong-", "no-1", "x1"];
    let labels: BTreeSet<&str> =
        lines.iter().flat_map(|(_, labels, _)| labels).map(|(_, value)| value.as_str()).collect();
    for secret in secrets {
        assert!(!labels.iter().any(|label| label.contains(secret)), "{secret} in {labels:?}");
    }
    println!("series before the calls {}, after {}", before.len(), lines.len());
    // The same calls again make no new series.
    for turn in 100..120 {
        server.client().post("/v1/transactions", &format!("wrong-{turn}"), QUIET).unwrap();
        server.send("GET", &format!("/v1/no-{turn}"), &[], "");
        server.send("GET", &format!("/v1/transaction/0x{turn:064x}?blockchain=ethereum"), &[("X-API-Key", &key)], "");
    }
    assert_eq!(scrape(&server, &admin).len(), lines.len());
}
