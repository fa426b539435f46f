//! Guesses at what was meant: addresses one changed character away. They are shown, never applied.

use serde::Serialize;

use super::super::{Address, Checksum, Reason, base58, evm, icap, segwit, tron, utxo};
use super::read::Reading;
use super::{Format, chains_of, clean, readings};
use crate::{Chain, Network};

/// A guess at what was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The chain.
    pub chain: Chain,
    /// The address.
    pub address: Address,
    /// How many characters of the text differ.
    pub edits: u32,
    /// Why it is worth showing.
    pub reason: Guess,
}

/// Why a guess is worth showing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Guess {
    /// The checksum holds with it.
    Checksum,
    /// The checksum holds once all letters have one case.
    Case,
    /// It is an address that was seen on the chain.
    Active,
}

const HEX: &str = "0123456789abcdef";

/// Every address that one changed character makes of a text, for callers that know which addresses exist.
///
/// Where the notation has a checksum that must hold, these are the few with which it holds; EVM hex gives all 600.
/// Takes up to about two milliseconds.
#[must_use]
pub fn neighbours(query: &str, chain: Option<Chain>, network: Network) -> Vec<Candidate> {
    let cleaned = clean::clean(query);
    let readings = readings(&cleaned, chain, network);
    let reading = readings.iter().find(|reading| reading.outcome.is_ok());
    let reading = reading.or_else(|| readings.iter().find(|reading| reading.outcome != Err(Reason::UnknownForm)));
    let chain = chain.or(cleaned.chain);
    reading.map_or_else(Vec::new, |reading| match reading.format {
        Some(Format::Hex | Format::Eip55) if !icap::looks_like(&cleaned.text) => {
            let addresses = near_hex(&cleaned.text).into_iter().map(|(_, bytes)| as_family(reading, bytes));
            named(reading, chain, addresses, 1, Guess::Checksum)
        }
        _ => with_checksum(reading, &cleaned.text, chain),
    })
}

/// The guesses with which a checksum holds.
pub(super) fn with_checksum(reading: &Reading, text: &str, chain: Option<Chain>) -> Vec<Candidate> {
    let broken = matches!(reading.outcome, Err(Reason::Checksum | Reason::Alphabet | Reason::MixedCase))
        || reading.checksum == Checksum::Failed;
    let Some(format) = reading.format.filter(|_| broken) else {
        return Vec::new();
    };
    let one = |addresses: Vec<Address>| named(reading, chain, addresses, 1, Guess::Checksum);
    match format {
        Format::Hex | Format::Eip55 if icap::looks_like(text) => {
            let text = text.to_ascii_uppercase();
            one(changed(&text, 2, icap::ALPHABET, |text| icap::parse(text).ok().map(Address::Evm)))
        }
        Format::Hex | Format::Eip55 => one(near_eip55(reading, text)),
        Format::TronBase58 => one(changed(text, 1, base58::ALPHABET, |text| {
            tron::parse(text).ok().map(|bytes| as_family(reading, bytes))
        })),
        Format::Base58check => one(changed(text, 0, base58::ALPHABET, |text| parse_utxo(reading, text))),
        Format::Bech32 | Format::Bech32m => {
            let lower = text.to_ascii_lowercase();
            if reading.outcome == Err(Reason::MixedCase) {
                let upper_count = text.bytes().filter(u8::is_ascii_uppercase).count();
                let lower_count = text.bytes().filter(u8::is_ascii_lowercase).count();
                let edits = u32::try_from(upper_count.min(lower_count)).unwrap_or(u32::MAX);
                return named(reading, chain, parse_utxo(reading, &lower), edits, Guess::Case);
            }
            let data = lower.rfind('1').map_or(0, |separator| separator + 1);
            one(changed(&lower, data, segwit::ALPHABET, |text| parse_utxo(reading, text)))
        }
        Format::TronHex => Vec::new(),
    }
}

fn parse_utxo(reading: &Reading, text: &str) -> Option<Address> {
    utxo::parse(reading.network, text).ok().map(Address::Utxo)
}

fn as_family(reading: &Reading, bytes: [u8; 20]) -> Address {
    match reading.family {
        crate::Family::Tron => Address::Tron(bytes),
        crate::Family::Evm | crate::Family::Utxo => Address::Evm(bytes),
    }
}

fn named(
    reading: &Reading,
    chain: Option<Chain>,
    addresses: impl IntoIterator<Item = Address>,
    edits: u32,
    reason: Guess,
) -> Vec<Candidate> {
    let chains = chains_of(reading.family);
    let Some(chain) = chain.filter(|chain| chains.contains(chain)).or_else(|| chains.first().copied()) else {
        return Vec::new();
    };
    addresses.into_iter().map(|address| Candidate { chain, address, edits, reason }).collect()
}

/// Every address that `parse` finds in the text with one character changed, from `start` on, by place and alphabet.
fn changed(text: &str, start: usize, alphabet: &str, parse: impl Fn(&str) -> Option<Address>) -> Vec<Address> {
    let places = places_to_change(text, start, alphabet);
    let mut found: Vec<Address> = Vec::new();
    for (place, given) in places {
        for character in alphabet.chars().filter(|character| *character != given) {
            let tried = format!("{}{character}{}", &text[..place], &text[place + given.len_utf8()..]);
            if let Some(address) = parse(&tried).filter(|address| !found.contains(address)) {
                found.push(address);
            }
        }
    }
    found
}

/// Where a single change can help: everywhere, or only at the one character that is foreign to the alphabet.
fn places_to_change(text: &str, start: usize, alphabet: &str) -> Vec<(usize, char)> {
    let all = || text.char_indices().filter(|(place, _)| *place >= start);
    let foreign: Vec<_> = all().filter(|(_, character)| !alphabet.contains(*character)).collect();
    match foreign.len() {
        0 => all().collect(),
        1 => foreign,
        _ => Vec::new(),
    }
}

/// Every 20 bytes that differ from a hex text in one digit, with the place of the digit.
fn near_hex(text: &str) -> Vec<(usize, [u8; 20])> {
    let digits = hex_part(text).to_ascii_lowercase();
    let mut found = Vec::new();
    for (place, given) in places_to_change(&digits, 0, HEX) {
        for digit in HEX.chars().filter(|digit| *digit != given) {
            let tried = format!("{}{digit}{}", &digits[..place], &digits[place + given.len_utf8()..]);
            if let Ok(bytes) = evm::parse_digits(&tried) {
                found.push((place, bytes));
            }
        }
    }
    found
}

/// The neighbours of a mixed-case hex text for which the case of all other letters is right.
fn near_eip55(reading: &Reading, text: &str) -> Vec<Address> {
    let given = hex_part(text).as_bytes();
    let mixed = given.iter().any(u8::is_ascii_lowercase) && given.iter().any(u8::is_ascii_uppercase);
    if !mixed {
        return Vec::new();
    }
    near_hex(text)
        .into_iter()
        .filter(|(place, bytes)| {
            let right = evm::checksum_digits(bytes);
            let right = right.as_bytes();
            // A foreign character may be longer than one byte; what stands behind it is then counted from the end.
            right[..*place] == given[..*place] && given.ends_with(&right[place + 1..])
        })
        .map(|(_, bytes)| as_family(reading, bytes))
        .collect()
}

fn hex_part(text: &str) -> &str {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text)
}
