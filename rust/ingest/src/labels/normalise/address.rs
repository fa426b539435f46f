//! From the text of a cell to addresses, by their form.

use headwater_types::address::inspect::{Format, judge};
use headwater_types::address::{Checksum, Reason, eip55};
use headwater_types::{Address, Chain, Network};

use super::look_alikes::plain_letters;
use crate::networks::{self, Stated, of_coin_word, of_host};

/// The content of a cell without blanks and remarks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// The text, as far as it was meant as an address.
    pub(super) text: String,
    /// Its kind.
    pub(super) reading: Reading,
    /// The network that a prefix or a link around it names.
    pub(super) network: Option<Prefix>,
}

/// A mark before an address, or around it, that names its network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) stated: Stated,
    /// As it is written.
    pub(super) text: String,
}

/// The result of reading a text as an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// An address of a chain that is held.
    Address(Address, Care),
    /// The form of one, with a checksum that does not match.
    BadChecksum,
    /// None.
    Malformed,
}

/// Warnings about an address that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// Nothing.
    None,
    /// Its mixed case contradicts EIP-55.
    Eip55,
    /// Letters that only look like those of an address were replaced.
    Repaired,
}

/// Cells without an address.
const PLACEHOLDERS: [&str; 11] =
    ["", "null", "none", "nil", "nan", "na", "n/a", "all", "unknown", "undefined", "not available"];

/// Texts shorter than this beside an address are remarks.
const SHORTEST: usize = 20;

/// The addresses of a cell, in order; empty where it is blank or a placeholder.
///
/// Several addresses are divided by blanks or marks. What stands in brackets behind an address is a remark. Nothing is cut
/// or padded.
pub(super) fn read_cell(cell: &str) -> Vec<Piece> {
    let cell = cell.trim();
    if let Some(reading) = canonical(cell) {
        return vec![Piece { text: cell.to_owned(), reading, network: None }];
    }
    let outside = without_brackets(cell);
    let mut pieces = pieces_of(&outside);
    if pieces.is_empty() && !is_placeholder(cell) {
        pieces = pieces_of(cell);
    }
    if pieces.len() > 1 {
        let is_meant = |piece: &Piece| piece.text.len() >= SHORTEST || matches!(piece.reading, Reading::Address(..));
        pieces.retain(is_meant);
        if pieces.is_empty() {
            pieces.push(Piece { text: cell.to_owned(), reading: Reading::Malformed, network: None });
        }
    }
    pieces
}

fn is_placeholder(text: &str) -> bool {
    let bare = text.trim_matches(|letter: char| !letter.is_alphanumeric());
    PLACEHOLDERS.iter().any(|placeholder| bare.eq_ignore_ascii_case(placeholder))
}

/// The text without what stands in brackets, where that leaves anything.
fn without_brackets(text: &str) -> String {
    let mut depth = 0_u32;
    text.chars()
        .filter(|letter| match letter {
            '(' | '（' => {
                depth += 1;
                false
            }
            ')' | '）' => {
                depth = depth.saturating_sub(1);
                false
            }
            _ => depth == 0,
        })
        .collect()
}

fn pieces_of(text: &str) -> Vec<Piece> {
    if is_placeholder(text) {
        return Vec::new();
    }
    let is_divider = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, ',' | ';' | '|' | '"' | '\'' | '[' | ']' | '{' | '}' | '<' | '>' | '(' | ')')
    };
    let mut pieces = Vec::new();
    for part in text.split(is_divider) {
        let part = part.trim_matches(|letter: char| !letter.is_alphanumeric());
        if !is_placeholder(part) {
            read_piece(part, &mut pieces);
        }
    }
    pieces
}

fn read_piece(text: &str, pieces: &mut Vec<Piece>) {
    let piece = |reading, network| Piece { text: text.to_owned(), reading, network };
    if let Some(reading) = canonical(text) {
        pieces.push(piece(reading, None));
        return;
    }
    let (network, bare) = without_network(text);
    let reading = canonical(bare).unwrap_or_else(|| read(bare));
    if reading == Reading::Malformed
        && let Some(parts) = unglued(text)
    {
        pieces.extend(parts.into_iter().map(|(text, address)| Piece {
            text: text.to_owned(),
            reading: Reading::Address(address, Care::None),
            network: None,
        }));
        return;
    }
    pieces.push(piece(reading, network));
}

/// Returns the network of a prefix or a link, and the rest of the text: CAIP-10, EIP-3770 (`oeth:0x...`), EIP-681, BIP 21
/// and links to explorers.
fn without_network(text: &str) -> (Option<Prefix>, &str) {
    let prefix = |stated, text: &str| Some(Prefix { stated, text: text.to_owned() });
    let (is_link, link) = text.split_once("://").map_or((false, text), |(_, link)| (true, link));
    let (host, path) = link.split_once('/').unwrap_or((link, ""));
    let of_path = || path.split('/').filter(|_| is_link).find_map(of_coin_word);
    if let Some(network) = of_host(host).or_else(of_path) {
        // The address is found inside the link.
        return (prefix(Stated::One(network), host), text);
    }
    let Some((scheme, rest)) = text.split_once(':').filter(|_| !is_link) else { return (None, text) };
    if let Some((reference, address)) = rest.split_once(':') {
        let id = format!("{scheme}:{reference}");
        return (prefix(networks::read_cell(&id), &id), address);
    }
    let Some(network) = of_coin_word(scheme) else { return (None, text) };
    let rest = rest.strip_prefix("pay-").unwrap_or(rest);
    let is_end = |letter: char| matches!(letter, '?' | '/' | '@' | '#');
    let (address, behind) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
    let id = behind.strip_prefix('@').and_then(|behind| behind.split(is_end).next());
    let stated = id.map_or(Stated::One(network), |id| networks::read_cell(&format!("eip155:{id}")));
    (prefix(stated, scheme), address)
}

/// An address in the form that its chain prints, which most cells have.
fn canonical(text: &str) -> Option<Reading> {
    let parse = |chain| Address::parse(chain, text).ok();
    match text.as_bytes() {
        [b'0', b'x', ..] if text.len() == 42 => {
            let care = if eip55(text) == Checksum::Failed { Care::Eip55 } else { Care::None };
            parse(Chain::ETHEREUM).map(|address| Reading::Address(address, care))
        }
        [b'T', ..] if text.len() == 34 => parse(Chain::TRON).map(|address| Reading::Address(address, Care::None)),
        [b'1' | b'3', ..] | [b'b' | b'B', b'c' | b'C', b'1', ..] => {
            parse(Chain::BITCOIN).map(|address| Reading::Address(address, Care::None))
        }
        _ => None,
    }
}

fn read(text: &str) -> Reading {
    let found = judge(text, None, Network::Mainnet);
    if let Some(address) = found.address {
        let care = if found.checksum == Checksum::Failed { Care::Eip55 } else { Care::None };
        return Reading::Address(address, care);
    }
    let plain = plain_letters(text);
    if plain != text {
        let repaired = judge(&plain, None, Network::Mainnet);
        return match repaired.address {
            Some(address) if repaired.checksum == Checksum::Ok => Reading::Address(address, Care::Repaired),
            Some(_) => Reading::Malformed,
            None => unread(repaired.reason, repaired.format),
        };
    }
    unread(found.reason, found.format)
}

/// Classifies a text without an address. Characters outside the alphabet break a checksum; they do not lengthen anything.
fn unread(reason: Option<Reason>, format: Option<Format>) -> Reading {
    let has_checksum = !matches!(format, None | Some(Format::Hex | Format::Eip55 | Format::TronHex));
    match reason {
        Some(Reason::Checksum | Reason::MixedCase | Reason::Padding) => Reading::BadChecksum,
        Some(Reason::Alphabet) if has_checksum => Reading::BadChecksum,
        Some(Reason::Alphabet | Reason::Length | Reason::Version | Reason::NetworkMismatch | Reason::UnknownForm)
        | None => Reading::Malformed,
    }
}

/// The longest text that is searched for addresses without anything between them.
const LONGEST_GLUED: usize = 4_096;

/// The addresses of a text that prints them without anything between them: only where every part has a checksum that
/// matches.
pub(super) fn unglued(text: &str) -> Option<Vec<(&str, Address)>> {
    if text.len() > LONGEST_GLUED || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let mut dead = vec![false; text.len() + 1];
    let mut parts = Vec::new();
    (split_from(text, 0, &mut dead, &mut parts) && parts.len() > 1).then_some(parts)
}

/// Splits the rest of a text; `dead` are places from which no split was found.
fn split_from<'t>(text: &'t str, start: usize, dead: &mut [bool], parts: &mut Vec<(&'t str, Address)>) -> bool {
    if start == text.len() {
        return true;
    }
    if dead[start] {
        return false;
    }
    for length in lengths(text.get(start..).unwrap_or_default()) {
        let Some(part) = text.get(start..start + length) else { continue };
        let Some(address) = checked(part) else { continue };
        parts.push((part, address));
        if split_from(text, start + length, dead, parts) {
            return true;
        }
        parts.pop();
    }
    dead[start] = true;
    false
}

/// Returns the maximum length of an address with this beginning.
fn lengths(rest: &str) -> std::ops::Range<usize> {
    match rest.as_bytes() {
        [b'0', b'x', ..] => 42..43,
        [b'T', ..] => 34..35,
        [b'1' | b'3', ..] => 26..36,
        [b'b', b'c', b'1', ..] => 42..63,
        // No address begins so.
        _ => 0..0,
    }
}

/// An address whose checksum matches.
fn checked(part: &str) -> Option<Address> {
    match canonical(part)? {
        Reading::Address(Address::Evm(_), _) if eip55(part) != Checksum::Ok => None,
        Reading::Address(address, _) => Some(address),
        Reading::BadChecksum | Reading::Malformed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRON: &str = "TMAT4gCKShmGPXFseYAVdJXBKcLguF2BHx";
    const EVM: &str = "0xD90671cFb674F0aD27FF01B0a693db133961978e";
    const P2PKH: &str = "1QHVKfhTPgvLfV3MwF1RR14EQb3EPpuxJg";
    const SEGWIT: &str = "bc1qnmqyp5j6ql2ljdaljtaqwp37ux3dey66mf4wn6";

    /// The addresses of a cell, or why there is none.
    fn cell(text: &str) -> Vec<String> {
        let shown = |piece: Piece| match piece.reading {
            Reading::Address(address, Care::None) => address.to_string(),
            Reading::Address(address, care) => format!("{address} {care:?}"),
            Reading::BadChecksum => "bad".to_owned(),
            Reading::Malformed => "malformed".to_owned(),
        };
        read_cell(text).into_iter().map(shown).collect()
    }

    #[test]
    fn cell_surroundings_of_an_address_go() {
        for text in [
            format!(" {TRON}\t"),
            format!("{TRON} (Address tag 1234)*"),
            format!("{TRON} (AMP ID 1)"),
            format!("\u{feff}{TRON}\u{200b}"),
            format!("({TRON})"),
            format!("{TRON}."),
            format!("'{TRON}'"),
            format!("USDT {TRON}"),
            "TMAT4gCKShmGPXFse\u{200b}YAVdJXBKcLguF2BHx".to_owned(),
        ] {
            assert_eq!(cell(&text), [TRON], "{text:?}");
        }
    }

    #[test]
    fn cell_of_several_addresses_is_split() {
        let evm = EVM.to_ascii_lowercase();
        for text in [
            format!("{EVM}, {TRON}"),
            format!("{EVM} {TRON}"),
            format!("{EVM};{TRON}"),
            format!("{EVM}\n{TRON}"),
            format!("[\"{EVM}\", \"{TRON}\"]"),
            format!("{EVM} (a, b) {TRON} (c)"),
        ] {
            assert_eq!(cell(&text), [evm.as_str(), TRON], "{text:?}");
        }
    }

    #[test]
    fn cell_of_glued_addresses_is_split_where_all_checksums_hold() {
        let evm = EVM.to_ascii_lowercase();
        assert_eq!(cell(&format!("{P2PKH}{SEGWIT}{TRON}{EVM}")), [P2PKH, SEGWIT, TRON, &evm]);
        assert_eq!(cell(&format!("{P2PKH}{SEGWIT}x")), ["malformed"]);
        // Without mixed case nothing says that 42 characters are an address.
        assert_eq!(cell(&format!("{evm}{P2PKH}")), ["malformed"]);
        assert_eq!(cell(&format!("{P2PKH}{P2PKH}")), [P2PKH, P2PKH]);
        assert_eq!(cell(&"1".repeat(10_000)), ["malformed"]);
        assert_eq!(cell(&"1".repeat(4_000)), ["malformed"]);
    }

    #[test]
    fn cell_placeholders_are_no_address() {
        for text in ["", " ", "-", "--", "null", "NULL", "None", "(ALL)", "(all)", "n/a", "?", "\u{200b}"] {
            assert_eq!(cell(text), [""; 0], "{text:?}");
        }
    }

    #[test]
    fn cell_of_wrong_length_is_malformed() {
        for text in [
            "0xef69ab8560fee4c845e0556b92e3a485383e3c221",
            "0x8966c62dacdddaf1ef913d5af17bbe74e4772",
            "0xc157cf13f62710235d300da1dddd90b380a117d4m",
            "00x72504c590ee83f5f0cb2d16237a622712a6af373",
            "0x1234",
            "123456789012",
            "see the account 123456789012",
            "0x16f0b26a2b215994d36c79224acd1677b87cdb9724f88df0500da83ed781c7e3",
        ] {
            assert_eq!(cell(text), ["malformed"], "{text}");
        }
    }

    #[test]
    fn cell_with_wrong_checksum_has_no_address_except_eip55() {
        assert_eq!(cell("13xrb1rsxbssbqosundrbxqq1nhrgeeqq5"), ["bad"]);
        assert_eq!(cell("TPGx582E43bbmagtZqJUTYE73CveaZmVk2"), ["bad"]);
        assert_eq!(cell("bc1qnmqyp5j6ql2ljdaljtaqwp37ux3dey66mf4wn7"), ["bad"]);
        // 0, O, I and l are no letters of Base58.
        assert_eq!(cell("1QHVKfhTPgvLfV3MwF1RR14EQb3EPpuxJl"), ["bad"]);
        let wrong = "0x71DfF8D948f1C1727e7CFdbbF934e707b84765C5";
        assert_eq!(cell(wrong), [format!("{} Eip55", wrong.to_ascii_lowercase())]);
        assert_eq!(cell(&EVM.to_ascii_uppercase().replace("0X", "0x")), [EVM.to_ascii_lowercase()]);
    }

    #[test]
    fn cell_other_notations_are_read() {
        assert_eq!(cell(&SEGWIT.to_ascii_uppercase()), [SEGWIT]);
        let hex = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c";
        for text in [hex.to_owned(), format!("0x{hex}"), format!("0x{}", hex.to_ascii_uppercase())] {
            assert_eq!(cell(&text), ["TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"], "{text}");
        }
        let network = |text: &str| read_cell(text).remove(0).network.map(|prefix| prefix.stated);
        assert_eq!(network(&format!("eip155:56:{EVM}")), Some(networks::read_cell("bsc")));
        assert_eq!(network(EVM), None);
    }

    #[test]
    fn cell_look_alikes_are_repaired_where_the_checksum_holds() {
        assert_eq!(cell("TPНXAYWa2dSFx8Budif1gFHc7CEABpnYsv"), ["TPHXAYWa2dSFx8Budif1gFHc7CEABpnYsv Repaired"]);
        assert_eq!(cell("TK1TVQvUMSvbZ2Y9kRZ9o9RНQfc1WjZCV2"), ["bad"]);
        // Cyrillic а: with mixed case EIP-55 decides, without it nothing does.
        let mixed = EVM.replacen('a', "а", 1);
        assert_eq!(cell(&mixed), [format!("{} Repaired", EVM.to_ascii_lowercase())]);
        assert_eq!(cell(&mixed.to_lowercase()), ["malformed"]);
    }
}
