//! Columns as Arrow knows them, and batches as a form wants them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use headwater_engine::{Column, ColumnKind, TableHead};
use headwater_types::Timestamp;

/// Between the entries of a list in CSV.
const BETWEEN: &str = ";";

/// The columns as an Arrow schema, with what a list says besides its rows as its metadata.
pub(crate) fn schema_of(columns: &[Column], head: &TableHead) -> SchemaRef {
    let fields: Vec<Field> = columns
        .iter()
        .map(|column| {
            let kind = match column.kind {
                ColumnKind::Text | ColumnKind::Nested => DataType::Utf8,
                ColumnKind::Integer => DataType::Int64,
                ColumnKind::Float => DataType::Float64,
                ColumnKind::Boolean => DataType::Boolean,
                ColumnKind::Texts => DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true))),
            };
            Field::new(&column.name, kind, true)
        })
        .collect();
    let said = [
        ("next_cursor", head.next_cursor.clone()),
        ("total", head.total.map(|total| total.to_string())),
        ("as_of_block", head.as_of_block.map(|block| block.to_string())),
        ("amount_unit", head.amount_unit.clone()),
    ];
    let metadata: HashMap<String, String> =
        said.into_iter().filter_map(|(name, text)| Some((format!("headwater.{name}"), text?))).collect();
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

/// What stands behind a column of times: of epoch seconds their ISO form, of ISO texts their epoch seconds.
fn other_form(field: &Field) -> Option<Field> {
    let name = field.name().as_str();
    let named = name == "ts" || name == "mcap_updated_at";
    let ended = ["timestamp", "_ts", "_activity"].iter().any(|ending| name.ends_with(ending));
    match field.data_type() {
        DataType::Int64 if named || ended => Some(Field::new(format!("{name}_iso"), DataType::Utf8, true)),
        DataType::Utf8 if name.ends_with("_at") => Some(Field::new(format!("{name}_ts"), DataType::Int64, true)),
        _ => None,
    }
}

/// The columns as CSV has them: behind each time its other form, lists as text.
pub(crate) fn flat(schema: &Schema) -> SchemaRef {
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .flat_map(|field| {
            let column = match field.data_type() {
                DataType::List(_) => Field::new(field.name(), DataType::Utf8, true),
                _ => field.as_ref().clone(),
            };
            [Some(column), other_form(field)].into_iter().flatten()
        })
        .collect();
    Arc::new(Schema::new(fields))
}

/// A batch with the columns of [`flat`].
pub(crate) fn flattened(batch: &RecordBatch, into: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).flat_map(|(field, column)| {
        let shown = match field.data_type() {
            DataType::List(_) => joined(column),
            _ => Arc::clone(column),
        };
        let other = other_form(field).map(|other| match other.data_type() {
            DataType::Int64 => epoch(column),
            _ => iso(column),
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
