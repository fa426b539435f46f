//! The risk of one address, as answers carry it.

/// Turns a judgement's word into the one of answers.
macro_rules! words {
    ($($of:ident => $name:ident { $($variant:ident)* })+) => {$(
        impl From<$of> for $name {
            fn from(of: $of) -> Self {
                match of { $($of::$variant => Self::$variant,)* }
            }
        }
    )+};
}

mod assessed;
mod evidence;
mod factor;
mod report;

use headwater_intel::risk::significant;

use crate::fields::CodeText;
pub(crate) use assessed::{Asked, Assessor};
pub use evidence::{EvidenceRecord, MeasuredFeature, MeasuredValue};
pub use factor::{DimensionName, EffectName, FactorRecord};
pub(crate) use headwater_intel::risk::Place;
pub use report::{
    AnalysisDepth, AssessmentName, AssessmentReasonName, BehaviorDimension, BehaviorRecord, BreakdownItem,
    CategoryRecord, CodeRecord, ContextName, DataWindow, DepthReached, ExposureDirection, GateName, GraphDimension,
    GraphEdge, GraphReason, IntelDimension, LevelName, NeighborDirection, RiskDecision, RiskDimensions, RiskMeta,
    RiskReport, RiskyNeighbor, ScoreBreakdown, SeverityName,
};

/// So many decimals, half to even.
pub(crate) fn rounded(value: f64, decimals: i32) -> f64 {
    let unit = 10_f64.powi(decimals);
    // Adding zero turns minus zero into zero.
    (value * unit).round_ties_even() / unit + 0.0
}

/// Points: two decimals, or two significant digits where that would be zero.
pub(crate) fn score(value: f64) -> f64 {
    significant(value, 2)
}

/// A share: six decimals, or two significant digits where that would be zero.
fn share(value: f64) -> f64 {
    significant(value, 6)
}

fn code(text: &str) -> CodeText {
    CodeText(text.to_owned())
}
