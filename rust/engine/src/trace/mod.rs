//! Following money: what traces, paths and exposures share.

mod over_bridges;
mod report;
mod rules;
mod source;

pub use report::{
    EdgeDirection, TraceAsset, TraceCrossing, TraceDivision, TraceEdge, TraceEnd, TraceEndAsset, TraceNode,
    TraceSummary, TruncationName,
};
pub(crate) use report::{Shown, dollars, rounded};
pub(crate) use rules::{HUB_COUNTERPARTIES, MAX_MOVEMENTS, STOP_CODES, bounded, exposure_category};
pub(crate) use source::{LedgerMovements, Stops, is_known};
