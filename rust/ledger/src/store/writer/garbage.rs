//! Deletes the files of generations that nobody reads any more.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::Writer;
use crate::Cancel;
use crate::read::{KEPT_SECS, Result};
use crate::store::folder::{self, io_error};
use crate::store::holds;

impl Writer {
    /// Deletes generations that were replaced more than [`KEPT_SECS`] ago and that no reader holds
    /// ([`crate::store::PinnedStore`]), and files that no remaining one lists. Called by every change; the outcome of a
    /// change does not depend on it.
    ///
    /// # Errors
    /// When the folder cannot be read or a file cannot be deleted.
    pub fn collect_garbage(&mut self) -> Result<()> {
        self.exclusively(&Cancel::new(), Self::collect_at_once)
    }

    /// [`Self::collect_garbage`] within the turn of this writer.
    pub(super) fn collect_at_once(&mut self) -> Result<()> {
        let now = self.lock.write_holder()?;
        self.collect_as_of(now)
    }

    #[cfg(test)]
    pub(in crate::store) fn collect_garbage_at(&mut self, now: SystemTime) -> Result<()> {
        self.exclusively(&Cancel::new(), |writer| writer.collect_as_of(now))
    }

    fn collect_as_of(&mut self, now: SystemTime) -> Result<()> {
        let is_old = |path: &Path| {
            let changed = std::fs::metadata(path).and_then(|file| file.modified());
            let age = changed.ok().and_then(|changed| now.duration_since(changed).ok());
            age.is_some_and(|age| age > Duration::from_secs(KEPT_SECS))
        };
        let root = self.folder.path().to_owned();
        // Readers may hold what a collection before set aside: as long as a manifest is there, its files are listed.
        self.folder.restore_manifests()?;
        let mut kept = folder::generations(&root)?;
        // A generation is as long replaced as its successor is old, and they grow old in order.
        let replaced = kept.windows(2).take_while(|pair| is_old(&root.join(folder::manifest_name(pair[1]))));
        let replaced: Vec<u64> = replaced.map(|pair| pair[0]).collect();
        let removed = self.remove_unheld(&replaced, now)?;
        kept.retain(|generation| !removed.contains(generation));
        self.listed.keep_only(&kept);
        let mut garbage = Vec::new();
        let folders = folder::folders().map(|folder| root.join(folder)).chain([root.clone()]);
        for folder in folders {
            let is_root = folder == root;
            for entry in std::fs::read_dir(&folder).map_err(|source| io_error("cannot list", &folder, source))? {
                let path = entry.map_err(|source| io_error("cannot list", &folder, source))?.path();
                // In the root folder are files of other owners; only our own leftovers are ours to delete.
                let is_ours = !is_root || is_temporary_manifest(&path);
                let is_listed = path.strip_prefix(&root).is_ok_and(|name| self.listed.has(name));
                if is_ours && path.is_file() && !is_listed && is_old(&path) {
                    garbage.push(path);
                }
            }
        }
        if !garbage.is_empty() {
            // Generations of other writers may list them.
            self.listed.read(&root, &kept)?;
        }
        for path in garbage {
            if !path.strip_prefix(&root).is_ok_and(|name| self.listed.has(name)) {
                self.folder.remove(&path)?;
            }
        }
        Ok(())
    }

    /// Removes the manifests of those of the generations that no reader holds, and returns which. After an error all
    /// that are not removed are shown again.
    fn remove_unheld(&mut self, generations: &[u64], now: SystemTime) -> Result<BTreeSet<u64>> {
        let removed = self.remove_by_setting_aside(generations, now);
        if removed.is_err() {
            // The next collection repeats what fails here.
            let _ = self.folder.restore_manifests();
        }
        removed
    }

    fn remove_by_setting_aside(&mut self, generations: &[u64], now: SystemTime) -> Result<BTreeSet<u64>> {
        let held = self.held_generations(now)?;
        let mut aside: BTreeSet<u64> = generations.iter().copied().filter(|number| !held.contains(number)).collect();
        if aside.is_empty() {
            return Ok(aside);
        }
        for generation in &aside {
            self.folder.set_manifest_aside(*generation)?;
        }
        // A reader that saw a manifest wrote its hold before.
        for generation in self.held_generations(now)? {
            if aside.remove(&generation) {
                self.folder.restore_manifest(generation)?;
            }
        }
        for generation in &aside {
            self.folder.remove_manifest(*generation)?;
        }
        Ok(aside)
    }

    /// Returns the generations that readers hold, and deletes the holds of processes that ended without doing so.
    fn held_generations(&mut self, now: SystemTime) -> Result<BTreeSet<u64>> {
        let mut held = BTreeSet::new();
        for hold in holds::list(self.folder.path())? {
            if hold.is_live(now) {
                held.insert(hold.generation);
            } else {
                // A reader that deletes it at this moment does the same.
                let _ = self.folder.remove(&hold.path);
            }
        }
        Ok(held)
    }
}

fn is_temporary_manifest(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("manifest-") && name.ends_with(folder::TEMPORARY)
}

#[cfg(test)]
mod tests {
    use headwater_types::Chain;

    use super::*;
    use crate::Store;
    use crate::facts::{Batch, TransactionFacts};
    use crate::store::PinnedStore;

    fn batch(number: u64) -> Batch {
        let mut batch = Batch::new(Chain::ETHEREUM);
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        let mut facts = TransactionFacts::new(headwater_types::TxHash::new(hash), number);
        facts.time = Some(headwater_types::Timestamp::new(1_600_000_000));
        batch.transactions = vec![facts];
        batch
    }

    #[test]
    fn files_of_another_writers_pinned_generation_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (mut idle, mut busy) =
            (Writer::open_or_create(folder.path()).unwrap(), Writer::open_or_create(folder.path()).unwrap());
        busy.commit(batch(1), &Cancel::new()).unwrap();
        let pinned = busy.commit(batch(2), &Cancel::new()).unwrap().generation;
        let pin = PinnedStore::open(folder.path(), pinned).unwrap();
        busy.compact(Chain::ETHEREUM, &|_, _| {}, &Cancel::new()).unwrap();
        let later = SystemTime::now() + Duration::from_secs(KEPT_SECS + 60);
        idle.collect_garbage_at(later).unwrap();
        assert_eq!(folder::generations(folder.path()).unwrap().len(), 2, "the pinned and the newest");
        for generation in folder::generations(folder.path()).unwrap() {
            let (_, files) = Store::open(folder.path()).unwrap().files(Some(generation)).unwrap();
            assert!(files.iter().all(|file| folder.path().join(&file.name).exists()));
        }
        drop(pin);
        idle.collect_garbage_at(later).unwrap();
        assert_eq!(folder::generations(folder.path()).unwrap().len(), 1);
        assert_eq!(std::fs::read_dir(folder.path().join("segments")).unwrap().count(), 1);
    }
}
