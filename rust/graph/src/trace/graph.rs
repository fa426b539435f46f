//! A trace as a petgraph graph: for cycles, paths and export.

use std::collections::BTreeMap;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::{Edge, Reached, Trace};
use crate::source::Node;

/// A trace as a petgraph graph: one node per account, one edge per edge of the trace, in the same order, so that the index
/// of a node is its place in `trace.nodes`. Edges run from who paid to who was paid, in either direction of the walk. Two
/// accounts have several edges where they moved several assets.
///
/// Every account of a trace is connected with the start, so the graph has one component. O(nodes · log + edges).
#[must_use]
pub fn graph(trace: &Trace) -> DiGraph<&Reached, &Edge, u32> {
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
pub fn circles(graph: &DiGraph<&Reached, &Edge, u32>) -> Vec<Vec<Node>> {
    let mut groups: Vec<_> = tarjan_scc(graph).into_iter().filter(|group| group.len() > 1).collect();
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort_unstable();
    groups.into_iter().map(|group| group.into_iter().map(|place| graph[place].node).collect()).collect()
}

#[cfg(test)]
mod tests {
    use petgraph::algo::{connected_components, dijkstra};

    use super::*;
    use crate::trace::Settings;
    use crate::trace::world::{Paid, World, paid};

    const SETTINGS: Settings = Settings {
        outward: 4,
        inward: 0,
        limit: 10,
        accumulate: true,
        max_nodes: 100,
        method: None,
        is_time_ordered: true,
    };

    #[test]
    fn circles_of_a_trace_are_those_found_by_hand() {
        // 0 pays 1 and 4. 1, 2 and 3 pay round; 4 and 5 pay each other; 6 only gets.
        let mut world = World::new(&[
            paid(0, 1, 90),
            paid(1, 2, 80),
            paid(2, 3, 70),
            paid(3, 1, 60),
            paid(0, 4, 50),
            paid(4, 5, 40),
            paid(5, 4, 30),
            paid(3, 6, 20),
        ]);
        let trace = world.trace(SETTINGS);
        let graph = graph(&trace);
        assert_eq!((graph.node_count(), graph.edge_count()), (7, 8));
        assert_eq!(connected_components(&graph), 1);
        assert_eq!(circles(&graph), [vec![1, 2, 3], vec![4, 5]]);
        let place = |node: Node| graph.node_indices().find(|place| graph[*place].node == node).unwrap();
        assert_eq!(dijkstra(&graph, place(0), Some(place(6)), |_| 1_u32)[&place(6)], 4);
    }

    #[test]
    fn graph_edges_run_with_the_money_once_per_asset() {
        // Inward from 0: 1 paid it in two assets, 2 paid 1.
        let second = Paid { asset: 1, ..paid(1, 0, 5) };
        let mut world = World::new(&[paid(2, 1, 9), paid(1, 0, 8), second]);
        let trace = world.trace(Settings { outward: 0, inward: 3, ..SETTINGS });
        let graph = graph(&trace);
        let ends: Vec<_> = graph
            .edge_indices()
            .map(|edge| graph.edge_endpoints(edge).map(|(from, to)| (graph[from].node, graph[to].node)).unwrap())
            .collect();
        assert_eq!(ends, [(1, 0), (1, 0), (2, 1)]);
        assert!(circles(&graph).is_empty());
    }

    #[test]
    fn circles_without_time_order_may_be_no_flow() {
        // 2 paid 1 before 1 paid it.
        let mut world = World::new(&[paid(2, 1, 7), paid(0, 1, 9), paid(1, 2, 8)]);
        assert!(circles(&graph(&world.trace(SETTINGS))).is_empty());
        let whenever = world.trace(Settings { is_time_ordered: false, ..SETTINGS });
        assert_eq!(circles(&graph(&whenever)), [vec![1, 2]]);
    }
}
