//! The classifiers of the program by chain, and the class that one gives to an address.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Arc, LazyLock};

use headwater_metrics::features;
use headwater_metrics::features::{Base, Feature};
use headwater_types::Chain;

use super::error::ModelError;
use super::model::Model;

/// The models that are part of the program.
const SHIPPED: &[&[u8]] = &[
    include_bytes!("../../models/bitcoin.json.gz"),
    include_bytes!("../../models/ethereum.json.gz"),
    include_bytes!("../../models/tron.json.gz"),
];

/// Classifies addresses of one chain.
#[derive(Debug)]
pub struct Classifier {
    model: Model,
    features: Vec<&'static Feature>,
    origin: Origin,
}

/// Who made a classifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It is part of the program.
    Program,
    /// An operator brought it.
    Operator,
}

/// What one feature adds to the score of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contribution {
    /// The name of the feature.
    pub feature: &'static str,
    /// Its value for the address; NaN where it has none.
    pub value: f64,
    /// What it adds to the raw score of the class, in log-odds before calibration.
    pub contribution: f64,
}

impl Classifier {
    /// The classifier of a model file.
    ///
    /// # Errors
    /// When the file is no model, or was trained on other features than this program computes.
    pub fn parse(bytes: &[u8]) -> Result<Self, ModelError> {
        let model = Model::parse(bytes)?;
        if model.features_version() != features::VERSION {
            return Err(ModelError::FeaturesVersion { found: model.features_version(), expected: features::VERSION });
        }
        let known =
            |name: &String| features::feature(name).ok_or_else(|| ModelError::UnknownFeature { name: name.clone() });
        let features = model.features().iter().map(known).collect::<Result<_, _>>()?;
        Ok(Self { model, features, origin: Origin::Operator })
    }

    /// The model.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Returns whether an operator brought it, and it is not part of the program.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.origin == Origin::Operator
    }

    /// The class of the address with these aggregates; `None` without transfers.
    #[must_use]
    pub fn classify(&self, base: &Base) -> Option<Verdict> {
        let transfers = NonZeroU64::new(base.transfers())?;
        Some(self.model.verdict(&self.values(base), transfers))
    }

    /// The features that move the raw score of a class most, strongest first; ties in the order of the model.
    /// `None` where the model has no such class.
    #[must_use]
    pub fn explain(&self, base: &Base, class: &str, most: usize) -> Option<Vec<Contribution>> {
        let class = self.model.classes().iter().position(|name| name == class)?;
        let values = self.values(base);
        let of_each = self.model.contributions(&values, class);
        let named = self.features.iter().zip(values).zip(of_each);
        let mut all: Vec<_> = named
            .map(|((feature, value), contribution)| Contribution { feature: feature.name, value, contribution })
            .collect();
        all.sort_by(|one, other| other.contribution.abs().total_cmp(&one.contribution.abs()));
        all.truncate(most);
        Some(all)
    }

    fn values(&self, base: &Base) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.features.len());
        features::values(base, self.features.iter().copied(), &mut values);
        values
    }
}

/// The classifiers of several chains.
#[derive(Debug, Clone, Default)]
pub struct Classifiers {
    of_chain: BTreeMap<Chain, Arc<Classifier>>,
}

impl Classifiers {
    /// Those that are part of the program.
    #[must_use]
    pub fn standard() -> &'static Self {
        static STANDARD: LazyLock<Classifiers> = LazyLock::new(|| {
            let read = |bytes: &&[u8]| {
                let classifier = Classifier::parse(bytes).expect("a test reads every model of the program");
                Classifier { origin: Origin::Program, ..classifier }
            };
            SHIPPED.iter().map(read).fold(Classifiers::default(), Classifiers::with)
        });
        &STANDARD
    }

    /// These, and another one in the place of that of its chain.
    #[must_use]
    pub fn with(mut self, classifier: Classifier) -> Self {
        self.of_chain.insert(classifier.model().chain(), Arc::new(classifier));
        self
    }

    /// The classifier of a chain; `None` where there is none.
    #[must_use]
    pub fn of(&self, chain: Chain) -> Option<&Arc<Classifier>> {
        self.of_chain.get(&chain)
    }
}

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
