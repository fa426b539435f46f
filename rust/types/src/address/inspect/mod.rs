//! Judges a text that was meant as an address, and puts right what can be put right without guessing.
//!
//! Blanks, invisible characters, a URI around the address, a missing `0x`, the case of letters and the other notation
//! of the same bytes are corrected and said. A changed character is never applied: money can be lost by silent
//! correction. It only appears among the candidates, which are guesses.

mod clean;
mod guess;
mod read;

use serde::Serialize;

use super::{Address, Checksum, Reason};
use crate::hash::parse_hash;
use crate::{Chain, Family, Network, TxHash};

pub use guess::{Candidate, Guess, neighbours};
use read::Reading;

/// At most so many guesses are given.
pub const MAX_CANDIDATES: usize = 5;

/// The reading of a text as an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// The text as given.
    pub query: String,
    /// True if an address was found without guessing.
    pub valid: bool,
    /// The chain the address most likely belongs to.
    pub chain: Option<Chain>,
    /// The address, in canonical form.
    pub address: Option<Address>,
    /// True if the address differs from the text, a change of case included.
    pub corrected: bool,
    /// The corrections that were made.
    pub corrections: Vec<Correction>,
    /// The notation of the text.
    pub format: Option<Format>,
    /// The state of the checksum in the text. A failed one leaves an EVM address valid.
    pub checksum: Checksum,
    /// The kind of the text.
    pub kind: Kind,
    /// Every chain on which the form is valid.
    pub chains: Vec<Chain>,
    /// Guesses at what was meant, at most [`MAX_CANDIDATES`].
    pub candidates: Vec<Candidate>,
    /// The reason why there is no address.
    pub reason: Option<Reason>,
    /// The transaction hash, where the text is one.
    #[serde(skip)]
    pub tx_hash: Option<TxHash>,
}

/// Something that was put right without guessing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// Blanks around the address.
    Trimmed,
    /// Invisible characters, and blanks inside the address.
    InvisibleRemoved,
    /// A URI around the address (BIP 21, EIP-681, CAIP-10, a link to an explorer).
    UriStripped,
    /// ICAP, decoded.
    IcapDecoded,
    /// The `0x` that was missing.
    PrefixAdded,
    /// The case of letters.
    CaseFixed,
    /// Hex written as Base58Check.
    HexToBase58,
    /// Base58Check written as hex.
    Base58ToHex,
}

/// Notations of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// 40 hex digits, also out of ICAP.
    Hex,
    /// 40 hex digits whose case is the checksum of EIP-55.
    Eip55,
    /// Base58Check of Bitcoin.
    Base58check,
    /// Bech32.
    Bech32,
    /// Bech32m.
    Bech32m,
    /// Base58Check of TRON.
    TronBase58,
    /// Hex of TRON, with its prefix byte 41.
    TronHex,
}

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An address, or something that was clearly meant as one.
    Address,
    /// The hash of a transaction.
    TxHash,
    /// Neither.
    Unknown,
}

/// Judges a text.
///
/// `chain` restricts to one chain; only with it are 20 bytes of hex turned into a TRON address, or a TRON address into
/// EVM hex. `network` is the one whose Bitcoin addresses are valid. Takes time linear in the text, and about three
/// milliseconds for the guesses where the checksum fails; [`judge`] leaves these out.
///
/// ```
/// use headwater_types::Network;
/// use headwater_types::address::inspect::{Correction, inspect};
/// let found = inspect(" bitcoin:BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4?amount=1 ", None, Network::Mainnet);
/// assert_eq!(found.address.unwrap().to_string(), "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4");
/// assert_eq!(found.corrections, [Correction::Trimmed, Correction::UriStripped, Correction::CaseFixed]);
/// ```
#[must_use]
pub fn inspect(query: &str, chain: Option<Chain>, network: Network) -> Inspection {
    let cleaned = clean::clean(query);
    let readings = readings(&cleaned, chain, network);
    let mut seen = judged(query, chain, network, &cleaned, &readings);
    if seen.kind != Kind::TxHash && (!seen.valid || seen.checksum == Checksum::Failed) {
        seen.candidates = guess::with_checksum(&readings, &cleaned.text, chain.or(cleaned.chain));
        seen.candidates.truncate(MAX_CANDIDATES);
        // Among random texts one in a million is a changed character away from a checksum that holds.
        if !seen.candidates.is_empty() {
            seen.kind = Kind::Address;
        }
    }
    seen
}

/// The same as [`inspect`] without `candidates`.
#[must_use]
pub fn judge(query: &str, chain: Option<Chain>, network: Network) -> Inspection {
    let cleaned = clean::clean(query);
    let readings = readings(&cleaned, chain, network);
    judged(query, chain, network, &cleaned, &readings)
}

fn judged(
    query: &str,
    chain: Option<Chain>,
    network: Network,
    cleaned: &clean::CleanText,
    readings: &[Reading],
) -> Inspection {
    if let Some(digits) = hash_digits(&cleaned.text) {
        return transaction(query, digits, chain, cleaned);
    }
    match readings.iter().find_map(|reading| Some((reading, reading.outcome.ok()?))) {
        Some((reading, address)) => found(query, chain, cleaned, reading, address),
        None => not_found(query, chain, network, readings),
    }
}

fn found(
    query: &str,
    chain: Option<Chain>,
    cleaned: &clean::CleanText,
    reading: &Reading,
    address: Address,
) -> Inspection {
    let chains = chains_of(address.family());
    let chain = chain.or(cleaned.chain.filter(|hint| chains.contains(hint))).or_else(|| chains.first().copied());
    let corrected = address.to_string() != query;
    let mut corrections = cleaned.corrections.clone();
    corrections.extend(&reading.corrections);
    Inspection {
        valid: true,
        chain,
        address: Some(address),
        corrected,
        corrections,
        format: reading.format,
        checksum: reading.checksum,
        kind: Kind::Address,
        chains,
        reason: None,
        ..unknown(query)
    }
}

fn not_found(query: &str, chain: Option<Chain>, network: Network, readings: &[Reading]) -> Inspection {
    let rejection = readings.iter().find_map(|reading| match reading.outcome {
        Err(Reason::UnknownForm) | Ok(_) => None,
        Err(reason) => Some((reading, reason)),
    });
    let Some((reading, reason)) = rejection else {
        let elsewhere = match chain {
            Some(_) => judge(query, None, network).chains,
            None => Vec::new(),
        };
        return Inspection { chains: elsewhere, ..unknown(query) };
    };
    Inspection {
        format: reading.format,
        checksum: reading.checksum,
        kind: Kind::Address,
        reason: Some(reason),
        ..unknown(query)
    }
}

fn unknown(query: &str) -> Inspection {
    Inspection {
        query: query.to_owned(),
        valid: false,
        chain: None,
        address: None,
        corrected: false,
        corrections: Vec::new(),
        format: None,
        checksum: Checksum::None,
        kind: Kind::Unknown,
        chains: Vec::new(),
        candidates: Vec::new(),
        reason: Some(Reason::UnknownForm),
        tx_hash: None,
    }
}

fn readings(cleaned: &clean::CleanText, chain: Option<Chain>, network: Network) -> Vec<Reading> {
    let asked = chain.map(Chain::family);
    let families = [Family::Evm, Family::Tron, Family::Utxo];
    families
        .into_iter()
        .filter(|family| asked.or(cleaned.chain.map(Chain::family)).is_none_or(|only| only == *family))
        .map(|family| read::read(family, &cleaned.text, asked.is_some(), network))
        .collect()
}

/// The chains of a family, best known first: Ethereum, then by name.
fn chains_of(family: Family) -> Vec<Chain> {
    let mut chains: Vec<_> = Chain::all().filter(|chain| chain.family() == family).collect();
    chains.sort_by_key(|chain| (*chain != Chain::ETHEREUM, *chain));
    chains
}

/// The 64 hex digits of a text that is a hash.
fn hash_digits(text: &str) -> Option<&str> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    (digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(digits)
}

/// A hash: with `0x` as EVM chains write it, without as Bitcoin and TRON do.
fn transaction(query: &str, digits: &str, chain: Option<Chain>, cleaned: &clean::CleanText) -> Inspection {
    let families: &[Family] =
        if digits.len() == cleaned.text.len() { &[Family::Utxo, Family::Tron] } else { &[Family::Evm] };
    let chains: Vec<_> = families.iter().copied().flat_map(chains_of).collect();
    let only = chain.or(cleaned.chain);
    Inspection {
        kind: Kind::TxHash,
        chains: match only {
            Some(only) => vec![only],
            None => chains,
        },
        tx_hash: parse_hash(Family::Utxo, digits).ok().map(TxHash::new),
        ..unknown(query)
    }
}

#[cfg(test)]
mod tests;
