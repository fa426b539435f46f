//! Takes from a text what surrounds an address: blanks, invisible characters, a URI.

use super::Correction;
use crate::Chain;

/// A text without what surrounds an address.
pub(super) struct CleanText {
    pub(super) text: String,
    pub(super) corrections: Vec<Correction>,
    /// The chain that the URI names.
    pub(super) chain: Option<Chain>,
}

pub(super) fn clean(query: &str) -> CleanText {
    let mut corrections = Vec::new();
    let seen: String = query.chars().filter(|character| !is_invisible(*character)).collect();
    let trimmed = seen.trim();
    let text: String = trimmed.chars().filter(|character| !character.is_whitespace()).collect();
    if trimmed.len() != seen.len() {
        corrections.push(Correction::Trimmed);
    }
    if seen.len() != query.len() || text.len() != trimmed.len() {
        corrections.push(Correction::InvisibleRemoved);
    }
    match strip_uri(&text) {
        Some((body, chain)) => {
            corrections.push(Correction::UriStripped);
            CleanText { text: body.to_owned(), corrections, chain }
        }
        None => CleanText { text, corrections, chain: None },
    }
}

/// Characters that nobody sees, but copying brings along: format characters (Unicode category Cf and its kin) and
/// control characters that are not blanks.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        || (character.is_control() && !character.is_whitespace())
}

/// Returns what a URI holds, and the chain that it names: BIP 21, EIP-681, EIP-3770, CAIP-10 or a link to an explorer.
/// `None` when the text is not a URI that is known here: an address behind the scheme of another coin is not a Bitcoin
/// address.
fn strip_uri(text: &str) -> Option<(&str, Option<Chain>)> {
    if let Some(found) = strip_link(text) {
        return Some(found);
    }
    let (scheme, rest) = text.split_once(':')?;
    let scheme = scheme.to_ascii_lowercase();
    match scheme.as_str() {
        "iban" => Some((body(rest), Some(Chain::ETHEREUM))),
        "eip155" | "bip122" => caip10(&scheme, rest),
        "tron" if rest.contains(':') => caip10(&scheme, rest),
        name => {
            let chain: Chain = name.parse().ok()?;
            Some((body(rest), eip681_chain(rest).or(Some(chain))))
        }
    }
}

/// Explorers of one chain, by host.
const EXPLORERS: &[(&str, Chain)] = &[
    ("etherscan.io", Chain::ETHEREUM),
    ("ethplorer.io", Chain::ETHEREUM),
    ("eth.blockscout.com", Chain::ETHEREUM),
    ("etherchain.org", Chain::ETHEREUM),
    ("bscscan.com", Chain::BSC),
    ("tronscan.org", Chain::TRON),
    ("tronscan.io", Chain::TRON),
    ("mempool.space", Chain::BITCOIN),
    ("blockstream.info", Chain::BITCOIN),
    ("blockexplorer.com", Chain::BITCOIN),
    ("blockchain.info", Chain::BITCOIN),
    ("btcscan.org", Chain::BITCOIN),
];
/// Explorers of several chains, which name one in the path: `blockchair.com/bitcoin/address/...`.
const EXPLORERS_OF_MANY: &[&str] =
    &["blockchair.com", "blockchain.com", "live.blockcypher.com", "oklink.com", "tokenview.io", "blockscan.com"];
/// Prefixes of the host of an explorer that do not lead to another network, as `sepolia.` would.
const SAME_SITE: &[&str] = &["www.", "cn.", "m."];

/// The longest part of a link behind its host, which is the address or hash, and the chain of the explorer. A link to a
/// known explorer may lack its `https://`.
fn strip_link(text: &str) -> Option<(&str, Option<Chain>)> {
    let (is_link, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)), rest),
        None => (false, text),
    };
    let (host, path) = rest.split_once('/')?;
    let host = host.to_ascii_lowercase();
    let host = SAME_SITE.iter().find_map(|before| host.strip_prefix(before)).unwrap_or(&host);
    let parts = || path.split(['/', '#', '?', '&', '=']).filter(|part| !part.is_empty());
    let of_one = EXPLORERS.iter().find(|(known, _)| *known == host).map(|(_, chain)| *chain);
    let is_of_many = EXPLORERS_OF_MANY.contains(&host);
    if !is_link && of_one.is_none() && !is_of_many {
        return None;
    }
    let of_path = || parts().find_map(|part| part.parse().ok());
    let chain = of_one.or_else(|| is_of_many.then(of_path).flatten());
    Some((parts().max_by_key(|part| part.len())?, chain))
}

/// CAIP-10: namespace, reference of the chain, address.
fn caip10<'t>(namespace: &str, rest: &'t str) -> Option<(&'t str, Option<Chain>)> {
    let (reference, address) = rest.split_once(':')?;
    Some((address, Chain::from_caip2(&format!("{namespace}:{reference}"))))
}

/// The address of BIP 21 and EIP-681 texts behind the scheme: `[pay-]address[@chain][/function][?parameters]`.
fn body(rest: &str) -> &str {
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let rest = rest.strip_prefix("pay-").unwrap_or(rest);
    rest.split(['?', '/', '@', '#']).next().unwrap_or(rest)
}

fn eip681_chain(rest: &str) -> Option<Chain> {
    let (_, id) = rest.split_once('@')?;
    let id = id.split(['?', '/', '#']).next()?;
    Chain::from_caip2(&format!("eip155:{id}"))
}
