//! Parquet files and Arrow batches: read by arrow-rs, turned into canonical text columns by polars.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeStringArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;
use polars::prelude::{DataType as PolarsType, StringChunked};

use crate::IngestError;
use crate::error::{FieldError, Place, RowError};
use crate::source::row::Header;
use crate::source::table::{Counts, Handle, one_row};
use crate::source::{Input, Row};

/// Rows that are held at once.
const BATCH_ROWS: usize = 8192;
/// No column of one row group may claim to be larger, in bytes, when it is decompressed.
const MAX_COLUMN_CHUNK_BYTES: i64 = 1 << 31;

/// Names of the columns of a Parquet file.
pub(crate) fn parquet_columns(input: &Input) -> Result<Vec<String>, IngestError> {
    let builder = open(input)?;
    Ok(builder.schema().fields().iter().map(|field| field.name().clone()).collect())
}

/// Reads the named columns of all rows.
pub(crate) fn each_parquet_row<C: Counts>(
    input: &Input,
    columns: &[&str],
    sink: &mut C,
    mut handle: impl Handle<C>,
) -> Result<(), IngestError> {
    let builder = open(input)?;
    check_lengths(input, builder.metadata())?;
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0).max(1);
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let mut reader = guarded(input, || builder.with_projection(mask).with_batch_size(BATCH_ROWS).build())?;
    let mut number = 0;
    while let Some(batch) = guarded(input, || reader.next().transpose())? {
        let (header, text) = text_columns(&batch).map_err(|field| {
            IngestError::Row(Box::new(RowError { file: input.path().to_owned(), place: Place::Row(number + 1), field }))
        })?;
        for row in 0..batch.num_rows() {
            number += 1;
            one_row(input, &Row::frame(&text, &header, row, number), sink, &mut handle)?;
        }
        let share = u128::from(input.bytes()) * u128::from(number.min(rows)) / u128::from(rows);
        input.set_done(u64::try_from(share).unwrap_or(u64::MAX));
    }
    Ok(())
}

fn open(input: &Input) -> Result<ParquetRecordBatchReaderBuilder<File>, IngestError> {
    let file = input.file()?;
    guarded(input, || ParquetRecordBatchReaderBuilder::try_new(file))
}

/// A forged length makes the reader of Parquet panic in places: that is damage of the file like any other.
fn guarded<T, E: std::fmt::Display>(input: &Input, read: impl FnOnce() -> Result<T, E>) -> Result<T, IngestError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(input.damaged(None, error.to_string())),
        Err(_) => Err(input.damaged(None, "its Parquet structure contradicts itself")),
    }
}

fn check_lengths(input: &Input, metadata: &ParquetMetaData) -> Result<(), IngestError> {
    for (group, row_group) in metadata.row_groups().iter().enumerate() {
        for column in row_group.columns() {
            let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            let end = start.checked_add(column.compressed_size());
            let inside = start >= 0
                && column.compressed_size() >= 0
                && end.and_then(|end| u64::try_from(end).ok()).is_some_and(|end| end <= input.bytes());
            if !inside {
                let what = format!("column {} of row group {group} lies outside the file", column.column_path());
                return Err(input.damaged(None, what));
            }
            if !(0..=MAX_COLUMN_CHUNK_BYTES).contains(&column.uncompressed_size()) {
                let what = format!(
                    "column {} of row group {group} claims {} bytes, at most {MAX_COLUMN_CHUNK_BYTES} are read",
                    column.column_path(),
                    column.uncompressed_size()
                );
                return Err(input.damaged(None, what));
            }
        }
    }
    Ok(())
}

/// The columns of a batch as text, in the forms that rows are read from: integers in decimal, times in epoch
/// seconds, bytes as `0x` hex, nothing for null.
pub(crate) fn text_columns(batch: &RecordBatch) -> Result<(Header, Vec<StringChunked>), FieldError> {
    let mut header = Header::new();
    let mut plain = Vec::new();
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let wrong = |expected: &str| FieldError::new(field.name(), Some(&field.data_type().to_string()), expected);
        let column =
            plain_column(array).ok_or_else(|| wrong("a column of text, integers, decimals, booleans or times"))?;
        header.insert(field.name().clone(), plain.len());
        plain.push((field.name().clone(), column, true));
    }
    let as_row = |error: String| FieldError::new("row", None, error);
    if plain.is_empty() {
        return Ok((header, Vec::new()));
    }
    let plain = RecordBatch::try_from_iter_with_nullable(plain).map_err(|error| as_row(error.to_string()))?;
    let frame = headwater_frame::to_polars(&plain).map_err(|error| as_row(error.to_string()))?;
    let text = frame.columns().iter().map(|column| {
        let text = column.cast(&PolarsType::String).map_err(|error| as_row(error.to_string()))?;
        Ok(text.str().map_err(|error| as_row(error.to_string()))?.rechunk().into_owned())
    });
    Ok((header, text.collect::<Result<_, FieldError>>()?))
}

/// The column in a type that crosses to polars without loss; `None` when there is none.
fn plain_column(array: &ArrayRef) -> Option<ArrayRef> {
    let to = |kind: DataType| cast(array, &kind).ok();
    match array.data_type() {
        DataType::Int8 | DataType::Int16 => to(DataType::Int32),
        DataType::UInt8 | DataType::UInt16 => to(DataType::UInt32),
        DataType::Date32 | DataType::Date64 => plain_column(&to(DataType::Timestamp(TimeUnit::Second, None))?),
        DataType::Timestamp(_, zone) => {
            let secs = to(DataType::Timestamp(TimeUnit::Second, zone.clone()))?;
            cast(&secs, &DataType::Int64).ok()
        }
        DataType::Dictionary(_, values) => plain_column(&to((**values).clone())?),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            let text = to(DataType::Utf8)?;
            let whole = text.as_string::<i32>().iter().map(|value| value.map(without_zero_fraction));
            Some(Arc::new(whole.collect::<LargeStringArray>()))
        }
        DataType::Binary | DataType::FixedSizeBinary(_) | DataType::BinaryView | DataType::LargeBinary => {
            let bytes = to(DataType::LargeBinary)?;
            let text = bytes.as_binary::<i64>().iter().map(|value| value.map(prefixed_hex));
            Some(Arc::new(text.collect::<LargeStringArray>()))
        }
        DataType::Null => to(DataType::Utf8),
        // A table library without nullable integers (pandas) turns a column with a gap into floats.
        DataType::Float32 | DataType::Float64 if is_whole(&to(DataType::Float64)?) => to(DataType::Int64),
        DataType::Boolean
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View => Some(Arc::clone(array)),
        _ => None,
    }
}

/// Whether a column of doubles holds nothing but integers that a double counts exactly.
fn is_whole(doubles: &ArrayRef) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    doubles.as_primitive::<Float64Type>().iter().flatten().all(|value| value.fract() == 0.0 && value.abs() < EXACT)
}

fn without_zero_fraction(text: &str) -> &str {
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    }
}

fn prefixed_hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all text");
        text
    })
}
