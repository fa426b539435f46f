//! The writing side of a store on disk.

use std::path::Path;
use std::sync::Arc;

use headwater_types::Chain;

use crate::Cancel;
use crate::facts::Batch;
use crate::market::{PricePoint, TokenListing};
use crate::read::{Ledger, Result};
use crate::store::{CommitReport, ImportVersion};

/// The one writer of a store.
pub struct Writer;

impl Writer {
    /// Opens a store for writing, making it where there is none, and takes its writer lock.
    ///
    /// # Errors
    /// [`crate::LedgerError::Locked`] when another process writes.
    pub fn open_or_create(_path: impl AsRef<Path>) -> Result<Self> {
        todo!()
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        todo!()
    }

    /// Joins a batch with what is held and makes the result durable. All of it, or nothing.
    ///
    /// # Errors
    /// See [`crate::LedgerError`]; after an error the store holds what it held before.
    pub fn commit(&mut self, _batch: Batch, _cancel: &Cancel) -> Result<CommitReport> {
        todo!()
    }

    /// What is held now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<dyn Ledger> {
        todo!()
    }

    /// Adds a version of token listings.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn import_tokens(&mut self, _source: &str, _listings: Vec<TokenListing>) -> Result<u64> {
        todo!()
    }

    /// Adds a version of prices.
    ///
    /// # Errors
    /// When a price is negative or no number, or it cannot be written.
    pub fn import_prices(&mut self, _source: &str, _prices: Vec<PricePoint>) -> Result<u64> {
        todo!()
    }

    /// All imports, in order.
    #[must_use]
    pub fn import_versions(&self) -> &[ImportVersion] {
        todo!()
    }

    /// Takes a version of an import out of force.
    ///
    /// # Errors
    /// [`crate::LedgerError::UnknownVersion`].
    pub fn roll_back_import(&mut self, _version: u64) -> Result<()> {
        todo!()
    }

    /// Adds one followed block, whose parent must be the newest block of the tail.
    ///
    /// # Errors
    /// When the block does not follow.
    pub fn append_tail_block(&mut self, _batch: Batch) -> Result<CommitReport> {
        todo!()
    }

    /// Takes back the blocks of the tail above `to_block`.
    ///
    /// # Errors
    /// When `to_block` lies below the tail.
    pub fn roll_back_tail(&mut self, _chain: Chain, _to_block: u64) -> Result<u64> {
        todo!()
    }

    /// Makes the blocks of the tail up to `up_to_block` ordinary data.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn seal_tail(&mut self, _chain: Chain, _up_to_block: u64) -> Result<u64> {
        todo!()
    }

    /// Merges the small segments of a chain. Changes no answer.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn merge(&mut self, _chain: Chain, _cancel: &Cancel) -> Result<()> {
        todo!()
    }

    /// Deletes replaced generations past their time, and files no generation lists.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn collect_garbage(&mut self) -> Result<()> {
        todo!()
    }
}
