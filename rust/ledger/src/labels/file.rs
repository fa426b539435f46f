//! A label file: the claims of one import, sorted by address, and an index by hash.
//!
//! ```text
//! label.summary    claims of the import itself, their newest date, their chains
//! label.names      codes, levels and chains that claims number
//! label.filter     a Bloom filter of the hashes of the addresses
//! label.slots      hash table with linear probing, at most half full: place of the address + 1, or 0
//! label.starts     where the key of each address begins in label.keys, and where the last one ends
//! label.keys       family byte and address key, ascending
//! label.first      the first claim of each address, and the end of the last one
//! label.claims     56 bytes each, see `record`
//! label.text_starts, label.texts   distinct texts
//! ```
//!
//! An address without a claim costs one hash and one cache line.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytemuck::{Pod, Zeroable};
use headwater_types::{Address, Chain};

use super::claim::Claim;
use super::filter::{self, Block};
use super::key::Key;
use super::name_index::{INDEX_MEMORY, MENTIONS_OF_A_PART, Mention, NameIndex};
use super::record::{NO_TEXT, Record, Vocabulary};
use crate::error::Result;
use crate::segment::{Column, Container, Section};
use crate::{Cancel, LedgerError};

pub(super) const SUMMARY: Section<Summary> = Section::new("label.summary");
pub(super) const NAMES: Section<u8> = Section::new("label.names");
pub(super) const FILTER: Section<Block> = Section::new("label.filter");
pub(super) const SLOTS: Section<u32> = Section::new("label.slots");
pub(super) const STARTS: Section<u32> = Section::new("label.starts");
pub(super) const KEYS: Section<u8> = Section::new("label.keys");
pub(super) const FIRST: Section<u32> = Section::new("label.first");
pub(super) const CLAIMS: Section<Record> = Section::new("label.claims");
pub(super) const TEXT_STARTS: Section<u64> = Section::new("label.text_starts");
pub(super) const TEXTS: Section<u8> = Section::new("label.texts");

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Summary {
    /// Claims that the import states itself.
    pub(super) own: u64,
    /// The newest time of assertion, or the least number for none.
    pub(super) newest: i64,
    /// A bit for each chain on which a claim holds.
    pub(super) chains: u64,
}

/// The claims of one import, open.
pub(crate) struct LabelFile {
    summary: Summary,
    vocabulary: Vocabulary,
    filter: Column<Block>,
    slots: Column<u32>,
    starts: Column<u32>,
    keys: Column<u8>,
    first: Column<u32>,
    claims: Column<Record>,
    text_starts: Column<u64>,
    texts: Column<u8>,
    /// The names of its claims, once somebody looks for one.
    names: OnceLock<Vec<NameIndex>>,
}

/// A stored claim, and whether the import states it itself or an earlier one of the list did, which ended.
pub(crate) type StoredClaim<'a> = (Claim<&'a str>, bool);

impl LabelFile {
    pub(crate) fn read(file: Container) -> Result<Self> {
        let file = Arc::new(file);
        let summary = file.column(SUMMARY)?.get(0)?;
        let names = file.column(NAMES)?;
        let text = std::str::from_utf8(names.all()?).map_err(|_| names.wrong(0, "begins names that are not UTF-8"))?;
        Ok(Self {
            summary,
            vocabulary: Vocabulary::read(text),
            filter: file.column(FILTER)?,
            slots: file.column(SLOTS)?,
            starts: file.column(STARTS)?,
            keys: file.column(KEYS)?,
            first: file.column(FIRST)?,
            claims: file.column(CLAIMS)?,
            text_starts: file.column(TEXT_STARTS)?,
            texts: file.column(TEXTS)?,
            names: OnceLock::new(),
        })
    }

    /// Claims that the import states itself.
    pub(crate) const fn own(&self) -> u64 {
        self.summary.own
    }

    /// The newest time of assertion.
    pub(super) const fn newest(&self) -> i64 {
        self.summary.newest
    }

    /// The chains on which a claim of the file holds.
    pub(crate) fn chains(&self) -> impl Iterator<Item = Chain> {
        self.vocabulary.chains(self.summary.chains)
    }

    /// Number of addresses.
    pub(super) fn addresses(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Shows the claims about an address.
    pub(super) fn visit<'a>(
        &'a self,
        (address, key, hash): (&Address, &Key, u64),
        visit: &mut dyn FnMut(StoredClaim<'a>),
    ) -> Result<()> {
        let Some(place) = self.find(key, hash)? else { return Ok(()) };
        for number in self.claims_of(place)? {
            visit(self.claim(*address, number)?);
        }
        Ok(())
    }

    /// Returns whether it has a claim about an address.
    pub(super) fn holds(&self, key: &Key, hash: u64) -> Result<bool> {
        Ok(self.find(key, hash)?.is_some())
    }

    /// Shows all claims, in order of address.
    pub(crate) fn each<'a>(&'a self, visit: &mut dyn FnMut(StoredClaim<'a>) -> Result<()>) -> Result<()> {
        for place in 0..self.addresses() {
            let address = self.address(place)?;
            for number in self.claims_of(place)? {
                visit(self.claim(address, number)?)?;
            }
        }
        Ok(())
    }

    fn find(&self, key: &Key, hash: u64) -> Result<Option<usize>> {
        let block = self.filter.get(filter::place(hash, self.filter.len()))?;
        if !filter::may_hold(&block, hash) {
            return Ok(None);
        }
        let mut slot = filter::place(hash, self.slots.len());
        for _ in 0..self.slots.len() {
            match self.slots.get(slot)? {
                0 => return Ok(None),
                place => {
                    let place = place as usize - 1;
                    if self.key(place)? == key.as_slice() {
                        return Ok(Some(place));
                    }
                }
            }
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
        }
        Err(self.slots.wrong(0, "begins a table without an empty slot"))
    }

    pub(super) fn key(&self, place: usize) -> Result<&[u8]> {
        let (from, to) = (self.starts.get(place)? as usize, self.starts.get(place + 1)? as usize);
        self.keys.slice(from..to)
    }

    pub(super) fn address(&self, place: usize) -> Result<Address> {
        Key::address(self.key(place)?).ok_or_else(|| self.starts.wrong(place, "begins a key of no address"))
    }

    pub(super) fn claims_of(&self, place: usize) -> Result<Range<usize>> {
        Ok(self.first.get(place)? as usize..self.first.get(place + 1)? as usize)
    }

    pub(super) fn claim(&self, address: Address, number: usize) -> Result<StoredClaim<'_>> {
        let record = self.claims.get(number)?;
        let terms = record.terms(&self.vocabulary).ok_or_else(|| self.unknown(number))?;
        let claim = Claim {
            address,
            scope: terms.scope,
            code: terms.code,
            name: self.text(record.name)?,
            entity: self.text(record.entity)?,
            source: self.text(record.source)?.ok_or_else(|| self.unknown(number))?,
            source_url: self.text(record.source_url)?,
            group: self.text(record.group)?.ok_or_else(|| self.unknown(number))?,
            level: terms.level,
            reliability: terms.reliability,
            link: terms.link,
            asserted_at: terms.asserted_at,
            date_basis: terms.date_basis,
            last_seen: terms.last_seen,
            valid_until: terms.valid_until,
            action: terms.action,
            dispute: None,
        };
        Ok((claim, terms.is_own))
    }

    /// The indexes of the names of its claims, each about a part of its addresses. The first call builds them one after the
    /// other, in memory for one of them: O(claims + words · log words).
    pub(super) fn names(&self, cancel: &Cancel) -> Result<&[NameIndex]> {
        if let Some(names) = self.names.get() {
            return Ok(names);
        }
        let (mut parts, mut first) = (Vec::new(), 0);
        while first < self.addresses() {
            cancel.check()?;
            let (mut mentions, mut held) = (Vec::new(), cancel.holding(INDEX_MEMORY));
            while first < self.addresses() && mentions.len() < MENTIONS_OF_A_PART {
                self.add_mentions(first, &mut mentions)?;
                held.reach(mentions.len() * size_of::<Mention>())?;
                first += 1;
            }
            let text_of = |text| Ok(self.text(text)?.unwrap_or_default());
            parts.push(NameIndex::build(mentions, text_of, (held, cancel))?);
        }
        Ok(self.names.get_or_init(|| parts))
    }

    /// Adds the names of the claims about the address at a place.
    fn add_mentions(&self, place: usize, mentions: &mut Vec<Mention>) -> Result<()> {
        for number in self.claims_of(place)? {
            let Record { name, entity, reliability, .. } = self.claims.get(number)?;
            let place = u32::try_from(place).expect("an import has fewer than 2^31 addresses");
            let texts = [(name, false), (entity, true)].into_iter().filter(|(text, _)| *text != NO_TEXT);
            mentions.extend(texts.map(|(text, is_entity)| Mention { text, is_entity, place, reliability }));
        }
        Ok(())
    }

    /// Returns whether a claim about an address holds on a chain.
    pub(super) fn holds_on(&self, place: usize, chain: Chain) -> Result<bool> {
        for number in self.claims_of(place)? {
            let record = self.claims.get(number)?;
            if record.terms(&self.vocabulary).ok_or_else(|| self.unknown(number))?.scope.contains(chain) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn text(&self, place: u32) -> Result<Option<&str>> {
        if place == NO_TEXT {
            return Ok(None);
        }
        let place = place as usize;
        let bound = |at: usize| Ok::<_, LedgerError>(usize::try_from(self.text_starts.get(at)?).unwrap_or(usize::MAX));
        let bytes = self.texts.slice(bound(place)?..bound(place + 1)?)?;
        let wrong = |_| self.text_starts.wrong(place, "begins a text that is not UTF-8");
        std::str::from_utf8(bytes).map(Some).map_err(wrong)
    }

    #[cold]
    fn unknown(&self, number: usize) -> LedgerError {
        self.claims.wrong(number, "has a code, level or chain that this version does not know: import the list again")
    }
}
