//! Numberings of chains: the ids that bridges give to chains.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::chain::BridgeChain;
use crate::error::TableError;
use crate::rows::RowTable;

/// The ids of chains by numbering, both ways. Ids that are names compare without case.
#[derive(Debug, Default)]
pub(super) struct ChainIds {
    chains: FxHashMap<(Arc<str>, String), BridgeChain>,
    ids: FxHashMap<(Arc<str>, BridgeChain), String>,
}

impl ChainIds {
    /// Adds the ids of a family's file.
    pub(super) fn add(&mut self, table: RowTable<'_>, sources: &FxHashMap<&str, Arc<str>>) -> Result<(), TableError> {
        for row in table.rows() {
            let (line, [numbering, chain, id, source]) = row?;
            if numbering.is_empty() || id.is_empty() {
                return Err(table.error(line, "numbering and id must not be empty"));
            }
            if !sources.contains_key(source) {
                return Err(table.error(line, format!("no source {source:?} in the file")));
            }
            let chain = BridgeChain::from_name(chain)
                .ok_or_else(|| table.error(line, format!("no chain {chain:?} in chains.csv")))?;
            let numbering: Arc<str> = numbering.into();
            if self.chains.insert((Arc::clone(&numbering), id.to_ascii_lowercase()), chain).is_some() {
                return Err(table.error(line, format!("{numbering} has the id {id} twice")));
            }
            self.ids.insert((numbering, chain), id.to_owned());
        }
        Ok(())
    }

    /// Returns the chain with an id.
    pub(super) fn chain(&self, numbering: &str, id: &str) -> Option<BridgeChain> {
        self.chains.get(&(Arc::from(numbering), id.to_ascii_lowercase())).copied()
    }

    /// Returns the id of a chain.
    pub(super) fn id(&self, numbering: &str, chain: BridgeChain) -> Option<&str> {
        self.ids.get(&(Arc::from(numbering), chain)).map(String::as_str)
    }
}
