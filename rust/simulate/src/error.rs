//! Errors of writing the economy to a store.

use headwater_ingest::IngestError;
use headwater_ledger::{Cancelled, LedgerError};

use crate::truth::TruthError;

/// Everything that [`crate::simulate`] can fail with.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The store refused; a conflict means that it holds other data of the same chains.
    #[error("the economy cannot be written to the store (use an empty store, or the seed it was made with)")]
    Ledger(#[from] LedgerError),
    /// The store holds an economy of another seed or preset.
    #[error("the store holds the {held} already: name an empty store, or the seed and preset that it was made with")]
    OtherEconomy {
        /// The source that it was made with.
        held: String,
    },
    /// The work was stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A public list of the economy could not be read.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The files of a public list could not be written.
    #[error("cannot write the public lists")]
    Lists(#[source] std::io::Error),
    /// The truth could not be written.
    #[error(transparent)]
    Truth(#[from] TruthError),
}
