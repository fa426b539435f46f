//! Ids of movements that no transaction made: they are made from the block and the receiver.

use sha2::{Digest, Sha256};

use crate::hash::{FORK, GENESIS, OPENING, REWARD, WITHDRAWAL, hash_error, parse_hash};
use crate::{Address, Family, HashError, Network, TxHash};

impl TxHash {
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

    /// The id of what validators withdrew to an account in a block.
    #[must_use]
    pub fn withdrawal(block: u32, receiver: &Address) -> Self {
        Self::made(WITHDRAWAL, block, receiver)
    }

    /// The id of a movement that a fork decreed.
    #[must_use]
    pub fn fork(block: u32, receiver: &Address) -> Self {
        Self::made(FORK, block, receiver)
    }

    /// The id of a part of the opening balances of a token: what a list of its holders at a block says. The same list
    /// has the same ids, whoever brings it; nobody can find another contract for an id.
    #[must_use]
    pub fn opening(block: u32, contract: &Address, part: u32) -> Self {
        let digest = Sha256::digest(contract.key().as_slice());
        let mut tail = [0; 20];
        tail[..16].copy_from_slice(&digest[..16]);
        tail[16..].copy_from_slice(&part.to_be_bytes());
        Self::assembled(OPENING, block, &tail)
    }

    fn made(kind: [u8; 8], block: u32, receiver: &Address) -> Self {
        Self::assembled(kind, block, &tail_of(receiver))
    }

    /// Reads the text of a hash: `0x` and 64 hex digits on EVM chains, 64 hex digits elsewhere (either form is read, and
    /// `0X`), or an id that [`TxHash::display`] made for a movement without a transaction.
    ///
    /// # Errors
    /// When the text is anything else.
    pub fn parse(family: Family, text: &str) -> Result<Self, HashError> {
        let made = if let Some(receiver) = text.strip_prefix("GENESIS_") {
            Some((GENESIS, Some(0), receiver))
        } else if let Some((block, receiver)) = text.strip_prefix("REWARD_").and_then(|rest| rest.split_once('_')) {
            Some((REWARD, block.parse().ok(), receiver))
        } else if let Some((block, receiver)) = text.strip_prefix("WITHDRAWAL_").and_then(|rest| rest.split_once('_')) {
            Some((WITHDRAWAL, block.parse().ok(), receiver))
        } else if let Some((block, receiver)) = text.strip_prefix("FORK_").and_then(|rest| rest.split_once('_')) {
            Some((FORK, block.parse().ok(), receiver))
        } else if let Some((block, digest)) = text.strip_prefix("OPENING_").and_then(|rest| rest.split_once('_')) {
            Some((OPENING, block.parse().ok(), digest))
        } else {
            None
        };
        match made {
            None => parse_hash(family, text).map(Self::new),
            Some((kind, block, receiver)) => block
                .zip(receiver_tail(family, receiver))
                .map(|(block, tail)| Self::assembled(kind, block, &tail))
                .ok_or_else(|| hash_error(family, text)),
        }
    }
}

/// The last 20 bytes of an address's key: all of it on account chains.
fn tail_of(receiver: &Address) -> [u8; 20] {
    let key = receiver.key();
    let key = key.as_slice();
    let mut tail = [0; 20];
    let taken = key.len().min(20);
    tail[20 - taken..].copy_from_slice(&key[key.len() - taken..]);
    tail
}

/// The receiver in the id of a movement without a transaction: an address of the family, or 20 bytes of hex as ids
/// are printed.
fn receiver_tail(family: Family, text: &str) -> Option<[u8; 20]> {
    let mut bytes = [0; 20];
    if hex::decode_to_slice(text, &mut bytes).is_ok() {
        return Some(bytes);
    }
    match Address::parse_in_family(family, Network::Mainnet, text) {
        Ok(receiver) => Some(tail_of(&receiver)),
        Err(_) => match Address::parse_in_family(Family::Evm, Network::Mainnet, text) {
            Ok(Address::Evm(bytes)) => Some(bytes),
            Ok(Address::Tron(_) | Address::Utxo(_)) | Err(_) => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chain;

    #[test]
    fn a_hash_prints_as_its_family_writes_it() {
        let text = "5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060";
        let hash = TxHash::parse(Family::Evm, &format!("0x{text}")).unwrap();
        assert_eq!(hash.display(Family::Evm), format!("0x{text}"));
        assert_eq!(TxHash::parse(Family::Utxo, text), Ok(hash));
        assert_eq!(TxHash::parse(Family::Evm, &format!("0X{}", text.to_uppercase())), Ok(hash));
        assert_eq!(hash.display(Family::Tron), text);
        for wrong in ["", "0x", &text[1..], &format!("0x{text}0"), &text.replace('5', "g")] {
            assert!(TxHash::parse(Family::Evm, wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_allocation_of_the_first_block_keeps_the_id_of_its_source() {
        let text = "GENESIS_0fee81ac331efd8f81161c57382bb4507bb9ebec";
        let id = TxHash::parse(Family::Evm, text).unwrap();
        assert!(id.is_made());
        assert_eq!(id.display(Family::Evm), text);
        assert_eq!(TxHash::parse(Family::Evm, "GENESIS_0x0fee81ac331efd8f81161c57382bb4507bb9ebec"), Ok(id));
    }

    #[test]
    fn the_id_of_a_movement_without_a_transaction_reads_back() {
        for (chain, receiver) in [
            (Chain::ETHEREUM, "0x000d836201318ec6899a67540690382780743280"),
            (Chain::TRON, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"),
            (Chain::BITCOIN, "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"),
        ] {
            let receiver = Address::parse(chain, receiver).unwrap();
            let ids = [
                TxHash::genesis(&receiver),
                TxHash::reward(17, &receiver),
                TxHash::withdrawal(17, &receiver),
                TxHash::fork(u32::MAX, &receiver),
            ];
            for id in ids.into_iter().chain([TxHash::opening(17, &receiver, 0), TxHash::opening(17, &receiver, 1)]) {
                assert!(id.is_made());
                assert_eq!(TxHash::parse(chain.family(), &id.display(chain.family())), Ok(id));
            }
        }
        for wrong in ["GENESIS_", "REWARD_x_0x000d836201318ec6899a67540690382780743280", "REWARD_5", "FORK_"] {
            assert!(TxHash::parse(Family::Evm, wrong).is_err(), "{wrong}");
        }
    }
}
