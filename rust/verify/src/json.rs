//! Fields of JSON answers as typed values, with errors that name the field.

use ruint::aliases::U256;
use serde_json::Value;

use crate::mismatch::{Fault, Mismatch};

const MAX_SHOWN: usize = 80;

/// A field that is not null.
pub(crate) fn present<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

fn required<'a>(object: &'a Value, name: &str, expected: &'static str) -> Result<&'a Value, Fault> {
    present(object, name).ok_or_else(|| malformed(name, None, expected))
}

fn malformed(name: &str, value: Option<&Value>, expected: &'static str) -> Fault {
    Fault::new(name, Mismatch::Malformed { given: shown(value), expected })
}

/// The text of a value for an error, cut when long.
pub(crate) fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "missing".to_owned() };
    let text = value.to_string();
    if text.chars().count() <= MAX_SHOWN {
        return text;
    }
    text.chars().take(MAX_SHOWN).chain("...".chars()).collect()
}

/// The text `0x` with the digits of `bytes`.
pub(crate) fn prefixed(bytes: &[u8]) -> String {
    format!("0x{}", hex::encode(bytes))
}

fn digits(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix("0x")
}

/// Bytes of a fixed length in `0x` hex.
pub(crate) fn fixed<const N: usize>(object: &Value, name: &str) -> Result<[u8; N], Fault> {
    let expected = match N {
        8 => "8 bytes in hex after 0x",
        20 => "an address of 20 bytes in hex after 0x",
        32 => "32 bytes in hex after 0x",
        _ => "256 bytes in hex after 0x",
    };
    let value = required(object, name, expected)?;
    fixed_value(value).ok_or_else(|| malformed(name, Some(value), expected))
}

/// Reads `0x` hex of exactly `N` bytes.
fn fixed_value<const N: usize>(value: &Value) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(digits(value)?, &mut bytes).ok()?;
    Some(bytes)
}

/// Bytes of any length in `0x` hex.
pub(crate) fn data(object: &Value, name: &str) -> Result<Vec<u8>, Fault> {
    const EXPECTED: &str = "bytes in hex after 0x";
    let value = required(object, name, EXPECTED)?;
    digits(value).and_then(|digits| hex::decode(digits).ok()).ok_or_else(|| malformed(name, Some(value), EXPECTED))
}

/// A whole number of at most 256 bits in `0x` hex. Some nodes write small ones as JSON numbers.
pub(crate) fn quantity(object: &Value, name: &str) -> Result<U256, Fault> {
    const EXPECTED: &str = "a whole number in hex after 0x";
    let value = required(object, name, EXPECTED)?;
    let number = value.as_u64().map(U256::from);
    number.or_else(|| hex_quantity(digits(value)?)).ok_or_else(|| malformed(name, Some(value), EXPECTED))
}

/// Reads hex digits; leading zeros are accepted, as some nodes write them in `r` and `s`.
fn hex_quantity(digits: &str) -> Option<U256> {
    let significant = digits.trim_start_matches('0').as_bytes();
    let mut padded = [b'0'; 64];
    let start = padded.len().checked_sub(significant.len()).filter(|_| !digits.is_empty())?;
    padded[start..].copy_from_slice(significant);
    let mut bytes = [0; 32];
    hex::decode_to_slice(padded, &mut bytes).ok()?;
    Some(U256::from_be_bytes(bytes))
}

/// A whole number of at most 64 bits in `0x` hex.
pub(crate) fn number(object: &Value, name: &str) -> Result<u64, Fault> {
    let expected = "a whole number below 2^64 in hex after 0x";
    u64::try_from(quantity(object, name)?).map_err(|_| malformed(name, object.get(name), expected))
}

/// An address, or `None` where the field is null or missing.
pub(crate) fn optional_address(object: &Value, name: &str) -> Result<Option<[u8; 20]>, Fault> {
    present(object, name).map(|_| fixed(object, name)).transpose()
}

/// The entries of a list.
pub(crate) fn list<'a>(object: &'a Value, name: &str) -> Result<&'a [Value], Fault> {
    let value = required(object, name, "a list")?;
    value.as_array().map(Vec::as_slice).ok_or_else(|| malformed(name, Some(value), "a list"))
}

/// The entries of a list that may be missing.
pub(crate) fn optional_list<'a>(object: &'a Value, name: &str) -> Result<&'a [Value], Fault> {
    present(object, name).map_or(Ok(&[]), |_| list(object, name))
}

/// The hashes of a list; `name` is its field.
pub(crate) fn hashes(entries: &[Value], name: &str) -> Result<Vec<[u8; 32]>, Fault> {
    let read = |(index, value)| {
        let malformed = || malformed("", Some(value), "32 bytes in hex after 0x").inside(name, index);
        fixed_value(value).ok_or_else(malformed)
    };
    entries.iter().enumerate().map(read).collect()
}

/// Hex of TRON's interface, which has no prefix.
pub(crate) fn bare_hex(object: &Value, name: &str) -> Result<Vec<u8>, Fault> {
    const EXPECTED: &str = "bytes in hex without prefix (ask with \"visible\": false)";
    let value = required(object, name, EXPECTED)?;
    value.as_str().and_then(|text| hex::decode(text).ok()).ok_or_else(|| malformed(name, Some(value), EXPECTED))
}

/// A whole number as JSON number; zero where it is missing, as TRON's interface leaves out zeros.
pub(crate) fn integer(object: &Value, name: &str) -> Result<i64, Fault> {
    let Some(value) = present(object, name) else { return Ok(0) };
    value.as_i64().ok_or_else(|| malformed(name, Some(value), "a whole number below 2^63"))
}

/// An object.
pub(crate) fn object<'a>(parent: &'a Value, name: &str) -> Result<&'a Value, Fault> {
    let value = required(parent, name, "an object")?;
    if value.is_object() { Ok(value) } else { Err(malformed(name, Some(value), "an object")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantity_in_hex_or_as_number_is_read() {
        let object = json!({"a": "0x1f", "b": 31, "c": "0x001f", "d": format!("0x{}", "f".repeat(64))});
        for name in ["a", "b", "c"] {
            assert_eq!(number(&object, name).unwrap(), 31);
        }
        assert_eq!(quantity(&object, "d").unwrap(), U256::MAX);
    }

    #[test]
    fn quantity_in_other_forms_is_refused() {
        let object = json!({"a": "", "b": "0x", "c": "31", "d": "0x_1", "e": 1.5, "f": -1, "g": null, "h": "0x+1",
            "i": format!("0x1{}", "0".repeat(64)), "j": "0xé"});
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "missing"] {
            let error = quantity(&object, name).unwrap_err().at(1);
            assert_eq!((error.mismatch.code(), error.path.as_str()), ("malformed", name));
        }
        assert_eq!(
            number(&json!({"n": "0x10000000000000000"}), "n").unwrap_err().at(7).to_string(),
            "block 7: n is \"0x10000000000000000\"; expected a whole number below 2^64 in hex after 0x"
        );
    }

    #[test]
    fn fixed_bytes_of_other_length_are_refused() {
        let object = json!({"a": "0x1234", "b": "0x"});
        assert!(fixed::<20>(&object, "a").is_err());
        assert!(fixed::<32>(&object, "b").is_err());
        assert_eq!(data(&object, "a").unwrap(), [0x12, 0x34]);
    }
}
