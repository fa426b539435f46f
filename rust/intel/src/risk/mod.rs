//! How risky it is to deal with an address, and why: a score of 0 to 100 from its labels, its behaviours and its
//! counterparties, with floors that no other evidence may dilute.
//!
//! [`Assessor`] is the one way to a score: endpoints, tables of scores and alerts all use it.
//!
//! The score orders addresses by the evidence that is held. It is neither a probability nor a proof, and a score of 0 says
//! only that nothing is known. One file contains all its numbers ([`Parameters`]), and an assessment contains all its
//! parts, so that a score can be recomputed.

mod assessor;
mod behaviour;
mod counterparties;
mod factors;
mod identity;
mod intelligence;
mod judgement;
mod parameters;
#[cfg(test)]
mod tests;

pub use assessor::{Assessment, Assessor, DataEnd, Detail, RiskScope, judged_chain};
pub use behaviour::{BehaviourHit, BehaviourScore, ClassView, Context, ContextChoice, ScamLikeness, context_of};
pub use counterparties::{CategoryExposure, Dealings, ExposureWay, GraphScore, Neighbour};
pub use factors::{Composite, Dimension, Effect, Factor, shown, significant};
pub use identity::{CodeShare, Gate, GateReason, IntelScore};
pub use intelligence::{ClaimProvider, Intelligence, ProviderPolicy, ProviderUse};
pub use judgement::{
    AnalysisDepth, Expansion, Judgement, Level, Sufficiency, SufficiencyLevel, SufficiencyReason, judge_labels,
};
pub use parameters::{ParameterError, Parameters};

/// The largest probability of a factor, so that shares of a saturated score stay finite.
const MAX_PROBABILITY: f64 = 1.0 - 1e-9;

/// Divides a total among parts by the surprise of each, `ln(1 - p)`: shares add up to the total. All zero gives zeros.
fn split(total: f64, parts: &[f64]) -> Vec<f64> {
    let logs: Vec<f64> = parts.iter().map(|part| (1.0 - part.clamp(0.0, MAX_PROBABILITY)).ln()).collect();
    let sum: f64 = logs.iter().sum();
    logs.iter().map(|log| if sum == 0.0 { 0.0 } else { total * log / sum }).collect()
}
