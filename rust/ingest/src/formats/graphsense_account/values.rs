//! The forms of binary values and amounts in rows.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headwater_types::{Address, Amount, BlockHash, Chain, Network, TxHash};

use crate::error::FieldError;
use crate::source::{Row, hex_bytes};

/// Bytes in hex after `0x`, or in base64.
pub(super) fn binary(text: &str) -> Option<Vec<u8>> {
    if text.starts_with("0x") { hex_bytes(text) } else { STANDARD.decode(text).ok() }
}

fn fixed<const N: usize>(row: &Row<'_>, column: &str, what: &str) -> Result<Option<[u8; N]>, FieldError> {
    let Some(text) = row.text(column)? else { return Ok(None) };
    match binary(&text).and_then(|bytes| <[u8; N]>::try_from(bytes).ok()) {
        Some(bytes) => Ok(Some(bytes)),
        None => Err(FieldError::new(column, Some(&text), format!("{what} of {N} bytes, in base64 or in hex after 0x"))),
    }
}

/// A value of any length.
pub(super) fn bytes(row: &Row<'_>, column: &str) -> Result<Option<Vec<u8>>, FieldError> {
    let Some(text) = row.text(column)? else { return Ok(None) };
    let bytes = binary(&text);
    bytes.map(Some).ok_or_else(|| FieldError::new(column, Some(&text), "bytes in base64 or in hex after 0x"))
}

/// An address: its 20 bytes, on every chain. Text with a prefix or a checksum is an address of the chain, too.
pub(super) fn address(row: &Row<'_>, column: &str, chain: Chain) -> Result<Option<Address>, FieldError> {
    let Some(text) = row.text(column)? else { return Ok(None) };
    let bytes = binary(&text).and_then(|bytes| <[u8; 20]>::try_from(bytes).ok());
    let address = bytes.and_then(|bytes| Address::from_key(chain.family(), Network::default(), &bytes));
    let address = address.or_else(|| Address::parse(chain, &text).ok());
    address.map(Some).ok_or_else(|| {
        let expected = format!("an address of {chain}: 20 bytes in base64 or in hex after 0x");
        FieldError::new(column, Some(&text), expected)
    })
}

pub(super) fn transaction(row: &Row<'_>, column: &str) -> Result<Option<TxHash>, FieldError> {
    Ok(fixed(row, column, "a transaction hash")?.map(TxHash::new))
}

pub(super) fn block_hash(row: &Row<'_>, column: &str) -> Result<Option<BlockHash>, FieldError> {
    Ok(fixed(row, column, "a block hash")?.map(BlockHash::new))
}

/// An amount: `199e17` is a form of it.
pub(super) fn amount(row: &Row<'_>, column: &str) -> Result<Option<Amount>, FieldError> {
    row.amount(column)
}

/// Returns true if the hash of a block begins with its number, as it does on TRON.
pub(super) fn is_numbered(number: &str, hash: &str) -> bool {
    let number: Option<u64> = crate::source::plain_number(number);
    let begin = binary(hash).and_then(|hash| hash.first_chunk().copied().map(u64::from_be_bytes));
    number.is_some() && number == begin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_tron_block_stands_in_its_hash() {
        assert!(is_numbered("9386", "AAAAAAAAJKq3pg0K1eUW0KGn2fCyaoayZkJg07wYGdk="));
        assert!(!is_numbered("46147", "0x4e3a3754410177e6937ef1f84bba68ea139e8d1a2258c5f85db9f1cd715a1bdd"));
    }
}
