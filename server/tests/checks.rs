//! Each check of the order of checks, alone and in its place.

use headwater_server::gateway::{ListenerConfig, Settings};

use crate::support::{Mood, QUIET, Server};

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[test]
fn success_is_data_and_meta_with_matching_headers() {
    let server = Server::start();
    let (_, key) = server.key(12);
    let reply =
        server.send("POST", "/v1/transactions", &[JSON, ("X-API-Key", &key), ("X-Correlation-Id", "job-1")], QUIET);
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    let json = reply.json();
    assert_eq!(json["data"]["datas"], serde_json::json!([]));
    assert_eq!((json["meta"]["credit_cost"].as_i64(), json["meta"]["credit_remaining"].as_i64()), (Some(5), Some(7)));
    assert_eq!((reply.header("x-credit-cost"), reply.header("x-credit-remaining")), ("5", "7"));
    assert_eq!(json["meta"]["request_id"], reply.header("x-request-id"));
    assert_eq!(reply.header("x-correlation-id"), "job-1");
    assert_eq!(reply.header("content-type"), "application/json");
    let free = server.send("GET", "/v1/chains", &[("X-API-Key", &key)], "").json();
    assert_eq!((free["meta"]["credit_cost"].as_i64(), free["meta"]["credit_remaining"].as_i64()), (Some(0), Some(7)));
    assert!(free["meta"].get("pagination").is_none());
}

#[test]
fn a_request_id_is_never_the_clients() {
    let server = Server::start();
    let mine = "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b";
    let reply = server.send("GET", "/healthz", &[("X-Request-Id", mine), ("X-Correlation-Id", "a b")], "");
    assert_ne!(reply.header("x-request-id"), mine);
    // The version nibble of UUIDv7.
    assert_eq!(reply.header("x-request-id").as_bytes()[14], b'7');
    assert!(!reply.headers.contains_key("x-correlation-id"));
}

#[test]
fn route_and_method_come_before_the_key() {
    let server = Server::start();
    let reply = server.send("GET", "/v1/nothing", &[], "");
    assert_eq!((reply.status, reply.error().0.as_str()), (404, "not_found"));
    for (method, path, allow) in [
        ("GET", "/v1/transactions", "POST"),
        ("POST", "/v1/chains", "GET,HEAD"),
        ("DELETE", "/healthz", "GET,HEAD"),
        ("OPTIONS", "/v1/chains", "GET,HEAD"),
        ("TRACE", "/docs", "GET,HEAD"),
    ] {
        let reply = server.send(method, path, &[], "");
        assert_eq!((reply.status, reply.error().0.as_str()), (405, "method_not_allowed"), "{method} {path}");
        assert_eq!(reply.header("allow"), allow, "{method} {path}");
    }
}

#[test]
fn the_key_comes_before_credits_and_body() {
    let server = Server::start();
    let (id, key) = server.key(0);
    let other_end = if key.ends_with('0') { '1' } else { '0' };
    let wrong_secret = format!("{}{other_end}", &key[..key.len() - 1]);
    let other = headwater_state::KeyText::generate(headwater_state::Environment::Live).unwrap();
    for headers in [
        &[][..],
        &[("X-API-Key", "")][..],
        &[("X-API-Key", "nonsense")][..],
        &[("X-API-Key", wrong_secret.as_str())][..],
        &[("X-API-Key", other.expose())][..],
        &[("X-API-Key", key.as_str()), ("X-API-Key", key.as_str())][..],
    ] {
        let reply = server.send("POST", "/v1/transactions", headers, "no json");
        assert_eq!((reply.status, reply.error().0.as_str()), (401, "unauthorized"), "{headers:?}");
        assert!(!reply.headers.contains_key("x-credit-remaining"));
    }
    server.admin(|admin| admin.revoke_key(&id));
    crate::support::within(std::time::Duration::from_secs(2), "the key is refused", || {
        server.send("GET", "/v1/chains", &[("X-API-Key", &key)], "").status == 401
    });
}

#[test]
fn credits_come_before_the_body_and_only_where_the_call_costs() {
    let server = Server::start();
    let (_, key) = server.key(4);
    let reply = server.send("POST", "/v1/transactions", &[("X-API-Key", &key)], "no json");
    assert_eq!((reply.status, reply.error().0.as_str()), (402, "insufficient_credit"));
    assert_eq!(reply.header("x-credit-remaining"), "4");
    assert_eq!(server.send("GET", "/v1/registry", &[("X-API-Key", &key)], "").status, 200);
}

#[test]
fn the_media_type_comes_before_size_and_syntax() {
    let server = Server::start();
    let (_, key) = server.key(1000);
    let large = "x".repeat((1 << 20) + 1);
    let send = |headers: &[(&str, &str)], body: &str| {
        let mut all = vec![("X-API-Key", key.as_str())];
        all.extend_from_slice(headers);
        let reply = server.send("POST", "/v1/transactions", &all, body);
        (reply.status, reply.error().0)
    };
    let is = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(send(&[], QUIET), is(415, "unsupported_media_type"));
    assert_eq!(send(&[("Content-Type", "text/plain")], &large), is(415, "unsupported_media_type"));
    assert_eq!(send(&[JSON], ""), is(415, "unsupported_media_type"));
    assert_eq!(send(&[JSON, ("Content-Encoding", "gzip")], QUIET), is(415, "unsupported_media_type"));
    assert_eq!(send(&[JSON], &large), is(413, "payload_too_large"));
    assert_eq!(send(&[JSON, ("Accept", "text/html")], QUIET), is(406, "not_acceptable"));
    assert_eq!(server.gateway.state().accounts().held(), 0);
}

#[test]
fn a_chunked_body_is_counted_as_it_comes() {
    let server = Server::start();
    let (_, key) = server.key(1000);
    let mut client = server.client();
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, " ".repeat(1 << 16)).repeat(17) + "0\r\n\r\n";
    let headers = [JSON, ("X-API-Key", key.as_str()), ("Transfer-Encoding", "chunked")];
    let head =
        headers.iter().fold("POST /v1/transactions HTTP/1.1\r\nHost: x\r\n".to_owned(), |head, (name, value)| {
            head + &format!("{name}: {value}\r\n")
        });
    client.raw((head + "\r\n" + &chunk).as_bytes());
    assert_eq!(client.read(false).unwrap().status, 413);
}

#[test]
fn a_body_that_is_no_json_object_is_refused_with_its_reason() {
    let server = Server::start();
    let (_, key) = server.key(1000);
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(40), "]".repeat(40));
    for (body, reason) in [
        ("{", "invalid_json"),
        ("{\"blockchain\": NaN}", "invalid_json"),
        ("\u{FEFF}{}", "invalid_json"),
        (deep.as_str(), "invalid_json"),
        ("[]", "invalid_type"),
        ("\"text\"", "invalid_type"),
        ("{}", "missing_field"),
        ("{\"blockchain\": 5, \"address\": \"x\"}", "invalid_type"),
        ("{\"blockchain\": \"solana\", \"address\": \"x\"}", "unsupported_chain"),
        ("{\"blockchain\": \"ethereum\", \"address\": \"0x12\"}", "invalid_address"),
    ] {
        let reply = server.client().post("/v1/transactions", &key, body).unwrap();
        assert_eq!(reply.status, 400, "{body}");
        assert_eq!(reply.error(), ("bad_request".to_owned(), reason.to_owned()), "{body}");
    }
    assert_eq!(server.gateway.state().accounts().held(), 0);
}

#[test]
fn query_strings_are_never_guessed() {
    let server = Server::start();
    let (_, key) = server.key(1000);
    let get = |path: &str| server.send("GET", path, &[("X-API-Key", &key)], "");
    for (path, reason) in [
        ("/v1/assets?chain=%zz", "invalid_value"),
        ("/v1/assets?chain=%ff", "invalid_value"),
        ("/v1/transaction/%ff", "invalid_value"),
        ("/v1/assets?chain=tron&chain=bsc", "invalid_type"),
    ] {
        let reply = get(path);
        assert_eq!((reply.status, reply.error().1.as_str()), (400, reason), "{path}");
    }
    let long = format!("/v1/assets?chain={}", "x".repeat(9000));
    assert_eq!((get(&long).status, get(&long).error().1.as_str()), (400, "invalid_value"));
    assert_eq!(get("/v1/assets?chain=%74ron").status, 200);
}

/// Unknown fields, and chains that the store does not hold, are refused before anything is paid.
#[test]
fn unknown_fields_and_chains_are_refused_free() {
    let store = headwater_testkit::Chainlet::ethereum().transfer(1, 2, 100).batch();
    let mut held = headwater_ledger::store::MemoryStore::default();
    held.commit(store, &headwater_ledger::Cancel::new()).unwrap();
    let server = Server::over(held, ListenerConfig::default(), Settings::default());
    let (_, key) = server.key(100);
    let with = |more: &str| QUIET.replace('}', &format!(", {more}}}"));
    let tron = r#"{"blockchain": "tron", "address": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}"#;
    let unknown = "blockchain=ethereum&contract=0x00000000000000000000000000000000000000aa";
    for (method, path, body, reason, candidates) in [
        ("POST", "/v1/transactions", with("\"symbol\": \"eth\""), "unknown_field", &["symbols"][..]),
        ("POST", "/v1/counterparty", with("\"offset\": 20"), "unknown_field", &["cursor", "page"]),
        ("POST", "/v1/transactions?limit=3", QUIET.to_owned(), "unknown_field", &[]),
        ("POST", "/v1/trace", with("\"limit\": 3"), "unknown_field", &["track_setting.limit"]),
        ("GET", "/v1/labels?blockchain=ethereum&adress=x", String::new(), "unknown_field", &["address", "addresses"]),
        ("GET", "/v1/registry?typo=1", String::new(), "unknown_field", &[]),
        ("GET", "/v1/usage?typo=1", String::new(), "unknown_field", &[]),
        ("GET", "/v1/webhooks?ofset=1", String::new(), "unknown_field", &["offset"]),
        ("POST", "/v1/transactions", tron.to_owned(), "chain_not_held", &[]),
        ("GET", &format!("/v1/token/holders?{unknown}"), String::new(), "unknown_contract", &[]),
        ("GET", &format!("/v1/token/concentration?{unknown}"), String::new(), "unknown_contract", &[]),
    ] {
        let reply = server.send(method, path, &[JSON, ("X-API-Key", &key)], &body);
        assert_eq!((reply.status, reply.error().1.as_str()), (400, reason), "{method} {path} {body}");
        let named = reply.json()["error"]["details"]["candidates"].clone();
        let expected = if candidates.is_empty() { serde_json::Value::Null } else { serde_json::json!(candidates) };
        assert_eq!(named, expected, "{method} {path}");
        assert_eq!((reply.header("x-credit-cost"), reply.header("x-credit-remaining")), ("0", "100"), "{path}");
    }
    let ignored = server.client().post("/v1/transactions", &key, &with("\"symbol\": null")).unwrap();
    assert_eq!((ignored.status, ignored.header("x-credit-remaining")), (200, "95"));
    assert_eq!(server.gateway.state().accounts().held(), 0);
}

#[test]
fn list_of_a_get_is_repeated_or_has_commas() {
    let server = Server::start();
    let (_, key) = server.key(1000);
    let missing = |query: &str| {
        let reply = server.send("GET", &format!("/v1/rates?{query}"), &[("X-API-Key", &key)], "");
        assert_eq!(reply.status, 200, "{query}");
        reply.json()["data"]["missing"].clone()
    };
    let commas = missing("symbols=one,two,three");
    assert_eq!(commas, serde_json::json!(["one", "two", "three"]));
    for query in ["symbols=one&symbols=two&symbols=three", "symbols=one,%20two&symbols=three"] {
        assert_eq!(missing(query), commas, "{query}");
    }
}

#[test]
fn a_transaction_that_is_not_there_is_404_and_free() {
    let server = Server::start();
    let (_, key) = server.key(10);
    let path = format!("/v1/transaction/0x{}", "ab".repeat(32));
    let reply = server.send("GET", &path, &[("X-API-Key", &key)], "");
    assert_eq!((reply.status, reply.error().0.as_str()), (404, "not_found"));
    assert_eq!(reply.header("x-credit-remaining"), "10");
}

#[test]
fn unexpected_errors_keep_their_text() {
    let server = Server::start();
    let (_, key) = server.key(10);
    for (mood, status, code) in [(Mood::Panics, 500, "internal_server_error"), (Mood::Broken, 502, "bad_gateway")] {
        server.moody.set(mood);
        let reply = server.client().post("/v1/transactions", &key, QUIET).unwrap();
        assert_eq!((reply.status, reply.error().0.as_str()), (status, code));
        assert!(!String::from_utf8_lossy(&reply.body).contains("secret"));
        assert_eq!(reply.header("x-credit-remaining"), "10");
        assert_eq!(reply.headers.get("retry-after").map(String::as_str), (status == 502).then_some("2"));
        assert_eq!(server.send("GET", "/healthz", &[], "").status, 200);
        let ready = server.send("GET", "/readyz", &[], "");
        assert_eq!((ready.status, ready.error().1.as_str()), (503, "storage_failed"));
        assert_eq!(ready.header("retry-after"), "5");
    }
    server.moody.set(Mood::Good);
    assert_eq!(server.send("GET", "/readyz", &[], "").json(), serde_json::json!({"status": "ready"}));
    assert_eq!(server.send("GET", "/healthz", &[], "").json(), serde_json::json!({"status": "ok"}));
}

#[test]
fn past_the_deadline_the_answer_is_504_and_free() {
    let server = Server::hurried(100);
    let (_, key) = server.key(10);
    server.moody.set(Mood::Slow);
    let started = std::time::Instant::now();
    let reply = server.client().post("/v1/transactions", &key, QUIET).unwrap();
    assert_eq!((reply.status, reply.error().0.as_str()), (504, "gateway_timeout"));
    assert_eq!((reply.header("retry-after"), reply.header("x-credit-remaining")), ("30", "10"));
    println!("a call with 100 ms was answered after {:.1?}", started.elapsed());
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
    assert_eq!(server.gateway.state().accounts().held(), 0);
}

#[test]
fn optional_keys_make_calls_free_but_must_be_valid() {
    let server = Server::with(Settings { auth_required: false, ..Settings::default() });
    let reply = server.send("POST", "/v1/transactions", &[JSON], QUIET);
    assert_eq!((reply.status, reply.header("x-credit-cost")), (200, "0"));
    assert!(!reply.headers.contains_key("x-credit-remaining"));
    assert_eq!(reply.json()["meta"]["credit_cost"], 0);
    assert_eq!(server.send("POST", "/v1/transactions", &[JSON, ("X-API-Key", "bad")], QUIET).status, 401);
    let (_, key) = server.key(5);
    assert_eq!(server.client().post("/v1/transactions", &key, QUIET).unwrap().header("x-credit-remaining"), "0");
}

#[test]
fn head_is_get_without_a_body() {
    let server = Server::start();
    let (_, key) = server.key(10);
    let reply = server.client().send("HEAD", "/v1/addresses/resolve?q=x", &[("X-API-Key", &key)], b"").unwrap();
    assert_eq!((reply.status, reply.header("x-credit-cost"), reply.body.len()), (200, "5", 0));
    assert_ne!(reply.header("content-length"), "0");
    assert_eq!(server.client().send("HEAD", "/docs", &[], b"").unwrap().status, 200);
}
