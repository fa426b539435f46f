//! The risk of one address, as answers carry it.

mod assessed;
mod evidence;
mod report;

pub(crate) use assessed::{Asked, Assessor, Place};
pub use evidence::EvidenceRecord;
pub use report::{
    AnalysisDepth, BehaviorDimension, BehaviorRecord, BreakdownItem, CategoryRecord, CodeRecord, ContextName,
    DataWindow, DepthReached, DimensionName, EffectName, FactorRecord, GateName, GraphDimension, GraphEdge,
    GraphReason, IntelDimension, LevelName, NeighborDirection, RiskDecision, RiskDimensions, RiskMeta, RiskReport,
    RiskyNeighbor, ScoreBreakdown, SeverityName,
};
