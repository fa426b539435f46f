//! One generation of a store, for as long as a reader needs it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::contents::Contents;
use super::holds::Hold;
use super::parts::FileRef;
use super::{Store, folder};
use crate::feed::Feed;
use crate::read::{Generations, KEPT_SECS, Ledger, Result};
use crate::{LedgerError, Snapshot};

/// A store whose newest generation is always the same one, whatever other processes commit.
///
/// Writers keep the files of that generation until this value and all its ledgers are dropped, or for
/// [`HOLD_SECS`](super::HOLD_SECS) after the end of a process that could not drop them. Cost: one small file in the
/// folder `holds` of the store, and a thread that writes it every minute.
pub struct PinnedStore {
    store: Store,
    contents: Contents,
    manifest: FileRef,
    snapshot: Arc<Snapshot>,
    hold: Option<Arc<Hold>>,
}

impl PinnedStore {
    /// Opens a store at a generation that its folder still has, replaced or not.
    ///
    /// A folder that cannot be written to is read without a hold; see [`PinnedStore::is_held`].
    ///
    /// # Errors
    /// [`LedgerError::NoStore`] when there is none at `path`, [`LedgerError::UnknownGeneration`] when it does not have
    /// the generation, and when the store cannot be read or the hold cannot be written.
    pub fn open(path: impl AsRef<Path>, generation: u64) -> Result<Self> {
        let store = Store::open(path)?;
        let root = store.path();
        // A hold on an unknown generation would leave a file for nothing.
        if !folder::generations(root)?.contains(&generation) {
            return Err(folder::unknown_generation(root, generation));
        }
        let hold = Hold::take(root, generation)?;
        let (contents, manifest) = store.contents(generation).map_err(|error| match error {
            // Collected before the hold was written.
            LedgerError::GenerationGone { .. } => folder::unknown_generation(root, generation),
            error => error,
        })?;
        let hold = hold.map(Arc::new);
        let snapshot = contents.snapshot().with_origin(root, None);
        let snapshot = Arc::new(match &hold {
            Some(hold) => snapshot.with_hold(Arc::<Hold>::clone(hold)),
            None => snapshot,
        });
        Ok(Self { store, contents, manifest, snapshot, hold })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// Returns whether writers keep the generation for this reader. False where the folder `holds` cannot be written
    /// to: then a writer deletes the generation once it was replaced for [`KEPT_SECS`]. It becomes false when the hold
    /// was not written for [`HOLD_SECS`](super::HOLD_SECS), and when the generation was deleted nevertheless.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.warning().is_none()
    }

    /// Returns a warning for people if the generation is not held, or no longer.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let (generation, minutes) = (self.contents.generation, KEPT_SECS / 60);
        if let Some(hold) = &self.hold {
            let reason = hold.lapse()?;
            return Some(format!(
                "generation {generation} is no longer held: {reason}; answers may fail, so open a generation again"
            ));
        }
        let folder = self.path().join(folder::HOLDS);
        let holds = folder.display();
        Some(format!(
            "{holds} cannot be written to, so generation {generation} is not held: writers may delete it {minutes} minutes \
             after it was replaced; let the owner of the store run `install -d -m 1777 '{holds}'`, or pin the \
             generation from another process that may write there"
        ))
    }

    /// Returns the ledger of the generation, which keeps the generation as this value does.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot)
    }
}

impl Generations for PinnedStore {
    fn current(&self) -> Result<Arc<dyn Ledger>> {
        Ok(self.snapshot())
    }

    fn at_hand(&self, _: Instant) -> Option<u64> {
        Some(self.contents.generation)
    }

    /// Another generation than the pinned one is read as from a [`Store`].
    fn generation(&self, number: u64) -> Result<Arc<dyn Ledger>> {
        if number == self.contents.generation { self.current() } else { self.store.generation(number) }
    }

    fn folder(&self) -> Option<&Path> {
        Some(self.path())
    }

    fn feed(&self) -> Result<Feed> {
        Ok(self.contents.feed_of(self.current()?, self.path()))
    }

    fn fingerprint(&self, number: u64) -> Result<Option<String>> {
        if number == self.contents.generation {
            return Ok(Some(self.manifest.digest_text()));
        }
        self.store.fingerprint(number)
    }
}
