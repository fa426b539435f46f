//! Changes outside of a table, handed on from generation to generation: each continues from what the one before found,
//! adds what its new segments hold and takes out what those that are gone held.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use headwater_types::{Address, Amount, Asset};
use rustc_hash::FxHashMap;

use super::changes::{AssetChanges, Standing};
use super::file::HolderFile;
use super::ordered::HolderChange;
use super::slots::SlotPlaces;
use crate::error::Result;
use crate::lineage::{SegmentDiff, SegmentIdentity, compare};
use crate::primitives::Opening;
use crate::segment::{HistoryStart, Segment, openings_of};

/// The changes that all segments outside of a table make.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) by_asset: BTreeMap<Asset, Arc<AssetChanges>>,
    pub(super) slots: SlotPlaces,
}

/// The findings of the generation that was asked last, for the next one.
#[derive(Default)]
pub(crate) struct HolderCache(Mutex<Option<State>>);

/// The table of a generation and the places of its segments.
pub(super) struct Sources<'a> {
    pub(super) segments: &'a [Arc<Segment>],
    pub(super) table: Option<&'a Arc<HolderFile>>,
    pub(super) covered: &'a [u32],
    pub(super) newer: &'a [u32],
}

impl Sources<'_> {
    fn at(&self, place: u32) -> &Arc<Segment> {
        &self.segments[place as usize]
    }

    fn openings(&self) -> BTreeMap<Asset, Opening> {
        openings_of(self.covered.iter().chain(self.newer).map(|place| &**self.at(*place)))
    }
}

impl HolderCache {
    /// Returns the changes of a generation; `identities` are those of its segments outside of the table.
    pub(super) fn changes(&self, sources: &Sources<'_>, identities: &[SegmentIdentity]) -> Result<Arc<Changes>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A state is lost with an error, so that none is half changed.
        let continued = match kept.take() {
            Some(mut state) => state.advance(sources, identities)?.then_some(state),
            None => None,
        };
        let state = match continued {
            Some(state) => state,
            None => State::new(sources, identities)?,
        };
        let changes = state.changes(sources);
        *kept = Some(state);
        Ok(changes)
    }
}

/// Returns the changes of a generation that hands nothing on.
pub(super) fn changes_of(sources: &Sources<'_>) -> Result<Arc<Changes>> {
    let identities = (0..).zip(sources.newer).map(|(content, _)| SegmentIdentity { content, blocks: None });
    Ok(State::new(sources, &identities.collect::<Vec<_>>())?.changes(sources))
}

/// A segment outside of the table that was read.
struct ReadSegment {
    identity: SegmentIdentity,
    segment: Arc<Segment>,
    slot: u32,
}

/// The sums of one account and asset over all segments, the table's included.
#[derive(Clone, Copy)]
struct AccountSums {
    came: Amount,
    sent: Amount,
    account: (u32, u32),
    /// True if the row of the table, where there is one, is replaced.
    is_replaced: bool,
}

impl AccountSums {
    fn standing(&self) -> Standing {
        Standing::of(self.came, self.sent)
    }

    /// Sums that reached the largest amount: nothing can be taken out of them.
    fn is_saturated(&self) -> bool {
        self.came == Amount::MAX || self.sent == Amount::MAX
    }
}

/// An account and the number of an asset.
type SumsKey = (Address, u32);

struct State {
    table: Option<Arc<HolderFile>>,
    openings: BTreeMap<Asset, Opening>,
    /// By number of the table.
    covered: Vec<NumberedSegment>,
    read: Vec<ReadSegment>,
    /// Slots of segments that were merged, and the slot that each leads to.
    merged: HashMap<u32, u32>,
    next_slot: u32,
    assets: Vec<Asset>,
    numbers: FxHashMap<Asset, u32>,
    sums: FxHashMap<SumsKey, AccountSums>,
    by_asset: BTreeMap<Asset, Arc<AssetChanges>>,
}

/// A segment with what its holdings are read with.
struct NumberedSegment {
    segment: Arc<Segment>,
    begins: Vec<HistoryStart>,
    /// The numbers of its assets.
    numbers: Vec<u32>,
    /// Its assets by number.
    locals: FxHashMap<u32, u32>,
}

impl State {
    fn new(sources: &Sources<'_>, identities: &[SegmentIdentity]) -> Result<Self> {
        let covered = sources.covered.len();
        let mut this = Self {
            table: sources.table.cloned(),
            openings: sources.openings(),
            covered: Vec::with_capacity(covered),
            read: Vec::new(),
            merged: HashMap::new(),
            next_slot: u32::try_from(covered).unwrap_or(u32::MAX),
            assets: Vec::new(),
            numbers: FxHashMap::default(),
            sums: FxHashMap::default(),
            by_asset: BTreeMap::new(),
        };
        for place in sources.covered {
            let numbered = this.numbered(sources.at(*place))?;
            this.covered.push(numbered);
        }
        this.take(&[], &sources.newer.iter().map(|place| sources.at(*place)).collect::<Vec<_>>(), identities)?;
        Ok(this)
    }

    fn numbered(&mut self, segment: &Arc<Segment>) -> Result<NumberedSegment> {
        let begins = if self.openings.is_empty() { Vec::new() } else { segment.begins(&self.openings)? };
        let mut numbers = Vec::new();
        for id in 0..segment.assets()? {
            let asset = segment.asset(id)?;
            let next = u32::try_from(self.assets.len()).unwrap_or(u32::MAX);
            let number = *self.numbers.entry(asset).or_insert(next);
            if number == next {
                self.assets.push(asset);
            }
            numbers.push(number);
        }
        let locals = numbers.iter().copied().zip(0..).collect();
        Ok(NumberedSegment { segment: Arc::clone(segment), begins, numbers, locals })
    }

    /// Continues to a generation; returns whether that was possible. If not, or after an error, the state is void.
    fn advance(&mut self, sources: &Sources<'_>, identities: &[SegmentIdentity]) -> Result<bool> {
        let is_same = self.table.as_ref().map(Arc::as_ptr) == sources.table.map(Arc::as_ptr)
            && self.covered.len() == sources.covered.len();
        if !is_same || self.openings != sources.openings() {
            return Ok(false);
        }
        let known: Vec<SegmentIdentity> = self.read.iter().map(|read| read.identity).collect();
        let SegmentDiff { kept, merged, removed, added } = compare(&known, identities);
        let size = |segment: &Segment| segment.balance_changes();
        let gone: u64 = removed.iter().map(|at| size(&self.read[*at].segment)).sum();
        let all: u64 = sources.newer.iter().map(|place| size(sources.at(*place))).sum();
        if gone > all / 2 {
            return Ok(false);
        }
        for (at, now) in kept {
            // A reader may have opened the file anew.
            self.read[at].segment = Arc::clone(sources.at(sources.newer[now]));
        }
        let mut is_gone = vec![false; self.read.len()];
        for at in &removed {
            is_gone[*at] = true;
        }
        for (from, at) in merged {
            let slot = self.take_slot();
            for from in from {
                is_gone[from] = true;
                let old = self.read[from].slot;
                self.merged.values_mut().filter(|to| **to == old).for_each(|to| *to = slot);
                self.merged.insert(old, slot);
            }
            let segment = Arc::clone(sources.at(sources.newer[at]));
            self.read.push(ReadSegment { identity: identities[at], segment, slot });
            is_gone.push(false);
        }
        let removed: Vec<Arc<Segment>> = removed.into_iter().map(|at| Arc::clone(&self.read[at].segment)).collect();
        let mut is_gone = is_gone.into_iter();
        self.read.retain(|_| !is_gone.next().unwrap_or(false));
        let new: Vec<&Arc<Segment>> = added.iter().map(|at| sources.at(sources.newer[*at])).collect();
        let identities: Vec<SegmentIdentity> = added.iter().map(|at| identities[*at]).collect();
        self.take(&removed, &new, &identities)
    }

    fn take_slot(&mut self) -> u32 {
        self.next_slot += 1;
        self.next_slot - 1
    }

    /// Takes segments out and others in; returns whether that was possible.
    fn take(
        &mut self,
        removed: &[Arc<Segment>],
        added: &[&Arc<Segment>],
        identities: &[SegmentIdentity],
    ) -> Result<bool> {
        // Accounts whose sums change, with what they had before.
        let mut before: FxHashMap<SumsKey, Standing> = FxHashMap::default();
        for segment in removed {
            if !self.subtract(segment, &mut before)? {
                return Ok(false);
            }
        }
        for (segment, identity) in added.iter().zip(identities) {
            let slot = self.take_slot();
            self.add(segment, slot, &mut before)?;
            self.read.push(ReadSegment { identity: *identity, segment: Arc::clone(segment), slot });
        }
        let mut by_asset: BTreeMap<u32, Vec<(Address, Standing)>> = BTreeMap::new();
        for ((address, asset), standing) in before {
            by_asset.entry(asset).or_default().push((address, standing));
        }
        for (asset, changed) in by_asset {
            self.replace_rows(asset, changed)?;
        }
        Ok(true)
    }

    fn subtract(&mut self, segment: &Arc<Segment>, before: &mut FxHashMap<SumsKey, Standing>) -> Result<bool> {
        let numbered = self.numbered(segment)?;
        for id in 0..segment.accounts()? {
            let address = segment.address(id)?;
            for held in segment.holdings(id, &numbered.begins)? {
                let key = (address, numbered.numbers[held.asset as usize]);
                let Some(sums) = self.sums.get_mut(&key).filter(|sums| !sums.is_saturated()) else {
                    return Ok(false);
                };
                before.entry(key).or_insert_with(|| sums.standing());
                let came = held.opening.checked_add(held.received).and_then(|came| sums.came.checked_sub(came));
                let (Some(came), Some(sent)) = (came, sums.sent.checked_sub(held.sent)) else { return Ok(false) };
                (sums.came, sums.sent) = (came, sent);
            }
        }
        Ok(true)
    }

    fn add(&mut self, segment: &Arc<Segment>, slot: u32, before: &mut FxHashMap<SumsKey, Standing>) -> Result<()> {
        let numbered = self.numbered(segment)?;
        for id in 0..segment.accounts()? {
            let holdings = segment.holdings(id, &numbered.begins)?;
            if holdings.is_empty() {
                continue;
            }
            let address = segment.address(id)?;
            let mut in_table = None;
            for held in holdings {
                let key = (address, numbered.numbers[held.asset as usize]);
                if !self.sums.contains_key(&key) {
                    let in_table = match &in_table {
                        Some(in_table) => in_table,
                        None => in_table.insert(self.places_in_table(&address)?),
                    };
                    let (came, sent) = self.sums_of_table(in_table, key.1)?;
                    let account = in_table.first().copied().unwrap_or((slot, id));
                    self.sums.insert(key, AccountSums { came, sent, account, is_replaced: false });
                }
                let Some(sums) = self.sums.get_mut(&key) else { continue };
                before.entry(key).or_insert_with(|| sums.standing());
                // Sums past 256 bits stay at the largest amount, as inside a segment.
                let add = |sum: Amount, amount: Amount| sum.checked_add(amount).unwrap_or(Amount::MAX);
                sums.came = add(add(sums.came, held.opening), held.received);
                sums.sent = add(sums.sent, held.sent);
                if sums.account.0 as usize >= self.covered.len() {
                    sums.account = (slot, id);
                }
            }
        }
        Ok(())
    }

    /// Returns the numbers of the segments of the table that have an account, and the account there.
    fn places_in_table(&self, address: &Address) -> Result<Vec<(u32, u32)>> {
        let mut places = Vec::new();
        for (number, covered) in (0..).zip(&self.covered) {
            places.extend(covered.segment.account(address)?.map(|id| (number, id)));
        }
        Ok(places)
    }

    /// Returns what came to an account and what it sent of an asset in the segments of the table.
    fn sums_of_table(&self, places: &[(u32, u32)], asset: u32) -> Result<(Amount, Amount)> {
        let (mut came, mut sent) = (Amount::ZERO, Amount::ZERO);
        let add = |sum: &mut Amount, amount: Amount| *sum = sum.checked_add(amount).unwrap_or(Amount::MAX);
        for (number, id) in places {
            let covered = &self.covered[*number as usize];
            let Some(local) = covered.locals.get(&asset) else { continue };
            if let Some(held) = covered.segment.holding(*id, *local, &covered.begins)? {
                add(&mut came, held.opening);
                add(&mut came, held.received);
                add(&mut sent, held.sent);
            }
        }
        Ok((came, sent))
    }

    /// Puts the rows of accounts that changed into the changes of an asset.
    fn replace_rows(&mut self, asset: u32, mut changed: Vec<(Address, Standing)>) -> Result<()> {
        let name = self.assets[asset as usize];
        let table = self.table.clone();
        let numbers: Vec<u32> = (0..).take(self.covered.len()).collect();
        let rows = table.as_ref().map(|table| table.rows(&name, &numbers)).transpose()?.flatten();
        let sums = &mut self.sums;
        changed.retain(|(address, old)| sums.get(&(*address, asset)).is_some_and(|sums| sums.standing() != *old));
        if changed.is_empty() {
            return Ok(());
        }
        let changes = Arc::make_mut(self.by_asset.entry(name).or_default());
        changes.begin_update();
        for (address, old) in changed {
            let Some(sums) = sums.get_mut(&(address, asset)) else { continue };
            let account = sums.account;
            let row = |balance| HolderChange { balance, address, account };
            changes.replace(rows.as_ref(), (old, sums.is_replaced), sums.standing(), &row)?;
            sums.is_replaced = true;
        }
        Ok(())
    }

    fn changes(&self, sources: &Sources<'_>) -> Arc<Changes> {
        let place = |segment: &Arc<Segment>| {
            sources.newer.iter().copied().find(|place| Arc::ptr_eq(sources.at(*place), segment))
        };
        let newer: HashMap<u32, u32> =
            self.read.iter().filter_map(|read| Some((read.slot, place(&read.segment)?))).collect();
        let to_place = |(slot, to): (&u32, &u32)| Some((*slot, *newer.get(to)?));
        let merged = self.merged.iter().filter_map(to_place).collect();
        Arc::new(Changes { by_asset: self.by_asset.clone(), slots: SlotPlaces { newer, merged } })
    }
}
