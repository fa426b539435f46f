//! Fields of answers that headers, transactions and infos share.

use serde_json::Value;

use crate::json::{bare_hex, present, shown};
use crate::mismatch::{Fault, Mismatch};

/// The prefix of addresses.
const PREFIX: u8 = 0x41;

/// A hash of 32 bytes.
pub(super) fn hash(object: &Value, name: &str) -> Result<[u8; 32], Fault> {
    let given = || shown(object.get(name));
    bare_hex(object, name)?
        .try_into()
        .map_err(|_| Fault::new(name, Mismatch::Malformed { given: given(), expected: "32 bytes in hex" }))
}

/// Bytes, empty where the field is missing.
pub(super) fn optional_hex(object: &Value, name: &str) -> Result<Vec<u8>, Fault> {
    present(object, name).map_or(Ok(Vec::new()), |_| bare_hex(object, name))
}

/// The address of an account with the prefix of TRON.
pub(super) fn prefixed_address(account: [u8; 20]) -> [u8; 21] {
    let mut address = [PREFIX; 21];
    address[1..].copy_from_slice(&account);
    address
}
