//! The id of a block, and the account that signed its header.

use headwater_types::BlockHash;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::fields::{hash, optional_hex, prefixed_address};
use super::protobuf::Message;
use crate::Part;
use crate::json::{integer, object, present, shown};
use crate::mismatch::{Digest, Fault, Mismatch, Rule, VerificationError};
use crate::signature::recover;

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
    pub(super) number: u64,
    id: [u8; 32],
    parent_hash: [u8; 32],
    pub(super) timestamp_ms: i64,
    pub(super) root: [u8; 32],
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

/// Verifies the header of a block: number, id, and the account that signed.
///
/// # Errors
/// When the node does not have the block, a field is missing, or the id is not that of the header.
///
/// ```
/// let error = headwater_verify::tron::verify_block(5, &serde_json::json!({})).unwrap_err();
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
        root: if present(raw, "txTrieRoot").is_none() { [0; 32] } else { hash(raw, "txTrieRoot").map_err(within)? },
        producer: producer(header, raw, digest)?,
    })
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
