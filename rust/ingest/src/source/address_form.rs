//! The form of addresses, of chains that are held and of others: the evidence that a text without columns is a list.

use headwater_types::Network;
use headwater_types::address::inspect::{Correction, Kind, judge};

/// The shortest text that is taken for an address, and the longest.
const LENGTHS: std::ops::RangeInclusive<usize> = 25..=110;
/// Digits of a mistyped EVM address.
const HEX_DIGITS: std::ops::RangeInclusive<usize> = 36..=44;
/// Characters of a key in Base58: Litecoin, Dogecoin, Ripple, Solana and others; Monero has longer ones.
const BASE58: [std::ops::RangeInclusive<usize>; 2] = [26..=44, 95..=106];
/// The shortest data part of an address in Bech32.
const BECH32_DATA: usize = 20;

/// Returns whether a text has the form of an address of any chain: what is mistyped or has a wrong checksum included, hashes and
/// words excluded. Links of explorers and URIs of coins count as the address inside them.
pub(crate) fn has_address_form(text: &str) -> bool {
    if text.chars().any(char::is_whitespace) || !LENGTHS.contains(&text.len()) {
        return false;
    }
    let found = judge(text, None, Network::Mainnet);
    if found.valid {
        // Bare hex may be the hash of a commit.
        return !found.corrections.contains(&Correction::PrefixAdded);
    }
    if found.kind == Kind::TxHash {
        return false;
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return HEX_DIGITS.contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_alphanumeric());
    }
    is_base58(text)
        || is_bech32(text)
        || text.split_once(':').is_some_and(|(scheme, key)| is_scheme(scheme) && has_address_form(key))
}

/// Splits a text into the name of a chain and the address behind it: `eip155:10:0x...`, `oeth:0x...`.
pub(crate) fn prefixed(text: &str) -> Option<(&str, &str)> {
    let (chain, address) = text.rsplit_once(':')?;
    (chain.split(':').all(is_scheme) && has_address_form(address)).then_some((chain, address))
}

fn is_scheme(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_base58(text: &str) -> bool {
    let has = |is_it: fn(&u8) -> bool| text.as_bytes().iter().any(is_it);
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() && !matches!(byte, b'0' | b'O' | b'I' | b'l');
    BASE58.iter().any(|lengths| lengths.contains(&text.len()))
        && text.bytes().all(is_letter)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
}

fn is_bech32(text: &str) -> bool {
    let is_data = |byte: u8| {
        byte.is_ascii_digit() && byte != b'1' || byte.is_ascii_lowercase() && !matches!(byte, b'b' | b'i' | b'o')
    };
    text.split_once('1').is_some_and(|(part, data)| {
        (2..=10).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_lowercase())
            && data.len() >= BECH32_DATA
            && data.bytes().all(is_data)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_all_chains_have_the_form() {
        for text in [
            "0x94E78AE539d5c759Bbc12293c920d2c6255A9289",
            "0x94e78ae539d5c759bbc12293c920d2c6255a928",
            "0x94e78ae539d5c759bbc12293c920d2c6255a928g",
            "1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV",
            "1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCW",
            "bc1ql7gcshjghzzq79xn234q6zq80my2jktd7z6n2e",
            "TH5qganFSHrSMRJWL2wfXfy4uwyWJe8rHV",
            "ltc1qxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx2",
            "LVg2kJoFNg45Nbpy53h7Fe1wKyeXVRhMH9",
            "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T",
            "https://etherscan.io/address/0x94e78ae539d5c759bbc12293c920d2c6255a9289",
            "eip155:10:0x94e78ae539d5c759bbc12293c920d2c6255a9289",
        ] {
            assert!(has_address_form(text), "{text}");
        }
        for text in [
            "0x16f0b26a2b215994d36c79224acd1677b87cdb9724f88df0500da83ed781c7e3",
            "16f0b26a2b215994d36c79224acd1677b87cdb97",
            "0x1234",
            "Internationalization",
            "see the account 1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV",
            "550e8400-e29b-41d4-a716-446655440000",
            "https://example.org/a-page-that-is-about-something",
            "",
        ] {
            assert!(!has_address_form(text), "{text}");
        }
    }

    #[test]
    fn chains_stand_before_addresses() {
        let address = "0x94e78ae539d5c759bbc12293c920d2c6255a9289";
        assert_eq!(prefixed(&format!("eip155:10:{address}")), Some(("eip155:10", address)));
        assert_eq!(prefixed(&format!("oeth:{address}")), Some(("oeth", address)));
        assert_eq!(prefixed(address), None);
        assert_eq!(prefixed("https://etherscan.io/address/0x94e78ae539d5c759bbc12293c920d2c6255a9289"), None);
    }
}
