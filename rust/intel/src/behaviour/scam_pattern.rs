//! Scam pattern: the address behaves like those that lists call scams. No rule finds it, but the classifier.

use serde::Deserialize;

/// When the classifier counts, and how. `risk::ScamLikeness` states the formula.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScamPattern {
    /// The likeness from which the pattern counts as found. Below it only adds its points.
    pub least_likeness: f64,
    /// The number of real scams that a model of the program has learnt from, at least. An operator's own model always counts.
    pub least_examples: u64,
    /// By how much the odds of the model are divided; `None` for the `least_odds` that the model states.
    pub odds: Option<f64>,
}
