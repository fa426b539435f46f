//! Exports of a store, and features and classes from the rows of an export.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use arrow::array::RecordBatch;
use headwater_engine::score::ScoreColumns;
use headwater_export::{ExportError, Manifest};
use headwater_ledger::Cancel;
use headwater_ledger::read::Generations;
use headwater_table::export::{ExportTable, TableExportError, export};
use headwater_table::score::{ExportedScoreError, score_exported};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

use crate::address::chain_of;
use crate::errors::{exception, raise};
use crate::interrupt::{interruptible, interruptible_with};
use crate::scores::{score_exception, with_models};

/// A column: name, type, meaning.
type Column = (&'static str, &'static str, &'static str);
/// A table: name, one row in words, partitions, columns.
type Table = (&'static str, &'static str, Vec<&'static str>, Vec<Column>);

/// Returns the tables that can be exported, with their columns.
#[pyfunction]
pub fn export_tables() -> Vec<Table> {
    let entry = |table: ExportTable| {
        let described = table.describe();
        (table.name(), described.row, described.partitions.to_vec(), described.columns)
    };
    ExportTable::ALL.into_iter().map(entry).collect()
}

/// Writes tables of the newest generation below a folder. `progress` is called with the table, rows done and all rows.
pub fn write(
    py: Python<'_>,
    ledgers: &dyn Generations,
    (tables, chains): (&[String], &[String]),
    out: &Path,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Vec<Manifest>> {
    let table = |name: &String| {
        let unknown = || raise(py, "InvalidInput", &format!("tables: unknown table {name:?}"), None, Some("tables"));
        ExportTable::from_name(name).ok_or_else(unknown)
    };
    let tables: Vec<ExportTable> = tables.iter().map(table).collect::<PyResult<_>>()?;
    let chains: Vec<_> = chains.iter().map(|name| chain_of(py, name)).collect::<PyResult<_>>()?;
    let latest = Mutex::new(None);
    let note = |table: ExportTable, done: u64, total: u64| {
        *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((table.name(), done, total));
    };
    let mut report = || {
        let reached = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (progress, reached) {
            (Some(progress), Some(reached)) => progress.call1(py, reached).map(drop),
            _ => Ok(()),
        }
    };
    let work = |cancel: &Cancel| {
        let ledger = ledgers.current().map_err(ExportError::from)?;
        export(&ledger, (&tables, &chains), out, &note, cancel)
    };
    interruptible_with(py, work, &mut report)?.map_err(|error| export_exception(py, &error))
}

fn export_exception(py: Python<'_>, error: &TableExportError) -> PyErr {
    let error = match error {
        TableExportError::Engine(error) => return exception(py, error),
        TableExportError::Export(error) => error,
    };
    let class = match error {
        ExportError::NotEmpty { .. } | ExportError::NothingHeld { .. } => "InvalidInput",
        ExportError::Ledger(_) | ExportError::Io { .. } | ExportError::Parquet { .. } | ExportError::Csv { .. } => {
            "StorageError"
        }
    };
    let cause = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    raise(py, class, &format!("{error}{cause}"), None, None)
}

/// Computes features and classes of the addresses of rows of the table `transfers` of one chain.
#[pyfunction]
#[pyo3(signature = (rows, blockchain, columns, classifiers=Vec::new()))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn exported_scores(
    py: Python<'_>,
    rows: PyTable,
    blockchain: &str,
    columns: &str,
    classifiers: Vec<PathBuf>,
) -> PyResult<PyTable> {
    let chain = chain_of(py, blockchain)?;
    let refused =
        |why: String| raise(py, "InvalidInput", &format!("columns: {why}"), Some("invalid_value"), Some("columns"));
    let columns: ScoreColumns = columns.parse().map_err(refused)?;
    let intelligence = with_models(py, &classifiers)?;
    let (mut rows, schema) = rows.into_inner();
    if rows.is_empty() {
        // So that the columns of a table without rows are checked too.
        rows.push(RecordBatch::new_empty(schema));
    }
    let scored = interruptible(py, move |cancel| score_exported(&rows, chain, columns, intelligence, cancel))?;
    let (schema, batches) = scored.map_err(|error| rows_exception(py, &error))?;
    PyTable::try_new(batches, schema)
}

fn rows_exception(py: Python<'_>, error: &ExportedScoreError) -> PyErr {
    let field = match error {
        ExportedScoreError::Score(error) => return score_exception(py, error),
        ExportedScoreError::Risk => "columns",
        ExportedScoreError::Rows(_) | ExportedScoreError::Ledger(_) => "table",
    };
    raise(py, "InvalidInput", &error.to_string(), Some("invalid_value"), Some(field))
}
