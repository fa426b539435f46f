//! TRON addresses: Base58Check of 0x41 and 20 bytes, so that they begin with `T`.

use super::Reason;

pub(super) const PREFIX: u8 = 0x41;

pub(super) fn parse(text: &str) -> Result<[u8; 20], Reason> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if digits.len() == 42 && digits.starts_with("41") {
        let mut bytes = [0; 21];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| Reason::Alphabet)?;
        return Ok(bytes[1..].try_into().expect("21 bytes less one are 20"));
    }
    if !text.starts_with('T') {
        return Err(Reason::UnknownForm);
    }
    if text.len() != 34 {
        return Err(Reason::Length);
    }
    let payload = super::utxo::base58check(text)?;
    match payload.split_first() {
        Some((&PREFIX, rest)) => rest.try_into().map_err(|_| Reason::Length),
        _ => Err(Reason::Version),
    }
}

pub(super) fn text(bytes: &[u8; 20]) -> String {
    super::utxo::base58check_text(PREFIX, bytes)
}
