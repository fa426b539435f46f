//! The description of a stored table: name, columns, filters.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};
use headwater_engine::{Error, Reason};

use super::filter::ScanFilter;
use super::job::Job;
use super::output::Output;

/// The type of the cells of a column. Every cell may be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Text. Exact amounts are text too, since Arrow has no integers of 256 bits.
    Text,
    /// Integers of 64 bits.
    Integer,
    /// Doubles.
    Float,
    /// Booleans.
    Boolean,
    /// Times in UTC, in microseconds.
    Time,
    /// Lists of text.
    Texts,
}

impl CellKind {
    /// The name of the type in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Float => "double",
            Self::Boolean => "boolean",
            Self::Time => "time in UTC",
            Self::Texts => "list of text",
        }
    }

    /// The type in Arrow.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Boolean => DataType::Boolean,
            Self::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Texts => DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true))),
        }
    }
}

/// A column of a stored table.
#[derive(Debug, Clone, Copy)]
pub struct StoredColumn {
    /// Name, as in the lists of the query engine where they have the column.
    pub name: &'static str,
    /// Type.
    pub kind: CellKind,
    /// Meaning, for documents.
    pub meaning: &'static str,
}

/// A table of a store.
#[derive(Debug)]
pub struct StoredTable {
    /// Name.
    pub name: &'static str,
    /// One row, in words.
    pub row: &'static str,
    /// The order of the rows.
    pub order: &'static str,
    /// The filters that the table takes, by their names in [`super::ScanFilter`].
    pub filters: &'static [&'static str],
    /// Columns in order.
    pub columns: &'static [StoredColumn],
    pub(super) produce: fn(&Job<'_>, &mut Output) -> Result<(), Error>,
}

impl StoredTable {
    /// Refuses a filter that the table does not take.
    pub(super) fn check(&self, filter: &ScanFilter) -> Result<(), Error> {
        let Some(name) = filter.names().find(|name| !self.filters.contains(name)) else { return Ok(()) };
        let known = self.filters.join(", ");
        let message = format!("{name}: the table {} takes no such filter; it takes {known}", self.name);
        Err(Error::invalid(Reason::UnknownField, name, message))
    }
}

/// Declares the columns of a table.
macro_rules! columns {
    ($($name:literal: $kind:ident = $meaning:literal;)+) => {
        &[$($crate::scan::StoredColumn {
            name: $name, kind: $crate::scan::CellKind::$kind, meaning: $meaning,
        }),+]
    };
}
pub(super) use columns;
