//! The transactions of a block: ids, root, results, and their JSON against the signed bytes.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sha3::Keccak256;

use super::contract::compare_raw_data;
use super::fields::{hash, optional_hex, prefixed_address};
use super::header::VerifiedHeader;
use super::protobuf::Message;
use crate::Part;
use crate::json::{bare_hex, integer, object, optional_list, present, shown};
use crate::mismatch::{Digest, Fault, Mismatch, Rule, VerificationError};

/// The transactions of a block, checked against its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedTransactions {
    /// The id and the result of each.
    pub(super) list: Vec<([u8; 32], Option<String>)>,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with another implementation of SHA-256 from the leaves `[1; 32]`, `[2; 32]`, ..., pair by pair.
    #[test]
    fn root_moves_a_last_leaf_without_partner_up() {
        let leaves = |count: u8| (1..=count).map(|byte| [byte; 32]).collect::<Vec<_>>();
        assert_eq!(merkle_root(Vec::new()), [0; 32]);
        assert_eq!(merkle_root(leaves(1)), [1; 32]);
        for (count, root) in [
            (2, "f818afd37a6dc3bc92fb44731011277006db4efa6e9023cd7468c02335d22a4d"),
            (3, "0479d06fbc8bd667d6c53e3ec229858fc27bb8d883015478a292757338576797"),
            (5, "0a99d4a8549c3dd2915d3f9d274fdb76b026a4129cd4bbcb1169c8a1285f8d34"),
            (6, "f819b86786452b4d4d8fa763b646ca99539c798fcb354eaceeede71b6cd3d85b"),
            (7, "ce8f57391ba0bf9635f682a89c099ec39fc628768a3ce78d4901ede48af6fc32"),
        ] {
            assert_eq!(hex::encode(merkle_root(leaves(count))), root, "{count}");
        }
    }

    #[test]
    fn result_without_values_is_an_empty_message() {
        assert_eq!(encode_result(&serde_json::json!({})).unwrap(), [0_u8; 0]);
        let result = serde_json::json!({"fee": 300, "ret": "FAILED", "contractRet": "OUT_OF_ENERGY"});
        assert_eq!(encode_result(&result).unwrap(), [0x08, 0xac, 0x02, 0x10, 1, 0x18, 10]);
    }

    #[test]
    fn result_with_unknown_field_or_name_is_unsupported() {
        for value in [serde_json::json!({"orderDetails": []}), serde_json::json!({"contractRet": "NEW"})] {
            assert_eq!(encode_result(&value).unwrap_err().at(1).mismatch.code(), "unknown_form");
        }
    }
}
