//! Imports of labels into a generation, each with an item of the change feed, and disputes of their claims.

use std::collections::BTreeSet;
use std::sync::Arc;

use headwater_types::{Chain, Timestamp};

use super::contents::{ChainContents, Contents};
use super::feed::LabelNews;
use super::imports::{Import, ImportPayload, LabelImport};
use super::parts::Storage;
use crate::labels::{DisputeEntry, DisputeRequest};
use crate::read::Result;

impl Contents {
    /// With one more import of a list of labels, and its number.
    pub(super) fn with_labels(&self, import: LabelImport, storage: &mut dyn Storage) -> Result<(Self, u64)> {
        let (imports, number) = self.imports.with_labels(import, self.generation + 1, storage)?;
        let mut after = Self { imports, ..self.clone() };
        after.append_labels(number, None);
        Ok((after, number))
    }

    /// Without an import that is in force, as of `now`.
    pub(super) fn without_import(&self, version: u64, now: Timestamp, storage: &mut dyn Storage) -> Result<Self> {
        let imports = self.imports.without(version, self.generation + 1, storage)?;
        let mut after = Self { imports, ..self.clone() };
        // No item is older than the imports that it names.
        let newest = self.imports.labels.imported_at();
        after.append_labels(version, Some(newest.map_or(now, |newest| newest.max(now))));
        Ok(after)
    }

    /// With a dispute or a confirmation, and the entries that record it.
    pub(super) fn with_dispute(
        &self,
        request: &DisputeRequest,
        storage: &mut dyn Storage,
    ) -> Result<(Self, Vec<DisputeEntry>)> {
        let held = self.imports.labels.claims_about(&request.claims.address)?;
        let history = &self.imports.disputes;
        let new = history.disputes.entries_for(request, &held, self.generation + 1)?;
        let imports = self.imports.with_disputes(history.with(&new, storage)?);
        Ok((Self { imports, ..self.clone() }, new))
    }

    /// Makes an item for each chain that the import says something of; none of an import of another kind.
    fn append_labels(&mut self, version: u64, rolled_back: Option<Timestamp>) {
        let is_it = |import: &Import| import.version.version == version;
        let Some(place) = self.imports.versions.iter().position(is_it) else { return };
        let import = &self.imports.versions[place];
        let (ImportPayload::Labels(file), Some(list)) = (&import.brought, &import.version.list) else { return };
        let (time, is_rolled_back) = (rolled_back.unwrap_or(list.imported_at), rolled_back.is_some());
        let news = LabelNews { version, is_rolled_back, digest: import.file.digest, time };
        // What ended without a trace was said on a chain of an earlier edition only.
        let earlier =
            self.imports.versions[..place].iter().filter_map(|other| match (&other.brought, &other.version.list) {
                (ImportPayload::Labels(file), Some(of))
                    if of.name == list.name && other.version.source == import.version.source =>
                {
                    Some(file)
                }
                (ImportPayload::Labels(_) | ImportPayload::Market(_), _) => None,
            });
        let chains: BTreeSet<Chain> = earlier.chain([file]).flat_map(|file| file.chains()).collect();
        let feed = Arc::make_mut(&mut self.feed);
        for chain in chains {
            let head = self.chains.get(&chain).map_or(0, ChainContents::head);
            feed.append_labels(chain, &news, head);
        }
    }
}
