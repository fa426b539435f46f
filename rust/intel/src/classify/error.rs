//! Why a model file is refused.

use std::fmt::Display;

use thiserror::Error;

/// Why a model file is refused. Keys are written with their section and position: `trees.left[17]`.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The file starts like gzip and cannot be decompressed.
    #[error("classifier model: cannot decompress the file: {0}; expected gzip or plain JSON")]
    Gzip(#[source] std::io::Error),
    /// The file is too large.
    #[error("classifier model: more than {limit} bytes uncompressed; expected at most that")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The file is not JSON, or not an object. Numbers that no `f64` can hold end here, too.
    #[error("classifier model: not a JSON object: {0}")]
    Json(#[source] serde_json::Error),
    /// A key is missing.
    #[error("classifier model: {key} is missing")]
    Missing {
        /// The key.
        key: String,
    },
    /// A key is not part of the format.
    #[error("classifier model: unknown key {key}")]
    Unknown {
        /// The key.
        key: String,
    },
    /// A key has a value of another type.
    #[error("classifier model: {key}: {source}")]
    Type {
        /// The key.
        key: String,
        /// What was found, and what was expected.
        source: serde_json::Error,
    },
    /// A list has the wrong length.
    #[error("classifier model: {key} has {found} entries, expected {expected}")]
    Length {
        /// The key.
        key: String,
        /// Entries in the file.
        found: usize,
        /// Entries that the other keys call for.
        expected: usize,
    },
    /// A value is not allowed.
    #[error("classifier model: {key} is {value}, expected {expected}")]
    Value {
        /// The key.
        key: String,
        /// The value in the file.
        value: String,
        /// The values that are allowed.
        expected: String,
    },
    /// The model was trained on features of another version.
    #[error("classifier model: features_version is {found}, expected {expected}: train the model anew")]
    FeaturesVersion {
        /// In the file.
        found: u32,
        /// Of this program.
        expected: u32,
    },
    /// The model reads a feature that the program does not compute.
    #[error("classifier model: unknown feature {name:?}: train the model anew on the features of this version")]
    UnknownFeature {
        /// Its name.
        name: String,
    },
}

impl ModelError {
    /// A value that is not allowed.
    pub(super) fn value(key: impl Into<String>, value: impl Display, expected: impl Into<String>) -> Self {
        Self::Value { key: key.into(), value: value.to_string(), expected: expected.into() }
    }

    /// Compares the length of a list with the expected one.
    pub(super) fn check_length(key: &str, found: usize, expected: usize) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self::Length { key: key.to_owned(), found, expected }) }
    }

    /// Requires numbers with `|value| <= max`, so that no sum of them can overflow.
    pub(super) fn check_magnitude(key: &str, values: &[f64], max: f64) -> Result<(), Self> {
        let wrong = values.iter().position(|value| value.is_nan() || value.abs() > max);
        wrong.map_or(Ok(()), |at| {
            Err(Self::value(format!("{key}[{at}]"), values[at], format!("a number from -{max:e} to {max:e}")))
        })
    }
}
