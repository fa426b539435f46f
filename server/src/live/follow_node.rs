//! The follower of `headwater-node` as a thread of the server runs it.

use std::path::PathBuf;
use std::sync::Arc;

use headwater_ledger::Cancel;
use headwater_ledger::store::CommitReport;
use headwater_node::{
    FollowOptions, FollowProgress, FollowStep, HistoryProgress, HistoryState, NodeError, Providers, follow,
    split_sockets,
};
use headwater_state::causes;
use headwater_types::Chain;

use super::followers::{Follow, FollowEnd};
use super::nodes::NodeList;

/// Returns what follows the nodes of a chain into a store.
pub(crate) fn follow_nodes(store: PathBuf) -> Arc<Follow> {
    Arc::new(move |chain: Chain, nodes: &NodeList, cancel: &Cancel| {
        let (addresses, sockets) = split_sockets(nodes.addresses());
        let providers = Providers::new(&addresses, None).map_err(|error| end_of(&error))?;
        let options = FollowOptions { sockets, ..FollowOptions::new(chain) };
        follow(&store, &providers, &options, &FollowLog(chain), cancel).map(drop).map_err(|error| end_of(&error))
    })
}

/// A follower waits by itself for nodes that fail.
fn end_of(error: &NodeError) -> FollowEnd {
    // In one line: an error may list the answers of several nodes.
    let reason = causes(error).split_whitespace().collect::<Vec<_>>().join(" ");
    match error {
        NodeError::FollowedAlready { .. } => FollowEnd::Elsewhere(reason),
        error if error.halts() => FollowEnd::Halted(reason),
        _ => FollowEnd::Failed(reason),
    }
}

/// Logs the steps of a follower. Its states are logged from the status that it writes.
struct FollowLog(Chain);

impl FollowProgress for FollowLog {
    fn history(&self) -> &dyn HistoryProgress {
        self
    }

    fn advanced(&self, step: &FollowStep) {
        let FollowStep { generation, from_block, to_block, removed, transactions, seconds, .. } = step;
        let chain = self.0;
        if *removed > 0 {
            tracing::info!("{chain}: the nodes replaced {removed} blocks; the newest one is {to_block} now");
        }
        tracing::debug!(%chain, generation, from_block, to_block, removed, transactions, seconds, "blocks were followed");
    }

    fn note(&self, text: &str) {
        tracing::warn!("{}: {text}", self.0);
    }
}

impl HistoryProgress for FollowLog {
    fn update(&self, _: HistoryState) {}

    fn committed(&self, report: &CommitReport) {
        tracing::debug!(chain = %self.0, generation = report.generation, "final blocks were loaded");
    }

    fn building(&self, _: &'static str, _: u64, _: u64) {}
}
