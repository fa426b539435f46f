//! The files that the generations that are kept list.

use std::collections::HashMap;
use std::path::Path;

use super::manifest::Manifest;
use super::parts::FileRef;
use crate::read::Result;

/// By the name of a file the oldest and the newest generation that list it, of those that were noted. Each generation is
/// made of the one before, so those between list it too. That shows whether a generation that is kept does, and no
/// manifest is read twice.
#[derive(Default)]
pub(super) struct ListedFiles {
    by_name: HashMap<String, (u64, u64)>,
    /// True if the manifests that were there at first are read.
    is_read: bool,
}

impl ListedFiles {
    /// Notes what a generation lists.
    pub(super) fn note<'a>(&mut self, generation: u64, files: impl Iterator<Item = &'a FileRef>) {
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

    /// Reads the manifests of the generations that are kept, the first time it is asked.
    pub(super) fn read(&mut self, root: &Path, kept: &[u64]) -> Result<()> {
        if self.is_read {
            return Ok(());
        }
        for generation in kept {
            let files: Vec<FileRef> = Manifest::read(root, *generation)?.files().into_iter().flatten().collect();
            self.note(*generation, files.iter());
        }
        self.is_read = true;
        Ok(())
    }

    /// Forgets what none of these generations lists; they ascend.
    pub(super) fn keep_only(&mut self, kept: &[u64]) {
        self.by_name.retain(|_, (oldest, newest)| {
            let first = kept.partition_point(|generation| generation < oldest);
            kept.get(first).is_some_and(|generation| generation <= newest)
        });
    }

    /// Returns whether a generation that is kept lists a file.
    pub(super) fn has(&self, name: &Path) -> bool {
        name.to_str().is_some_and(|name| self.by_name.contains_key(name))
    }
}
