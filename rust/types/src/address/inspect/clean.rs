//! Takes from a text what surrounds an address: blanks, invisible characters, a URI.

use super::Correction;
use crate::Chain;

/// A text without what surrounds an address.
pub(super) struct Cleaned {
    pub(super) text: String,
    pub(super) corrections: Vec<Correction>,
    /// The chain that the URI names.
    pub(super) chain: Option<Chain>,
}

pub(super) fn clean(query: &str) -> Cleaned {
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
            Cleaned { text: body.to_owned(), corrections, chain }
        }
        None => Cleaned { text, corrections, chain: None },
    }
}

/// Characters that nobody sees, but copying brings along: format characters (Unicode category Cf and its kin) and
/// control characters that are no blanks.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        || (character.is_control() && !character.is_whitespace())
}

/// What a URI holds, and the chain that it names. `None` when the text is no URI that is known here: a scheme of
/// another coin is no Bitcoin address in disguise.
fn strip_uri(text: &str) -> Option<(&str, Option<Chain>)> {
    let (scheme, rest) = text.split_once(':')?;
    let scheme = scheme.to_ascii_lowercase();
    match scheme.as_str() {
        "http" | "https" => Some((longest_segment(rest.strip_prefix("//")?)?, None)),
        "iban" => Some((body(rest), Some(Chain::ETHEREUM))),
        "eip155" | "bip122" => caip10(&scheme, rest),
        "tron" if rest.contains(':') => caip10(&scheme, rest),
        name => {
            let chain: Chain = name.parse().ok()?;
            Some((body(rest), eip681_chain(rest).or(Some(chain))))
        }
    }
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

/// The longest part of a link behind its host: no explorer has a longer one than the address.
fn longest_segment(link: &str) -> Option<&str> {
    let (_, path) = link.split_once('/')?;
    path.split(['/', '#', '?', '&', '=']).filter(|part| !part.is_empty()).max_by_key(|part| part.len())
}
