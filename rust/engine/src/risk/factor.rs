//! One reason for a score, as answers carry it.

use headwater_intel::risk::{Dimension, Effect, Factor};
use serde::Serialize;

use super::{code, score, share};
use crate::fields::{CodeText, values};
use crate::labels::{ClaimDispute, InheritedThrough};

values! {
    /// A dimension of the score.
    DimensionName { Intel = "intel", Behavior = "behavior", Graph = "graph" }
    /// What context did to a factor.
    EffectName { Amplify = "amplify", Suppress = "suppress", AsIs = "as_is" }
}

words! {
    Dimension => DimensionName { Intel Behavior Graph }
    Effect => EffectName { Amplify Suppress AsIs }
}

/// One reason for a score.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct FactorRecord {
    /// Its dimension.
    pub dimension: DimensionName,
    /// The gate, label code, behaviour or category of risk.
    pub code: CodeText,
    /// What context did to it.
    pub effect: EffectName,
    /// With its numbers, in a few words.
    pub detail: Option<String>,
    /// Weight of a behaviour in its context, confidence of a label, share of a category; null for gates.
    pub weight: Option<f64>,
    /// Points of the score that it stands for.
    pub points: f64,
    /// Of a label code: what links the address to those of its cluster whose claims it inherits; empty where all claims name the
    /// address itself.
    pub inherited_through: Vec<InheritedThrough>,
    /// The dispute of a claim that the factor rests on, of the address itself or of a counterparty; null where none is
    /// disputed.
    pub disputed: Option<ClaimDispute>,
}

impl FactorRecord {
    /// A factor, with what links the address to those whose claims of its code it inherits.
    pub(super) fn new(factor: &Factor, inherited_through: Vec<InheritedThrough>) -> Self {
        let detail =
            std::iter::once(factor.detail.clone()).chain(inherited_through.iter().map(InheritedThrough::words));
        let detail = detail.collect::<Vec<_>>().join("; ");
        Self {
            dimension: factor.dimension.into(),
            code: code(&factor.code),
            effect: factor.effect.into(),
            detail: Some(detail),
            weight: factor.weight.map(share),
            points: score(factor.points),
            inherited_through,
            disputed: factor.dispute.clone().map(ClaimDispute::from),
        }
    }
}
