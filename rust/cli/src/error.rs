//! Failures of commands.

use headwater_engine::Details;
use headwater_ingest::IngestError;
use headwater_ledger::LedgerError;
use headwater_state::{StateError, causes};
use serde::Serialize;

/// The reason for which a command failed.
#[derive(Debug)]
pub struct Failure {
    /// 1: it failed; 2: it was used wrongly.
    pub code: u8,
    /// Text for people, naming place and remedy.
    pub message: String,
    /// The refusal of the query engine, where a data endpoint refused.
    pub refusal: Option<Box<Refusal>>,
}

/// An error of the query engine as scripts read it.
#[derive(Debug, Serialize)]
pub struct Refusal {
    /// Stable code, the same as over HTTP.
    code: &'static str,
    /// Text for people.
    message: String,
    /// Reason and place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) details: Option<Details>,
}

impl Failure {
    /// Reports wrong usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into(), refusal: None }
    }

    /// Reports a failure with a text of its own.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into(), refusal: None }
    }

    /// Reports an error with its causes.
    pub fn from_error(error: &dyn std::error::Error) -> Self {
        Self::failed(causes(error))
    }

    /// Reports a refusal of the query engine with its causes, which the caller may read.
    #[must_use]
    pub fn from_engine(error: &headwater_engine::Error) -> Self {
        let refusal = Refusal { code: error.kind.code(), message: error.message.clone(), details: error.details() };
        Self { refusal: Some(Box::new(refusal)), ..Self::from_error(error) }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Self::from_error(&error)
    }
}

impl From<IngestError> for Failure {
    fn from(error: IngestError) -> Self {
        Self::from_error(&error)
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        Self::from_error(&error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::from_error(&error)
    }
}
