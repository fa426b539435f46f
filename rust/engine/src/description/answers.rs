//! What the fields of answers hold: closed lists and forms of text.

use headwater_types::Chain;
use serde_json::{Value, json};

use super::requests::{ADDRESS, HASH, whole};
use super::{chain, one_of, pattern};
use crate::CostClass;

/// Whole units as exact text: no exponent, no trailing zeros.
const DECIMAL: &str = "^(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$";
/// The same with a sign.
const SIGNED: &str = "^-?(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$";

/// What is said of a field; `None` where its type says all there is.
pub(super) fn keywords(record: &str, field: &str, property: &Value) -> Option<Value> {
    if property.get("$ref").is_some() || property.get("oneOf").is_some() || property["items"].get("$ref").is_some() {
        return None;
    }
    if is_text(property) {
        return text(record, field);
    }
    Some(match (record, field) {
        (_, "corrections") => json!({"items": one_of(&[
            "trimmed", "invisible_removed", "uri_stripped", "icap_decoded", "prefix_added", "case_fixed",
            "hex_to_base58", "base58_to_hex",
        ])}),
        (_, "chains") => json!({"items": chain()}),
        ("AddressAutocompleteReport", "candidates") => json!({"items": pattern(&whole(ADDRESS))}),
        (_, "counterparties") => json!({"maxItems": 10, "items": pattern(&whole(ADDRESS))}),
        (_, "flags" | "labels") if property.get("items").is_some() => json!({"items": pattern("^[a-z0-9_]+$")}),
        (_, "topics") => json!({"items": pattern("^0x[0-9a-f]{64}$")}),
        (_, "fiat") => json!({"items": pattern("^[A-Z]{3}$")}),
        (_, "endpoints") => json!({"additionalProperties": {"type": "string", "enum": ["full", "partial", "none"]}}),
        (_, "basis") => json!({"additionalProperties": {"type": "string", "enum": ["transfers", "snapshot"]}}),
        (_, "decimals" | "native_decimals") => json!({"maximum": u8::MAX}),
        (_, "hhi" | "gini") => json!({"minimum": 0, "maximum": 1}),
        (_, "limit" | "page") => json!({"minimum": 1}),
        (_, "total_pages") => json!({"minimum": -1}),
        _ => return None,
    })
}

fn is_text(property: &Value) -> bool {
    match &property["type"] {
        Value::String(kind) => kind == "string",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "string"),
        _ => false,
    }
}

fn text(record: &str, field: &str) -> Option<Value> {
    Some(match (record, field) {
        // Empty where the prefix fits several.
        ("AddressAutocompleteReport", "chain") => {
            json!({"enum": Chain::all().map(Chain::name).chain([""]).collect::<Vec<_>>()})
        }
        (_, "blockchain" | "chain") => chain(),
        (
            _,
            "address" | "from_address" | "to_address" | "target" | "counterparty" | "contract" | "contract_created",
        ) => pattern(&whole(ADDRESS)),
        (_, "tx_hash" | "prev_tx_hash" | "spent_by_tx") => pattern(&whole(HASH)),
        (_, "block_hash") => pattern("^(0x)?[0-9a-f]{64}$"),
        ("TransferRow", "id") => pattern("^[a-z]+:[0-9A-Za-z_]+:[a-z]+:[0-9A-Za-z:]+$"),
        (_, "next_cursor") => pattern("^[A-Za-z0-9_-]+$"),
        (_, "net_amount") => pattern(SIGNED),
        (
            _,
            "amount" | "amount_out" | "amount_usd" | "balance" | "received_amount" | "sent_amount" | "total_amount"
            | "total_amount_usd" | "fee",
        ) => pattern(DECIMAL),
        (_, "amount_raw" | "balance_raw" | "fee_raw" | "price_raw" | "total_supply_raw") => pattern("^[0-9]+$"),
        (_, "date") => json!({"format": "date"}),
        (_, "method_id") => pattern("^0x[0-9a-f]{8}$"),
        (_, "data" | "input") => pattern("^(0x)?[0-9a-f]*$"),
        (_, "op_return") => pattern("^[0-9a-f]*$"),
        (_, "request_id") => json!({"format": "uuid"}),
        ("TransferSum", "action") => one_of(&["send", "receive"]),
        (_, "action") => one_of(&["send", "receive", "self"]),
        ("TransferSum", "direction") => one_of(&["To", "From"]),
        (_, "direction") => one_of(&["To", "From", "Self"]),
        (_, "transfer_type") => one_of(&["native", "internal", "token", "utxo", "coinbase", "fee", "mint", "burn"]),
        ("TransferRow" | "TransactionReport", "status") => one_of(&["success", "failed", "unknown"]),
        (_, "family") => one_of(&["evm", "tron", "utxo"]),
        (_, "usd_mode") => one_of(&["rate", "none"]),
        (_, "matched_by") => one_of(&["symbol", "contract", "all"]),
        ("Unresolved", "kind") => one_of(&["symbol", "contract"]),
        ("Unresolved", "reason") => one_of(&["not_found", "ambiguous"]),
        ("AddressResolveReport", "kind") => one_of(&["address", "tx_hash", "unknown"]),
        ("AddressResolveReport", "checksum") => one_of(&["ok", "failed", "none"]),
        ("AddressResolveReport", "format") => {
            one_of(&["hex", "eip55", "base58check", "bech32", "bech32m", "tron_base58", "tron_hex"])
        }
        ("AddressCandidate", "reason") => one_of(&["checksum", "case", "active"]),
        (_, "reason") => pattern("^[a-z0-9_]+$"),
        (_, "address_type") => one_of(&["eoa", "contract", "multisig", "utxo", "unknown"]),
        (_, "script_type") => {
            one_of(&["p2pk", "p2pkh", "p2sh", "p2wpkh", "p2wsh", "p2tr", "multisig", "op_return", "nonstandard"])
        }
        (_, "attribution") => one_of(&["proportional", "direct"]),
        (_, "granularity") => one_of(&["1d"]),
        (_, "unit") => one_of(&["daily"]),
        (_, "quote") => pattern("^[A-Z]{3}$"),
        (_, "cost_class") => {
            let classes = [CostClass::Free, CostClass::Light, CostClass::Medium, CostClass::Heavy];
            one_of(&classes.map(CostClass::name))
        }
        _ => return None,
    })
}

/// Fields that some answers carry and others do not, by the name of their record.
pub(super) fn absent(record: &str) -> &'static [&'static str] {
    match record {
        "TransferRow" => &["amount_out", "counterparties", "inputs_count", "outputs_count"],
        "QueryMeta" => &["limit", "offset"],
        "HolderEntry" => &["balance_usd", "pct_of_supply"],
        "ConcentrationMetrics" => &[
            "effective_holders_1usd",
            "effective_holders_100usd",
            "effective_holders_0_001_btc",
            "effective_holders_0_1_btc",
        ],
        "AddressFlow" => &["net_flow_usd"],
        "AddressesFlowAggregate" => &["net_flow_total_usd"],
        "DailyPoint" => &["total_out"],
        "BalanceItem" => &["amount_out"],
        "Rate" => &["price"],
        "RatesSymbolsReport" => &["coverage"],
        _ => &[],
    }
}
