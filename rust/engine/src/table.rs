//! Answers as tables: the rows of a list one after the other, for files of rows and columns.
//!
//! A row goes to the sink as soon as it is made, so that a list of any length takes the memory of the sink. The head,
//! which is what a list says besides its rows, comes before the first of them.

use headwater_ledger::{Cancel, LedgerError};
use serde::Serialize;

use crate::request::Warnings;
use crate::{AnyRow, Error, ErrorKind, Warning};

/// Rows between two looks at the token of the query.
const BATCH: usize = 1024;

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
    /// Symbols that are valued by the peg ([`crate::Answer::pegged`]).
    pub pegged: Vec<String>,
    /// Items that are paid for, where the price is per item ([`crate::Pricing`]).
    pub paid_items: Option<u32>,
}

/// Takes a table.
pub trait TableSink {
    /// The head, once, before the first row.
    ///
    /// # Errors
    /// When the table cannot be taken any more.
    fn begin(&mut self, head: TableHead) -> Result<(), SinkClosed>;

    /// One row.
    ///
    /// # Errors
    /// When the table cannot be taken any more.
    fn row(&mut self, row: &dyn AnyRow) -> Result<(), SinkClosed>;
}

/// Nobody takes the table any more, or it cannot be written: the sink knows why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinkClosed;

impl From<SinkClosed> for Error {
    fn from(_: SinkClosed) -> Self {
        Self::new(ErrorKind::Cancelled, "the table is not taken any more")
    }
}

/// Where the rows of a list go.
pub struct Rows<'a> {
    sink: &'a mut dyn TableSink,
    /// Stops the work.
    pub cancel: &'a Cancel,
    pegged: Vec<String>,
    count: usize,
}

impl<'a> Rows<'a> {
    /// Rows for a sink.
    pub fn new(sink: &'a mut dyn TableSink, cancel: &'a Cancel) -> Self {
        Self { sink, cancel, pegged: Vec::new(), count: 0 }
    }

    /// The same of a list that values these symbols by the peg.
    pub(crate) fn with_pegged(self, pegged: Vec<String>) -> Self {
        Self { pegged, ..self }
    }

    /// Gives the head; the warnings are those gathered so far.
    ///
    /// # Errors
    /// When the table is not taken any more, or the query was cancelled.
    pub fn begin(&mut self, head: TableHead, warnings: &mut Warnings) -> Result<(), Error> {
        let warnings = std::mem::take(warnings).into_list();
        let pegged = std::mem::take(&mut self.pegged);
        Ok(self.sink.begin(TableHead { warnings, pegged, ..head })?)
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When the table is not taken any more, or the query was cancelled.
    pub fn push(&mut self, row: &impl Serialize) -> Result<(), Error> {
        if self.count.is_multiple_of(BATCH) {
            self.cancel.check().map_err(LedgerError::from)?;
        }
        self.count += 1;
        Ok(self.sink.row(row)?)
    }

    /// Adds all rows of a list that is whole already.
    ///
    /// # Errors
    /// When the table is not taken any more, or the query was cancelled.
    pub fn whole<R: Serialize>(
        &mut self,
        head: TableHead,
        warnings: &mut Warnings,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), Error> {
        self.begin(head, warnings)?;
        rows.into_iter().try_for_each(|row| self.push(&row))
    }
}
