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

/// The width of the room between columns, in pixels.
pub(crate) const GAP: f64 = 240.0;
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
            boxes[node].left = number(column) * (BOX_WIDTH + GAP);
        }
    }
    let sides = edges::sides(graph, &boxes);
    boxes::grow(&mut boxes, &sides);
    boxes::place(graph, &order.columns, &mut boxes);
    let lines = edges::lines(graph, &boxes, &sides);
    let right = |line: &EdgeLine| line.points.iter().map(|point| point.0).fold(0.0, f64::max);
    let width = boxes.iter().map(|of| of.left + BOX_WIDTH).chain(lines.iter().map(right)).fold(BOX_WIDTH, f64::max);
    let height = boxes.iter().map(|of| of.top + of.height).fold(0.0, f64::max);
    let columns = order.titles.iter().map(|(column, title)| (number(*column) * (BOX_WIDTH + GAP), title.clone()));
    Layout { columns: columns.collect(), boxes, lines, width, height }
}

#[expect(clippy::cast_precision_loss, reason = "pixels")]
pub(crate) fn number(count: usize) -> f64 {
    count as f64
}
