//! What the class of an address adds to its risk: a context, and how much it behaves like scams.

use headwater_metrics::features::Base;

use super::context::{Context, ContextChoice};
use super::parameters::Parameters;
use crate::behaviour::{Evidence, Fact};
use crate::classify::{Classifier, Verdict};

/// The class of addresses that victims of frauds pay.
const SCAM: &str = "Scam";

/// What the class of an address adds to its risk.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassView {
    /// Who the address seems to be; it counts where no label says so.
    pub context: Option<ContextChoice>,
    /// How much it behaves like scams; `None` without a model that knows enough of them. Of few transfers the probability is
    /// near the prior one.
    pub scam: Option<ScamLikeness>,
}

/// How much an address behaves like scams.
#[derive(Debug, Clone, PartialEq)]
pub struct ScamLikeness {
    /// `q = P / (P + r · (1 - P))`: the probability of [`ScamLikeness::probability`] among addresses of which fewer are scams.
    pub likeness: f64,
    /// P: the calibrated probability of the class.
    pub probability: f64,
    /// r: by how much the odds are divided.
    pub odds: f64,
    /// The model and what moved it most.
    pub evidence: Evidence,
}

impl ClassView {
    /// What a verdict adds to the risk of the address with these aggregates. The evidence names so many features.
    #[must_use]
    pub fn of(
        parameters: &Parameters,
        classifier: &Classifier,
        (verdict, base): (&Verdict, &Base),
        named_features: usize,
    ) -> Self {
        let context = context_of(&verdict.class);
        let context = context.and_then(|context| ContextChoice::of_class(parameters, context, verdict.confidence));
        Self { context, scam: ScamLikeness::of(parameters, classifier, (verdict, base), named_features) }
    }
}

impl ScamLikeness {
    fn of(
        parameters: &Parameters,
        classifier: &Classifier,
        (verdict, base): (&Verdict, &Base),
        named_features: usize,
    ) -> Option<Self> {
        let limits = &parameters.behaviours.scam_pattern.limits;
        let model = classifier.model();
        let class = model.classes().iter().position(|name| name == SCAM)?;
        let (scams, all) = (model.real_examples(Some(SCAM)), model.real_examples(None));
        let knows_scams = classifier.is_own() || scams >= limits.least_examples;
        if !knows_scams {
            return None;
        }
        let probability = verdict.probabilities[class].clamp(0.0, 1.0);
        let odds = limits.odds.unwrap_or(model.least_odds()[class]);
        let likeness = divided_odds(probability, odds);
        let mut evidence = Evidence::default()
            .with("probability", Fact::Ratio(probability))
            .with("likeness", Fact::Ratio(likeness))
            .with("odds", Fact::Ratio(odds))
            .with("model", Fact::Text(format!("{} ({})", model.version(), model.digest())));
        if let Some(share) = ratio(scams, all) {
            evidence = evidence.with("assumed_share", Fact::Ratio(divided_odds(share, odds)));
        }
        if named_features > 0 && likeness >= limits.least_likeness {
            let named = classifier.explain(base, SCAM, named_features).unwrap_or_default();
            let features = named.into_iter().map(|of| (of.feature, of.value, of.contribution)).collect();
            evidence = evidence.with("features", Fact::Features(features));
        }
        Some(Self { likeness, probability, odds, evidence })
    }
}

/// A probability after its odds are divided by `odds`: `p / (p + odds · (1 - p))`.
fn divided_odds(probability: f64, odds: f64) -> f64 {
    probability / (probability + odds * (1.0 - probability))
}

#[expect(clippy::cast_precision_loss, reason = "counts of training examples are far below 2^53")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (part > 0 && whole > part).then(|| part as f64 / whole as f64)
}

/// Returns the context in which behaviours of an address of a class are scored; `None` for classes that give none. `Scam`
/// gives none: a prediction accuses nobody.
///
/// ```
/// use headwater_intel::risk::{Context, context_of};
/// assert_eq!(context_of("Exchange"), Some(Context::Exchange));
/// assert_eq!(context_of("Scam"), None);
/// ```
#[must_use]
pub fn context_of(class: &str) -> Option<Context> {
    Some(match class {
        "Exchange" => Context::Exchange,
        "Deposit" => Context::Deposit,
        "Defi" => Context::Defi,
        "MiningPool" => Context::MiningPool,
        "Mixer" => Context::Mixer,
        _ => return None,
    })
}
