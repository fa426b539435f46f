//! The audit log: a line of JSON for each request that was refused or came without a key, in files of bounded size and
//! number. One thread writes; when it cannot keep pace, requests wait briefly for it, and then a line is lost and counted.

mod files;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::mpsc::error::{SendTimeoutError, TrySendError};
use tokio::sync::{mpsc, oneshot};

use self::files::LogFiles;
use super::audit::{AuditRow, hex};
use super::recurring::ErrorThrottle;
use super::{Home, StateError, StateLocation};

pub use files::LogUse;

/// Lines that may wait for the thread.
const QUEUE: usize = 16_384;
/// The time that a request waits for a place among them.
const PATIENCE: Duration = Duration::from_millis(100);
/// Most lines that are written at a time.
const BATCH: usize = 1024;
/// The folder of the log in the folder of a state.
const FOLDER: &str = "audit";

/// The settings of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// The folder of its files. By default `audit` in the folder of the state; a state in `PostgreSQL` has no default.
    pub folder: Option<PathBuf>,
    /// Maximum size of a file in bytes.
    pub file_bytes: u64,
    /// Maximum number of files, the current one included.
    pub files: u32,
}

impl Default for LogSettings {
    /// 8 files of 32 MiB.
    fn default() -> Self {
        Self { folder: None, file_bytes: 32 << 20, files: 8 }
    }
}

impl LogSettings {
    /// Returns the folder of the log of a state; `None` where the state is in `PostgreSQL` and no folder is named.
    #[must_use]
    pub fn folder_of(&self, place: &StateLocation) -> Option<PathBuf> {
        match (&self.folder, place) {
            (Some(folder), _) => Some(folder.clone()),
            (None, StateLocation::Folder(state)) => Some(state.join(FOLDER)),
            (None, StateLocation::Postgres(_)) => None,
        }
    }

    /// Returns what the files of the log take. They may be those of a server that runs.
    #[must_use]
    pub fn usage(&self, place: &StateLocation) -> Option<LogUse> {
        self.folder_of(place).map(|folder| LogUse::of(&folder))
    }
}

/// A request with what only the audit log says of it.
#[derive(Debug, Clone)]
pub struct LoggedRequest {
    /// The request.
    pub row: AuditRow,
    /// The address that it came from.
    pub address: Option<IpAddr>,
    /// The code of its error.
    pub code: Option<&'static str>,
    /// The reason of its error, where the code has several.
    pub reason: Option<String>,
}

/// A line. Fields without a value are left out.
#[derive(Serialize)]
struct Line<'a> {
    ts_ms: i64,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<&'a str>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<&'static str>,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    duration_ms: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a str>,
}

impl LoggedRequest {
    /// Returns its line, with the end of it.
    fn line(&self) -> Vec<u8> {
        let Self { row, address, code, reason } = self;
        let line = Line {
            ts_ms: row.ts_ms,
            request_id: &row.request_id,
            correlation_id: row.correlation_id.as_deref(),
            address: *address,
            key_id: row.key_id.as_deref(),
            method: row.method.as_str(),
            endpoint: row.endpoint,
            status: row.status,
            code: *code,
            reason: reason.as_deref().filter(|reason| !reason.is_empty()),
            duration_ms: row.duration_ms,
            bytes: row.bytes,
            parameter_hash: row.parameter_hash.as_ref().map(hex),
            parameters: row.parameters.as_deref(),
        };
        let mut text = serde_json::to_vec(&line).expect("text and numbers have a JSON form");
        text.push(b'\n');
        text
    }
}

enum Message {
    Line(Box<LoggedRequest>),
    /// Answered when all before it is written, or cannot be.
    Flush(oneshot::Sender<()>),
}

/// Lines of the audit log since the start.
#[derive(Debug, Default)]
struct Counts {
    written: AtomicU64,
    lost: AtomicU64,
}

/// The audit log of a running server.
pub(super) struct RequestLog {
    folder: PathBuf,
    lines: mpsc::Sender<Message>,
    counts: Arc<Counts>,
}

impl RequestLog {
    /// Opens the log of a state and starts its thread; `None` where it has no folder.
    ///
    /// # Errors
    /// When its folder or its first file cannot be made.
    pub fn start(home: &Home, settings: &LogSettings) -> Result<Option<(Self, JoinHandle<()>)>, StateError> {
        let Some(folder) = settings.folder_of(home.place()) else { return Ok(None) };
        let files = LogFiles::open(&folder, settings)?;
        let (lines, queue) = mpsc::channel(QUEUE);
        let counts = Arc::<Counts>::default();
        let writer = Writer { files, queue, counts: Arc::clone(&counts), errors: ErrorThrottle::default() };
        let thread = super::spawn("audit-log", move || writer.run())?;
        Ok(Some((Self { folder, lines, counts }, thread)))
    }

    /// Hands over a line; waits a moment where too many wait already, and then loses it.
    pub async fn add(&self, request: LoggedRequest) {
        let line = Message::Line(Box::new(request));
        let refused = match self.lines.try_send(line) {
            Ok(()) => return,
            Err(TrySendError::Full(line)) => match self.lines.send_timeout(line, PATIENCE).await {
                Ok(()) => return,
                Err(SendTimeoutError::Timeout(_) | SendTimeoutError::Closed(_)) => 1,
            },
            Err(TrySendError::Closed(_)) => 1,
        };
        self.counts.lost.fetch_add(refused, Ordering::Relaxed);
    }

    /// Hands over a line without waiting; loses it where too many wait.
    pub fn add_now(&self, request: LoggedRequest) {
        if self.lines.try_send(Message::Line(Box::new(request))).is_err() {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all that was handed over is written, or cannot be.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.lines.send(Message::Flush(done)).await.is_ok() {
            // A thread that is gone writes no more.
            let _ = flushed.await;
        }
    }

    /// Lines that were written since the start.
    pub fn written(&self) -> u64 {
        self.counts.written.load(Ordering::Relaxed)
    }

    /// Lines that were lost since the start.
    pub fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }

    /// Returns what its files take.
    pub fn usage(&self) -> LogUse {
        LogUse { lost_lines: Some(self.lost()), ..LogUse::of(&self.folder) }
    }
}

/// The thread that writes.
struct Writer {
    files: LogFiles,
    queue: mpsc::Receiver<Message>,
    counts: Arc<Counts>,
    errors: ErrorThrottle,
}

impl Writer {
    /// Runs until every sender is gone and the queue is empty.
    fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        while self.queue.blocking_recv_many(&mut batch, BATCH) > 0 {
            let (mut lines, mut flushes) = (Vec::new(), Vec::new());
            for message in batch.drain(..) {
                match message {
                    Message::Line(request) => lines.push(request.line()),
                    Message::Flush(done) => flushes.push(done),
                }
            }
            let (written, error) = self.files.append(&lines);
            self.counts.written.fetch_add(written as u64, Ordering::Relaxed);
            if let Some(error) = error {
                self.counts.lost.fetch_add((lines.len() - written) as u64, Ordering::Relaxed);
                self.errors.met("lines of the audit log cannot be written and are lost", &error);
            }
            for done in flushes {
                let _ = done.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
