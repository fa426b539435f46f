//! A scan as a stream: a thread of its own reads ahead by a few batches, and stops when the stream is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use headwater_engine::{Error, ErrorKind, Reason};
use headwater_ledger::{Cancel, Ledger};

use super::catalogue::TABLES;
use super::filter::{CheckedFilter, ScanFilter};
use super::job::Job;
use super::output::{Output, StreamMessage};
use super::tables::StoredTable;

/// Batches that wait to be taken.
const AHEAD: usize = 2;
/// Rows of a batch unless another number is asked for.
const BATCH_ROWS: usize = 1 << 16;
/// Rows of a batch at most.
const MAX_BATCH_ROWS: usize = 1 << 20;

/// The rows and columns to read of a table.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// The table, by its name in [`TABLES`].
    pub table: String,
    /// Columns in order; all of them if omitted.
    pub columns: Option<Vec<String>>,
    /// The filter. A value that is not valid is an error.
    pub filter: ScanFilter,
    /// A second filter that also holds. A value that is not valid matches no row: the filter of an engine that compares
    /// texts as they are.
    pub pushed: ScanFilter,
    /// The number of rows at most.
    pub limit: Option<u64>,
    /// Rows of a batch: 65,536 if omitted, 1,048,576 at most.
    pub batch_rows: Option<usize>,
}

/// A scan that was checked and is not under way.
struct Plan {
    ledger: Arc<dyn Ledger>,
    table: &'static StoredTable,
    columns: Vec<&'static str>,
    schema: SchemaRef,
    filter: CheckedFilter,
    limit: Option<u64>,
    batch_rows: usize,
    cancel: Cancel,
    decoded: Arc<AtomicU64>,
}

enum State {
    Waiting(Box<Plan>),
    Reading(Receiver<StreamMessage>),
    Ended,
}

/// The rows of a scan, batch by batch. Reading begins with the first batch; dropping the stream ends it.
pub struct ScanStream {
    schema: SchemaRef,
    state: State,
    cancel: Cancel,
    decoded: Arc<AtomicU64>,
}

/// Opens a stream over a table of a ledger. Nothing is read yet.
///
/// ```
/// use headwater_ledger::store::in_memory;
/// use headwater_table::scan::{ScanRequest, scan};
/// use headwater_testkit::Chainlet;
/// let ledger = in_memory(vec![Chainlet::ethereum().transfer(1, 2, 70).batch()], vec![], vec![]).unwrap().snapshot();
/// let columns = Some(vec!["amount_raw".to_owned()]);
/// let request = ScanRequest { table: "movements".to_owned(), columns, ..ScanRequest::default() };
/// let rows: usize = scan(ledger, &request).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
/// assert_eq!(rows, 1);
/// ```
///
/// # Errors
/// When the table or a column is unknown, a filter has a value that is not valid, or the table does not take the filter.
pub fn scan(ledger: Arc<dyn Ledger>, request: &ScanRequest) -> Result<ScanStream, Error> {
    let table = TABLES.iter().find(|table| table.name == request.table).ok_or_else(|| {
        let names = || TABLES.iter().map(|table| table.name);
        unknown("table", &request.table, names())
    })?;
    let columns: Vec<&'static str> = match &request.columns {
        None => table.columns.iter().map(|column| column.name).collect(),
        Some(columns) if columns.is_empty() => {
            let message = "columns: the list is empty; name one column or more, or leave it out for all";
            return Err(Error::invalid(Reason::EmptyList, "columns", message));
        }
        Some(columns) => columns.iter().map(|name| column_of(table, name)).collect::<Result<_, _>>()?,
    };
    let field = |name: &&'static str| {
        let column = table.columns.iter().find(|column| column.name == *name);
        column.map(|column| Field::new(column.name, column.kind.data_type(), true))
    };
    let schema = Arc::new(Schema::new(columns.iter().filter_map(field).collect::<Vec<_>>()));
    table.check(&request.filter)?;
    table.check(&request.pushed)?;
    let filter = CheckedFilter::of(&*ledger, &request.filter, &request.pushed)?;
    let batch_rows = request.batch_rows.unwrap_or(BATCH_ROWS).clamp(1, MAX_BATCH_ROWS);
    let (cancel, decoded) = (Cancel::new(), Arc::new(AtomicU64::new(0)));
    let plan = Plan {
        ledger,
        table,
        columns,
        schema: Arc::clone(&schema),
        filter,
        limit: request.limit,
        batch_rows,
        cancel: cancel.clone(),
        decoded: Arc::clone(&decoded),
    };
    Ok(ScanStream { schema, state: State::Waiting(Box::new(plan)), cancel, decoded })
}

fn column_of(table: &StoredTable, name: &str) -> Result<&'static str, Error> {
    let known = || table.columns.iter().map(|column| column.name);
    known().find(|known| *known == name).ok_or_else(|| unknown("column", name, known()))
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.collect();
    let message = format!("unknown {what} {name:?}; use one of {}", known.join(", "));
    Error::invalid(Reason::InvalidValue, what, message)
}

impl Plan {
    /// Starts the thread that reads.
    fn start(self: Box<Self>) -> Receiver<StreamMessage> {
        let (sender, receiver) = sync_channel(AHEAD);
        std::thread::spawn(move || {
            let last = match self.run(sender.clone()) {
                Ok(()) => StreamMessage::Done,
                Err(error) => StreamMessage::Failed(Box::new(error)),
            };
            // A reader that is gone wants nothing.
            let _ = sender.send(last);
        });
        receiver
    }

    fn run(&self, sender: std::sync::mpsc::SyncSender<StreamMessage>) -> Result<(), Error> {
        let mut output = Output::new(Arc::clone(&self.schema), self.batch_rows, self.limit, sender);
        let job = Job {
            ledger: &*self.ledger,
            columns: &self.columns,
            schema: &self.schema,
            filter: &self.filter,
            limit: self.limit,
            cancel: &self.cancel,
            decoded: &self.decoded,
        };
        if self.limit != Some(0) && !self.filter.is_impossible() {
            (self.table.produce)(&job, &mut output)?;
        }
        output.finish()
    }
}

impl ScanStream {
    /// The rows that were decoded so far, passed on or not: the work of the scan.
    #[must_use]
    pub fn decoded_rows(&self) -> u64 {
        self.decoded.load(Ordering::Relaxed)
    }

    /// The next batch; `None` at the end, or after an error. The outer `None` says that there is none within the time
    /// yet.
    ///
    /// # Errors
    /// When stored data cannot be read.
    pub fn next_within(&mut self, time: Duration) -> Option<Option<Result<RecordBatch, Error>>> {
        if matches!(self.state, State::Waiting(_))
            && let State::Waiting(plan) = std::mem::replace(&mut self.state, State::Ended)
        {
            self.state = State::Reading(plan.start());
        }
        let State::Reading(receiver) = &self.state else { return Some(None) };
        let ended = match receiver.recv_timeout(time) {
            Ok(StreamMessage::Batch(batch)) => return Some(Some(Ok(batch))),
            Err(RecvTimeoutError::Timeout) => return None,
            Ok(StreamMessage::Done) => None,
            Ok(StreamMessage::Failed(error)) => Some(Err(*error)),
            Err(RecvTimeoutError::Disconnected) => {
                Some(Err(Error::new(ErrorKind::Internal, "the thread of the scan panicked")))
            }
        };
        self.state = State::Ended;
        Some(ended)
    }
}

impl Iterator for ScanStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        const LONG: Duration = Duration::from_hours(1);
        loop {
            if let Some(next) = self.next_within(LONG) {
                return next.map(|batch| batch.map_err(|error| ArrowError::ExternalError(Box::new(error))));
            }
        }
    }
}

impl RecordBatchReader for ScanStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Drop for ScanStream {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
