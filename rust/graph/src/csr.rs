//! A graph in memory: edges of each node in one stretch, strongest first.

use std::cmp::Reverse;
use std::convert::Infallible;

use crate::source::{Direction, Edge, Node, Source};

/// Compressed rows of edges, out and in. 24 bytes per edge and direction.
#[derive(Debug, Clone, Default)]
pub struct Csr {
    outgoing: Rows,
    incoming: Rows,
}

#[derive(Debug, Clone, Default)]
struct Rows {
    starts: Vec<usize>,
    edges: Vec<(Node, u128)>,
}

impl Rows {
    /// From (node, other, weight), each pair once.
    fn new(nodes: usize, mut edges: Vec<(Node, Node, u128)>) -> Self {
        edges.sort_unstable_by_key(|&(node, other, weight)| (node, Reverse(weight), other));
        let starts = (0..=nodes).map(|node| edges.partition_point(|edge| (edge.0 as usize) < node)).collect();
        Self { starts, edges: edges.into_iter().map(|(_, other, weight)| (other, weight)).collect() }
    }

    fn of(&self, node: Node) -> &[(Node, u128)] {
        let node = node as usize;
        match (self.starts.get(node), self.starts.get(node + 1)) {
            (Some(start), Some(end)) => &self.edges[*start..*end],
            _ => &[],
        }
    }
}

impl Csr {
    /// From directed edges with weights; those of one pair are added up, those of no weight are left out.
    #[must_use]
    pub fn new(edges: impl IntoIterator<Item = (Node, Node, u128)>) -> Self {
        let mut edges: Vec<_> = edges.into_iter().filter(|edge| edge.2 > 0).collect();
        edges.sort_unstable();
        edges.dedup_by(|next, held| {
            let same = (next.0, next.1) == (held.0, held.1);
            if same {
                held.2 = held.2.saturating_add(next.2);
            }
            same
        });
        let nodes = edges.iter().map(|edge| edge.0.max(edge.1) as usize + 1).max().unwrap_or(0);
        let incoming = edges.iter().map(|&(from, to, weight)| (to, from, weight)).collect();
        Self { outgoing: Rows::new(nodes, edges), incoming: Rows::new(nodes, incoming) }
    }
}

impl Source for &Csr {
    type Error = Infallible;

    fn nodes(&self) -> usize {
        self.outgoing.starts.len().saturating_sub(1)
    }

    fn strongest(
        &mut self,
        node: Node,
        direction: Direction,
        cap: usize,
        into: &mut Vec<Edge>,
    ) -> Result<(), Infallible> {
        let edges = match direction {
            Direction::Outgoing => self.outgoing.of(node),
            Direction::Incoming => self.incoming.of(node),
        };
        into.extend(edges.iter().take(cap).map(|&(to, weight)| Edge { to, weight }));
        Ok(())
    }
}
