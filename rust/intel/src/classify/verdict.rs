//! The class of one address, with the corrections for too little data.

use std::num::NonZeroU64;

use headwater_types::Chain;

use super::model::Model;

/// The class of addresses about which nothing can be said. A model may have a class of this name or not.
pub const UNKNOWN: &str = "Unknown";

/// Fewest transfers for a class: below, most features (gaps, shares, moments) are undefined or noise.
const MIN_TRANSFERS: u64 = 5;

/// Transfers at which the model counts as much as the priors, where there are fewer than [`MIN_TRANSFERS`]. From there on it
/// counts alone: it was calibrated on such addresses, and to mix in priors would spoil that.
const HALF_WEIGHT_TRANSFERS: f64 = 10.0;

/// Least probability of a class on TRON. Its answers have a class `Unknown`, which is better than a class that is more
/// probably wrong than right; the other chains have no such answer.
const TRON_MIN_PROBABILITY: f64 = 0.5;

/// Largest confidence of an `Unknown` that was not predicted: a lack of data is no certainty.
const MAX_FORCED_CONFIDENCE: f64 = 0.9;

/// The class of one address.
///
/// ```text
/// q = p;  with n < 5 transfers  ψ · p + (1 - ψ) · π,  ψ = n / (n + 10)      p = probabilities, π = priors of the model
/// ```
///
/// The class is the one with the largest q by its [`Model::least_odds`], the first of several: a class is called only where
/// it is so many times as probable as [`UNKNOWN`]. Its q is the confidence. The class is [`UNKNOWN`] instead for an address
/// with fewer than 5 transfers and, on TRON, where no q reaches 0.5; the confidence is then 1 less the largest q of the
/// other classes, at most 0.9.
///
/// The confidence is a probability of the class under the assumptions of the model card. It is no measure of risk, and
/// a class is no proof of what an address is.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The name of the class: one of [`Model::classes`], or [`UNKNOWN`].
    pub class: String,
    /// How sure the class is, 0 to 1.
    pub confidence: f64,
    /// q of each class, in the order of [`Model::classes`].
    pub probabilities: Vec<f64>,
}

impl Verdict {
    /// The verdict on an address with these [`Model::probabilities`], for callers that computed them for many rows.
    ///
    /// An address without transfers has no verdict: callers report it as without activity.
    ///
    /// # Panics
    /// When the number of probabilities is not the number of classes of the model.
    #[must_use]
    pub fn of(model: &Model, probabilities: &[f64], transfers: NonZeroU64) -> Self {
        assert_eq!(probabilities.len(), model.classes().len(), "one probability per class of the model");
        let weight = model_weight(transfers);
        let shrunk = |(p, prior): (&f64, &f64)| weight * p + (1.0 - weight) * prior;
        let probabilities: Vec<f64> = probabilities.iter().zip(model.priors()).map(shrunk).collect();
        let (mut best, mut most, mut other) = (0, 0.0_f64, 0.0_f64);
        let by_odds = |class: usize| probabilities[class] / model.least_odds()[class];
        for (class, name) in model.classes().iter().enumerate() {
            if by_odds(class) > by_odds(best) {
                best = class;
            }
            most = most.max(probabilities[class]);
            if name != UNKNOWN {
                other = other.max(probabilities[class]);
            }
        }
        let is_unsure = model.chain() == Chain::TRON && most < TRON_MIN_PROBABILITY;
        let (class, confidence) = if transfers.get() < MIN_TRANSFERS || is_unsure {
            (UNKNOWN, (1.0 - other).min(MAX_FORCED_CONFIDENCE))
        } else {
            (model.classes()[best].as_str(), probabilities[best])
        };
        // Rounding can leave a sum of shares a bit above 1.
        Self { class: class.to_owned(), confidence: confidence.clamp(0.0, 1.0), probabilities }
    }
}

impl Model {
    /// The class of the address whose features are in the row.
    ///
    /// Takes one value per feature in the order of [`Model::features`], and the number of transfers of the address.
    /// [`Verdict`] states the rules.
    ///
    /// ```
    /// use headwater_intel::classify::Model;
    /// # let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/classify/fixtures/small.json"));
    /// # let count = |n| std::num::NonZeroU64::new(n).unwrap();
    /// let model = Model::parse(bytes)?;
    /// // p = 0.5, 0.5: the first of both.
    /// let verdict = model.verdict(&[5.0, 4.0], count(12));
    /// assert_eq!((verdict.class.as_str(), verdict.confidence), ("Exchange", 0.5));
    /// assert_eq!(model.verdict(&[5.0, 4.0], count(4)).class, "Unknown");
    /// # Ok::<_, headwater_intel::classify::ModelError>(())
    /// ```
    ///
    /// # Panics
    /// When the row has another number of values.
    #[must_use]
    pub fn verdict(&self, row: &[f64], transfers: NonZeroU64) -> Verdict {
        Verdict::of(self, &self.probabilities(row), transfers)
    }
}

/// ψ: how much the model counts, the rest being the priors.
#[expect(clippy::cast_precision_loss, reason = "fewer than 5")]
fn model_weight(transfers: NonZeroU64) -> f64 {
    match transfers.get() {
        transfers if transfers >= MIN_TRANSFERS => 1.0,
        transfers => transfers as f64 / (transfers as f64 + HALF_WEIGHT_TRANSFERS),
    }
}
