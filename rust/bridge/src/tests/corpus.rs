//! Every decode vector: real logs, decoded by an independent decoder.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::{OwnedTransaction, chain_named, corpus_json, corpus_log, fixed, text};
use crate::Tables;
use crate::abi::Value;
use crate::tables::Event;

/// The text that the corpus writes for a value.
fn written(value: Value<'_>) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Signed(number) => {
            let max = headwater_types::Amount::MAX;
            let half = max.abs_diff(headwater_types::Amount::ZERO);
            if number.to_be_bytes()[0] < 0x80 {
                number.to_string()
            } else {
                format!("-{}", half.checked_sub(number).unwrap().checked_add(headwater_types::Amount::from(1)).unwrap())
            }
        }
        Value::Account(account) => format!("0x{}", hex::encode(account)),
        Value::Word(word) => format!("0x{}", hex::encode(word)),
        Value::Bytes(bytes) => format!("0x{}", hex::encode(bytes)),
        Value::Text(text) => text.to_owned(),
    }
}

/// The paths of a decoded value with its leaves: tuples are lists without names, so the declaration names them.
fn leaves(kind: &crate::abi::Kind, path: String, json: &Json, found: &mut Vec<(String, Json)>) {
    use crate::abi::Kind;
    match (kind, json) {
        (Kind::Tuple(fields), Json::Array(values)) => {
            assert_eq!(fields.len(), values.len(), "{path}");
            for (field, value) in fields.iter().zip(values) {
                leaves(&field.kind, format!("{path}.{}", field.name), value, found);
            }
        }
        (Kind::Array(element), Json::Array(values)) => {
            for (place, value) in values.iter().enumerate() {
                let mut path = path.clone();
                write!(path, "[{place}]").unwrap();
                leaves(element, path, value, found);
            }
        }
        _ => found.push((path, json.clone())),
    }
}

fn compare(event: &Event, vector: &Json) -> usize {
    let log = corpus_log(vector);
    let decoded = vector["decoded"].as_object().unwrap();
    assert_eq!(decoded.len(), event.declaration.fields.len(), "{}", event.signature());
    let mut found = Vec::new();
    for field in &event.declaration.fields {
        leaves(&field.kind, field.name.clone(), &decoded[&field.name], &mut found);
    }
    for (path, json) in &found {
        let value = event.place(path).unwrap().read(&log.topics, &log.data).unwrap().unwrap();
        let expected = match json {
            Json::String(text) => text.clone(),
            Json::Bool(truth) => u8::from(*truth).to_string(),
            other => other.to_string(),
        };
        assert_eq!(written(value), expected, "{} {path}", event.signature());
    }
    found.len()
}

#[test]
fn corpus_decode_vectors_are_decoded_field_by_field() {
    let vectors = corpus_json("log_decode_vectors.json");
    let vectors = vectors["vectors"].as_array().unwrap();
    let mut values = 0;
    for vector in vectors {
        let topic0: [u8; 32] = fixed(vector["topics"][0].as_str().unwrap());
        let topics = vector["topics"].as_array().unwrap().len();
        let events: Vec<&Event> =
            Tables::builtin().events_of(&topic0).filter(|event| event.topic_count == topics).collect();
        assert!(!events.is_empty(), "{}", text(vector, "event"));
        values += events.iter().map(|event| compare(event, vector)).max().unwrap();
    }
    println!("{} vectors, {values} values", vectors.len());
    assert_eq!(vectors.len(), 79);
}

/// Logs that are legs by themselves give one; those that only complete others, or need others, give none.
#[test]
fn corpus_decode_vectors_give_the_legs_that_they_are() {
    const NONE: [&str; 8] = [
        // Aggregators, parts of other events, and messages of the gateway that carry nothing.
        "LiFiTransferStarted",
        "LiFiTransferCompleted",
        "SocketBridge",
        "MintAndWithdraw",
        "RelayerParams",
        "ComposeDelivered",
        "TransactionDeposited",
        // The source of V1 is read from DepositForBurn, Stargate from its packet.
        "MessageSent",
    ];
    let vectors = corpus_json("log_decode_vectors.json");
    let mut legs = 0;
    for vector in vectors["vectors"].as_array().unwrap() {
        let name = text(vector, "event").split('(').next().unwrap();
        let mut transaction = OwnedTransaction::on(text(vector, "chain"), 0);
        transaction.hash = fixed(text(vector, "tx_hash"));
        transaction.logs = vec![corpus_log(vector)];
        let is_stargate_v1 = matches!(name, "Swap" | "SendMsg");
        // Its id is that of StateSynced beside it.
        let needs_other = name == "LockedERC20";
        let expected = usize::from(!NONE.contains(&name) && !is_stargate_v1 && !needs_other);
        let found = transaction.legs();
        assert_eq!(
            found.len(),
            expected,
            "{} on {}: {found:?}",
            text(vector, "event"),
            chain_named(text(vector, "chain"))
        );
        for leg in found {
            legs += 1;
            let family = leg.family.as_ref();
            let decoded = &vector["decoded"];
            match family {
                "across" => {
                    let origin = decoded.get("originChainId").and_then(Json::as_str).unwrap_or("1");
                    assert_eq!(leg.key().as_str(), format!("{origin}:{}", text(decoded, "depositId")));
                }
                "hop" if decoded.get("transferId").is_some() => {
                    assert_eq!(leg.key().as_str(), text(decoded, "transferId"));
                }
                "layerzero" if decoded.get("guid").is_some() => assert_eq!(leg.key().as_str(), text(decoded, "guid")),
                "amb" | "ccip" => assert!(
                    text(vector, "data").contains(leg.key().as_str().trim_start_matches("0x"))
                        || vector["topics"].to_string().contains(leg.key().as_str())
                ),
                _ => {}
            }
        }
    }
    println!("{legs} legs");
}
