//! Bitcoin addresses: Base58Check, Bech32 (BIP 173) and Bech32m (BIP 350).

use std::fmt;

use bech32::{Hrp, segwit};
use sha2::{Digest, Sha256};

use super::Reason;
use crate::Network;

/// The owner of an output script on one network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UtxoAddress {
    /// The network the address is printed for.
    pub network: Network,
    /// What the script commits to.
    pub payload: UtxoPayload,
}

/// What an output script commits to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UtxoPayload {
    /// The hash of a public key; the owner of a P2PK output is filed here too.
    PublicKeyHash([u8; 20]),
    /// The hash of a script.
    ScriptHash([u8; 20]),
    /// A witness program.
    Witness(WitnessProgram),
}

/// A witness program: version 0 to 16 and 2 to 40 bytes (BIP 141).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WitnessProgram {
    version: u8,
    length: u8,
    bytes: [u8; 40],
}

impl WitnessProgram {
    /// A checked witness program; `None` when version or length are not those of BIP 141.
    #[must_use]
    pub fn new(version: u8, program: &[u8]) -> Option<Self> {
        let fits = version <= 16 && (2..=40).contains(&program.len());
        let version_0_fits = version != 0 || matches!(program.len(), 20 | 32);
        (fits && version_0_fits).then(|| {
            let mut bytes = [0; 40];
            bytes[..program.len()].copy_from_slice(program);
            Self { version, length: u8::try_from(program.len()).expect("at most 40"), bytes }
        })
    }

    /// The witness version.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// The program bytes.
    #[must_use]
    pub fn program(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl UtxoAddress {
    pub(super) fn key_parts(&self) -> (u8, &[u8]) {
        match &self.payload {
            UtxoPayload::PublicKeyHash(hash) => (0, hash),
            UtxoPayload::ScriptHash(hash) => (1, hash),
            UtxoPayload::Witness(witness) => (2 + witness.version, witness.program()),
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

const fn human_part(network: Network) -> &'static str {
    match network {
        Network::Mainnet => "bc",
        Network::Testnet | Network::Signet => "tb",
        Network::Regtest => "bcrt",
    }
}

pub(super) fn parse(network: Network, text: &str) -> Result<UtxoAddress, Reason> {
    let payload = if let Some((human, _)) = text.rsplit_once('1')
        && ["bc", "tb", "bcrt"].contains(&human.to_ascii_lowercase().as_str())
    {
        if human.to_ascii_lowercase() != human_part(network) {
            return Err(Reason::NetworkMismatch);
        }
        parse_segwit(text)?
    } else {
        parse_base58(network, text)?
    };
    Ok(UtxoAddress { network, payload })
}

fn parse_segwit(text: &str) -> Result<UtxoPayload, Reason> {
    let (_, version, program) = segwit::decode(text).map_err(|_| Reason::Checksum)?;
    WitnessProgram::new(version.to_u8(), &program).map(UtxoPayload::Witness).ok_or(Reason::Length)
}

fn parse_base58(network: Network, text: &str) -> Result<UtxoPayload, Reason> {
    if !(26..=35).contains(&text.len()) {
        return Err(Reason::Length);
    }
    let payload = base58check(text)?;
    let (&version, hash) = payload.split_first().ok_or(Reason::Length)?;
    let hash: [u8; 20] = hash.try_into().map_err(|_| Reason::Length)?;
    let (key_hash, script_hash) = base58_versions(network);
    match version {
        version if version == key_hash => Ok(UtxoPayload::PublicKeyHash(hash)),
        version if version == script_hash => Ok(UtxoPayload::ScriptHash(hash)),
        0x00 | 0x05 | 0x6f | 0xc4 => Err(Reason::NetworkMismatch),
        _ => Err(Reason::Version),
    }
}

/// The payload of Base58Check text, version byte included.
pub(super) fn base58check(text: &str) -> Result<Vec<u8>, Reason> {
    let bytes = bs58::decode(text).into_vec().map_err(|_| Reason::Alphabet)?;
    let (payload, checksum) = bytes.split_last_chunk::<4>().ok_or(Reason::Length)?;
    if checksum_of(payload) == *checksum { Ok(payload.to_vec()) } else { Err(Reason::Checksum) }
}

pub(super) fn base58check_text(version: u8, payload: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(payload.len() + 5);
    bytes.push(version);
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&checksum_of(&bytes));
    bs58::encode(bytes).into_string()
}

fn checksum_of(payload: &[u8]) -> [u8; 4] {
    let digest = Sha256::digest(Sha256::digest(payload));
    [digest[0], digest[1], digest[2], digest[3]]
}

impl fmt::Display for UtxoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key_hash, script_hash) = base58_versions(self.network);
        match &self.payload {
            UtxoPayload::PublicKeyHash(hash) => f.write_str(&base58check_text(key_hash, hash)),
            UtxoPayload::ScriptHash(hash) => f.write_str(&base58check_text(script_hash, hash)),
            UtxoPayload::Witness(witness) => {
                let human = Hrp::parse(human_part(self.network)).expect("our own human-readable part is valid");
                let version = bech32::Fe32::try_from(witness.version).expect("a witness version is at most 16");
                f.write_str(&segwit::encode(human, version, witness.program()).expect("the program was checked"))
            }
        }
    }
}

impl fmt::Debug for UtxoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
