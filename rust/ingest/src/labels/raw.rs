//! What label files state, as texts: before addresses are read, concepts are mapped and copies are joined.

use headwater_ledger::labels::{Action, Level};
use headwater_types::Timestamp;

use crate::Place;

/// One statement of a file about one address. What the file does not state stays at its default.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RawClaim {
    /// Where it stands, for messages.
    pub(crate) place: Option<Place>,
    /// The address as it is written; a cell may hold several.
    pub(crate) address: String,
    /// What the file says of the chain.
    pub(crate) chain: ChainHint,
    /// What the file says the address is, in the words of its vocabulary; empty where it only gives a name.
    pub(crate) concepts: Vec<String>,
    /// The name of the address.
    pub(crate) name: Option<String>,
    /// Who is behind the address, as written.
    pub(crate) entity: Option<String>,
    /// Who says so, where the row names another than the import.
    pub(crate) source: Option<String>,
    /// Where it is said.
    pub(crate) source_url: Option<String>,
    /// The provenance group, where the row states it.
    pub(crate) group: Option<String>,
    /// The level, where the row states one.
    pub(crate) level: Option<RawLevel>,
    /// How far the row is believed, where it says that beside the level: a number between 0 and 1.
    pub(crate) confidence: Option<String>,
    /// When it was said first.
    pub(crate) asserted_at: Option<Timestamp>,
    /// When it was said last.
    pub(crate) last_seen: Option<Timestamp>,
    /// When it stopped to hold.
    pub(crate) valid_until: Option<Timestamp>,
    /// Whether the row adds a claim or removes others.
    pub(crate) action: Action,
}

/// What a file says of the chain of an address. The form of the address decides the family; this decides among chains of
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

/// A level as a row states it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RawLevel {
    /// Of the importer's own knowledge.
    Known(Level),
    /// The id of a level, or a number between 0 and 1, as it is written. Anything else is `unknown`, with a warning.
    Stated(String),
}

/// The words in which a file says what an address is; each has its part of the concept table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Vocabulary(pub(crate) &'static str);

impl Vocabulary {
    /// Our own codes.
    pub(crate) const OWN: Self = Self("headwater");
}

/// All that one import states, and what its reader counted.
#[derive(Debug, Default)]
pub(crate) struct RawLabels {
    /// The statements, in the order of the files.
    pub(crate) claims: Vec<RawClaim>,
    /// The date that the list states of itself.
    pub(crate) list_date: Option<Timestamp>,
    /// What the reader left out by itself.
    pub(crate) counts: super::Counts,
    /// What a person should know, with the place.
    pub(crate) warnings: Vec<String>,
}
