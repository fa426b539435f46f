//! The log of `serve`: every line of it, from the first one on, in the format that the settings name.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_log::NormalizeEvent;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::config::LogFormat;

/// Targets whose records below `info` may repeat the content of a connection, keys included.
const QUIET: [&str; 9] = [
    "h2=info",
    "hyper=info",
    "hyper_util=info",
    "rustls=info",
    "tokio_postgres=info",
    "tungstenite=info",
    "tokio_tungstenite=info",
    "redis=info",
    "opentelemetry_sdk=info",
];

/// Starts the log on standard error. A second `serve` in one process keeps the first one's log.
pub(super) fn start(format: LogFormat, filter: &str) {
    let directives = QUIET.iter().filter_map(|directive| directive.parse().ok());
    let filter = directives.fold(EnvFilter::new(filter), EnvFilter::add_directive);
    let colours = format == LogFormat::Text && io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(OneLine::default).with_ansi(colours);
    let _ = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.event_format(JsonLine).try_init(),
    };
}

/// Returns whether the log was started.
pub(super) fn is_started() -> bool {
    tracing::dispatcher::has_been_set()
}

/// Standard error, with one line for each record: line breaks within it are written as `\n` and `\r`, so that nobody can
/// forge a line with a text that is logged.
#[derive(Debug, Default)]
struct OneLine;

impl Write for OneLine {
    /// Takes a whole record, with its line break.
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let line = record.strip_suffix(b"\n").unwrap_or(record);
        let mut out = Vec::with_capacity(record.len());
        for byte in line {
            match byte {
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                byte => out.push(*byte),
            }
        }
        out.push(b'\n');
        io::stderr().lock().write_all(&out)?;
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// A record as a JSON object of one line: `timestamp`, `level`, `target`, `message`, and `fields` with everything else that
/// it says.
struct JsonLine;

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let normalized = event.normalized_metadata();
        let metadata = normalized.as_ref().unwrap_or_else(|| event.metadata());
        let mut timestamp = String::new();
        SystemTime.format_time(&mut Writer::new(&mut timestamp))?;
        let mut record = Record::default();
        event.record(&mut record);
        let mut line = Map::new();
        line.insert("timestamp".to_owned(), timestamp.into());
        line.insert("level".to_owned(), metadata.level().as_str().into());
        line.insert("target".to_owned(), metadata.target().into());
        line.insert("message".to_owned(), record.message.into());
        line.insert("fields".to_owned(), Value::Object(record.fields));
        writeln!(out, "{}", Value::Object(line))
    }
}

/// The message and the other fields of an event.
#[derive(Default)]
struct Record {
    message: String,
    fields: Map<String, Value>,
}

impl Record {
    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            ("message", other) => self.message = other.to_string(),
            // Place and target of a record of the crate `log`, which are in the line already.
            (name, _) if name.starts_with("log.") => {}
            (name, value) => _ = self.fields.insert(name.trim_start_matches("r#").to_owned(), value),
        }
    }
}

impl Visit for Record {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }
}
