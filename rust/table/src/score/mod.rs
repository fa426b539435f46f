//! Scores of addresses: lists of addresses in files and columns, and scores as columns and as a file.

mod columns;
mod exported;
mod parquet;
mod source;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use headwater_engine::score::{Addresses, ScoreError, ScoreProgress, Scorer, score_parts};
use headwater_ledger::Cancel;

use self::columns::{score_batch, score_schema};
pub use self::exported::{ExportedScoreError, score_exported};
pub use self::parquet::ParquetScores;
pub use self::source::AddressSource;

/// Scores addresses into columns in memory.
///
/// # Errors
/// [`ScoreError`].
pub fn score_table(
    scorer: &Scorer,
    addresses: Addresses<'_>,
    progress: &dyn Fn(ScoreProgress),
    cancel: &Cancel,
) -> Result<(SchemaRef, Vec<RecordBatch>), ScoreError> {
    let (schema, mut batches) = (score_schema(scorer), Vec::new());
    let each = |rows: Vec<_>| {
        let batch = score_batch(scorer, &schema, &rows).map_err(|error| ScoreError::Columns(Box::new(error)))?;
        batches.push(batch);
        Ok(())
    };
    score_parts(scorer, addresses, each, progress, cancel)?;
    Ok((schema, batches))
}
