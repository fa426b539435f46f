//! The newest blocks of the store, for heartbeats.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Chain, Timestamp};

/// The interval at which followers are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The newest blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Heads {
    /// The height of that of each chain.
    pub blocks: BTreeMap<Chain, u64>,
    /// The time of that of each chain with a live follower.
    pub followed: BTreeMap<Chain, Timestamp>,
}

impl Heads {
    /// Returns the seconds from the newest block of each chain with a live follower to now, at least 0.
    pub fn lags(&self, now_secs: i64) -> BTreeMap<&'static str, i64> {
        let lag = |time: &Timestamp| now_secs.saturating_sub(time.secs()).max(0);
        self.followed.iter().map(|(chain, time)| (chain.name(), lag(time))).collect()
    }
}

/// The newest blocks as they were seen last.
#[derive(Debug, Default)]
pub(crate) struct HeadBoard {
    heads: ArcSwap<Heads>,
    /// The chains with a live follower, and when they were looked at.
    followed: Mutex<Option<(Instant, BTreeSet<Chain>)>>,
}

impl HeadBoard {
    /// Returns the newest blocks.
    pub(super) fn get(&self) -> Arc<Heads> {
        self.heads.load_full()
    }

    /// Sets the newest blocks to those of a ledger.
    ///
    /// # Errors
    /// When the status of a follower cannot be read.
    pub fn update(&self, ledger: &dyn Ledger) -> Result<(), LedgerError> {
        let followed = self.followed(ledger)?;
        let mut heads = Heads::default();
        for (chain, coverage) in ledger.coverage() {
            heads.blocks.extend(coverage.last_block.map(|block| (*chain, block)));
            let time = coverage.last_time.filter(|_| followed.contains(chain));
            heads.followed.extend(time.map(|time| (*chain, time)));
        }
        self.heads.store(Arc::new(heads));
        Ok(())
    }

    fn followed(&self, ledger: &dyn Ledger) -> Result<BTreeSet<Chain>, LedgerError> {
        let mut known = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, followed)) = known.as_ref().filter(|(looked, _)| looked.elapsed() < LOOK) {
            return Ok(followed.clone());
        }
        let mut followed = BTreeSet::new();
        for chain in Chain::all() {
            if ledger.live(chain)?.is_some() {
                followed.insert(chain);
            }
        }
        *known = Some((Instant::now(), followed.clone()));
        Ok(followed)
    }
}
