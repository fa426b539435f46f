//! JSON documents in files: one per line, the file as one, or the items of the one list that a file is.

use super::Job;
use crate::error::{Fault, FieldError, Place, RowError};
use crate::source::json::{self, Value};
use crate::source::{Content, each_parquet_document};
use crate::{IngestError, Sink};

/// Reads every document of a file, each a row: one per line, or the file as one, or the items of the one list that the
/// file is. Rows of a Parquet file are documents of the columns named.
pub(super) fn each_document(
    job: &Job,
    columns: &[&str],
    sink: &mut Sink<'_>,
    handle: &mut dyn FnMut(&Value<'_>, &mut Sink<'_>) -> Result<(), Fault>,
) -> Result<(), IngestError> {
    if job.content == Content::Parquet {
        return each_parquet_document(&job.input, columns, |value, place| {
            one(job, place, sink, |sink| handle(value, sink))
        });
    }
    let mut first = true;
    each_value(job, sink, &mut |value, place, sink| {
        match value {
            Value::List(items) if first => {
                items.iter().try_for_each(|item| one(job, place, sink, |sink| handle(item, sink)))?;
            }
            value => one(job, place, sink, |sink| handle(value, sink))?,
        }
        first = false;
        Ok(())
    })
}

/// Counts one row, hands it on, and deals with what is wrong with it.
pub(super) fn one(
    job: &Job,
    place: Place,
    sink: &mut Sink<'_>,
    handle: impl FnOnce(&mut Sink<'_>) -> Result<(), Fault>,
) -> Result<(), IngestError> {
    sink.count_row(place)?;
    match handle(sink) {
        Ok(()) => sink.boundary(),
        Err(Fault::Field(field)) => sink.reject(RowError { file: job.input.path().to_owned(), place, field }),
        Err(Fault::Fatal(error)) => Err(error),
    }
}

/// Reads every document of a file as it stands; lists are not taken apart. What is no document is a row that is wrong.
pub(super) fn each_value(
    job: &Job,
    sink: &mut Sink<'_>,
    handle: &mut dyn FnMut(&Value<'_>, Place, &mut Sink<'_>) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let input = &job.input;
    let mut lines = input.documents()?;
    let mut first = true;
    while let Some((number, line)) = lines.next_line()? {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let place = Place::Line(number);
        let parsed = std::str::from_utf8(line)
            .map_err(|_| FieldError::new("document", Some(&String::from_utf8_lossy(line)), "text in UTF-8"))
            .and_then(|text| json::parse(text, input.bounds()).map_err(|error| not_json(text, &error)));
        match parsed {
            Ok(value) => handle(&value, place, sink)?,
            Err(_) if first && !is_whole(line) => {
                // Printed over several lines.
                drop(lines);
                let content = input.read_document()?;
                let text = std::str::from_utf8(&content).map_err(|_| input.damaged(None, "it is not text in UTF-8"))?;
                return match json::parse(text.trim_start_matches('\u{feff}'), input.bounds()) {
                    Ok(value) => handle(&value, place, sink),
                    Err(error) => one(job, place, sink, |_| Err(not_json(text, &error).into())),
                };
            }
            Err(field) => one(job, place, sink, |_| Err(field.into()))?,
        }
        first = false;
    }
    Ok(())
}

/// Returns true if a line looks like a document of its own, so that a broken one is a broken row.
fn is_whole(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"{") && line.ends_with(b"}")
}

fn not_json(text: &str, error: &json::JsonError) -> FieldError {
    FieldError::new("document", Some(text), error.to_string())
}
