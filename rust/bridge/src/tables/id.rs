//! How bridges number chains.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::chain::BridgeChain;
use crate::error::TableError;
use crate::rows::rows;

const FILE: &str = "chain_ids.csv";
const TABLE: &str = include_str!("../../tables/chain_ids.csv");

/// The ids of chains, both ways. Ids that are names compare without case.
#[derive(Debug, Default)]
pub(super) struct ChainIds {
    chains: FxHashMap<(Arc<str>, String), BridgeChain>,
    ids: FxHashMap<(Arc<str>, BridgeChain), String>,
}

impl ChainIds {
    pub(super) fn read() -> Result<Self, TableError> {
        let mut read = Self::default();
        for row in rows(FILE, TABLE) {
            let (line, [family, chain, id, source]) = row?;
            let error = |reason: String| TableError::new(FILE, line, reason);
            if family.is_empty() || id.is_empty() || source.is_empty() {
                return Err(error("family, id and source must not be empty".to_owned()));
            }
            let chain =
                BridgeChain::from_name(chain).ok_or_else(|| error(format!("no chain {chain:?} in chains.csv")))?;
            let family: Arc<str> = family.into();
            if read.chains.insert((Arc::clone(&family), id.to_ascii_lowercase()), chain).is_some() {
                return Err(error(format!("{family} has the id {id} twice")));
            }
            read.ids.insert((family, chain), id.to_owned());
        }
        Ok(read)
    }

    pub(super) fn chain(&self, family: &str, id: &str) -> Option<BridgeChain> {
        self.chains.get(&(Arc::from(family), id.to_ascii_lowercase())).copied()
    }

    pub(super) fn id(&self, family: &str, chain: BridgeChain) -> Option<&str> {
        self.ids.get(&(Arc::from(family), chain)).map(String::as_str)
    }
}
