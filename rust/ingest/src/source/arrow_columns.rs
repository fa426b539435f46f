//! Arrow columns in a type that crosses to polars without loss, and the lists and records inside them: as the text of
//! one value, or as the values a JSON document would have.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, LargeStringArray, RecordBatch, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, TimeUnit};

use crate::error::FieldError;
use crate::source::json::Value;

/// The column in a type that crosses to polars without loss; `None` when there is none.
pub(super) fn plain_column(array: &ArrayRef) -> Option<ArrayRef> {
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
        DataType::List(_) | DataType::LargeList(_) => list_column(array),
        DataType::Struct(_) => record_column(array.as_struct()),
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

/// Returns true if a column of doubles holds nothing but integers that a double counts exactly.
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

/// A column of lists as text: plain items joined with commas, of records only how many there are.
fn list_column(array: &ArrayRef) -> Option<ArrayRef> {
    let list = as_list(array)?;
    let text: Box<dyn Fn(usize, usize) -> String> = if let DataType::Struct(_) = list.items.data_type() {
        Box::new(|start, end| if start == end { "[]".to_owned() } else { format!("[{} records]", end - start) })
    } else {
        let items = text_column(&list.items)?;
        Box::new(move |start, end| {
            let items = items.as_string::<i64>();
            let texts = (start..end).map(|item| if items.is_null(item) { "" } else { items.value(item) });
            texts.collect::<Vec<_>>().join(",")
        })
    };
    let rows = (0..array.len()).map(|row| array.is_valid(row).then(|| text(list.range(row).0, list.range(row).1)));
    Some(Arc::new(rows.collect::<LargeStringArray>()))
}

/// A column of records that stand for one number (`string_value` beside a number of less precision) as that text.
fn record_column(array: &StructArray) -> Option<ArrayRef> {
    let texts = text_column(array.column_by_name("string_value")?)?;
    let texts = texts.as_string::<i64>();
    let rows = (0..array.len()).map(|row| (array.is_valid(row) && texts.is_valid(row)).then(|| texts.value(row)));
    Some(Arc::new(rows.collect::<LargeStringArray>()))
}

fn text_column(array: &ArrayRef) -> Option<ArrayRef> {
    cast(&plain_column(array)?, &DataType::LargeUtf8).ok()
}

struct List {
    offsets: OffsetBuffer<i64>,
    items: ArrayRef,
}

impl List {
    fn range(&self, row: usize) -> (usize, usize) {
        let place = |row: usize| usize::try_from(self.offsets[row]).expect("offsets of a list are no negative numbers");
        (place(row), place(row + 1))
    }
}

fn as_list(array: &ArrayRef) -> Option<List> {
    let (DataType::List(field) | DataType::LargeList(field)) = array.data_type() else { return None };
    let large = cast(array, &DataType::LargeList(Arc::clone(field))).ok()?;
    let list = large.as_list::<i64>();
    Some(List { offsets: list.offsets().clone(), items: Arc::clone(list.values()) })
}

/// The columns of a batch, from which the rows are read as JSON values.
pub(super) struct Documents {
    columns: Vec<(String, Node)>,
}

enum Node {
    Text(ArrayRef),
    Flag(BooleanArray),
    List { list: List, nulls: Option<NullBuffer>, item: Box<Node> },
    Record { nulls: Option<NullBuffer>, members: Vec<(String, Node)> },
}

impl Documents {
    pub(super) fn new(batch: &RecordBatch) -> Result<Self, FieldError> {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns()).map(|(field, array)| {
            let node = Node::new(array).ok_or_else(|| {
                let kind = field.data_type().to_string();
                FieldError::new(field.name(), Some(&kind), "a column of plain values, or of lists and records of them")
            })?;
            Ok((field.name().clone(), node))
        });
        Ok(Self { columns: columns.collect::<Result<_, FieldError>>()? })
    }

    pub(super) fn row(&self, row: usize) -> Value<'_> {
        object(&self.columns, row)
    }
}

fn object(members: &[(String, Node)], row: usize) -> Value<'_> {
    Value::Object(members.iter().map(|(name, node)| (Cow::Borrowed(name.as_str()), node.value(row))).collect())
}

impl Node {
    fn new(array: &ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Boolean => Self::Flag(array.as_boolean().clone()),
            DataType::List(_) | DataType::LargeList(_) => {
                let list = as_list(array)?;
                let item = Box::new(Self::new(&list.items)?);
                Self::List { list, nulls: array.nulls().cloned(), item }
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let members = columns.map(|(field, column)| Some((field.name().clone(), Self::new(column)?)));
                Self::Record { nulls: array.nulls().cloned(), members: members.collect::<Option<_>>()? }
            }
            _ => Self::Text(text_column(array)?),
        })
    }

    fn value(&self, row: usize) -> Value<'_> {
        let is_null = |nulls: &Option<NullBuffer>| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        match self {
            Self::Text(texts) if texts.is_valid(row) => Value::Text(Cow::Borrowed(texts.as_string::<i64>().value(row))),
            Self::Flag(flags) if flags.is_valid(row) => Value::Bool(flags.value(row)),
            Self::List { list, nulls, item } if !is_null(nulls) => {
                let (start, end) = list.range(row);
                Value::List((start..end).map(|place| item.value(place)).collect())
            }
            Self::Record { nulls, members } if !is_null(nulls) => object(members, row),
            Self::Text(_) | Self::Flag(_) | Self::List { .. } | Self::Record { .. } => Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, ListArray, StringArray};
    use arrow::datatypes::{Field, Int64Type};

    use super::*;

    #[test]
    fn lists_become_text_and_documents_alike() {
        let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), Some(2)]),
            None,
            Some(vec![]),
        ]));
        let text = list_column(&list).unwrap();
        let text: Vec<_> = text.as_string::<i64>().iter().collect();
        assert_eq!(text, [Some("1,2"), None, Some("")]);
        let batch = RecordBatch::try_from_iter([("list", list)]).unwrap();
        let documents = Documents::new(&batch).unwrap();
        let first = documents.row(0);
        let items: Vec<_> = first.get("list").unwrap().items().iter().filter_map(Value::text).collect();
        assert_eq!(items, ["1", "2"]);
        assert_eq!((documents.row(1).get("list"), documents.row(2).get("list").unwrap().items().len()), (None, 0));
    }

    #[test]
    fn a_record_of_a_number_is_the_text_of_its_exact_form() {
        let member = |name, values: ArrayRef| (Arc::new(Field::new(name, values.data_type().clone(), true)), values);
        let record = StructArray::from(vec![
            member("string_value", Arc::new(StringArray::from(vec!["10000000000000000001", "2"])) as ArrayRef),
            member("other", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
        ]);
        let text = record_column(&record).unwrap();
        assert_eq!(text.as_string::<i64>().value(0), "10000000000000000001");
        assert!(
            record_column(&StructArray::from(vec![member("other", Arc::new(Int64Array::from(vec![1])))])).is_none()
        );
    }
}
