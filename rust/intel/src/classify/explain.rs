//! Divides a raw score among the features: path-dependent `TreeSHAP`.
//!
//! Source: Lundberg, Erion and Lee, "Consistent Individualized Feature Attribution for Tree Ensembles" (2018,
//! arXiv:1802.03888), Algorithm 2. The contribution of a feature is its Shapley value in the game whose value of a set
//! of features is the mean prediction when only these are known; at a split on another feature both branches count, by
//! their share of the training rows.

use super::forest::Forest;

/// A feature on the path from the root: the share of rows that flows through when it is unknown (`zero`) and when it is
/// known (`one`, 0 or 1). `weight` sums the orders in which the features of the path can become known.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// `None` for the root, which stands for no feature.
    feature: Option<usize>,
    zero: f64,
    one: f64,
    weight: f64,
}

/// The mean raw score of a class over the training rows.
pub(super) fn expected(forest: &Forest, class: usize) -> f64 {
    fn sum(forest: &Forest, at: u32) -> f64 {
        let node = forest.node(at);
        if node.is_inner {
            sum(forest, node.child) + sum(forest, node.child + 1)
        } else {
            node.value * forest.cover(at)
        }
    }
    let means = forest.trees_of(class).map(|tree| sum(forest, tree.root) / forest.cover(tree.root));
    forest.initial()[class] + means.sum::<f64>()
}

/// The contribution of each feature to the raw score of a class.
pub(super) fn contributions(forest: &Forest, row: &[f64], class: usize) -> Vec<f64> {
    let mut walk = Walk { forest, row, steps: Vec::new(), shares: vec![0.0; row.len()] };
    for tree in forest.trees_of(class) {
        walk.visit(tree.root, 0, Step { feature: None, zero: 1.0, one: 1.0, weight: 1.0 });
        walk.steps.clear();
    }
    walk.shares
}

struct Walk<'a> {
    forest: &'a Forest,
    row: &'a [f64],
    /// The path of each open call, one after the other: each call extends a copy of the path of its caller.
    steps: Vec<Step>,
    shares: Vec<f64>,
}

impl Walk<'_> {
    /// Visits the part below a node. The path begins at `from`, and `step` extends it.
    fn visit(&mut self, at: u32, from: usize, step: Step) {
        let node = *self.forest.node(at);
        extend(&mut self.steps, from, step);
        let path = &mut self.steps[from..];
        if !node.is_inner {
            for place in 1..path.len() {
                let Step { feature, zero, one, .. } = path[place];
                if let Some(feature) = feature {
                    self.shares[feature] += unwound_sum(path, place) * (one - zero) * node.value;
                }
            }
            return;
        }
        let feature = Some(node.feature());
        let (mut zero, mut one) = (1.0, 1.0);
        if let Some(place) = path.iter().position(|step| step.feature == feature) {
            (zero, one) = (path[place].zero, path[place].one);
            unwind(path, place);
            self.steps.pop();
        }
        let hot = node.next(self.row);
        let (path, length) = (from..self.steps.len(), self.steps.len());
        for child in [node.child, node.child + 1] {
            let share = self.forest.cover(child) / self.forest.cover(at);
            let one = if child == hot { one } else { 0.0 };
            self.steps.extend_from_within(path.clone());
            self.visit(child, length, Step { feature, zero: zero * share, one, weight: 0.0 });
            self.steps.truncate(length);
        }
    }
}

/// EXTEND: appends a step to the path that begins at `from`, and grows the weights by it.
fn extend(steps: &mut Vec<Step>, from: usize, step: Step) {
    steps.push(step);
    let path = &mut steps[from..];
    let last = path.len() - 1;
    for place in (0..last).rev() {
        let weight = path[place].weight;
        path[place + 1].weight += step.one * weight * ratio(place + 1, last + 1);
        path[place].weight = step.zero * weight * ratio(last - place, last + 1);
    }
}

/// UNWIND: undoes the extension by the step at `place`; the caller removes the last step.
fn unwind(path: &mut [Step], place: usize) {
    let last = path.len() - 1;
    let Step { zero, one, .. } = path[place];
    let mut next = path[last].weight;
    for at in (0..last).rev() {
        if one == 0.0 {
            path[at].weight /= zero * ratio(last - at, last + 1);
        } else {
            let weight = path[at].weight;
            path[at].weight = next / (one * ratio(at + 1, last + 1));
            next = weight - path[at].weight * zero * ratio(last - at, last + 1);
        }
    }
    for at in place..last {
        path[at] = Step { weight: path[at].weight, ..path[at + 1] };
    }
}

/// The sum of the weights after [`unwind`], without changing the path.
fn unwound_sum(path: &[Step], place: usize) -> f64 {
    let last = path.len() - 1;
    let Step { zero, one, .. } = path[place];
    let mut next = path[last].weight;
    let mut sum = 0.0;
    for at in (0..last).rev() {
        if one == 0.0 {
            sum += path[at].weight / (zero * ratio(last - at, last + 1));
        } else {
            let weight = next / (one * ratio(at + 1, last + 1));
            sum += weight;
            next = path[at].weight - weight * zero * ratio(last - at, last + 1);
        }
    }
    sum
}

/// Paths are at most as long as trees are deep.
#[expect(clippy::cast_precision_loss, reason = "depths are far below 2^53")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
