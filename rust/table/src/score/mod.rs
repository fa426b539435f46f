//! Scores of addresses: lists of addresses in files and columns, and scores as columns and as a file.

mod columns;
mod exported;
mod parquet;
mod plan;
mod source;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use headwater_engine::score::{Addresses, ScoreError, ScoreProgress, ScoreRow, Scorer, score_parts};
use headwater_ledger::Cancel;

use self::columns::score_batch;
pub use self::columns::score_schema;
pub use self::exported::{ExportedScoreError, score_exported};
pub use self::parquet::ParquetScores;
pub use self::plan::plan_table;
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
        batches.push(rows_batch(scorer, &rows)?);
        Ok(())
    };
    score_parts(scorer, addresses, each, progress, cancel)?;
    Ok((schema, batches))
}

/// Returns rows as columns of [`score_schema`].
///
/// # Errors
/// When the rows do not fit the columns of the scorer.
pub fn rows_batch(scorer: &Scorer, rows: &[ScoreRow]) -> Result<RecordBatch, ScoreError> {
    score_batch(scorer, &score_schema(scorer), rows).map_err(|error| ScoreError::Columns(Box::new(error)))
}
