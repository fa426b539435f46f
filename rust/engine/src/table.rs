//! Answers as tables: the rows of a list one after the other, for files of rows and columns.
//!
//! A row is written as one line of JSON as soon as it is made, so that a list of any length takes the memory of some
//! thousand rows. What a list says besides its rows is told before the first of them.

use headwater_ledger::{Cancel, Ledger, LedgerError};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayItems, Schema, SchemaType, Type};

use crate::analyses::Analysis;
use crate::request::Warnings;
use crate::{Error, ErrorKind, Warning};

/// Lines that go out together.
const LINES: usize = 1024;
/// Bytes that go out together, where rows are long.
const BYTES: usize = 1 << 20;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, that of the field.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
}

/// What a column holds; null is always possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text; exact amounts too, which may have 78 digits.
    Text,
    /// Integers of 64 bits.
    Integer,
    /// Doubles.
    Float,
    /// True or false.
    Boolean,
    /// Lists of text.
    Texts,
    /// Records and lists of them.
    Nested,
}

/// What a list says besides its rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableHead {
    /// Give this as `cursor` to go on behind the last row; `None` where nothing follows, or the list has no cursor.
    pub next_cursor: Option<String>,
    /// Rows of the whole list, where counted.
    pub total: Option<u64>,
    /// Last block of the data that was read.
    pub as_of_block: Option<u64>,
    /// Unit of the amounts.
    pub amount_unit: Option<String>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// Takes a table.
pub trait TableSink {
    /// The head, once, before the first row.
    ///
    /// # Errors
    /// When the table cannot be taken any more.
    fn begin(&mut self, head: TableHead) -> Result<(), SinkClosed>;

    /// Some rows: lines of JSON, each with its line end.
    ///
    /// # Errors
    /// When the table cannot be taken any more.
    fn lines(&mut self, lines: &[u8]) -> Result<(), SinkClosed>;
}

/// Nobody takes the table any more, or it cannot be written: the sink knows why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinkClosed;

impl From<SinkClosed> for Error {
    fn from(_: SinkClosed) -> Self {
        Self::new(ErrorKind::Cancelled, "the table is not taken any more")
    }
}

/// An analysis whose answer is a list.
pub(crate) trait List: Analysis {
    /// A row.
    type Row: Serialize + ToSchema;

    /// Writes the head, then the rows.
    fn list(
        ledger: &dyn Ledger,
        params: &Self::Params,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error>;

    /// Its columns, in the order of the fields.
    fn columns() -> Vec<Column> {
        columns::<Self::Row>()
    }
}

/// Where the rows of a list go.
pub(crate) struct Rows<'a> {
    sink: &'a mut dyn TableSink,
    pub cancel: &'a Cancel,
    lines: Vec<u8>,
    count: usize,
}

impl<'a> Rows<'a> {
    pub fn new(sink: &'a mut dyn TableSink, cancel: &'a Cancel) -> Self {
        Self { sink, cancel, lines: Vec::new(), count: 0 }
    }

    /// Tells the head; the warnings are those gathered so far.
    pub fn begin(&mut self, head: TableHead, warnings: &mut Warnings) -> Result<(), Error> {
        let warnings = std::mem::take(warnings).into_list();
        Ok(self.sink.begin(TableHead { warnings, ..head })?)
    }

    /// Adds a row.
    pub fn push(&mut self, row: &impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(&mut self.lines, row)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("a row has no JSON form: {error}")))?;
        self.lines.push(b'\n');
        self.count += 1;
        if self.count == LINES || self.lines.len() >= BYTES { self.flush() } else { Ok(()) }
    }

    /// Adds all rows of a list that is whole already.
    pub fn whole<R: Serialize>(
        &mut self,
        head: TableHead,
        warnings: &mut Warnings,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), Error> {
        self.begin(head, warnings)?;
        rows.into_iter().try_for_each(|row| self.push(&row))
    }

    /// Sends what was gathered.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.cancel.check().map_err(LedgerError::from)?;
        if self.count > 0 {
            self.sink.lines(&self.lines)?;
            self.lines.clear();
            self.count = 0;
        }
        Ok(())
    }
}

/// The columns of a list whose rows are such records: their fields, in their order.
#[must_use]
pub fn columns<R: ToSchema>() -> Vec<Column> {
    columns_of(&R::schema())
}

/// The columns of a record, from its description.
fn columns_of(record: &RefOr<Schema>) -> Vec<Column> {
    match record {
        RefOr::T(Schema::Object(object)) => object
            .properties
            .iter()
            .map(|(name, schema)| Column { name: name.clone(), kind: kind_of(schema) })
            .collect(),
        RefOr::T(Schema::AllOf(parts)) => parts.items.iter().flat_map(columns_of).collect(),
        RefOr::T(_) | RefOr::Ref(_) => Vec::new(),
    }
}

fn kind_of(field: &RefOr<Schema>) -> ColumnKind {
    match field {
        RefOr::T(Schema::Object(object)) => of_type(&object.schema_type).unwrap_or(ColumnKind::Nested),
        RefOr::T(Schema::Array(array)) => match &array.items {
            ArrayItems::RefOrSchema(items) if kind_of(items) == ColumnKind::Text => ColumnKind::Texts,
            _ => ColumnKind::Nested,
        },
        RefOr::T(_) | RefOr::Ref(_) => ColumnKind::Nested,
    }
}

fn of_type(of: &SchemaType) -> Option<ColumnKind> {
    let kind = |of: &Type| match of {
        Type::String => Some(ColumnKind::Text),
        Type::Integer => Some(ColumnKind::Integer),
        Type::Number => Some(ColumnKind::Float),
        Type::Boolean => Some(ColumnKind::Boolean),
        Type::Object | Type::Array | Type::Null => None,
    };
    match of {
        SchemaType::Type(of) => kind(of),
        SchemaType::Array(several) => several.iter().find_map(kind),
        SchemaType::AnyValue => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TransferRow;

    #[test]
    fn columns_are_the_fields_of_a_row_in_their_order() {
        let columns = columns::<TransferRow>();
        let kind = |name: &str| columns.iter().find(|column| column.name == name).map(|column| column.kind);
        assert_eq!(columns[0], Column { name: "id".to_owned(), kind: ColumnKind::Text });
        assert_eq!(kind("timestamp"), Some(ColumnKind::Integer));
        assert_eq!(kind("log_index"), Some(ColumnKind::Integer));
        assert_eq!((kind("amount_usd"), kind("verified")), (Some(ColumnKind::Float), Some(ColumnKind::Boolean)));
        assert_eq!((kind("flags"), kind("counterparties")), (Some(ColumnKind::Texts), Some(ColumnKind::Texts)));
    }
}
