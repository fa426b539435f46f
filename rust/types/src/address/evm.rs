//! EVM addresses: `0x` and 40 hex digits; EIP-55 mixes the case of the letters as a checksum.

use sha3::{Digest, Keccak256};

use super::{Checksum, Reason};
use crate::hex_text::hex_text;

const DIGITS: usize = 40;

pub(super) fn parse(text: &str) -> Result<[u8; 20], Reason> {
    let digits = text.strip_prefix("0x").ok_or(Reason::UnknownForm)?;
    parse_digits(digits)
}

/// The address of 40 hex digits without `0x`.
pub(super) fn parse_digits(digits: &str) -> Result<[u8; 20], Reason> {
    if digits.chars().count() != DIGITS {
        return Err(Reason::Length);
    }
    let mut bytes = [0; 20];
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| Reason::Alphabet)?;
    Ok(bytes)
}

pub(super) fn text(bytes: &[u8; 20]) -> String {
    hex_text("0x", bytes)
}

/// The mixed-case text of EIP-55: a letter is upper case where the matching hex digit of the Keccak-256 hash of the
/// 40 lower-case digits is 8 or more.
pub(super) fn checksum_text(bytes: &[u8; 20]) -> String {
    format!("0x{}", checksum_digits(bytes))
}

pub(super) fn checksum_digits(bytes: &[u8; 20]) -> String {
    let digits = hex::encode(bytes);
    let hash = Keccak256::digest(digits.as_bytes());
    let nibble = |place: usize| if place.is_multiple_of(2) { hash[place / 2] >> 4 } else { hash[place / 2] & 0xf };
    digits
        .chars()
        .enumerate()
        .map(|(place, digit)| if nibble(place) >= 8 { digit.to_ascii_uppercase() } else { digit })
        .collect()
}

/// The contract that a sender creates with a nonce: the last 20 bytes of the Keccak-256 hash of the RLP list of both.
pub(super) fn created(sender: &[u8; 20], nonce: u64) -> [u8; 20] {
    const LIST: u8 = 0xc0;
    const TEXT: u8 = 0x80;
    let mut counter: Vec<u8> = nonce.to_be_bytes().into_iter().skip_while(|&byte| byte == 0).collect();
    if counter.len() != 1 || counter[0] >= TEXT {
        let length = u8::try_from(counter.len()).expect("a nonce has at most eight bytes");
        counter.insert(0, TEXT + length);
    }
    let length = u8::try_from(21 + counter.len()).expect("a nonce has at most eight bytes");
    let list = [&[LIST + length, TEXT + 20][..], sender, &counter].concat();
    let hash: [u8; 32] = Keccak256::digest(list).into();
    *hash.last_chunk().expect("a hash is longer than an address")
}

/// Returns what the case of the letters says about 40 hex digits.
pub(super) fn checksum_of(digits: &str, bytes: &[u8; 20]) -> Checksum {
    let has = |case: fn(&u8) -> bool| digits.as_bytes().iter().any(case);
    if !(has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)) {
        return Checksum::None;
    }
    if checksum_digits(bytes) == digits { Checksum::Ok } else { Checksum::Failed }
}
