//! Warnings about an import, counted by kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_types::text::{SHOWN, shortened};

use crate::Place;

/// Kinds of notes, in the order in which they are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Note {
    Malformed,
    BadChecksum,
    Eip55,
    Repaired,
    Contradicted,
    UnknownConfidence,
    LookAlike,
}

impl Note {
    /// Returns the finding, before its number.
    const fn text(self) -> &'static str {
        match self {
            Self::Malformed => "texts without the form of an address, left out",
            Self::BadChecksum => "addresses with a wrong checksum, left out",
            Self::Eip55 => "addresses in mixed case that contradict EIP-55, accepted",
            Self::Repaired => "addresses with letters of another script, repaired as their checksum says",
            Self::Contradicted => "addresses under a chain that has no such address, taken by their form",
            Self::UnknownConfidence => "confidences that name no level, taken as unknown",
            Self::LookAlike => "names that mix scripts and may imitate another name, kept as entities of their own",
        }
    }
}

/// Notes by kind.
#[derive(Debug, Default)]
pub(super) struct Notes {
    kinds: BTreeMap<Note, (u64, String)>,
    /// Rows by word that the table of concepts lacks.
    unknown: BTreeMap<String, u64>,
    /// Rows by word that the table of concepts has without a code.
    neutral: BTreeMap<String, u64>,
    /// The file of what is read now, where there are several.
    file: Option<Arc<str>>,
}

impl Notes {
    /// Begins a statement of a file.
    pub(super) fn begin(&mut self, file: Option<Arc<str>>) {
        self.file = file;
    }

    /// Counts a note and keeps the first example of its kind.
    pub(super) fn add(&mut self, note: Note, example: &str, place: Option<Place>) {
        let (count, _) = self.kinds.entry(note).or_insert_with(|| {
            let example = format!("{:?}", shortened(example, SHOWN));
            let shown = match (&self.file, place) {
                (Some(file), Some(place)) => format!("{example} ({file}, {place})"),
                (Some(file), None) => format!("{example} ({file})"),
                (None, Some(place)) => format!("{example} ({place})"),
                (None, None) => example,
            };
            (0, shown)
        });
        *count += 1;
    }

    /// Counts a row with a word that gives no code.
    pub(super) fn add_word(&mut self, word: &str, is_known: bool) {
        let words = if is_known { &mut self.neutral } else { &mut self.unknown };
        *words.entry(word.trim().to_owned()).or_default() += 1;
    }

    /// One sentence per kind.
    pub(super) fn sentences(self) -> impl Iterator<Item = String> {
        let of_kinds = self
            .kinds
            .into_iter()
            .map(|(note, (count, example))| format!("{}: {count}, such as {example}", note.text()));
        let unknown = counted("words that the table of concepts lacks, without a claim", &self.unknown);
        let neutral = counted("words that name no code, without a claim", &self.neutral);
        of_kinds.chain(unknown).chain(neutral)
    }
}

/// A sentence with each word and its rows, the most frequent first.
fn counted(what: &str, words: &BTreeMap<String, u64>) -> Option<String> {
    const NAMED: usize = 20;
    let mut words: Vec<_> = words.iter().collect();
    words.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let rows: u64 = words.iter().map(|(_, count)| **count).sum();
    let shown: Vec<_> =
        words.iter().take(NAMED).map(|(word, count)| format!("{:?} {count}", shortened(word, SHOWN))).collect();
    let others = words.len().saturating_sub(NAMED);
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    (rows > 0).then(|| format!("{what}: {rows}, {}{others}", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_counted_by_kind_with_the_first_example() {
        let mut notes = Notes::default();
        notes.add_word("organization", false);
        notes.add_word(" Fund", false);
        notes.add_word("Fund ", false);
        notes.add_word("Wallet", true);
        notes.add(Note::Malformed, "0x1234", Some(Place::Line(6)));
        notes.add(Note::Malformed, "0x12", Some(Place::Line(7)));
        let expected = [
            "texts without the form of an address, left out: 2, such as \"0x1234\" (line 6)",
            "words that the table of concepts lacks, without a claim: 3, \"Fund\" 2, \"organization\" 1",
            "words that name no code, without a claim: 1, \"Wallet\" 1",
        ];
        assert_eq!(notes.sentences().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn note_of_one_of_several_files_names_it() {
        let mut notes = Notes::default();
        notes.begin(Some(Arc::from("b.csv")));
        notes.add(Note::Malformed, "0x1234", Some(Place::Line(6)));
        let expected = "texts without the form of an address, left out: 1, such as \"0x1234\" (b.csv, line 6)";
        assert_eq!(notes.sentences().collect::<Vec<_>>(), [expected]);
    }
}
