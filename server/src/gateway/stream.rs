//! Answers as tables: encoded on the thread that makes the rows, sent as the client reads.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use headwater_engine::{
    AnyRow, Column, Error, ErrorKind, Query, QueryEngine, SinkClosed, TableHead, TableSink, Warning,
};
use headwater_ledger::Cancel;
use headwater_table::{Encoder, Format, TableError};
use http_body::Frame;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::pool::Slot;

/// Bytes that are sent together.
const CHUNK: usize = 64 << 10;
/// Chunks that may wait for the client.
const WAITING: usize = 4;
/// How long a client may read nothing before its answer is given up.
const STALLED: Duration = Duration::from_secs(30);

/// What a table begins with, once it does.
pub(super) type TableStart = oneshot::Receiver<Result<TableHead, Box<Error>>>;

/// The two ends of a table: the job that makes it, in its slot, and the body that is sent.
pub(super) fn table(
    engine: QueryEngine,
    query: Arc<Query>,
    (columns, format): (Vec<Column>, Format),
    (cancel, slot): (Cancel, Slot),
) -> (impl FnOnce() + Send + 'static, TableStart, Body) {
    let (head, begun) = oneshot::channel();
    let (sender, chunks) = mpsc::channel(WAITING);
    let (whole, is_whole) = oneshot::channel();
    let client = Client { sender: Some(sender), slot, runtime: Handle::current() };
    let job = move || {
        let out = Chunks { buffer: Vec::with_capacity(CHUNK), client, whole };
        let mut sink = Sink { head: Some(head), columns, format, waiting: Some(out), encoder: None, failed: false };
        let made = engine.table(&query, &cancel, &mut sink);
        sink.end(made);
    };
    (job, begun, Body::new(TableBody { chunks, is_whole: Some(is_whole) }))
}

/// A table whose rows are there already, as lines of JSON.
pub(super) fn whole(
    (columns, format): &(Vec<Column>, Format),
    head: &TableHead,
    lines: &[u8],
) -> Result<Vec<u8>, TableError> {
    let mut encoder = Encoder::new(*format, columns, head, Vec::new())?;
    encoder.lines(lines)?;
    encoder.finish()
}

const NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");
const TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");
const AS_OF_BLOCK: HeaderName = HeaderName::from_static("x-as-of-block");
const AMOUNT_UNIT: HeaderName = HeaderName::from_static("x-amount-unit");
const PEGGED: HeaderName = HeaderName::from_static("x-pegged");
const WARNINGS: HeaderName = HeaderName::from_static("x-warnings");

/// Says in headers what an envelope would say.
pub(super) fn add_headers(headers: &mut HeaderMap, head: TableHead, format: Format) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    let codes: Vec<String> = head.warnings.iter().map(warning_code).collect();
    let said = [
        (NEXT_CURSOR, head.next_cursor),
        (TOTAL_COUNT, head.total.map(|total| total.to_string())),
        (AS_OF_BLOCK, head.as_of_block.map(|block| block.to_string())),
        (AMOUNT_UNIT, head.amount_unit),
        (PEGGED, (!head.pegged.is_empty()).then(|| head.pegged.join(", "))),
        (WARNINGS, (!codes.is_empty()).then(|| codes.join(", "))),
    ];
    for (name, text) in said {
        // What no header can hold is left out of it: letters of a symbol, of a field that is not known.
        let text = text.map(|text| text.replace(|letter: char| letter.is_ascii_control(), ""));
        if let Some(value) = text.and_then(|text| HeaderValue::from_str(&text).ok()) {
            headers.insert(name, value);
        }
    }
}

/// A warning as a header says it: its code, and the field it is about. What no header can hold of that, and what parts one
/// warning from the next, is percent-encoded.
fn warning_code(warning: &Warning) -> String {
    use std::fmt::Write as _;
    let Some(field) = &warning.field else { return warning.code.clone() };
    let mut said = format!("{}:", warning.code);
    for byte in field.bytes() {
        if byte.is_ascii_graphic() && !b",%".contains(&byte) {
            said.push(char::from(byte));
        } else {
            write!(said, "%{byte:02X}").expect("text takes whatever is written");
        }
    }
    said
}

struct Sink {
    head: Option<oneshot::Sender<Result<TableHead, Box<Error>>>>,
    columns: Vec<Column>,
    format: Format,
    waiting: Option<Chunks>,
    encoder: Option<Encoder<Chunks>>,
    failed: bool,
}

impl TableSink for Sink {
    fn begin(&mut self, head: TableHead) -> Result<(), SinkClosed> {
        let out = self.waiting.take().ok_or(SinkClosed)?;
        let encoder = Encoder::new(self.format, &self.columns, &head, out).map_err(|error| self.fail(&error))?;
        self.encoder = Some(encoder);
        let is_sent = self.head.take().is_some_and(|sender| sender.send(Ok(head)).is_ok());
        if is_sent { Ok(()) } else { Err(SinkClosed) }
    }

    fn row(&mut self, row: &dyn AnyRow) -> Result<(), SinkClosed> {
        let encoded = self.encoder.as_mut().ok_or(SinkClosed)?.row(row);
        encoded.map_err(|error| self.fail(&error))
    }
}

impl Sink {
    fn fail(&mut self, error: &TableError) -> SinkClosed {
        if let TableError::Rows(_) = error {
            tracing::error!(%error, "a table could not be encoded");
        }
        self.failed = true;
        SinkClosed
    }

    /// Ends the table. One that broke off ends the connection too, so that nobody takes it for whole.
    fn end(mut self, made: Result<(), Error>) {
        let is_made = made.is_ok() && !self.failed;
        match self.encoder.take().filter(|_| is_made).map(Encoder::finish) {
            // A client that went away needs no end.
            Some(Ok(out)) => drop(out.end()),
            _ => {
                let error =
                    made.err().unwrap_or_else(|| Error::new(ErrorKind::Internal, "a table could not be encoded"));
                if let Some(head) = self.head.take() {
                    let _ = head.send(Err(Box::new(error)));
                }
            }
        }
    }
}

/// Gathers bytes and sends them on.
struct Chunks {
    buffer: Vec<u8>,
    client: Client,
    whole: oneshot::Sender<()>,
}

impl Chunks {
    /// Sends the last of them, and says that it is.
    fn end(mut self) -> io::Result<()> {
        io::Write::flush(&mut self)?;
        // A client that went away needs no word.
        let _ = self.whole.send(());
        Ok(())
    }
}

/// Where chunks are sent. While the client does not read, the thread waits, but its slot is others'.
struct Client {
    /// None once one was not sent: nothing comes after it.
    sender: Option<mpsc::Sender<Bytes>>,
    slot: Slot,
    runtime: Handle,
}

impl Client {
    fn send(&mut self, chunk: Bytes) -> io::Result<()> {
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the client went away");
        let sender = self.sender.take().ok_or_else(gone)?;
        match sender.try_send(chunk) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(gone()),
            Err(mpsc::error::TrySendError::Full(chunk)) => {
                let reads = async { tokio::time::timeout(STALLED, sender.send(chunk)).await };
                match self.slot.wait_for(&self.runtime, reads) {
                    Some(Ok(Ok(()))) => {}
                    Some(Ok(Err(_))) => return Err(gone()),
                    Some(Err(_)) => return Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")),
                    None => return Err(io::Error::new(io::ErrorKind::TimedOut, "too many clients do not read")),
                }
            }
        }
        self.sender = Some(sender);
        Ok(())
    }
}

impl io::Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK));
        self.client.send(Bytes::from(chunk))
    }
}

/// The body of a table. One that ends before it is said to be whole breaks off.
struct TableBody {
    chunks: mpsc::Receiver<Bytes>,
    is_whole: Option<oneshot::Receiver<()>>,
}

impl HttpBody for TableBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(chunk) = ready!(self.chunks.poll_recv(task)) {
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        let is_whole = self.is_whole.take().is_none_or(|mut said| said.try_recv().is_ok());
        Poll::Ready((!is_whole).then(|| Err(io::Error::other("the table broke off"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_table_is_whole_only_where_that_was_said() {
        for is_said in [true, false] {
            let (sender, chunks) = mpsc::channel(WAITING);
            let (whole, is_whole) = oneshot::channel();
            sender.send(Bytes::from_static(b"row\n")).await.unwrap();
            if is_said {
                whole.send(()).unwrap();
            }
            drop(sender);
            let read = axum::body::to_bytes(Body::new(TableBody { chunks, is_whole: Some(is_whole) }), CHUNK).await;
            assert_eq!(read.ok(), is_said.then(|| Bytes::from_static(b"row\n")));
        }
    }

    #[test]
    fn a_header_says_any_field() {
        let of = |field: Option<&str>| warning_code(&Warning::new("c", field, ""));
        for (field, said) in [
            (None, "c"),
            (Some("addresses[3]"), "c:addresses[3]"),
            (Some("größe"), "c:gr%C3%B6%C3%9Fe"),
            (Some("a, b\n%"), "c:a%2C%20b%0A%25"),
        ] {
            assert_eq!(of(field), said);
            assert!(HeaderValue::from_str(said).is_ok());
        }
    }
}
