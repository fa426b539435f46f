//! Colours and shapes of static pictures, by the kind of address and payment. The page has its own in `graph.css`.

use crate::graph::{EdgeKind, Kind};

/// The colour of text.
pub(crate) const TEXT: &str = "#1b222b";
/// The colour of text beside the main one.
pub(crate) const FAINT: &str = "#515c69";
/// The colour of the frame of the first address.
pub(crate) const START: &str = "#b58900";

/// Returns fill and border of an address.
pub(crate) const fn colors(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Unnamed => ("#ffffff", "#6b7684"),
        Kind::Named => ("#e9f0f9", "#3d5f8a"),
        Kind::Exchange => ("#e2f3e6", "#2b7a4b"),
        Kind::Bridge => ("#ebe6fb", "#5a43c4"),
        Kind::Protocol => ("#dff3f6", "#0b6f82"),
        Kind::Mixer => ("#f1e6de", "#7a4a2b"),
        Kind::Illicit => ("#fde3e1", "#c02020"),
    }
}

/// Returns the width of the border of an address.
pub(crate) const fn border_width(kind: Kind) -> f64 {
    match kind {
        Kind::Illicit => 2.8,
        Kind::Unnamed | Kind::Named | Kind::Exchange | Kind::Bridge | Kind::Protocol | Kind::Mixer => 1.6,
    }
}

/// Returns colour and dashes of a payment.
pub(crate) const fn stroke(kind: EdgeKind) -> (&'static str, Option<&'static str>) {
    match kind {
        EdgeKind::Out => ("#2a6fb0", None),
        EdgeKind::In => ("#b8651b", None),
        EdgeKind::Bridge => ("#5a43c4", Some("9 5")),
        EdgeKind::Change => ("#6b7684", Some("2 4")),
    }
}

/// Returns the outline of a box as a path of SVG: the shape of its kind.
pub(crate) fn outline(kind: Kind, (left, top): (f64, f64), (width, height): (f64, f64)) -> String {
    let (right, bottom) = (left + width, top + height);
    let middle = top + height / 2.0;
    let cut = 9.0_f64.min(height / 3.0);
    match kind {
        Kind::Unnamed | Kind::Named => round(left, top, right, bottom, if kind == Kind::Unnamed { 6.0 } else { 0.5 }),
        Kind::Protocol => round(left, top, right, bottom, 15.0_f64.min(height / 2.0)),
        Kind::Exchange => format!(
            "M{:.1} {top:.1}L{:.1} {top:.1}L{right:.1} {:.1}L{right:.1} {bottom:.1}L{left:.1} {bottom:.1}L{left:.1} {:.1}Z",
            left + cut,
            right - cut,
            top + cut,
            top + cut
        ),
        Kind::Illicit => format!(
            "M{:.1} {top:.1}L{:.1} {top:.1}L{right:.1} {:.1}L{right:.1} {:.1}L{:.1} {bottom:.1}L{:.1} {bottom:.1}L{left:.1} {:.1}L{left:.1} {:.1}Z",
            left + cut,
            right - cut,
            top + cut,
            bottom - cut,
            right - cut,
            left + cut,
            bottom - cut,
            top + cut
        ),
        Kind::Bridge => format!(
            "M{left:.1} {middle:.1}L{:.1} {top:.1}L{:.1} {top:.1}L{right:.1} {middle:.1}L{:.1} {bottom:.1}L{:.1} {bottom:.1}Z",
            left + cut,
            right - cut,
            right - cut,
            left + cut
        ),
        Kind::Mixer => format!(
            "M{left:.1} {top:.1}L{right:.1} {top:.1}L{:.1} {middle:.1}L{right:.1} {bottom:.1}L{left:.1} {bottom:.1}L{:.1} {middle:.1}Z",
            right - cut,
            left + cut
        ),
    }
}

fn round(left: f64, top: f64, right: f64, bottom: f64, radius: f64) -> String {
    format!(
        "M{:.1} {top:.1}H{:.1}Q{right:.1} {top:.1} {right:.1} {:.1}V{:.1}Q{right:.1} {bottom:.1} {:.1} {bottom:.1}H{:.1}Q{left:.1} {bottom:.1} {left:.1} {:.1}V{:.1}Q{left:.1} {top:.1} {:.1} {top:.1}Z",
        left + radius,
        right - radius,
        top + radius,
        bottom - radius,
        right - radius,
        left + radius,
        bottom - radius,
        top + radius,
        left + radius
    )
}
