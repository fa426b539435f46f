//! The layout of a picture: columns by hops, an order with few crossings, and places for every text.
//!
//! The method is that of Sugiyama, Tagawa and Toda (1981), without dummy nodes: sweeps by barycentres choose the order of
//! each column, and isotonic regression places its boxes near their neighbours without overlaps. Each step depends on
//! the contents alone.

mod boxes;
mod edges;
mod order;
mod sides;

pub(crate) use boxes::{BOX_WIDTH, FONT_SIZE, NodeBox};
pub(crate) use edges::{EdgeLabel, EdgeLine, LABEL_SIZE};
pub(crate) use sides::Side;

use crate::graph::Graph;

/// The width that curves take between columns, in pixels.
const CURVES: f64 = 60.0;
/// The width that the texts of edges take at one side of a column.
const RUN: f64 = 140.0;
/// The width of that room without texts.
const SHORT_RUN: f64 = 16.0;
/// The usual distance of columns, by which long ones are divided.
const USUAL_STEP: f64 = BOX_WIDTH + RUN + CURVES;
/// The height of the room between boxes of a column.
pub(crate) const SPACE: f64 = 16.0;

/// The places of boxes and lines, in pixels from the left upper corner.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// A box for each address.
    pub boxes: Vec<NodeBox>,
    /// A line for each payment.
    pub lines: Vec<EdgeLine>,
    /// The titles of columns: left edge and text.
    pub columns: Vec<(f64, String)>,
    /// The width of everything.
    pub width: f64,
    /// The height of everything.
    pub height: f64,
}

/// Places the contents of a picture.
pub(crate) fn layout(graph: &Graph) -> Layout {
    let mut boxes: Vec<NodeBox> = graph.nodes.iter().map(boxes::NodeBox::of).collect();
    let order = order::columns(graph, &boxes);
    for (column, members) in order.columns.iter().enumerate() {
        for &node in members {
            boxes[node].column = column;
        }
    }
    let sides = edges::sides(graph, &boxes);
    let runs = edges::runs(order.columns.len(), &boxes, &sides);
    let lefts: Vec<f64> = runs.iter().scan(0.0, next_left).collect();
    for of in &mut boxes {
        of.left = lefts[of.column];
    }
    boxes::grow(&mut boxes, &sides);
    boxes::place(graph, &order.columns, &mut boxes);
    let lines = edges::lines(graph, &boxes, &sides, &runs);
    let right = |line: &EdgeLine| line.points.iter().map(|point| point.0).fold(0.0, f64::max);
    let width = boxes.iter().map(|of| of.left + BOX_WIDTH).chain(lines.iter().map(right)).fold(BOX_WIDTH, f64::max);
    let height = boxes.iter().map(|of| of.top + of.height).fold(0.0, f64::max);
    let columns = order.titles.iter().map(|(column, title)| (lefts[*column], title.clone())).collect();
    Layout { boxes, lines, columns, width, height }
}

/// The widths of the straight parts of edges at the left and right side of a column.
type Runs = [f64; 2];

/// Returns the left edge of a column behind those before it.
#[expect(clippy::unnecessary_wraps, reason = "the form of `scan`")]
fn next_left(right: &mut f64, [before, after]: &Runs) -> Option<f64> {
    // The first column begins at the edge.
    let left = if *right == 0.0 { 0.0 } else { *right + CURVES + before };
    *right = left + BOX_WIDTH + after;
    Some(left)
}

#[expect(clippy::cast_precision_loss, reason = "pixels")]
pub(crate) fn number(count: usize) -> f64 {
    count as f64
}
