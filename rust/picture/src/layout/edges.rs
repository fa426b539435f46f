//! The lines of payments: at which sides of boxes they end, and where their texts are.

use std::collections::BTreeMap;

use super::sides::{EdgeEnd, EdgeSides, Side, port_room};
use super::{BOX_WIDTH, NodeBox, RUN, Runs, SHORT_RUN};
use crate::fonts::{Weight, fitted};
use crate::graph::{EdgeKind, Graph};

/// The size of text at edges.
pub(crate) const LABEL_SIZE: f64 = 9.0;
/// Maximum number of edges with a text at one side of a box.
const MAX_LABELS: usize = 14;
/// The distance by which a line between boxes of one column bulges.
const BULGE: f64 = 70.0;

/// A line of a payment.
#[derive(Debug, Clone)]
pub(crate) struct EdgeLine {
    /// The corners: start, end of a straight part there, two control points, begin of a straight part at the end, and end.
    pub points: [(f64, f64); 6],
    /// The width.
    pub width: f64,
    /// The text, if there is room for it.
    pub label: Option<EdgeLabel>,
}

/// The text of a line: the amount above it, the dates below it.
#[derive(Debug, Clone)]
pub(crate) struct EdgeLabel {
    /// The amount.
    pub above: String,
    /// The dates.
    pub below: String,
    /// The place of the text: its left or right end, and the height of the line.
    pub at: (f64, f64),
    /// The side of the box at which it is.
    pub side: Side,
    /// True at the payee.
    pub is_at_payee: bool,
}

/// Chooses the sides of all edges, and the end of each text: that at which fewer edges end.
pub(super) fn sides(graph: &Graph, boxes: &[NodeBox]) -> Vec<EdgeSides> {
    let sides_of = |from: &NodeBox, to: &NodeBox| match from.column.cmp(&to.column) {
        std::cmp::Ordering::Less => (Side::Right, Side::Left),
        std::cmp::Ordering::Greater => (Side::Left, Side::Right),
        std::cmp::Ordering::Equal => (Side::Right, Side::Right),
    };
    let mut all: Vec<EdgeSides> = graph
        .edges
        .iter()
        .map(|edge| {
            let (from, to) = sides_of(&boxes[edge.from], &boxes[edge.to]);
            EdgeSides { from: (edge.from, from), to: (edge.to, to), label: None }
        })
        .collect();
    let mut degrees: BTreeMap<(usize, Side), usize> = BTreeMap::new();
    for of in &all {
        *degrees.entry(of.from).or_default() += 1;
        *degrees.entry(of.to).or_default() += 1;
    }
    let mut by_weight: Vec<usize> = (0..all.len()).collect();
    by_weight.sort_by(|one, other| {
        graph.edges[*other].weight.total_cmp(&graph.edges[*one].weight).then_with(|| one.cmp(other))
    });
    let mut labels: BTreeMap<(usize, Side), usize> = BTreeMap::new();
    for number in by_weight {
        let of = &mut all[number];
        let ends = if degrees[&of.to] <= degrees[&of.from] {
            [(EdgeEnd::To, of.to), (EdgeEnd::From, of.from)]
        } else {
            [(EdgeEnd::From, of.from), (EdgeEnd::To, of.to)]
        };
        let free = ends.into_iter().find(|(_, port)| labels.get(port).is_none_or(|count| *count < MAX_LABELS));
        if let Some((end, port)) = free {
            *labels.entry(port).or_default() += 1;
            of.label = Some(end);
        }
    }
    all
}

/// Returns the widths of the straight parts at both sides of each column: the texts of its edges are there.
pub(super) fn runs(columns: usize, boxes: &[NodeBox], sides: &[EdgeSides]) -> Vec<Runs> {
    let mut runs = vec![[SHORT_RUN; 2]; columns];
    for (node, side, is_labelled) in sides.iter().flat_map(EdgeSides::ports) {
        if is_labelled {
            runs[boxes[node].column][usize::from(side == Side::Right)] = RUN;
        }
    }
    runs
}

/// Draws all lines: straight beside the boxes, where texts are, and curved in the room between.
pub(super) fn lines(graph: &Graph, boxes: &[NodeBox], sides: &[EdgeSides], runs: &[Runs]) -> Vec<EdgeLine> {
    let away = |side: Side, length: f64| if side == Side::Right { length } else { -length };
    let run = |(node, side): (usize, Side)| away(side, runs[boxes[node].column][usize::from(side == Side::Right)]);
    let heights = port_heights(boxes, sides);
    let all = graph.edges.iter().zip(sides).zip(heights);
    all.map(|((edge, sides), [from_height, to_height])| {
        let from = (edge_of(boxes, sides.from), from_height);
        let to = (edge_of(boxes, sides.to), to_height);
        let begin = (from.0 + run(sides.from), from.1);
        let finish = (to.0 + run(sides.to), to.1);
        let bend = if sides.from.1 == sides.to.1 { BULGE } else { (finish.0 - begin.0).abs() / 2.0 };
        let first = (begin.0 + away(sides.from.1, bend), begin.1);
        let second = (finish.0 + away(sides.to.1, bend), finish.1);
        let label = sides.label.map(|end| {
            let (port, height) = if end == EdgeEnd::To { (sides.to, to.1) } else { (sides.from, from.1) };
            let text = |text: &str| fitted(text, LABEL_SIZE, Weight::Regular, RUN - 14.0);
            EdgeLabel {
                above: text(&edge.amount_text()),
                below: text(&edge.date_text()),
                at: (edge_of(boxes, port) + away(port.1, 12.0), height),
                side: port.1,
                is_at_payee: end == EdgeEnd::To,
            }
        });
        EdgeLine { points: [from, begin, first, second, finish, to], width: width(edge.weight, edge.kind), label }
    })
    .collect()
}

fn edge_of(boxes: &[NodeBox], (node, side): (usize, Side)) -> f64 {
    boxes[node].left + if side == Side::Right { BOX_WIDTH } else { 0.0 }
}

/// Returns the width of a line; the area that people see grows with the worth.
fn width(weight: f64, kind: EdgeKind) -> f64 {
    let widest = if kind == EdgeKind::Change { 5.0 } else { 9.0 };
    1.2 + (widest - 1.2) * weight.max(0.0).sqrt()
}

/// An end of an edge at a side of a box.
struct Port {
    /// The number of the edge.
    edge: usize,
    /// 0 for the payer, 1 for the payee.
    end: usize,
    /// True if the text of the edge is there.
    is_labelled: bool,
    /// The height of the box at the other end.
    far: f64,
}

/// Returns the heights at which edges end, sorted at each side by the height of the other end.
fn port_heights(boxes: &[NodeBox], sides: &[EdgeSides]) -> Vec<[f64; 2]> {
    let mut ports: BTreeMap<(usize, Side), Vec<Port>> = BTreeMap::new();
    for (edge, of) in sides.iter().enumerate() {
        let [from, to] = of.ports();
        for (end, ((node, side, is_labelled), other)) in [(from, to), (to, from)].into_iter().enumerate() {
            let far = boxes[other.0].middle();
            ports.entry((node, side)).or_default().push(Port { edge, end, is_labelled, far });
        }
    }
    let mut heights = vec![[0.0; 2]; sides.len()];
    for ((node, _), mut of) in ports {
        of.sort_by(|one, other| {
            one.far.total_cmp(&other.far).then_with(|| (one.edge, one.end).cmp(&(other.edge, other.end)))
        });
        let total: f64 = of.iter().map(|port| port_room(port.is_labelled)).sum();
        let mut at = boxes[node].middle() - total / 2.0;
        for Port { edge, end, is_labelled, .. } in of {
            heights[edge][end] = at + port_room(is_labelled) / 2.0;
            at += port_room(is_labelled);
        }
    }
    heights
}
