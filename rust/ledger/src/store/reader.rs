//! The reading side of a store on disk.

use std::path::Path;
use std::sync::Arc;

use crate::read::{Generations, Ledger, Result};
use crate::store::{LogicalDigest, StoreStats, VerifyReport};
use crate::{Cancel, LedgerError};

/// A store on disk, for reading. Sees the commits of other processes; cheap to share.
pub struct Store;

impl Store {
    /// Opens a store.
    ///
    /// # Errors
    /// [`LedgerError::NoStore`] when there is none at `path`; [`LedgerError::Corrupt`] when it is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Err(LedgerError::NoStore { path: path.as_ref().to_owned() })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        todo!()
    }

    /// The newest generation.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn snapshot(&self) -> Result<Arc<dyn Ledger>> {
        todo!()
    }

    /// Reads every byte of the newest generation against its checksums; `progress(done, total)` counts bytes.
    ///
    /// # Errors
    /// When the work is cancelled or the folder cannot be read. Damage is no error here: it stands in the report.
    pub fn verify(&self, _progress: &dyn Fn(u64, u64), _cancel: &Cancel) -> Result<VerifyReport> {
        todo!()
    }

    /// The digest of what the newest generation holds.
    ///
    /// # Errors
    /// When the store cannot be read, or the work is cancelled.
    pub fn digest(&self, _cancel: &Cancel) -> Result<LogicalDigest> {
        todo!()
    }

    /// What the newest generation holds.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn stats(&self) -> Result<StoreStats> {
        todo!()
    }
}

impl Generations for Store {
    fn current(&self) -> Result<Arc<dyn Ledger>> {
        todo!()
    }

    fn generation(&self, _number: u64) -> Result<Arc<dyn Ledger>> {
        todo!()
    }
}
