//! The description suits generators of clients. `scripts/test-clients.sh` runs the generators themselves.

use std::collections::BTreeSet;

use headwater_engine::ENDPOINTS;
use headwater_server::routes::document;
use serde_json::{Value, json};

/// Every operation with its method and path.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, verbs)| {
            verbs.as_object().unwrap().iter().map(move |(verb, operation)| (format!("{verb} {path}"), operation))
        })
        .collect()
}

fn schemas(document: &Value) -> &serde_json::Map<String, Value> {
    document["components"]["schemas"].as_object().unwrap()
}

/// The name of an operation in the style of types.
fn type_name(operation: &Value) -> String {
    let words = operation["operationId"].as_str().unwrap().split('_');
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// Gathers the places below a schema whose schema satisfies a condition.
fn places(schema: &Value, at: &str, holds: fn(&Value) -> bool, found: &mut Vec<String>) {
    if holds(schema) {
        found.push(at.to_owned());
    }
    for (field, property) in schema["properties"].as_object().into_iter().flatten() {
        places(property, &format!("{at}.{field}"), holds, found);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(part) = schema.get(inner) {
            places(part, &format!("{at}[]"), holds, found);
        }
    }
    for list in ["oneOf", "anyOf"] {
        for choice in schema[list].as_array().into_iter().flatten() {
            places(choice, at, holds, found);
        }
    }
}

fn is_model(schema: &Value) -> bool {
    schema["enum"].is_array() || schema["properties"].is_object() || schema["additionalProperties"].is_object()
}

#[test]
fn models_have_one_name_in_every_generator() {
    let document = document(ENDPOINTS);
    let mut unnamed = Vec::new();
    for (name, schema) in schemas(&document) {
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            places(property, &format!("{name}.{field}"), is_model, &mut unnamed);
        }
        for choice in schema["oneOf"].as_array().into_iter().flatten() {
            assert_eq!(choice.as_object().unwrap().keys().collect::<Vec<_>>(), ["$ref"], "{name}");
        }
    }
    for (at, operation) in operations(&document) {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let responses = operation["responses"].as_object().unwrap().values();
        let contents = responses.flat_map(|response| response["content"].as_object().into_iter().flatten());
        for schema in parameters.map(|one| &one["schema"]).chain(contents.map(|(_, content)| &content["schema"])) {
            places(schema, &at, is_model, &mut unnamed);
        }
    }
    assert!(unnamed.is_empty(), "{unnamed:?}");
    for name in ["EvmGas", "TronGas", "LabelCode", "TransactionInclude", "ChainOrEvm", "DecimalAmount", "AmountText"] {
        assert!(schemas(&document).contains_key(name), "{name}");
    }
}

#[test]
fn envelopes_of_equal_data_are_one_type() {
    let document = document(ENDPOINTS);
    let envelope = |path: &str, verb: &str| {
        let content = &document["paths"][path][verb]["responses"]["200"]["content"]["application/json"];
        content["schema"]["$ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()
    };
    assert_eq!(envelope("/v1/transactions", "post"), "TransactionsEnvelope");
    assert_eq!(envelope("/v1/token/addresses_flow", "get"), envelope("/v1/token/addresses_flow", "post"));
    assert_eq!(envelope("/v1/webhooks/{id}", "get"), "WebhookViewEnvelope");
    assert_eq!(envelope("/v1/webhooks/{id}", "patch"), "WebhookViewEnvelope");
    assert_eq!(envelope("/v1/webhooks", "get"), "WebhookViewListEnvelope");
    let list = &schemas(&document)["WebhookViewListEnvelope"]["properties"]["data"];
    assert_eq!(list, &json!({"type": "array", "items": {"$ref": "#/components/schemas/WebhookView"}}));
}

#[test]
fn defaults_are_in_descriptions_alone() {
    let document = document(ENDPOINTS);
    let mut defaults = Vec::new();
    let has_default = |schema: &Value| schema.get("default").is_some();
    for (name, schema) in schemas(&document) {
        places(schema, name, has_default, &mut defaults);
    }
    for (at, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            places(&parameter["schema"], &at, has_default, &mut defaults);
            assert!(parameter.get("default").is_none(), "{at}");
        }
    }
    assert!(defaults.is_empty(), "{defaults:?}");
    let described = |record: &str, field: &str| {
        schemas(&document)[record]["properties"][field]["description"].as_str().unwrap().to_owned()
    };
    assert!(described("TransactionsRequest", "limit").contains("default 20"));
    assert_eq!(described("TrackSetting", "outward_depth"), "Hops in the direction of payments. Default: `2`.");
    assert!(
        described("StopTrackCondition", "labels")
            .ends_with("Default: `exchange`, `mixer`, `bridge`, `dex`, `mining_pool`.")
    );
}

#[test]
fn every_media_type_has_a_schema() {
    let document = document(ENDPOINTS);
    let mut tables = 0;
    for (at, operation) in operations(&document) {
        for response in operation["responses"].as_object().unwrap().values() {
            for (media, content) in response["content"].as_object().into_iter().flatten() {
                let schema = &content["schema"];
                assert!(schema.as_object().is_some_and(|schema| !schema.is_empty()), "{at} {media}");
                if media.starts_with("application/vnd.apache") {
                    assert_eq!((&schema["type"], &schema["format"]), (&json!("string"), &json!("binary")), "{at}");
                    tables += 1;
                }
            }
        }
    }
    assert!(tables > 20, "{tables}");
}

#[test]
fn operation_ids_make_names_that_clash_with_no_schema() {
    let document = document(ENDPOINTS);
    let names: BTreeSet<String> = schemas(&document).keys().map(|name| name.to_lowercase()).collect();
    assert_eq!(names.len(), schemas(&document).len(), "two names differ in case alone");
    for (at, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(id.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{at}: {id}");
        let name = type_name(operation);
        // Types that generators make for an operation: its answer, its parameters, and its input where it has no body.
        let mut made = vec![format!("{name}Response"), format!("{name}Params"), format!("{name}JSONBody")];
        if operation.get("requestBody").is_none() {
            made.push(format!("{name}Request"));
        }
        for made in made {
            assert!(!schemas(&document).contains_key(&made), "{at}: {made}");
        }
    }
    let id = |path: &str, verb: &str| document["paths"][path][verb]["operationId"].clone();
    assert_eq!(id("/v1/webhooks", "post"), "create_webhook");
    assert_eq!(id("/v1/webhooks/{id}/deliveries", "get"), "list_webhook_deliveries");
    assert_eq!(id("/v1/stream/ticket", "post"), "create_stream_ticket");
    assert_eq!(id("/v1/token/addresses_flow", "post"), "token_addresses_flow");
    assert_eq!(id("/v1/token/addresses_flow", "get"), "token_addresses_flow_by_get");
}

#[test]
fn description_names_the_server_it_comes_from() {
    assert_eq!(document(ENDPOINTS)["servers"][0]["url"], "/");
}

#[test]
fn amounts_of_requests_are_text_or_numbers() {
    let document = document(ENDPOINTS);
    let amount = &schemas(&document)["DecimalAmount"];
    let choices = ["AmountNumber", "AmountText"].map(|name| json!({"$ref": format!("#/components/schemas/{name}")}));
    assert_eq!(amount["oneOf"], json!(choices));
    for (record, field) in
        [("FilterCriteria", "min_value"), ("EventFilters", "min_amount_usd"), ("PathRequest", "min_amount_usd")]
    {
        let property = &schemas(&document)[record]["properties"][field];
        let named = property["oneOf"].as_array().unwrap();
        assert!(named.contains(&json!({"$ref": "#/components/schemas/DecimalAmount"})), "{record}.{field}: {property}");
    }
    assert_eq!(schemas(&document)["TransferRow"]["properties"]["amount"]["format"], "decimal");
    // One of each pair of fields is needed, which no generator makes types of.
    let pair = |one: &str, other: &str| json!({"properties": {one: {"type": "null"}, other: {"type": "null"}}});
    assert_eq!(schemas(&document)["BalanceThreshold"]["if"], pair("symbol", "contract"));
    let pairs = &schemas(&document)["CounterpartyOverviewRequest"];
    assert_eq!(
        (&pairs["if"], &pairs["else"]["if"]),
        (&pair("target", "address_a"), &pair("counterparty", "address_b"))
    );
    assert_eq!((&pairs["then"], &pairs["else"]["then"]), (&json!({"not": {}}), &json!({"not": {}})));
}

#[test]
fn values_other_than_words_have_names() {
    let document = document(ENDPOINTS);
    assert_eq!(schemas(&document)["Sign"]["x-enum-varnames"], json!(["Plus", "Minus"]));
    let chains = &schemas(&document)["OneChain"];
    let at = chains["enum"].as_array().unwrap().iter().position(|value| value == "").unwrap();
    assert_eq!(chains["x-enum-varnames"][at], "Undecided");
}
