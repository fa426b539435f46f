//! Answers in Python: objects, or tables in Arrow's memory, once a caller asks for them.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::error::ArrowError;
use headwater_engine::endpoints::trace::TraceReport;
use headwater_engine::{self as engine, AnyRow, Column, ColumnKind, Endpoint, Response, endpoint};
use headwater_table::{TableError, frame, table, with_decimals};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3_arrow::PyTable;

use crate::objects::{object_of, object_without, value_of};
use crate::picture::NativePicture;
use crate::tables::refused;

/// The answer to one call.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct Answer {
    name: String,
    /// The answer of a ledger in this process; `None` of an answer of a server, which came as objects.
    local: Option<engine::Answer>,
    data: PyOnceLock<Py<PyAny>>,
    meta: PyOnceLock<Py<PyAny>>,
}

#[pymethods]
impl Answer {
    /// Creates the answer of a server to a call.
    #[new]
    fn of_objects(py: Python<'_>, name: String, data: Py<PyAny>, meta: Py<PyAny>) -> Self {
        let answer = Self { name, local: None, data: PyOnceLock::new(), meta: PyOnceLock::new() };
        answer.data.get_or_init(py, || data);
        answer.meta.get_or_init(py, || meta);
        answer
    }

    /// The report as Python objects.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let make = || object_of(py, &self.local.as_ref().map(|answer| &answer.report)).map(Bound::unbind);
        self.data.get_or_try_init(py, make).map(|data| data.bind(py))
    }

    /// The report without its rows, of which there may be many.
    #[getter]
    fn head<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = endpoint(&self.name).and_then(|endpoint| endpoint.rows);
        match (&self.local, rows) {
            (Some(answer), Some(rows)) => object_without(py, &answer.report, rows),
            _ => self.data(py).cloned(),
        }
    }

    /// What the answer contains besides its data.
    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let make = || object_of(py, &self.local.as_ref().map(without_report))?.get_item("meta").map(Bound::unbind);
        self.meta.get_or_try_init(py, make).map(|meta| meta.bind(py))
    }

    /// The rows in Arrow's memory, these columns first; `None` where the engine does not know the call, or the answer has no
    /// list.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn rows(&self, py: Python<'_>, first: Vec<String>) -> PyResult<Option<PyTable>> {
        self.table_by(py, &|endpoint, report| {
            frame(endpoint, report)?.map(|rows| ordered(&rows, &first)).transpose().map_err(TableError::from)
        })
    }

    /// The list of records at a path within the report in Arrow's memory; `None` where reports have no such list.
    fn table(&self, py: Python<'_>, path: &str) -> PyResult<Option<PyTable>> {
        self.table_by(py, &|endpoint, report| table(endpoint, report, path))
    }

    /// A trace as `GraphML`.
    fn graphml(&self, py: Python<'_>) -> PyResult<String> {
        let trace = serde_json::from_value::<TraceReport>(value_of(self.data(py)?)?);
        let trace = trace.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(py.detach(|| headwater_table::graphml(&trace)))
    }

    /// A trace, or paths, as a picture.
    fn picture(&self, py: Python<'_>) -> PyResult<NativePicture> {
        NativePicture::of_report(py, &self.name, value_of(self.data(py)?)?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        (py.get_type::<Self>(), (&self.name, self.data(py)?, self.meta(py)?)).into_bound_py_any(py)
    }
}

/// Makes a table of a report.
type MakeTable<'a> = &'a dyn Fn(&Endpoint, &dyn AnyRow) -> Result<Option<RecordBatch>, TableError>;

impl Answer {
    /// Creates the answer of a ledger in this process.
    pub fn of_engine(endpoint: &Endpoint, answer: engine::Answer) -> Self {
        let (data, meta) = (PyOnceLock::new(), PyOnceLock::new());
        Self { name: endpoint.name.to_owned(), local: Some(answer), data, meta }
    }

    fn table_by(&self, py: Python<'_>, make: MakeTable<'_>) -> PyResult<Option<PyTable>> {
        let Some(endpoint) = endpoint(&self.name) else { return Ok(None) };
        let batch = match &self.local {
            Some(answer) => make(endpoint, &*answer.report),
            None => make(endpoint, &value_of(self.data(py)?)?),
        };
        let batch = batch.map_err(|error| refused(py, &error, None))?;
        batch.map(|batch| PyTable::try_new(vec![batch.clone()], batch.schema())).transpose()
    }
}

/// Returns a table with these columns first, as far as it has them, and the others behind them in their order.
fn ordered(rows: &RecordBatch, first: &[String]) -> Result<RecordBatch, ArrowError> {
    let schema = rows.schema();
    let mut order: Vec<usize> = first.iter().filter_map(|name| schema.index_of(name).ok()).collect();
    let others = (0..schema.fields().len()).filter(|place| !order.contains(place));
    order = order.iter().copied().chain(others).collect();
    rows.project(&order)
}

/// Returns a table whose columns with a scale are decimals, where all values of the column fit.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn decimals(py: Python<'_>, table: PyTable, scales: HashMap<String, i8>) -> PyResult<PyTable> {
    let (batches, schema) = table.into_inner();
    let made = concat_batches(&schema, &batches)
        .and_then(|rows| with_decimals(&rows, &|name| scales.get(name).copied()))
        .map_err(|error| refused(py, &TableError::from(error), None))?;
    PyTable::try_new(vec![made.clone()], made.schema())
}

/// Returns an answer of which nothing but its meta is left.
fn without_report(answer: &engine::Answer) -> Response<()> {
    let engine::Answer { pagination, paid_items, meta, is_repeatable, .. } = *answer;
    let (warnings, pegged) = (answer.warnings.clone(), answer.pegged.clone());
    Response { report: (), pagination, warnings, pegged, paid_items, meta, is_repeatable }
}

/// Returns the columns of an answer and the kinds of their values: of a list those of its table, else those of its frame.
#[pyfunction]
pub fn columns(name: &str) -> Vec<(String, &'static str)> {
    let of = |endpoint: &Endpoint| endpoint.columns().unwrap_or_else(|| endpoint.report_rows().columns);
    let columns = endpoint(name).map(of).unwrap_or_default();
    columns.into_iter().map(|Column { name, kind }| (name, kind_name(&kind))).collect()
}

fn kind_name(kind: &ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Text => "text",
        ColumnKind::Amount => "amount",
        ColumnKind::RawAmount => "raw_amount",
        ColumnKind::Integer => "integer",
        ColumnKind::Time => "time",
        ColumnKind::Float => "float",
        ColumnKind::Boolean => "boolean",
        ColumnKind::Texts => "texts",
        ColumnKind::Record(_) => "record",
        ColumnKind::Records(_) => "records",
        ColumnKind::Json => "json",
    }
}
