//! The hash of a block header from the JSON of a node.

use headwater_types::{BlockHash, Chain};
use ruint::aliases::U256;
use serde_json::Value;
use sha3::{Digest as _, Keccak256};

use crate::Part;
use crate::json::{data, fixed, list, number, prefixed, present, quantity, shown};
use crate::mismatch::{Digest, Fault, Mismatch, Rule, VerificationError};
use crate::rlp::List;

/// The form of a header field.
#[derive(Clone, Copy)]
enum Form {
    Hash,
    Address,
    Bloom,
    Nonce,
    Quantity,
    Data,
}

/// The fields of every header, in the order in which they are hashed.
const FIELDS: &[(&str, Form)] = &[
    ("parentHash", Form::Hash),
    ("sha3Uncles", Form::Hash),
    ("miner", Form::Address),
    ("stateRoot", Form::Hash),
    ("transactionsRoot", Form::Hash),
    ("receiptsRoot", Form::Hash),
    ("logsBloom", Form::Bloom),
    ("difficulty", Form::Quantity),
    ("number", Form::Quantity),
    ("gasLimit", Form::Quantity),
    ("gasUsed", Form::Quantity),
    ("timestamp", Form::Quantity),
    ("extraData", Form::Data),
    ("mixHash", Form::Hash),
    ("nonce", Form::Nonce),
];

/// The fields that forks added, in order: a header has all of them up to its fork.
const LATER_FIELDS: &[(&str, Form)] = &[
    ("baseFeePerGas", Form::Quantity),     // London
    ("withdrawalsRoot", Form::Hash),       // Shanghai
    ("blobGasUsed", Form::Quantity),       // Cancun
    ("excessBlobGas", Form::Quantity),     // Cancun
    ("parentBeaconBlockRoot", Form::Hash), // Cancun
    ("requestsHash", Form::Hash),          // Prague
];

/// The fields of an answer that are not part of the header.
const OTHER_FIELDS: &[&str] = &[
    "author",
    "hash",
    "l1BlockNumber",
    "milliTimestamp",
    "sealFields",
    "size",
    "totalDifficulty",
    "transactions",
    "uncles",
    "withdrawals",
];

/// The hash of an empty list of uncles.
const EMPTY_UNCLES: [u8; 32] = [
    0x1d, 0xcc, 0x4d, 0xe8, 0xde, 0xc7, 0x5d, 0x7a, 0xab, 0x85, 0xb5, 0x67, 0xb6, 0xcc, 0xd4, 0x1a, 0xd3, 0x12, 0x45,
    0x1b, 0x94, 0x8a, 0x74, 0x13, 0xf0, 0xa1, 0x42, 0xfd, 0x40, 0xd4, 0x93, 0x47,
];

/// A header whose fields have the stated hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedHeader {
    pub(super) chain: Chain,
    pub(super) number: u64,
    pub(super) hash: [u8; 32],
    pub(super) parent_hash: [u8; 32],
    pub(super) timestamp: u64,
    pub(super) transactions_root: [u8; 32],
    pub(super) receipts_root: [u8; 32],
    pub(super) withdrawals_root: Option<[u8; 32]>,
    pub(super) logs_bloom: Box<[u8; 256]>,
    pub(super) gas_used: u64,
    pub(super) base_fee_per_gas: Option<U256>,
}

impl VerifiedHeader {
    /// The number of the block.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The hash of the block.
    #[must_use]
    pub const fn hash(&self) -> BlockHash {
        BlockHash::new(self.hash)
    }

    /// The hash of the block before it.
    #[must_use]
    pub const fn parent_hash(&self) -> BlockHash {
        BlockHash::new(self.parent_hash)
    }

    /// Checks that the block follows `previous`.
    ///
    /// # Errors
    /// When the block names another parent.
    pub fn verify_parent(&self, previous: BlockHash) -> Result<(), VerificationError> {
        if self.parent_hash == *previous.as_bytes() {
            return Ok(());
        }
        let expected = format!("{}, the hash of the block before", prefixed(previous.as_bytes()));
        Err(Fault::value("parentHash", Rule::Parent, prefixed(&self.parent_hash), expected).at(self.number))
    }

    /// The parts that were verified.
    #[must_use]
    pub const fn parts(&self) -> &'static [Part] {
        &[Part::Hash]
    }

    /// The time of the block in seconds since 1970. BSC states milliseconds elsewhere.
    #[must_use]
    pub const fn timestamp_secs(&self) -> u64 {
        self.timestamp
    }
}

/// Reads a header and compares its hash with the stated one.
pub(super) fn read(chain: Chain, asked: u64, block: &Value) -> Result<VerifiedHeader, Fault> {
    let number = number(block, "number")?;
    if number != asked {
        return Err(Fault::value("number", Rule::Block, number.to_string(), format!("{asked}, the block asked for")));
    }
    let computed: [u8; 32] = Keccak256::digest(encode(block)?.finish()).into();
    let stated = fixed(block, "hash")?;
    if computed != stated {
        let fields = unknown_fields(block);
        if !fields.is_empty() {
            return Err(Fault::new("", Mismatch::UnknownBlockForm { fields }));
        }
    }
    Fault::compare(Digest::BlockHash, computed, stated, prefixed)?;
    check_uncles(block)?;
    Ok(VerifiedHeader {
        chain,
        number,
        hash: computed,
        parent_hash: fixed(block, "parentHash")?,
        timestamp: self::number(block, "timestamp")?,
        transactions_root: fixed(block, "transactionsRoot")?,
        receipts_root: fixed(block, "receiptsRoot")?,
        withdrawals_root: present(block, "withdrawalsRoot").map(|_| fixed(block, "withdrawalsRoot")).transpose()?,
        logs_bloom: Box::new(fixed(block, "logsBloom")?),
        gas_used: self::number(block, "gasUsed")?,
        base_fee_per_gas: present(block, "baseFeePerGas").map(|_| quantity(block, "baseFeePerGas")).transpose()?,
    })
}

fn encode(block: &Value) -> Result<List, Fault> {
    let mut header = List::default();
    for (name, form) in FIELDS {
        add(&mut header, block, name, *form)?;
    }
    let count = LATER_FIELDS.iter().rposition(|(name, _)| present(block, name).is_some()).map_or(0, |last| last + 1);
    for (name, form) in &LATER_FIELDS[..count] {
        add(&mut header, block, name, *form)?;
    }
    Ok(header)
}

fn add(header: &mut List, block: &Value, name: &str, form: Form) -> Result<(), Fault> {
    match form {
        Form::Hash => header.bytes(&fixed::<32>(block, name)?),
        Form::Address => header.bytes(&fixed::<20>(block, name)?),
        Form::Bloom => header.bytes(&fixed::<256>(block, name)?),
        Form::Nonce => header.bytes(&fixed::<8>(block, name)?),
        Form::Quantity => header.quantity(quantity(block, name)?),
        Form::Data => header.bytes(&data(block, name)?),
    };
    Ok(())
}

fn unknown_fields(block: &Value) -> Vec<String> {
    let is_known =
        |name: &str| FIELDS.iter().chain(LATER_FIELDS).any(|(known, _)| *known == name) || OTHER_FIELDS.contains(&name);
    let names = block.as_object().into_iter().flat_map(|object| object.iter());
    names.filter(|(name, value)| !value.is_null() && !is_known(name)).map(|(name, _)| name.clone()).collect()
}

fn check_uncles(block: &Value) -> Result<(), Fault> {
    if present(block, "uncles").is_none() {
        return Ok(());
    }
    let uncles = list(block, "uncles")?;
    let is_empty = fixed::<32>(block, "sha3Uncles")? == EMPTY_UNCLES;
    if is_empty == uncles.is_empty() {
        return Ok(());
    }
    let expected = if is_empty { "an empty list, whose hash the header has" } else { "the uncles that the header has" };
    Err(Fault::value("uncles", Rule::Count, shown(block.get("uncles")), expected))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::FailureKind;

    #[test]
    fn empty_uncles_are_the_hash_of_an_empty_list() {
        assert_eq!(EMPTY_UNCLES, <[u8; 32]>::from(Keccak256::digest([0xc0])));
    }

    /// Block 0 of Ethereum, whose hash is in every client.
    fn genesis() -> Value {
        let hash = |byte: &str| format!("0x{}", byte.repeat(32));
        json!({
            "number": "0x0",
            "hash": "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3",
            "parentHash": hash("00"),
            "sha3Uncles": "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
            "miner": format!("0x{}", "00".repeat(20)),
            "stateRoot": "0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
            "transactionsRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
            "receiptsRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
            "logsBloom": format!("0x{}", "00".repeat(256)),
            "difficulty": "0x400000000",
            "gasLimit": "0x1388",
            "gasUsed": "0x0",
            "timestamp": "0x0",
            "extraData": "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
            "mixHash": hash("00"),
            "nonce": "0x0000000000000042",
            "uncles": [],
            "transactions": []
        })
    }

    #[test]
    fn header_of_genesis_has_its_published_hash() {
        let header = read(Chain::ETHEREUM, 0, &genesis()).unwrap();
        assert_eq!(
            hex::encode(header.hash().as_bytes()),
            "d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"
        );
    }

    #[test]
    fn header_of_another_block_is_refused() {
        let error = read(Chain::ETHEREUM, 1, &genesis()).unwrap_err().at(1);
        assert_eq!(error.to_string(), "block 1: number is 0; expected 1, the block asked for");
    }

    #[test]
    fn header_with_unknown_field_is_unsupported() {
        let mut block = genesis();
        block["stateRoot"] = json!(format!("0x{}", "11".repeat(32)));
        let error = read(Chain::ETHEREUM, 0, &block).unwrap_err().at(0);
        assert_eq!((error.mismatch.code(), error.mismatch.kind()), ("block_hash", FailureKind::Contradiction));
        block["blockAccessListHash"] = json!("0x01");
        let error = read(Chain::ETHEREUM, 0, &block).unwrap_err().at(0);
        assert_eq!((error.mismatch.code(), error.mismatch.kind()), ("unknown_block_form", FailureKind::Unsupported));
        let text = "block 0: the block has a form that this version does not read (fields: blockAccessListHash): update Headwater";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn header_with_unknown_field_outside_the_hash_is_read() {
        let mut block = genesis();
        block["note"] = json!("anything");
        assert!(read(Chain::ETHEREUM, 0, &block).is_ok());
    }

    #[test]
    fn header_that_lacks_a_field_of_an_earlier_fork_is_refused() {
        let mut block = genesis();
        block["blobGasUsed"] = json!("0x0");
        assert_eq!(read(Chain::ETHEREUM, 0, &block).unwrap_err().at(0).path, "baseFeePerGas");
    }

    #[test]
    fn uncles_that_the_header_does_not_have_are_refused() {
        let mut block = genesis();
        block["uncles"] = json!(["0x01"]);
        let error = read(Chain::ETHEREUM, 0, &block).unwrap_err().at(0);
        assert_eq!((error.path.as_str(), error.mismatch.code()), ("uncles", "count"));
    }
}
