//! Lists of addresses to score, in files and in columns.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use headwater_engine::score::{AddressList, AddressParts, ScoreError};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// The column that contains the addresses.
const COLUMN: &str = "address";

/// The bytes that some programs write before the first line of a text.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Addresses in a file or in memory.
#[derive(Debug, Clone)]
pub enum AddressSource {
    /// Those of a file, in its order, by its ending: `.parquet` and `.csv` with a column `address`, anything else with one
    /// address per line. Blank lines are skipped; a missing address in a column has a row.
    File(PathBuf),
    /// Columns of text, in their order.
    Columns(Vec<ArrayRef>),
}

impl AddressSource {
    /// Takes texts, in their order.
    pub fn of_texts(texts: impl IntoIterator<Item = String>) -> Self {
        Self::Columns(vec![Arc::new(StringArray::from_iter_values(texts))])
    }

    /// Takes the column `address` of tables, in their order.
    ///
    /// # Errors
    /// The message, where the column is missing or is not text.
    pub fn of_tables(tables: &[RecordBatch]) -> Result<Self, String> {
        let column = |table: &RecordBatch| {
            let schema = table.schema();
            let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let column = table.column(position(&names)?);
            check_text(column.data_type()).map(|()| Arc::clone(column))
        };
        Ok(Self::Columns(tables.iter().map(column).collect::<Result<_, _>>()?))
    }
}

impl AddressList for AddressSource {
    fn parts(&self, size: usize) -> Result<AddressParts<'_>, ScoreError> {
        match self {
            Self::Columns(columns) => {
                let part = |column: ArrayRef| texts(&column).map(|texts| owned(&texts)).map_err(of_columns);
                Ok(Box::new(slices(columns, size).map(part)))
            }
            Self::File(path) => {
                match path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase).as_deref() {
                    Some("parquet") => parquet(path, size),
                    Some("csv") => csv(path, size),
                    _ => lines(path, size),
                }
            }
        }
    }

    fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Columns(_) => None,
        }
    }
}

fn of_columns(error: ArrowError) -> ScoreError {
    ScoreError::Columns(Box::new(error))
}

/// Returns a function that names the file of an error of its content.
fn damaged<E: ToString>(path: &Path) -> impl Fn(E) -> ScoreError {
    move |error| ScoreError::input(path, error.to_string())
}

fn owned(texts: &StringArray) -> Vec<Option<String>> {
    texts.iter().map(|text| text.map(str::to_owned)).collect()
}

fn open(path: &Path) -> Result<File, ScoreError> {
    File::open(path).map_err(ScoreError::file(path))
}

/// Opens a text behind its byte order mark.
fn open_text(path: &Path) -> Result<File, ScoreError> {
    let behind_mark = |mut file: File| {
        let mut first = Vec::new();
        file.by_ref().take(3).read_to_end(&mut first)?;
        file.seek(SeekFrom::Start(if first == BYTE_ORDER_MARK { 3 } else { 0 }))?;
        Ok(file)
    };
    behind_mark(open(path)?).map_err(ScoreError::file(path))
}

fn lines(path: &Path, size: usize) -> Result<AddressParts<'_>, ScoreError> {
    let failed = move |number: usize, error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData => ScoreError::input(
            path,
            format!(
                "line {number} is not UTF-8 text; expected one address per line, or a table whose name ends in .csv or \
                 .parquet"
            ),
        ),
        _ => ScoreError::file(path)(error),
    };
    let lines = BufReader::new(open_text(path)?).lines().enumerate();
    let lines = lines.map(move |(place, line)| line.map(Some).map_err(|error| failed(place + 1, error)));
    let is_blank = |line: &Option<String>| line.as_ref().is_some_and(|line| line.trim().is_empty());
    let mut lines = lines.filter(move |line| !line.as_ref().is_ok_and(is_blank));
    Ok(Box::new(std::iter::from_fn(move || {
        let texts: Result<Vec<_>, _> = lines.by_ref().take(size).collect();
        match texts {
            Ok(texts) if texts.is_empty() => None,
            texts => Some(texts),
        }
    })))
}

fn csv(path: &Path, size: usize) -> Result<AddressParts<'_>, ScoreError> {
    let format = Format::default().with_header(true);
    let (found, _) = format.infer_schema(open_text(path)?, Some(0)).map_err(damaged(path))?;
    let names: Vec<_> = found.fields().iter().map(|field| field.name().as_str()).collect();
    let column = position(&names).map_err(|message| ScoreError::input(path, message))?;
    let schema = Schema::new(names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect::<Vec<_>>());
    let reader = ReaderBuilder::new(Arc::new(schema))
        .with_format(format)
        .with_batch_size(size)
        .with_projection(vec![column])
        .build(open_text(path)?)
        .map_err(damaged(path))?;
    Ok(Box::new(reader.map(move |batch| only_column(path, &batch.map_err(damaged(path))?))))
}

fn parquet(path: &Path, size: usize) -> Result<AddressParts<'_>, ScoreError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(open(path)?).map_err(damaged(path))?;
    let names: Vec<_> = builder.schema().fields().iter().map(|field| field.name().as_str()).collect();
    let column = position(&names).map_err(|message| ScoreError::input(path, message))?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), [column]);
    let reader = builder.with_projection(mask).with_batch_size(size).build().map_err(damaged(path))?;
    Ok(Box::new(reader.map(move |batch| only_column(path, &batch.map_err(damaged(path))?))))
}

/// Finds the column of addresses among columns of these names.
fn position(names: &[&str]) -> Result<usize, String> {
    let found = names.iter().position(|name| *name == COLUMN);
    let similar = || names.iter().position(|name| name.trim().eq_ignore_ascii_case(COLUMN));
    found.or_else(similar).ok_or_else(|| {
        format!(
            "there is no column `{COLUMN}`; the columns are {}: rename the one with the addresses",
            names.join(", ")
        )
    })
}

fn only_column(path: &Path, batch: &RecordBatch) -> Result<Vec<Option<String>>, ScoreError> {
    let column = batch.column(0);
    check_text(column.data_type()).map_err(|message| ScoreError::input(path, message))?;
    texts(column).map(|texts| owned(&texts)).map_err(damaged(path))
}

fn check_text(kind: &DataType) -> Result<(), String> {
    let is_text =
        |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null);
    let is_texts = match kind {
        DataType::Dictionary(_, values) => is_text(values),
        kind => is_text(kind),
    };
    if is_texts { Ok(()) } else { Err(format!("the column `{COLUMN}` is {kind}; expected text")) }
}

/// Cuts columns into slices of so many rows, without a copy.
fn slices(columns: &[ArrayRef], rows: usize) -> impl Iterator<Item = ArrayRef> {
    columns.iter().flat_map(move |column| {
        let starts = (0..column.len()).step_by(rows);
        starts.map(move |start| column.slice(start, rows.min(column.len() - start)))
    })
}

fn texts(column: &ArrayRef) -> Result<StringArray, ArrowError> {
    Ok(cast(column, &DataType::Utf8)?.as_string::<i32>().clone())
}
