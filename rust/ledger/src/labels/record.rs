//! A claim as label files store it.

use bytemuck::{Pod, Zeroable};
use headwater_types::{Chain, Timestamp};

use super::claim::{Action, DateBasis, Scope};
use super::code::Code;
use super::level::{Level, Link};

/// The place of a text that a claim does not have.
pub(super) const NO_TEXT: u32 = u32::MAX;
/// A time that a claim does not have.
const NO_TIME: i64 = i64::MIN;

/// The import states the claim itself; without it the claim was stated by an earlier import and ended.
pub(super) const OWN: u8 = 1;
const REMOVES: u8 = 2;
/// The date of assertion is that of the address.
const DATES_ADDRESS: u8 = 4;
/// The date of assertion is that of the entity. Files of earlier versions have neither of the two bits.
const DATES_ENTITY: u8 = 8;

/// In the order of their numbers.
const LINKS: [Link; 7] = [
    Link::Exact,
    Link::Cluster,
    Link::ChangeCluster,
    Link::DepositPattern,
    Link::Deployer,
    Link::GasFunder,
    Link::ExactOnly,
];

/// Numbers stand for texts of the file and for its names, see [`names`].
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

/// The part of a claim that is neither address nor text.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub(super) scope: Scope,
    pub(super) code: Option<Code>,
    pub(super) level: Level,
    pub(super) reliability: u16,
    pub(super) link: Link,
    pub(super) asserted_at: Option<Timestamp>,
    pub(super) date_basis: Option<DateBasis>,
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

/// The names that records number, as a file states them: codes, levels and chains, a line for each table.
pub(super) fn names() -> String {
    let line = |names: Vec<&str>| names.join(" ");
    let codes = line(Code::ALL.iter().map(|code| code.name()).collect());
    let levels = line(Level::ALL.iter().map(|level| level.name()).collect());
    let chains = line(Chain::all().map(Chain::name).collect());
    format!("{codes}\n{levels}\n{chains}\n")
}

/// The meanings of the numbers of a file. A name that is unknown to this version stands for nothing.
pub(super) struct Vocabulary {
    codes: Vec<Option<Code>>,
    levels: Vec<Option<Level>>,
    chains: Vec<Option<Chain>>,
}

impl Vocabulary {
    /// Reads what [`names`] wrote.
    pub(super) fn read(text: &str) -> Self {
        let mut lines = text.lines().map(|line| line.split(' '));
        let mut next = || lines.next().into_iter().flatten();
        let codes = next().map(Code::from_name).collect();
        let levels = next().map(Level::from_name).collect();
        Self { codes, levels, chains: next().map(Chain::from_name).collect() }
    }

    /// The chains of a set of bits, one for each line of the file.
    pub(super) fn chains(&self, bits: u64) -> impl Iterator<Item = Chain> {
        (0..).zip(&self.chains).filter(move |(bit, _)| bits >> bit & 1 == 1).filter_map(|(_, chain)| *chain)
    }
}

impl Record {
    pub(super) fn new(terms: &Terms, texts: &Texts) -> Self {
        let time = |time: Option<Timestamp>| time.map_or(NO_TIME, Timestamp::secs);
        let basis = match terms.date_basis {
            Some(DateBasis::Address) => DATES_ADDRESS,
            Some(DateBasis::Entity) => DATES_ENTITY,
            None => 0,
        };
        let removes = if terms.action == Action::Remove { REMOVES } else { 0 };
        let flags = if terms.is_own { OWN } else { 0 } | removes | basis;
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

    /// `None` where a number stands for nothing.
    pub(super) fn terms(&self, vocabulary: &Vocabulary) -> Option<Terms> {
        let time = |secs: i64| (secs != NO_TIME).then(|| Timestamp::new(secs));
        Some(Terms {
            scope: match self.scope {
                0 => Scope::Evm,
                place => Scope::Chain((*vocabulary.chains.get(usize::from(place) - 1)?)?),
            },
            code: match self.code {
                0 => None,
                place => Some((*vocabulary.codes.get(usize::from(place) - 1)?)?),
            },
            level: (*vocabulary.levels.get(usize::from(self.level))?)?,
            reliability: self.reliability,
            link: *LINKS.get(usize::from(self.link))?,
            asserted_at: time(self.asserted_at),
            date_basis: match self.flags & (DATES_ADDRESS | DATES_ENTITY) {
                DATES_ADDRESS => Some(DateBasis::Address),
                DATES_ENTITY => Some(DateBasis::Entity),
                _ => None,
            },
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
