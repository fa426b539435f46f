//! An index of the words of the names in a part of a label file, in memory.
//!
//! Words are sorted, so that all words with a beginning are one range. Names are numbered by descending trust in their
//! sources, so that a search that takes only so many addresses takes the most trusted ones first.

use std::cmp::Reverse;

use rayon::slice::ParallelSliceMut;

use super::entity::entity_name;
use super::names::{NameQuery, NameRank, words};
use crate::error::Result;
use crate::memory::{Purpose, Reservation};
use crate::{Cancel, LedgerError};

/// The memory of an index while it is built.
pub(super) const INDEX_MEMORY: Purpose = Purpose {
    what: "the names of a list of labels",
    narrower: "raise limits.query_memory_mib, or shorten the names of the list",
};

/// The number of names from which a part ends, so that building it takes few megabytes however long the list is.
pub(super) const MENTIONS_OF_A_PART: usize = 1 << 18;

/// Names between two looks at the token of the query.
const BATCH: usize = 4_096;

/// A name that a claim gives the address at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mention {
    /// The number of the text in the file.
    pub(super) text: u32,
    /// True if it names the entity behind the address, and not the address alone.
    pub(super) is_entity: bool,
    /// The place of the address.
    pub(super) place: u32,
    /// The trust in the source of the claim, in thousandths.
    pub(super) reliability: u16,
}

/// The index.
pub(super) struct NameIndex {
    /// The words of all names in lower case, a blank behind each.
    text: Vec<u8>,
    /// All words, in order.
    words: Vec<WordEntry>,
    /// All names, the most trusted first.
    names: Vec<NameEntry>,
    /// The places of the addresses of each name, see [`NameEntry::end`].
    places: Vec<u32>,
}

/// A word of a name.
#[derive(Clone, Copy)]
struct WordEntry {
    /// Its beginning in the text.
    start: u32,
    name: u32,
}

/// A distinct name.
#[derive(Clone, Copy)]
struct NameEntry {
    /// The end of its places; they begin where those of the name before end.
    end: u32,
    reliability: u16,
    /// The number of its words, and for an entity the number without those that say which of its addresses it is.
    lengths: [u8; 2],
}

/// A word while words are sorted, with its first bytes.
struct SortedWord {
    head: u64,
    entry: WordEntry,
}

/// The names of one search, the closest and most trusted first.
pub(super) struct Matches<'a> {
    index: &'a NameIndex,
    length: usize,
    exact: Vec<u64>,
    begun: Vec<u64>,
}

impl NameIndex {
    /// Builds the index of these mentions, for which there is room; `text_of` returns the texts by their numbers.
    pub(super) fn build<'a>(
        mut mentions: Vec<Mention>,
        text_of: impl Fn(u32) -> Result<&'a str>,
        (mut held, cancel): (Reservation, &Cancel),
    ) -> Result<Self> {
        mentions.par_sort_unstable();
        let mut groups: Vec<(Reverse<u16>, &[Mention])> = Vec::new();
        for group in mentions.chunk_by(|one, other| (one.text, one.is_entity) == (other.text, other.is_entity)) {
            groups.push((Reverse(group.iter().map(|mention| mention.reliability).max().unwrap_or(0)), group));
        }
        held.more(groups.len() * (size_of::<(Reverse<u16>, &[Mention])>() + size_of::<NameEntry>()))?;
        groups.sort_unstable();

        let mut index = Self { text: Vec::new(), words: Vec::new(), names: Vec::new(), places: Vec::new() };
        let mut sorted: Vec<SortedWord> = Vec::new();
        for (number, (Reverse(reliability), group)) in groups.iter().enumerate() {
            if number.is_multiple_of(BATCH) {
                cancel.check()?;
            }
            let text = text_of(group[0].text)?;
            let (name, text_before, words_before) = (small(index.names.len())?, index.text.len(), sorted.len());
            for word in words(text) {
                let entry = WordEntry { start: small(index.text.len())?, name };
                sorted.push(SortedWord { head: head(word.as_bytes()), entry });
                index.text.extend_from_slice(word.as_bytes());
                index.text.push(b' ');
            }
            let length = sorted.len() - words_before;
            if length == 0 {
                continue;
            }
            for same_place in group.chunk_by(|one, other| one.place == other.place) {
                index.places.push(same_place[0].place);
            }
            let short = if group[0].is_entity { words(entity_name(text)).count() } else { length };
            let lengths = [length, short].map(|count| u8::try_from(count).unwrap_or(u8::MAX));
            index.names.push(NameEntry { end: small(index.places.len())?, reliability: *reliability, lengths });
            held.more(
                index.text.len() - text_before
                    + length * (size_of::<SortedWord>() + size_of::<WordEntry>())
                    + group.len() * size_of::<u32>(),
            )?;
        }
        let text = &index.text;
        let key = |word: &SortedWord| (word.head, word_at(text, word.entry), word.entry.name);
        sorted.par_sort_unstable_by(|one, other| key(one).cmp(&key(other)));
        index.words = sorted.into_iter().map(|word| word.entry).collect();
        index.text.shrink_to_fit();
        index.names.shrink_to_fit();
        index.places.shrink_to_fit();
        Ok(index)
    }

    /// Returns the names whose words begin with those of a query. O(words in these ranges + names / 64).
    pub(super) fn matches(&self, query: &NameQuery) -> Matches<'_> {
        let blocks = self.names.len().div_ceil(64);
        let (mut exact, mut begun) = (vec![u64::MAX; blocks], vec![u64::MAX; blocks]);
        for word in query.words() {
            let word = word.as_bytes();
            let first = self.words.partition_point(|entry| word_at(&self.text, *entry) < word);
            let from_first = &self.words[first..];
            let same = from_first.partition_point(|entry| word_at(&self.text, *entry) == word);
            let begun_by = from_first.partition_point(|entry| word_at(&self.text, *entry).starts_with(word));
            keep(&mut exact, &from_first[..same]);
            keep(&mut begun, &from_first[..begun_by]);
        }
        Matches { index: self, length: query.words().len(), exact, begun }
    }

    fn places_of(&self, name: usize) -> &[u32] {
        let first = name.checked_sub(1).map_or(0, |before| self.names[before].end);
        &self.places[first as usize..self.names[name].end as usize]
    }
}

impl Matches<'_> {
    /// Shows the places of the addresses with these names until `visit` returns false: by rank, then by descending trust.
    /// The rank is the closest one that the name can have. A place may be shown more than once.
    pub(super) fn each(&self, visit: &mut dyn FnMut(NameRank, u16, u32) -> Result<bool>) -> Result<()> {
        for rank in [NameRank::Whole, NameRank::Words, NameRank::Beginnings] {
            for block in 0..self.begun.len() {
                let (exact, begun) = (self.exact[block], self.begun[block]);
                for name in bits(block, if rank == NameRank::Beginnings { begun & !exact } else { exact }) {
                    let entry = self.index.names[name];
                    let may_be_whole = entry.lengths.iter().any(|length| usize::from(*length) == self.length);
                    if rank != NameRank::Beginnings && (rank == NameRank::Whole) != may_be_whole {
                        continue;
                    }
                    for place in self.index.places_of(name) {
                        if !visit(rank, entry.reliability, *place)? {
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Removes the names from a set that have none of some words.
fn keep(names: &mut [u64], words: &[WordEntry]) {
    let mut having = vec![0_u64; names.len()];
    for entry in words {
        having[entry.name as usize / 64] |= 1 << (entry.name % 64);
    }
    for (kept, having) in names.iter_mut().zip(having) {
        *kept &= having;
    }
}

/// The numbers of the bits that are set in a block of a set.
fn bits(block: usize, mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros())?;
        set &= set - 1;
        Some(block * 64 + bit as usize)
    })
}

/// The word that begins at a place of the text.
fn word_at(text: &[u8], entry: WordEntry) -> &[u8] {
    let rest = &text[entry.start as usize..];
    &rest[..rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len())]
}

/// The first bytes of a word as a number that sorts as they do.
fn head(word: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = word.len().min(bytes.len());
    bytes[..length].copy_from_slice(&word[..length]);
    u64::from_be_bytes(bytes)
}

fn small(number: usize) -> Result<u32> {
    u32::try_from(number)
        .map_err(|_| LedgerError::SegmentFull { what: "letters of the names of one list", limit: u64::from(u32::MAX) })
}
