//! The boxes of addresses: their texts, heights and places.

use super::sides::{EdgeSides, Side, port_room};
use super::{SPACE, number};
use crate::fonts::{Weight, fitted, wrapped};
use crate::graph::{Graph, Node, Role};

/// The width of a box, in pixels.
pub(crate) const BOX_WIDTH: f64 = 210.0;
/// The room between the border of a box and its text.
const PADDING: f64 = 9.0;
/// The height of a line of text.
const LINE: f64 = 14.0;
/// The number of rounds in which boxes move towards their neighbours.
const ROUNDS: usize = 8;

/// A line of text in a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextLine {
    /// The text, as long as fits.
    pub text: String,
    /// True for the name.
    pub is_bold: bool,
}

/// The box of an address.
#[derive(Debug, Clone)]
pub(crate) struct NodeBox {
    /// The lines of text.
    pub lines: Vec<TextLine>,
    /// The number of its column from the left.
    pub column: usize,
    /// The left edge.
    pub left: f64,
    /// The upper edge.
    pub top: f64,
    /// The height.
    pub height: f64,
}

impl NodeBox {
    /// Writes the text of a box.
    pub fn of(node: &Node) -> Self {
        let room = BOX_WIDTH - 2.0 * PADDING;
        let line = |text: &str, is_bold: bool| {
            let weight = if is_bold { Weight::Bold } else { Weight::Regular };
            TextLine { text: fitted(text, FONT_SIZE, weight, room), is_bold }
        };
        let mut lines = Vec::new();
        match node.role {
            Role::Start => lines.push(line("START", true)),
            Role::Target => lines.push(line("TARGET", true)),
            Role::Between => {}
        }
        let bold = (FONT_SIZE, Weight::Bold);
        let name = node.name().unwrap_or_default();
        lines.extend(wrapped(&name, bold, room, 2).into_iter().map(|text| TextLine { text, is_bold: true }));
        lines.push(line(&node.short_address(), false));
        if node.entity.is_some() && !node.labels.is_empty() {
            lines.push(line(&node.labels.join(", "), false));
        }
        if node.dispute.is_some() {
            lines.push(line("this label is disputed", false));
        }
        for end in &node.ends {
            let parts = wrapped(end, (FONT_SIZE, Weight::Regular), room, 2);
            lines.extend(parts.into_iter().map(|text| TextLine { text, is_bold: false }));
        }
        let height = LINE * number(lines.len()) + 10.0;
        Self { lines, column: 0, left: 0.0, top: 0.0, height }
    }

    /// The height of the middle.
    pub fn middle(&self) -> f64 {
        self.top + self.height / 2.0
    }

    /// The height of the base of a line of text.
    pub fn base_of(&self, line: usize) -> f64 {
        let text = LINE * number(self.lines.len());
        self.top + (self.height - text) / 2.0 + LINE * number(line) + 10.5
    }
}

/// The size of text in boxes.
pub(crate) const FONT_SIZE: f64 = 10.5;

/// Makes room at the sides of boxes for the edges that end there.
pub(super) fn grow(boxes: &mut [NodeBox], sides: &[EdgeSides]) {
    let mut rooms = vec![[0.0; 2]; boxes.len()];
    for of in sides {
        for (end, side, is_labelled) in of.ports() {
            rooms[end][usize::from(side == Side::Right)] += port_room(is_labelled);
        }
    }
    for (of, [left, right]) in boxes.iter_mut().zip(rooms) {
        of.height = of.height.max(left + 2.0).max(right + 2.0);
    }
}

/// Places the boxes of each column near their neighbours, in the order of the column and without overlaps.
pub(super) fn place(graph: &Graph, columns: &[Vec<usize>], boxes: &mut [NodeBox]) {
    for members in columns {
        let total: f64 = members.iter().map(|node| boxes[*node].height + SPACE).sum();
        let mut top = -total / 2.0;
        for &node in members {
            boxes[node].top = top;
            top += boxes[node].height + SPACE;
        }
    }
    let mut neighbours: Vec<Vec<(usize, f64)>> = vec![Vec::new(); boxes.len()];
    for edge in graph.edges.iter().filter(|edge| boxes[edge.from].column != boxes[edge.to].column) {
        neighbours[edge.from].push((edge.to, 0.2 + edge.weight));
        neighbours[edge.to].push((edge.from, 0.2 + edge.weight));
    }
    for round in 0..ROUNDS {
        let turn: Vec<usize> =
            if round % 2 == 0 { (0..columns.len()).collect() } else { (0..columns.len()).rev().collect() };
        for at in turn {
            let members = &columns[at];
            let wanted: Vec<f64> = members.iter().map(|node| wanted(boxes, &neighbours[*node], *node)).collect();
            let heights: Vec<f64> = members.iter().map(|node| boxes[*node].height).collect();
            for (node, middle) in members.iter().zip(separated(&wanted, &heights)) {
                boxes[*node].top = middle - boxes[*node].height / 2.0;
            }
        }
    }
    let highest = boxes.iter().map(|of| of.top).fold(f64::INFINITY, f64::min);
    for of in boxes {
        of.top -= highest;
    }
}

/// Returns the height at which a box would be level with its neighbours.
fn wanted(boxes: &[NodeBox], neighbours: &[(usize, f64)], node: usize) -> f64 {
    let weight: f64 = neighbours.iter().map(|(_, weight)| weight).sum();
    if weight == 0.0 {
        return boxes[node].middle();
    }
    neighbours.iter().map(|(other, weight)| boxes[*other].middle() * weight).sum::<f64>() / weight
}

/// Returns the middles nearest to those wanted at which boxes do not overlap: isotonic regression by pooling adjacent
/// violators.
fn separated(wanted: &[f64], heights: &[f64]) -> Vec<f64> {
    // Without the room that each box needs, the condition is that heights do not fall.
    let mut offsets = Vec::with_capacity(heights.len());
    let mut offset = 0.0;
    for (place, height) in heights.iter().enumerate() {
        if place > 0 {
            offset += (heights[place - 1] + height) / 2.0 + SPACE;
        }
        offsets.push(offset);
    }
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (wanted, offset) in wanted.iter().zip(&offsets) {
        pools.push((wanted - offset, 1));
        while let [.., (above, count), (below, more)] = pools[..] {
            if above <= below {
                break;
            }
            pools.pop();
            let all = count + more;
            *pools.last_mut().expect("two pools were there") =
                ((above * number(count) + below * number(more)) / number(all), all);
        }
    }
    let levels = pools.into_iter().flat_map(|(level, count)| std::iter::repeat_n(level, count));
    levels.zip(offsets).map(|(level, offset)| level + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separated_boxes_keep_their_distance() {
        let middles = separated(&[0.0, 0.0, 100.0], &[20.0, 20.0, 20.0]);
        let expected = [-18.0, 18.0, 100.0];
        assert!(middles.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9), "{middles:?}");
    }
}
