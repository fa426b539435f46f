//! What judgements rest on besides the store, as the settings say.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::{ClaimProvider, Intelligence, RiskParameters};
use tokio::runtime::Handle;

use super::error::Failure;
use crate::causes;
use crate::clock::now_secs;
use crate::config::Config;
use crate::provider::{HttpProvider, ProviderSettings};

/// Parameters, classifiers and clock, without a provider: for commands.
pub(super) fn intelligence(config: &Config) -> Result<Intelligence, Failure> {
    let parameters = match &config.risk_parameters {
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
    with_models(intelligence, "intel.classifiers", &config.classifiers)
}

/// The same with the classifiers of model files; a refusal names the setting.
pub(super) fn with_models(
    intelligence: Intelligence,
    setting: &str,
    files: &[PathBuf],
) -> Result<Intelligence, Failure> {
    let files = files.iter().map(|path| (path.display().to_string(), fs::read(path)));
    intelligence.with_models(files).map_err(|why| Failure::usage(format!("{setting}: {why}")))
}

/// The provider that the settings name.
pub(super) fn provider(config: &Config) -> Result<Option<ProviderSettings>, Failure> {
    let Some(url) = &config.provider_url else {
        return match &config.provider_key {
            Some(_) => Err(Failure::usage("intel.provider_key is set: set intel.provider_url as well")),
            None => Ok(None),
        };
    };
    let name = config.provider_name.as_deref().unwrap_or_else(|| url.authority());
    Ok(Some(ProviderSettings {
        url: url.clone(),
        name: Arc::from(name),
        key: config.provider_key.clone(),
        level: config.provider_level,
        timeout: Duration::from_millis(config.provider_timeout_ms),
        kept: Duration::from_secs(config.provider_cache_secs),
    }))
}

/// The same with the provider, which is asked on a runtime: for a server.
pub(super) fn with_provider(
    intelligence: Intelligence,
    settings: Option<ProviderSettings>,
    runtime: &Handle,
) -> Intelligence {
    let Some(settings) = settings else { return intelligence };
    if settings.url.is_open_on_the_way() {
        tracing::warn!(
            "intel.provider_url: {} is not encrypted: addresses and the key go there in clear",
            settings.url
        );
    }
    let provider: Arc<dyn ClaimProvider> = Arc::new(HttpProvider::new(settings, runtime.clone()));
    Intelligence { provider: Some(provider), ..intelligence }
}
