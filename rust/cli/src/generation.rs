//! The store of a command, at one generation if the command names one.

use std::sync::Arc;

use headwater_ledger::read::Generations;
use headwater_ledger::store::PinnedStore;
use headwater_ledger::{LedgerError, Store};

use super::Settings;
use super::error::Failure;
use super::output::say;

/// `--generation`.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(super) struct GenerationArgument {
    /// Read this generation of the store, which writers keep meanwhile [default: the newest].
    #[arg(long, value_name = "N")]
    generation: Option<u64>,
}

impl GenerationArgument {
    /// Opens the store for reading.
    pub(super) fn open(self, settings: &Settings) -> Result<Arc<dyn Generations>, Failure> {
        let path = settings.store()?;
        let Some(generation) = self.generation else { return Ok(Arc::new(Store::open(path)?)) };
        let store = PinnedStore::open(path, generation).map_err(|error| match error {
            LedgerError::UnknownGeneration { .. } => Failure::usage(format!("--generation: {error}")),
            error => error.into(),
        })?;
        if let Some(warning) = store.warning() {
            say(&format!("warning: {warning}"));
        }
        Ok(Arc::new(store))
    }
}
