//! The rows of an endpoint's answer as a table, the columns that people see first before the others.

use headwater_engine::{AnyRow, Column, ColumnKind, Endpoint, SinkClosed, TableHead, TableSink};
use serde_json::Value;

use super::cells::cell;
use super::table::Table;

/// The field of a row that names those of its numbers that are 0 for want of a price.
const UNPRICED: &str = "unpriced_fields";

/// The rows of a list and its head.
#[derive(Debug, Default)]
pub(super) struct ListAnswer {
    pub head: TableHead,
    pub rows: Vec<Value>,
}

impl TableSink for ListAnswer {
    fn begin(&mut self, head: TableHead) -> Result<(), SinkClosed> {
        self.head = head;
        Ok(())
    }

    fn row(&mut self, row: &dyn AnyRow) -> Result<(), SinkClosed> {
        self.rows.push(serde_json::to_value(row).map_err(|_| SinkClosed)?);
        Ok(())
    }
}

/// A column with the fields that lead to its values.
struct ColumnPath {
    path: Vec<String>,
    column: Column,
}

/// Returns rows of an endpoint as a table.
pub(super) fn table_of(endpoint: &Endpoint, rows: &[Value]) -> Table {
    let columns = endpoint.columns().unwrap_or_else(|| endpoint.report_rows().columns);
    let mut places = places(&columns);
    let rank = |place: &ColumnPath| {
        let is_named = |name: &&str| place.path.last().is_some_and(|last| last == name);
        endpoint.first.iter().position(is_named).unwrap_or(endpoint.first.len())
    };
    places.sort_by_key(rank);
    let first = places.iter().filter(|place| rank(place) < endpoint.first.len()).count();
    let mut table = table_of_places(&places, rows);
    if first > 0 {
        table = table.with_first(first);
    }
    table
}

/// Returns records with these columns as a table of all of them.
pub(super) fn table_of_records(columns: &[Column], rows: &[Value]) -> Table {
    table_of_places(&places(columns), rows)
}

fn table_of_places(places: &[ColumnPath], rows: &[Value]) -> Table {
    let mut table = Table::new(places.iter().map(|place| place.path.join(".")));
    for row in rows {
        table.push(places.iter().map(|place| cell(&place.column, value(row, &place.path))).collect());
    }
    table
}

/// Returns the columns with those of records in their place.
fn places(columns: &[Column]) -> Vec<ColumnPath> {
    let mut places = Vec::new();
    for column in columns.iter().filter(|column| column.name != UNPRICED) {
        collect(&mut places, &[], column);
    }
    places
}

fn collect(places: &mut Vec<ColumnPath>, above: &[String], column: &Column) {
    let path = [above, std::slice::from_ref(&column.name)].concat();
    match &column.kind {
        ColumnKind::Record(columns) => {
            for column in columns {
                collect(places, &path, column);
            }
        }
        ColumnKind::Text
        | ColumnKind::Amount
        | ColumnKind::RawAmount
        | ColumnKind::Integer
        | ColumnKind::Time
        | ColumnKind::Float
        | ColumnKind::Boolean
        | ColumnKind::Texts
        | ColumnKind::Records(_)
        | ColumnKind::Json => places.push(ColumnPath { path, column: column.clone() }),
    }
}

/// Returns the value of a row at a path; null for a number without a price.
fn value<'a>(row: &'a Value, path: &[String]) -> &'a Value {
    const NULL: &Value = &Value::Null;
    let is_unpriced = |name: &String| row[UNPRICED].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    if path.first().is_some_and(|name| path.len() == 1 && is_unpriced(name)) {
        return NULL;
    }
    path.iter().try_fold(row, |record, name| record.get(name)).unwrap_or(NULL)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::Layout;

    #[test]
    fn first_columns_come_first_and_unpriced_ones_are_empty() {
        let endpoint = headwater_engine::endpoint("counterparty").unwrap();
        let row = json!({
            "address": "0xaa", "entity_name": null, "labels": ["exchange"], "total_amount_usd": 0.0, "total_count": 5,
            "unpriced_fields": ["total_amount_usd"], "first_activity": 0, "last_activity": 60,
        });
        let lines = table_of(endpoint, &[row]).lines(Layout::default());
        assert!(lines[0].starts_with("address  entity_name  total_amount_usd  labels"), "{lines:?}");
        assert!(!lines[1].contains("0.00") && lines[1].ends_with("1970-01-01 00:01:00Z"), "{lines:?}");
    }

    #[test]
    fn hostile_symbols_stay_on_their_line() {
        let endpoint = headwater_engine::endpoint("transactions").unwrap();
        let row = json!({"timestamp": 0, "symbol": "a\n\u{1b}[31m\u{202e}b", "amount": "1"});
        let lines = table_of(endpoint, &[row]).lines(Layout::default());
        assert_eq!(lines.len(), 2);
        assert!(lines[1].contains("a\\n\\u{1b}[31m\\u{202e}b"), "{lines:?}");
    }
}
