//! The rows of one answer in Arrow's memory, without a text in between.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use headwater_engine::{AnyRow, Column, ColumnKind, ENDPOINTS, Endpoint, ReportRows};
use serde_arrow::ArrayBuilder;
use serde_json::Value;

use crate::TableError;
use crate::schema::{Nested, fields_of, is_priced, timed, unfit, with_texts, with_times, without_zeros};

/// How the rows of an endpoint's answer become columns.
struct Shape {
    /// The field of the report that holds the rows; `None` where the report is the only row.
    rows: Option<&'static str>,
    /// The report as a record: its list of rows alone, or its fields.
    record: Vec<Arc<Field>>,
    /// The columns.
    schema: SchemaRef,
    /// Columns that are the text of their JSON.
    texts: Vec<String>,
    /// Whether numbers may be null for want of a price.
    is_priced: bool,
}

static SHAPES: LazyLock<BTreeMap<&'static str, Shape>> =
    LazyLock::new(|| ENDPOINTS.iter().map(|endpoint| (endpoint.name, Shape::of(endpoint.report_rows()))).collect());

impl Shape {
    fn of(ReportRows { field: rows, columns }: ReportRows) -> Self {
        let fields = fields_of(&columns, Nested::Records);
        let schema = Arc::new(Schema::new(timed(&columns, &fields)));
        let record = match rows {
            Some(rows) => {
                let items = Arc::new(Field::new_list_field(DataType::Struct(fields), true));
                vec![Arc::new(Field::new(rows, DataType::List(items), true))]
            }
            None => fields.iter().cloned().collect(),
        };
        let is_priced = is_priced(&columns);
        let is_json = |column: Column| (column.kind == ColumnKind::Json).then_some(column.name);
        Self { rows, record, schema, texts: columns.into_iter().filter_map(is_json).collect(), is_priced }
    }
}

/// The rows of an answer, from its report or, as a JSON value, its `data`. Records within a row stay records, and a report
/// that is no list is the only row. `None` where the answer has no list this time.
///
/// # Errors
/// [`TableError::Rows`] where the report is not that of the endpoint.
pub fn frame(endpoint: &Endpoint, report: &dyn AnyRow) -> Result<Option<RecordBatch>, TableError> {
    let Some(shape) = SHAPES.get(endpoint.name) else { return Ok(None) };
    let mut builder = ArrayBuilder::from_arrow(&shape.record).map_err(unfit)?;
    if shape.texts.is_empty() && !shape.is_priced {
        builder.push(report).map_err(unfit)?;
    } else {
        let mut report = serde_json::to_value(report).map_err(unfit)?;
        without_zeros(&mut report);
        let rows = match shape.rows {
            Some(rows) => report.get_mut(rows).and_then(Value::as_array_mut).into_iter().flatten().collect(),
            None => vec![&mut report],
        };
        for row in rows {
            if let Value::Object(row) = row {
                with_texts(row, &shape.texts);
            }
        }
        builder.push(&report).map_err(unfit)?;
    }
    let arrays = builder.to_arrow().map_err(unfit)?;
    if shape.rows.is_none() {
        return Ok(Some(with_times(&arrays, &shape.schema)?));
    }
    let lists = arrays[0].as_list::<i32>();
    if lists.is_null(0) {
        return Ok(None);
    }
    Ok(Some(with_times(lists.value(0).as_struct().columns(), &shape.schema)?))
}
