//! The trees as the file lists them, and the proof that they are trees.

use super::error::ModelError;

/// Largest magnitude of a leaf, an initial score or an offset. Scores are log-odds, of which 50 is already certainty;
/// the bound keeps every sum finite.
pub(super) const MAX_SCORE: f64 = 1e9;

/// Deepest tree. Explanations recurse once per level; trees of 16 leaves have at most 15 levels.
const MAX_DEPTH: u32 = 128;

/// Largest cover: row counts are exact in an `f64` up to 2^53. With at least 1 in each leaf, no product of shares on a
/// path becomes 0.
const MAX_COVER: f64 = 9_007_199_254_740_992.0;

/// How far the cover of a node may be from the sum of its children, as a share of it.
const COVER_TOLERANCE: f64 = 1e-6;

/// The trees of a file, flat over the forest.
#[derive(Debug, Default)]
pub(super) struct FlatTrees {
    pub(super) class: Vec<u32>,
    pub(super) nodes: Vec<u32>,
    pub(super) feature: Vec<u32>,
    pub(super) threshold: Vec<f64>,
    pub(super) left: Vec<i32>,
    pub(super) right: Vec<i32>,
    pub(super) missing_left: Vec<u8>,
    pub(super) node_cover: Vec<f64>,
    pub(super) leaf: Vec<f64>,
    pub(super) leaf_cover: Vec<f64>,
}

/// One tree of [`FlatTrees`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) class: u32,
    /// Position of its first inner node.
    pub(super) first_node: usize,
    /// Number of its inner nodes.
    pub(super) nodes: usize,
    /// Position of its first leaf.
    pub(super) first_leaf: usize,
}

/// A child: positions in the lists of the forest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Child {
    Node(usize),
    Leaf(usize),
}

impl Span {
    /// The child that a number of `left` or `right` stands for; the tree itself is `root`.
    pub(super) fn child(&self, number: i32) -> Child {
        let place = |from: usize, number: i32| from + usize::try_from(number).expect("the sign was looked at");
        if number < 0 {
            Child::Leaf(place(self.first_leaf, -1 - number))
        } else {
            Child::Node(place(self.first_node, number))
        }
    }

    /// Its first inner node, or its only leaf.
    pub(super) fn root(&self) -> Child {
        if self.nodes == 0 { Child::Leaf(self.first_leaf) } else { Child::Node(self.first_node) }
    }
}

impl FlatTrees {
    /// The trees, in the order of the file.
    pub(super) fn spans(&self) -> impl Iterator<Item = Span> {
        let (mut first_node, mut first_leaf) = (0, 0);
        self.class.iter().zip(&self.nodes).map(move |(&class, &nodes)| {
            let nodes = nodes as usize;
            let span = Span { class, first_node, nodes, first_leaf };
            first_node += nodes;
            first_leaf += nodes + 1;
            span
        })
    }

    /// The largest value that goes left at an inner node; JSON has no infinity, so the largest number stands for it.
    pub(super) fn limit(&self, node: usize) -> f64 {
        let threshold = self.threshold[node];
        if threshold < f64::MAX { threshold } else { f64::INFINITY }
    }

    /// The training rows that reached a node or leaf.
    pub(super) fn cover(&self, child: Child) -> f64 {
        match child {
            Child::Node(at) => self.node_cover[at],
            Child::Leaf(at) => self.leaf_cover[at],
        }
    }

    /// Checks lengths, ranges, structure and covers.
    pub(super) fn check(&self, features: usize, classes: usize) -> Result<(), ModelError> {
        self.check_lengths()?;
        self.check_ranges(features, classes)?;
        self.spans().enumerate().try_for_each(|(tree, span)| self.check_tree(tree, span))
    }

    fn check_lengths(&self) -> Result<(), ModelError> {
        let trees = self.class.len();
        ModelError::check_length("trees.nodes", self.nodes.len(), trees)?;
        let nodes = self.nodes.iter().map(|&nodes| nodes as usize).sum();
        for (key, found, expected) in [
            ("trees.feature", self.feature.len(), nodes),
            ("trees.threshold", self.threshold.len(), nodes),
            ("trees.left", self.left.len(), nodes),
            ("trees.right", self.right.len(), nodes),
            ("trees.missing_left", self.missing_left.len(), nodes),
            ("trees.node_cover", self.node_cover.len(), nodes),
            ("trees.leaf", self.leaf.len(), nodes + trees),
            ("trees.leaf_cover", self.leaf_cover.len(), nodes + trees),
        ] {
            ModelError::check_length(key, found, expected)?;
        }
        Ok(())
    }

    fn check_ranges(&self, features: usize, classes: usize) -> Result<(), ModelError> {
        let below = |key: &str, values: &[u32], limit: usize| {
            let wrong = values.iter().position(|&value| value as usize >= limit);
            let expected = || format!("less than {limit}");
            wrong.map_or(Ok(()), |at| Err(ModelError::value(format!("{key}[{at}]"), values[at], expected())))
        };
        below("trees.class", &self.class, classes)?;
        below("trees.feature", &self.feature, features)?;
        if let Some(at) = self.missing_left.iter().position(|&value| value > 1) {
            return Err(ModelError::value(format!("trees.missing_left[{at}]"), self.missing_left[at], "0 or 1"));
        }
        ModelError::check_magnitude("trees.threshold", &self.threshold, f64::MAX)?;
        ModelError::check_magnitude("trees.leaf", &self.leaf, MAX_SCORE)?;
        for (key, covers) in [("trees.node_cover", &self.node_cover), ("trees.leaf_cover", &self.leaf_cover)] {
            if let Some(at) = covers.iter().position(|cover| !(1.0..=MAX_COVER).contains(cover)) {
                return Err(ModelError::value(format!("{key}[{at}]"), covers[at], "a number of rows from 1 to 2^53"));
            }
        }
        Ok(())
    }

    fn check_tree(&self, tree: usize, span: Span) -> Result<(), ModelError> {
        let mut reached = Reached::new(span.nodes);
        for node in 0..span.nodes {
            let at = span.first_node + node;
            let whose = format!("(node {node} of tree {tree})");
            let mut covers = 0.0;
            for (key, number) in [("trees.left", self.left[at]), ("trees.right", self.right[at])] {
                let refuse = |why| ModelError::value(format!("{key}[{at}]"), number, format!("{why} {whose}"));
                reached.child(node, number).map_err(refuse)?;
                covers += self.cover(span.child(number));
            }
            let depth = reached.depths[node] + 1;
            if depth > MAX_DEPTH {
                let key = format!("trees: the depth of tree {tree}");
                return Err(ModelError::value(key, depth, format!("at most {MAX_DEPTH}")));
            }
            let cover = self.node_cover[at];
            if (covers - cover).abs() > COVER_TOLERANCE * covers {
                let expected = format!("{covers}, the sum of its children {whose}");
                return Err(ModelError::value(format!("trees.node_cover[{at}]"), cover, expected));
            }
        }
        Ok(())
    }
}

/// What the nodes of a tree lead to, so far.
///
/// Children come after their parents, so there is no cycle; each has one parent, so no part is shared; and a tree has
/// as many places for children as nodes and leaves below its root, so none is left out.
struct Reached {
    nodes: Vec<bool>,
    leaves: Vec<bool>,
    /// Levels above each node.
    depths: Vec<u32>,
}

impl Reached {
    fn new(nodes: usize) -> Self {
        Self { nodes: vec![false; nodes], leaves: vec![false; nodes + 1], depths: vec![0; nodes] }
    }

    /// Notes a child of a node, or returns what was expected instead.
    fn child(&mut self, node: usize, number: i32) -> Result<(), String> {
        let nodes = self.nodes.len();
        let reached = if let Ok(child) = usize::try_from(number) {
            if child <= node || child >= nodes {
                return Err(format!("a node after {node} and before {nodes}, or a leaf"));
            }
            self.depths[child] = self.depths[node] + 1;
            &mut self.nodes[child]
        } else {
            let leaf = usize::try_from(-1 - i64::from(number)).expect("the number is negative");
            self.leaves.get_mut(leaf).ok_or_else(|| format!("a leaf from -1 to -{}", nodes + 1))?
        };
        if std::mem::replace(reached, true) { Err("a child without another parent".to_owned()) } else { Ok(()) }
    }
}
