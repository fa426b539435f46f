//! Parquet files and Arrow batches: read by arrow-rs, turned into canonical text columns by polars.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;
use polars::prelude::{DataType as PolarsType, StringChunked};

use crate::IngestError;
use crate::error::{FieldError, Place, RowError};
use crate::source::arrow_columns::{Documents, plain_column};
use crate::source::handle::{Counts, Handle, one_row};
use crate::source::json::Value;
use crate::source::pages::check_pages;
use crate::source::row::{Header, same_name};
use crate::source::{Input, Row};

/// Rows that are held at once.
const BATCH_ROWS: usize = 8192;

/// Columns of which the first row is looked at: the position and the chain of a file follow from them.
const LEADING_COLUMNS: &[&str] = &["block_number", "number", "blockNumber", "chain_id", "block_hash"];
/// Parts of nested columns that nothing reads, and that are the largest.
const UNREAD: &[&str] = &["script_asm"];

/// The properties of a Parquet file that are known before it is read.
pub(super) struct Beginning {
    pub(super) columns: Vec<String>,
    /// The values of the first row in the columns of [`LEADING_COLUMNS`].
    pub(super) first: Vec<Option<String>>,
    /// Columns of doubles.
    pub(super) floats: Vec<String>,
}

pub(super) fn parquet_beginning(input: &Input) -> Result<Beginning, IngestError> {
    let builder = open(input)?;
    let fields = builder.schema().fields().clone();
    let columns: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
    let floats = fields.iter().filter(|field| field.data_type().is_floating()).map(|field| field.name().clone());
    let floats = floats.collect();
    let first = first_row(input, builder).unwrap_or_default();
    let first = columns.iter().map(|column| first.iter().find(|(name, _)| name == column)?.1.clone()).collect();
    Ok(Beginning { columns, first, floats })
}

/// Returns the first row. Damage that is found here is an error when the file is read.
fn first_row(
    input: &Input,
    builder: ParquetRecordBatchReaderBuilder<File>,
) -> Result<Vec<(String, Option<String>)>, IngestError> {
    let metadata = Arc::clone(builder.metadata());
    check_lengths(input, &metadata)?;
    let Some(group) = metadata.row_groups().iter().position(|group| group.num_rows() > 0) else {
        return Ok(Vec::new());
    };
    let fields = builder.schema().fields();
    let telling =
        fields.iter().map(|field| field.name().as_str()).filter(|name| asked(LEADING_COLUMNS, name).is_some());
    let mask = ProjectionMask::columns(builder.parquet_schema(), telling);
    check_pages(input, &metadata, &mask, [group])?;
    let builder = builder.with_projection(mask).with_row_groups(vec![group]).with_batch_size(1);
    let mut reader = guarded(input, || builder.build())?;
    let Some(batch) = guarded(input, || reader.next().transpose())? else { return Ok(Vec::new()) };
    let Ok((header, text)) = text_columns(&batch) else { return Ok(Vec::new()) };
    Ok(header.iter().map(|(place, name)| (name.to_owned(), text[place].get(0).map(str::to_owned))).collect())
}

/// Reads the named columns of all rows.
pub(crate) fn each_parquet_row<C: Counts>(
    input: &Input,
    columns: &[&str],
    sink: &mut C,
    mut handle: impl Handle<C>,
) -> Result<(), IngestError> {
    let mut number = 0;
    each_batch(input, columns, |batch| {
        if batch.schema().fields().iter().any(|field| is_record(field.data_type())) {
            let documents = Documents::new(batch).map_err(|field| unread(input, number + 1, field))?;
            for row in 0..batch.num_rows() {
                number += 1;
                one_row(input, &Row::json(&documents.row(row), Place::Row(number)), sink, &mut handle)?;
            }
            return Ok(());
        }
        let (header, text) = text_columns(batch).map_err(|field| unread(input, number + 1, field))?;
        for row in 0..batch.num_rows() {
            number += 1;
            one_row(input, &Row::frame(&text, &header, row, number), sink, &mut handle)?;
        }
        Ok(())
    })
}

/// Reads the named columns of all rows as documents, with the lists and records that rows of text cannot hold.
pub(crate) fn each_parquet_document(
    input: &Input,
    columns: &[&str],
    mut handle: impl FnMut(&Value<'_>, Place) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let mut number = 0;
    each_batch(input, columns, |batch| {
        let documents = Documents::new(batch).map_err(|field| unread(input, number + 1, field))?;
        for row in 0..batch.num_rows() {
            number += 1;
            handle(&documents.row(row), Place::Row(number))?;
        }
        Ok(())
    })
}

/// Returns true if a column holds several values a row, which have names of their own.
fn is_record(kind: &DataType) -> bool {
    match kind {
        DataType::Struct(fields) => fields.find("string_value").is_none(),
        DataType::List(item) | DataType::LargeList(item) => matches!(item.data_type(), DataType::Struct(_)),
        _ => false,
    }
}

/// The name under which a column is asked for, in whatever case the file has it.
fn asked<'n>(columns: &[&'n str], name: &str) -> Option<&'n str> {
    let exact = columns.iter().find(|column| **column == name);
    exact.or_else(|| columns.iter().find(|column| same_name(column, name))).copied()
}

fn unread(input: &Input, row: u64, field: FieldError) -> IngestError {
    IngestError::Row(Box::new(RowError { file: input.path().to_owned(), place: Place::Row(row), field }))
}

fn each_batch(
    input: &Input,
    columns: &[&str],
    mut handle: impl FnMut(&RecordBatch) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let builder = open(input)?;
    check_lengths(input, builder.metadata())?;
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0).max(1);
    let leaves = builder.parquet_schema().columns().iter().enumerate().filter_map(|(place, leaf)| {
        let parts = leaf.path().parts();
        let root = parts.first().is_some_and(|root| asked(columns, root).is_some());
        let unread = parts.len() > 1 && parts.last().is_some_and(|name| UNREAD.contains(&name.as_str()));
        (root && !unread).then_some(place)
    });
    let mask = ProjectionMask::leaves(builder.parquet_schema(), leaves.collect::<Vec<_>>());
    check_pages(input, builder.metadata(), &mask, 0..builder.metadata().num_row_groups())?;
    let mut reader = guarded(input, || builder.with_projection(mask).with_batch_size(BATCH_ROWS).build())?;
    let mut number = 0;
    while let Some(batch) = guarded(input, || reader.next().transpose())? {
        let batch = renamed(&batch, columns);
        handle(&batch)?;
        number += u64::try_from(batch.num_rows()).unwrap_or(0);
        let share = u128::from(input.bytes()) * u128::from(number.min(rows)) / u128::from(rows);
        input.set_done(u64::try_from(share).unwrap_or(u64::MAX));
    }
    Ok(())
}

/// A batch under the names that its columns are asked for.
fn renamed(batch: &RecordBatch, columns: &[&str]) -> RecordBatch {
    let own = |field: &Arc<Field>| match asked(columns, field.name()) {
        Some(name) if name != field.name() => Arc::new(field.as_ref().clone().with_name(name)),
        Some(_) | None => Arc::clone(field),
    };
    let fields: Vec<Arc<Field>> = batch.schema_ref().fields().iter().map(own).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, batch.schema_ref().metadata().clone()));
    batch.clone().with_schema(schema).unwrap_or_else(|_| batch.clone())
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
            let limit = input.bounds().column_bytes;
            let Ok(claimed) = usize::try_from(column.uncompressed_size()) else {
                let what = format!("column {} of row group {group} claims less than no bytes", column.column_path());
                return Err(input.damaged(None, what));
            };
            if claimed > limit {
                return Err(input.too_large(None, "largest column of a row group", limit, "--max-column-bytes"));
            }
            if column.compression() == Compression::LZO {
                let what = "is Parquet compressed with LZO, which is not read: write it with zstd or snappy".to_owned();
                return Err(IngestError::Container { path: input.path().to_owned(), what });
            }
        }
    }
    Ok(())
}

/// The columns of a batch as text, in the forms that rows are read from: integers in decimal, times in epoch
/// seconds, bytes as `0x` hex, nothing for null.
pub(crate) fn text_columns(batch: &RecordBatch) -> Result<(Header, Vec<StringChunked>), FieldError> {
    let header = Header::of(batch.schema_ref().fields().iter().map(|field| field.name().as_str()));
    let mut plain = Vec::new();
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let wrong = |expected: &str| FieldError::new(field.name(), Some(&field.data_type().to_string()), expected);
        let column =
            plain_column(array).ok_or_else(|| wrong("a column of text, integers, decimals, booleans or times"))?;
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
