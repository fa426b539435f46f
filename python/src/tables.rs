//! Lists of the engine as files and as Arrow tables.

use std::fs::{self, File};
use std::io::{self, BufWriter, Cursor};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::StreamReader;
use headwater_engine::{Endpoint, QueryEngine};
use headwater_ledger::Cancel;
use headwater_table::{Format, TableError, Written};
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors::{exception, raise};

/// The form that the ending of a file stands for.
pub fn form_of(py: Python<'_>, path: &Path) -> PyResult<Format> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    Format::of_ending(ending).ok_or_else(|| {
        let endings = Format::ALL.map(|format| format!(".{}", format.ending())).join(", ");
        let message = format!("{}: expected a file that ends in one of {endings}", path.display());
        raise(py, "InvalidInput", &message, Some("invalid_value"), Some("path"))
    })
}

/// Writes the rows of a list to a file. What stood there stays until the new one is whole.
pub fn to_file(
    engine: &QueryEngine,
    question: (&Endpoint, &Value),
    (format, path): (Format, &Path),
    cancel: &Cancel,
) -> Result<Written, TableError> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written = whole_file(engine, question, (format, &partial), cancel)
        .and_then(|written| fs::rename(&partial, path).map(|()| written).map_err(TableError::from));
    if written.is_err() {
        // What is left of it is of no use; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&partial);
    }
    written
}

fn whole_file(
    engine: &QueryEngine,
    question: (&Endpoint, &Value),
    (format, path): (Format, &Path),
    cancel: &Cancel,
) -> Result<Written, TableError> {
    let file = BufWriter::new(File::create(path)?);
    let (file, written) = headwater_table::write(engine, question, (format, file), &|_, _| {}, cancel)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(written)
}

/// The rows of a list in Arrow's memory.
pub fn in_memory(
    engine: &QueryEngine,
    question: (&Endpoint, &Value),
    cancel: &Cancel,
) -> Result<(Vec<RecordBatch>, SchemaRef), TableError> {
    let (bytes, _) = headwater_table::write(engine, question, (Format::Arrow, Vec::new()), &|_, _| {}, cancel)?;
    read(bytes)
}

/// What an Arrow stream holds.
pub fn read(bytes: Vec<u8>) -> Result<(Vec<RecordBatch>, SchemaRef), TableError> {
    let reader = StreamReader::try_new(Cursor::new(bytes), None)?;
    let schema = reader.schema();
    Ok((reader.collect::<Result<_, _>>()?, schema))
}

/// What a caller sees of a table that was not made; `place` is the file it was to go to.
pub fn refused(py: Python<'_>, error: &TableError, place: Option<&Path>) -> PyErr {
    let class = match error {
        TableError::Engine(error) => return exception(py, error),
        TableError::Write(_) => "StorageError",
        TableError::Rows(_) => "InternalError",
    };
    let place = place.map(|path| format!("{}: ", path.display())).unwrap_or_default();
    raise(py, class, &format!("{place}{error}"), None, None)
}
