//! Imports of labels into a generation, each told by the change feed.

use std::collections::BTreeSet;
use std::sync::Arc;

use headwater_types::Chain;

use super::contents::{ChainContents, Contents};
use super::feed::LabelNews;
use super::imports::{Brought, Import, LabelImport};
use super::parts::Storage;
use crate::read::Result;

impl Contents {
    /// With one more import of a list of labels, and its number.
    pub(super) fn with_labels(&self, import: LabelImport, storage: &mut dyn Storage) -> Result<(Self, u64)> {
        let (imports, number) = self.imports.with_labels(import, storage)?;
        let mut after = Self { imports, ..self.clone() };
        after.tell_labels(number, false);
        Ok((after, number))
    }

    /// Without an import that is in force.
    pub(super) fn without_import(&self, version: u64, storage: &mut dyn Storage) -> Result<Self> {
        let imports = self.imports.without(version, storage)?;
        let mut after = Self { imports, ..self.clone() };
        after.tell_labels(version, true);
        Ok(after)
    }

    /// Makes an item for each chain that the import says something of; none of an import of another kind.
    fn tell_labels(&mut self, version: u64, is_rolled_back: bool) {
        let is_it = |import: &&Import| import.version.version == version;
        let Some(import) = self.imports.versions.iter().find(is_it) else { return };
        let (Brought::Labels(file), Some(list)) = (&import.brought, &import.version.list) else { return };
        let time = list.imported_at;
        let news = LabelNews { version, is_rolled_back, digest: import.file.digest, time };
        let chains: BTreeSet<Chain> = file.chains().collect();
        let feed = Arc::make_mut(&mut self.feed);
        for chain in chains {
            let head = self.chains.get(&chain).map_or(0, ChainContents::head);
            feed.tell_labels(chain, &news, head);
        }
    }
}
