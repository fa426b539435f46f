//! A claim as label files store it.

use bytemuck::{Pod, Zeroable};
use headwater_types::{Chain, Timestamp};
use xxhash_rust::xxh3::Xxh3;

use super::claim::{Action, Scope};
use super::code::Code;
use super::level::{Level, Link};

/// The place of a text that a claim does not have.
pub(super) const NO_TEXT: u32 = u32::MAX;
/// A time that a claim does not have.
const NO_TIME: i64 = i64::MIN;

/// The import states the claim itself; without it the claim was stated by an earlier import and ended.
pub(super) const OWN: u8 = 1;
const REMOVES: u8 = 2;

const LINKS: [Link; 6] =
    [Link::Exact, Link::Cluster, Link::ChangeCluster, Link::DepositPattern, Link::Deployer, Link::GasFunder];

/// Numbers stand for texts of the file and for entries of the tables of this crate, see [`vocabulary`].
#[derive(Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Record {
    /// 0 for none.
    code: u16,
    pub(super) reliability: u16,
    /// 0 for every EVM chain.
    scope: u8,
    level: u8,
    link: u8,
    flags: u8,
    pub(super) name: u32,
    pub(super) entity: u32,
    pub(super) source: u32,
    pub(super) source_url: u32,
    pub(super) group: u32,
    reserved: u32,
    asserted_at: i64,
    last_seen: i64,
    valid_until: i64,
}

/// What of a claim is neither address nor text.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub(super) scope: Scope,
    pub(super) code: Option<Code>,
    pub(super) level: Level,
    pub(super) reliability: u16,
    pub(super) link: Link,
    pub(super) asserted_at: Option<Timestamp>,
    pub(super) last_seen: Option<Timestamp>,
    pub(super) valid_until: Option<Timestamp>,
    pub(super) action: Action,
    pub(super) is_own: bool,
}

/// Places of the texts of a claim.
#[derive(Clone, Copy)]
pub(super) struct Texts {
    pub(super) name: u32,
    pub(super) entity: u32,
    pub(super) source: u32,
    pub(super) source_url: u32,
    pub(super) group: u32,
}

/// A digest of the tables that records number into: a file written under others is not read.
pub(super) fn vocabulary() -> u64 {
    let mut digest = Xxh3::new();
    let names = Code::ALL.iter().map(|code| code.name()).chain(Level::ALL.iter().map(|level| level.name()));
    for name in names.chain(Chain::all().map(Chain::name)) {
        digest.update(name.as_bytes());
        digest.update(b"\n");
    }
    digest.digest()
}

impl Record {
    pub(super) fn new(terms: &Terms, texts: &Texts) -> Self {
        let time = |time: Option<Timestamp>| time.map_or(NO_TIME, Timestamp::secs);
        let flags = if terms.is_own { OWN } else { 0 } | if terms.action == Action::Remove { REMOVES } else { 0 };
        let chain = |chain: Chain| Chain::all().position(|known| known == chain).map_or(0, |place| place + 1);
        Self {
            code: terms.code.map_or(0, |code| number(Code::ALL, &code) + 1),
            reliability: terms.reliability,
            scope: match terms.scope {
                Scope::Evm => 0,
                Scope::Chain(of) => u8::try_from(chain(of)).expect("there are far fewer than 255 chains"),
            },
            level: small(number(Level::ALL, &terms.level)),
            link: small(number(&LINKS, &terms.link)),
            flags,
            name: texts.name,
            entity: texts.entity,
            source: texts.source,
            source_url: texts.source_url,
            group: texts.group,
            reserved: 0,
            asserted_at: time(terms.asserted_at),
            last_seen: time(terms.last_seen),
            valid_until: time(terms.valid_until),
        }
    }

    /// `None` where a number names nothing.
    pub(super) fn terms(&self) -> Option<Terms> {
        let time = |secs: i64| (secs != NO_TIME).then(|| Timestamp::new(secs));
        Some(Terms {
            scope: match self.scope {
                0 => Scope::Evm,
                place => Scope::Chain(Chain::all().nth(usize::from(place) - 1)?),
            },
            code: match self.code {
                0 => None,
                place => Some(*Code::ALL.get(usize::from(place) - 1)?),
            },
            level: *Level::ALL.get(usize::from(self.level))?,
            reliability: self.reliability,
            link: *LINKS.get(usize::from(self.link))?,
            asserted_at: time(self.asserted_at),
            last_seen: time(self.last_seen),
            valid_until: time(self.valid_until),
            action: if self.flags & REMOVES == 0 { Action::Add } else { Action::Remove },
            is_own: self.flags & OWN != 0,
        })
    }
}

fn number<T: PartialEq>(table: &[T], entry: &T) -> u16 {
    let place = table.iter().position(|known| known == entry);
    place.and_then(|place| u16::try_from(place).ok()).expect("the table holds every value of the type")
}

fn small(number: u16) -> u8 {
    u8::try_from(number).expect("the table has far fewer than 256 entries")
}
