//! The rows of an answer as an Arrow table, without a Python object for every value.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::ReaderBuilder;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

/// The rows that stand under `key` in the `data` of an answer (without one, `data` itself as the only row) with the
/// columns of another table. Fields that it has no column for are left out, missing ones are null.
#[pyfunction]
#[pyo3(signature = (answer, key, like))]
pub fn rows(answer: &str, key: Option<&str>, like: PyTable) -> PyResult<PyTable> {
    let (_, schema) = like.into_inner();
    let batch = batch_of(answer, key, &schema).map_err(|error| PyValueError::new_err(error.to_string()))?;
    PyTable::try_new(vec![batch], schema)
}

/// The answer is one JSON record in which the rows are a column of lists.
fn batch_of(answer: &str, key: Option<&str>, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let row = DataType::Struct(schema.fields().clone());
    let data = match key {
        Some(key) => {
            let rows = DataType::LargeList(Arc::new(Field::new_list_field(row, true)));
            DataType::Struct(vec![Field::new(key, rows, true)].into())
        }
        None => row,
    };
    let record = Arc::new(Schema::new(vec![Field::new("data", data, true)]));
    let mut decoder = ReaderBuilder::new(record).build_decoder()?;
    decoder.decode(answer.as_bytes())?;
    let Some(record) = decoder.flush()? else { return Ok(RecordBatch::new_empty(Arc::clone(schema))) };
    let data = record.column(0).as_struct();
    let rows = match key {
        Some(_) => data.column(0).as_list::<i64>().value(0),
        None => record.column(0).slice(0, 1),
    };
    RecordBatch::try_new(Arc::clone(schema), rows.as_struct().columns().to_vec())
}
