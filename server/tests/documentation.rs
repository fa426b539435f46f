//! The description is made from the code, and the page loads nothing from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use headwater_engine::{ENDPOINTS, Method, Pricing, Tag};
use headwater_server::routes::document;
use headwater_state::Home;
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
fn own_routes_are_described_whole_and_need_a_key() {
    let document = document(ENDPOINTS);
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
    let document = document(ENDPOINTS);
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(document["info"]["version"], "0.1.0");
    for endpoint in ENDPOINTS {
        let operation = &document["paths"][endpoint.path][verb(endpoint.method)];
        let at = endpoint.path;
        assert!(operation["summary"].is_string(), "{at} has no route");
        assert!(operation["operationId"].is_string(), "{at}");
        let success = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let envelope = success["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')).unwrap();
        let data = &document.pointer(envelope).unwrap()["properties"]["data"];
        assert!(data["$ref"].is_string(), "{at} has no analysis");
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
    let document = document(ENDPOINTS);
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
        ("/v1/labels", "get", "sources"),
        ("/v1/labels/search", "get", "results"),
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
fn description_names_only_endpoints_of_the_table() {
    let document = document(ENDPOINTS);
    let described: BTreeSet<&str> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected: BTreeSet<&str> = ENDPOINTS.iter().map(|endpoint| endpoint.path).collect();
    expected.extend(["/healthz", "/readyz", "/docs", "/explore", "/api-docs/openapi.json"]);
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
    let document = document(ENDPOINTS);
    let (mut references, mut ids) = (BTreeSet::new(), Vec::new());
    walk(&document, &mut references, &mut ids);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
}

/// Verbs that a description can name.
const VERBS: [&str; 7] = ["get", "put", "post", "delete", "patch", "options", "trace"];

fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, operations)| {
        let verbs = operations.as_object().unwrap().iter().filter(|(verb, _)| VERBS.contains(&verb.as_str()));
        verbs.map(|(verb, operation)| (path.as_str(), verb.as_str(), operation))
    })
}

#[test]
fn a_path_takes_the_methods_that_are_described_and_no_other() {
    let document = document(ENDPOINTS);
    let server = Server::start();
    let mut described: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (path, verb, _) in operations(&document) {
        described.entry(path).or_default().insert(verb.to_uppercase());
    }
    for (path, methods) in described {
        let path = path.replace("{hash}", "x").replace("{id}", "x");
        let reply = server.send("PUT", &path, &[], "");
        assert_eq!((reply.status, reply.error().0.as_str()), (405, "method_not_allowed"), "{path}");
        let allowed: BTreeSet<String> = reply.header("allow").split(',').map(|verb| verb.trim().to_owned()).collect();
        let allowed: BTreeSet<String> = allowed.into_iter().filter(|verb| verb != "HEAD").collect();
        assert_eq!(allowed, methods, "{path}");
    }
}

#[test]
fn handlers_are_described_but_for_files_of_pages() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/routes");
    let (mut handlers, mut by_hand) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        handlers += text.matches("#[utoipa::path(").count();
        by_hand.extend(text.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
    }
    let document = document(ENDPOINTS);
    let of_data: usize = ENDPOINTS.iter().map(|endpoint| endpoint.methods().count()).sum();
    assert_eq!(handlers + of_data, operations(&document).count());
    assert_eq!(by_hand, ["/", "/docs/", "/docs/{*file}", "/explore/", "/explore/{*file}"]);
}

#[test]
fn operations_describe_input_output_and_errors() {
    let document = document(ENDPOINTS);
    let (mut seen, mut errors) = (0, 0);
    for (path, verb, operation) in operations(&document) {
        let at = format!("{verb} {path}");
        for text in ["summary", "description", "operationId"] {
            assert!(operation[text].as_str().is_some_and(|text| !text.is_empty()), "{at} has no {text}");
        }
        assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{at}");
        let responses = operation["responses"].as_object().unwrap();
        for (status, response) in responses {
            assert!(response["headers"]["X-Request-Id"].is_object(), "{at} {status}");
            if status.as_str() >= "400" {
                let error = &response["content"]["application/json"];
                assert_eq!(error["schema"]["$ref"], "#/components/schemas/ErrorEnvelope", "{at} {status}");
                assert!(
                    error["example"]["error"]["message"].as_str().is_some_and(|text| !text.is_empty()),
                    "{at} {status}"
                );
                without_id(error["example"].clone());
                let waits = ["429", "502", "503", "504"].contains(&status.as_str());
                assert_eq!(response["headers"]["Retry-After"].is_object(), waits, "{at} {status}");
                errors += 1;
            } else if status != "101" && status != "304" {
                let content = response["content"].as_object().unwrap();
                assert!(content.values().any(|content| !content["example"].is_null()), "{at} {status} shows nothing");
            }
        }
        let free = operation["security"].as_array().is_some_and(|schemes| schemes == &[serde_json::json!({})]);
        let expected: &[&str] = if free { &["400", "500"] } else { &["400", "401", "403", "429", "500", "502"] };
        assert!(expected.iter().all(|status| responses.contains_key(*status)), "{at}: {:?}", responses.keys());
        seen += 1;
    }
    println!("{seen} operations with {errors} errors between them");
}

/// Every route that a key opens may be left out of a plan, or be in it.
#[test]
fn every_route_that_takes_a_key_may_be_in_a_plan() {
    let document = document(ENDPOINTS);
    let is_free = |operation: &serde_json::Value| {
        operation["security"].as_array().is_some_and(|schemes| schemes == &[serde_json::json!({})])
    };
    let paths: BTreeSet<&str> =
        operations(&document).filter(|(_, _, operation)| !is_free(operation)).map(|(path, ..)| path).collect();
    assert!(paths.len() > 20, "{paths:?}");
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    let definition = serde_json::json!({"endpoints": paths}).to_string();
    let plan = home.admin("test", |admin| admin.set_plan("all", &definition)).unwrap();
    assert_eq!(plan.endpoints.unwrap().len(), paths.len());
}

/// An error without the id of its request, which is there.
fn without_id(mut body: Value) -> Value {
    let id = body["error"].as_object_mut().unwrap().remove("request_id");
    assert!(id.is_some_and(|id| id.as_str().is_some_and(|id| id.len() == 36)), "{body}");
    body
}

/// Refusals that are shown and that a request without a past can bring about: with such a query or body.
const SHOWN: [(&str, &str, &str, &str); 11] = [
    ("get", "/v1/registry", "?a=1&a=1", ""),
    ("get", "/v1/usage", "?a=1&a=1", ""),
    ("get", "/v1/webhooks", "?limit=5000", ""),
    ("post", "/v1/webhooks", "", r#"{"target_url": "https://10.0.0.1/in", "event_type": "large_transfer"}"#),
    ("get", "/v1/webhooks/{id}", "?a=1&a=1", ""),
    ("delete", "/v1/webhooks/{id}", "?a=1&a=1", ""),
    ("post", "/v1/webhooks/{id}/test", "?a=1&a=1", ""),
    ("post", "/v1/webhooks/{id}/rotate-secret", "?a=1&a=1", ""),
    ("get", "/v1/webhooks/{id}/deliveries", "?limit=5000", ""),
    ("post", "/v1/webhooks/{id}/replay", "", r#"{"from": 1600000000}"#),
    ("get", "/v1/stream", "", ""),
];

#[test]
fn operations_refuse_long_input_with_described_errors() {
    let document = document(ENDPOINTS);
    let server = Server::start();
    let (_, key) = server.key(10);
    let id = "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b";
    let send = |verb: &str, path: &str, query: &str, body: &str| {
        let path = format!("{}{query}", path.replace("{hash}", "x").replace("{id}", id));
        let headers = [("X-API-Key", key.as_str()), ("Content-Type", "application/json")];
        let reply = server.send(&verb.to_uppercase(), &path, &headers, body);
        assert_eq!(reply.status, 400, "{verb} {path}: {}", String::from_utf8_lossy(&reply.body));
        reply.error();
        without_id(reply.json())
    };
    let shown = |operation: &Value| {
        without_id(operation["responses"]["400"]["content"]["application/json"]["example"].clone())["error"].clone()
    };
    let mut open = 0;
    for (path, verb, operation) in operations(&document) {
        assert!(operation["responses"]["400"].is_object(), "{verb} {path}");
        let whole = path.replace("{hash}", "x").replace("{id}", id);
        let error = send(verb, path, &format!("?{}", "a".repeat(8_999 - whole.len())), "")["error"].clone();
        assert_eq!(error["details"], serde_json::json!({"reason": "invalid_value", "limit": 8192}), "{verb} {path}");
        if operation["security"].is_array() {
            assert_eq!(shown(operation), error, "{verb} {path}");
            open += 1;
        }
    }
    assert_eq!(open, 5);
    for (verb, path, query, body) in SHOWN {
        let error = send(verb, path, query, body)["error"].clone();
        assert_eq!(shown(&document["paths"][path][verb]), error, "{verb} {path}");
    }
}

#[test]
fn every_list_is_described_in_the_forms_it_is_given_in() {
    let document = document(ENDPOINTS);
    let forms = |path: &str, verb: &str| {
        let success = &document["paths"][path][verb]["responses"]["200"];
        let forms: Vec<String> = success["content"].as_object().unwrap().keys().cloned().collect();
        (forms, success["headers"]["X-Total-Count"].is_object())
    };
    let expected = forms("/v1/transactions", "post");
    assert_eq!((expected.0.len(), expected.1), (5, true));
    for path in ["/v1/registry", "/v1/webhooks", "/v1/webhooks/{id}/deliveries"] {
        assert_eq!(forms(path, "get"), expected, "{path}");
    }
    assert_eq!(forms("/v1/webhooks/{id}", "get").0, ["application/json"]);
}

#[test]
fn webhooks_page_has_a_row_per_event_type() {
    let page = include_str!("../../docs/webhooks.md");
    for event_type in headwater_engine::events::EventType::all() {
        assert!(page.contains(&format!("\n| `{event_type}` | ")), "{event_type}");
    }
}

#[test]
fn deliveries_may_be_of_events_that_nobody_asks_for() {
    let document = document(ENDPOINTS);
    let types = |record: &str| {
        let schemas = &document["components"]["schemas"];
        let reference = schemas[record]["properties"]["event_type"]["$ref"].as_str().unwrap();
        let types = &schemas[reference.rsplit('/').next().unwrap()]["enum"];
        types.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let asked = types("CreateWebhookRequest");
    assert_eq!(types("DeliveryView"), [&asked[..], &["test".to_owned(), "events_lost".to_owned()]].concat());
    assert_eq!(types("WebhookView"), asked);
}

/// Bounds that a field of this type must have to be more than its type, by any of these keywords.
fn bounds(schema: &Value) -> &'static [&'static str] {
    let is =
        |kind: &str| schema["type"] == kind || schema["type"].as_array().is_some_and(|all| all.contains(&kind.into()));
    if schema.get("enum").is_some() || is("object") {
        &[]
    } else if is("string") {
        &["pattern", "maxLength", "format"]
    } else if is("integer") {
        &["maximum"]
    } else if is("array") {
        &["maxItems", "items"]
    } else {
        &[]
    }
}

/// The records that a schema leads to: itself, and those that its fields and the items of its lists refer to.
fn records<'a>(schema: &'a Value, schemas: &'a Value, found: &mut BTreeMap<&'a str, &'a Value>) {
    match schema {
        Value::Object(keywords) => {
            let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
            if let Some(name) = name.filter(|name| !found.contains_key(name)) {
                found.insert(name, &schemas[name]);
                records(&schemas[name], schemas, found);
            }
            keywords.values().for_each(|part| records(part, schemas, found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| records(part, schemas, found)),
        _ => {}
    }
}

#[test]
fn schemas_of_bodies_refuse_unknown_fields() {
    let document = document(ENDPOINTS);
    let mut found = BTreeMap::new();
    for (_, _, operation) in operations(&document) {
        records(&operation["requestBody"], &document["components"]["schemas"], &mut found);
    }
    let open = |schema: &Value| schema["properties"].is_object() && schema["additionalProperties"] != false;
    let open: Vec<&str> = found.iter().filter(|(_, schema)| open(schema)).map(|(name, _)| *name).collect();
    // The specification reserves what may be in it.
    assert_eq!(open, ["StopTrackCondition"]);
    for name in
        ["TransactionsRequest", "FilterCriteria", "TrackSetting", "RiskQuery", "EventFilters", "BalanceThreshold"]
    {
        assert!(found.contains_key(name), "{name}");
    }
}

#[test]
fn lists_of_a_query_are_described_as_repeated() {
    let document = document(ENDPOINTS);
    let parameters = operations(&document).filter_map(|(_, _, operation)| operation["parameters"].as_array());
    let lists = parameters.flatten().filter(|parameter| parameter["schema"]["type"] == "array");
    let mut count = 0;
    for list in lists {
        assert_eq!((&list["style"], &list["explode"]), (&Value::from("form"), &Value::from(true)), "{list}");
        assert!(list["description"].as_str().unwrap().contains("commas"), "{list}");
        count += 1;
    }
    assert!(count >= 5, "{count}");
}

#[test]
fn every_field_and_parameter_of_a_request_has_its_bounds() {
    fn check(at: &str, schema: &Value, unbounded: &mut Vec<String>) {
        let wanted = bounds(schema);
        if !wanted.is_empty() && !wanted.iter().any(|keyword| schema.get(keyword).is_some()) {
            unbounded.push(at.to_owned());
        }
        if schema["items"].is_object() {
            check(&format!("{at}[]"), &schema["items"], unbounded);
        }
    }
    let document = document(ENDPOINTS);
    let mut unbounded = Vec::new();
    for (path, verb, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if let Some(name) = parameter["name"].as_str() {
                check(&format!("{verb} {path} {name}"), &parameter["schema"], &mut unbounded);
            }
        }
    }
    let requests = ["Request", "EventFilters", "BalanceThreshold", "FilterCriteria"];
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let fields = schema["properties"].as_object().filter(|_| requests.iter().any(|end| name.ends_with(end)));
        for (field, schema) in fields.into_iter().flatten() {
            check(&format!("{name}.{field}"), schema, &mut unbounded);
        }
    }
    // Labels are words that others choose.
    unbounded.retain(|at| at != "EventFilters.labels[]");
    assert!(unbounded.is_empty(), "{unbounded:?}");
}

#[test]
fn bounds_of_the_description_are_those_that_are_checked() {
    let document = document(ENDPOINTS);
    let field = |record: &str, field: &str| document["components"]["schemas"][record]["properties"][field].clone();
    assert_eq!(field("TransactionsRequest", "limit")["maximum"], 1000);
    assert_eq!(field("TransactionsRequest", "page")["maximum"], 100_000);
    assert_eq!(field("TransactionsRequest", "symbols")["maxItems"], 100);
    assert_eq!(field("TransactionsRequest", "filter_criterias")["maxItems"], 50);
    assert_eq!(field("TransactionsRequest", "start_time")["maximum"], 999_999_999_999_i64);
    assert_eq!(field("BalanceHistoryRequest", "timezone")["minimum"], -12);
    assert_eq!(field("EventFilters", "addresses")["maxItems"], 10_000);
    assert_eq!(field("CreateWebhookRequest", "target_url")["maxLength"], 2048);
    assert_eq!(document["components"]["parameters"]["IdempotencyKey"]["schema"]["maxLength"], 255);
    let chains: BTreeSet<&str> = document["components"]["schemas"]["Chain"]["enum"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(chains, headwater_types::Chain::all().map(headwater_types::Chain::name).collect());
    let example = &document["paths"]["/v1/chains"]["get"]["responses"]["200"]["content"]["application/json"]["example"];
    assert_eq!(example["data"]["chains"].as_array().unwrap().len(), chains.len());
}

#[test]
fn headers_of_answers_are_described() {
    let document = document(ENDPOINTS);
    let server = Server::start();
    let described = &document["components"]["headers"];
    for (method, path) in [("GET", "/v1/chains"), ("GET", "/healthz"), ("GET", "/v1/stream"), ("GET", "/nowhere")] {
        let reply = server.send(method, path, &[("x-correlation-id", "mine")], "");
        for name in reply.headers.keys() {
            let known = described.as_object().unwrap().keys().any(|header| header.eq_ignore_ascii_case(name));
            let ours = name.starts_with("x-") || name.starts_with("ratelimit") || name.starts_with("idempotent");
            assert!(known || !ours || name == "x-content-type-options", "{path} {name}");
        }
    }
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
    assert_eq!(description.json(), document(ENDPOINTS));
}

#[test]
fn root_is_redirected_to_the_page() {
    let server = Server::start();
    for method in ["GET", "HEAD"] {
        let reply = server.client().send(method, "/", &[], b"").unwrap();
        assert_eq!((reply.status, reply.header("location")), (307, "/docs"), "{method}");
        assert_eq!(reply.header("x-request-id").len(), 36);
    }
    assert_eq!(server.send("POST", "/", &[], "").error().0, "method_not_allowed");
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
    assert!(script.contains("\"/api-docs/openapi.json\"") && script.contains("validatorUrl: \"none\""), "{script}");
    assert!(!script.contains("http"), "{script}");
    assert_eq!(server.send("GET", "/docs/no-such-file.js", &[], "").error().0, "not_found");
}

#[test]
fn explore_has_its_files_and_a_strict_policy() {
    let server = Server::start();
    let page = server.send("GET", "/explore", &[], "");
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    let policy = page.header("content-security-policy").to_owned();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"), "{policy}");
    let html = String::from_utf8(page.body).unwrap();
    assert!(!html.contains("<style") && !html.contains(" style=") && !html.contains(" onclick="), "{html}");
    let mut open: Vec<String> = linked(&html).collect();
    let mut seen = BTreeSet::new();
    let mut bytes = 0;
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let file = server.send("GET", &path, &[], "");
        assert_eq!(file.status, 200, "{path}");
        assert_eq!(file.header("content-security-policy"), policy, "{path}");
        let known = server.send("GET", &path, &[("If-None-Match", file.header("etag"))], "");
        bytes += file.body.len();
        assert_eq!((known.status, known.body.len()), (304, 0), "{path}");
        let text = String::from_utf8(file.body).unwrap();
        open.extend(imported(&text));
    }
    assert!(seen.len() > 15, "{seen:?}");
    assert!(bytes < 1_000_000, "{bytes} bytes");
    assert_eq!(server.send("GET", "/explore/no-such-file.js", &[], "").error().0, "not_found");
}

/// The files that a page names.
fn linked(html: &str) -> impl Iterator<Item = String> {
    html.split('"').filter(|text| text.starts_with("/explore/")).map(str::to_owned)
}

/// The modules that a module imports.
fn imported(script: &str) -> impl Iterator<Item = String> {
    let names = script.split(" from \"./").skip(1).filter_map(|rest| rest.split('"').next());
    names.map(|name| format!("/explore/{name}"))
}

#[test]
fn explore_has_the_prices_of_the_engine() {
    let server = Server::start();
    let facts = String::from_utf8(server.send("GET", "/explore/facts.js", &[], "").body).unwrap();
    let (_, value) = facts.split_once("FACTS = ").unwrap();
    let facts: Value = serde_json::from_str(value.trim_end().trim_end_matches(';')).unwrap();
    assert_eq!(facts["needs_key"], true);
    for endpoint in ENDPOINTS {
        assert_eq!(facts["costs"][endpoint.path], endpoint.cost, "{}", endpoint.path);
    }
    assert_eq!(facts["vocabulary"]["labels"]["exchange"]["kind"], "exchange");
}

/// `docs/endpoints.md`, from the table of endpoints.
fn listed() -> String {
    let mut page = "# Endpoints\n\nWritten by `HEADWATER_WRITE=1 cargo test -p headwater-server docs_list`.\n\
        A list is also available as CSV, NDJSON, Parquet or Arrow, and as a frame in Python. Requests, answers and errors are \
        at `/docs` of a running server.\n"
        .to_owned();
    for tag in Tag::ALL {
        write!(page, "\n## {}\n\n| call | answer | credits | class | list |\n|---|---|---|---|---|\n", tag.name())
            .unwrap();
        for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.tag == tag) {
            let verbs: Vec<String> = endpoint.methods().map(|(method, ..)| verb(method).to_uppercase()).collect();
            let (call, text) = (format!("{} {}", verbs.join(", "), endpoint.path), endpoint.description);
            let class = endpoint.class.name();
            let credits = match endpoint.pricing() {
                Pricing::PerCall => endpoint.cost.to_string(),
                Pricing::PerItem { .. } => format!("{} per item", endpoint.cost),
            };
            let list = if endpoint.columns().is_some() { "yes" } else { "no" };
            writeln!(page, "| `{call}` | {}: {text} | {credits} | {class} | {list} |", endpoint.summary).unwrap();
        }
    }
    page
}

#[test]
fn docs_list_every_endpoint_of_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/endpoints.md");
    if std::env::var_os("HEADWATER_WRITE").is_some() {
        std::fs::write(path, listed()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), listed(), "HEADWATER_WRITE=1 writes it");
}
