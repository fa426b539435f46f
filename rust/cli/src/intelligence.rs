//! Loads the risk parameters, classifiers and prices that the settings name.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_engine::{Intelligence, RiskParameters};
use headwater_state::causes;
use headwater_state::clock::now_secs;

use super::Settings;
use super::error::Failure;

/// Loads parameters, classifiers and clock, without a provider of claims.
///
/// # Errors
/// When a file that the settings name cannot be used.
pub fn intelligence(settings: &Settings) -> Result<Intelligence, Failure> {
    let parameters = match &settings.risk_parameters {
        None => Intelligence::default().parameters,
        Some(path) => {
            let refused = |why: String| {
                Failure::usage(format!("intel.risk_parameters: {} cannot be used: {why}", path.display()))
            };
            let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
            Arc::new(RiskParameters::parse(&text).map_err(|error| refused(causes(&error)))?)
        }
    };
    let intelligence = Intelligence { parameters, now_secs: Some(now_secs), ..Intelligence::default() };
    with_models(intelligence, "intel.classifiers", &settings.classifiers)
}

/// Adds the classifiers of model files; a refusal names the setting.
pub(super) fn with_models(
    intelligence: Intelligence,
    setting: &str,
    files: &[PathBuf],
) -> Result<Intelligence, Failure> {
    let files = files.iter().map(|path| (path.display().to_string(), fs::read(path)));
    intelligence.with_models(files).map_err(|why| Failure::usage(format!("{setting}: {why}")))
}
