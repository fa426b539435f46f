//! Tables of a store as streams of Arrow batches.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headwater_ledger::Ledger;
use headwater_table::scan::{ScanFilter, ScanRequest, ScanStream, StoredColumn, TABLES, scan};
use pyo3::exceptions::PyOSError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use pyo3_arrow::{PyRecordBatchReader, PyTable};

use crate::errors::{exception, raise};
use crate::objects::value_of;

/// The time between two looks for Ctrl-C.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// A column: name, type, meaning.
type Column = (&'static str, &'static str, &'static str);
/// A table: name, one row in words, order, filters, columns.
type Table = (&'static str, &'static str, &'static str, Vec<&'static str>, Vec<Column>);

/// Returns the tables of a store with their columns.
#[pyfunction]
pub fn stored_tables() -> Vec<Table> {
    let column = |column: &StoredColumn| (column.name, column.kind.name(), column.meaning);
    let tables = TABLES.iter();
    let entry = |table: &headwater_table::scan::StoredTable| {
        (table.name, table.row, table.order, table.filters.to_vec(), table.columns.iter().map(column).collect())
    };
    tables.map(entry).collect()
}

/// A table of one generation of a store under a filter. Each reader reads it from its beginning.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct StoredScan {
    ledger: Arc<dyn Ledger>,
    table: String,
    filter: ScanFilter,
}

impl StoredScan {
    /// Creates a scan and checks its filter.
    pub fn new(py: Python<'_>, ledger: Arc<dyn Ledger>, table: String, filter: &Bound<'_, PyDict>) -> PyResult<Self> {
        let made = Self { ledger, table, filter: filter_of(py, filter)? };
        made.stream(py, ScanRequest::default())?;
        Ok(made)
    }

    fn stream(&self, py: Python<'_>, request: ScanRequest) -> PyResult<ScanStream> {
        let request = ScanRequest { table: self.table.clone(), filter: self.filter.clone(), ..request };
        py.detach(|| scan(Arc::clone(&self.ledger), &request)).map_err(|error| exception(py, &error))
    }
}

#[pymethods]
impl StoredScan {
    /// Opens a reader of some columns; `pushed` is a second filter, whose values are compared as they are.
    #[pyo3(signature = (columns=None, pushed=None, limit=None, batch_rows=None))]
    fn open(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        pushed: Option<&Bound<'_, PyDict>>,
        limit: Option<u64>,
        batch_rows: Option<usize>,
    ) -> PyResult<ScanReader> {
        let pushed = pushed.map(|pushed| filter_of(py, pushed)).transpose()?.unwrap_or_default();
        let stream = self.stream(py, ScanRequest { columns, pushed, limit, batch_rows, ..ScanRequest::default() })?;
        Ok(ScanReader { stream: Mutex::new(Some(stream)) })
    }

    /// The number of the generation that is read.
    #[getter]
    fn generation(&self) -> u64 {
        self.ledger.generation()
    }
}

/// One reading of a scan: batch by batch, or all of it through the Arrow C stream interface.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct ScanReader {
    stream: Mutex<Option<ScanStream>>,
}

#[pymethods]
impl ScanReader {
    /// The next batch; none at the end. Ctrl-C ends the wait.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<PyTable>> {
        loop {
            let next = py.detach(|| {
                let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
                stream.as_mut().map_or(Some(None), |stream| stream.next_within(SIGNAL_CHECK))
            });
            match next {
                None => py.check_signals()?,
                Some(None) => return Ok(None),
                Some(Some(Err(error))) => return Err(exception(py, &error)),
                Some(Some(Ok(batch))) => {
                    let schema = batch.schema();
                    return PyTable::try_new(vec![batch], schema).map(Some);
                }
            }
        }
    }

    /// The rows that were decoded so far, passed on or not.
    #[getter]
    fn decoded_rows(&self) -> u64 {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.as_ref().map_or(0, ScanStream::decoded_rows)
    }

    /// The rest of the stream through the Arrow C stream interface; the reader ends with it.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stream = stream.ok_or_else(|| PyOSError::new_err("the stream was handed over already"))?;
        let reader = Bound::new(py, PyRecordBatchReader::new(Box::new(stream)))?;
        reader.call_method1(intern!(py, "__arrow_c_stream__"), (requested_schema,))
    }
}

fn filter_of(py: Python<'_>, filter: &Bound<'_, PyDict>) -> PyResult<ScanFilter> {
    serde_json::from_value(value_of(filter)?)
        .map_err(|error| raise(py, "InvalidInput", &format!("filter: {error}"), Some("invalid_value"), None))
}
