//! The trees as predictions walk them.

use std::array;
use std::collections::VecDeque;

use super::flat::{Child, FlatTrees};

/// Walks that advance side by side: the loads of one hide behind the comparisons of the others.
const LANES: usize = 8;

/// Rows that pass through a tree before the next tree: 32 rows of 64 features fill half of a first-level cache.
const BLOCK: usize = 32;

/// A node of 16 bytes. Siblings are adjacent, so that a step is an addition and not a jump that the processor must
/// guess.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// Threshold of an inner node, value of a leaf.
    pub(super) value: f64,
    /// The left child; the right one follows it. A leaf leads to itself.
    pub(super) child: u32,
    feature: u16,
    missing_left: bool,
    pub(super) is_inner: bool,
}

impl Node {
    /// The feature that an inner node compares.
    pub(super) fn feature(&self) -> usize {
        usize::from(self.feature)
    }

    /// Where a row goes next.
    pub(super) fn next(&self, row: &[f64]) -> u32 {
        let value = row[self.feature()];
        let is_left = (value <= self.value) | (value.is_nan() & self.missing_left);
        self.child + (u32::from(self.is_inner) & u32::from(!is_left))
    }
}

/// A tree: its root, and the class whose score it adds to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree {
    pub(super) root: u32,
    pub(super) class: usize,
}

/// All trees of a model.
#[derive(Debug)]
pub(super) struct Forest {
    nodes: Vec<Node>,
    /// Training rows that reached each node.
    covers: Vec<f64>,
    trees: Vec<Tree>,
    initial: Vec<f64>,
    features: usize,
}

impl Forest {
    /// Lays out checked trees level by level.
    pub(super) fn new(flat: &FlatTrees, initial: Vec<f64>, features: usize) -> Self {
        let leaf = Node { value: 0.0, child: 0, feature: 0, missing_left: false, is_inner: false };
        let (mut nodes, mut covers, mut trees) = (Vec::new(), Vec::new(), Vec::new());
        for span in flat.spans() {
            trees.push(Tree { root: number(nodes.len()), class: span.class as usize });
            let mut open = VecDeque::from([(nodes.len(), span.root())]);
            nodes.push(leaf);
            covers.push(0.0);
            while let Some((place, child)) = open.pop_front() {
                covers[place] = flat.cover(child);
                nodes[place] = match child {
                    Child::Leaf(at) => Node { value: flat.leaf[at], child: number(place), ..leaf },
                    Child::Node(at) => {
                        let first = nodes.len();
                        open.extend([(first, span.child(flat.left[at])), (first + 1, span.child(flat.right[at]))]);
                        nodes.extend([leaf; 2]);
                        covers.extend([0.0; 2]);
                        Node {
                            value: flat.limit(at),
                            child: number(first),
                            feature: u16::try_from(flat.feature[at]).expect("the number of features was checked"),
                            missing_left: flat.missing_left[at] == 1,
                            is_inner: true,
                        }
                    }
                };
            }
        }
        Self { nodes, covers, trees, initial, features }
    }

    /// A node by its number.
    pub(super) fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    /// Training rows that reached a node.
    pub(super) fn cover(&self, at: u32) -> f64 {
        self.covers[at as usize]
    }

    /// The trees of a class.
    pub(super) fn trees_of(&self, class: usize) -> impl Iterator<Item = &Tree> {
        self.trees.iter().filter(move |tree| tree.class == class)
    }

    /// The score of each class before any tree.
    pub(super) fn initial(&self) -> &[f64] {
        &self.initial
    }

    /// Raw scores of one row.
    pub(super) fn scores(&self, row: &[f64]) -> Vec<f64> {
        assert_eq!(row.len(), self.features, "a row has one value per feature of the model");
        let mut scores = self.initial.clone();
        let (groups, rest) = self.trees.as_chunks::<LANES>();
        for group in groups {
            let leaves = self.walk(group.map(|tree| tree.root), [row; LANES]);
            for (tree, leaf) in group.iter().zip(leaves) {
                scores[tree.class] += leaf;
            }
        }
        for tree in rest {
            let [leaf] = self.walk([tree.root], [row]);
            scores[tree.class] += leaf;
        }
        scores
    }

    /// Raw scores of many rows, flat. Each score is summed in the order of the trees as in [`Forest::scores`].
    pub(super) fn scores_of_rows(&self, rows: &[f64]) -> Vec<f64> {
        assert!(rows.len().is_multiple_of(self.features), "each row has one value per feature of the model");
        let classes = self.initial.len();
        let mut scores = self.initial.repeat(rows.len() / self.features);
        for (rows, scores) in rows.chunks(BLOCK * self.features).zip(scores.chunks_mut(BLOCK * classes)) {
            let rows: Vec<&[f64]> = rows.chunks_exact(self.features).collect();
            let (groups, rest) = rows.as_chunks::<LANES>();
            for tree in &self.trees {
                let grouped = groups.iter().flat_map(|group| self.walk([tree.root; LANES], *group));
                let single = rest.iter().flat_map(|row| self.walk([tree.root], [row]));
                for (scores, leaf) in scores.chunks_exact_mut(classes).zip(grouped.chain(single)) {
                    scores[tree.class] += leaf;
                }
            }
        }
        scores
    }

    /// Leads each row from its node to a leaf, and returns the values of the leaves.
    fn walk<const N: usize>(&self, mut at: [u32; N], rows: [&[f64]; N]) -> [f64; N] {
        loop {
            let mut moves = false;
            for (at, row) in at.iter_mut().zip(rows) {
                let node = self.node(*at);
                *at = node.next(row);
                moves |= node.is_inner;
            }
            if !moves {
                return array::from_fn(|lane| self.node(at[lane]).value);
            }
        }
    }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("a file of limited size has fewer nodes")
}
