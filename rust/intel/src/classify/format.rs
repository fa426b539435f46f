//! Reads a model file and checks all of it but the trees.

use std::collections::BTreeSet;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use headwater_types::Chain;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::ModelError;
use super::flat::{FlatTrees, MAX_SCORE};

/// The format that this version reads.
pub const FORMAT: &str = "headwater-classifier/1";

/// Largest uncompressed size of a model file, 64 MiB: some 100 times a model of 1,000 trees with 16 leaves, and little
/// enough that a hostile file cannot exhaust the memory.
pub const MAX_BYTES: usize = 64 << 20;

/// Features that a node can name in 16 bits.
const MAX_FEATURES: usize = 1 << 16;

/// Bounds of the temperature. Calibration moves it little from 1; the bounds keep all logits finite.
const TEMPERATURES: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// How far the sum of the priors may be from 1.
const PRIORS_TOLERANCE: f64 = 1e-6;

/// The content of a model file, checked.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) chain: Chain,
    pub(super) version: String,
    pub(super) features_version: u32,
    pub(super) features: Vec<String>,
    pub(super) classes: Vec<String>,
    pub(super) priors: Vec<f64>,
    pub(super) least_odds: Vec<f64>,
    pub(super) temperature: f64,
    pub(super) offsets: Vec<f64>,
    pub(super) initial: Vec<f64>,
    pub(super) trees: FlatTrees,
    pub(super) card: Value,
}

impl Content {
    /// Reads and checks a file.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ModelError> {
        let keys: Map<String, Value> = if bytes.starts_with(&[0x1f, 0x8b]) {
            serde_json::from_slice(&inflate(bytes, MAX_BYTES)?)
        } else if bytes.len() > MAX_BYTES {
            return Err(ModelError::TooLarge { limit: MAX_BYTES });
        } else {
            serde_json::from_slice(bytes)
        }
        .map_err(ModelError::Json)?;
        let content = Self::take(Section { prefix: "", keys })?;
        content.check()?;
        Ok(content)
    }

    fn take(mut file: Section) -> Result<Self, ModelError> {
        let format: String = file.take("format")?;
        if format != FORMAT {
            return Err(ModelError::value("format", format!("{format:?}"), format!("{FORMAT:?}")));
        }
        let mut calibration = Section { prefix: "calibration.", keys: file.take("calibration")? };
        let mut trees = Section { prefix: "trees.", keys: file.take("trees")? };
        let chain: String = file.take("chain")?;
        let classes: Vec<String> = file.take("classes")?;
        let content = Self {
            chain: Chain::from_name(&chain).ok_or_else(|| {
                let names: Vec<_> = Chain::all().map(Chain::name).collect();
                ModelError::value("chain", format!("{chain:?}"), format!("one of {}", names.join(", ")))
            })?,
            version: file.take("version")?,
            features_version: file.take("features_version")?,
            features: file.take("features")?,
            priors: file.take("priors")?,
            least_odds: if file.keys.contains_key("least_odds") {
                file.take("least_odds")?
            } else {
                vec![1.0; classes.len()]
            },
            classes,
            temperature: calibration.take("temperature")?,
            offsets: calibration.take("offsets")?,
            initial: file.take("initial")?,
            trees: FlatTrees {
                class: trees.take("class")?,
                nodes: trees.take("nodes")?,
                feature: trees.take("feature")?,
                threshold: trees.take("threshold")?,
                left: trees.take("left")?,
                right: trees.take("right")?,
                missing_left: trees.take("missing_left")?,
                node_cover: trees.take("node_cover")?,
                leaf: trees.take("leaf")?,
                leaf_cover: trees.take("leaf_cover")?,
            },
            card: file.take("card")?,
        };
        [file, calibration, trees].into_iter().try_for_each(Section::finish)?;
        Ok(content)
    }

    fn check(&self) -> Result<(), ModelError> {
        check_names("features", &self.features)?;
        check_names("classes", &self.classes)?;
        if self.features.len() > MAX_FEATURES {
            let expected = format!("at most {MAX_FEATURES}");
            return Err(ModelError::value("features", format!("{} names", self.features.len()), expected));
        }
        let classes = self.classes.len();
        for (key, values) in [
            ("priors", &self.priors),
            ("least_odds", &self.least_odds),
            ("calibration.offsets", &self.offsets),
            ("initial", &self.initial),
        ] {
            ModelError::check_length(key, values.len(), classes)?;
            ModelError::check_magnitude(key, values, MAX_SCORE)?;
        }
        if let Some(at) = self.priors.iter().position(|prior| *prior < 0.0) {
            return Err(ModelError::value(format!("priors[{at}]"), self.priors[at], "a share from 0 to 1"));
        }
        if let Some(at) = self.least_odds.iter().position(|odds| *odds < 1.0) {
            return Err(ModelError::value(format!("least_odds[{at}]"), self.least_odds[at], "1 or more"));
        }
        let sum: f64 = self.priors.iter().sum();
        if (sum - 1.0).abs() > PRIORS_TOLERANCE {
            return Err(ModelError::value("priors: the sum", sum, "1"));
        }
        if !TEMPERATURES.contains(&self.temperature) {
            let expected = "a number above 0, from 1e-6 to 1e6";
            return Err(ModelError::value("calibration.temperature", self.temperature, expected));
        }
        self.trees.check(self.features.len(), classes)
    }
}

fn check_names(key: &str, names: &[String]) -> Result<(), ModelError> {
    if names.is_empty() {
        return Err(ModelError::value(key, "empty", "at least one name"));
    }
    let mut seen = BTreeSet::new();
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() || !seen.insert(name) {
            return Err(ModelError::value(format!("{key}[{at}]"), format!("{name:?}"), "a name that is unique"));
        }
    }
    Ok(())
}

/// Decompresses gzip, and stops at the limit: a small file can stand for terabytes.
pub(super) fn inflate(bytes: &[u8], limit: usize) -> Result<Vec<u8>, ModelError> {
    let mut text = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    MultiGzDecoder::new(bytes).take(most).read_to_end(&mut text).map_err(ModelError::Gzip)?;
    if text.len() > limit { Err(ModelError::TooLarge { limit }) } else { Ok(text) }
}

/// A JSON object that is taken apart key by key, so that errors name the key.
struct Section {
    prefix: &'static str,
    keys: Map<String, Value>,
}

impl Section {
    fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, ModelError> {
        let key = format!("{}{name}", self.prefix);
        let Some(value) = self.keys.remove(name) else { return Err(ModelError::Missing { key }) };
        serde_json::from_value(value).map_err(|source| ModelError::Type { key, source })
    }

    /// Refuses what was not taken.
    fn finish(self) -> Result<(), ModelError> {
        let prefix = self.prefix;
        self.keys.keys().min().map_or(Ok(()), |name| Err(ModelError::Unknown { key: format!("{prefix}{name}") }))
    }
}
