//! What was cut out of the graph, as a petgraph graph: for paths, components and export, where it is small.

use std::collections::BTreeMap;

use petgraph::graph::{DiGraph, NodeIndex};

use crate::expand::Step;
use crate::source::{Direction, Node};

/// The graph of the steps of an expansion: one node per account, one edge per pair with what went along it over all
/// hops. Edges run the way the money went, in either direction of the walk. Nodes in order of number, edges in order of
/// their ends.
///
/// ```
/// use headwater_graph::expand::Step;
/// use headwater_graph::source::Direction;
/// use headwater_graph::subgraph::subgraph;
/// let step = |from, to, amount| Step { from, to, hop: 1, amount };
/// let graph = subgraph(&[step(7, 5, 30), step(7, 9, 10), step(7, 5, 2)], Direction::Outgoing);
/// assert_eq!((graph.node_count(), graph.edge_count()), (3, 2));
/// assert_eq!(graph.edge_weights().copied().collect::<Vec<_>>(), [32, 10]);
/// ```
#[must_use]
pub fn subgraph(steps: &[Step], direction: Direction) -> DiGraph<Node, u128, u32> {
    let mut amounts: BTreeMap<(Node, Node), u128> = BTreeMap::new();
    for step in steps {
        let ends = match direction {
            Direction::Outgoing => (step.from, step.to),
            Direction::Incoming => (step.to, step.from),
        };
        let amount = amounts.entry(ends).or_default();
        *amount = amount.saturating_add(step.amount);
    }
    let mut graph = DiGraph::default();
    let mut places: BTreeMap<Node, NodeIndex<u32>> = BTreeMap::new();
    for (from, to) in amounts.keys() {
        places.insert(*from, NodeIndex::end());
        places.insert(*to, NodeIndex::end());
    }
    for (node, place) in &mut places {
        *place = graph.add_node(*node);
    }
    for ((from, to), amount) in amounts {
        graph.add_edge(places[&from], places[&to], amount);
    }
    graph
}

#[cfg(test)]
mod tests {
    use headwater_ledger::Cancel;
    use petgraph::algo::{dijkstra, is_cyclic_directed};

    use super::*;
    use crate::csr::Csr;
    use crate::expand::{Params, Scratch, expand};

    #[test]
    fn an_expansion_becomes_a_graph_whose_edges_run_the_way_of_the_money() {
        let town = Csr::new([(0, 1, 30), (0, 2, 10), (1, 2, 5), (1, 3, 5), (2, 0, 7)]);
        for (direction, start) in [(Direction::Outgoing, 0), (Direction::Incoming, 3)] {
            let mut steps = Vec::new();
            let params = Params::new(5, 50).unwrap().with_direction(direction);
            let scratch = &mut Scratch::default();
            expand(&mut &town, (start, 1000), &params, (scratch, &Cancel::new()), |step| steps.push(step)).unwrap();
            let graph = subgraph(&steps, direction);
            assert_eq!(graph.node_weights().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
            let at = |node: usize| NodeIndex::<u32>::new(node);
            assert!(graph.contains_edge(at(1), at(3)) && !graph.contains_edge(at(3), at(1)));
            // 0 reaches 3 in two steps.
            assert_eq!(dijkstra(&graph, at(0), Some(at(3)), |_| 1_u32)[&at(3)], 2);
            assert!(is_cyclic_directed(&graph), "0, 2 and back");
        }
    }
}
