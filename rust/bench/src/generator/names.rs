//! Real bytes for accounts, tokens and transactions, so that dictionaries cost what they cost.

use headwater_types::{Address, TxHash};
use sha2::{Digest, Sha256};

/// The 20 bytes of an account: the first of the SHA-256 of its id, little-endian.
#[must_use]
pub fn address_bytes(account: u32) -> [u8; 20] {
    first_bytes(&account.to_le_bytes())
}

/// The address of an account.
#[must_use]
pub fn address_of(account: u32) -> Address {
    Address::Evm(address_bytes(account))
}

/// The contract of a token.
#[must_use]
pub fn token_of(token: u32) -> Address {
    let mut input = *b"token....";
    input[5..].copy_from_slice(&token.to_le_bytes());
    Address::Evm(first_bytes(&input))
}

/// Decimals of a token: 6 for every third, else 18.
#[must_use]
pub const fn token_decimals(token: u32) -> u8 {
    if token.is_multiple_of(3) { 6 } else { 18 }
}

/// Symbol of a token: some of the most moved ones are stablecoins.
#[must_use]
pub fn token_symbol(token: u32) -> String {
    match token {
        0 => "USDT".to_owned(),
        1 => "DAI".to_owned(),
        2 => "TUSD".to_owned(),
        3 => "USDC".to_owned(),
        _ => format!("T{token}"),
    }
}

/// Tokens that are stablecoins.
pub const STABLECOINS: std::ops::Range<u8> = 0..4;

/// The hash of the transaction of a row: the SHA-256 of its number, little-endian.
#[must_use]
pub fn transaction_hash(row: u64) -> TxHash {
    TxHash::new(Sha256::digest(row.to_le_bytes()).into())
}

fn first_bytes(input: &[u8]) -> [u8; 20] {
    let digest: [u8; 32] = Sha256::digest(input).into();
    let mut bytes = [0; 20];
    bytes.copy_from_slice(&digest[..20]);
    bytes
}
