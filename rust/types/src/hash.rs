//! Hashes of transactions and blocks, and the ids of movements that no transaction made.

use std::fmt;

use crate::{Address, Family};

/// Why a text is no hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no transaction or block hash: expected 64 hex digits{expected}")]
pub struct HashError {
    /// The text given, cut when long.
    pub text: String,
    /// What the family adds to that.
    pub expected: &'static str,
}

/// The id of a transaction: 32 bytes in the order they are printed.
///
/// A chain also moves value outside transactions: the allocation of the first block, block rewards, forks. Such a
/// movement gets an id of its own that is made from its block and receiver and prints as `GENESIS_0x...`,
/// `REWARD_<block>_0x...` or `FORK_<block>_0x...`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TxHash([u8; 32]);

/// The hash of a block: 32 bytes in the order they are printed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockHash([u8; 32]);

// Eight ASCII bytes that a real hash begins with once in 2^64.
const GENESIS: &[u8; 8] = b"GENESIS_";
const REWARD: &[u8; 8] = b"REWARD__";
const FORK: &[u8; 8] = b"FORK____";

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

    /// The id of an allocation in the first block.
    #[must_use]
    pub fn genesis(receiver: &Address) -> Self {
        Self::made(GENESIS, 0, receiver)
    }

    /// The id of a block reward.
    #[must_use]
    pub fn reward(block: u32, receiver: &Address) -> Self {
        Self::made(REWARD, block, receiver)
    }

    /// The id of a movement that a fork decreed.
    #[must_use]
    pub fn fork(block: u32, receiver: &Address) -> Self {
        Self::made(FORK, block, receiver)
    }

    fn made(kind: &[u8; 8], block: u32, receiver: &Address) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(kind);
        bytes[8..12].copy_from_slice(&block.to_be_bytes());
        let key = receiver.key();
        let tail = &key.as_slice()[key.as_slice().len().saturating_sub(20)..];
        bytes[32 - tail.len()..].copy_from_slice(tail);
        Self(bytes)
    }

    /// Whether no transaction of the chain has this id.
    #[must_use]
    pub fn is_made(&self) -> bool {
        [GENESIS, REWARD, FORK].iter().any(|kind| self.0.starts_with(*kind))
    }

    /// Reads the text of a hash: `0x` and 64 hex digits on EVM chains, 64 hex digits elsewhere (either form is read).
    ///
    /// # Errors
    /// When the text is anything else.
    pub fn parse(family: Family, text: &str) -> Result<Self, HashError> {
        if let Some(receiver) = text.strip_prefix("GENESIS_") {
            return Address::parse_in_family(family, receiver)
                .map(|receiver| Self::genesis(&receiver))
                .map_err(|_| hash_error(family, text));
        }
        parse_hash(family, text).map(Self)
    }

    /// The canonical text of the family.
    #[must_use]
    pub fn display(&self, family: Family) -> String {
        if self.is_made() {
            let block = u32::from_be_bytes([self.0[8], self.0[9], self.0[10], self.0[11]]);
            let receiver = format!("0x{}", hex::encode(&self.0[12..]));
            return match &self.0[..8] {
                kind if kind == GENESIS => format!("GENESIS_{receiver}"),
                kind if kind == REWARD => format!("REWARD_{block}_{receiver}"),
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

fn parse_hash(family: Family, text: &str) -> Result<[u8; 32], HashError> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let mut bytes = [0; 32];
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| hash_error(family, text))?;
    Ok(bytes)
}

fn hash_error(family: Family, text: &str) -> HashError {
    let expected = match family {
        Family::Evm => " after 0x",
        Family::Tron | Family::Utxo => "",
    };
    HashError { text: text.chars().take(96).collect(), expected }
}

fn display_hash(bytes: &[u8; 32], family: Family) -> String {
    match family {
        Family::Evm => format!("0x{}", hex::encode(bytes)),
        Family::Tron | Family::Utxo => hex::encode(bytes),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_prints_as_its_family_writes_it() {
        let text = "5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060";
        let hash = TxHash::parse(Family::Evm, &format!("0x{text}")).unwrap();
        assert_eq!(hash.display(Family::Evm), format!("0x{text}"));
        assert_eq!(TxHash::parse(Family::Utxo, text), Ok(hash));
        assert_eq!(hash.display(Family::Tron), text);
        for wrong in ["", "0x", &text[1..], &format!("0x{text}0"), &text.replace('5', "g")] {
            assert!(TxHash::parse(Family::Evm, wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_allocation_of_the_first_block_keeps_the_id_of_its_source() {
        let text = "GENESIS_0x000d836201318ec6899a67540690382780743280";
        let id = TxHash::parse(Family::Evm, text).unwrap();
        assert!(id.is_made());
        assert_eq!(id.display(Family::Evm), text);
    }
}
