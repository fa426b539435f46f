//! Arrow columns of records: serde hands over the fields of each record, and each goes to the column of its name.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder, Float64Builder, Int64Builder, ListArray, NullBufferBuilder,
    StringBuilder, StructArray, TimestampMicrosecondBuilder,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::nullif;
use arrow::datatypes::{DataType, FieldRef, Fields};
use arrow::error::ArrowError;
use serde_json::Value;

/// The field of a record that names those of its numbers that are 0 for want of a price. JSON shows the zeros, tables and
/// frames have null.
const UNPRICED: &str = "unpriced_fields";

/// Microseconds of a second.
const MICROS: i64 = 1_000_000;

/// The values of one column so far.
pub(crate) enum ColumnBuilder {
    /// Text; of any other value its JSON.
    Text(StringBuilder),
    Integer(Int64Builder),
    /// Epoch seconds, as times in UTC.
    Time(TimestampMicrosecondBuilder),
    Float(Float64Builder),
    Boolean(BooleanBuilder),
    List(Box<ListBuilder>),
    Record(Box<RecordBuilder>),
}

/// The lists of a column.
pub(crate) struct ListBuilder {
    field: FieldRef,
    pub items: ColumnBuilder,
    /// Where each list begins, and at last where the next one will.
    pub offsets: Vec<i32>,
    pub validity: NullBufferBuilder,
}

/// Records as a column per field.
pub(crate) struct RecordBuilder {
    pub fields: Fields,
    pub columns: Vec<ColumnBuilder>,
    pub validity: NullBufferBuilder,
}

impl ColumnBuilder {
    /// Creates a builder of records of these fields.
    pub fn of_records(fields: &Fields) -> Self {
        Self::Record(Box::new(RecordBuilder::new(fields)))
    }

    /// Creates a builder of a type that [`crate::schema::fields_of`] gives.
    fn new(kind: &DataType) -> Self {
        match kind {
            DataType::Int64 => Self::Integer(Int64Builder::new()),
            DataType::Timestamp(..) => Self::Time(TimestampMicrosecondBuilder::new().with_data_type(kind.clone())),
            DataType::Float64 => Self::Float(Float64Builder::new()),
            DataType::Boolean => Self::Boolean(BooleanBuilder::new()),
            DataType::List(field) => Self::List(Box::new(ListBuilder {
                field: Arc::clone(field),
                items: Self::new(field.data_type()),
                offsets: vec![0],
                validity: NullBufferBuilder::new(0),
            })),
            DataType::Struct(fields) => Self::of_records(fields),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Text(texts) => arrow::array::ArrayBuilder::len(texts),
            Self::Integer(integers) => arrow::array::ArrayBuilder::len(integers),
            Self::Time(times) => arrow::array::ArrayBuilder::len(times),
            Self::Float(floats) => arrow::array::ArrayBuilder::len(floats),
            Self::Boolean(booleans) => arrow::array::ArrayBuilder::len(booleans),
            Self::List(lists) => lists.validity.len(),
            Self::Record(records) => records.len(),
        }
    }

    pub fn append_null(&mut self) {
        match self {
            Self::Text(texts) => texts.append_null(),
            Self::Integer(integers) => integers.append_null(),
            Self::Time(times) => times.append_null(),
            Self::Float(floats) => floats.append_null(),
            Self::Boolean(booleans) => booleans.append_null(),
            Self::List(lists) => lists.append_null(),
            Self::Record(records) => {
                records.columns.iter_mut().for_each(Self::append_null);
                records.validity.append_null();
            }
        }
    }

    /// Appends epoch seconds; a time that has no microseconds in 64 bits is null.
    pub fn append_secs(times: &mut TimestampMicrosecondBuilder, secs: i64) {
        times.append_option(secs.checked_mul(MICROS));
    }

    /// Gives the values since the last call.
    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Text(texts) => Arc::new(texts.finish()),
            Self::Integer(integers) => Arc::new(integers.finish()),
            Self::Time(times) => Arc::new(times.finish()),
            Self::Float(floats) => Arc::new(floats.finish()),
            Self::Boolean(booleans) => Arc::new(booleans.finish()),
            Self::List(lists) => Arc::new(lists.finish()?),
            Self::Record(records) => Arc::new(records.finish()?),
        })
    }
}

impl ListBuilder {
    /// Ends the list whose items were appended last.
    pub fn close(&mut self) -> Result<(), Misfit> {
        let end = i32::try_from(self.items.len()).map_err(|_| Misfit::new("a column has too many items"))?;
        self.offsets.push(end);
        self.validity.append_non_null();
        Ok(())
    }

    fn append_null(&mut self) {
        self.offsets.push(self.offsets.last().copied().unwrap_or(0));
        self.validity.append_null();
    }

    fn finish(&mut self) -> Result<ListArray, ArrowError> {
        let offsets = OffsetBuffer::new(std::mem::replace(&mut self.offsets, vec![0]).into());
        ListArray::try_new(Arc::clone(&self.field), offsets, self.items.finish()?, self.validity.finish())
    }
}

impl RecordBuilder {
    fn new(fields: &Fields) -> Self {
        let columns = fields.iter().map(|field| ColumnBuilder::new(field.data_type())).collect();
        Self { fields: fields.clone(), columns, validity: NullBufferBuilder::new(0) }
    }

    fn len(&self) -> usize {
        self.validity.len()
    }

    /// Finds the column of a field, which is `expected` where the fields come in their order.
    pub fn position(&self, name: &str, expected: usize) -> Option<usize> {
        match self.fields.get(expected) {
            Some(field) if field.name() == name => Some(expected),
            _ => self.fields.iter().position(|field| field.name() == name),
        }
    }

    /// Ends the record whose fields were appended last: the other fields are null.
    pub fn close(&mut self) {
        let rows = self.len();
        for column in &mut self.columns {
            if column.len() == rows {
                column.append_null();
            }
        }
        self.validity.append_non_null();
    }

    fn finish(&mut self) -> Result<StructArray, ArrowError> {
        let rows = self.len();
        let columns = self.columns.iter_mut().map(ColumnBuilder::finish).collect::<Result<Vec<_>, _>>()?;
        let columns = without_unpriced(&self.fields, columns)?;
        StructArray::try_new_with_length(self.fields.clone(), columns, self.validity.finish(), rows)
    }
}

/// Sets numbers to null that are 0 for want of a price.
fn without_unpriced(fields: &Fields, mut columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>, ArrowError> {
    let Some((place, _)) = fields.find(UNPRICED) else { return Ok(columns) };
    let Some(lists) = columns[place].as_list_opt::<i32>().cloned() else { return Ok(columns) };
    let names = lists.values().as_string::<i32>();
    if names.is_empty() {
        return Ok(columns);
    }
    for (column, field) in columns.iter_mut().zip(fields) {
        let is_unpriced = |row: usize| {
            let (begin, end) = (lists.value_offsets()[row], lists.value_offsets()[row + 1]);
            (begin..end).any(|name| usize::try_from(name).is_ok_and(|name| names.value(name) == field.name()))
        };
        let mask: BooleanArray = (0..lists.len()).map(|row| Some(is_unpriced(row))).collect();
        if mask.true_count() > 0 {
            *column = nullif(column, &mask)?;
        }
    }
    Ok(columns)
}

/// Sets numbers of a JSON value to null, at any depth, that are 0 for want of a price.
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

/// The error of a value that does not fit its column.
#[derive(Debug)]
pub(crate) struct Misfit(String);

impl Misfit {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misfit {}

impl serde::ser::Error for Misfit {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}

impl From<serde_json::Error> for Misfit {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<Misfit> for ArrowError {
    fn from(misfit: Misfit) -> Self {
        Self::ExternalError(Box::new(misfit))
    }
}
