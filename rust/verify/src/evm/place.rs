//! Fields that repeat the block and the position of a transaction, receipt or log.

use serde_json::Value;

use super::header::VerifiedHeader;
use crate::json::{fixed, number, prefixed, present};
use crate::mismatch::{Fault, Rule};

/// Checks the fields that name the block.
pub(super) fn check_block(header: &VerifiedHeader, object: &Value) -> Result<(), Fault> {
    check_hash(object, "blockHash", header.hash, "the hash of the block")?;
    check_number(object, "blockNumber", header.number, "the number of the block")?;
    if present(object, "blockTimestamp").is_some() {
        check_number(object, "blockTimestamp", header.timestamp, "the time of the block")?;
    }
    Ok(())
}

/// Checks the fields that name the block and the position of a transaction in it.
pub(super) fn check_place(header: &VerifiedHeader, index: usize, object: &Value) -> Result<(), Fault> {
    check_block(header, object)?;
    check_number(object, "transactionIndex", index as u64, "the position in the block")
}

/// Checks a field that repeats a number.
pub(super) fn check_number(object: &Value, name: &str, expected: u64, meaning: &str) -> Result<(), Fault> {
    let given = number(object, name)?;
    if given == expected {
        return Ok(());
    }
    Err(Fault::value(name, Rule::Position, given.to_string(), format!("{expected}, {meaning}")))
}

/// Checks a field that repeats a hash.
pub(super) fn check_hash(object: &Value, name: &str, expected: [u8; 32], meaning: &str) -> Result<(), Fault> {
    let given = fixed(object, name)?;
    if given == expected {
        return Ok(());
    }
    Err(Fault::value(name, Rule::Position, prefixed(&given), format!("{}, {meaning}", prefixed(&expected))))
}
