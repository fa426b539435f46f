//! The canonical bytes of a block from its JSON.

use alloy_rlp::{Encodable as _, Header};
use secp256k1::{Message, Secp256k1, SecretKey};
use serde_json::{Value, json};
use sha3::{Digest as _, Keccak256};

/// The header fields that hold whole numbers; the others are bytes.
const NUMBERS: &[&str] =
    &["difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas", "blobGasUsed", "excessBlobGas"];
const HEADER: &[&str] = &[
    "parentHash",
    "sha3Uncles",
    "miner",
    "stateRoot",
    "transactionsRoot",
    "receiptsRoot",
    "logsBloom",
    "difficulty",
    "number",
    "gasLimit",
    "gasUsed",
    "timestamp",
    "extraData",
    "mixHash",
    "nonce",
    "baseFeePerGas",
    "withdrawalsRoot",
    "blobGasUsed",
    "excessBlobGas",
    "parentBeaconBlockRoot",
    "requestsHash",
];

/// A block as its canonical bytes.
#[derive(Debug, Clone)]
pub struct EraBlock {
    /// The number.
    pub number: u64,
    /// The hash of the header.
    pub hash: [u8; 32],
    /// The difficulty.
    pub difficulty: u128,
    /// The header in RLP.
    pub header: Vec<u8>,
    /// Transactions, ommers and withdrawals in RLP.
    pub body: Vec<u8>,
    /// Receipts in the form that is hashed.
    pub receipts: Vec<u8>,
    /// Receipts in the slim form.
    pub slim: Vec<u8>,
}

impl EraBlock {
    /// Encodes a block and its receipts. `ommers` is the member of that name, an encoded list in hex; empty if missing.
    ///
    /// # Panics
    /// When a field is missing or not in its form.
    #[must_use]
    pub fn of(block: &Value, receipts: &Value) -> Self {
        let header = header(block);
        let transactions: Vec<_> = items(&block["transactions"]).iter().map(|one| wrapped(&transaction(one))).collect();
        let mut parts = vec![list(&transactions), ommers(block)];
        if block["withdrawalsRoot"].is_string() {
            parts.push(list(&items(&block["withdrawals"]).iter().map(withdrawal).collect::<Vec<_>>()));
        }
        let receipts = items(receipts);
        Self {
            number: u64::try_from(whole(&block["number"])).unwrap(),
            hash: Keccak256::digest(&header).into(),
            difficulty: whole(&block["difficulty"]),
            header,
            body: list(&parts),
            receipts: list(&receipts.iter().map(|one| wrapped(&receipt(one))).collect::<Vec<_>>()),
            slim: list(&receipts.iter().map(slim).collect::<Vec<_>>()),
        }
    }
}

pub(super) fn header(block: &Value) -> Vec<u8> {
    let is_there = |name: &&&str| block[**name].is_string();
    let fields = HEADER.iter().filter(is_there);
    list(
        &fields
            .map(|name| if NUMBERS.contains(name) { number(&block[name]) } else { bytes(&block[name]) })
            .collect::<Vec<_>>(),
    )
}

pub(super) fn ommers(block: &Value) -> Vec<u8> {
    block.get("ommers").map_or_else(|| list(&[]), decoded)
}

/// The canonical bytes of a transaction.
pub(super) fn transaction(one: &Value) -> Vec<u8> {
    let kind = kind(one);
    let parity = if kind > 0 && one["yParity"].is_string() { "yParity" } else { "v" };
    let signature = [parity, "r", "s"].map(|name| number(&one[name]));
    typed(kind, &list(&[&unsigned(one)[..], &signature].concat()))
}

/// The fields of a transaction before its signature.
fn unsigned(one: &Value) -> Vec<Vec<u8>> {
    let kind = kind(one);
    let optional = |name: &str| one.get(name).filter(|value| !value.is_null());
    let mut fields = Vec::new();
    if kind > 0 {
        fields.push(number(&one["chainId"]));
    }
    fields.push(number(&one["nonce"]));
    if kind < 2 {
        fields.push(number(&one["gasPrice"]));
    } else {
        fields.extend([number(&one["maxPriorityFeePerGas"]), number(&one["maxFeePerGas"])]);
    }
    fields.push(number(&one["gas"]));
    fields.push(optional("to").map_or_else(|| string(&[]), bytes));
    fields.extend([number(&one["value"]), bytes(&one["input"])]);
    if kind > 0 {
        let access = |entry: &Value| {
            list(&[bytes(&entry["address"]), list(&items(&entry["storageKeys"]).iter().map(bytes).collect::<Vec<_>>())])
        };
        let entries = optional("accessList").map_or(&[][..], items);
        fields.push(list(&entries.iter().map(access).collect::<Vec<_>>()));
    }
    if kind == 3 {
        let hashes: Vec<_> = items(&one["blobVersionedHashes"]).iter().map(bytes).collect();
        fields.extend([number(&one["maxFeePerBlobGas"]), list(&hashes)]);
    }
    if kind == 4 {
        let authorization = |entry: &Value| {
            let parity = if entry["yParity"].is_string() { "yParity" } else { "v" };
            let tail = ["nonce", parity, "r", "s"].map(|name| number(&entry[name]));
            list(&[&[number(&entry["chainId"]), bytes(&entry["address"])], &tail[..]].concat())
        };
        fields.push(list(&items(&one["authorizationList"]).iter().map(authorization).collect::<Vec<_>>()));
    }
    fields
}

/// Signs a transaction anew for a chain, with the key of 32 bytes `key`.
///
/// # Panics
/// When a field is missing or not in its form.
pub fn sign(one: &mut Value, chain: u64, key: u8) {
    let kind = kind(one);
    one["chainId"] = json!(format!("0x{chain:x}"));
    let mut fields = unsigned(one);
    if kind == 0 {
        fields.extend([whole_number(chain), string(&[]), string(&[])]);
    }
    let hash: [u8; 32] = Keccak256::digest(typed(kind, &list(&fields))).into();
    let secret = SecretKey::from_slice(&[key; 32]).unwrap();
    let context = Secp256k1::new();
    let (id, bytes) = context.sign_ecdsa_recoverable(&Message::from_digest(hash), &secret).serialize_compact();
    let parity = u64::from(id.to_i32() == 1);
    let v = if kind == 0 { 35 + 2 * chain + parity } else { parity };
    one["v"] = json!(format!("0x{v:x}"));
    if kind > 0 {
        one["yParity"] = one["v"].clone();
    }
    for (name, half) in [("r", &bytes[..32]), ("s", &bytes[32..])] {
        one[name] = json!(format!("0x{}", hex::encode(half)));
    }
    let public = secret.public_key(&context).serialize_uncompressed();
    one["from"] = json!(format!("0x{}", hex::encode(&Keccak256::digest(&public[1..])[12..])));
    one["hash"] = json!(format!("0x{}", hex::encode(Keccak256::digest(transaction(one)))));
}

/// The canonical bytes of a receipt.
pub(super) fn receipt(one: &Value) -> Vec<u8> {
    let mut fields = outcome(one);
    fields.extend([bytes(&one["logsBloom"]), logs(one)]);
    typed(kind(one), &list(&fields))
}

fn slim(one: &Value) -> Vec<u8> {
    let mut fields = vec![whole_number(kind(one).into())];
    fields.extend(outcome(one));
    fields.push(logs(one));
    list(&fields)
}

fn outcome(one: &Value) -> Vec<Vec<u8>> {
    let outcome = one.get("root").map_or_else(|| number(&one["status"]), bytes);
    vec![outcome, number(&one["cumulativeGasUsed"])]
}

fn logs(one: &Value) -> Vec<u8> {
    let log = |log: &Value| {
        let topics: Vec<_> = items(&log["topics"]).iter().map(bytes).collect();
        list(&[bytes(&log["address"]), list(&topics), bytes(&log["data"])])
    };
    list(&items(&one["logs"]).iter().map(log).collect::<Vec<_>>())
}

fn withdrawal(one: &Value) -> Vec<u8> {
    list(&[number(&one["index"]), number(&one["validatorIndex"]), bytes(&one["address"]), number(&one["amount"])])
}

/// A typed transaction or receipt lies in a list as bytes, a legacy one as the list that it is.
fn wrapped(one: &[u8]) -> Vec<u8> {
    if one[0] >= 0xc0 { one.to_vec() } else { string(one) }
}

fn typed(kind: u8, list: &[u8]) -> Vec<u8> {
    if kind == 0 { list.to_vec() } else { [&[kind], list].concat() }
}

fn kind(one: &Value) -> u8 {
    one.get("type").map_or(0, |kind| u8::try_from(whole(kind)).unwrap())
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn decoded(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap_or_else(|| panic!("{value} is a text")).strip_prefix("0x").unwrap()).unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    string(&decoded(value))
}

/// A whole number of any size: its bytes without leading zeros.
fn number(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap_or_else(|| panic!("{value} is a text")).strip_prefix("0x").unwrap();
    let padded = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_owned() };
    let bytes = hex::decode(padded).unwrap();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    string(&bytes[zeros..])
}

fn whole_number(number: u64) -> Vec<u8> {
    alloy_rlp::encode(number)
}

/// Reads a whole number of at most 128 bits.
pub(super) fn whole(value: &Value) -> u128 {
    u128::from_str_radix(value.as_str().unwrap_or_else(|| panic!("{value} is a text")).strip_prefix("0x").unwrap(), 16)
        .unwrap()
}

fn string(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    bytes.encode(&mut out);
    out
}

pub(super) fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let payload = items.concat();
    let mut out = Vec::new();
    Header { list: true, payload_length: payload.len() }.encode(&mut out);
    out.extend(payload);
    out
}
