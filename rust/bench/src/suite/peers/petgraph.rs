//! petgraph: the grouped edges of everybody in one graph in memory.

use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use super::Engine;
use crate::suite::Result;
use crate::suite::answer::{Answer, Query};
use crate::suite::counters::{Cost, timed};
use crate::suite::oracle::{Edges, trace};

/// A directed graph whose edges carry their counts.
pub struct PetgraphPeer {
    graph: DiGraph<(), u32, u32>,
}

impl PetgraphPeer {
    /// Builds the graph.
    #[must_use]
    pub fn new(edges: &Edges) -> Self {
        let accounts = edges.starts.len().saturating_sub(1);
        let mut graph = DiGraph::with_capacity(accounts, edges.len());
        for _ in 0..accounts {
            graph.add_node(());
        }
        for account in (0..).take(accounts) {
            for (to, count) in edges.outgoing(account) {
                graph.add_edge(NodeIndex::from(account), NodeIndex::from(to), count);
            }
        }
        Self { graph }
    }

    fn trace(&self, account: u32, cap: u32) -> Vec<(u32, f64)> {
        trace(account, cap, |node, strongest| {
            let edges = self.graph.edges(NodeIndex::from(node));
            strongest
                .extend(edges.map(|edge| (u32::try_from(edge.target().index()).unwrap_or(u32::MAX), *edge.weight())));
            let order = |&(to, count): &(u32, u32)| (std::cmp::Reverse(count), to);
            if strongest.len() > cap as usize {
                strongest.select_nth_unstable_by_key(cap as usize, order);
                strongest.truncate(cap as usize);
            }
            strongest.sort_unstable_by_key(order);
        })
    }
}

impl Engine for PetgraphPeer {
    fn name(&self) -> String {
        "petgraph".to_owned()
    }

    fn takes(&self, query: Query) -> bool {
        matches!(query, Query::Trace { .. })
    }

    fn answer(&mut self, query: Query) -> Result<Answer> {
        let Query::Trace { account, cap } = query else { return Ok(Answer::Reached(Vec::new())) };
        Ok(Answer::Reached(self.trace(account, cap)))
    }

    fn time(&mut self, query: Query) -> Result<Cost> {
        let Query::Trace { account, cap } = query else { return Ok(Cost::default()) };
        let (reached, cost) = timed(|| self.trace(account, cap));
        std::hint::black_box(reached);
        Ok(cost)
    }
}
