//! The clusters of a chain in one generation: its table, and what came behind it.

use std::sync::{Arc, OnceLock};

use headwater_types::Address;
use rustc_hash::FxHashMap;

use super::MAX_UNCOVERED;
use super::base::Base;
use super::file::ClusterFile;
use super::later::{ClusterCache, LaterClusters};
use super::payments::NumberedSegment;
use super::view::Clusters;
use crate::Cancel;
use crate::error::Result;
use crate::lineage::{CarriedSegments, SegmentIdentity};
use crate::segment::Segment;

/// A table and the places of the segments that it covers.
pub(crate) struct ClusterTable {
    pub(crate) file: Arc<ClusterFile>,
    pub(crate) covered: Vec<u32>,
}

/// The clusters of one chain in one generation.
#[derive(Default)]
pub(crate) struct ChainClusters {
    table: Option<ClusterTable>,
    later: OnceLock<Arc<LaterClusters>>,
    /// Labelled addresses by the name of their cluster.
    labelled: OnceLock<FxHashMap<Address, Vec<Address>>>,
}

impl ChainClusters {
    pub(crate) fn new(table: Option<ClusterTable>) -> Self {
        Self { table, ..Self::default() }
    }

    /// The labelled addresses by the name of their cluster, which `find` finds once.
    pub(crate) fn labelled(
        &self,
        find: impl FnOnce() -> Result<FxHashMap<Address, Vec<Address>>>,
    ) -> Result<&FxHashMap<Address, Vec<Address>>> {
        if let Some(found) = self.labelled.get() {
            return Ok(found);
        }
        let found = find()?;
        Ok(self.labelled.get_or_init(|| found))
    }

    /// The clusters; `places` are those of all segments of the chain. `None` when too much is outside of the table.
    pub(crate) fn clusters<'a>(
        &'a self,
        carried: &CarriedSegments<'a, ClusterCache>,
        places: &[u32],
        cancel: &Cancel,
    ) -> Result<Option<Clusters<'a>>> {
        let segments = carried.segments;
        let at = |place: &u32| &*segments[*place as usize];
        let is_sound = |table: &&ClusterTable| {
            let (covered, newer): (Vec<u32>, Vec<u32>) = places.iter().partition(|place| table.covered.contains(place));
            is_behind(&covered.iter().map(at).collect::<Vec<_>>(), &newer.iter().map(at).collect::<Vec<_>>())
        };
        let table = self.table.as_ref().filter(is_sound);
        let table = table.map(|table| (&table.file, &table.covered[..]));
        let covered = table.map_or(&[][..], |(_, covered)| covered);
        let newer: Vec<u32> = places.iter().copied().filter(|place| !covered.contains(place)).collect();
        let later = match self.later.get() {
            Some(later) => later,
            None => {
                let outside: u64 = newer.iter().map(|place| at(place).movements()).sum();
                if outside > MAX_UNCOVERED {
                    return Ok(None);
                }
                let later = later(carried, table, (places, &newer), cancel)?;
                self.later.get_or_init(|| later)
            }
        };
        let table = table.map(|(file, covered)| (&**file, covered));
        Ok(Some(Clusters { base: Base { segments, table }, later }))
    }
}

fn later(
    carried: &CarriedSegments<'_, ClusterCache>,
    table: Option<(&Arc<ClusterFile>, &[u32])>,
    (places, newer): (&[u32], &[u32]),
    cancel: &Cancel,
) -> Result<Arc<LaterClusters>> {
    let segments = carried.segments;
    let identities = |all: &[SegmentIdentity]| newer.iter().map(|place| all[*place as usize]).collect::<Vec<_>>();
    let cache = carried.cache.map(|(cache, all)| (cache, identities(all)));
    let file = table.map(|(file, _)| file);
    let held = cache.as_ref().and_then(|(cache, now)| cache.take_up(file, now));
    let (held, added) = held.unwrap_or_else(|| (Arc::default(), (0..newer.len()).collect()));
    let later = if added.is_empty() {
        held
    } else {
        let all: Vec<NumberedSegment<'_>> = places.iter().map(|place| (*place, &*segments[*place as usize])).collect();
        let added: Vec<u32> = added.into_iter().map(|at| newer[at]).collect();
        let mut later = LaterClusters::clone(&held);
        let base = Base { segments, table: table.map(|(file, covered)| (&**file, covered)) };
        later.extend(base, &all, &added, cancel)?;
        Arc::new(later)
    };
    if let Some((cache, now)) = cache {
        cache.keep(file, &now, &later);
    }
    Ok(later)
}

/// Returns whether segments come after all that others hold, so that the clusters of these stay valid.
pub(crate) fn is_behind(covered: &[&Segment], newer: &[&Segment]) -> bool {
    let last = covered.iter().filter_map(|segment| segment.block_range()).map(|range| range.1).max();
    let first = newer.iter().filter_map(|segment| segment.block_range()).map(|range| range.0).min();
    last.zip(first).is_none_or(|(last, first)| last < first)
}
