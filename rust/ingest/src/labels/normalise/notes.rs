//! What a person should know of an import, counted by kind.

use std::collections::BTreeMap;

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
    UnknownChain,
    UnknownConfidence,
    Unreviewed,
    LookAlike,
}

impl Note {
    /// What was found, behind its number.
    const fn text(self) -> &'static str {
        match self {
            Self::Malformed => "texts have the form of no address and are left out",
            Self::BadChecksum => "addresses have a wrong checksum and are left out",
            Self::Eip55 => "addresses in mixed case contradict EIP-55 and are accepted",
            Self::Repaired => "addresses contain letters of another script and are repaired, as their checksum says",
            Self::Contradicted => "addresses stand under a chain that has no such address, and count by their form",
            Self::UnknownChain => "addresses are of EVM chains that are not held, and are left out",
            Self::UnknownConfidence => "confidences name no level and are taken as unknown",
            Self::Unreviewed => "words are missing in the table of concepts and claim nothing",
            Self::LookAlike => "names mix scripts and may imitate another name; they stay entities of their own",
        }
    }
}

/// Notes by kind.
#[derive(Debug, Default)]
pub(super) struct Notes {
    kinds: BTreeMap<Note, (u64, String)>,
}

impl Notes {
    /// Counts a note and keeps the first example of its kind.
    pub(super) fn add(&mut self, note: Note, example: &str, place: Option<Place>) {
        let (count, _) = self.kinds.entry(note).or_insert_with(|| {
            let example = format!("{:?}", shortened(example, SHOWN));
            let shown = match place {
                Some(place) => format!("{example} ({place})"),
                None => example,
            };
            (0, shown)
        });
        *count += 1;
    }

    /// One sentence per kind.
    pub(super) fn sentences(self) -> impl Iterator<Item = String> {
        self.kinds.into_iter().map(|(note, (count, example))| format!("{count} {}: {example}", note.text()))
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
            "2 texts have the form of no address and are left out: \"0x1234\" (line 6)",
            "1 words are missing in the table of concepts and claim nothing: \"organization\"",
        ];
        assert_eq!(notes.sentences().collect::<Vec<_>>(), expected);
    }
}
