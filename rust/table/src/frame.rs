//! Lists of records within one answer in Arrow's memory, without a text in between.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use headwater_engine::{AnyRow, Column, ColumnKind, ENDPOINTS, Endpoint};
use serde::Serialize;

use crate::TableError;
use crate::amounts::{UNITS_SCALE, with_decimals};
use crate::builder::ColumnBuilder;
use crate::schema::{Nested, Times, fields_of};

/// The lists of an endpoint's report.
struct Lists {
    /// The table of its rows.
    rows: List,
    /// The list at each path, such as `dimensions.intel.codes`; the report itself at the empty path.
    by_path: BTreeMap<String, List>,
}

/// A list of records within a report.
struct List {
    /// The fields that lead to the list; empty where the report itself is the only record.
    path: Vec<String>,
    /// The report as a record of nothing but the list.
    report: Fields,
    /// The columns of the records.
    schema: SchemaRef,
    /// The scales of columns of amounts by their names.
    scales: BTreeMap<String, i8>,
}

static LISTS: LazyLock<BTreeMap<&'static str, OnceLock<Lists>>> =
    LazyLock::new(|| ENDPOINTS.iter().map(|endpoint| (endpoint.name, OnceLock::new())).collect());

fn lists(endpoint: &Endpoint) -> Option<&'static Lists> {
    LISTS.get(endpoint.name).map(|lists| lists.get_or_init(|| Lists::of(endpoint)))
}

impl Lists {
    fn of(endpoint: &Endpoint) -> Self {
        let rows = endpoint.report_rows();
        let rows = List::new(rows.field.map(str::to_owned).into_iter().collect(), &rows.columns);
        let report = endpoint.report_columns();
        let mut by_path = BTreeMap::from([(String::new(), List::new(Vec::new(), &report))]);
        collect(&mut by_path, &[], &report);
        Self { rows, by_path }
    }
}

/// Collects the lists of records below a record.
fn collect(by_path: &mut BTreeMap<String, List>, above: &[String], columns: &[Column]) {
    for Column { name, kind } in columns {
        let path = [above, std::slice::from_ref(name)].concat();
        if let ColumnKind::Records(columns) = kind {
            by_path.insert(path.join("."), List::new(path, columns));
        } else if let ColumnKind::Record(columns) = kind {
            collect(by_path, &path, columns);
        }
    }
}

impl List {
    fn new(path: Vec<String>, columns: &[Column]) -> Self {
        let fields = fields_of(columns, Nested::Records, Times::Utc);
        let schema = Arc::new(Schema::new(fields.clone()));
        let scale = |column: &Column| match column.kind {
            ColumnKind::Amount => Some((column.name.clone(), UNITS_SCALE)),
            ColumnKind::RawAmount => Some((column.name.clone(), 0)),
            _ => None,
        };
        let scales = columns.iter().filter_map(scale).collect();
        let mut report = fields;
        for (place, name) in path.iter().enumerate().rev() {
            let record = DataType::Struct(report);
            let is_list = place + 1 == path.len();
            let kind = if is_list { DataType::List(Arc::new(Field::new_list_field(record, true))) } else { record };
            report = Fields::from(vec![Field::new(name, kind, true)]);
        }
        Self { path, report, schema, scales }
    }

    /// Returns the records of the list in a report; `None` where the report has no list this time.
    fn of(&self, report: &dyn AnyRow) -> Result<Option<RecordBatch>, TableError> {
        let mut reports = ColumnBuilder::of_records(&self.report);
        report.serialize(&mut reports)?;
        let mut found = reports.finish()?;
        for _ in &self.path {
            let child = Arc::clone(found.as_struct().column(0));
            if child.is_null(0) {
                return Ok(None);
            }
            found = child.as_list_opt::<i32>().map_or_else(|| Arc::clone(&child), |list| list.value(0));
        }
        let columns = found.as_struct().columns().to_vec();
        let records = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        Ok(Some(with_decimals(&records, &|name| self.scales.get(name).copied())?))
    }
}

/// Returns the rows of an answer, from its report or, as a JSON value, its `data`. Records within a row stay records, and a
/// report that is no list is the only row. Amounts are decimals where they fit, see [`with_decimals`]. `None` where the answer has
/// no list this time.
///
/// # Errors
/// [`TableError::Rows`] where the report is not that of the endpoint.
pub fn frame(endpoint: &Endpoint, report: &dyn AnyRow) -> Result<Option<RecordBatch>, TableError> {
    lists(endpoint).map_or(Ok(None), |lists| lists.rows.of(report))
}

/// Returns the list of records at a path within a report, such as `dimensions.intel.codes`; at the empty path the report is
/// the only record. Without rows where the report has no list this time, `None` where reports of the endpoint have no list of records there.
///
/// # Errors
/// As [`frame`].
pub fn table(endpoint: &Endpoint, report: &dyn AnyRow, path: &str) -> Result<Option<RecordBatch>, TableError> {
    let Some(list) = lists(endpoint).and_then(|lists| lists.by_path.get(path)) else { return Ok(None) };
    let records = list.of(report)?;
    Ok(Some(records.unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(&list.schema)))))
}
