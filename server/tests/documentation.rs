//! The description is made from the code, and the page loads nothing from outside.

use std::collections::BTreeSet;

use headwater_engine::{ENDPOINTS, Method};
use headwater_server::routes::document;
use serde_json::Value;

use crate::support::Server;

fn verb(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Post => "post",
    }
}

/// Routes that the gateway answers itself, beside those of the engine's table.
const OWN: [(&str, &str); 12] = [
    ("get", "/v1/usage"),
    ("get", "/v1/webhooks"),
    ("post", "/v1/webhooks"),
    ("get", "/v1/webhooks/{id}"),
    ("patch", "/v1/webhooks/{id}"),
    ("delete", "/v1/webhooks/{id}"),
    ("post", "/v1/webhooks/{id}/test"),
    ("post", "/v1/webhooks/{id}/rotate-secret"),
    ("get", "/v1/webhooks/{id}/deliveries"),
    ("post", "/v1/webhooks/{id}/replay"),
    ("get", "/v1/stream"),
    ("post", "/v1/stream/ticket"),
];

#[test]
fn every_route_of_the_gateways_own_is_described_whole_and_needs_a_key() {
    let document = document();
    let server = Server::start();
    for (verb, path) in OWN {
        let operation = &document["paths"][path][verb];
        assert!(operation["summary"].is_string() && operation["operationId"].is_string(), "{verb} {path}");
        assert!(operation["responses"]["401"]["content"]["application/json"]["example"]["error"].is_object(), "{path}");
        if path == "/v1/stream" {
            assert!(operation["responses"]["101"].is_object());
            continue;
        }
        assert_eq!(operation["x-credit-cost"], 0, "{verb} {path}");
        let success = if (verb, path) == ("post", "/v1/webhooks") { "201" } else { "200" };
        let example = &operation["responses"][success]["content"]["application/json"]["example"];
        assert!(example["data"].is_object() || example["data"].is_array(), "{verb} {path}");
        assert_eq!(example["meta"]["credit_cost"], 0, "{verb} {path}");
        assert_eq!(operation["responses"].get("404").is_some(), path.contains('{'), "{verb} {path}");
        if let Some(body) = operation.get("requestBody") {
            let body = &body["content"]["application/json"];
            assert!(body["schema"]["$ref"].is_string() && body["example"].is_object(), "{verb} {path}");
        }
        let id = "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b";
        let reply = server.send(&verb.to_uppercase(), &path.replace("{id}", id), &[], "");
        assert_eq!((reply.status, reply.error().0.as_str()), (401, "unauthorized"), "{verb} {path}");
    }
}

#[test]
fn every_endpoint_of_the_table_is_described_whole() {
    let document = document();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(document["info"]["version"], "0.1.0");
    for endpoint in ENDPOINTS {
        let operation = &document["paths"][endpoint.path][verb(endpoint.method)];
        let at = endpoint.path;
        assert!(operation["summary"].is_string(), "{at} has no route");
        assert!(operation["operationId"].is_string(), "{at}");
        let success = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(success["properties"]["data"]["$ref"].is_string(), "{at} has no analysis");
        for status in ["400", "401", "406", "500", "502", "504"] {
            let body = &operation["responses"][status]["content"]["application/json"];
            assert_eq!(body["schema"]["$ref"], "#/components/schemas/ErrorEnvelope", "{at} {status}");
            assert!(body["example"]["error"]["code"].is_string(), "{at} {status}");
        }
        let example = &operation["responses"]["200"]["content"]["application/json"]["example"];
        assert!(example["data"].is_object(), "{at} has no example of a success");
        assert_eq!(example["meta"]["credit_cost"], endpoint.cost, "{at}");
        assert_eq!(operation["responses"].get("402").is_some(), endpoint.cost > 0, "{at}");
        match endpoint.method {
            Method::Get => {
                for part in at.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                    let parameters = operation["parameters"].as_array().unwrap();
                    assert!(parameters.iter().any(|one| one["name"] == part && one["in"] == "path"), "{at} {part}");
                }
            }
            Method::Post => {
                let body = &operation["requestBody"]["content"]["application/json"];
                assert!(body["schema"]["$ref"].is_string() && body["example"].is_object(), "{at}");
                assert!(operation["responses"].get("415").is_some(), "{at}");
            }
        }
    }
    assert_eq!(document["components"]["securitySchemes"]["api_key"]["name"], "X-API-Key");
}

#[test]
fn examples_show_rows_and_the_reason_of_a_refusal() {
    let document = document();
    let example = |path: &str, verb: &str, status: &str| {
        document["paths"][path][verb]["responses"][status]["content"]["application/json"]["example"].clone()
    };
    // Alice sent 1.5 ether and 250 USDT and got half an ether back: the newest movement comes first.
    let rows = &example("/v1/transactions", "post", "200")["data"]["datas"];
    assert_eq!((&rows[0]["amount"], &rows[1]["amount"]), (&"0.5".into(), &"250".into()), "{rows}");
    for (path, verb, list) in [
        ("/v1/chains", "get", "chains"),
        ("/v1/registry", "get", "tokens"),
        ("/v1/rates", "get", "rates"),
        ("/v1/rates/history", "get", "points"),
        ("/v1/rates/symbols", "get", "coverage"),
        ("/v1/counterparty", "post", "datas"),
        ("/v1/counterparty/transfer-between", "post", "datas"),
        ("/v1/counterparty/overview", "post", "transfer_betweens"),
        ("/v1/transaction/{hash}", "get", "transfers"),
        ("/v1/addresses/autocomplete", "get", "candidates"),
    ] {
        let data = &example(path, verb, "200")["data"];
        assert!(data[list].as_array().is_some_and(|rows| !rows.is_empty()), "{path}: {data}");
    }
    assert_eq!(example("/v1/transaction/{hash}", "get", "404")["error"]["code"], "not_found");
    for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.name != "registry") {
        let refusal = example(endpoint.path, verb(endpoint.method), "400");
        assert!(refusal["error"]["details"]["value"].is_string(), "{}: {refusal}", endpoint.path);
    }
}

#[test]
fn the_description_names_no_data_endpoint_that_the_table_has_not() {
    let document = document();
    let described: BTreeSet<&str> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected: BTreeSet<&str> = ENDPOINTS.iter().map(|endpoint| endpoint.path).collect();
    expected.extend(["/healthz", "/readyz", "/docs", "/api-docs/openapi.json"]);
    expected.extend(OWN.iter().map(|(_, path)| *path));
    assert_eq!(described, expected);
}

#[test]
fn every_reference_leads_somewhere_and_operation_ids_are_unique() {
    fn walk(value: &Value, references: &mut BTreeSet<String>, ids: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                references.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                ids.extend(fields.get("operationId").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|value| walk(value, references, ids));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, references, ids)),
            _ => {}
        }
    }
    let document = document();
    let (mut references, mut ids) = (BTreeSet::new(), Vec::new());
    walk(&document, &mut references, &mut ids);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
}

#[test]
fn every_described_route_answers() {
    let server = Server::start();
    for endpoint in ENDPOINTS {
        let path = endpoint.path.replace("{hash}", "x");
        let reply = server.send(&verb(endpoint.method).to_uppercase(), &path, &[], "");
        assert_eq!((reply.status, reply.error().0.as_str()), (401, "unauthorized"), "{path}");
    }
    let description = server.send("GET", "/api-docs/openapi.json", &[], "");
    assert_eq!(description.header("content-type"), "application/json");
    assert_eq!(description.json(), document());
}

#[test]
fn the_page_comes_from_the_binary_alone() {
    let server = Server::start();
    for path in ["/docs", "/docs/"] {
        let page = server.send("GET", path, &[], "");
        assert_eq!(page.status, 200);
        assert!(page.header("content-security-policy").starts_with("default-src 'self'"));
        let html = String::from_utf8(page.body).unwrap();
        assert!(html.contains("<base href=\"/docs/\">"), "{html}");
        assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("src=\"//"), "{html}");
        let is_file = |text: &&str| [".js", ".css", ".png"].iter().any(|ending| text.ends_with(ending));
        for link in html.split('"').filter(is_file) {
            let asset = server.send("GET", &format!("/docs/{}", link.trim_start_matches("./")), &[], "");
            assert_eq!(asset.status, 200, "{link}");
        }
    }
    let settings = server.send("GET", "/docs/swagger-initializer.js", &[], "");
    let script = String::from_utf8(settings.body).unwrap();
    assert!(script.contains("\"/api-docs/openapi.json\"") && script.contains("\"validatorUrl\": \"none\""), "{script}");
    assert!(!script.contains("http"), "{script}");
    assert_eq!(server.send("GET", "/docs/no-such-file.js", &[], "").error().0, "not_found");
}
