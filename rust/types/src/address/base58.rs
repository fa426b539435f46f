//! Base58Check: a version byte and a payload with the first four bytes of their double SHA-256.

use sha2::{Digest, Sha256};

use super::Reason;

/// The characters of Base58: letters and digits without `0`, `O`, `I` and `l`.
pub(super) const ALPHABET: &str = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Bytes of an address without its checksum: a version and a hash.
pub(super) const ADDRESS_LENGTH: usize = 21;

/// Longest text that is decoded at all: decoding takes time with the square of the length.
const LONGEST: usize = 128;

/// The payload of Base58Check text, version byte included.
///
/// Where the checksum does not match, `expected` (the payload's length) decides whether a character is wrong
/// ([`Reason::Checksum`]) or some are missing or too many ([`Reason::Length`]).
pub(super) fn decode(text: &str, expected: usize) -> Result<Vec<u8>, Reason> {
    if let Some(reason) = foreign_character(text) {
        return Err(reason);
    }
    if text.len() > LONGEST {
        return Err(Reason::Length);
    }
    let bytes = bs58::decode(text).into_vec().map_err(|_| Reason::Alphabet)?;
    let (payload, checksum) = bytes.split_last_chunk::<4>().ok_or(Reason::Length)?;
    if checksum_of(payload) == *checksum {
        return Ok(payload.to_vec());
    }
    Err(if payload.len() == expected { Reason::Checksum } else { Reason::Length })
}

/// Base58Check text of a version byte and a payload.
pub(super) fn encode(version: u8, payload: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(payload.len() + 5);
    bytes.push(version);
    bytes.extend_from_slice(payload);
    let checksum = checksum_of(&bytes);
    bytes.extend_from_slice(&checksum);
    bs58::encode(bytes).into_string()
}

fn foreign_character(text: &str) -> Option<Reason> {
    (!text.chars().all(|character| ALPHABET.contains(character))).then_some(Reason::Alphabet)
}

fn checksum_of(payload: &[u8]) -> [u8; 4] {
    let digest = Sha256::digest(Sha256::digest(payload));
    [digest[0], digest[1], digest[2], digest[3]]
}
