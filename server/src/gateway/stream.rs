//! Answers as tables: encoded on the thread that makes the rows, sent as the client reads.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use headwater_engine::{Column, Desk, Endpoint, Error, ErrorKind, SinkClosed, TableHead, TableSink, Warning};
use headwater_ledger::Cancel;
use headwater_table::{Encoder, Format, TableError};
use http_body::Frame;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::arguments::Read;

/// Bytes that are sent together.
const CHUNK: usize = 64 << 10;
/// Chunks that may wait for the client.
const WAITING: usize = 4;
/// How long a client may read nothing before its answer is given up.
const STALLED: Duration = Duration::from_secs(30);

/// What a table begins with, once it does.
pub(super) type Begun = oneshot::Receiver<Result<TableHead, Box<Error>>>;

/// The two ends of a table: the job that makes it, and the body that is sent.
pub(super) fn table(
    desk: Desk,
    endpoint: &'static Endpoint,
    read: Arc<Read>,
    (columns, format): (Vec<Column>, Format),
    cancel: Cancel,
) -> (impl FnOnce() + Send + 'static, Begun, Body) {
    let (head, begun) = oneshot::channel();
    let (sender, received) = mpsc::channel(WAITING);
    let runtime = Handle::current();
    let job = move || {
        let out = Chunks { buffer: Vec::with_capacity(CHUNK), sender, runtime };
        let mut sink = Sink { head: Some(head), columns, format, waiting: Some(out), encoder: None, failed: false };
        let made = desk.table(endpoint, read.asked.request(), &cancel, &mut sink);
        sink.end(made);
    };
    (job, begun, Body::new(Received(received)))
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
const WARNINGS: HeaderName = HeaderName::from_static("x-warnings");

/// Says in headers what an envelope would say.
pub(super) fn say(headers: &mut HeaderMap, head: TableHead, format: Format) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    let codes: Vec<String> = head.warnings.iter().map(warning_code).collect();
    let said = [
        (NEXT_CURSOR, head.next_cursor),
        (TOTAL_COUNT, head.total.map(|total| total.to_string())),
        (AS_OF_BLOCK, head.as_of_block.map(|block| block.to_string())),
        (AMOUNT_UNIT, head.amount_unit),
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
        let told = self.head.take().is_some_and(|sender| sender.send(Ok(head)).is_ok());
        if told { Ok(()) } else { Err(SinkClosed) }
    }

    fn lines(&mut self, lines: &[u8]) -> Result<(), SinkClosed> {
        let encoded = self.encoder.as_mut().ok_or(SinkClosed)?.lines(lines);
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
        let out = self.encoder.take().map(Encoder::finish);
        match (made, out) {
            (Ok(()), Some(Ok(mut out))) if !self.failed => {
                // A client that went away needs no end.
                let _ = io::Write::flush(&mut out);
            }
            (made, out) => {
                if let Some(Ok(out)) = out {
                    out.break_off();
                }
                let error =
                    made.err().unwrap_or_else(|| Error::new(ErrorKind::Internal, "a table could not be encoded"));
                if let Some(head) = self.head.take() {
                    let _ = head.send(Err(Box::new(error)));
                }
            }
        }
    }
}

/// Gathers bytes and sends them on; waits while the client does not read.
struct Chunks {
    buffer: Vec<u8>,
    sender: mpsc::Sender<io::Result<Bytes>>,
    runtime: Handle,
}

impl Chunks {
    fn send(&self, chunk: io::Result<Bytes>) -> io::Result<()> {
        let sent = self.runtime.block_on(async { tokio::time::timeout(STALLED, self.sender.send(chunk)).await });
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client went away")),
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")),
        }
    }

    fn break_off(mut self) {
        self.buffer.clear();
        // A client that is gone needs no word.
        let _ = self.send(Err(io::Error::other("the table broke off")));
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
        self.send(Ok(Bytes::from(chunk)))
    }
}

/// The body of a table.
struct Received(mpsc::Receiver<io::Result<Bytes>>);

impl HttpBody for Received {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(task).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_any_field() {
        let of = |field: Option<&str>| {
            warning_code(&Warning { code: "c".to_owned(), field: field.map(str::to_owned), message: String::new() })
        };
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
