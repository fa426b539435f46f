//! Features and classes from the rows of an export, without a store.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::SchemaRef;
use headwater_engine::score::{Addresses, ScoreColumns, ScoreError};
use headwater_engine::{Intelligence, QueryEngine};
use headwater_export::{ExportedFacts, ReadBackError, read_back};
use headwater_ledger::store::in_memory;
use headwater_ledger::{Cancel, LedgerError};
use headwater_types::{Address, Chain, Family};

use super::{AddressSource, score_table};

/// The reason why rows of an export have no scores.
#[derive(Debug, thiserror::Error)]
pub enum ExportedScoreError {
    /// The risk is asked for.
    #[error(
        "columns: the risk needs labels, prices and the movements of counterparties, which rows of `transfers` do not \
         contain; use class and features, or ask the store itself for the risk"
    )]
    Risk,
    /// The rows cannot be read.
    #[error(transparent)]
    Rows(#[from] ReadBackError),
    /// The rows contradict each other.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The scores could not be computed.
    #[error(transparent)]
    Score(#[from] ScoreError),
}

/// Computes features and classes of the addresses of rows of the table `transfers` of one account chain, from an export of
/// format 2. The rows must contain all rows of each address in their column `address`, as whole buckets do. Returns one row
/// per address, in the order of the rows.
///
/// Every column equals that of the store: features read movements alone, and the rows contain all that they read of them.
/// A ledger in memory is built from the rows; time and memory O(rows).
///
/// # Errors
/// [`ExportedScoreError`].
pub fn score_exported(
    rows: &[RecordBatch],
    chain: Chain,
    columns: ScoreColumns,
    intelligence: Intelligence,
    cancel: &Cancel,
) -> Result<(SchemaRef, Vec<RecordBatch>), ExportedScoreError> {
    if columns.risk {
        return Err(ExportedScoreError::Risk);
    }
    let ExportedFacts { mut batch, tokens, addresses } = read_back(rows, chain)?;
    if addresses.is_empty() {
        // A chain must be in a ledger for its scores to have columns.
        batch.contracts.push(no_account(chain));
    }
    let ledger = in_memory(vec![batch], tokens, Vec::new())?;
    let engine = QueryEngine::new(ledger).with_intelligence(intelligence);
    let scorer = engine.scorer(chain, columns).map_err(ScoreError::from)?;
    let texts: ArrayRef = Arc::new(addresses.iter().map(|address| Some(address.to_string())).collect::<StringArray>());
    let source = AddressSource::Columns(vec![texts]);
    Ok(score_table(&scorer, Addresses::List(&source), &|_| {}, cancel)?)
}

/// Returns the zero address of an account chain.
fn no_account(chain: Chain) -> Address {
    match chain.family() {
        Family::Evm | Family::Utxo => Address::Evm([0; 20]),
        Family::Tron => Address::Tron([0; 20]),
    }
}
