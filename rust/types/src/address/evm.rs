//! EVM addresses: `0x` and 40 hex digits; EIP-55 mixes the case as a checksum.

use super::Reason;

pub(super) fn parse(text: &str) -> Result<[u8; 20], Reason> {
    let digits = text.strip_prefix("0x").ok_or(Reason::UnknownForm)?;
    if digits.len() != 40 {
        return Err(Reason::Length);
    }
    let mut bytes = [0; 20];
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| Reason::Alphabet)?;
    Ok(bytes)
}

pub(super) fn text(bytes: &[u8; 20]) -> String {
    format!("0x{}", hex::encode(bytes))
}
