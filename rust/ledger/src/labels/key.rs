//! The bytes by which label files find an address.

use headwater_types::address::UtxoAddress;
use headwater_types::{Address, Family, Network};
use xxhash_rust::xxh3::xxh3_64;

/// Longest key: one byte of family and network, and an address key.
const LONGEST: usize = 43;

const NETWORKS: [Network; 4] = [Network::Mainnet, Network::Testnet, Network::Signet, Network::Regtest];
/// Family bytes of account chains; UTXO networks follow.
const EVM: u8 = 0;
const TRON: u8 = 1;
const UTXO: u8 = 2;

/// An address as label files sort it: by family and network, then by its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Key {
    pub(crate) fn of(address: &Address) -> Self {
        let family = match address {
            Address::Evm(_) => EVM,
            Address::Tron(_) => TRON,
            Address::Utxo(address) => UTXO + place(address),
        };
        let key = address.key();
        let key = key.as_slice();
        let mut bytes = [0; LONGEST];
        bytes[0] = family;
        bytes[1..=key.len()].copy_from_slice(key);
        Self { bytes, length: key.len() + 1 }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(super) fn hash(&self) -> u64 {
        xxh3_64(self.as_slice())
    }

    /// The address of a stored key; `None` when the bytes are not a key.
    pub(crate) fn address(bytes: &[u8]) -> Option<Address> {
        let (&family, key) = bytes.split_first()?;
        match family {
            EVM => Address::from_key(Family::Evm, Network::Mainnet, key),
            TRON => Address::from_key(Family::Tron, Network::Mainnet, key),
            utxo => Address::from_key(Family::Utxo, *NETWORKS.get(usize::from(utxo - UTXO))?, key),
        }
    }
}

fn place(address: &UtxoAddress) -> u8 {
    let known = (0..).zip(NETWORKS).find(|(_, network)| *network == address.network);
    known.map_or(0, |(place, _)| place)
}
