//! Tables crossing between arrow-rs, which reads and writes files and Python's frames, and polars, which transforms.
//!
//! Both keep columns in the Arrow memory layout, so a crossing hands buffers over through the Arrow C data interface
//! and copies nothing but what polars lays out differently (strings).

mod bridge;

use arrow::record_batch::RecordBatch;
use polars::prelude::{Column, CompatLevel, DataFrame, Series};

/// Why a table could not cross.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A column has a type that the other side does not know.
    #[error("column {column:?} of type {kind} cannot cross to polars: cast it to text, integers or booleans first")]
    Unsupported {
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },
    /// arrow-rs refused.
    #[error("column {column:?} cannot cross")]
    Arrow {
        /// The column.
        column: String,
        /// Why.
        #[source]
        source: arrow::error::ArrowError,
    },
    /// polars refused.
    #[error("column {column:?} cannot cross")]
    Polars {
        /// The column.
        column: String,
        /// Why.
        #[source]
        source: polars::error::PolarsError,
    },
}

/// A batch of arrow-rs as a polars frame. Columns may be booleans, integers of 32 and 64 bits, floats, text or bytes.
///
/// # Errors
/// When a column has another type.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Int64Array};
/// use arrow::record_batch::RecordBatch;
/// let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
/// let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
/// let frame = headwater_frame::to_polars(&batch).unwrap();
/// assert_eq!(frame.column("n").unwrap().null_count(), 1);
/// assert_eq!(headwater_frame::to_arrow(&frame).unwrap(), batch);
/// ```
pub fn to_polars(batch: &RecordBatch) -> Result<DataFrame, FrameError> {
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        if !bridge::crosses(field.data_type()) {
            return Err(FrameError::Unsupported { column: field.name().clone(), kind: field.data_type().to_string() });
        }
        let polars = |source| FrameError::Polars { column: field.name().clone(), source };
        let array = bridge::import(&array.to_data(), field.name())?;
        columns.push(Column::from(Series::from_arrow(field.name().into(), array).map_err(polars)?));
    }
    let all = |source| FrameError::Polars { column: "*".to_owned(), source };
    DataFrame::new(batch.num_rows(), columns).map_err(all)
}

/// A polars frame as a batch of arrow-rs. Text becomes large UTF-8, which every Arrow reader knows.
///
/// # Errors
/// When a column cannot be handed over.
pub fn to_arrow(frame: &DataFrame) -> Result<RecordBatch, FrameError> {
    let mut columns = Vec::with_capacity(frame.width());
    for column in frame.columns() {
        let series = column.as_materialized_series().rechunk();
        let name = series.name().as_str();
        columns.push((name.to_owned(), bridge::export(series.to_arrow(0, CompatLevel::oldest()), name)?, true));
    }
    let all = |source| FrameError::Arrow { column: "*".to_owned(), source };
    RecordBatch::try_from_iter_with_nullable(columns).map_err(all)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, BinaryArray, BooleanArray, Float64Array, Int32Array, LargeStringArray, StringArray, StringViewArray,
        TimestampSecondArray, UInt64Array,
    };

    use super::*;

    #[test]
    fn a_table_comes_back_as_it_went() {
        let columns: [(&str, ArrayRef); 6] = [
            ("text", Arc::new(LargeStringArray::from(vec![Some("a"), None, Some("a text longer than twelve bytes")]))),
            ("flag", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
            ("small", Arc::new(Int32Array::from(vec![Some(-1), Some(2), None]))),
            ("count", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(0), None]))),
            ("share", Arc::new(Float64Array::from(vec![Some(0.5), None, Some(f64::MAX)]))),
            ("none", Arc::new(Int32Array::from(vec![None, None, None]))),
        ];
        let nullable = columns.map(|(name, column)| (name, column, true));
        let batch = RecordBatch::try_from_iter_with_nullable(nullable).unwrap();
        assert_eq!(to_arrow(&to_polars(&batch).unwrap()).unwrap(), batch);
        let slice = batch.slice(1, 2);
        assert_eq!(to_arrow(&to_polars(&slice).unwrap()).unwrap(), slice);
    }

    #[test]
    fn every_layout_of_text_and_bytes_crosses() {
        let columns: [(&str, ArrayRef); 3] = [
            ("small", Arc::new(StringArray::from(vec![Some("x"), None]))),
            ("view", Arc::new(StringViewArray::from(vec![None, Some("a text longer than twelve bytes")]))),
            ("bytes", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\xff".as_slice()), None]))),
        ];
        let frame = to_polars(&RecordBatch::try_from_iter(columns).unwrap()).unwrap();
        let text = frame.column("view").unwrap().str().unwrap();
        assert_eq!(text.get(1), Some("a text longer than twelve bytes"));
        assert_eq!(frame.column("small").unwrap().str().unwrap().get(0), Some("x"));
        assert_eq!(frame.column("bytes").unwrap().binary().unwrap().get(0), Some(b"\xff".as_slice()));
    }

    #[test]
    fn an_empty_table_crosses() {
        let column: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
        let frame = to_polars(&RecordBatch::try_from_iter([("a", column)]).unwrap()).unwrap();
        assert_eq!((frame.height(), frame.width()), (0, 1));
        assert_eq!(to_arrow(&frame).unwrap().num_rows(), 0);
    }

    #[test]
    fn a_type_that_polars_was_not_built_with_is_named() {
        let column: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1]));
        let error = to_polars(&RecordBatch::try_from_iter([("at", column)]).unwrap()).unwrap_err();
        assert!(error.to_string().contains("\"at\"") && error.to_string().contains("Timestamp"), "{error}");
    }
}
