//! Cells of a column, from Rust values.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListBuilder, StringArray, StringBuilder,
    TimestampMicrosecondArray,
};
use headwater_types::Timestamp;

pub(super) fn texts<T: AsRef<str>>(cells: impl Iterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(cells.collect::<StringArray>())
}

pub(super) fn repeated(text: &str, rows: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, rows)))
}

pub(super) fn integers(cells: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    // Blocks and counts stay far below 2^63; other engines read no unsigned numbers.
    let signed = |cell: Option<u64>| cell.map(|cell| i64::try_from(cell).unwrap_or(i64::MAX));
    Arc::new(cells.map(signed).collect::<Int64Array>())
}

pub(super) fn floats(cells: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(cells.collect::<Float64Array>())
}

pub(super) fn booleans(cells: impl Iterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(cells.collect::<BooleanArray>())
}

pub(super) fn times(cells: impl Iterator<Item = Option<Timestamp>>) -> ArrayRef {
    let micros = |cell: Option<Timestamp>| cell.map(|time| time.secs().saturating_mul(1_000_000));
    Arc::new(cells.map(micros).collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
}

pub(super) fn lists(cells: impl Iterator<Item = impl IntoIterator<Item = &'static str>>) -> ArrayRef {
    let mut list = ListBuilder::new(StringBuilder::new());
    for cell in cells {
        for text in cell {
            list.values().append_value(text);
        }
        list.append(true);
    }
    Arc::new(list.finish())
}
