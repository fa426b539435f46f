//! The risk of one address, as answers carry it.

mod assessed;
mod evidence;
mod report;

pub(crate) use assessed::{Asked, Assessor, Place, context_of_class};
pub use evidence::EvidenceRecord;
pub use report::{
    AnalysisDepth, BehaviorDimension, BehaviorRecord, BreakdownItem, CategoryRecord, CodeRecord, ContextName,
    DataWindow, DepthReached, DimensionName, EffectName, FactorRecord, GateName, GraphDimension, GraphEdge,
    GraphReason, IntelDimension, LevelName, NeighborDirection, RiskDecision, RiskDimensions, RiskMeta, RiskReport,
    RiskyNeighbor, ScoreBreakdown, SeverityName,
};

/// So many decimals, half to even.
pub(crate) fn rounded(value: f64, decimals: i32) -> f64 {
    let unit = 10_f64.powi(decimals);
    // Adding zero turns minus zero into zero.
    (value * unit).round_ties_even() / unit + 0.0
}
