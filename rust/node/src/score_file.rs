//! The score cards of all loads of a store, in a file beside its data.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use headwater_ledger::permissions;
use headwater_types::{Chain, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::NodeError;
use crate::pool::Providers;
use crate::score_card::{ProviderSummary, ScoreCard};

/// The name of the file.
const NAME: &str = "providers.json";

/// A provider in the file.
#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    chain: String,
    provider: String,
    last_used: i64,
    #[serde(flatten)]
    card: ScoreCard,
    millis: Vec<f64>,
}

/// A provider of a chain, with the sum of its score cards.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownProvider {
    /// The chain.
    pub chain: String,
    /// The time of its last use in epoch seconds.
    pub last_used: i64,
    /// The sum of its score cards.
    #[serde(flatten)]
    pub summary: ProviderSummary,
}

/// Returns the providers that loads of a store used, by chain and name.
///
/// # Errors
/// When the file cannot be read.
pub fn known_providers(store: &Path) -> Result<Vec<KnownProvider>, NodeError> {
    let known = |Entry { chain, provider, last_used, card, millis }: Entry| KnownProvider {
        chain,
        last_used,
        summary: ScoreCard { millis, ..card }.summary(&provider),
    };
    Ok(read(store)?.into_iter().map(known).collect())
}

fn read(store: &Path) -> Result<Vec<Entry>, NodeError> {
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
    let key = |entry: &Entry| (entry.chain.clone(), entry.provider.clone());
    let mut all: BTreeMap<_, Entry> = read(store)?.into_iter().map(|entry| (key(&entry), entry)).collect();
    for provider in providers.all() {
        let chain = chain.name().to_owned();
        let (provider, card) = (provider.name().to_owned(), provider.card());
        let new = Entry { chain, provider, last_used: now.secs(), card: ScoreCard::default(), millis: Vec::new() };
        let entry = all.entry(key(&new)).or_insert(new);
        entry.last_used = now.secs();
        entry.card.millis = std::mem::take(&mut entry.millis);
        entry.card.add(&card);
        entry.millis.clone_from(&entry.card.millis);
    }
    let all: Vec<Entry> = all.into_values().collect();
    let (file, temporary) = (store.join(NAME), store.join(format!("{NAME}.{}", std::process::id())));
    let failed = |source| NodeError::Io { file: file.display().to_string(), source };
    let text = serde_json::to_vec(&all).map_err(|error| failed(io::Error::other(error)))?;
    permissions::create(&temporary).and_then(|mut file| file.write_all(&text)).map_err(failed)?;
    fs::rename(&temporary, &file).map_err(failed)
}
