//! Following money: what traces, paths and exposures share.

mod report;
mod source;

pub use report::{EdgeDirection, TraceAsset, TraceEdge, TraceEnd, TraceNode, TraceSummary, TruncationName};
pub(crate) use report::{Shown, of_start};
pub(crate) use source::{LedgerMovements, Stops};
