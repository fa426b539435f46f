//! TRON addresses: Base58Check of 0x41 and 20 bytes, so that they begin with `T`; nodes also write them as hex.

use super::{Reason, base58};

const PREFIX: u8 = 0x41;
/// The prefix byte of the first test network, whose addresses begin with `27`.
const OLD_TESTNET_PREFIX: u8 = 0xa0;
const KEY_LENGTH: usize = base58::ADDRESS_LENGTH;
/// With the prefix byte 0x41 the text always has this length.
const TEXT_LENGTH: usize = 34;

pub(super) fn parse(text: &str) -> Result<[u8; 20], Reason> {
    if let Some(digits) = hex_digits(text) {
        let mut bytes = [0; KEY_LENGTH];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| Reason::Alphabet)?;
        return Ok(*bytes.last_chunk().expect("21 bytes hold 20"));
    }
    let payload = base58::decode(text, KEY_LENGTH).map_err(|reason| match reason {
        Reason::Checksum if text.len() != TEXT_LENGTH && looks_like_base58(text) => Reason::Length,
        _ if looks_like_base58(text) => reason,
        _ => Reason::UnknownForm,
    })?;
    match payload.split_first() {
        Some((&PREFIX, rest)) => rest.try_into().map_err(|_| Reason::Length),
        Some((&OLD_TESTNET_PREFIX, _)) => Err(Reason::Version),
        _ => Err(Reason::UnknownForm),
    }
}

/// The 42 digits of the hex form, with `0x` or without.
pub(super) fn hex_digits(text: &str) -> Option<&str> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    (digits.len() == 2 * KEY_LENGTH && digits.starts_with("41")).then_some(digits)
}

/// Returns whether a text was probably meant as a Base58Check address: first character and about the length of one.
pub(super) fn looks_like_base58(text: &str) -> bool {
    text.starts_with('T') && (30..=38).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

pub(super) fn text(bytes: &[u8; 20]) -> String {
    base58::encode(PREFIX, bytes)
}
