//! What generations of a chain derive of its segments and hand on to the next one.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_types::Chain;

use super::Snapshot;
use crate::clusters::ClusterCache;
use crate::holders::HolderCache;
use crate::lineage::{CarriedSegments, SegmentIdentity};

/// What the newest generations that were asked derived of a chain. Held by all of them, and as large as what one holds.
#[derive(Default)]
pub(crate) struct Carried {
    pub(crate) holders: HolderCache,
    pub(crate) clusters: ClusterCache,
}

impl Snapshot {
    /// With the contents of its segments, and what generations hand on of each chain.
    pub(crate) fn with_carried(self, contents: Vec<u128>, carried: BTreeMap<Chain, Arc<Carried>>) -> Self {
        let placed = self.segments.iter().zip(contents);
        let identities = placed.map(|(segment, content)| SegmentIdentity::of(segment, content)).collect();
        Self { identities, carried, ..self }
    }

    /// The segments, and what generations hand on of one kind.
    pub(super) fn carried_of<T>(&self, chain: Chain, kind: impl Fn(&Carried) -> &T) -> CarriedSegments<'_, T> {
        let cache = self.carried.get(&chain).map(|carried| kind(carried));
        CarriedSegments { segments: &self.segments, cache: cache.map(|cache| (cache, &self.identities[..])) }
    }
}
