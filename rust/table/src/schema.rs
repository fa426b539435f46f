//! Columns as Arrow knows them, and batches as a format needs them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Int64Type, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use headwater_engine::{AnyRow, Column, ColumnKind, TableHead};
use headwater_types::Timestamp;
use serde_arrow::ArrayBuilder;
use serde_json::{Map, Value};

/// Between the entries of a list in CSV.
const BETWEEN: &str = ";";

/// The field of a record that names those of its numbers that are 0 for want of a price. JSON shows the zeros, tables and
/// frames have null.
const UNPRICED: &str = "unpriced_fields";

/// How records within a row are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nested {
    /// As the text of their JSON: in files.
    Text,
    /// As columns of records: in frames.
    Records,
}

/// The Arrow fields of columns, times as integers: epoch seconds, as rows have them.
pub(crate) fn fields_of(columns: &[Column], nested: Nested) -> Fields {
    let record = |columns: &[Column]| match nested {
        Nested::Text => DataType::Utf8,
        Nested::Records => DataType::Struct(fields_of(columns, nested)),
    };
    let list = |items: DataType| DataType::List(Arc::new(Field::new_list_field(items, true)));
    columns
        .iter()
        .map(|column| {
            let kind = match &column.kind {
                ColumnKind::Text | ColumnKind::Amount | ColumnKind::RawAmount | ColumnKind::Json => DataType::Utf8,
                ColumnKind::Integer | ColumnKind::Time => DataType::Int64,
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

/// Makes Arrow columns of rows.
pub(crate) struct Builder {
    arrays: ArrayBuilder,
    rows: usize,
    /// Columns that are given as the text of their JSON.
    texts: Vec<String>,
    /// Whether numbers may be null for want of a price.
    is_priced: bool,
}

impl Builder {
    pub fn new(columns: &[Column], nested: Nested) -> Result<Self, ArrowError> {
        let fields = fields_of(columns, nested);
        let is_text = |kind: &ColumnKind| match kind {
            ColumnKind::Json => true,
            ColumnKind::Record(_) | ColumnKind::Records(_) => nested == Nested::Text,
            ColumnKind::Text
            | ColumnKind::Amount
            | ColumnKind::RawAmount
            | ColumnKind::Integer
            | ColumnKind::Time
            | ColumnKind::Float
            | ColumnKind::Boolean
            | ColumnKind::Texts => false,
        };
        let texts = columns.iter().filter(|column| is_text(&column.kind)).map(|column| column.name.clone());
        Ok(Self {
            arrays: ArrayBuilder::from_arrow(&fields).map_err(unfit)?,
            rows: 0,
            texts: texts.collect(),
            is_priced: is_priced(columns),
        })
    }

    /// Adds a row.
    pub fn push(&mut self, row: &dyn AnyRow) -> Result<(), ArrowError> {
        self.rows += 1;
        if self.texts.is_empty() && !self.is_priced {
            return self.arrays.push(row).map_err(unfit);
        }
        let mut row = serde_json::to_value(row).map_err(unfit)?;
        without_zeros(&mut row);
        if let Value::Object(row) = &mut row {
            with_texts(row, &self.texts);
        }
        self.arrays.push(&row).map_err(unfit)
    }

    /// Rows since the last batch.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// The rows since the last batch.
    pub fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        self.arrays.to_record_batch().map_err(unfit)
    }
}

/// The error of rows that do not fit their columns.
pub(crate) fn unfit(error: impl std::error::Error + Send + Sync + 'static) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}

/// Returns whether records of these columns, at any depth, have numbers that may be null for want of a price.
pub(crate) fn is_priced(columns: &[Column]) -> bool {
    columns.iter().any(|column| match &column.kind {
        ColumnKind::Record(columns) | ColumnKind::Records(columns) => is_priced(columns),
        ColumnKind::Text
        | ColumnKind::Amount
        | ColumnKind::RawAmount
        | ColumnKind::Integer
        | ColumnKind::Time
        | ColumnKind::Float
        | ColumnKind::Boolean
        | ColumnKind::Texts
        | ColumnKind::Json => column.name == UNPRICED,
    })
}

/// Sets the numbers to null, at any depth, that are 0 for want of a price.
pub(crate) fn without_zeros(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let unpriced = fields.get(UNPRICED).and_then(Value::as_array).cloned().unwrap_or_default();
            for name in unpriced.iter().filter_map(Value::as_str) {
                if let Some(number) = fields.get_mut(name) {
                    *number = Value::Null;
                }
            }
            fields.values_mut().for_each(without_zeros);
        }
        Value::Array(items) => items.iter_mut().for_each(without_zeros),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Turns some fields of a row into the text of their JSON.
pub(crate) fn with_texts(row: &mut Map<String, Value>, fields: &[String]) {
    for field in fields {
        if let Some(value) = row.get_mut(field).filter(|value| !value.is_null() && !value.is_string()) {
            *value = Value::String(value.to_string());
        }
    }
}

/// The type of times in Arrow and Parquet: microseconds, since Parquet has no seconds and Python's own datetimes have
/// microseconds, and in UTC.
fn time() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// The same columns with times as times.
pub(crate) fn timed(columns: &[Column], fields: &Fields) -> Fields {
    let fields = columns.iter().zip(fields).map(|(column, field)| {
        let kind = match (&column.kind, field.data_type()) {
            (ColumnKind::Time, _) => time(),
            (ColumnKind::Record(columns), DataType::Struct(fields)) => DataType::Struct(timed(columns, fields)),
            (ColumnKind::Records(columns), DataType::List(items)) => match items.data_type() {
                DataType::Struct(fields) => {
                    DataType::List(Arc::new(Field::new_list_field(DataType::Struct(timed(columns, fields)), true)))
                }
                _ => return Arc::clone(field),
            },
            _ => return Arc::clone(field),
        };
        Arc::new(field.as_ref().clone().with_data_type(kind))
    });
    fields.collect()
}

/// A batch of rows with times as times: the columns of `schema`.
pub(crate) fn with_times(columns: &[ArrayRef], schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = columns.iter().zip(schema.fields()).map(|(column, field)| in_time(column, field.data_type()));
    RecordBatch::try_new(Arc::clone(schema), columns.collect::<Result<_, _>>()?)
}

fn in_time(column: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == wanted {
        return Ok(Arc::clone(column));
    }
    // An integer is first read as seconds.
    cast(&cast(column, &in_seconds(wanted))?, wanted)
}

/// A type with its times in seconds.
fn in_seconds(kind: &DataType) -> DataType {
    let of_field = |field: &Field| field.clone().with_data_type(in_seconds(field.data_type()));
    match kind {
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Second, zone.clone()),
        DataType::List(items) => DataType::List(Arc::new(of_field(items))),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| of_field(field)).collect()),
        other => other.clone(),
    }
}

/// What a list says besides its rows, as metadata of its schema.
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

/// A batch with the columns of [`flat`].
pub(crate) fn flattened(batch: &RecordBatch, columns: &[Column], into: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = columns.iter().zip(batch.columns()).flat_map(|(column, values)| {
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
