//! Guesses at what was meant: addresses one changed character away. They are shown, never applied.

use serde::Serialize;

use super::super::{Address, Checksum, Reason, base58, evm, icap, segwit, tron, utxo};
use super::read::Reading;
use super::{Format, chains_of, clean, readings};
use crate::{Chain, Family, Network};

/// A guess at what was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The chain.
    pub chain: Chain,
    /// The address.
    pub address: Address,
    /// The number of characters of the text differ.
    pub edits: u32,
    /// The reason why it is worth showing.
    pub reason: Guess,
}

/// The reason why a guess is worth showing.
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
/// Takes up to about three milliseconds.
#[must_use]
pub fn neighbours(query: &str, chain: Option<Chain>, network: Network) -> Vec<Candidate> {
    let cleaned = clean::clean(query);
    let readings = readings(&cleaned, chain, network);
    let chain = chain.or(cleaned.chain);
    let text = &cleaned.text;
    let reading = readings.iter().find(|reading| reading.outcome.is_ok());
    let reading = reading.or_else(|| readings.iter().find(|reading| reading.outcome != Err(Reason::UnknownForm)));
    if let Some((_, bytes)) = behind_typo(text)
        && let Some(reading) = readings.iter().find(|reading| reading.family != Family::Utxo)
    {
        return named(reading, chain, [as_family(reading, bytes)], 1, Guess::Checksum);
    }
    match reading {
        Some(reading) if matches!(reading.format, Some(Format::Hex | Format::Eip55)) && !icap::looks_like(text) => {
            let addresses = near_hex(text).into_iter().map(|(_, bytes)| as_family(reading, bytes));
            named(reading, chain, addresses, 1, Guess::Checksum)
        }
        Some(reading) if reading.outcome.is_ok() && reading.checksum != Checksum::Failed => Vec::new(),
        _ => with_checksum(&readings, text, chain),
    }
}

/// The guesses with which a checksum holds, of a text that is not a valid address in any of the readings, or is one whose
/// checksum fails.
pub(super) fn with_checksum(readings: &[Reading], text: &str, chain: Option<Chain>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for reading in readings {
        let one = |addresses: Vec<Address>| named(reading, chain, addresses, 1, Guess::Checksum);
        match (reading.family, reading.format) {
            (_, Some(Format::Hex | Format::Eip55)) if icap::looks_like(text) => {
                let text = text.to_ascii_uppercase();
                found.extend(one(changed(&text, 2, icap::ALPHABET, |text| icap::parse(text).ok().map(Address::Evm))));
            }
            (Family::Evm | Family::Tron, Some(Format::Hex | Format::Eip55)) | (Family::Evm, None) => {
                found.extend(one(near_eip55(reading, text)));
            }
            (Family::Utxo, _) if reading.outcome == Err(Reason::MixedCase) => {
                let upper_count = text.bytes().filter(u8::is_ascii_uppercase).count();
                let lower_count = text.bytes().filter(u8::is_ascii_lowercase).count();
                let edits = u32::try_from(upper_count.min(lower_count)).unwrap_or(u32::MAX);
                match parse_utxo(reading, &text.to_ascii_lowercase()) {
                    Some(address) => found.extend(named(reading, chain, [address], edits, Guess::Case)),
                    None => found.extend(one(near_segwit(reading, text))),
                }
            }
            (Family::Utxo, _) => found.extend(one(near_segwit(reading, text))),
            (Family::Evm | Family::Tron, _) => {}
        }
    }
    found.extend(near_base58(readings, text, chain));
    found
}

/// The shortest and the longest text of a Bitcoin address in Base58Check; TRON's have 34 characters.
const BASE58_LENGTHS: std::ops::RangeInclusive<usize> = 26..=35;

/// The neighbours of a Base58 text with which its checksum holds. Any character may be wrong, the first one included,
/// which separates the chains, and every one may change how many bytes the text stands for; so each change is decoded
/// once and then read for every family.
fn near_base58(readings: &[Reading], text: &str, chain: Option<Chain>) -> Vec<Candidate> {
    if !BASE58_LENGTHS.contains(&text.chars().count()) || icap::looks_like(text) {
        return Vec::new();
    }
    // EVM chains have such texts where a TRON address is converted, which was asked for then.
    let is_meant = |reading: &&Reading| match reading.family {
        Family::Evm => reading.format == Some(Format::TronBase58),
        Family::Tron | Family::Utxo => reading.outcome.is_err(),
    };
    let meant: Vec<&Reading> = readings.iter().filter(is_meant).collect();
    if meant.is_empty() {
        return Vec::new();
    }
    let read = |reading: &Reading, tried: &str| match reading.family {
        Family::Utxo => parse_utxo(reading, tried),
        Family::Evm | Family::Tron => tron::parse(tried).ok().map(|bytes| as_family(reading, bytes)),
    };
    let found = changed(text, 0, base58::ALPHABET, |tried| {
        base58::decode(tried, base58::ADDRESS_LENGTH).ok()?;
        (0..meant.len()).find_map(|number| Some((number, read(meant[number], tried)?)))
    });
    found.into_iter().flat_map(|(number, address)| named(meant[number], chain, [address], 1, Guess::Checksum)).collect()
}

/// The neighbours of a segwit text with which its checksum holds: changed in its data, or in what is before it.
fn near_segwit(reading: &Reading, text: &str) -> Vec<Address> {
    let lower = text.to_ascii_lowercase();
    let start = format!("{}1", utxo::human_part(reading.network));
    let Some(data) = lower.get(start.len()..) else { return Vec::new() };
    match lower.chars().zip(start.chars()).filter(|(given, meant)| given != meant).count() {
        0 => changed(&lower, start.len(), segwit::ALPHABET, |text| parse_utxo(reading, text)),
        1 => parse_utxo(reading, &format!("{start}{data}")).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The 40 hex digits behind a mistyped `0x`, such as `Ox`, and their bytes.
fn behind_typo(text: &str) -> Option<(&str, [u8; 20])> {
    let (prefix, digits) = text.split_at_checked(text.len().checked_sub(40)?)?;
    let prefix: Vec<char> = prefix.chars().collect();
    match prefix[..] {
        ['0', 'x' | 'X'] => None,
        [_, 'x' | 'X'] | ['0', _] => Some((digits, evm::parse_digits(digits).ok()?)),
        _ => None,
    }
}

fn parse_utxo(reading: &Reading, text: &str) -> Option<Address> {
    utxo::parse(reading.network, text).ok().map(Address::Utxo)
}

fn as_family(reading: &Reading, bytes: [u8; 20]) -> Address {
    match reading.family {
        Family::Tron => Address::Tron(bytes),
        Family::Evm | Family::Utxo => Address::Evm(bytes),
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

/// Everything that `parse` finds in the text with one character changed, from `start` on, by place and alphabet.
fn changed<T: PartialEq>(text: &str, start: usize, alphabet: &str, parse: impl Fn(&str) -> Option<T>) -> Vec<T> {
    let places = places_to_change(text, start, alphabet);
    let mut found: Vec<T> = Vec::new();
    for (place, given) in places {
        for character in alphabet.chars().filter(|character| *character != given) {
            if let Some(address) =
                parse(&with_character(text, place, character)).filter(|address| !found.contains(address))
            {
                found.push(address);
            }
        }
    }
    found
}

/// The text with another character at a place.
fn with_character(text: &str, place: usize, character: char) -> String {
    text.char_indices().map(|(at, given)| if at == place { character } else { given }).collect()
}

/// Returns where a single change can help: everywhere, or only at the one character that is foreign to the alphabet;
/// nowhere in a text that is longer than any address.
fn places_to_change(text: &str, start: usize, alphabet: &str) -> Vec<(usize, char)> {
    /// Bytes of the longest text that is looked at: Bech32 has at most 90 characters, and one may be foreign.
    const LONGEST: usize = 93;
    if text.len() > LONGEST {
        return Vec::new();
    }
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
            if let Ok(bytes) = evm::parse_digits(&with_character(&digits, place, digit)) {
                found.push((place, bytes));
            }
        }
    }
    found
}

/// The neighbours of a mixed-case hex text for which the case of all other letters is right.
fn near_eip55(reading: &Reading, text: &str) -> Vec<Address> {
    if let Some((digits, bytes)) = behind_typo(text) {
        let is_right = evm::checksum_of(digits, &bytes) == Checksum::Ok;
        return is_right.then(|| as_family(reading, bytes)).into_iter().collect();
    }
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
            // A foreign character may be longer than one byte; what is behind it is then counted from the end.
            right[..*place] == given[..*place] && given.ends_with(&right[place + 1..])
        })
        .map(|(_, bytes)| as_family(reading, bytes))
        .collect()
}

fn hex_part(text: &str) -> &str {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text)
}
