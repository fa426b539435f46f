//! The content of label files, as texts: before addresses are read, concepts are mapped and copies are joined.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use headwater_ledger::labels::{Action, Code, DateBasis, Level};
use headwater_types::Timestamp;

use crate::Place;

/// One statement of a file about one address. What the file does not state stays at its default.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RawClaim {
    /// Its position, for messages.
    pub(crate) place: Option<Place>,
    /// The address as it is written; a cell may hold several.
    pub(crate) address: String,
    /// The chain that the file names.
    pub(crate) chain: ChainHint,
    /// The category of the address, in the words of its vocabulary; empty where it only gives a name.
    pub(crate) concepts: Vec<String>,
    /// The name of the address.
    pub(crate) name: Option<String>,
    /// The entity behind the address, as written.
    pub(crate) entity: Option<String>,
    /// The source of the row, if it is not that of the import.
    pub(crate) source: Option<String>,
    /// The address of the source.
    pub(crate) source_url: Option<String>,
    /// The provenance group, where the row states it.
    pub(crate) group: Option<String>,
    /// The level, where the row states one.
    pub(crate) level: Option<RawLevel>,
    /// The trust in the row: a number between 0 and 1, or the id of a level.
    pub(crate) confidence: Option<String>,
    /// When it was said first.
    pub(crate) asserted_at: Option<Timestamp>,
    /// The basis of that date.
    pub(crate) date_basis: RawDateBasis,
    /// When it was said last.
    pub(crate) last_seen: Option<Timestamp>,
    /// When it stopped to hold.
    pub(crate) valid_until: Option<Timestamp>,
    /// The action of the row: to add a claim or to remove others.
    pub(crate) action: Action,
    /// True if the row says that it does not hold for the cluster of the address.
    pub(crate) is_address_only: bool,
}

/// The concept of an address that a source only names beside somebody: it need not be theirs.
pub(crate) const MENTION: &str = "mention";

impl RawClaim {
    /// Returns whether the address is only named beside the name: on a site, in a forum, or somewhere else.
    pub(crate) fn is_mention(&self) -> bool {
        self.concepts.iter().any(|concept| concept.to_ascii_lowercase().ends_with(MENTION))
    }
}

/// The chain of an address that a file names. The form of the address decides the family; this decides among chains of
/// that form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) enum ChainHint {
    /// Nothing: the default of the import.
    #[default]
    None,
    /// The ticker of a coin, as lists of sanctions print it: of an EVM address it says nothing.
    Ticker(String),
    /// A chain by name, ticker, number or CAIP-2 id: an EVM chain that is not held makes no claim.
    Chain(String),
    /// Every EVM chain.
    AnyEvm,
}

/// The basis of the date of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum RawDateBasis {
    /// The address, as in lists of addresses.
    #[default]
    Address,
    /// The entity, as in lists of parties.
    Entity,
    /// The row leaves it open.
    Unknown,
}

impl RawDateBasis {
    /// Returns the basis of the date of a claim.
    pub(crate) const fn stated(self) -> Option<DateBasis> {
        match self {
            Self::Address => Some(DateBasis::Address),
            Self::Entity => Some(DateBasis::Entity),
            Self::Unknown => None,
        }
    }
}

/// A level as a row states it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RawLevel {
    /// Knowledge of the importer.
    Known(Level),
    /// The id of a level, as it is written. Anything else is `unknown`, with a warning.
    Stated(String),
}

/// The words in which a file says what an address is; each has its part of the concept table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Vocabulary(pub(crate) &'static str);

impl Vocabulary {
    /// Our own codes.
    pub(crate) const OWN: Self = Self("headwater");

    /// The prefix of one of our own codes among the words of another vocabulary.
    const PREFIX: &'static str = "headwater:";

    /// Returns the word for one of our own codes in any vocabulary.
    pub(crate) fn own_word(code: &str) -> String {
        format!("{}{code}", Self::PREFIX)
    }

    /// Returns the code of such a word; `None` for any other word.
    pub(crate) fn own_code(word: &str) -> Option<Code> {
        Code::from_name(word.strip_prefix(Self::PREFIX)?)
    }
}

/// All that one import states, and what its reader counted.
#[derive(Debug, Default)]
pub(crate) struct RawLabels {
    /// The statements, in the order of the files.
    pub(crate) claims: Vec<RawClaim>,
    /// The date that the list states of itself.
    pub(crate) list_date: Option<Timestamp>,
    /// Texts that end inside an address, which the reader left out.
    pub(crate) cut: u64,
    /// Rows that a column of theirs denies, which the reader left out.
    pub(crate) denied: u64,
    /// A file that belongs to these and is not among them, where addresses are lost without it.
    pub(crate) missing_file: Option<&'static str>,
    /// Warnings for people, with their positions.
    pub(crate) warnings: Vec<String>,
    /// The end of each file.
    pub(super) ends: Vec<FileEnd>,
}

/// The end of the claims and warnings of a file; they begin at the end of those of the file before.
#[derive(Debug)]
pub(super) struct FileEnd {
    path: Arc<str>,
    claims: usize,
    warnings: usize,
}

impl RawLabels {
    /// Ends a file: what was added since the end of the file before is from it.
    pub(crate) fn end_file(&mut self, path: &Path) {
        let path = Arc::from(path.to_string_lossy());
        self.ends.push(FileEnd { path, claims: self.claims.len(), warnings: self.warnings.len() });
    }

    /// Adds what another file states.
    pub(crate) fn append(&mut self, other: Self) {
        if self.claims.is_empty() {
            self.claims = other.claims;
        } else {
            self.claims.extend(other.claims);
        }
        self.list_date = self.list_date.max(other.list_date);
        self.cut += other.cut;
        self.denied += other.denied;
        self.missing_file = self.missing_file.or(other.missing_file);
        self.warnings.extend(other.warnings);
    }

    /// Puts the name of its file before each warning, where there are several files. What several of them share is said
    /// once.
    pub(crate) fn name_files(&mut self) {
        let first = self.ends.first().map(|end| Arc::clone(&end.path));
        if self.ends.iter().all(|end| Some(&end.path) == first.as_ref()) {
            self.ends.clear();
            return;
        }
        let ends = self.ends.iter().map(|end| (end.warnings, Arc::clone(&end.path)));
        let mut named: Vec<Named<'_>> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (warning, file) in self.warnings.iter().map(String::as_str).zip(files_of(ends)) {
            let place = *places.entry(warning).or_insert(named.len());
            match named.get_mut(place) {
                Some(known) if known.last != file => {
                    known.last = file;
                    known.others += 1;
                }
                Some(_) => {}
                None => named.push(Named { warning, first: file.clone(), last: file, others: 0 }),
            }
        }
        self.warnings = named.iter().map(Named::text).collect();
    }

    /// Returns the paths of the files, where there are several.
    pub(crate) fn files(&self) -> Vec<Arc<str>> {
        self.ends.iter().map(|end| Arc::clone(&end.path)).collect()
    }

    /// The file of each claim; `None` where it is the only one, or claims of several files were joined.
    pub(crate) fn take_files(&mut self) -> impl Iterator<Item = Option<Arc<str>>> + use<> {
        files_of(std::mem::take(&mut self.ends).into_iter().map(|end| (end.claims, end.path)))
    }
}

/// A warning, and the files that share it.
struct Named<'w> {
    warning: &'w str,
    first: Option<Arc<str>>,
    last: Option<Arc<str>>,
    /// Files behind the first.
    others: usize,
}

impl Named<'_> {
    fn text(&self) -> String {
        match (&self.first, self.others) {
            (None, _) => self.warning.to_owned(),
            (Some(file), 0) => format!("{file}: {}", self.warning),
            (Some(file), others) => format!("{file} and {others} more: {}", self.warning),
        }
    }
}

/// The file of each thing, from the places where files end; `None` behind the last one.
fn files_of(ends: impl Iterator<Item = (usize, Arc<str>)>) -> impl Iterator<Item = Option<Arc<str>>> {
    let mut ends = ends.peekable();
    (0..).map(move |place: usize| {
        while ends.next_if(|(end, _)| *end <= place).is_some() {}
        ends.peek().map(|(_, path)| Arc::clone(path))
    })
}
