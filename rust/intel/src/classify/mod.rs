//! Classifies addresses by what they do: inference of gradient-boosted tree classifiers from a model file.
//!
//! ```text
//! raw_k = initial_k + Σ trees of class k        go left when value <= threshold; NaN goes left where missing_left
//! p     = softmax(raw_k / T + b_k)              temperature T and offsets b, fitted on addresses held out of training
//! q     = p; with n < 5 transfers ψ · p + (1 - ψ) · π, ψ = n / (n + 10)     π = priors of the chain
//! ```
//!
//! [`Model`] reads the file and computes `raw` and `p`, [`Model::contributions`] divides `raw` among the features, and
//! [`Verdict`] is the class of one address with its confidence. Predictions equal those of `LightGBM` to 1e-6; no
//! shared library is needed.
//!
//! # The model file
//!
//! One JSON object, plain or compressed with gzip, at most [`MAX_BYTES`] uncompressed. No other keys are accepted.
//!
//! | key | content |
//! |---|---|
//! | `format` | `headwater-classifier/1` |
//! | `chain`, `version`, `features_version` | name of the chain, text that names the model, version of the features |
//! | `features`, `classes` | names; everything else refers to them by position |
//! | `priors`, `initial` | π and the initial raw score, one per class |
//! | `least_odds` | optional, one per class, 1 or more: a class is called only where it is so many times as probable as |
//! | | `Unknown`, so that an ordinary wallet is seldom called a service or a scam |
//! | `calibration` | `temperature` T and `offsets` b, one offset per class |
//! | `trees.class`, `trees.nodes` | class and number of inner nodes of each tree; its leaves are one more |
//! | `trees.feature`, `.threshold`, `.missing_left`, `.node_cover` | one per inner node, tree after tree |
//! | | a threshold of the largest `f64` stands for infinity: all values go left that are not missing |
//! | `trees.left`, `.right` | children of each inner node in its tree: the inner node `n >= 0`, or the leaf `-1 - n` |
//! | `trees.leaf`, `.leaf_cover` | value of each leaf, tree after tree, and the training rows that reached it |
//! | `card` | the model card: any JSON |
//!
//! # What the numbers do not mean
//!
//! A probability says how often addresses that behave like this one had the class *in the training data of the model*.
//! It is no proof about this address, and it is only as good as the labels of that data and its likeness to the
//! addresses asked about; the model card states both. A class outside the model cannot be predicted: its addresses are
//! assigned to the most similar class. Contributions explain the model, not the world: a feature with a large share is
//! not a cause.

mod classifier;
mod error;
mod explain;
mod flat;
mod forest;
mod format;
mod model;
#[cfg(test)]
mod tests;

pub use classifier::{Classifier, Classifiers, Contribution, UNKNOWN, Verdict};
pub use error::ModelError;
pub use format::{FORMAT, MAX_BYTES};
pub use model::Model;
