//! What a person should know of an import, counted by kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_types::text::{SHOWN, shortened};

use crate::Place;

/// Kinds of notes, in the order in which they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Note {
    Malformed,
    BadChecksum,
    Eip55,
    Repaired,
    Contradicted,
    UnknownConfidence,
    Unreviewed,
    LookAlike,
}

impl Note {
    /// What was found, before its number.
    const fn text(self) -> &'static str {
        match self {
            Self::Malformed => "texts without the form of an address, left out",
            Self::BadChecksum => "addresses with a wrong checksum, left out",
            Self::Eip55 => "addresses in mixed case that contradict EIP-55, accepted",
            Self::Repaired => "addresses with letters of another script, repaired as their checksum says",
            Self::Contradicted => "addresses under a chain that has no such address, taken by their form",
            Self::UnknownConfidence => "confidences that name no level, taken as unknown",
            Self::Unreviewed => "words that the table of concepts lacks, without a claim",
            Self::LookAlike => "names that mix scripts and may imitate another name, kept as entities of their own",
        }
    }
}

/// Notes by kind.
#[derive(Debug, Default)]
pub(super) struct Notes {
    kinds: BTreeMap<Note, (u64, String)>,
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

    /// One sentence per kind.
    pub(super) fn sentences(self) -> impl Iterator<Item = String> {
        self.kinds.into_iter().map(|(note, (count, example))| format!("{}: {count}, such as {example}", note.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_counted_by_kind_with_the_first_example() {
        let mut notes = Notes::default();
        notes.add(Note::Unreviewed, "organization", None);
        notes.add(Note::Malformed, "0x1234", Some(Place::Line(6)));
        notes.add(Note::Malformed, "0x12", Some(Place::Line(7)));
        let expected = [
            "texts without the form of an address, left out: 2, such as \"0x1234\" (line 6)",
            "words that the table of concepts lacks, without a claim: 1, such as \"organization\"",
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
