//! Hashes of transactions and blocks.

use std::fmt;

use crate::Family;
use crate::hex_text::hex_text;

/// The reason why a text is not a hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid transaction or block hash: expected 64 hex digits{expected}")]
pub struct HashError {
    /// The text given, cut when long.
    pub text: String,
    /// The form that the family expects.
    pub expected: &'static str,
}

/// The id of a transaction: 32 bytes in the order they are printed.
///
/// A chain also moves value outside transactions: the allocation of the first block, block rewards, withdrawals of
/// validators, forks. Such a movement gets an id of its own that is made from its block and receiver and prints as
/// `GENESIS_<address>`, `REWARD_<block>_<address>`, `WITHDRAWAL_<block>_<address>` or `FORK_<block>_<address>`. Balances
/// that a list of holders states for a block have such ids too, which print as `OPENING_<block>_<digest>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TxHash([u8; 32]);

/// The hash of a block: 32 bytes in the order they are printed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockHash([u8; 32]);

// Eight ASCII bytes that a real hash begins with once in 2^64.
pub(crate) const GENESIS: [u8; 8] = *b"GENESIS_";
pub(crate) const REWARD: [u8; 8] = *b"REWARD__";
pub(crate) const FORK: [u8; 8] = *b"FORK____";
pub(crate) const OPENING: [u8; 8] = *b"OPENING_";
pub(crate) const WITHDRAWAL: [u8; 8] = *b"WITHDRAW";

impl TxHash {
    /// From the 32 bytes in printed order.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes in printed order.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// An id of a movement without a transaction, from its kind, its block and what sets it apart there.
    pub(crate) fn assembled(kind: [u8; 8], block: u32, tail: &[u8; 20]) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&kind);
        bytes[8..12].copy_from_slice(&block.to_be_bytes());
        bytes[12..].copy_from_slice(tail);
        Self(bytes)
    }

    /// Returns whether no transaction of the chain has this id.
    #[must_use]
    pub fn is_made(&self) -> bool {
        [GENESIS, REWARD, WITHDRAWAL, FORK, OPENING].iter().any(|kind| self.0.starts_with(kind))
    }

    /// The canonical text of the family.
    #[must_use]
    pub fn display(&self, family: Family) -> String {
        if self.is_made() {
            let block = u32::from_be_bytes([self.0[8], self.0[9], self.0[10], self.0[11]]);
            // As account exports write an allocation: the bare digits.
            let receiver = hex::encode(&self.0[12..]);
            return match &self.0[..8] {
                kind if kind == GENESIS => format!("GENESIS_{receiver}"),
                kind if kind == REWARD => format!("REWARD_{block}_{receiver}"),
                kind if kind == OPENING => format!("OPENING_{block}_{receiver}"),
                kind if kind == WITHDRAWAL => format!("WITHDRAWAL_{block}_{receiver}"),
                _ => format!("FORK_{block}_{receiver}"),
            };
        }
        display_hash(&self.0, family)
    }
}

impl BlockHash {
    /// From the 32 bytes in printed order.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes in printed order.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads the text of a hash.
    ///
    /// # Errors
    /// When the text is not 64 hex digits, with or without `0x`.
    pub fn parse(family: Family, text: &str) -> Result<Self, HashError> {
        parse_hash(family, text).map(Self)
    }

    /// The canonical text of the family.
    #[must_use]
    pub fn display(&self, family: Family) -> String {
        display_hash(&self.0, family)
    }
}

pub(crate) fn parse_hash(family: Family, text: &str) -> Result<[u8; 32], HashError> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let mut bytes = [0; 32];
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| hash_error(family, text))?;
    Ok(bytes)
}

pub(crate) fn hash_error(family: Family, text: &str) -> HashError {
    let expected = match family {
        Family::Evm => " after 0x",
        Family::Tron | Family::Utxo => "",
    };
    HashError { text: text.chars().take(96).collect(), expected }
}

fn display_hash(bytes: &[u8; 32], family: Family) -> String {
    match family {
        Family::Evm => hex_text("0x", bytes),
        Family::Tron | Family::Utxo => hex_text("", bytes),
    }
}

impl fmt::Debug for TxHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display(Family::Utxo))
    }
}

impl fmt::Debug for BlockHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}
