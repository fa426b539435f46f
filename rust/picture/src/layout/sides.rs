//! The sides of boxes at which edges end, and the room that they take there.

/// The room for a labelled edge at the side of a box.
const LABELLED: f64 = 36.0;
/// The room for an edge without a label.
const UNLABELLED: f64 = 7.0;

/// A side of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The sides at which an edge ends, and which end carries its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct EdgeSides {
    pub from: (usize, Side),
    pub to: (usize, Side),
    pub label: Option<EdgeEnd>,
}

/// An end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EdgeEnd {
    From,
    To,
}

impl EdgeSides {
    /// Returns address and side of both ends, and whether the text is there.
    pub fn ports(&self) -> [(usize, Side, bool); 2] {
        let Self { from, to, label } = *self;
        [(from.0, from.1, label == Some(EdgeEnd::From)), (to.0, to.1, label == Some(EdgeEnd::To))]
    }
}

/// Returns the distance that an edge takes at the side of a box.
pub(super) fn port_room(is_labelled: bool) -> f64 {
    if is_labelled { LABELLED } else { UNLABELLED }
}
