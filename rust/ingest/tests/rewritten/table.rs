//! Tables written in the types and endings that sources use.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Decimal256Array, Float64Array, Int64Array, ListArray,
    ListBuilder, RecordBatch, StringArray, StringBuilder, StructArray, TimestampMicrosecondArray, UInt32Array,
    UInt64Array,
};
use arrow::datatypes::{Field, i256};
use parquet::arrow::ArrowWriter;

use crate::rewritten::Source;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// Bytes in Parquet, `0x` hex in text.
    Bytes,
    U32,
    U64,
    I64,
    F64,
    Flag,
    /// Epoch seconds, written as a time.
    Time,
    /// Decimals of 38 digits, 9 of them after the point.
    Numeric,
    /// Decimals of 76 digits, 38 of them after the point.
    BigNumeric,
    /// Texts that the source joins by commas.
    List,
    /// A number as a record of its exact text and a rounded number.
    Record,
}

/// What a row has in a column.
type Cell = dyn Fn(&Source) -> Option<String>;

/// A column: its name, its type, and the value of a row.
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    pub value: Box<Cell>,
}

/// A column that another source calls differently.
pub fn column(name: &'static str, kind: Kind, source: &'static str) -> Column {
    Column { name, kind, value: Box::new(move |row| row.get(source).cloned()) }
}

/// A column worked out of a row.
pub fn made(name: &'static str, kind: Kind, value: impl Fn(&Source) -> Option<String> + 'static) -> Column {
    Column { name, kind, value: Box::new(value) }
}

fn hex_of(text: &str) -> Vec<u8> {
    hex::decode(text.trim_start_matches("0x")).unwrap()
}

fn time_text(secs: &str) -> String {
    let time = headwater_types::Timestamp::new(secs.parse().unwrap()).to_string();
    time.replace('T', " ").replace('Z', " UTC")
}

pub fn parquet(path: &Path, columns: &[Column], rows: &[Source]) -> PathBuf {
    let arrays = columns.iter().map(|column| {
        let cells: Vec<Option<String>> = rows.iter().map(|row| (column.value)(row)).collect();
        (column.name, array(column.kind, &cells), true)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(arrays).unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path.to_owned()
}

fn array(kind: Kind, cells: &[Option<String>]) -> ArrayRef {
    fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(cells: &[Option<String>]) -> Vec<Option<T>> {
        cells.iter().map(|cell| cell.as_ref().map(|text| text.parse().unwrap())).collect()
    }
    match kind {
        Kind::Text => Arc::new(StringArray::from(cells.to_vec())),
        Kind::Bytes => {
            let bytes: Vec<_> = cells.iter().map(|cell| cell.as_deref().map(hex_of)).collect();
            Arc::new(BinaryArray::from_iter(bytes))
        }
        Kind::U32 => Arc::new(UInt32Array::from(parsed::<u32>(cells))),
        Kind::U64 => Arc::new(UInt64Array::from(parsed::<u64>(cells))),
        Kind::I64 => Arc::new(Int64Array::from(parsed::<i64>(cells))),
        Kind::F64 => Arc::new(Float64Array::from(parsed::<f64>(cells))),
        Kind::Flag => Arc::new(BooleanArray::from(parsed::<bool>(cells))),
        Kind::Time => {
            let micros = parsed::<i64>(cells).into_iter().map(|secs| secs.map(|secs| secs * 1_000_000));
            Arc::new(TimestampMicrosecondArray::from(micros.collect::<Vec<_>>()).with_timezone("UTC"))
        }
        Kind::Numeric => {
            let units = parsed::<i128>(cells).into_iter().map(|value| value.map(|value| value * 1_000_000_000));
            let array: Decimal128Array = units.collect();
            Arc::new(array.with_precision_and_scale(38, 9).unwrap())
        }
        Kind::BigNumeric => {
            let unit = i256::from_i128(10_i128.pow(38));
            let units = cells.iter().map(|cell| cell.as_ref().map(|text| i256::from_string(text).unwrap() * unit));
            let array: Decimal256Array = units.collect();
            Arc::new(array.with_precision_and_scale(76, 38).unwrap())
        }
        Kind::List => Arc::new(lists(cells)),
        Kind::Record => {
            let member = |name, array: ArrayRef| (Arc::new(Field::new(name, array.data_type().clone(), true)), array);
            Arc::new(StructArray::from(vec![
                member("string_value", array(Kind::Text, cells)),
                member("bignumeric_value", array(Kind::BigNumeric, cells)),
            ]))
        }
    }
}

fn lists(cells: &[Option<String>]) -> ListArray {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for cell in cells {
        for item in cell.iter().flat_map(|text| text.split(',')).filter(|item| !item.is_empty()) {
            lists.values().append_value(item);
        }
        lists.append(true);
    }
    lists.finish()
}

/// How a table is written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Csv,
    Tabs,
    Lines,
    Array,
}

pub fn text(path: &Path, form: Form, columns: &[Column], rows: &[Source]) -> PathBuf {
    let cells = |row: &Source| -> Vec<Option<String>> {
        let times =
            |column: &Column, text: &str| if column.kind == Kind::Time { time_text(text) } else { text.to_owned() };
        columns.iter().map(|column| (column.value)(row).map(|text| times(column, text.as_str()))).collect()
    };
    let separator = if form == Form::Tabs { "\t" } else { "," };
    let content = match form {
        Form::Csv | Form::Tabs => {
            let quoted =
                |text: String| if text.contains(',') && form == Form::Csv { format!("\"{text}\"") } else { text };
            let header = columns.iter().map(|column| column.name).collect::<Vec<_>>().join(separator);
            let line = |row| cells(row).into_iter().map(|cell| quoted(cell.unwrap_or_default())).collect::<Vec<_>>();
            let lines = rows.iter().map(|row| line(row).join(separator) + "\n");
            std::iter::once(header + "\n").chain(lines).collect::<String>()
        }
        Form::Lines | Form::Array => {
            let value = |kind, text: &str| match kind {
                Kind::U32 | Kind::U64 | Kind::F64 | Kind::Flag => text.to_owned(),
                Kind::List => {
                    let items = text.split(',').filter(|item| !item.is_empty());
                    format!("[{}]", items.map(|item| format!("\"{item}\"")).collect::<Vec<_>>().join(","))
                }
                Kind::Record => format!("{{\"string_value\":\"{text}\",\"bignumeric_value\":\"{text}\"}}"),
                _ => format!("\"{text}\""),
            };
            let document = |row: &Source| {
                let members = columns.iter().zip(cells(row)).map(|(column, cell)| {
                    let value = cell.map_or_else(|| "null".to_owned(), |text| value(column.kind, &text));
                    format!("\"{}\":{value}", column.name)
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            };
            let documents: Vec<String> = rows.iter().map(document).collect();
            if form == Form::Array { format!("[{}]", documents.join(",")) } else { documents.join("\n") + "\n" }
        }
    };
    std::fs::write(path, content).unwrap();
    path.to_owned()
}
