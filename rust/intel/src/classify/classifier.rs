//! Models joined with the features that they read.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Arc, LazyLock};

use headwater_metrics::features::{self, Base, Feature};
use headwater_types::Chain;

use super::error::ModelError;
use super::model::Model;
use super::verdict::Verdict;

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

    /// Whether an operator brought it, and it is not part of the program.
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
