//! Any field of an answer that is changed or left out makes the verification fail, the documented ones apart.

use serde_json::{Value, json};

use crate::{evm, tron};

/// Fields that no hash covers and that follow from no others, as the module docs list them.
const EVM_UNCOVERED: &[&str] = &["size", "totalDifficulty", "blobGasPrice"];

/// Fields that a node may leave out: their values follow from others, or have a default.
const EVM_OPTIONAL: &[&str] = &[
    "accessList",
    "blobGasUsed",
    "blockTimestamp",
    "chainId",
    "contractAddress",
    "effectiveGasPrice",
    "from",
    "gasPrice",
    "gasUsed",
    "logsBloom",
    "removed",
    "storageKeys",
    "to",
    "type",
    "uncles",
    "v",
    "withdrawals",
    "yParity",
];

/// The paths of all values that are not objects, in order.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| leaves(value, &format!("{path}/{name}"), found));
        }
        Value::Array(entries) => {
            found.push(path.to_owned());
            for (at, value) in entries.iter().enumerate() {
                leaves(value, &format!("{path}/{at}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(path.to_owned()),
    }
}

/// Other values of the same form.
fn changes(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!("0x00000000000000000000000000000000000000ff"), json!(1)],
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(number) => vec![json!(number.as_i64().unwrap() + 1), json!(number.as_i64().unwrap() ^ 1 << 40)],
        Value::String(text) => {
            let mut changes = vec![json!(format!("{text}01"))];
            let begin = text.len().min(2);
            for at in [begin, begin + (text.len() - begin) / 2, text.len().saturating_sub(1)] {
                if let Some(digit) = text.get(at..=at).and_then(|digit| u8::from_str_radix(digit, 16).ok()) {
                    let mut text = text.clone();
                    text.replace_range(at..=at, &format!("{:x}", digit ^ 1));
                    changes.push(json!(text));
                }
            }
            changes
        }
        Value::Array(entries) => {
            let mut longer = entries.clone();
            longer.push(entries.last().cloned().unwrap_or(json!("0x00")));
            let mut changes = vec![Value::Array(longer)];
            if let Some((_, fewer)) = entries.split_last() {
                changes.push(Value::Array(fewer.to_vec()));
            }
            changes
        }
        Value::Object(_) => Vec::new(),
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap()
}

/// Counts the changes that `verify` refuses, and fails on the first that it accepts.
fn refused_changes(entry: &Value, uncovered: &[&str], verify: &dyn Fn(&Value) -> bool) -> usize {
    let mut paths = Vec::new();
    leaves(entry, "", &mut paths);
    let mut count = 0;
    for path in paths.iter().filter(|path| !uncovered.contains(&name(path))) {
        let value = entry.pointer(path).unwrap();
        for change in changes(value) {
            let mut changed = entry.clone();
            *changed.pointer_mut(path).unwrap() = change.clone();
            assert!(!verify(&changed), "{path}: {value} may be {change}");
            count += 1;
        }
    }
    count
}

/// Removes each field in turn, and fails where `verify` accepts a field's absence that is not optional.
fn check_removals(entry: &Value, optional: &[&str], verify: &dyn Fn(&Value) -> bool) {
    let mut paths = Vec::new();
    leaves(entry, "", &mut paths);
    for path in paths {
        let (parent, field) = path.rsplit_once('/').unwrap();
        if optional.contains(&field) || field.parse::<usize>().is_ok() {
            continue;
        }
        let mut changed = entry.clone();
        changed.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(field).unwrap();
        assert!(!verify(&changed), "{path} may be missing");
    }
}

fn evm_entries() -> Vec<Value> {
    let entries = evm::rich_blocks()
        .into_iter()
        .map(|entry| json!({"asked": evm::number(&entry), "block": entry["block"], "receipts": entry["receipts"]}));
    entries.collect()
}

#[test]
fn evm_fields_that_are_changed_are_refused() {
    let uncovered = [EVM_UNCOVERED, &["asked"]].concat();
    let mut total = 0;
    for entry in evm_entries() {
        assert!(evm::verify(&entry).is_ok());
        total += refused_changes(&entry, &uncovered, &|entry| evm::verify(entry).is_ok());
    }
    assert!(total > 3_000, "{total}");
}

#[test]
fn evm_fields_that_are_missing_are_refused() {
    let optional = [EVM_UNCOVERED, EVM_OPTIONAL, &["asked"]].concat();
    for entry in evm_entries() {
        check_removals(&entry, &optional, &|entry| evm::verify(entry).is_ok());
    }
}

#[test]
fn tron_fields_that_are_changed_are_refused() {
    let entry = tron::answers();
    assert!(tron::verify(&entry).is_ok());
    // No hash covers fees, logs and the like of infos.
    let uncovered = ["fee", "contractResult", "energy_usage_total", "net_usage"];
    let count = refused_changes(&entry, &uncovered, &|entry| tron::verify(entry).is_ok());
    assert!(count > 60, "{count}");
}
