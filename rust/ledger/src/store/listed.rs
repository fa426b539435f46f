//! The files that the generations that are kept list.

use std::collections::HashMap;
use std::path::Path;

use super::manifest::Manifest;
use super::parts::FileRef;
use crate::read::Result;

/// By the name of a file the newest generation that lists it. Generations are kept in one piece up to the newest, so
/// that shows whether any of them does, and no manifest is read twice.
#[derive(Default)]
pub(super) struct ListedFiles {
    by_name: HashMap<String, u64>,
    /// True if the manifests that were there at first are read.
    is_read: bool,
}

impl ListedFiles {
    /// Notes what a generation lists.
    pub(super) fn note<'a>(&mut self, generation: u64, files: impl Iterator<Item = &'a FileRef>) {
        for file in files {
            match self.by_name.get_mut(&file.name) {
                Some(newest) => *newest = generation.max(*newest),
                None => {
                    self.by_name.insert(file.name.clone(), generation);
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

    /// Forgets what only generations before one list.
    pub(super) fn forget_before(&mut self, oldest: u64) {
        self.by_name.retain(|_, newest| *newest >= oldest);
    }

    /// Returns whether a generation that is kept lists a file.
    pub(super) fn has(&self, name: &Path) -> bool {
        name.to_str().is_some_and(|name| self.by_name.contains_key(name))
    }
}
