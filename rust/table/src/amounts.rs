//! Columns of exact amounts as decimals, where all of their values fit.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field, Schema};
use arrow::error::ArrowError;

/// The digits behind the point of amounts in whole units, as decimals.
pub const UNITS_SCALE: i8 = 18;

/// Returns a batch whose columns with a scale are decimals of 38 digits, as many of them behind the point as the scale says. A
/// column with a value that does not fit stays text, and so do columns that are not text.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{AsArray, RecordBatch, StringArray};
/// use arrow::datatypes::Decimal128Type;
///
/// let amounts = StringArray::from(vec![Some("1.50"), None, Some("200")]);
/// let batch = RecordBatch::try_from_iter([("amount", Arc::new(amounts) as _)])?;
/// let decimals = headwater_table::with_decimals(&batch, &|name| (name == "amount").then_some(2))?;
/// assert_eq!(decimals.column(0).as_primitive::<Decimal128Type>().value_as_string(0), "1.50");
/// # Ok::<(), arrow::error::ArrowError>(())
/// ```
///
/// # Errors
/// When a column cannot be cast, which no text column does.
pub fn with_decimals(batch: &RecordBatch, scale_of: &dyn Fn(&str) -> Option<i8>) -> Result<RecordBatch, ArrowError> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let decimals = scale_of(field.name()).map_or(Ok(None), |scale| decimals(column, scale))?;
        if let Some(decimals) = decimals {
            fields.push(Arc::new(Field::new(field.name(), decimals.data_type().clone(), true)));
            columns.push(Arc::new(decimals) as ArrayRef);
        } else {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// Returns the decimals of a column of text; `None` where a value does not fit.
fn decimals(column: &ArrayRef, scale: i8) -> Result<Option<Decimal128Array>, ArrowError> {
    let column = match column.data_type() {
        DataType::Utf8 => Arc::clone(column),
        DataType::LargeUtf8 | DataType::Utf8View => cast(column, &DataType::Utf8)?,
        _ => return Ok(None),
    };
    let texts = column.as_string::<i32>();
    let mut values = Vec::with_capacity(texts.len());
    for text in texts {
        let value = text.map(|text| scaled(text, scale.unsigned_abs()));
        if value == Some(None) {
            return Ok(None);
        }
        values.push(value.flatten());
    }
    Decimal128Array::from(values).with_precision_and_scale(DECIMAL128_MAX_PRECISION, scale).map(Some)
}

/// Returns the number of a decimal text in units of the scale; `None` where it has more than 38 digits or is not a decimal.
fn scaled(text: &str, scale: u8) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let is_decimal = fraction.bytes().all(|digit| digit.is_ascii_digit()) && !text.starts_with('+');
    let shift = 10_i128.checked_pow(u32::from(scale).checked_sub(u32::try_from(fraction.len()).ok()?)?)?;
    let digits: i128 = format!("{whole}{fraction}").parse().ok().filter(|_| is_decimal && !whole.is_empty())?;
    let value = digits.checked_mul(shift)?;
    (value.unsigned_abs() < 10_u128.pow(u32::from(DECIMAL128_MAX_PRECISION))).then_some(value)
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;

    use super::*;

    fn converted(texts: &[Option<&str>], scale: i8) -> Option<Vec<Option<String>>> {
        let column: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let decimals = decimals(&column, scale).unwrap()?;
        let shown = |place| decimals.is_valid(place).then(|| decimals.value_as_string(place));
        Some((0..decimals.len()).map(shown).collect())
    }

    #[test]
    fn decimals_keep_every_digit() {
        let shown = converted(&[Some("0.000001"), None, Some("-12.5"), Some("7.000"), Some("-0.5")], 6).unwrap();
        let expected = [Some("0.000001"), None, Some("-12.500000"), Some("7.000000"), Some("-0.500000")];
        assert_eq!(shown, expected.map(|text| text.map(str::to_owned)));
    }

    #[test]
    fn decimals_hold_38_digits_and_no_more() {
        let nines = "9".repeat(38);
        assert_eq!(converted(&[Some(&nines)], 0).unwrap(), [Some(nines.clone())]);
        assert_eq!(converted(&[Some(&nines)], 1), None);
        assert_eq!(converted(&[Some(&format!("1{}", "0".repeat(38)))], 0), None);
        assert_eq!(converted(&[Some("0.1234567890123456789")], 18), None);
        assert_eq!(converted(&[Some("0.1234567890123456780")], 18).unwrap(), [Some("0.123456789012345678".to_owned())]);
    }

    #[test]
    fn decimals_of_other_texts_stay_text() {
        for text in ["", "1e5", "+1", "1.-5", "0x1", ".5", " 1", "-"] {
            assert_eq!(converted(&[Some(text)], 0), None, "{text:?}");
        }
        assert_eq!(converted(&[None, None], 0).unwrap(), [None, None]);
    }
}
