//! A claim: what one source says of one address.

use std::sync::Arc;

use headwater_types::{Address, Chain, Family, Timestamp};

use super::code::Code;
use super::dispute::Dispute;
use super::level::{Level, Link};

/// A statement of one source about one address. `T` is the type of its texts: shared ones where a claim is made,
/// borrowed ones where it is read from a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim<T = Arc<str>> {
    /// The address.
    pub address: Address,
    /// The chains on which it holds.
    pub scope: Scope,
    /// The code; `None` where the source gives a name only.
    pub code: Option<Code>,
    /// The name of the address in the source.
    pub name: Option<T>,
    /// The entity behind the address.
    pub entity: Option<T>,
    /// The source.
    pub source: T,
    /// The page where the source says so.
    pub source_url: Option<T>,
    /// Claims of one group copy one another and count once.
    pub group: T,
    /// The level of trust in the source, by its kind.
    pub level: Level,
    /// The trust in the source, in thousandths: the value of the level unless the file states another.
    pub reliability: u16,
    /// The way in which the claim reaches the address.
    pub link: Link,
    /// When the source said so first.
    pub asserted_at: Option<Timestamp>,
    /// The event that the date belongs to; `None` without a date, and where an earlier version of the program stored
    /// the claim.
    pub date_basis: Option<DateBasis>,
    /// When the source said so last, where that is another time.
    pub last_seen: Option<Timestamp>,
    /// When it stopped to hold.
    pub valid_until: Option<Timestamp>,
    /// The effect on other claims: is added to them, or removes them.
    pub action: Action,
    /// The dispute about it that is in force. Look-ups in a [`super::LabelTable`] set it; files of claims do not contain it.
    pub dispute: Option<Dispute<T>>,
}

impl Claim {
    /// The same claim with borrowed texts.
    #[must_use]
    pub fn borrowed(&self) -> Claim<&str> {
        let Self {
            address,
            scope,
            code,
            level,
            reliability,
            link,
            asserted_at,
            date_basis,
            last_seen,
            valid_until,
            action,
            ..
        } = *self;
        Claim {
            address,
            scope,
            code,
            name: self.name.as_deref(),
            entity: self.entity.as_deref(),
            source: &self.source,
            source_url: self.source_url.as_deref(),
            group: &self.group,
            level,
            reliability,
            link,
            asserted_at,
            date_basis,
            last_seen,
            valid_until,
            action,
            dispute: self.dispute.as_ref().map(Dispute::<Arc<str>>::borrowed),
        }
    }
}

impl Claim<&str> {
    /// The claim with texts of its own.
    #[must_use]
    pub fn to_owned(&self) -> Claim {
        let Self {
            address,
            scope,
            code,
            level,
            reliability,
            link,
            asserted_at,
            date_basis,
            last_seen,
            valid_until,
            action,
            ..
        } = *self;
        Claim {
            address,
            scope,
            code,
            name: self.name.map(Arc::from),
            entity: self.entity.map(Arc::from),
            source: Arc::from(self.source),
            source_url: self.source_url.map(Arc::from),
            group: Arc::from(self.group),
            level,
            reliability,
            link,
            asserted_at,
            date_basis,
            last_seen,
            valid_until,
            action,
            dispute: self.dispute.as_ref().map(Dispute::<&str>::to_owned),
        }
    }
}

/// The event that the date of a claim belongs to.
///
/// A list of parties dates the party: an address that it adds to the party later carries the date of the party, which is
/// too early for the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DateBasis {
    /// The address: the source named it then.
    Address,
    /// The entity behind the address: the source may have named the address later.
    Entity,
}

impl DateBasis {
    /// Both, the more exact one first.
    pub const ALL: [Self; 2] = [Self::Address, Self::Entity];

    /// The name in files and answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Entity => "entity",
        }
    }

    /// Returns the basis of a name; `None` for an unknown one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|basis| basis.name() == name)
    }
}

/// The chains on which a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// One chain.
    Chain(Chain),
    /// Every EVM chain.
    Evm,
}

impl Scope {
    /// Returns whether a claim of this scope holds on a chain.
    #[must_use]
    pub fn contains(self, chain: Chain) -> bool {
        match self {
            Self::Chain(of) => of == chain,
            Self::Evm => chain.family() == Family::Evm,
        }
    }

    /// Returns the chains on which it holds, in their order.
    pub fn chains(self) -> impl Iterator<Item = Chain> {
        Chain::all().filter(move |chain| self.contains(*chain))
    }

    /// Returns the chain whose forms of addresses are valid.
    #[must_use]
    pub const fn address_chain(self) -> Chain {
        match self {
            Self::Chain(chain) => chain,
            Self::Evm => Chain::ETHEREUM,
        }
    }

    /// The name in files and lists: the chain, or `evm`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chain(chain) => chain.name(),
            Self::Evm => "evm",
        }
    }
}

/// The effect of a claim on others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Action {
    /// Is added to other claims.
    #[default]
    Add,
    /// A curator's word that the code is wrong here: other claims of the code do not count.
    Remove,
}
