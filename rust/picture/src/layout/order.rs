//! The columns of addresses, and the order within each.

use std::collections::BTreeMap;

use super::{NodeBox, SPACE, USUAL_STEP, number};
use crate::graph::Graph;

/// The number of sweeps over all columns.
const SWEEPS: usize = 12;
/// The least height at which a column is divided, in pixels.
const MIN_HEIGHT: f64 = 1_300.0;
/// The widest picture relative to its height.
const MAX_RATIO: f64 = 1.8;

/// Columns from left to right, with their members from top to bottom.
pub(super) struct Order {
    /// The numbers of addresses.
    pub columns: Vec<Vec<usize>>,
    /// The first column of each hop, with its title.
    pub titles: Vec<(usize, String)>,
}

/// Divides addresses into columns by hops; long columns become several.
pub(super) fn columns(graph: &Graph, boxes: &[NodeBox]) -> Order {
    let mut hops: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (number, node) in graph.nodes.iter().enumerate() {
        hops.entry(node.column).or_default().push(number);
    }
    let depths: Vec<i64> = hops.keys().copied().collect();
    let ordered = swept(graph, hops.into_values().collect());
    let heights: Vec<f64> =
        ordered.iter().map(|members| members.iter().map(|node| boxes[*node].height + SPACE).sum()).collect();
    let limit = height_limit(&heights);
    let (mut columns, mut titles) = (Vec::new(), Vec::new());
    for ((members, height), depth) in ordered.into_iter().zip(heights).zip(depths) {
        titles.push((columns.len(), title(depth)));
        let parts = parts(height, limit);
        // Every part has the same share of each height, so that neighbours stay level.
        columns.extend((0..parts).map(|part| members.iter().copied().skip(part).step_by(parts).collect()));
    }
    Order { columns, titles }
}

/// Returns the title of a column.
fn title(depth: i64) -> String {
    match depth {
        0 => "start".to_owned(),
        1 => "1 hop after".to_owned(),
        -1 => "1 hop before".to_owned(),
        2.. => format!("{depth} hops after"),
        _ => format!("{} hops before", -depth),
    }
}

/// Returns the number of parts into which a column is divided.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive quotient of pixels")]
fn parts(height: f64, limit: f64) -> usize {
    ((height / limit).ceil() as usize).max(1)
}

/// Returns the height up to which columns are kept whole, so that the picture is not much wider than high.
fn height_limit(heights: &[f64]) -> f64 {
    let mut limit = MIN_HEIGHT;
    loop {
        let width = heights.iter().map(|height| number(parts(*height, limit))).sum::<f64>() * USUAL_STEP;
        let tallest = heights.iter().fold(0.0_f64, |max, height| max.max(*height));
        if width <= MAX_RATIO * limit || limit >= tallest {
            return limit;
        }
        limit *= 1.15;
    }
}

/// Sorts columns by barycentres, rightwards and leftwards in turn, and returns the order with the fewest crossings.
fn swept(graph: &Graph, mut columns: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut neighbours: Vec<Vec<(usize, f64)>> = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        neighbours[edge.from].push((edge.to, 1.0 + edge.weight));
        neighbours[edge.to].push((edge.from, 1.0 + edge.weight));
    }
    let column_of: Vec<i64> = graph.nodes.iter().map(|node| node.column).collect();
    let mut best = (crossings(graph, &columns), columns.clone());
    for sweep in 0..SWEEPS {
        let is_rightward = sweep % 2 == 0;
        let turn: Vec<usize> =
            if is_rightward { (0..columns.len()).collect() } else { (0..columns.len()).rev().collect() };
        for at in turn {
            let places = places(&columns, graph.nodes.len());
            let barycentre = |node: usize| {
                let is_seen = |other: usize| match column_of[other].cmp(&column_of[node]) {
                    std::cmp::Ordering::Less => is_rightward,
                    std::cmp::Ordering::Greater => !is_rightward,
                    std::cmp::Ordering::Equal => false,
                };
                let seen = neighbours[node].iter().filter(|(other, _)| is_seen(*other));
                let (sum, weight) =
                    seen.fold((0.0, 0.0), |(sum, all), (other, weight)| (sum + places[*other] * weight, all + weight));
                if weight > 0.0 { sum / weight } else { places[node] }
            };
            let mut keyed: Vec<(f64, usize)> = columns[at].iter().map(|node| (barycentre(*node), *node)).collect();
            keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
            columns[at] = keyed.into_iter().map(|(_, node)| node).collect();
        }
        let found = crossings(graph, &columns);
        if found < best.0 {
            best = (found, columns.clone());
        }
    }
    best.1
}

/// Returns the place of every address within its column, 0 to 1.
fn places(columns: &[Vec<usize>], count: usize) -> Vec<f64> {
    let mut places = vec![0.0; count];
    for members in columns {
        for (place, node) in members.iter().enumerate() {
            places[*node] = (number(place) + 0.5) / number(members.len());
        }
    }
    places
}

/// Counts crossings between neighbouring columns, with a Fenwick tree.
fn crossings(graph: &Graph, columns: &[Vec<usize>]) -> usize {
    let mut at = vec![(0, 0); graph.nodes.len()];
    for (column, members) in columns.iter().enumerate() {
        for (place, node) in members.iter().enumerate() {
            at[*node] = (column, place);
        }
    }
    let mut between: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for edge in &graph.edges {
        let (one, other) = (at[edge.from].min(at[edge.to]), at[edge.from].max(at[edge.to]));
        if one.0 + 1 == other.0 {
            between.entry(one.0).or_default().push((one.1, other.1));
        }
    }
    let mut count = 0;
    for (column, mut pairs) in between {
        pairs.sort_unstable();
        let mut tree = vec![0_usize; columns[column + 1].len() + 1];
        for (seen, (_, right)) in pairs.iter().enumerate() {
            let mut below = 0;
            let mut index = right + 1;
            while index > 0 {
                below += tree[index];
                index &= index - 1;
            }
            count += seen - below;
            index = right + 1;
            while index < tree.len() {
                tree[index] += 1;
                index += index & index.wrapping_neg();
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Edge, EdgeKind};

    #[test]
    fn crossings_are_counted_between_columns() {
        let edge = |from, to| Edge {
            from,
            to,
            kind: EdgeKind::Out,
            payments: Vec::new(),
            usd: None,
            weight: 0.0,
            bridge: None,
        };
        let nodes = vec![
            crate::fixtures::node("a", 0),
            crate::fixtures::node("b", 0),
            crate::fixtures::node("c", 1),
            crate::fixtures::node("d", 1),
        ];
        let graph = Graph { nodes, edges: vec![edge(0, 3), edge(1, 2)], ..Graph::default() };
        assert_eq!(crossings(&graph, &[vec![0, 1], vec![2, 3]]), 1);
        assert_eq!(crossings(&graph, &[vec![0, 1], vec![3, 2]]), 0);
        assert_eq!(crossings(&graph, &swept(&graph, vec![vec![0, 1], vec![2, 3]])), 0);
    }

    #[test]
    fn height_limit_divides_long_columns() {
        assert!((height_limit(&[100.0, 500.0]) - MIN_HEIGHT).abs() < 1e-9);
        let limit = height_limit(&[40.0, 50_000.0]);
        assert!(parts(50_000.0, limit) > 3, "{limit}");
    }
}
