//! A list of the engine written whole, page after page.

use std::io::Write;

use headwater_engine::{
    AnyRow, Arguments, Column, Endpoint, Error, ErrorKind, QueryEngine, SinkClosed, TableHead, TableSink, Warning,
};
use headwater_ledger::Cancel;
use serde_json::Value;

use crate::{Encoder, Format, TableError};

/// Rows that one call of the engine gives.
const MAX_ROWS: u32 = 100_000;

/// Rows between two reports of progress.
const REPORTED: u64 = 1024;

/// What was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Rows.
    pub rows: u64,
    /// Give this as `cursor` to go on; `None` where the list has ended.
    pub next_cursor: Option<String>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// Writes the answer of an endpoint as a table. A request without `limit` is answered whole, however long: page after
/// page of one generation. `progress` hears of rows written so far, and of how many there are where that is counted.
///
/// # Errors
/// What the engine refuses (before anything is written), [`TableError::Write`] where the table cannot be written.
pub fn write<W: Write + Send>(
    engine: &QueryEngine,
    (endpoint, arguments): (&Endpoint, impl Into<Arguments>),
    (format, out): (Format, W),
    progress: &dyn Fn(u64, Option<u64>),
    cancel: &Cancel,
) -> Result<(W, Written), TableError> {
    let columns = endpoint.columns().ok_or_else(|| {
        let message = format!("the answer of {:?} is no list: it can be given as JSON only", endpoint.name);
        Error::invalid(headwater_engine::Reason::InvalidValue, "format", message)
    })?;
    let mut arguments = arguments.into();
    let pages = Pages::of(endpoint).filter(|_| !arguments.contains("limit"));
    if pages.is_some() {
        arguments = arguments.with("limit", MAX_ROWS);
    }
    let engine = engine.pinned()?;
    let skipped = skipped(arguments.value());
    let mut sink = Sink {
        columns,
        format,
        out: Some(out),
        encoder: None,
        rows: 0,
        written: None,
        is_whole: pages.is_some(),
        progress,
        total: None,
        error: None,
    };
    loop {
        let before = sink.rows;
        let asked = engine.table(&endpoint.query(arguments.clone()), cancel, &mut sink);
        match (asked, sink.error.take()) {
            (_, Some(error)) => return Err(error),
            (Err(error), None) => return Err(error.into()),
            (Ok(()), None) => {}
        }
        let next = match pages {
            Some(Pages::Cursor) => {
                let next = sink.written.as_ref().and_then(|written| written.next_cursor.clone());
                next.map(|next| ("cursor", Value::String(next)))
            }
            Some(Pages::Offset) => {
                (sink.rows - before == u64::from(MAX_ROWS)).then(|| ("offset", (skipped + sink.rows).into()))
            }
            None => None,
        };
        match next {
            Some((field, place)) => arguments = arguments.with(field, place),
            None => break,
        }
    }
    progress(sink.rows, sink.total);
    let (Some(encoder), Some(written)) = (sink.encoder, sink.written) else {
        return Err(Error::new(ErrorKind::Internal, "a table ended before it began").into());
    };
    Ok((encoder.finish()?, Written { rows: sink.rows, ..written }))
}

/// What leads through the pages of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// The cursor that a page ends with.
    Cursor,
    /// How many rows to leave out.
    Offset,
}

impl Pages {
    /// `None` where an endpoint gives its list in one piece, or is no list.
    ///
    /// ```
    /// use headwater_table::Pages;
    /// let pages = |name| Pages::of(headwater_engine::endpoint(name).unwrap());
    /// assert_eq!(pages("transactions"), Some(Pages::Cursor));
    /// assert_eq!(pages("token/holders"), Some(Pages::Offset));
    /// assert_eq!(pages("balance-history"), None);
    /// ```
    #[must_use]
    pub fn of(endpoint: &Endpoint) -> Option<Self> {
        let request = serde_json::to_value(endpoint.describe().request).ok()?;
        let fields = &request["properties"];
        fields.get("limit")?;
        let cursor = fields.get("cursor").map(|_| Self::Cursor);
        cursor.or_else(|| fields.get("offset").map(|_| Self::Offset))
    }
}

/// Rows that a request leaves out before the first one; of one that says no number, the engine says so.
fn skipped(request: &Value) -> u64 {
    match request.get("offset") {
        Some(Value::String(text)) => text.trim().parse().unwrap_or(0),
        offset => offset.and_then(Value::as_u64).unwrap_or(0),
    }
}

struct Sink<'a, W: Write + Send> {
    columns: Vec<Column>,
    format: Format,
    /// Where the table goes, until it begins.
    out: Option<W>,
    encoder: Option<Encoder<W>>,
    rows: u64,
    written: Option<Written>,
    /// Whether all pages go into one table, which then has none to follow.
    is_whole: bool,
    progress: &'a dyn Fn(u64, Option<u64>),
    total: Option<u64>,
    error: Option<TableError>,
}

impl<W: Write + Send> TableSink for Sink<'_, W> {
    fn begin(&mut self, head: TableHead) -> Result<(), SinkClosed> {
        if let Some(out) = self.out.take() {
            self.total = head.total;
            let next_cursor = head.next_cursor.clone().filter(|_| !self.is_whole);
            let said = TableHead { next_cursor, ..head.clone() };
            match Encoder::new(self.format, &self.columns, &said, out) {
                Ok(encoder) => self.encoder = Some(encoder),
                Err(error) => {
                    self.error = Some(error);
                    return Err(SinkClosed);
                }
            }
        }
        let warnings = self.written.take().map_or(head.warnings, |before| before.warnings);
        self.written = Some(Written { rows: 0, next_cursor: head.next_cursor, warnings });
        Ok(())
    }

    fn row(&mut self, row: &dyn AnyRow) -> Result<(), SinkClosed> {
        let encoder = self.encoder.as_mut().ok_or(SinkClosed)?;
        self.rows += 1;
        if self.rows.is_multiple_of(REPORTED) {
            (self.progress)(self.rows, self.total);
        }
        encoder.row(row).map_err(|error| {
            self.error = Some(error);
            SinkClosed
        })
    }
}
