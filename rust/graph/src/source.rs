//! Edges, and their source.

/// A node, by the number its source gives it: dense, from 0.
pub type Node = u32;

/// The direction in which edges of a node are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// To whom it sent.
    #[default]
    Outgoing,
    /// From whom it received.
    Incoming,
}

/// An edge as seen from one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The other end.
    pub to: Node,
    /// The weight: US dollars in pico-units, a count, or an amount of one asset; never mixed in one graph.
    pub weight: u128,
}

/// A graph whose edges are handed out strongest first.
pub trait Source {
    /// The failure to read edges.
    type Error;

    /// Numbers of nodes met so far are below this.
    fn nodes(&self) -> usize;

    /// Appends the strongest edges of a node, at most `cap`: by weight, largest first, then in an order that does not
    /// depend on the numbers of nodes.
    ///
    /// # Errors
    /// When they cannot be read.
    fn strongest(
        &mut self,
        node: Node,
        direction: Direction,
        cap: usize,
        into: &mut Vec<Edge>,
    ) -> Result<(), Self::Error>;
}
