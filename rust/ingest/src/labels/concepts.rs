//! The codes of the words of other lists: one reviewed table per vocabulary.

use headwater_ledger::labels::Code;
use rustc_hash::FxHashMap;

use crate::labels::raw::Vocabulary;

/// The tables by vocabulary: columns `concept,code,note`. An empty code means that the word was looked at and claims
/// nothing; a word that is missing claims nothing either, and is reported.
const TABLES: &[(&str, &str)] = &[
    ("arkham", include_str!("concepts/arkham.csv")),
    ("bitcoinabuse", include_str!("concepts/bitcoinabuse.csv")),
    ("chainabuse", include_str!("concepts/chainabuse.csv")),
    ("cryptoscamdb", include_str!("concepts/cryptoscamdb.csv")),
    ("dune", include_str!("concepts/dune.csv")),
    ("etherscan", include_str!("concepts/etherscan.csv")),
    ("graphsense", include_str!("concepts/graphsense.csv")),
    ("headwater", include_str!("concepts/headwater.csv")),
    ("oli", include_str!("concepts/oli.csv")),
];

/// The words of one vocabulary.
#[derive(Debug, Default)]
pub(super) struct Concepts {
    codes: FxHashMap<String, Option<Code>>,
}

/// The meaning of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The code.
    Code(Code),
    /// No code: the table says so.
    NoCode,
    /// The table does not have the word.
    Unreviewed,
}

impl Concepts {
    /// Returns the words of a vocabulary; `None` where it has no table. Our own has the names of the codes and the
    /// categories of vendors.
    pub(super) fn of(vocabulary: Vocabulary) -> Option<Self> {
        let (_, table) = TABLES.iter().find(|(name, _)| *name == vocabulary.0)?;
        let mut concepts = Self::default();
        if vocabulary == Vocabulary::OWN {
            for code in Code::ALL {
                concepts.add(code.name(), Some(*code));
            }
        }
        for (concept, code) in rows(table) {
            concepts.add(&concept, Code::from_name(&code));
        }
        Some(concepts)
    }

    fn add(&mut self, concept: &str, code: Option<Code>) {
        self.codes.entry(folded(concept)).or_insert(code);
        self.codes.entry(squeezed(concept)).or_insert(code);
    }

    /// Returns what a word means, in whatever case it is written, with or without marks between its parts.
    pub(super) fn meaning(&self, concept: &str) -> Meaning {
        match self.codes.get(&folded(concept)).or_else(|| self.codes.get(&squeezed(concept))) {
            Some(Some(code)) => Meaning::Code(*code),
            Some(None) => Meaning::NoCode,
            None => Meaning::Unreviewed,
        }
    }
}

fn folded(concept: &str) -> String {
    concept.trim().to_lowercase()
}

/// Returns a word without case, blanks and marks: `Mining pool`, `mining_pool` and `MiningPool` are one word.
pub(super) fn squeezed(concept: &str) -> String {
    concept.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Concept and code of each row of a table.
fn rows(table: &str) -> impl Iterator<Item = (String, String)> {
    let reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(table.as_bytes());
    reader.into_records().map_while(Result::ok).map(|record| {
        let field = |place: usize| record.get(place).unwrap_or_default().to_owned();
        (field(0), field(1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::formats::FORMATS;

    #[test]
    fn concept_tables_name_codes_that_exist_and_each_word_once() {
        for (vocabulary, table) in TABLES {
            assert_eq!(table.lines().next(), Some("concept,code,note"), "{vocabulary}");
            let rows: Vec<_> = rows(table).collect();
            assert_eq!(rows.len(), csv::Reader::from_reader(table.as_bytes()).records().count(), "{vocabulary}");
            for (place, (concept, code)) in rows.iter().enumerate() {
                assert!(code.is_empty() || Code::from_name(code).is_some(), "{vocabulary}: {concept} is {code:?}");
                let again = rows.iter().take(place).any(|(other, _)| folded(other) == folded(concept));
                assert!(!again, "{vocabulary}: {concept} stands twice");
            }
        }
    }

    #[test]
    fn concept_tables_are_all_listed() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/labels/concepts");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
            .unwrap_or_default();
        files.sort();
        let mut listed: Vec<String> = TABLES.iter().map(|(name, _)| format!("{name}.csv")).collect();
        listed.sort();
        assert_eq!(files, listed);
        for format in FORMATS {
            assert!(Concepts::of(format.vocabulary).is_some(), "{} has no table of concepts", format.name);
        }
    }

    #[test]
    fn concept_is_found_in_any_case() {
        let own = Concepts::of(Vocabulary::OWN).unwrap();
        assert_eq!(own.meaning(" Mixer "), Meaning::Code(Code::Mixer));
        for name in ["mining_pool", "MiningPool", "Mining Pool", "mining-pool"] {
            assert_eq!(own.meaning(name), Meaning::Code(Code::MiningPool), "{name}");
        }
        assert_eq!(own.meaning("organization"), Meaning::Unreviewed);
        assert!(Concepts::of(Vocabulary("nowhere")).is_none());
    }
}
