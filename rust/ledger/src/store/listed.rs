//! The files that the generations that are kept list.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::manifest::Manifest;
use super::parts::FileRef;
use crate::read::Result;

/// By the name of a file the oldest and the newest generation that list it, of those that were noted. Each generation is
/// made of the one before, so those between list it too. That shows whether a noted generation does, and no manifest is
/// read twice.
#[derive(Default)]
pub(super) struct ListedFiles {
    by_name: HashMap<String, (u64, u64)>,
    noted: BTreeSet<u64>,
}

impl ListedFiles {
    /// Notes what a generation lists.
    pub(super) fn note<'a>(&mut self, generation: u64, files: impl Iterator<Item = &'a FileRef>) {
        self.noted.insert(generation);
        for file in files {
            match self.by_name.get_mut(&file.name) {
                Some((oldest, newest)) => {
                    *oldest = generation.min(*oldest);
                    *newest = generation.max(*newest);
                }
                None => {
                    self.by_name.insert(file.name.clone(), (generation, generation));
                }
            }
        }
    }

    /// Reads the manifests of the generations that are kept and that were not noted.
    pub(super) fn read(&mut self, root: &Path, kept: &[u64]) -> Result<()> {
        for generation in kept {
            if self.noted.contains(generation) {
                continue;
            }
            let files: Vec<FileRef> = Manifest::read(root, *generation)?.files().into_iter().flatten().collect();
            self.note(*generation, files.iter());
        }
        Ok(())
    }

    /// Forgets what none of these generations lists; they ascend.
    pub(super) fn keep_only(&mut self, kept: &[u64]) {
        self.noted.retain(|generation| kept.binary_search(generation).is_ok());
        self.by_name.retain(|_, (oldest, newest)| {
            let first = kept.partition_point(|generation| generation < oldest);
            kept.get(first).is_some_and(|generation| generation <= newest)
        });
    }

    /// Returns whether a noted generation lists a file.
    pub(super) fn has(&self, name: &Path) -> bool {
        name.to_str().is_some_and(|name| self.by_name.contains_key(name))
    }
}
