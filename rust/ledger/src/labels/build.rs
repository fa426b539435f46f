//! Writing a label file.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use headwater_types::{Chain, Timestamp};

use super::claim::Claim;
use super::file::{CLAIMS, FILTER, FIRST, KEYS, LabelFile, NAMES, SLOTS, STARTS, SUMMARY, Summary, TEXT_STARTS, TEXTS};
use super::filter;
use super::key::Key;
use super::record::{NO_TEXT, Record, Terms, Texts, names};
use crate::LedgerError;
use crate::error::Result;
use crate::segment::SegmentFile;

/// A claim on its way into a file, and whether the import states it itself.
pub(crate) struct ClaimDraft {
    pub(crate) claim: Claim,
    pub(crate) is_own: bool,
}

/// Most claims of one import: their numbers are of 32 bits.
const MAX_CLAIMS: usize = u32::MAX as usize / 2;

/// Writes the claims of one import, in whatever order they are given. Repeated claims are written once.
pub(crate) fn build(claims: &mut Vec<ClaimDraft>, out: &mut dyn Write) -> Result<()> {
    claims.sort_by_cached_key(|written| (Key::of(&written.claim.address), !written.is_own));
    sort_within_addresses(claims);
    claims.dedup_by(|later, earlier| later.claim == earlier.claim);
    if claims.len() > MAX_CLAIMS {
        return Err(LedgerError::SegmentFull { what: "claims of one import", limit: MAX_CLAIMS as u64 });
    }

    let mut rows = Rows::default();
    for written in claims.iter() {
        rows.push(written);
    }
    rows.put(out)
}

/// The order of keys is settled; claims about one address follow by what they say.
fn sort_within_addresses(claims: &mut [ClaimDraft]) {
    for of_address in claims.chunk_by_mut(|one, other| one.claim.address == other.claim.address) {
        of_address.sort_by(|one, other| one.claim.cmp(&other.claim).then(other.is_own.cmp(&one.is_own)));
    }
}

#[derive(Default)]
struct Rows {
    own: u64,
    newest: Option<i64>,
    chains: u64,
    hashes: Vec<u64>,
    last: Option<Key>,
    starts: Vec<u32>,
    keys: Vec<u8>,
    first: Vec<u32>,
    records: Vec<Record>,
    texts: TextTable,
}

impl Rows {
    fn push(&mut self, ClaimDraft { claim, is_own }: &ClaimDraft) {
        let key = Key::of(&claim.address);
        if self.last != Some(key) {
            self.hashes.push(key.hash());
            self.starts.push(small(self.keys.len()));
            self.keys.extend_from_slice(key.as_slice());
            self.first.push(small(self.records.len()));
            self.last = Some(key);
        }
        let terms = Terms {
            scope: claim.scope,
            code: claim.code,
            level: claim.level,
            reliability: claim.reliability,
            link: claim.link,
            asserted_at: claim.asserted_at,
            date_basis: claim.date_basis,
            last_seen: claim.last_seen,
            valid_until: claim.valid_until,
            action: claim.action,
            is_own: *is_own,
        };
        let texts = Texts {
            name: self.texts.place(claim.name.as_ref()),
            entity: self.texts.place(claim.entity.as_ref()),
            source: self.texts.place(Some(&claim.source)),
            source_url: self.texts.place(claim.source_url.as_ref()),
            group: self.texts.place(Some(&claim.group)),
        };
        for (bit, _) in (0..).zip(Chain::all()).filter(|(_, chain)| claim.scope.contains(*chain)) {
            self.chains |= 1 << bit;
        }
        self.own += u64::from(*is_own);
        self.newest = self.newest.max(claim.asserted_at.map(Timestamp::secs));
        self.records.push(Record::new(&terms, &texts));
    }

    fn put(mut self, out: &mut dyn Write) -> Result<()> {
        self.starts.push(small(self.keys.len()));
        self.first.push(small(self.records.len()));
        let mut file = SegmentFile::begin_for_all_chains(out)?;
        let newest = self.newest.unwrap_or(i64::MIN);
        file.put(SUMMARY, &[Summary { own: self.own, newest, chains: self.chains }])?;
        file.put(NAMES, names().as_bytes())?;
        file.put(FILTER, &filter::build(self.hashes.iter().copied()))?;
        file.put(SLOTS, &slots(&self.hashes))?;
        file.put(STARTS, &self.starts)?;
        file.put(KEYS, &self.keys)?;
        file.put(FIRST, &self.first)?;
        file.put(CLAIMS, &self.records)?;
        file.put(TEXT_STARTS, &self.texts.starts())?;
        file.put(TEXTS, &self.texts.bytes)?;
        file.finish().map(drop)
    }
}

/// A hash table that is at most half full.
fn slots(hashes: &[u64]) -> Vec<u32> {
    let mut slots = vec![0; (hashes.len() * 2).max(1)];
    let count = slots.len();
    for (place, hash) in hashes.iter().enumerate() {
        let mut slot = filter::place(*hash, count);
        while slots[slot] != 0 {
            slot = (slot + 1) % count;
        }
        slots[slot] = small(place + 1);
    }
    slots
}

/// Distinct texts, in the order in which they come first.
#[derive(Default)]
struct TextTable {
    places: HashMap<Arc<str>, u32>,
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

impl TextTable {
    fn place(&mut self, text: Option<&Arc<str>>) -> u32 {
        let Some(text) = text else { return NO_TEXT };
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = small(self.ends.len());
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len() as u64);
        self.places.insert(Arc::clone(text), place);
        place
    }

    fn starts(&self) -> Vec<u64> {
        std::iter::once(0).chain(self.ends.iter().copied()).collect()
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).expect("an import has fewer than 2^31 claims")
}

impl LabelFile {
    /// The claims that the import states itself.
    pub(crate) fn own_claims(&self) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        self.each(&mut |(claim, is_own)| {
            if is_own {
                claims.push(claim.to_owned());
            }
            Ok(())
        })?;
        Ok(claims)
    }
}
