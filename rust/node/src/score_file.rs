//! The score cards of all loads of a store, in a file beside its data.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use headwater_types::{Chain, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::NodeError;
use crate::pool::Providers;
use crate::score_card::ScoreCard;

/// The name of the file.
const NAME: &str = "providers.json";

/// What is known of a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownProvider {
    /// The chain.
    pub chain: String,
    /// Its host and port.
    pub provider: String,
    /// The time of its last use in epoch seconds.
    pub last_used: i64,
    /// The sum of its score cards.
    #[serde(flatten)]
    pub card: ScoreCard,
}

/// Returns the providers that loads of a store used, by chain and name.
///
/// # Errors
/// When the file cannot be read.
pub fn known_providers(store: &Path) -> Result<Vec<KnownProvider>, NodeError> {
    let file = store.join(NAME);
    let failed = |source| NodeError::Io { file: file.display().to_string(), source };
    match fs::read(&file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(io::Error::other(error))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
    }
}

/// Adds the score cards of a load.
pub(crate) fn add(store: &Path, chain: Chain, providers: &Providers, now: Timestamp) -> Result<(), NodeError> {
    let key = |known: &KnownProvider| (known.chain.clone(), known.provider.clone());
    let mut all: BTreeMap<_, KnownProvider> =
        known_providers(store)?.into_iter().map(|known| (key(&known), known)).collect();
    for provider in providers.all() {
        let new = KnownProvider {
            chain: chain.name().to_owned(),
            provider: provider.name().to_owned(),
            last_used: now.secs(),
            card: provider.card(),
        };
        let known = all.entry(key(&new)).or_insert_with(|| KnownProvider { card: ScoreCard::default(), ..new.clone() });
        known.last_used = new.last_used;
        known.card.add(&new.card);
    }
    let all: Vec<KnownProvider> = all.into_values().collect();
    let (file, temporary) = (store.join(NAME), store.join(format!("{NAME}.new")));
    let failed = |source| NodeError::Io { file: file.display().to_string(), source };
    let text = serde_json::to_vec_pretty(&all).map_err(|error| failed(io::Error::other(error)))?;
    fs::write(&temporary, text).map_err(failed)?;
    fs::rename(&temporary, &file).map_err(failed)
}
