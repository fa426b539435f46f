//! How a command fails.

use headwater_ingest::IngestError;
use headwater_ledger::LedgerError;

use crate::causes;
use crate::config::ConfigError;
use crate::gateway::Problem;
use crate::state::StateError;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(super) struct Failure {
    /// 1: it failed; 2: it was used wrongly.
    pub code: u8,
    /// Text for people, naming place and remedy.
    pub message: String,
    /// The error envelope, where a data endpoint refused.
    pub problem: Option<Box<Problem>>,
}

impl Failure {
    /// Wrong usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into(), problem: None }
    }

    /// A failure with a text of its own.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into(), problem: None }
    }

    /// A failure with all that lies below it.
    pub fn from_error(error: &dyn std::error::Error) -> Self {
        Self::failed(causes(error))
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self { code: 1, message: problem.message.clone(), problem: Some(Box::new(problem)) }
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

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self { code: 2, ..Self::from_error(&error) }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::from_error(&error)
    }
}
