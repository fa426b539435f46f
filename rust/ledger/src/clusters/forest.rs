//! Addresses and the clusters that they are in: union-find whose roots are the oldest.

use headwater_types::TxHash;

use super::records::FirstSeen;

/// A place of the forest: an address, or a cluster of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    parent: u32,
    /// The first appearance of the address that names it.
    pub(super) first: FirstSeen,
    /// When it came under an older name: by which transaction, and under which root.
    pub(super) joined: Option<(TxHash, u32)>,
}

/// Nodes under roots. A root is older than all below it.
#[derive(Debug, Clone, Default)]
pub(super) struct Forest {
    nodes: Vec<Node>,
}

impl Forest {
    pub(super) const NONE: Self = Self { nodes: Vec::new() };

    /// A node of its own. There may be 2^32 - 1 of them.
    pub(super) fn push(&mut self, first: FirstSeen) -> u32 {
        let number = u32::try_from(self.nodes.len()).expect("a chain has fewer addresses");
        self.nodes.push(Node { parent: number, first, joined: None });
        number
    }

    /// A node that came under an older one, `into`, before.
    pub(super) fn push_joined(&mut self, first: FirstSeen, (by, into): (TxHash, u32)) -> u32 {
        let number = self.push(first);
        let root = self.root(into);
        let node = &mut self.nodes[number as usize];
        (node.parent, node.joined) = (root, Some((by, into)));
        number
    }

    /// The root above a node. Halves the way to it.
    pub(super) fn root(&mut self, mut node: u32) -> u32 {
        loop {
            let parent = self.nodes[node as usize].parent;
            if parent == node {
                return node;
            }
            let above = self.nodes[parent as usize].parent;
            self.nodes[node as usize].parent = above;
            node = above;
        }
    }

    /// The same where nothing may be changed.
    pub(super) fn root_of(&self, mut node: u32) -> u32 {
        while self.nodes[node as usize].parent != node {
            node = self.nodes[node as usize].parent;
        }
        node
    }

    /// Puts two nodes under the older of their roots. Returns the older and the younger root, where they were two.
    pub(super) fn join(&mut self, one: u32, other: u32, by: TxHash) -> Option<(u32, u32)> {
        let (one, other) = (self.root(one), self.root(other));
        if one == other {
            return None;
        }
        let is_older = self.nodes[one as usize].first <= self.nodes[other as usize].first;
        let (older, younger) = if is_older { (one, other) } else { (other, one) };
        let node = &mut self.nodes[younger as usize];
        (node.parent, node.joined) = (older, Some((by, older)));
        Some((older, younger))
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}
