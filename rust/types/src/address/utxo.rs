//! Bitcoin addresses: Base58Check (P2PKH, P2SH), Bech32 (BIP 173) and Bech32m (BIP 350).

use std::fmt;

use super::segwit::WitnessProgram;
use super::{Reason, base58, segwit};
use crate::Network;

/// The owner of an output script on one network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UtxoAddress {
    /// The network the address is printed for.
    pub network: Network,
    /// The script or key that the script commits to.
    pub payload: UtxoPayload,
}

/// The payload that an output script commits to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UtxoPayload {
    /// The hash of a public key; the owner of a P2PK output is filed here too.
    PublicKeyHash([u8; 20]),
    /// The hash of a script.
    ScriptHash([u8; 20]),
    /// A witness program.
    Witness(WitnessProgram),
}

/// The scripts of [`UtxoAddress::is_keyless`]: HASH160 and SHA-256 of `OP_1`, and the program of pay-to-anchor.
const SCRIPT_HASH_OF_OP_1: [u8; 20] = [
    0xda, 0x17, 0x45, 0xe9, 0xb5, 0x49, 0xbd, 0x0b, 0xfa, 0x1a, 0x56, 0x99, 0x71, 0xc7, 0x7e, 0xba, 0x30, 0xcd, 0x5a,
    0x4b,
];
const WITNESS_HASH_OF_OP_1: [u8; 32] = [
    0x4a, 0xe8, 0x15, 0x72, 0xf0, 0x6e, 0x1b, 0x88, 0xfd, 0x5c, 0xed, 0x7a, 0x1a, 0x00, 0x09, 0x45, 0x43, 0x2e, 0x83,
    0xe1, 0x55, 0x1e, 0x6f, 0x72, 0x1e, 0xe9, 0xc0, 0x0b, 0x8c, 0xc3, 0x32, 0x60,
];
const PAY_TO_ANCHOR: [u8; 2] = [0x4e, 0x73];

const OP_DUP: u8 = 0x76;
const OP_EQUAL: u8 = 0x87;
const OP_EQUALVERIFY: u8 = 0x88;
const OP_HASH160: u8 = 0xa9;
const OP_CHECKSIG: u8 = 0xac;
/// `OP_1` is 0x51, and the opcodes up to `OP_16` follow it.
const OP_1_LESS_ONE: u8 = 0x50;

impl UtxoAddress {
    /// The output script that pays the address (`scriptPubKey`).
    ///
    /// ```
    /// use headwater_types::{Address, Chain};
    /// let Ok(Address::Utxo(address)) = Address::parse(Chain::BITCOIN, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")
    /// else { unreachable!() };
    /// assert_eq!(address.script()[..2], [0x00, 0x14]);
    /// ```
    #[must_use]
    pub fn script(&self) -> Vec<u8> {
        match &self.payload {
            UtxoPayload::PublicKeyHash(hash) => {
                [&[OP_DUP, OP_HASH160, 20], &hash[..], &[OP_EQUALVERIFY, OP_CHECKSIG]].concat()
            }
            UtxoPayload::ScriptHash(hash) => [&[OP_HASH160, 20], &hash[..], &[OP_EQUAL]].concat(),
            UtxoPayload::Witness(witness) => {
                let version = if witness.version() == 0 { 0 } else { OP_1_LESS_ONE + witness.version() };
                [&[version, witness.length()], witness.program()].concat()
            }
        }
    }

    /// Returns whether anybody can spend what the address holds: pay-to-anchor (BIP 433), and P2SH and P2WSH of `OP_1`
    /// alone. Such an address has no owner.
    ///
    /// ```
    /// use headwater_types::{Address, Chain};
    /// let is_keyless = |text| Address::parse(Chain::BITCOIN, text).unwrap().is_keyless();
    /// assert!(is_keyless("bc1pfeessrawgf"));
    /// assert!(!is_keyless("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"));
    /// ```
    #[must_use]
    pub fn is_keyless(&self) -> bool {
        match &self.payload {
            UtxoPayload::PublicKeyHash(_) => false,
            UtxoPayload::ScriptHash(hash) => *hash == SCRIPT_HASH_OF_OP_1,
            UtxoPayload::Witness(witness) => {
                witness.version() == 0 && *witness.program() == WITNESS_HASH_OF_OP_1
                    || witness.version() == 1 && *witness.program() == PAY_TO_ANCHOR
            }
        }
    }

    /// The keyless addresses of a network.
    #[must_use]
    pub fn keyless(network: Network) -> Vec<Self> {
        let witness = [(0, &WITNESS_HASH_OF_OP_1[..]), (1, &PAY_TO_ANCHOR[..])];
        let witness = witness.into_iter().filter_map(|(version, program)| WitnessProgram::new(version, program));
        let payloads = witness.map(UtxoPayload::Witness).chain([UtxoPayload::ScriptHash(SCRIPT_HASH_OF_OP_1)]);
        payloads.map(|payload| Self { network, payload }).collect()
    }

    pub(super) fn key_parts(&self) -> (u8, &[u8]) {
        match &self.payload {
            UtxoPayload::PublicKeyHash(hash) => (0, hash),
            UtxoPayload::ScriptHash(hash) => (1, hash),
            UtxoPayload::Witness(witness) => (2 + witness.version(), witness.program()),
        }
    }

    pub(super) fn from_key(network: Network, key: &[u8]) -> Option<Self> {
        let (&kind, payload) = key.split_first()?;
        let payload = match kind {
            0 => UtxoPayload::PublicKeyHash(payload.try_into().ok()?),
            1 => UtxoPayload::ScriptHash(payload.try_into().ok()?),
            version => UtxoPayload::Witness(WitnessProgram::new(version - 2, payload)?),
        };
        Some(Self { network, payload })
    }
}

const fn base58_versions(network: Network) -> (u8, u8) {
    match network {
        Network::Mainnet => (0x00, 0x05),
        Network::Testnet | Network::Signet | Network::Regtest => (0x6f, 0xc4),
    }
}

pub(super) const fn human_part(network: Network) -> &'static str {
    match network {
        Network::Mainnet => "bc",
        Network::Testnet | Network::Signet => "tb",
        Network::Regtest => "bcrt",
    }
}

const HUMAN_PARTS: [&str; 3] = ["bc", "tb", "bcrt"];
const KEY_LENGTH: usize = base58::ADDRESS_LENGTH;

/// The human-readable part, in lower case, of a text that has the outer form of a witness address on some network.
pub(super) fn segwit_human_part(text: &str) -> Option<&'static str> {
    let (given, _) = text.rsplit_once('1')?;
    HUMAN_PARTS.into_iter().find(|human| human.eq_ignore_ascii_case(given))
}

pub(super) fn parse(network: Network, text: &str) -> Result<UtxoAddress, Reason> {
    let payload = if let Some(human) = segwit_human_part(text) {
        let program = segwit::decode(text)?;
        if human != human_part(network) {
            return Err(Reason::NetworkMismatch);
        }
        UtxoPayload::Witness(program)
    } else {
        parse_base58(network, text)?
    };
    Ok(UtxoAddress { network, payload })
}

fn parse_base58(network: Network, text: &str) -> Result<UtxoPayload, Reason> {
    let payload = base58::decode(text, KEY_LENGTH).map_err(|reason| match reason {
        _ if segwit::has_checksum(text) => Reason::Version,
        _ if looks_like_base58(text) => reason,
        _ => Reason::UnknownForm,
    })?;
    let (&version, hash) = payload.split_first().ok_or(Reason::Length)?;
    let (key_hash, script_hash) = base58_versions(network);
    let known = matches!(version, 0x00 | 0x05 | 0x6f | 0xc4);
    match <[u8; 20]>::try_from(hash) {
        Ok(hash) if version == key_hash => Ok(UtxoPayload::PublicKeyHash(hash)),
        Ok(hash) if version == script_hash => Ok(UtxoPayload::ScriptHash(hash)),
        Ok(_) if known => Err(Reason::NetworkMismatch),
        Err(_) if known => Err(Reason::Length),
        Ok(_) | Err(_) => Err(Reason::Version),
    }
}

/// Returns whether a text was probably meant as a Base58Check address: first character and about the length of one.
pub(super) fn looks_like_base58(text: &str) -> bool {
    text.starts_with(['1', '2', '3', 'm', 'n'])
        && (25..=36).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl fmt::Display for UtxoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key_hash, script_hash) = base58_versions(self.network);
        f.write_str(&match &self.payload {
            UtxoPayload::PublicKeyHash(hash) => base58::encode(key_hash, hash),
            UtxoPayload::ScriptHash(hash) => base58::encode(script_hash, hash),
            UtxoPayload::Witness(witness) => segwit::encode(human_part(self.network), witness),
        })
    }
}

impl fmt::Debug for UtxoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
