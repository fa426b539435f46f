//! The provider of further claims that the configuration names.

use std::sync::Arc;

use headwater_cli::Failure;
use headwater_engine::{ClaimProvider, Intelligence};
use tokio::runtime::Handle;

use crate::config::Config;
use crate::provider::{HttpProvider, ProviderSettings};

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
        timeout: config.provider_timeout,
        kept: config.provider_cache,
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
