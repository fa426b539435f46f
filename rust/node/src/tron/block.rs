//! The checks of a block: id, producer, transactions and infos.

use std::collections::BTreeMap;

use headwater_types::BlockHash;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sha3::Keccak256;

use super::contract::compare_raw_data;
use super::protobuf::Message;
use crate::Part;
use crate::json::{bare_hex, integer, list, object, optional_list, present, shown};
use crate::mismatch::{Digest, Fault, Mismatch, Rule, VerificationError};
use crate::signature::recover;

/// The prefix of addresses.
const PREFIX: u8 = 0x41;

/// The account whose key signed a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Producer {
    /// The witness that the header names.
    Witness,
    /// Another account. Since accounts can give the permission to sign to another key, this may be valid: the permission is
    /// state, which a block does not contain.
    OtherKey([u8; 21]),
    /// The header has no signature, as that of block 0.
    Unsigned,
}

/// A header whose fields have the stated id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedHeader {
    number: u64,
    id: [u8; 32],
    parent_hash: [u8; 32],
    timestamp_ms: i64,
    root: [u8; 32],
    producer: Producer,
}

impl VerifiedHeader {
    /// The number of the block.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The id of the block.
    #[must_use]
    pub const fn id(&self) -> BlockHash {
        BlockHash::new(self.id)
    }

    /// The id of the block before it.
    #[must_use]
    pub const fn parent_hash(&self) -> BlockHash {
        BlockHash::new(self.parent_hash)
    }

    /// The time of the block in milliseconds since 1970.
    #[must_use]
    pub const fn timestamp_ms(&self) -> i64 {
        self.timestamp_ms
    }

    /// The account that signed the header.
    #[must_use]
    pub const fn producer(&self) -> Producer {
        self.producer
    }

    /// The parts that were verified.
    #[must_use]
    pub const fn parts(&self) -> &'static [Part] {
        match self.producer {
            Producer::Witness => &[Part::Hash, Part::Producer],
            Producer::OtherKey(_) | Producer::Unsigned => &[Part::Hash],
        }
    }

    /// Checks that the block follows `previous`.
    ///
    /// # Errors
    /// When the block names another parent.
    pub fn verify_parent(&self, previous: BlockHash) -> Result<(), VerificationError> {
        if self.parent_hash == *previous.as_bytes() {
            return Ok(());
        }
        let expected = format!("{}, the id of the block before", hex::encode(previous.as_bytes()));
        Err(Fault::value("parentHash", Rule::Parent, hex::encode(self.parent_hash), expected).at(self.number))
    }
}

/// The transactions of a block, checked against its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedTransactions {
    /// The id and the result of each.
    list: Vec<([u8; 32], Option<String>)>,
    uncompared: usize,
}

impl VerifiedTransactions {
    /// The number of transactions.
    #[must_use]
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// The number of transactions of types whose JSON values were not compared with the signed bytes.
    #[must_use]
    pub const fn uncompared_count(&self) -> usize {
        self.uncompared
    }

    /// The parts that were verified.
    #[must_use]
    pub const fn parts(&self) -> &'static [Part] {
        if self.uncompared == 0 { &[Part::Transactions, Part::ContractValues] } else { &[Part::Transactions] }
    }
}

/// Verifies the header of a block: number, id, and the account that signed.
///
/// # Errors
/// When the node does not have the block, a field is missing, or the id is not that of the header.
///
/// ```
/// let error = headwater_node::tron::verify_block(5, &serde_json::json!({})).unwrap_err();
/// assert_eq!(error.path, "block_header");
/// ```
pub fn verify_block(asked: u64, block: &Value) -> Result<VerifiedHeader, VerificationError> {
    read_header(asked, block).map_err(|fault| fault.at(asked))
}

/// The fields of a raw header, whose order in the encoding is that of their numbers.
const HEADER: &[&str] = &[
    "timestamp",
    "txTrieRoot",
    "parentHash",
    "number",
    "witness_id",
    "witness_address",
    "version",
    "accountStateRoot",
];

fn read_header(asked: u64, block: &Value) -> Result<VerifiedHeader, Fault> {
    let header = object(block, "block_header")?;
    let raw = object(header, "raw_data").map_err(|fault| fault.within("block_header"))?;
    let within = |fault: Fault| fault.within("raw_data").within("block_header");
    let number = integer(raw, "number").map_err(within)?;
    if u64::try_from(number) != Ok(asked) {
        let expected = format!("{asked}, the block asked for");
        return Err(within(Fault::value("number", Rule::Block, number.to_string(), expected)));
    }
    let digest: [u8; 32] = Sha256::digest(encode_header(raw).map_err(within)?).into();
    let mut id = digest;
    id[..8].copy_from_slice(&number.to_be_bytes());
    let stated = hash(block, "blockID")?;
    if id != stated {
        let names = raw.as_object().into_iter().flat_map(|object| object.keys());
        let fields: Vec<String> = names.filter(|name| !HEADER.contains(&name.as_str())).cloned().collect();
        if !fields.is_empty() {
            return Err(Fault::new("", Mismatch::UnknownBlockForm { fields }));
        }
    }
    Fault::compare(Digest::BlockHash, id, stated, |bytes| hex::encode(bytes))?;
    Ok(VerifiedHeader {
        number: asked,
        id,
        parent_hash: hash(raw, "parentHash").map_err(within)?,
        timestamp_ms: integer(raw, "timestamp").map_err(within)?,
        root: if present(raw, "txTrieRoot").is_none() { [0; 32] } else { root(raw).map_err(within)? },
        producer: producer(header, raw, digest)?,
    })
}

/// The root of the transactions. That of block 0 is cut in some answers and then refused by the id.
fn root(raw: &Value) -> Result<[u8; 32], Fault> {
    hash(raw, "txTrieRoot")
}

fn hash(object: &Value, name: &str) -> Result<[u8; 32], Fault> {
    let given = || shown(object.get(name));
    bare_hex(object, name)?
        .try_into()
        .map_err(|_| Fault::new(name, Mismatch::Malformed { given: given(), expected: "32 bytes in hex" }))
}

fn optional_hex(object: &Value, name: &str) -> Result<Vec<u8>, Fault> {
    present(object, name).map_or(Ok(Vec::new()), |_| bare_hex(object, name))
}

fn encode_header(raw: &Value) -> Result<Vec<u8>, Fault> {
    let mut message = Message::default();
    message.integer(1, integer(raw, "timestamp")?);
    message.bytes(2, &optional_hex(raw, "txTrieRoot")?).bytes(3, &optional_hex(raw, "parentHash")?);
    message.integer(7, integer(raw, "number")?).integer(8, integer(raw, "witness_id")?);
    message.bytes(9, &optional_hex(raw, "witness_address")?).integer(10, integer(raw, "version")?);
    message.bytes(11, &optional_hex(raw, "accountStateRoot")?);
    Ok(message.finish())
}

/// Recovers the account that signed a header.
fn producer(header: &Value, raw: &Value, digest: [u8; 32]) -> Result<Producer, Fault> {
    let bytes = optional_hex(header, "witness_signature")?;
    if bytes.is_empty() {
        return Ok(Producer::Unsigned);
    }
    let invalid = || {
        let given = shown(header.get("witness_signature"));
        Fault::value("witness_signature", Rule::Signature, given, "a signature of the header").within("block_header")
    };
    let (signature, parity) = bytes.split_first_chunk::<64>().ok_or_else(invalid)?;
    let is_odd = match parity {
        [0 | 27] => false,
        [1 | 28] => true,
        _ => return Err(invalid()),
    };
    let account = recover(digest, signature, is_odd).ok_or_else(invalid)?;
    let address = prefixed_address(account);
    let is_witness = optional_hex(raw, "witness_address")? == address;
    Ok(if is_witness { Producer::Witness } else { Producer::OtherKey(address) })
}

fn prefixed_address(account: [u8; 20]) -> [u8; 21] {
    let mut address = [PREFIX; 21];
    address[1..].copy_from_slice(&account);
    address
}

/// Verifies the transactions of a block: ids, root, and JSON values against the signed bytes.
///
/// # Errors
/// When a transaction is missing or changed. An empty list passes only where the header has the root of the empty list.
pub fn verify_transactions(header: &VerifiedHeader, block: &Value) -> Result<VerifiedTransactions, VerificationError> {
    let check = || {
        let entries = optional_list(block, "transactions")?;
        let mut verified = VerifiedTransactions { list: Vec::with_capacity(entries.len()), uncompared: 0 };
        let mut leaves = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let leaf = read_transaction(entry, &mut verified).map_err(|fault| fault.inside("transactions", index))?;
            leaves.push(leaf);
        }
        Fault::compare(Digest::TransactionsRoot, merkle_root(leaves), header.root, |bytes| hex::encode(bytes))?;
        Ok(verified)
    };
    check().map_err(|fault: Fault| fault.at(header.number))
}

/// Reads a transaction and returns the hash of its bytes.
fn read_transaction(entry: &Value, verified: &mut VerifiedTransactions) -> Result<[u8; 32], Fault> {
    let raw = bare_hex(entry, "raw_data_hex")?;
    let id: [u8; 32] = Sha256::digest(&raw).into();
    Fault::compare(Digest::TransactionHash, id, hash(entry, "txID")?, |bytes| hex::encode(bytes))?;
    let raw_data = object(entry, "raw_data")?;
    let is_compared = compare_raw_data(&raw, raw_data).map_err(|fault| fault.within("raw_data"))?;
    verified.uncompared += usize::from(!is_compared);
    if present(entry, "contract_address").is_some() {
        check_contract_address(entry, raw_data, id)?;
    }
    let mut message = Message::default();
    message.bytes(1, &raw);
    for (index, signature) in optional_list(entry, "signature")?.iter().enumerate() {
        let bytes = signature.as_str().and_then(|text| hex::decode(text).ok()).ok_or_else(|| {
            let mismatch = Mismatch::Malformed { given: shown(Some(signature)), expected: "bytes in hex" };
            Fault::new("", mismatch).inside("signature", index)
        })?;
        message.message(2, &bytes);
    }
    let mut result = None;
    for (index, value) in optional_list(entry, "ret")?.iter().enumerate() {
        message.message(5, &encode_result(value).map_err(|fault| fault.inside("ret", index))?);
        result = present(value, "contractRet").and_then(Value::as_str).map(str::to_owned);
    }
    verified.list.push((id, result));
    Ok(Sha256::digest(message.finish()).into())
}

/// The new contract's address follows from the transaction's id and its owner.
fn check_contract_address(entry: &Value, raw_data: &Value, id: [u8; 32]) -> Result<(), Fault> {
    let value = raw_data.pointer("/contract/0/parameter/value").unwrap_or(&Value::Null);
    let digest = Keccak256::digest([&id[..], &optional_hex(value, "owner_address")?].concat());
    let expected = prefixed_address(digest[12..].try_into().expect("20 of 32 bytes are left"));
    if bare_hex(entry, "contract_address")? == expected {
        return Ok(());
    }
    let expected = format!("{}, which id and owner give", hex::encode(expected));
    Err(Fault::value("contract_address", Rule::Derived, shown(entry.get("contract_address")), expected))
}

const RESULTS: &[&str] = &[
    "DEFAULT",
    "SUCCESS",
    "REVERT",
    "BAD_JUMP_DESTINATION",
    "OUT_OF_MEMORY",
    "PRECOMPILED_CONTRACT",
    "STACK_TOO_SMALL",
    "STACK_TOO_LARGE",
    "ILLEGAL_OPERATION",
    "STACK_OVERFLOW",
    "OUT_OF_ENERGY",
    "OUT_OF_TIME",
    "JVM_STACK_OVER_FLOW",
    "UNKNOWN",
    "TRANSFER_FAILED",
    "INVALID_CODE",
];

/// Whole numbers of a result, by name and number, in order.
const RESULT_NUMBERS: &[(&str, u32)] = &[
    ("withdraw_amount", 15),
    ("unfreeze_amount", 16),
    ("exchange_received_amount", 18),
    ("exchange_inject_another_amount", 19),
    ("exchange_withdraw_another_amount", 20),
    ("exchange_id", 21),
    ("shielded_transaction_fee", 22),
    ("withdraw_expire_amount", 27),
];

/// The bytes of a result, which blocks contain beside the transaction.
fn encode_result(value: &Value) -> Result<Vec<u8>, Fault> {
    let names = value.as_object().into_iter().flat_map(|object| object.iter());
    for (name, value) in names {
        let is_known = ["fee", "ret", "contractRet", "assetIssueID"].contains(&name.as_str())
            || RESULT_NUMBERS.iter().any(|(known, _)| known == name);
        if !is_known {
            let known = "the plain fields of a result";
            return Err(Fault::new(name, Mismatch::UnknownForm { given: shown(Some(value)), known }));
        }
    }
    let mut message = Message::default();
    message.integer(1, integer(value, "fee")?);
    message.integer(2, named(value, "ret", &["SUCESS", "FAILED"])?);
    message.integer(3, named(value, "contractRet", RESULTS)?);
    let asset = present(value, "assetIssueID").and_then(Value::as_str).unwrap_or_default();
    message.bytes(14, asset.as_bytes());
    for (name, number) in RESULT_NUMBERS {
        message.integer(*number, integer(value, name)?);
    }
    Ok(message.finish())
}

fn named(value: &Value, name: &str, names: &'static [&'static str]) -> Result<i64, Fault> {
    let Some(given) = present(value, name) else { return Ok(0) };
    let index = names.iter().position(|known| Some(*known) == given.as_str());
    index.and_then(|index| i64::try_from(index).ok()).ok_or_else(|| {
        let known = "the results of java-tron's protocol";
        Fault::new(name, Mismatch::UnknownForm { given: shown(Some(given)), known })
    })
}

/// The root of java-tron's tree: SHA-256 of each pair; a last one without partner moves up as it is.
fn merkle_root(mut hashes: Vec<[u8; 32]>) -> [u8; 32] {
    while hashes.len() > 1 {
        let pair = |pair: &[[u8; 32]]| match pair {
            [left, right] => Sha256::digest([*left, *right].concat()).into(),
            rest => rest[0],
        };
        hashes = hashes.chunks(2).map(pair).collect();
    }
    hashes.pop().unwrap_or_default()
}

/// Checks the infos of a block (`/wallet/gettransactioninfobyblocknum`): one for each transaction, of this block and time,
/// with the result that the block has for contract calls.
///
/// No hash covers fees, logs and internal transactions: they remain as the node states them.
///
/// # Errors
/// When an info is missing, twice, or of another block, or contradicts the result in the block.
pub fn verify_infos(
    header: &VerifiedHeader,
    transactions: &VerifiedTransactions,
    infos: &Value,
) -> Result<(), VerificationError> {
    check_infos(header, transactions, infos).map_err(|fault| fault.at(header.number))
}

fn check_infos(header: &VerifiedHeader, transactions: &VerifiedTransactions, infos: &Value) -> Result<(), Fault> {
    // Nodes answer an empty object for block 0, whose transactions have no infos.
    if header.number == 0 && infos.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(());
    }
    let wrapped = serde_json::json!({ "infos": infos });
    let mut results: BTreeMap<[u8; 32], &Option<String>> =
        transactions.list.iter().map(|(id, result)| (*id, result)).collect();
    for (index, info) in list(&wrapped, "infos")?.iter().enumerate() {
        let check = || {
            let id = hash(info, "id")?;
            let Some(result) = results.remove(&id) else {
                let expected = "the id of a transaction of the block, once";
                return Err(Fault::value("id", Rule::Position, hex::encode(id), expected));
            };
            check_info(header, info, result.as_deref())
        };
        let mut check = check;
        check().map_err(|fault: Fault| fault.inside("infos", index))?;
    }
    let Some(missing) = results.keys().next() else { return Ok(()) };
    let given = format!("without {}", hex::encode(missing));
    Err(Fault::value("infos", Rule::Count, given, "one info for each transaction"))
}

fn check_info(header: &VerifiedHeader, info: &Value, result: Option<&str>) -> Result<(), Fault> {
    let expected = [
        ("blockNumber", i64::try_from(header.number).unwrap_or(i64::MAX), "the number of the block"),
        ("blockTimeStamp", header.timestamp_ms, "the time of the block"),
    ];
    for (name, expected, meaning) in expected {
        let given = integer(info, name)?;
        if given != expected {
            return Err(Fault::value(name, Rule::Position, given.to_string(), format!("{expected}, {meaning}")));
        }
    }
    let stated = info.pointer("/receipt/result").and_then(Value::as_str);
    match (stated, result) {
        (Some(stated), Some(result)) if stated != result => {
            let expected = format!("{result}, as in the block");
            Err(Fault::value("receipt.result", Rule::Derived, stated, expected))
        }
        _ => Ok(()),
    }
}
