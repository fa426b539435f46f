//! All dimensions together.

use super::parameters::Parameters;
use super::{MOST, split};

/// How risky.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Below `levels.medium`.
    Low,
    /// From there on.
    Medium,
    /// From `levels.high` on.
    High,
}

impl Level {
    /// The level of a score.
    #[must_use]
    pub fn of(parameters: &Parameters, score: f64) -> Self {
        if score >= parameters.levels.high {
            Self::High
        } else if score >= parameters.levels.medium {
            Self::Medium
        } else {
            Self::Low
        }
    }

    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The score of all dimensions before floors, and what each adds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Composite {
    /// 0 to 100.
    pub score: f64,
    /// Points of the labels.
    pub intel: f64,
    /// Points of the behaviours.
    pub behaviour: f64,
    /// Points of the counterparties.
    pub graph: f64,
}

impl Composite {
    /// `100 · (1 - (1 - I) · (1 - 0.60 · B) · (1 - 0.85 · G))` over scores by 100; a dimension that is missing is 0.
    #[must_use]
    pub fn of(parameters: &Parameters, intel: f64, behaviour: f64, graph: f64, is_trusted: bool) -> Self {
        let of = &parameters.composite;
        let trust = if is_trusted { of.trusted_service } else { 1.0 };
        let parts = [intel / 100.0, of.behaviour * behaviour / 100.0, of.graph * graph / 100.0 * trust];
        let parts = parts.map(|part| part.clamp(0.0, 1.0));
        let score = 100.0 * (1.0 - parts.iter().map(|part| 1.0 - part).product::<f64>());
        let points = split(score, &parts.map(|part| part.min(MOST)));
        Self { score, intel: points[0], behaviour: points[1], graph: points[2] }
    }
}
