//! The fields of TRON's messages, and the comparison of signed bytes with the JSON that a node makes of them.
//!
//! The id of a transaction covers its bytes alone. A node could give true bytes beside a changed amount in `raw_data`, so
//! each JSON field is compared with the bytes. Numbers of fields are those of the protocol definition of java-tron.

use serde_json::Value;

use super::protobuf::{WireValue, fields as wire_fields};
use crate::json::{present, shown};
use crate::mismatch::{Fault, Mismatch, Rule};

/// The form of a field.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Bytes,
    Text,
    Integer,
    Flag,
    Name(&'static [&'static str]),
    Message(&'static [Field]),
    /// A message that is not compared.
    Opaque,
}

/// A field: its name in JSON, its number, and its form.
pub(super) type Field = (&'static str, u32, Form);

use Form::{Bytes, Flag, Integer, Message, Name, Opaque, Text};

const OWNER: Field = ("owner_address", 1, Bytes);
const RESOURCE: &[&str] = &["BANDWIDTH", "ENERGY", "TRON_POWER"];

/// The fields of `raw_data`, the contract apart.
pub(super) const RAW_DATA: &[Field] = &[
    ("ref_block_bytes", 1, Bytes),
    ("ref_block_num", 3, Integer),
    ("ref_block_hash", 4, Bytes),
    ("expiration", 8, Integer),
    ("auths", 9, Opaque),
    ("data", 10, Bytes),
    ("contract", 11, Opaque),
    ("scripts", 12, Bytes),
    ("timestamp", 14, Integer),
    ("fee_limit", 18, Integer),
];

const NEW_CONTRACT: &[Field] = &[
    ("origin_address", 1, Bytes),
    ("contract_address", 2, Bytes),
    ("abi", 3, Opaque),
    ("bytecode", 4, Bytes),
    ("call_value", 5, Integer),
    ("consume_user_resource_percent", 6, Integer),
    ("name", 7, Text),
    ("origin_energy_limit", 8, Integer),
    ("code_hash", 9, Bytes),
    ("trx_hash", 10, Bytes),
    ("version", 11, Integer),
];

/// A type of contract: its name, its number, and the fields of its value; `None` where they are not compared.
struct ContractType(&'static str, u64, Option<&'static [Field]>);

#[rustfmt::skip]
const TYPES: &[ContractType] = &[
    ContractType("AccountCreateContract", 0, Some(&[OWNER, ("account_address", 2, Bytes), ("type", 3, Name(&["Normal", "AssetIssue", "Contract"]))])),
    ContractType("TransferContract", 1, Some(&[OWNER, ("to_address", 2, Bytes), ("amount", 3, Integer)])),
    ContractType("TransferAssetContract", 2, Some(&[("asset_name", 1, Bytes), ("owner_address", 2, Bytes), ("to_address", 3, Bytes), ("amount", 4, Integer)])),
    ContractType("VoteAssetContract", 3, None),
    ContractType("VoteWitnessContract", 4, None),
    ContractType("WitnessCreateContract", 5, Some(&[OWNER, ("url", 2, Bytes)])),
    ContractType("AssetIssueContract", 6, None),
    ContractType("WitnessUpdateContract", 8, Some(&[OWNER, ("update_url", 12, Bytes)])),
    ContractType("ParticipateAssetIssueContract", 9, Some(&[OWNER, ("to_address", 2, Bytes), ("asset_name", 3, Bytes), ("amount", 4, Integer)])),
    ContractType("AccountUpdateContract", 10, Some(&[("account_name", 1, Bytes), ("owner_address", 2, Bytes)])),
    ContractType("FreezeBalanceContract", 11, Some(&[OWNER, ("frozen_balance", 2, Integer), ("frozen_duration", 3, Integer), ("resource", 10, Name(RESOURCE)), ("receiver_address", 15, Bytes)])),
    ContractType("UnfreezeBalanceContract", 12, Some(&[OWNER, ("resource", 10, Name(RESOURCE)), ("receiver_address", 15, Bytes)])),
    ContractType("WithdrawBalanceContract", 13, Some(&[OWNER])),
    ContractType("UnfreezeAssetContract", 14, Some(&[OWNER])),
    ContractType("UpdateAssetContract", 15, Some(&[OWNER, ("description", 2, Bytes), ("url", 3, Bytes), ("new_limit", 4, Integer), ("new_public_limit", 5, Integer)])),
    ContractType("ProposalCreateContract", 16, None),
    ContractType("ProposalApproveContract", 17, None),
    ContractType("ProposalDeleteContract", 18, None),
    ContractType("SetAccountIdContract", 19, Some(&[("account_id", 1, Bytes), ("owner_address", 2, Bytes)])),
    ContractType("CustomContract", 20, None),
    ContractType("CreateSmartContract", 30, Some(&[OWNER, ("new_contract", 2, Message(NEW_CONTRACT)), ("call_token_value", 3, Integer), ("token_id", 4, Integer)])),
    ContractType("TriggerSmartContract", 31, Some(&[OWNER, ("contract_address", 2, Bytes), ("call_value", 3, Integer), ("data", 4, Bytes), ("call_token_value", 5, Integer), ("token_id", 6, Integer)])),
    ContractType("GetContract", 32, None),
    ContractType("UpdateSettingContract", 33, None),
    ContractType("ExchangeCreateContract", 41, Some(&[OWNER, ("first_token_id", 2, Bytes), ("first_token_balance", 3, Integer), ("second_token_id", 4, Bytes), ("second_token_balance", 5, Integer)])),
    ContractType("ExchangeInjectContract", 42, Some(&[OWNER, ("exchange_id", 2, Integer), ("token_id", 3, Bytes), ("quant", 4, Integer)])),
    ContractType("ExchangeWithdrawContract", 43, Some(&[OWNER, ("exchange_id", 2, Integer), ("token_id", 3, Bytes), ("quant", 4, Integer)])),
    ContractType("ExchangeTransactionContract", 44, Some(&[OWNER, ("exchange_id", 2, Integer), ("token_id", 3, Bytes), ("quant", 4, Integer), ("expected", 5, Integer)])),
    ContractType("UpdateEnergyLimitContract", 45, None),
    ContractType("AccountPermissionUpdateContract", 46, None),
    ContractType("ClearABIContract", 48, Some(&[OWNER, ("contract_address", 2, Bytes)])),
    ContractType("UpdateBrokerageContract", 49, Some(&[OWNER, ("brokerage", 2, Integer)])),
    ContractType("ShieldedTransferContract", 51, None),
    ContractType("MarketSellAssetContract", 52, Some(&[OWNER, ("sell_token_id", 2, Bytes), ("sell_token_quantity", 3, Integer), ("buy_token_id", 4, Bytes), ("buy_token_quantity", 5, Integer)])),
    ContractType("MarketCancelOrderContract", 53, Some(&[OWNER, ("order_id", 2, Bytes)])),
    ContractType("FreezeBalanceV2Contract", 54, Some(&[OWNER, ("frozen_balance", 2, Integer), ("resource", 3, Name(RESOURCE))])),
    ContractType("UnfreezeBalanceV2Contract", 55, Some(&[OWNER, ("unfreeze_balance", 2, Integer), ("resource", 3, Name(RESOURCE))])),
    ContractType("WithdrawExpireUnfreezeContract", 56, Some(&[OWNER])),
    ContractType("DelegateResourceContract", 57, Some(&[OWNER, ("resource", 2, Name(RESOURCE)), ("balance", 3, Integer), ("receiver_address", 4, Bytes), ("lock", 5, Flag), ("lock_period", 6, Integer)])),
    ContractType("UnDelegateResourceContract", 58, Some(&[OWNER, ("resource", 2, Name(RESOURCE)), ("balance", 3, Integer), ("receiver_address", 4, Bytes)])),
    ContractType("CancelAllUnfreezeV2Contract", 59, Some(&[OWNER])),
];

/// Compares `raw_data` with the signed bytes. Returns whether the value of the contract was compared too.
pub(super) fn compare_raw_data(bytes: &[u8], raw_data: &Value) -> Result<bool, Fault> {
    let wire = split(bytes, "raw_data_hex")?;
    compare(&wire, raw_data, RAW_DATA)?;
    let mut contracts = wire.iter().filter(|(number, _)| *number == 11);
    let entries = raw_data.get("contract").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let (Some((_, WireValue::Bytes(contract))), None, [entry]) = (contracts.next(), contracts.next(), entries) else {
        let given = format!("a list of {}", entries.len());
        return Err(Fault::new("contract", Mismatch::UnknownForm { given, known: "exactly one contract" }));
    };
    compare_contract(contract, entry).map_err(|fault| fault.inside("contract", 0))
}

/// The fields of a contract beside its value.
const CONTRACT: &[Field] = &[
    ("type", 1, Opaque),
    ("parameter", 2, Opaque),
    // Nodes leave these two out of their JSON.
    ("provider", 3, Opaque),
    ("ContractName", 4, Opaque),
    ("Permission_id", 5, Integer),
];

fn compare_contract(bytes: &[u8], entry: &Value) -> Result<bool, Fault> {
    let wire = split(bytes, "parameter")?;
    compare(&wire, entry, CONTRACT)?;
    let number = varint(&wire, 1).unwrap_or(0);
    let Some(ContractType(name, _, fields)) = TYPES.iter().find(|known| known.1 == number) else {
        let known = "the types of the table in tron/contract.rs";
        return Err(Fault::new("type", Mismatch::UnknownForm { given: number.to_string(), known }));
    };
    if entry.get("type").and_then(Value::as_str) != Some(name) {
        let expected = format!("{name:?}, as in the signed bytes");
        return Err(Fault::value("type", Rule::Derived, shown(entry.get("type")), expected));
    }
    let Some(fields) = fields else { return Ok(false) };
    let parameter = message(&wire, 2).unwrap_or_default();
    let parameter = split(parameter, "parameter")?;
    let value = split(message(&parameter, 2).unwrap_or_default(), "parameter.value")?;
    let json = entry.get("parameter").unwrap_or(&Value::Null);
    compare(&parameter, json, &[("type_url", 1, Text), ("value", 2, Opaque)])
        .and_then(|()| {
            let empty = Value::Object(serde_json::Map::new());
            let json = present(json, "value").unwrap_or(&empty);
            compare(&value, json, fields).map_err(|fault| fault.within("value"))
        })
        .map_err(|fault| fault.within("parameter"))?;
    Ok(true)
}

fn split<'a>(bytes: &'a [u8], name: &str) -> Result<Vec<(u32, WireValue<'a>)>, Fault> {
    let given = || format!("{} bytes that are not a message", bytes.len());
    wire_fields(bytes)
        .ok_or_else(|| Fault::new(name, Mismatch::Malformed { given: given(), expected: "a protobuf message" }))
}

/// The last message of a field number.
fn message<'a>(wire: &[(u32, WireValue<'a>)], number: u32) -> Option<&'a [u8]> {
    wire.iter().rev().find_map(|(field, value)| match value {
        WireValue::Bytes(bytes) if *field == number => Some(*bytes),
        WireValue::Bytes(_) | WireValue::Varint(_) => None,
    })
}

/// The last number of a field number.
fn varint(wire: &[(u32, WireValue<'_>)], number: u32) -> Option<u64> {
    wire.iter().rev().find_map(|(field, value)| match value {
        WireValue::Varint(value) if *field == number => Some(*value),
        WireValue::Varint(_) | WireValue::Bytes(_) => None,
    })
}

/// Compares each field of a message with its JSON. Missing fields have their default on both sides.
///
/// Fields that the protocol does not have are ignored in the bytes, and in JSON where they are named by number, as
/// java-tron writes them.
fn compare(wire: &[(u32, WireValue<'_>)], json: &Value, fields: &[Field]) -> Result<(), Fault> {
    let names = json.as_object().into_iter().flat_map(|object| object.iter());
    for (name, value) in names {
        if fields.iter().all(|field| field.0 != name) && name.parse::<u32>().is_err() {
            let known = "the fields of java-tron's protocol";
            return Err(Fault::new(name, Mismatch::UnknownForm { given: shown(Some(value)), known }));
        }
    }
    fields.iter().try_for_each(|field| compare_field(wire, json, *field))
}

fn compare_field(wire: &[(u32, WireValue<'_>)], json: &Value, (name, number, form): Field) -> Result<(), Fault> {
    let stated = present(json, name);
    let bytes = || message(wire, number).unwrap_or_default();
    let value = || varint(wire, number).unwrap_or_default();
    let (expected, default) = match form {
        Form::Opaque => return Ok(()),
        Form::Message(fields) => {
            let empty = Value::Object(serde_json::Map::new());
            return split(bytes(), "")
                .and_then(|wire| compare(&wire, stated.unwrap_or(&empty), fields))
                .map_err(|fault| fault.within(name));
        }
        Form::Bytes => (Value::from(hex::encode(bytes())), Value::from("")),
        Form::Text => (Value::from(String::from_utf8_lossy(bytes())), Value::from("")),
        Form::Integer => (Value::from(value().cast_signed()), Value::from(0)),
        Form::Flag => (Value::from(value() != 0), Value::from(false)),
        Form::Name(names) => {
            let name = usize::try_from(value()).ok().and_then(|index| names.get(index));
            let expected = name.map_or_else(|| value().to_string(), ToString::to_string);
            (Value::from(expected), Value::from(names[0]))
        }
    };
    if stated.unwrap_or(&default) == &expected {
        return Ok(());
    }
    Err(Fault::value(name, Rule::Derived, shown(stated), format!("{expected}, as in the signed bytes")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::super::protobuf::Message as Writer;
    use super::*;

    /// A deployment: owner, a new contract with bytecode, a call value and a name, and a token.
    fn deployment() -> (Vec<u8>, Value) {
        let new_contract = Writer::default()
            .bytes(1, &[0x41, 1])
            .message(3, &[])
            .bytes(4, &[0x60, 0x80])
            .integer(5, 77)
            .bytes(7, b"Name")
            .finish();
        let value = Writer::default().bytes(1, &[0x41, 1]).message(2, &new_contract).integer(3, 5).finish();
        let url = b"type.googleapis.com/protocol.CreateSmartContract";
        let parameter = Writer::default().bytes(1, url).bytes(2, &value).finish();
        let contract = Writer::default().integer(1, 30).bytes(2, &parameter).bytes(3, b"hidden").integer(5, 2).finish();
        let bytes =
            Writer::default().bytes(1, &[7, 8]).integer(8, 99).message(11, &contract).integer(18, 1_000).finish();
        let json = json!({
            "ref_block_bytes": "0708",
            "expiration": 99,
            "contract": [{
                "parameter": {
                    "value": {
                        "owner_address": "4101",
                        "new_contract": {
                            "origin_address": "4101", "abi": {"entrys": []}, "bytecode": "6080", "call_value": 77, "name": "Name"
                        },
                        "call_token_value": 5
                    },
                    "type_url": "type.googleapis.com/protocol.CreateSmartContract"
                },
                "type": "CreateSmartContract",
                "Permission_id": 2
            }],
            "fee_limit": 1_000
        });
        (bytes, json)
    }

    #[test]
    fn deployment_equals_its_signed_bytes() {
        let (bytes, json) = deployment();
        assert!(compare_raw_data(&bytes, &json).unwrap());
    }

    #[test]
    fn deployment_with_any_changed_field_is_refused() {
        let (bytes, json) = deployment();
        let value = "/contract/0/parameter/value";
        for (path, change) in [
            ("/expiration".to_owned(), json!(98)),
            ("/ref_block_bytes".to_owned(), json!("0709")),
            ("/fee_limit".to_owned(), Value::Null),
            ("/contract/0/type".to_owned(), json!("TransferContract")),
            ("/contract/0/Permission_id".to_owned(), json!(3)),
            ("/contract/0/parameter/type_url".to_owned(), json!("")),
            (format!("{value}/owner_address"), json!("4102")),
            (format!("{value}/call_token_value"), json!(50)),
            (format!("{value}/new_contract/call_value"), json!(78)),
            (format!("{value}/new_contract/bytecode"), json!("")),
            (format!("{value}/new_contract/name"), json!("Other")),
        ] {
            let mut changed = json.clone();
            *changed.pointer_mut(&path).unwrap() = change;
            assert!(compare_raw_data(&bytes, &changed).is_err(), "{path}");
        }
        let mut added = json.clone();
        added["contract"][0]["parameter"]["value"]["token_id"] = json!(1);
        assert_eq!(
            compare_raw_data(&bytes, &added).unwrap_err().at(1).to_string(),
            "block 1: contract[0].parameter.value.token_id is 1; expected 0, as in the signed bytes"
        );
    }

    #[test]
    fn contract_of_unknown_type_or_field_is_unsupported() {
        let contract = Writer::default().integer(1, 99).finish();
        let bytes = Writer::default().message(11, &contract).finish();
        let error = compare_raw_data(&bytes, &json!({"contract": [{"type": "NewContract"}]})).unwrap_err().at(1);
        assert_eq!((error.mismatch.code(), error.path.as_str()), ("unknown_form", "contract[0].type"));
        let (bytes, mut json) = deployment();
        json["contract"][0]["parameter"]["value"]["amount"] = json!(1);
        assert_eq!(compare_raw_data(&bytes, &json).unwrap_err().at(1).mismatch.code(), "unknown_form");
    }

    #[test]
    fn contract_without_table_of_fields_is_not_compared() {
        let contract = Writer::default().integer(1, 4).finish();
        let bytes = Writer::default().message(11, &contract).finish();
        assert!(!compare_raw_data(&bytes, &json!({"contract": [{"type": "VoteWitnessContract"}]})).unwrap());
    }

    #[test]
    fn contract_types_have_unique_names_and_numbers() {
        let names: BTreeSet<&str> = TYPES.iter().map(|known| known.0).collect();
        let numbers: BTreeSet<u64> = TYPES.iter().map(|known| known.1).collect();
        assert_eq!((names.len(), numbers.len()), (TYPES.len(), TYPES.len()));
    }
}
