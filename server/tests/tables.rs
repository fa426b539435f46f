//! Lists in other forms than JSON.

use serde_json::{Value, json};

use crate::support::{Mood, Process, QUIET, Server, run, run_json, small_store};

const SENDER: &str = "0xa1e4380a3b1f749673e270229993ee55f35663b4";
const JSON: (&str, &str) = ("Content-Type", "application/json");

#[test]
fn a_list_comes_as_rows_with_its_meta_in_headers() {
    let server = Server::start();
    let (_, key) = server.key(7);
    let ask =
        |accept: &str| server.send("POST", "/v1/transactions", &[JSON, ("X-API-Key", &key), ("Accept", accept)], QUIET);
    let reply = ask("text/csv");
    assert_eq!((reply.status, reply.header("content-type")), (200, "text/csv"));
    let text = String::from_utf8(reply.body.clone()).unwrap();
    assert!(text.starts_with("id,blockchain,tx_hash,block_number,timestamp,timestamp_iso,"), "{text}");
    assert_eq!((reply.header("x-credit-cost"), reply.header("x-credit-remaining")), ("5", "2"));
    assert_eq!(reply.header("x-warnings"), "no_data");
    assert!(!reply.headers.contains_key("x-next-cursor"));
    assert_eq!(reply.header("x-request-id").len(), 36);
    // The rest does not cover a second call, and an envelope says so.
    let reply = ask("text/csv");
    assert_eq!((reply.status, reply.error().0.as_str()), (402, "insufficient_credit"));
    server.flush();
    assert_eq!(server.count("SELECT sum(cost) FROM audit WHERE status = 200"), 5);
}

#[test]
fn a_refusal_is_an_envelope_whatever_was_asked_for() {
    // A panic may take longer than a short budget: where it happened is looked up.
    let (server, hurried) = (Server::start(), Server::hurried(100));
    let ((_, key), (_, other)) = (server.key(100), hurried.key(100));
    let csv = |path: &str, body: &str| {
        let method = if body.is_empty() { "GET" } else { "POST" };
        server.send(method, path, &[JSON, ("X-API-Key", &key), ("Accept", "text/csv")], body)
    };
    let refused = csv("/v1/transactions", r#"{"blockchain": "ethereum", "address": "0x12"}"#);
    assert_eq!((refused.status, refused.error().1.as_str()), (400, "invalid_address"));
    let over = csv("/v1/transactions", r#"{"blockchain": "ethereum", "address": "0x12", "limit": 100001}"#);
    assert_eq!(over.status, 400);
    let no_list = csv("/v1/counterparty/overview", "{}");
    assert_eq!((no_list.status, no_list.error().0.as_str()), (406, "not_acceptable"));
    for (mood, status) in [(Mood::Broken, 502), (Mood::Panics, 500)] {
        server.moody.set(mood);
        assert_eq!(csv("/v1/transactions", QUIET).status, status);
    }
    server.moody.set(Mood::Good);
    hurried.moody.set(Mood::Slow);
    let headers = [JSON, ("X-API-Key", other.as_str()), ("Accept", "text/csv")];
    assert_eq!(hurried.send("POST", "/v1/transactions", &headers, QUIET).status, 504);
    hurried.moody.set(Mood::Good);
    for server in [&server, &hurried] {
        server.flush();
        assert_eq!(server.count("SELECT coalesce(sum(cost), 0) FROM audit"), 0, "what failed costs nothing");
        assert_eq!(server.gateway.state().accounts().held(), 0);
    }
}

#[test]
fn rows_over_http_are_those_of_the_answer() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let server = Process::start(&store, &["--set", "auth.required=false"]);
    let body = json!({"blockchain": "ethereum", "address": SENDER}).to_string();
    let mut client = server.client().unwrap();
    let whole = client.send("POST", "/v1/transactions", &[JSON], body.as_bytes()).unwrap().json();
    let lines =
        client.send("POST", "/v1/transactions", &[JSON, ("Accept", "application/x-ndjson")], body.as_bytes()).unwrap();
    let row: Value = serde_json::from_slice(&lines.body).unwrap();
    assert_eq!(row, whole["data"]["datas"][0]);
    assert_eq!((lines.header("x-as-of-block"), lines.header("x-total-count")), ("46147", "1"));
    // No price was imported: all stablecoins that are pegged on ethereum.
    let pegged = "dai, fdusd, gusd, pyusd, rlusd, usd1, usdc, usdg, usdp, usds, usdt";
    assert_eq!(whole["meta"]["pegged"], pegged.split(", ").collect::<Value>());
    assert_eq!(lines.header("x-pegged"), pegged);
    for (accept, magic) in
        [("application/vnd.apache.parquet", &b"PAR1"[..]), ("application/vnd.apache.arrow.stream", b"\xff\xff\xff\xff")]
    {
        let reply = client.send("GET", "/v1/registry", &[("Accept", accept)], b"").unwrap();
        assert_eq!((reply.status, reply.header("content-type")), (200, accept));
        assert!(reply.body.starts_with(magic), "{accept}");
    }
    let flow = json!({"blockchain": "ethereum", "addresses": [SENDER]}).to_string();
    let posted = client.send("POST", "/v1/token/addresses_flow", &[JSON], flow.as_bytes()).unwrap().json();
    let query = format!("/v1/token/addresses_flow?blockchain=ethereum&addresses={SENDER}");
    let got = client.send("GET", &query, &[], b"").unwrap().json();
    assert_eq!(posted["data"]["addresses"], got["data"]["addresses"]);
    assert_eq!(got["data"]["addresses"][0]["sent_count"], 1);
}

#[test]
fn an_answer_that_was_given_before_comes_from_the_cache() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let server = Process::start(&store, &["--set", "auth.required=false"]);
    let mut client = server.client().unwrap();
    let mut cached = |query: &str| {
        let path = format!("/v1/token/holders?blockchain=ethereum&contract=native{query}");
        let reply = client.send("GET", &path, &[], b"").unwrap().json();
        assert_eq!(reply["meta"]["pagination"]["total"], reply["data"]["holder_count"], "{reply}");
        reply["data"]["meta"]["cached"].as_bool().unwrap()
    };
    assert_eq!([cached(""), cached(""), cached("&limit=5"), cached("")], [false, true, false, true]);
    let prices = place.path().join("ETH-USD-1d.csv");
    std::fs::write(&prices, "symbol,ts,price_usd\neth,1438918233,1.5\n").unwrap();
    run_json(&["prices", "import", "--json", "--store", store.to_str().unwrap(), prices.to_str().unwrap()]);
    assert!(!cached(""), "an import makes a new generation");
}

#[test]
fn the_command_line_writes_lists_by_the_ending_of_the_file() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = store.to_str().unwrap();
    let out = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let body = json!({"blockchain": "ethereum", "address": SENDER}).to_string();
    for name in ["rows.csv", "rows.ndjson", "rows.parquet", "rows.arrow"] {
        let file = out(name);
        let report = run_json(&["query", "transactions", "--json", "--store", at, "--body", &body, "--out", &file]);
        assert_eq!((&report["rows"], &report["next_cursor"]), (&json!(1), &Value::Null), "{name}");
        assert!(std::fs::metadata(&file).unwrap().len() > 0 && !std::fs::exists(file + ".partial").unwrap());
    }
    let csv = std::fs::read_to_string(out("rows.csv")).unwrap();
    assert!(csv.contains("2015-08-07T03:30:33Z"), "{csv}");
    let refused = run(&["query", "transactions", "--store", at, "--out", &out("new.csv")]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(!std::fs::exists(out("new.csv")).unwrap() && !std::fs::exists(out("new.csv.partial")).unwrap());
    let no_list = run(&["query", "counterparty/overview", "--store", at, "--body", &body, "--out", &out("x.csv")]);
    assert!(String::from_utf8_lossy(&no_list.stderr).contains("is not a list"));
}
