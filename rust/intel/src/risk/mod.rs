//! How risky it is to deal with an address, and why: a score of 0 to 100 from who it is (labels), what it did
//! (behaviours) and whom it deals with (counterparties), with floors for what no other evidence may dilute.
//!
//! [`RiskScorer`] is the one way to a score: the endpoints, tables of scores and events all use it.
//!
//! The score orders addresses by the evidence that is held. It is no probability, no proof, and a score of 0 says only
//! that nothing is known. All numbers it depends on stand in one file ([`Parameters`]); all that it is made of stands in
//! the answer, so that it can be recomputed.

mod assess;
mod behaviour;
mod class;
mod composite;
mod context;
mod expansion;
mod factors;
mod gates;
mod graph;
mod identity;
mod neighbours;
mod parameters;
mod place;
mod scorer;
mod shown;
mod sufficiency;
#[cfg(test)]
mod tests;

pub use assess::{Assessment, of_labels};
pub use behaviour::{BehaviourHit, BehaviourScore};
pub use class::{ClassView, ScamLikeness, context_of};
pub use composite::{Composite, Level};
pub use context::{Context, ContextChoice};
pub use expansion::Expansion;
pub use factors::{Dimension, Effect, Factor};
pub use gates::{Gate, GateReason};
pub use graph::{CategoryExposure, Dealings, ExposureWay, GraphScore, Neighbour};
pub use identity::{CodeShare, IntelScore};
pub use parameters::{ParameterError, Parameters};
pub use place::Place;
pub use scorer::{DataEnd, RiskScope, RiskScorer};
pub use shown::{shown, significant};
pub use sufficiency::{Sufficiency, SufficiencyLevel, SufficiencyReason};

/// The largest probability of a factor, so that shares of a saturated score stay finite.
const MOST: f64 = 1.0 - 1e-9;

/// Divides a total among parts by the surprise of each, `ln(1 - p)`: shares add up to the total. All zero gives zeros.
fn split(total: f64, parts: &[f64]) -> Vec<f64> {
    let logs: Vec<f64> = parts.iter().map(|part| (1.0 - part.clamp(0.0, MOST)).ln()).collect();
    let sum: f64 = logs.iter().sum();
    logs.iter().map(|log| if sum == 0.0 { 0.0 } else { total * log / sum }).collect()
}
