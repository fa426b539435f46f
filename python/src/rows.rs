//! The rows of an answer as an Arrow table, without a Python object for every value.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::ReaderBuilder;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

/// Where the rows of an answer stand in its text, and which columns they become.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct Rows {
    columns: SchemaRef,
    /// The answer as one record, in which the rows are a column of lists, or `data` itself is the only row.
    record: SchemaRef,
    is_list: bool,
}

#[pymethods]
impl Rows {
    /// The rows that stand under `key` in the `data` of an answer (without one, `data` itself as the only row) with the
    /// columns of another table. Fields that it has no column for are left out, missing ones are null.
    #[new]
    #[pyo3(signature = (key, like))]
    fn new(key: Option<&str>, like: PyTable) -> Self {
        let (_, columns) = like.into_inner();
        let row = DataType::Struct(columns.fields().clone());
        let data = match key {
            Some(key) => {
                let rows = DataType::LargeList(Arc::new(Field::new_list_field(row, true)));
                DataType::Struct(vec![Field::new(key, rows, true)].into())
            }
            None => row,
        };
        let record = Arc::new(Schema::new(vec![Field::new("data", data, true)]));
        Self { columns, record, is_list: key.is_some() }
    }

    /// The rows of an answer.
    fn read(&self, answer: &str) -> PyResult<PyTable> {
        let batch = self.batch(answer).map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyTable::try_new(vec![batch], Arc::clone(&self.columns))
    }
}

impl Rows {
    fn batch(&self, answer: &str) -> Result<RecordBatch, ArrowError> {
        let mut decoder = ReaderBuilder::new(Arc::clone(&self.record)).with_batch_size(1).build_decoder()?;
        decoder.decode(answer.as_bytes())?;
        let columns = Arc::clone(&self.columns);
        let Some(record) = decoder.flush()? else { return Ok(RecordBatch::new_empty(columns)) };
        let data = record.column(0).as_struct();
        if self.is_list {
            let rows = data.column(0).as_list::<i64>().value(0);
            RecordBatch::try_new(columns, rows.as_struct().columns().to_vec())
        } else {
            RecordBatch::try_new(columns, data.columns().to_vec())
        }
    }
}
