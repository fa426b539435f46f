//! Answers in Python's hands: text, or Arrow's memory, once somebody asks for it.

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use headwater_engine::{Answer as Answered, AnyRow, Column, ColumnKind, Endpoint, endpoint};
use headwater_table::{TableError, frame};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use serde_json::Value;

use crate::tables::refused;

/// The answer to one call.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct Answer {
    name: String,
    content: Content,
}

enum Content {
    /// Of a ledger in this process.
    Report(Answered),
    /// Of a server: `{"data", "meta"}`.
    Text(String),
}

#[pymethods]
impl Answer {
    /// The answer of a server to a call.
    #[new]
    fn of_text(name: String, text: String) -> Self {
        Self { name, content: Content::Text(text) }
    }

    /// `{"data", "meta"}` as JSON.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        match &self.content {
            Content::Report(report) => py.detach(|| envelope(report)).map_err(|error| refused(py, &error, None)),
            Content::Text(text) => Ok(text.clone()),
        }
    }

    /// The rows in Arrow's memory; `None` where the engine does not know the call, or the answer has no list.
    fn rows(&self, py: Python<'_>) -> PyResult<Option<PyTable>> {
        let Some(endpoint) = endpoint(&self.name) else { return Ok(None) };
        let batch = py.detach(|| self.batch(endpoint)).map_err(|error| refused(py, &error, None))?;
        batch.map(|batch| PyTable::try_new(vec![batch.clone()], batch.schema())).transpose()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String, String))> {
        Ok((py.get_type::<Self>().into_any(), (self.name.clone(), self.text(py)?)))
    }
}

impl Answer {
    /// The answer of a ledger in this process.
    pub fn of_report(endpoint: &Endpoint, report: Answered) -> Self {
        Self { name: endpoint.name.to_owned(), content: Content::Report(report) }
    }

    fn batch(&self, endpoint: &Endpoint) -> Result<Option<RecordBatch>, TableError> {
        let data: Value;
        let value: &dyn AnyRow = match &self.content {
            Content::Text(text) => {
                data = parsed(text)?["data"].take();
                &data
            }
            Content::Report(answer) => &*answer.report,
        };
        frame(endpoint, value)
    }
}

fn parsed(text: &str) -> Result<Value, TableError> {
    serde_json::from_str(text).map_err(|error| ArrowError::JsonError(error.to_string()).into())
}

fn envelope(answer: &Answered) -> Result<String, TableError> {
    serde_json::to_string(answer).map_err(|error| ArrowError::JsonError(error.to_string()).into())
}

/// The columns of an answer and what they hold: of a list those of its table, else those of its frame.
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
