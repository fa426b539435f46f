//! Names as people type them: words, and how well a name fits those of a query.

use super::entity::entity_name;

/// The number of words of a name that are searched. Names of lists are short; a longer one is running text.
const MAX_WORDS: usize = 32;

/// Returns the words of a name in lower case: its runs of letters and digits, at most [`MAX_WORDS`].
pub(super) fn words(name: &str) -> impl Iterator<Item = String> {
    let runs = name.split(|letter: char| !letter.is_alphanumeric()).filter(|run| !run.is_empty());
    let lower = |run: &str| {
        if run.is_ascii() { run.to_ascii_lowercase() } else { run.chars().flat_map(char::to_lowercase).collect() }
    };
    runs.take(MAX_WORDS).map(lower)
}

/// The words of a name that is looked for.
///
/// ```
/// use headwater_ledger::labels::{NameQuery, NameRank};
/// let query = NameQuery::new("Tornado Cash").unwrap();
/// assert_eq!(query.rank("tornado.cash"), Some(NameRank::Whole));
/// assert_eq!(query.rank("Tornado.Cash: Router"), Some(NameRank::Words));
/// assert_eq!(NameQuery::new("torn").unwrap().rank("Tornado.Cash"), Some(NameRank::Beginnings));
/// assert_eq!(NameQuery::new("nado").unwrap().rank("Tornado.Cash"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameQuery {
    words: Vec<String>,
}

/// The fit of a name, the closest one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameRank {
    /// The name has the same words in the same order.
    Whole,
    /// Each word of the query is a word of the name.
    Words,
    /// Each word of the query begins a word of the name.
    Beginnings,
}

impl NameQuery {
    /// Returns the query of a text; `None` where it has neither a letter nor a digit.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let words: Vec<String> = words(text).collect();
        (!words.is_empty()).then_some(Self { words })
    }

    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns how well a name fits; `None` where a word of the query begins no word of the name.
    #[must_use]
    pub fn rank(&self, name: &str) -> Option<NameRank> {
        let of_name: Vec<String> = words(name).collect();
        if of_name == self.words {
            return Some(NameRank::Whole);
        }
        if self.words.iter().all(|word| of_name.contains(word)) {
            return Some(NameRank::Words);
        }
        let begins = |word: &String| of_name.iter().any(|other| other.starts_with(word.as_str()));
        self.words.iter().all(begins).then_some(NameRank::Beginnings)
    }

    /// Returns how well the name of an entity fits, with or without what says which address of the entity it is.
    ///
    /// ```
    /// use headwater_ledger::labels::{NameQuery, NameRank};
    /// let query = NameQuery::new("binance").unwrap();
    /// assert_eq!(query.rank("Binance: Hot Wallet 6"), Some(NameRank::Words));
    /// assert_eq!(query.rank_entity("Binance: Hot Wallet 6"), Some(NameRank::Whole));
    /// ```
    #[must_use]
    pub fn rank_entity(&self, entity: &str) -> Option<NameRank> {
        let rank = self.rank(entity)?;
        Some(self.rank(entity_name(entity)).map_or(rank, |of_short| of_short.min(rank)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(query: &str, name: &str) -> Option<NameRank> {
        NameQuery::new(query).unwrap().rank(name)
    }

    #[test]
    fn query_words_begin_words_of_a_name() {
        use NameRank::{Beginnings, Whole, Words};
        for (query, name, expected) in [
            ("bin", "Binance 14", Some(Beginnings)),
            ("nance", "Binance 14", None),
            ("BINANCE", "Binance 14", Some(Words)),
            ("14 binance", "Binance 14", Some(Words)),
            ("binance 1", "Binance 14", Some(Beginnings)),
            ("binance 14", "Binance_14", Some(Whole)),
            ("binance 15", "Binance 14", None),
            ("tornado cash", "Tornado.Cash: Router", Some(Words)),
            ("tornado.cash", "TORNADO  CASH", Some(Whole)),
            ("tornadocash", "Tornado.Cash", None),
            ("诈骗", "诈骗模式", Some(Beginnings)),
            ("Šumava", "šumava", Some(Whole)),
            ("a", "", None),
        ] {
            assert_eq!(rank(query, name), expected, "{query} in {name}");
        }
    }

    #[test]
    fn query_without_letters_and_digits_is_none() {
        assert_eq!(NameQuery::new(" .-! "), None);
        assert_eq!(NameQuery::new(""), None);
    }

    #[test]
    fn words_of_running_text_are_bounded() {
        let text = "word ".repeat(1_000) + "last";
        assert_eq!(words(&text).count(), MAX_WORDS);
        assert_eq!(rank("last", &text), None);
    }
}
