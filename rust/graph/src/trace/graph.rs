//! A trace as a petgraph graph: for cycles, paths and export.

use std::collections::BTreeMap;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::{Edge, Trace, TracedAccount};
use crate::source::Node;

/// A trace as a petgraph graph: one node per account, one edge per edge of the trace, in the same order, so that the index
/// of a node is its place in `trace.nodes`. Edges run from who paid to who was paid, in either direction of the walk. Two
/// accounts have several edges where they moved several assets.
///
/// Every account of a trace is connected with the start, so the graph has one component. O(nodes · log + edges).
#[must_use]
pub fn graph(trace: &Trace) -> DiGraph<&TracedAccount, &Edge, u32> {
    let mut graph = DiGraph::with_capacity(trace.nodes.len(), trace.edges.len());
    let places: BTreeMap<Node, NodeIndex<u32>> =
        trace.nodes.iter().map(|reached| (reached.node, graph.add_node(reached))).collect();
    for edge in &trace.edges {
        if let (Some(from), Some(to)) = (places.get(&edge.from), places.get(&edge.to)) {
            graph.add_edge(*from, *to, edge);
        }
    }
    graph
}

/// The groups of accounts among which money went round: the strongly connected components of more than one account, by
/// Tarjan's algorithm. Accounts are in the order of the trace, groups in that of their first account. O(nodes + edges).
///
/// Within a group every account paid every other one, directly or over others of the group. It does not say that the same
/// money came back: each payment of a trace in order of time comes after money came to who pays, but the payments of a
/// round need not come one after the other.
///
/// ```
/// use headwater_graph::trace::{Trace, circles, graph};
/// assert!(circles(&graph(&Trace::default())).is_empty());
/// ```
#[must_use]
pub fn circles(graph: &DiGraph<&TracedAccount, &Edge, u32>) -> Vec<Vec<Node>> {
    let mut groups: Vec<_> = tarjan_scc(graph).into_iter().filter(|group| group.len() > 1).collect();
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort_unstable();
    groups.into_iter().map(|group| group.into_iter().map(|place| graph[place].node).collect()).collect()
}
