//! The holders of a chain in one generation: its table, and what changed outside of it.

use std::sync::{Arc, OnceLock};

use headwater_types::{Amount, Asset};

use super::MAX_UNCOVERED;
use super::carried::{Changes, HolderCache, Sources, changes_of};
use super::file::{AssetRows, HolderFile};
use super::moments::Moments;
use super::records::Holders;
use super::slots::SlotView;
use crate::error::Result;
use crate::lineage::{CarriedSegments, SegmentIdentity};
use crate::segment::{Segment, openings_of};

/// A table and the places of the segments that it covers.
pub(crate) struct HolderTable {
    pub(crate) file: Arc<HolderFile>,
    pub(crate) covered: Vec<u32>,
}

/// The holders of one chain in one generation.
#[derive(Default)]
pub(crate) struct ChainHolders {
    table: Option<HolderTable>,
    changes: OnceLock<Arc<Changes>>,
}

impl ChainHolders {
    pub(crate) fn new(table: Option<HolderTable>) -> Self {
        Self { table, changes: OnceLock::new() }
    }

    /// The holders of an asset; `places` are those of all segments of the chain. `None` when too much is outside of the
    /// table.
    pub(crate) fn holders<'a>(
        &'a self,
        carried: &CarriedSegments<'a, HolderCache>,
        places: &[u32],
        asset: &Asset,
    ) -> Result<Option<Holders<'a>>> {
        let segments = carried.segments;
        let table = match &self.table {
            Some(table) if self.is_overtaken(segments, places)? => None,
            table => table.as_ref(),
        };
        let covered = table.map_or(&[][..], |table| &table.covered);
        let newer: Vec<u32> = places.iter().copied().filter(|place| !covered.contains(place)).collect();
        let changes = if newer.is_empty() {
            None
        } else {
            let outside: u64 = newer.iter().map(|place| segments[*place as usize].balance_changes()).sum();
            if outside > MAX_UNCOVERED {
                return Ok(None);
            }
            let file = table.map(|table| &table.file);
            Some(self.changes(carried, &Sources { segments, table: file, covered, newer: &newer })?)
        };
        let view = SlotView { segments, covered, places: changes.map(|changes| &changes.slots) };
        let changes = changes.and_then(|changes| changes.by_asset.get(asset)).map(|changes| &**changes);
        let rows = match table {
            Some(table) => table.file.rows(asset, &table.covered)?,
            None => None,
        };
        let mut holders = Holders {
            view,
            count: rows.as_ref().map_or(0, AssetRows::count),
            negative: rows.as_ref().map_or(0, AssetRows::negative),
            total: rows.as_ref().map_or(Some(Amount::ZERO), AssetRows::total),
            rows,
            changes,
        };
        if let Some(changes) = changes {
            holders.count = holders.count - changes.gone.len() as u64 + changes.new.len() as u64;
            holders.negative = holders.negative - changes.negative_gone + changes.negative_new;
            let held = holders.rows.as_ref().map_or(Ok(Moments::default()), AssetRows::moments)?.top();
            holders.total = held.without(changes.old.all()).with(changes.new.all()).amount();
        }
        Ok(Some(holders))
    }

    /// Returns whether segments outside of the table begin a history anew that it adds up from its beginning.
    fn is_overtaken(&self, segments: &[Arc<Segment>], places: &[u32]) -> Result<bool> {
        let Some(table) = &self.table else { return Ok(false) };
        let (covered, newer): (Vec<u32>, Vec<u32>) = places.iter().partition(|place| table.covered.contains(place));
        let of = |places: Vec<u32>| places.into_iter().map(|place| &*segments[place as usize]).collect::<Vec<_>>();
        is_overtaken(&of(covered), &of(newer))
    }

    fn changes(&self, carried: &CarriedSegments<'_, HolderCache>, sources: &Sources<'_>) -> Result<&Changes> {
        if let Some(found) = self.changes.get() {
            return Ok(found);
        }
        let found = match carried.cache {
            Some((cache, all)) => {
                let identities: Vec<SegmentIdentity> = sources.newer.iter().map(|place| all[*place as usize]).collect();
                cache.changes(sources, &identities)?
            }
            None => changes_of(sources)?,
        };
        Ok(self.changes.get_or_init(|| found))
    }
}

/// Returns whether an opening in newer segments takes anything out of the balances that others come to by themselves.
pub(crate) fn is_overtaken(covered: &[&Segment], newer: &[&Segment]) -> Result<bool> {
    let (before, after) = (openings_of(covered.iter().copied()), openings_of(newer.iter().copied()));
    for (asset, opening) in &after {
        if before.get(asset).is_some_and(|held| held.block >= opening.block) {
            continue;
        }
        for segment in covered {
            let may_hold = segment.block_range().is_some_and(|(first, _)| first <= opening.block);
            if may_hold && segment.asset_id(asset)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
