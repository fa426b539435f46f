//! The generation that a call reads.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::Ledger;
use super::feed::Feed;
use crate::error::Result;

/// A newest generation that cannot be read, while an earlier one is served in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleGeneration {
    /// The number of the generation that cannot be read.
    pub unreadable: u64,
    /// The number of the generation that is served.
    pub served: u64,
    /// The error, with its causes.
    pub error: String,
}

/// The source of the ledger of a call: the newest generation, or the one that a cursor pinned.
pub trait Generations: Send + Sync {
    /// The newest generation, commits of other processes included.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn current(&self) -> Result<Arc<dyn Ledger>>;

    /// Number of the newest generation, as of a millisecond before `now` at most, where it is known already and nothing
    /// has to be waited for; `None` says to ask for [`Generations::current`] on a thread that may block.
    fn at_hand(&self, now: Instant) -> Option<u64> {
        let _ = now;
        None
    }

    /// An earlier generation. It stays readable for [`KEPT_SECS`] seconds after it was replaced, and while a
    /// [`crate::store::PinnedStore`] of any process holds it.
    ///
    /// # Errors
    /// [`LedgerError::GenerationGone`] when it is no longer kept.
    fn generation(&self, number: u64) -> Result<Arc<dyn Ledger>>;

    /// Returns the digest of what a generation consists of: 32 hexadecimal digits, the XXH3-128 of its manifest, which
    /// lists every file with a digest. A copy of a store has the fingerprints of the original. `None` where there is no
    /// store behind it.
    ///
    /// Other than [`crate::store::LogicalDigest`] it takes no time to compute, and depends on the commits and segments
    /// that the content came in.
    ///
    /// # Errors
    /// As [`Generations::generation`].
    fn fingerprint(&self, number: u64) -> Result<Option<String>> {
        let _ = number;
        Ok(None)
    }

    /// Returns the newest generation that cannot be read while an earlier one is given in its place, as
    /// [`crate::Store::with_fallback`] says; `None` where the newest one is given.
    fn stale(&self) -> Option<Arc<StaleGeneration>> {
        None
    }

    /// The folder of the store behind it, which a [`crate::store::Writer`] takes; `None` where there is none.
    fn folder(&self) -> Option<&Path> {
        None
    }

    /// The change feed of the newest generation, commits of other processes included; without items where there is no
    /// store behind it.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn feed(&self) -> Result<Feed> {
        Ok(Feed::empty(self.current()?))
    }
}

/// The time a replaced generation stays readable if no reader holds it, in seconds.
pub const KEPT_SECS: u64 = 15 * 60;
