//! The features that models read.

use pyo3::prelude::*;

/// Name, unit and meaning of every feature, in the order of frames.
#[pyfunction]
pub fn features() -> Vec<(&'static str, &'static str, &'static str)> {
    headwater_metrics::features::features().map(|feature| (feature.name, feature.unit.name(), feature.about)).collect()
}

/// The version of the features.
#[pyfunction]
pub const fn features_version() -> u32 {
    headwater_metrics::features::VERSION
}
