//! Measures of concentration of plain columns: lists of balances in, a row per list out.

use std::fmt::Display;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema, UInt64Type};
use headwater_ledger::Cancel;
use headwater_metrics::concentration::{
    Balances, DoublesError, Params, Report, Spread, concentration, concentration_of_doubles, spread,
};
use headwater_types::Amount;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use rayon::prelude::*;

use crate::errors::raise;
use crate::interrupt::interruptible;

/// Measures each list in the first column of a table; a row per list comes back, in order. Lists hold integers of 64
/// bits or decimal text, which are exact, or doubles. `tops` are the numbers of largest holders whose share is wanted,
/// `tau` numerator and denominator of the share that the τ index asks for.
#[pyfunction]
pub fn measures(py: Python<'_>, lists: PyTable, tops: Vec<usize>, tau: (u32, u32)) -> PyResult<PyTable> {
    let (batches, schema) = lists.into_inner();
    let params = Params::default().with_tops(tops.clone()).with_tau(tau.0, tau.1).ok_or_else(|| {
        raise(py, "InvalidInput", "tau: expected a share above 0, at most 1", Some("invalid_value"), Some("tau"))
    })?;
    let rows =
        interruptible(py, move |cancel| rows(&batches, &params, cancel))?.map_err(|refused| refused.raise(py))?;
    let batch = table(&rows, tops, holds_doubles(&schema)).map_err(|error| Refused::whole(&error).raise(py))?;
    let schema = batch.schema();
    PyTable::try_new(vec![batch], schema)
}

/// The reason for which lists are not measured.
struct Refused {
    /// The position of the value, in all lists one after the other.
    position: Option<usize>,
    message: String,
}

impl Refused {
    fn at(position: usize, why: &str) -> Self {
        Self { position: Some(position), message: format!("values[{position}] {why}") }
    }

    fn whole(why: &dyn Display) -> Self {
        Self { position: None, message: why.to_string() }
    }

    fn raise(self, py: Python<'_>) -> PyErr {
        let field = self.position.map(|position| format!("values[{position}]"));
        raise(py, "InvalidInput", &self.message, Some("invalid_value"), Some(field.as_deref().unwrap_or("values")))
    }
}

/// The measures of one list.
struct Row {
    total: Total,
    /// Its total apart.
    report: Report<()>,
    spread: Spread,
}

enum Total {
    Exact(String),
    Double(f64),
}

impl Row {
    fn new<T>(report: Report<T>, spread: Spread, total: impl FnOnce(T) -> Total) -> Self {
        let Report { holders, total: sum, top_shares, hhi, gini, nakamoto, tau_index } = report;
        let report = Report { holders, total: (), top_shares, hhi, gini, nakamoto, tau_index };
        Self { total: total(sum), report, spread }
    }
}

fn holds_doubles(schema: &Schema) -> bool {
    let list = schema.fields().first().map(|field| field.data_type());
    matches!(list, Some(DataType::LargeList(values)) if *values.data_type() == DataType::Float64)
}

fn rows(batches: &[RecordBatch], params: &Params, cancel: &Cancel) -> Result<Vec<Row>, Refused> {
    let mut lists: Vec<(usize, ArrayRef)> = Vec::new();
    let mut first = 0;
    for batch in batches {
        let column = batch.columns().first().and_then(|column| column.as_list_opt::<i64>());
        let column = column.ok_or_else(|| Refused::whole(&"expected a column of lists"))?;
        for place in 0..column.len() {
            let values = column.value(place);
            let length = values.len();
            lists.push((first, values));
            first += length;
        }
    }
    let rows: Vec<Result<Row, Refused>> =
        lists.par_iter().map(|(first, values)| row(values, *first, params, cancel)).collect();
    // The first refusal by place, whichever thread was the first to find one.
    rows.into_iter().collect()
}

/// Measures one list, whose first value has the position `first`.
fn row(values: &ArrayRef, first: usize, params: &Params, cancel: &Cancel) -> Result<Row, Refused> {
    if let Some(missing) = (0..values.len()).find(|place| values.is_null(*place)) {
        return Err(Refused::at(first + missing, "is missing: leave out what is not known"));
    }
    if let Some(doubles) = values.as_primitive_opt::<Float64Type>() {
        let (report, spread) = concentration_of_doubles(doubles.values(), params).map_err(|error| match error {
            DoublesError::NotABalance { position, value } => Refused::at(first + position, &no_balance(&value)),
            DoublesError::Total => Refused::whole(&error),
        })?;
        return Ok(Row::new(report, spread, Total::Double));
    }
    let held = ExactBalances::new(values).map_err(|(place, why)| Refused::at(first + place, &why))?;
    let balances = Balances { small: &held.small, large: &held.large };
    let report = concentration(balances, params, cancel).map_err(|error| Refused::whole(&error))?;
    Ok(Row::new(report, spread(balances), |total| Total::Exact(total.to_decimal(held.decimals))))
}

fn no_balance(value: &dyn Display) -> String {
    format!("is {value}: balances are 0 or more")
}

/// Exact balances in one unit.
#[derive(Default)]
struct ExactBalances {
    small: Vec<u128>,
    large: Vec<Amount>,
    /// Decimals of the unit: as many as the most precise text has.
    decimals: u8,
}

impl ExactBalances {
    fn new(values: &ArrayRef) -> Result<Self, (usize, String)> {
        let of = |small: Vec<u128>| Self { small, ..Self::default() };
        match values.data_type() {
            DataType::UInt64 => {
                Ok(of(values.as_primitive::<UInt64Type>().values().iter().map(|value| u128::from(*value)).collect()))
            }
            DataType::Int64 => {
                let integers = values.as_primitive::<Int64Type>().values();
                let unsigned =
                    |(place, value): (usize, &i64)| u128::try_from(*value).map_err(|_| (place, no_balance(value)));
                integers.iter().enumerate().map(unsigned).collect::<Result<_, _>>().map(of)
            }
            DataType::Utf8 => Self::of_texts(&values.as_string::<i32>().iter().flatten().collect::<Vec<_>>()),
            DataType::LargeUtf8 => Self::of_texts(&values.as_string::<i64>().iter().flatten().collect::<Vec<_>>()),
            DataType::Utf8View => Self::of_texts(&values.as_string_view().iter().flatten().collect::<Vec<_>>()),
            other => Err((0, format!("is of type {other}: expected integers, doubles or decimal text"))),
        }
    }

    fn of_texts(texts: &[&str]) -> Result<Self, (usize, String)> {
        let digits = |text: &&str| text.split_once('.').map_or(0, |(_, digits)| digits.trim_end_matches('0').len());
        // A text of more digits than a unit can have is refused below: nothing of it fits 256 bits.
        let decimals = texts.iter().map(digits).max().map_or(0, |digits| u8::try_from(digits).unwrap_or(u8::MAX));
        let mut held = Self { decimals, ..Self::default() };
        for (place, text) in texts.iter().enumerate() {
            let plain = decimals == 0 && text.bytes().all(|byte| byte.is_ascii_digit());
            if let Some(balance) = text.parse::<u128>().ok().filter(|_| plain) {
                held.small.push(balance);
                continue;
            }
            let amount = Amount::parse_decimal(text, decimals).map_err(|error| {
                let why = if text.starts_with('-') { no_balance(text) } else { format!("is no balance: {error}") };
                (place, why)
            })?;
            match amount.to_u128() {
                Some(balance) => held.small.push(balance),
                None => held.large.push(amount),
            }
        }
        Ok(held)
    }
}

/// The rows as a table; the columns do not depend on how many there are.
fn table(rows: &[Row], mut tops: Vec<usize>, of_doubles: bool) -> Result<RecordBatch, arrow::error::ArrowError> {
    tops.sort_unstable();
    tops.dedup();
    let count = |count: fn(&Report<()>) -> usize| -> ArrayRef {
        let counts = rows.iter().map(|row| i64::try_from(count(&row.report)).expect("a count fits"));
        Arc::new(counts.collect::<Int64Array>())
    };
    let double =
        |value: &dyn Fn(&Row) -> f64| -> ArrayRef { Arc::new(rows.iter().map(value).collect::<Float64Array>()) };
    let exact = rows.iter().map(|row| match &row.total {
        Total::Exact(text) => Some(text.as_str()),
        Total::Double(_) => None,
    });
    let total: ArrayRef = if of_doubles {
        double(&|row| match row.total {
            Total::Double(total) => total,
            Total::Exact(_) => f64::NAN,
        })
    } else {
        Arc::new(exact.collect::<StringArray>())
    };
    let mut columns = vec![("holders".to_owned(), count(|report| report.holders)), ("total".to_owned(), total)];
    for (place, top) in tops.iter().enumerate() {
        columns.push((format!("top{top}_share"), double(&|row| row.report.top_shares[place].1)));
    }
    columns.extend([
        ("hhi".to_owned(), double(&|row| row.report.hhi)),
        ("gini".to_owned(), double(&|row| row.report.gini)),
        ("nakamoto".to_owned(), count(|report| report.nakamoto)),
        ("tau_index".to_owned(), count(|report| report.tau_index)),
        ("theil".to_owned(), double(&|row| row.spread.theil)),
        ("theil_normalised".to_owned(), double(&|row| row.spread.theil_normalised)),
        ("entropy_bits".to_owned(), double(&|row| row.spread.entropy_bits)),
    ]);
    let fields: Vec<Field> =
        columns.iter().map(|(name, column)| Field::new(name, column.data_type().clone(), false)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, column)| column).collect())
}
