//! A model: what its file says, and its probabilities.

use headwater_types::Chain;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::error::ModelError;
use super::explain;
use super::forest::Forest;
use super::format::Content;

/// A gradient-boosted tree classifier of the addresses of one chain.
///
/// Predictions are pure: equal rows give equal bits, one at a time or many at once, on every thread.
///
/// ```
/// use headwater_intel::classify::Model;
/// # let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/classify/fixtures/small.json"));
/// let model = Model::parse(bytes)?;
/// assert_eq!(model.features(), ["in_count", "out_count"]);
/// assert_eq!(model.classes(), ["Exchange", "Scam"]);
/// // Raw scores 1.5 and 2; temperature 0.5 and offsets 1 and 0 make both 4, so that the classes are equally probable.
/// assert_eq!(model.raw_scores(&[5.0, 4.0]), [1.5, 2.0]);
/// assert_eq!(model.probabilities(&[5.0, 4.0]), [0.5, 0.5]);
/// # Ok::<_, headwater_intel::classify::ModelError>(())
/// ```
#[derive(Debug)]
pub struct Model {
    chain: Chain,
    version: String,
    features_version: u32,
    features: Vec<String>,
    classes: Vec<String>,
    priors: Vec<f64>,
    least_odds: Vec<f64>,
    temperature: f64,
    offsets: Vec<f64>,
    forest: Forest,
    /// The mean raw score of each class over the training rows.
    expected: Vec<f64>,
    card: Value,
    digest: String,
}

impl Model {
    /// Reads a model file, gzip or plain JSON (the first bytes tell which); the module documents the format.
    ///
    /// Cost: linear in the uncompressed size; at most some five times that size in memory while reading.
    ///
    /// # Errors
    /// When the file is larger than [`MAX_BYTES`](super::MAX_BYTES) uncompressed, cannot be read, or any key is
    /// missing, unknown, of another type, of the wrong length or out of range; the message names the key. Nothing is
    /// repaired.
    pub fn parse(bytes: &[u8]) -> Result<Self, ModelError> {
        let content = Content::parse(bytes)?;
        let forest = Forest::new(&content.trees, content.initial, content.features.len());
        Ok(Self {
            expected: (0..content.classes.len()).map(|class| explain::expected(&forest, class)).collect(),
            forest,
            chain: content.chain,
            version: content.version,
            features_version: content.features_version,
            features: content.features,
            classes: content.classes,
            priors: content.priors,
            least_odds: content.least_odds,
            temperature: content.temperature,
            offsets: content.offsets,
            card: content.card,
            digest: format!("{:016x}", xxh3_64(bytes)),
        })
    }

    /// The chain whose addresses it classifies.
    #[must_use]
    pub const fn chain(&self) -> Chain {
        self.chain
    }

    /// The name that its makers gave it; [`Model::digest`] tells files apart that share it.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The version of the definitions of its features. Values computed by another version must not be passed to it.
    #[must_use]
    pub const fn features_version(&self) -> u32 {
        self.features_version
    }

    /// The names of its features, in the order in which rows hold their values.
    #[must_use]
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// The names of its classes, in the order of all answers.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// π: the share of each class among addresses of the chain, 0 to 1; they add up to 1 within 1e-6.
    #[must_use]
    pub fn priors(&self) -> &[f64] {
        &self.priors
    }

    /// How many times as probable as [`UNKNOWN`](super::UNKNOWN) each class has to be, at least.
    #[must_use]
    pub fn least_odds(&self) -> &[f64] {
        &self.least_odds
    }

    /// The model card: what it was trained on and how well it does, as free JSON.
    #[must_use]
    pub const fn card(&self) -> &Value {
        &self.card
    }

    /// The number of real addresses that the model learnt a class from, or all classes together: `examples` of its card with
    /// the source `real`. 0 where the card does not say.
    #[must_use]
    pub fn real_examples(&self, class: Option<&str>) -> u64 {
        let examples = self.card["examples"].as_array().into_iter().flatten();
        let of_class = examples.filter(|of| class.is_none_or(|class| of["class"] == class) && of["source"] == "real");
        of_class.filter_map(|of| of["addresses"].as_u64()).sum()
    }

    /// XXH3 (64 bits) of the bytes of the file, as 16 lowercase hexadecimal digits. It names the exact file in answers:
    /// the same JSON compressed in another way has another digest. It is no protection against forgery.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The raw score of each class, in log-odds up to a constant: `initial_k + Σ trees of class k`.
    ///
    /// Takes one value per feature in the order of [`Model::features`]; NaN is a missing value.
    ///
    /// # Panics
    /// When the row has another number of values: rows are built from [`Model::features`].
    #[must_use]
    pub fn raw_scores(&self, row: &[f64]) -> Vec<f64> {
        self.forest.scores(row)
    }

    /// The calibrated probability of each class, 0 to 1: `softmax(raw / T + b)`.
    ///
    /// Takes one value per feature in the order of [`Model::features`]; NaN is a missing value. The probabilities add
    /// up to 1 up to rounding. They say how often similar *training* addresses had the class, before the correction for
    /// few transfers that [`Model::verdict`] makes. Cost: one walk from root to leaf per tree.
    ///
    /// # Panics
    /// When the row has another number of values: rows are built from [`Model::features`].
    #[must_use]
    pub fn probabilities(&self, row: &[f64]) -> Vec<f64> {
        let mut scores = self.raw_scores(row);
        self.calibrate(&mut scores);
        scores
    }

    /// [`Model::probabilities`] of many rows: takes the rows one after the other, and returns one probability per class
    /// of the first row, then of the second, and so on; equal to single calls bit for bit.
    ///
    /// Faster than single calls: a block of rows passes through a tree while the tree is in the cache.
    ///
    /// ```
    /// use headwater_intel::classify::Model;
    /// # let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/classify/fixtures/small.json"));
    /// let model = Model::parse(bytes)?;
    /// assert_eq!(model.probabilities_of_rows(&[5.0, 4.0, 5.0, 4.0]), [0.5, 0.5, 0.5, 0.5]);
    /// # Ok::<_, headwater_intel::classify::ModelError>(())
    /// ```
    ///
    /// # Panics
    /// When the number of values is not a multiple of the number of features.
    #[must_use]
    pub fn probabilities_of_rows(&self, rows: &[f64]) -> Vec<f64> {
        let mut scores = self.forest.scores_of_rows(rows);
        scores.chunks_exact_mut(self.classes.len()).for_each(|scores| self.calibrate(scores));
        scores
    }

    /// The mean raw score of a class over the training rows, from which [`Model::contributions`] count.
    ///
    /// # Panics
    /// When the class is not below the number of classes.
    #[must_use]
    pub fn expected_score(&self, class: usize) -> f64 {
        self.expected[class]
    }

    /// How much each feature adds to the raw score of a class, in the order of [`Model::features`]; with
    /// [`Model::expected_score`] they add up to the raw score.
    ///
    /// Path-dependent `TreeSHAP` (Lundberg, Erion and Lee 2018, arXiv:1802.03888, Algorithm 2): Shapley values, exact
    /// for the trees and the training rows of each node. They explain the model and are no causes. Cost: leaves of the
    /// class times the square of their depth.
    ///
    /// ```
    /// use headwater_intel::classify::Model;
    /// # let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/classify/fixtures/small.json"));
    /// let model = Model::parse(bytes)?;
    /// let parts = model.contributions(&[5.0, 4.0], 0);
    /// assert!((model.expected_score(0) - 1.25).abs() < 1e-12);
    /// assert!((parts[0] + 1.0 / 3.0).abs() < 1e-12 && (parts[1] - 7.0 / 12.0).abs() < 1e-12);
    /// # Ok::<_, headwater_intel::classify::ModelError>(())
    /// ```
    ///
    /// # Panics
    /// When the row has another number of values, or the class is not below the number of classes.
    #[must_use]
    pub fn contributions(&self, row: &[f64], class: usize) -> Vec<f64> {
        assert_eq!(row.len(), self.features.len(), "a row has one value per feature of the model");
        assert!(class < self.classes.len(), "class {class} of a model with {} classes", self.classes.len());
        explain::contributions(&self.forest, row, class)
    }

    /// Turns raw scores into probabilities. The largest logit is subtracted first, so that no power overflows.
    fn calibrate(&self, scores: &mut [f64]) {
        for (score, offset) in scores.iter_mut().zip(&self.offsets) {
            *score = *score / self.temperature + offset;
        }
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for score in scores.iter_mut() {
            *score = (*score - most).exp();
            sum += *score;
        }
        for score in scores {
            *score /= sum;
        }
    }
}
