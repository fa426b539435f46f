//! The choices of a follower, and what it reports.

use std::time::Duration;

use headwater_ledger::store::LiveStatus;
use headwater_types::Chain;
use serde::Serialize;

use crate::history::{HistoryProgress, HistoryReport, Traces};

/// The choices of a follower.
#[derive(Debug, Clone)]
pub struct FollowOptions {
    /// The chain.
    pub chain: Chain,
    /// The first block, for a store that was not followed yet; if omitted, the one after the last block that is held, else
    /// the newest final one.
    pub from: Option<u64>,
    /// The block at which the work ends; it does not end if omitted.
    pub until: Option<u64>,
    /// The time between two looks at the nodes.
    pub poll: Duration,
    /// The time after which a provider that failed or answered wrongly is asked again.
    pub retry: Duration,
    /// Requests at the same time while the store is behind.
    pub parallel: usize,
    /// The treatment of internal movements.
    pub traces: Traces,
    /// Addresses of WebSocket interfaces of EVM nodes, which announce new blocks sooner than the next look.
    pub sockets: Vec<String>,
}

impl FollowOptions {
    /// The usual choices: a look each second.
    #[must_use]
    pub const fn new(chain: Chain) -> Self {
        Self {
            chain,
            from: None,
            until: None,
            poll: Duration::from_secs(1),
            retry: Duration::from_secs(30),
            parallel: 4,
            traces: Traces::WherePossible,
            sockets: Vec::new(),
        }
    }
}

/// One generation of a follower.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FollowStep {
    /// The chain.
    pub chain: &'static str,
    /// The generation.
    pub generation: u64,
    /// The first block that was added.
    pub from_block: u64,
    /// The last block that was added.
    pub to_block: u64,
    /// Blocks that were taken back, since the nodes replaced them.
    pub removed: u64,
    /// Old blocks that became final in the store.
    pub sealed: u64,
    /// Transactions of the blocks that were added.
    pub transactions: u64,
    /// Seconds from the look at the nodes to the durable commit.
    pub seconds: f64,
}

/// The sums of a follower.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FollowReport {
    /// Blocks that were added.
    pub blocks: u64,
    /// Blocks that were taken back.
    pub removed: u64,
    /// Steps that took blocks back.
    pub reorgs: u64,
    /// The last generation.
    pub generation: Option<u64>,
}

impl FollowReport {
    pub(super) fn add(&mut self, blocks: u64, removed: u64, generation: u64) {
        self.blocks += blocks;
        self.removed += removed;
        self.reorgs += u64::from(removed > 0);
        self.generation = Some(generation);
    }
}

/// Receives the progress of a follower.
pub trait FollowProgress: Sync {
    /// Receives the progress of history before the first followed block.
    fn history(&self) -> &dyn HistoryProgress;

    /// Called when history is loaded.
    fn loaded(&self, _report: &HistoryReport) {}

    /// Called when the state changes.
    fn state(&self, _status: &LiveStatus) {}

    /// Called when a step is durable.
    fn advanced(&self, _step: &FollowStep) {}

    /// Called once for each reason for which followed blocks lack something.
    fn note(&self, _text: &str) {}
}
