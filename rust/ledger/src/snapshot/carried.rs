//! What generations of a chain derive of its segments and hand on to the next one.

use crate::clusters::ClusterCache;
use crate::holders::HolderCache;

/// What the newest generations that were asked derived of a chain. Held by all of them, and as large as what one holds.
#[derive(Default)]
pub(crate) struct Carried {
    pub(crate) holders: HolderCache,
    pub(crate) clusters: ClusterCache,
}
