//! The examples of the description, asked at the store that `make demo` serves: each of them finds something.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use crate::support::{Client, Process, Reply, made_key, run_json};

/// An operation with the request that its examples make.
struct Example {
    verb: String,
    path: String,
    query: String,
    body: String,
    is_list: bool,
}

fn encoded(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").unwrap();
        }
        encoded
    })
}

/// Every operation, those that make something first and those that remove it last. A stream is not a request of a page.
fn examples(document: &Value) -> Vec<Example> {
    let mut all = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (verb, operation) in operations.as_object().unwrap().iter().filter(|_| path != "/v1/stream") {
            let (mut filled, mut query) = (path.clone(), String::new());
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let (Some(name), Some(example)) = (parameter["name"].as_str(), parameter.get("example")) else {
                    continue;
                };
                match parameter["in"].as_str().unwrap() {
                    "path" if name != "id" => filled = filled.replace(&format!("{{{name}}}"), &encoded(example)),
                    // A list as generated clients send it.
                    "query" => {
                        for item in example.as_array().map_or(std::slice::from_ref(example), Vec::as_slice) {
                            let mark = if query.is_empty() { '?' } else { '&' };
                            write!(query, "{mark}{name}={}", encoded(item)).unwrap();
                        }
                    }
                    _ => {}
                }
            }
            let body = &operation["requestBody"]["content"]["application/json"]["example"];
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let is_list = !operation["responses"]["200"]["content"]["application/x-ndjson"].is_null();
            all.push(Example { verb: verb.to_uppercase(), path: filled, query, body, is_list });
        }
    }
    let turn = |one: &Example| match (one.verb.as_str(), one.path.as_str()) {
        ("POST", "/v1/webhooks") => 0,
        ("POST", "/v1/webhooks/{id}/test") => 1,
        ("DELETE", _) => 3,
        _ => 2,
    };
    all.sort_by_key(turn);
    all
}

fn ask(client: &mut Client, key: &str, (verb, path): (&str, &str), accept: &str, body: &str) -> Reply {
    let mut headers = vec![("X-API-Key", key), ("Accept", accept)];
    if !body.is_empty() {
        headers.push(("Content-Type", "application/json"));
    }
    client.send(verb, path, &headers, body.as_bytes()).unwrap()
}

/// Addresses and hashes of EVM chains in all examples of the description, without the one that is shown as missing.
fn mentioned(value: &Value, in_example: bool, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                mentioned(value, in_example || name.starts_with("example"), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| mentioned(item, in_example, found)),
        Value::String(text) if in_example => {
            let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
            found.extend(words.map(str::to_ascii_lowercase).filter(|word| {
                word.strip_prefix("0x").is_some_and(|digits| {
                    matches!(digits.len(), 40 | 64)
                        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
                        && !digits.trim_start_matches('f').is_empty()
                })
            }));
        }
        _ => {}
    }
}

#[test]
fn description_examples_find_something_in_the_demo_store() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("demo");
    run_json(&["simulate", "--json", "--store", store.to_str().unwrap(), "--preset", "demo"]);
    let key = made_key(&store, 100_000);
    let server = Process::start(&store, &[]);
    let mut client = server.client().unwrap();
    let document = client.send("GET", "/api-docs/openapi.json", &[], b"").unwrap().json();
    let (mut webhook, mut lists) = (String::new(), 0);
    for Example { verb, path, query, body, is_list } in examples(&document) {
        let path = format!("{}{query}", path.replace("{id}", &webhook));
        let at = format!("{verb} {path} {body}");
        let reply = ask(&mut client, &key, (&verb, &path), "*/*", &body);
        assert!(reply.status < 400, "{at}: {}", String::from_utf8_lossy(&reply.body));
        if verb == "POST" && path == "/v1/webhooks" {
            reply.json()["data"]["id"].as_str().unwrap().clone_into(&mut webhook);
        }
        if is_list {
            let rows = ask(&mut client, &key, (&verb, &path), "application/x-ndjson", &body);
            assert!(rows.status == 200 && !rows.body.is_empty(), "{at} gives no rows");
            lists += 1;
        }
    }
    assert!(lists > 10, "{lists}");
    let mut found = BTreeSet::new();
    mentioned(&document, false, &mut found);
    assert!(found.len() > 4, "{found:?}");
    let registry = ask(&mut client, &key, ("GET", "/v1/registry"), "*/*", "");
    let registry = String::from_utf8(registry.body).unwrap().to_lowercase();
    // Tokens that every server lists need not have moved.
    for text in found.into_iter().filter(|text| !registry.contains(text)) {
        let path = match text.len() {
            42 => format!("/v1/addresses/resolve?q={text}"),
            _ => format!("/v1/transaction/{text}"),
        };
        let reply = ask(&mut client, &key, ("GET", &path), "*/*", "");
        assert_eq!(reply.status, 200, "{text}");
        assert!(text.len() > 42 || reply.json()["data"]["active"] == true, "{text} is not in the demo store");
    }
}

#[test]
fn idempotency_key_has_no_example() {
    let document = headwater_server::routes::document(headwater_engine::ENDPOINTS);
    let parameter = &document["components"]["parameters"]["IdempotencyKey"];
    assert_eq!((parameter["name"].as_str(), parameter.get("example")), (Some("Idempotency-Key"), None));
}
