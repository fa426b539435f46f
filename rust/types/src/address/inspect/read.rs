//! Reads a clean text as an address of one family, in every notation of the family.

use super::super::{Address, Checksum, Reason, evm, icap, segwit, tron, utxo};
use super::{Correction, Format};
use crate::{Family, Network};

/// A text read as an address of one family.
pub(super) struct Reading {
    pub(super) family: Family,
    pub(super) network: Network,
    pub(super) outcome: Result<Address, Reason>,
    pub(super) format: Option<Format>,
    pub(super) checksum: Checksum,
    pub(super) corrections: Vec<Correction>,
}

/// `asked`: the caller named the chain, so that the notation of the other account family is converted too.
pub(super) fn read(family: Family, text: &str, asked: bool, network: Network) -> Reading {
    let blank = Reading {
        family,
        network,
        outcome: Err(Reason::UnknownForm),
        format: None,
        checksum: Checksum::None,
        corrections: Vec::new(),
    };
    match family {
        Family::Evm => read_evm(text, asked, blank),
        Family::Tron => read_tron(text, asked, blank),
        Family::Utxo => read_utxo(text, network),
    }
}

fn read_evm(text: &str, asked: bool, blank: Reading) -> Reading {
    if icap::looks_like(text) {
        let outcome = icap::parse(text);
        return Reading {
            format: Some(Format::Hex),
            checksum: checksum_by(outcome.err()),
            corrections: vec![Correction::IcapDecoded],
            outcome: outcome.map(Address::Evm),
            ..blank
        };
    }
    if asked && tron::looks_like_base58(text) {
        let outcome = tron::parse(text);
        return Reading {
            format: Some(Format::TronBase58),
            checksum: checksum_by(outcome.err()),
            corrections: vec![Correction::Base58ToHex],
            outcome: outcome.map(Address::Evm),
            ..blank
        };
    }
    read_hex(text, blank).unwrap_or_else(|blank| blank)
}

fn read_tron(text: &str, asked: bool, blank: Reading) -> Reading {
    let lower = text.to_ascii_lowercase();
    if tron::hex_digits(&lower).is_some() {
        return Reading {
            outcome: tron::parse(&lower).map(Address::Tron),
            format: Some(Format::TronHex),
            corrections: vec![Correction::HexToBase58],
            ..blank
        };
    }
    let blank = if asked {
        match read_hex(text, blank) {
            Ok(reading) => {
                let outcome = reading.outcome.map(|address| match address {
                    Address::Evm(bytes) | Address::Tron(bytes) => Address::Tron(bytes),
                    Address::Utxo(_) => address,
                });
                return Reading { outcome, corrections: vec![Correction::HexToBase58], ..reading };
            }
            Err(blank) => blank,
        }
    } else {
        blank
    };
    let outcome = tron::parse(text);
    Reading {
        format: (outcome != Err(Reason::UnknownForm)).then_some(Format::TronBase58),
        checksum: checksum_by(outcome.err()),
        outcome: outcome.map(Address::Tron),
        ..blank
    }
}

/// Hex of 20 bytes, with `0x`, with `0X`, or with nothing before it; gives the blank back when the text is none.
fn read_hex(text: &str, blank: Reading) -> Result<Reading, Reading> {
    const ABOUT_AN_ADDRESS: std::ops::RangeInclusive<usize> = 36..=44;
    let prefixed = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digits = prefixed.unwrap_or(text);
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if prefixed.is_none() && !(is_hex && ABOUT_AN_ADDRESS.contains(&digits.len())) {
        return Err(blank);
    }
    let parsed = evm::parse_digits(digits);
    let checksum = parsed.map_or(Checksum::None, |bytes| evm::checksum_of(digits, &bytes));
    let mut corrections = Vec::new();
    if prefixed.is_none() {
        corrections.push(Correction::PrefixAdded);
    }
    if text.starts_with("0X") || digits.bytes().any(|byte| byte.is_ascii_uppercase()) {
        corrections.push(Correction::CaseFixed);
    }
    let format = if checksum == Checksum::Ok { Format::Eip55 } else { Format::Hex };
    Ok(Reading { outcome: parsed.map(Address::Evm), format: Some(format), checksum, corrections, ..blank })
}

fn read_utxo(text: &str, network: Network) -> Reading {
    let outcome = utxo::parse(network, text);
    let reason = outcome.as_ref().err().copied();
    let corrections = match &outcome {
        Ok(address) if address.to_string() != text => vec![Correction::CaseFixed],
        _ => Vec::new(),
    };
    Reading {
        family: Family::Utxo,
        network,
        format: (reason != Some(Reason::UnknownForm)).then(|| format_of(text)).flatten(),
        checksum: checksum_by(reason),
        outcome: outcome.map(Address::Utxo),
        corrections,
    }
}

fn format_of(text: &str) -> Option<Format> {
    if utxo::segwit_human_part(text).is_none() {
        return (!segwit::has_checksum(text)).then_some(Format::Base58check);
    }
    let (_, data) = text.rsplit_once('1')?;
    Some(if data.starts_with(['q', 'Q']) { Format::Bech32 } else { Format::Bech32m })
}

/// Returns what is known of the checksum of a notation that always has one: whatever is judged after it shows that it
/// held.
fn checksum_by(failure: Option<Reason>) -> Checksum {
    match failure {
        None | Some(Reason::NetworkMismatch | Reason::Version | Reason::Padding) => Checksum::Ok,
        Some(Reason::Checksum) => Checksum::Failed,
        Some(Reason::Length | Reason::Alphabet | Reason::MixedCase | Reason::UnknownForm) => Checksum::None,
    }
}
