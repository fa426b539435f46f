//! The generation that a call reads.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::Ledger;
use super::feed::Feed;
use crate::error::Result;

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

    /// An earlier generation. It stays readable for [`KEPT_SECS`] seconds after it was replaced.
    ///
    /// # Errors
    /// [`LedgerError::GenerationGone`] when it is no longer kept.
    fn generation(&self, number: u64) -> Result<Arc<dyn Ledger>>;

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

/// The time a replaced generation stays readable, in seconds.
pub const KEPT_SECS: u64 = 15 * 60;
