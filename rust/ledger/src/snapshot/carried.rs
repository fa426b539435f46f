//! Tables that generations of a chain derive of its segments and pass to the next one.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_types::Chain;

use super::Snapshot;
use crate::clusters::ClusterCache;
use crate::holders::HolderCache;
use crate::lineage::{CarriedSegments, SegmentIdentity};

/// Tables that the newest generations derived of a chain. Held by all of them, and as large as those of one.
#[derive(Default)]
pub(crate) struct CarriedTables {
    pub(crate) holders: HolderCache,
    pub(crate) clusters: ClusterCache,
}

impl Snapshot {
    /// With the contents of its segments, and what generations hand on of each chain.
    pub(crate) fn with_carried(self, contents: Vec<u128>, carried: BTreeMap<Chain, Arc<CarriedTables>>) -> Self {
        let placed = self.segments.iter().zip(contents);
        let identities = placed.map(|(segment, content)| SegmentIdentity::of(segment, content)).collect();
        Self { identities, carried, ..self }
    }

    /// The segments, and what generations hand on of one kind.
    pub(super) fn carried_of<T>(&self, chain: Chain, kind: impl Fn(&CarriedTables) -> &T) -> CarriedSegments<'_, T> {
        let cache = self.carried.get(&chain).map(|carried| kind(carried));
        CarriedSegments { segments: &self.segments, cache: cache.map(|cache| (cache, &self.identities[..])) }
    }
}
