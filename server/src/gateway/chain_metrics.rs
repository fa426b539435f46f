//! Figures of chains: the blocks that are held, the followers of live nodes, and reorganisations.

use std::time::{Duration, SystemTime};

use headwater_ledger::Ledger;
use headwater_ledger::feed::{FeedItem, ItemKind};
use headwater_ledger::store::LiveStatus;
use headwater_state::now_ms;
use headwater_types::Chain;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// The state of a follower that wrote no status for some time.
pub(crate) const STOPPED: &str = "stopped";
/// Every state of a follower.
const STATES: [&str; 5] = ["catching_up", "following", "waiting", "halted", STOPPED];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfChain {
    chain: &'static str,
}

impl OfChain {
    fn new(chain: Chain) -> Self {
        Self { chain: chain.name() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    chain: &'static str,
    state: &'static str,
}

/// The figures of all chains.
#[derive(Debug)]
pub(crate) struct ChainMetrics {
    lag: Family<OfChain, Gauge>,
    held: Family<OfChain, Gauge>,
    head: Family<OfChain, Gauge>,
    behind: Family<OfChain, Gauge>,
    states: Family<OfState, Gauge>,
    reorgs: Family<OfChain, Counter>,
    removed: Family<OfChain, Counter>,
    deepest: Family<OfChain, Gauge>,
    published: Histogram,
}

impl ChainMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            lag: Family::default(),
            held: Family::default(),
            head: Family::default(),
            behind: Family::default(),
            states: Family::default(),
            reorgs: Family::default(),
            removed: Family::default(),
            deepest: Family::default(),
            // From a millisecond to nine minutes.
            published: Histogram::new(exponential_buckets(0.001, 2.0, 20)),
        };
        registry.register(
            "chain_lag_seconds",
            "How far the newest transaction of a chain lies behind the clock",
            metrics.lag.clone(),
        );
        registry.register("chain_held_block", "Newest block of a chain that the store has", metrics.held.clone());
        registry.register(
            "chain_head_block",
            "Newest block of the node of a chain, while it is followed",
            metrics.head.clone(),
        );
        registry.register(
            "chain_lag_blocks",
            "Blocks from the newest one of the store to the newest one of the node, while it is followed",
            metrics.behind.clone(),
        );
        registry.register(
            "chain_follower_state",
            "1 for the state of the follower of a chain, 0 for each other state",
            metrics.states.clone(),
        );
        registry.register(
            "chain_reorgs",
            "Reorganisations of a chain in the change feed since the start of the server",
            metrics.reorgs.clone(),
        );
        registry.register(
            "chain_reorg_blocks",
            "Blocks of a chain that were taken back in the change feed since the start of the server",
            metrics.removed.clone(),
        );
        registry.register(
            "chain_reorg_depth_max_blocks",
            "Depth of the deepest reorganisation of a chain since the start of the server",
            metrics.deepest.clone(),
        );
        registry.register(
            "event_publish_seconds",
            "From the commit of a block to the publication of its events",
            metrics.published.clone(),
        );
        metrics
    }

    /// Sets the figures of what is held and of the followers.
    pub(super) fn update(&self, ledger: &dyn Ledger, followers: &[LiveStatus]) {
        let now_ms = now_ms();
        for (chain, coverage) in ledger.coverage() {
            let labels = OfChain::new(*chain);
            if let Some(last) = coverage.last_time {
                self.lag.get_or_create(&labels).set((now_ms / 1000).saturating_sub(last.secs()));
            }
            if let Some(last) = coverage.last_block {
                self.held.get_or_create(&labels).set(gauge(last));
            }
        }
        for status in followers {
            let labels = OfChain::new(status.chain);
            let held = ledger.coverage().get(&status.chain).and_then(|coverage| coverage.last_block);
            let is_live = status.is_live(u64::try_from(now_ms).unwrap_or(0));
            let head = status.head().filter(|_| is_live);
            match head {
                Some(head) => _ = self.head.get_or_create(&labels).set(gauge(head)),
                None => _ = self.head.remove(&labels),
            }
            match head.zip(held) {
                Some((head, held)) => _ = self.behind.get_or_create(&labels).set(gauge(head.saturating_sub(held))),
                None => _ = self.behind.remove(&labels),
            }
            let current = if is_live || status.is_halted() { status.state.name() } else { STOPPED };
            for state in STATES {
                let labels = OfState { chain: status.chain.name(), state };
                self.states.get_or_create(&labels).set(i64::from(state == current));
            }
        }
    }

    /// Counts a block that was taken back; `depth` is the number of blocks that were taken back since the last one that was
    /// added.
    fn count_removed(&self, chain: Chain, depth: u64) {
        let labels = OfChain::new(chain);
        let reorgs = self.reorgs.get_or_create(&labels);
        if depth == 1 {
            reorgs.inc();
        }
        drop(reorgs);
        self.removed.get_or_create(&labels).inc();
        let deepest = self.deepest.get_or_create(&labels);
        deepest.set(deepest.get().max(gauge(depth)));
    }

    /// Observes the time from a commit until now.
    fn observe_publication(&self, committed: SystemTime) {
        // The clock may have been set back since.
        let took = SystemTime::now().duration_since(committed).unwrap_or(Duration::ZERO);
        self.published.observe(took.as_secs_f64());
    }
}

fn gauge(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The items of the feed whose events were published, for the figures about them.
#[derive(Debug, Default)]
pub(crate) struct PublishedItems {
    /// The blocks of each chain that were taken back since the last one that was added.
    depths: std::collections::BTreeMap<Chain, u64>,
}

impl PublishedItems {
    /// Adds an item whose events were published just now.
    pub fn add(&mut self, item: &FeedItem, committed: Option<SystemTime>, metrics: &ChainMetrics) {
        if item.kind == ItemKind::Block {
            let depth = self.depths.entry(item.chain).or_default();
            *depth = if item.removed { *depth + 1 } else { 0 };
            if item.removed {
                metrics.count_removed(item.chain, *depth);
            }
        }
        if let Some(committed) = committed {
            metrics.observe_publication(committed);
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_types::Timestamp;

    use super::*;

    #[test]
    fn reorg_counts_once_with_all_of_its_blocks() {
        let metrics = ChainMetrics::new(&mut Registry::default());
        let mut published = PublishedItems::default();
        let (chain, mut position) = (Chain::ETHEREUM, 0);
        for removed in [false, false, true, true, false, false, true, false] {
            position += 1;
            let (time, kind) = (Timestamp::new(1), ItemKind::Block);
            let item = FeedItem { position, chain, number: 1, hash: None, time, removed, adoption: 0, head: 1, kind };
            published.add(&item, None, &metrics);
            let imported = FeedItem { kind: ItemKind::Labels { version: 1, is_rolled_back: false }, ..item };
            published.add(&FeedItem { removed: false, ..imported }, None, &metrics);
        }
        let labels = OfChain::new(chain);
        let counted = [&metrics.reorgs, &metrics.removed].map(|family| family.get_or_create(&labels).get());
        assert_eq!((counted, metrics.deepest.get_or_create(&labels).get()), ([2, 3], 2));
    }
}
