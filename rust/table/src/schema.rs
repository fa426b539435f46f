//! Columns as fields of Arrow, and batches as a format needs them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Field, Fields, Int64Type, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use headwater_engine::{Column, ColumnKind, TableHead};
use headwater_types::Timestamp;

/// Between the entries of a list in CSV.
const BETWEEN: &str = ";";

/// How records within a row are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nested {
    /// As the text of their JSON: in files.
    Text,
    /// As columns of records: in frames.
    Records,
}

/// The form of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// Epoch seconds, as rows have them.
    Seconds,
    /// Times in UTC: microseconds, since Parquet has no seconds and Python's own datetimes have microseconds.
    Utc,
}

/// Returns the Arrow fields of columns.
pub(crate) fn fields_of(columns: &[Column], nested: Nested, times: Times) -> Fields {
    let record = |columns: &[Column]| match nested {
        Nested::Text => DataType::Utf8,
        Nested::Records => DataType::Struct(fields_of(columns, nested, times)),
    };
    let list = |items: DataType| DataType::List(Arc::new(Field::new_list_field(items, true)));
    columns
        .iter()
        .map(|column| {
            let kind = match &column.kind {
                ColumnKind::Text | ColumnKind::Amount | ColumnKind::RawAmount | ColumnKind::Json => DataType::Utf8,
                ColumnKind::Integer => DataType::Int64,
                ColumnKind::Time => match times {
                    Times::Seconds => DataType::Int64,
                    Times::Utc => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
                },
                ColumnKind::Float => DataType::Float64,
                ColumnKind::Boolean => DataType::Boolean,
                ColumnKind::Texts => list(DataType::Utf8),
                ColumnKind::Record(columns) => record(columns),
                ColumnKind::Records(columns) => match nested {
                    Nested::Text => DataType::Utf8,
                    Nested::Records => list(record(columns)),
                },
            };
            Field::new(&column.name, kind, true)
        })
        .collect()
}

/// Returns the head of a list as metadata of its schema.
pub(crate) fn metadata_of(head: &TableHead) -> HashMap<String, String> {
    let head = [
        ("next_cursor", head.next_cursor.clone()),
        ("total", head.total.map(|total| total.to_string())),
        ("as_of_block", head.as_of_block.map(|block| block.to_string())),
        ("amount_unit", head.amount_unit.clone()),
        ("pegged", (!head.pegged.is_empty()).then(|| head.pegged.join(", "))),
    ];
    head.into_iter().filter_map(|(name, text)| Some((format!("headwater.{name}"), text?))).collect()
}

/// The other form of a column of times in CSV: of epoch seconds their ISO form, of ISO texts their epoch seconds.
fn other_form(column: &Column) -> Option<Field> {
    let name = &column.name;
    match column.kind {
        ColumnKind::Time => Some(Field::new(format!("{name}_iso"), DataType::Utf8, true)),
        ColumnKind::Text if name.ends_with("_at") => Some(Field::new(format!("{name}_ts"), DataType::Int64, true)),
        _ => None,
    }
}

/// The columns as CSV has them: behind each time its other form, lists as text.
pub(crate) fn flat(columns: &[Column], fields: &Fields) -> SchemaRef {
    let fields = columns.iter().zip(fields).flat_map(|(column, field)| {
        let shown = match field.data_type() {
            DataType::List(_) => Field::new(field.name(), DataType::Utf8, true),
            _ => field.as_ref().clone(),
        };
        [Some(shown), other_form(column)].into_iter().flatten()
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Returns columns as a batch of [`flat`].
pub(crate) fn flattened(values: &[ArrayRef], columns: &[Column], into: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = columns.iter().zip(values).flat_map(|(column, values)| {
        let shown = match values.data_type() {
            DataType::List(_) => joined(values),
            _ => Arc::clone(values),
        };
        let other = other_form(column).map(|other| match other.data_type() {
            DataType::Int64 => epoch(values),
            _ => iso(values),
        });
        [Some(shown), other].into_iter().flatten()
    });
    RecordBatch::try_new(Arc::clone(into), columns.collect())
}

fn iso(column: &ArrayRef) -> ArrayRef {
    let times = column.as_primitive::<Int64Type>();
    let texts = times.iter().map(|time| time.map(|secs| Timestamp::new(secs).to_string()));
    Arc::new(texts.collect::<StringArray>())
}

fn epoch(column: &ArrayRef) -> ArrayRef {
    let texts = column.as_string::<i32>();
    let times = texts.iter().map(|text| text?.parse().ok().map(Timestamp::secs));
    Arc::new(times.collect::<Int64Array>())
}

fn joined(column: &ArrayRef) -> ArrayRef {
    let lists = column.as_list::<i32>();
    let mut out = StringBuilder::new();
    for place in 0..lists.len() {
        if lists.is_null(place) {
            out.append_null();
        } else {
            let texts = lists.value(place);
            let texts: Vec<&str> = texts.as_string::<i32>().iter().flatten().collect();
            out.append_value(texts.join(BETWEEN));
        }
    }
    Arc::new(out.finish())
}
