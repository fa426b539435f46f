//! What the description promises of answers is what answers hold.

use std::collections::{BTreeMap, BTreeSet};

use headwater_engine::{ChainScope, ColumnKind, ENDPOINTS, endpoint};
use headwater_types::Family;
use serde_json::{Value, json};

use crate::town;
use crate::town::{ALICE, BOB, PAID, PAYERS, about, between, bitcoin, classifying, data, hash, person, town};

/// Compares the fields of every object of an answer with those that its schema names.
fn compare(answer: &Value, schema: &Value, named: &BTreeMap<String, Value>, at: &str) {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        return compare(answer, &named[name], named, at);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = choices.iter().find(|choice| (choice["type"] == "null") == answer.is_null());
        return compare(answer, fits.unwrap_or_else(|| panic!("{at} is {answer}")), named, at);
    }
    if let Some(values) = schema["enum"].as_array() {
        assert!(values.contains(answer), "{at} is {answer}, which is not one of {values:?}");
    }
    match answer {
        Value::Object(fields) if schema["properties"].is_object() => {
            let text = |names: &Value| -> BTreeSet<String> {
                names.as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
            };
            let known: BTreeSet<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
            let given: BTreeSet<String> = fields.keys().cloned().collect();
            let missing: Vec<_> = text(&schema["required"]).difference(&given).cloned().collect();
            assert!(missing.is_empty(), "{at} lacks {missing:?}");
            let is_open = !matches!(schema["additionalProperties"], Value::Null | Value::Bool(false));
            assert!(is_open || given.is_subset(&known), "{at} has {:?}", given.difference(&known));
            for (name, value) in fields {
                compare(value, &schema["properties"][name], named, &format!("{at}.{name}"));
            }
        }
        Value::Array(items) => {
            for item in items {
                compare(item, &schema["items"], named, &format!("{at}[]"));
            }
        }
        _ => {}
    }
}

fn check(engine: &town::Town, name: &str, request: &Value) {
    let described = endpoint(name).unwrap().describe();
    let plain = |schema| serde_json::to_value(schema).unwrap();
    let named = described.components.into_iter().map(|(name, schema)| (name, plain(schema))).collect();
    compare(&data(engine, name, request), &plain(described.report), &named, name);
}

#[test]
fn every_promised_field_is_there_though_it_is_null() {
    let town = town();
    let hidden = json!({"include_unverified": true, "include_failed": true, "output_asset": "usd"});
    check(&town, "transactions", &about(ALICE, hidden));
    check(&town, "counterparty", &about(ALICE, json!({"limit": 1})));
    check(&town, "counterparty/transfer-between", &between(ALICE, BOB, json!({})));
    check(&town, "counterparty/overview", &between(ALICE, BOB, json!({})));
    check(&town, "wallet-overview", &about(ALICE, json!({})));
    let hash_of = |number: u8, family: Family| json!({"hash": hash(number).display(family), "include": ["logs"]});
    check(&town, "transaction", &hash_of(2, Family::Evm));
    check(&town, "chains", &json!({}));
    check(&town, "resolve", &json!({"blockchain": "ethereum", "symbols": ["usdt", "nope"]}));
    check(&town, "rates", &json!({"symbols": ["eth", "nope"]}));
    check(&town, "rates/history", &json!({"symbol": "eth"}));
    check(&town, "rates/symbols", &json!({"detail": true}));
    check(&town, "addresses/resolve", &json!({"q": "nothing"}));
    check(&town, "labels", &about(ALICE, json!({})));
    check(&town, "labels/search", &json!({"q": "across"}));
    let queries = [about(ALICE, json!({})), about(BOB, json!({"address": "0x12"}))];
    check(&town, "address-risk/batch", &json!({"queries": queries}));
    let classified =
        json!({"blockchain": "ethereum", "addresses": [person(ALICE).to_string(), person(0x99).to_string()]});
    check(&town, "address-classify", &classified);
    check(&classifying(), "address-classify", &classified);
    let mut explained = classified.clone();
    explained["explain"] = json!(true);
    check(&classifying(), "address-classify", &explained);
    check(&town, "trace", &about(ALICE, json!({"track_setting": {"method": "haircut"}})));
    let targets = [BOB, 0x33].map(|target| person(target).to_string());
    check(&town, "path", &json!({"blockchain": "ethereum", "source": person(ALICE).to_string(), "targets": targets}));
    for hops in [1, 2] {
        check(&town, "exposure", &about(ALICE, json!({"max_hops": hops})));
    }

    let engine = bitcoin();
    check(&engine, "transactions", &json!({"blockchain": "bitcoin", "address": PAYERS[0]}));
    check(&engine, "wallet-overview", &json!({"blockchain": "bitcoin", "address": PAID[0]}));
    check(&engine, "transaction", &hash_of(3, Family::Utxo));
    check(&engine, "trace", &json!({"blockchain": "bitcoin", "address": PAYERS[0]}));
    check(&engine, "btc/cluster", &json!({"address": PAYERS[0], "include_change": true}));
    check(&engine, "btc/change-address", &json!({"txid": hash(3).display(Family::Utxo)}));
}

#[test]
fn a_nullable_field_of_a_record_is_promised_and_an_extra_of_some_rows_is_not() {
    let described = endpoint("transactions").unwrap().describe();
    let (_, row) = described.components.iter().find(|(name, _)| name == "TransferRow").unwrap();
    let row = serde_json::to_value(row).unwrap();
    let promised = |field: &str| row["required"].as_array().unwrap().iter().any(|name| name == field);
    assert!(promised("contract") && promised("amount_usd") && promised("id"));
    assert!(!promised("amount_out") && !promised("counterparties"));
}

#[test]
fn chain_scope_names_the_chain_field_of_the_request() {
    for endpoint in ENDPOINTS {
        let request = endpoint.describe().request;
        let takes = |field: &str| request["properties"].get(field).is_some();
        let requires = |field: &str| request["required"].as_array().is_some_and(|all| all.contains(&json!(field)));
        let holds = match endpoint.chains {
            ChainScope::Unscoped | ChainScope::Always(_) => !takes("blockchain") && !takes("chain"),
            ChainScope::Named(field)
            | ChainScope::NamedOrEvm(field)
            | ChainScope::EachNamedOrEvm(field, _)
            | ChainScope::NamedAndListed(field, _) => requires(field),
            ChainScope::NamedOrAny(field) | ChainScope::NamedOr(field, _) | ChainScope::OneOf(field, _) => {
                takes(field) && !requires(field)
            }
        };
        assert!(holds, "{}: {:?} does not fit its request", endpoint.name, endpoint.chains);
    }
}

#[test]
fn first_columns_are_columns_of_the_rows() {
    for endpoint in ENDPOINTS {
        let rows = endpoint.report_rows().columns;
        let all: Vec<_> = endpoint.columns().into_iter().flatten().chain(rows).collect();
        let nested = all.iter().filter_map(|column| match &column.kind {
            ColumnKind::Record(columns) => Some(columns.iter()),
            _ => None,
        });
        let known: BTreeSet<&str> = all.iter().chain(nested.flatten()).map(|column| &*column.name).collect();
        let unknown: Vec<_> = endpoint.first.iter().filter(|name| !known.contains(*name)).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?} of {known:?}", endpoint.name);
    }
}
