//! The entity behind an address: one key for the spellings of one name.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::code::Code;

/// Other names of entities, reviewed one by one: `alias,entity`.
const ALIASES: &str = include_str!("entity_aliases.csv");

/// Actors that are known for one thing, reviewed one by one: `actor,code`.
const ACTORS: &str = include_str!("actors.csv");

/// The endings of a name that say which address of the entity it is, longest first.
const ROLES: &[&[&str]] = &[
    &["hot", "wallets"],
    &["hot", "wallet"],
    &["cold", "wallets"],
    &["cold", "wallet"],
    &["warm", "wallet"],
    &["deposit", "wallet"],
    &["deposit", "address"],
    &["deposit", "funder"],
    &["withdrawal", "wallet"],
    &["user", "wallet"],
    &["hot"],
    &["cold"],
    &["deposit"],
    &["deposits"],
    &["dep"],
    &["withdrawal"],
    &["withdrawals"],
    &["deployer"],
    &["incoming"],
    &["old"],
];

/// The maximum number of digits that separate addresses of one entity; longer numbers are part of a name.
const NUMBER_DIGITS: usize = 4;

/// The key under which claims about one entity are grouped: the same for all spellings of its name.
///
/// Letters are in lower case and digits stay; everything else goes. What says which address of the entity it is goes
/// too: what follows a colon, a number, and words such as `hot wallet` at the end. Names that the table of aliases
/// lists become the one that it gives. Letters that only look alike stay apart. Empty where the name has no letter and
/// no digit.
///
/// Source: `methods.md` 1.2.
///
/// ```
/// use headwater_ledger::labels::entity_key;
/// assert_eq!(entity_key("Binance: Hot Wallet 12"), "binance");
/// assert_eq!(entity_key("binance.com"), "binance");
/// assert_eq!(entity_key("Tornado.Cash"), entity_key("tornado cash: 10 ETH"));
/// assert_ne!(entity_key("Вinance"), "binance"); // Cyrillic В
/// ```
#[must_use]
pub fn entity_key(name: &str) -> String {
    static TABLE: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
        let rows = ALIASES.lines().skip(1).filter_map(|line| line.split_once(','));
        rows.map(|(alias, entity)| (folded(alias), folded(entity))).collect()
    });
    let key = folded(entity_name(name));
    TABLE.get(&key).cloned().unwrap_or(key)
}

/// Returns the code that an entity is known for by the table of actors, by its [`entity_key`].
///
/// ```
/// use headwater_ledger::labels::{Code, actor_code, entity_key};
/// assert_eq!(actor_code(&entity_key("SilkRoadMarketplace")), Some(Code::DarknetMarket));
/// assert_eq!(actor_code(&entity_key("Kraken")), None);
/// ```
#[must_use]
pub fn actor_code(key: &str) -> Option<Code> {
    static TABLE: LazyLock<HashMap<String, Code>> = LazyLock::new(|| {
        let rows = ACTORS.lines().skip(1).filter_map(|line| line.split_once(','));
        rows.filter_map(|(actor, code)| Some((folded(actor), Code::from_name(code)?))).collect()
    });
    TABLE.get(key).copied()
}

/// The name without what says which address of the entity it is, in the letters of the source.
///
/// ```
/// use headwater_ledger::labels::entity_name;
/// assert_eq!(entity_name("Binance 14"), "Binance");
/// assert_eq!(entity_name("Trust Wallet"), "Trust Wallet");
/// ```
#[must_use]
pub fn entity_name(name: &str) -> &str {
    let name = name.trim();
    let whole = name.split_once(": ").map_or(name, |(before, _)| before).trim_end();
    let mut kept = if whole.is_empty() { name } else { whole };
    loop {
        let shorter = without_number(kept).or_else(|| without_role(kept));
        let Some(shorter) = shorter.filter(|shorter| shorter.contains(char::is_alphabetic)) else { return kept };
        kept = closed(shorter);
    }
}

/// The name without a bracket that what was taken off had closed.
fn closed(name: &str) -> &str {
    match name.rsplit_once('(') {
        Some((before, inside)) if !inside.contains(')') && before.contains(char::is_alphabetic) => before.trim_end(),
        Some(_) | None => name,
    }
}

/// Returns whether words divide here: blanks, and the marks that files join words with.
fn is_divider(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '-' | '_' | '#' | ':' | ',' | '(' | ')')
}

/// The name before its last word, and that word.
fn last_word(name: &str) -> Option<(&str, &str)> {
    let name = name.trim_end_matches(is_divider);
    let (before, word) = name.rsplit_once(is_divider)?;
    Some((before.trim_end_matches(is_divider), word))
}

fn without_number(name: &str) -> Option<&str> {
    let (before, word) = last_word(name)?;
    let digits = word.strip_prefix("old").unwrap_or(word);
    let is_number =
        digits.len() <= NUMBER_DIGITS && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return None;
    }
    // A wallet with a number is one of several; without one it is a product.
    let wallet = last_word(before).filter(|(_, word)| word.eq_ignore_ascii_case("wallet"));
    Some(wallet.map_or(before, |(entity, _)| entity))
}

fn without_role(name: &str) -> Option<&str> {
    // Most names end with no role, which one look at their last word shows.
    let (_, last) = last_word(name)?;
    let ends_alike = |words: &&&[&str]| words.last().is_some_and(|word| word.eq_ignore_ascii_case(last));
    ROLES.iter().filter(ends_alike).find_map(|words| {
        words.iter().rev().try_fold(name, |rest, word| {
            let (before, last) = last_word(rest)?;
            last.eq_ignore_ascii_case(word).then_some(before)
        })
    })
}

fn folded(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entity_key_is_one_for_all_spellings() {
        for (name, key) in [
            ("Binance", "binance"),
            ("  BINANCE  ", "binance"),
            ("Binance 14", "binance"),
            ("Popsicle Swap Hacker (Contract 2)", "popsicleswaphacker"),
            ("(old 3", "old"),
            ("Binance: Hot Wallet 6", "binance"),
            ("binance hot wallet", "binance"),
            ("Binance Hot Wallet 12", "binance"),
            ("Binance-cold-old2", "binance"),
            ("Huobi.com", "htx"),
            ("OKEx 7", "okx"),
            ("Mt. Gox", "mtgox"),
            ("MtGox", "mtgox"),
            ("Crypto.com 2", "cryptocom"),
            ("Trust Wallet", "trustwallet"),
            ("Trust Wallet 3", "trust"),
            ("DOE, Example", "doeexample"),
            ("Jan MUSTER & CO", "janmusterco"),
            ("פלוני אלמוני", "פלוניאלמוני"),
            ("Area 51000", "area51000"),
            ("2", "2"),
            ("Old", "old"),
            ("Deposit 3", "deposit"),
            ("", ""),
            ("?!", ""),
        ] {
            assert_eq!(entity_key(name), key, "{name}");
        }
    }

    #[test]
    fn entity_key_keeps_look_alikes_apart() {
        assert_ne!(entity_key("\u{412}inance 3"), entity_key("Binance 3"));
    }

    #[test]
    fn entity_key_of_a_key_is_the_key() {
        for name in ["Binance: Hot Wallet 6", "Huobi", "Crypto.com", "Gate.io", "Tornado", "Mt. Gox"] {
            let key = entity_key(name);
            assert_eq!(entity_key(&key), key, "{name}");
        }
    }

    #[test]
    fn actors_are_sorted_keys_with_codes() {
        let rows: Vec<_> = ACTORS.lines().skip(1).map(|line| line.split_once(',').unwrap()).collect();
        assert!(rows.is_sorted());
        for (actor, code) in rows {
            assert!(Code::from_name(code).is_some(), "{actor}: {code}");
            assert_eq!(entity_key(actor), folded(actor), "{actor}");
        }
        assert_eq!(actor_code(&entity_key("Hydra Marketplace 2")), Some(Code::DarknetMarket));
    }

    #[test]
    fn entity_aliases_are_sorted_and_lead_to_no_alias() {
        let rows: Vec<_> = ALIASES.lines().skip(1).map(|line| line.split_once(',').unwrap()).collect();
        assert!(rows.is_sorted());
        for (alias, entity) in &rows {
            assert!(rows.iter().all(|(other, _)| folded(other) != folded(entity)), "{alias}");
        }
    }
}
