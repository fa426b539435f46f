//! Tables row by row: CSV, JSON lines, Parquet and frames, each in bounded memory.

use std::io::{self, Read};

use crate::IngestError;
use crate::error::{FieldError, Place, RowError};
use crate::source::array::Items;
use crate::source::guarded::Guarded;
use crate::source::handle::{Counts, Handle, one_row};
use crate::source::row::Header;
use crate::source::{Content, Input, Row, columnar, json};

/// Reads all rows of a file. Of a Parquet file only the named columns are read.
pub(crate) fn each_row<C: Counts>(
    input: &Input,
    content: &Content,
    columns: &[&str],
    sink: &mut C,
    handle: impl Handle<C>,
) -> Result<(), IngestError> {
    match content {
        Content::Csv | Content::Tsv => each_csv_row(input, &[], sink, handle),
        Content::Json => each_json_row(input, sink, handle),
        Content::Parquet => columnar::each_parquet_row(input, columns, sink, handle),
        Content::Empty => Ok(()),
        Content::Binary => Err(input.damaged(None, "it holds no rows of text")),
    }
}

/// Reads all rows of a file of text that has no header, under these names.
pub(crate) fn each_row_under<C: Counts>(
    input: &Input,
    names: &[&str],
    sink: &mut C,
    handle: impl Handle<C>,
) -> Result<(), IngestError> {
    each_csv_row(input, names, sink, handle)
}

fn each_csv_row<C: Counts>(
    input: &Input,
    names: &[&str],
    sink: &mut C,
    mut handle: impl Handle<C>,
) -> Result<(), IngestError> {
    let limit = input.bounds().line_bytes;
    let (mut text, guard) = Guarded::new(input.open()?, limit);
    let mark = Bom::skip(&mut text).map_err(|error| input.io(error))?;
    let layout = input.layout();
    let mut text = mark.chain(text);
    skip_lines(&mut text, layout.preamble).map_err(|error| input.io(error))?;
    let mut reader = layout.reader().buffer_capacity(1 << 16).from_reader(text);
    let mut header = Header::of(names.iter().copied());
    let mut width = names.len();
    let mut record = csv::ByteRecord::new();
    let in_file = |line: u64| line.saturating_add(layout.preamble);
    let mut lines = Lines::default();
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => {
                let line = in_file(error.position().map_or_else(|| reader.position().line(), csv::Position::line));
                return Err(match error.into_kind() {
                    csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                        input.too_large(Some(Place::Line(line)), ROW, limit, "--max-line-bytes")
                    }
                    csv::ErrorKind::Io(error) => input.io(error),
                    other => input.damaged(Some(Place::Line(line)), format!("{other:?}")),
                });
            }
        }
        guard.allow_from(reader.position().byte());
        let line = in_file(lines.begin(&record, reader.position().line()));
        if header.is_empty() {
            let names = names_in(&record);
            width = names.len();
            header = Header::of(names.iter().map(String::as_str));
            continue;
        }
        let row = Row::csv(&record, &header, line);
        one_row(input, &row, sink, &mut |row: &Row<'_>, sink: &mut C| {
            // Some exporters end their rows with fields that the header does not name.
            if record.len() < width || record.iter().skip(width).any(|field| !field.is_empty()) {
                let expected = format!("{width} fields, as the header has");
                return Err(FieldError::new("row", Some(&format!("{} fields", record.len())), expected).into());
            }
            handle(row, sink)
        })?;
    }
}

/// In which line records begin. The reader counts newlines: of a line that ends with two bytes it reads the second one with
/// the next record, as it reads the empty lines before a record.
#[derive(Default)]
struct Lines {
    /// Newlines behind a record that are read with the next one; `None` before the first record.
    pending: Option<u64>,
}

impl Lines {
    /// The line in which a record begins; `after` is the line where the reader is behind it.
    fn begin(&mut self, record: &csv::ByteRecord, after: u64) -> u64 {
        let before = record.position().map_or(1, csv::Position::line) + self.pending.unwrap_or(0);
        // As a rule a record is one line.
        if self.pending.is_some_and(|pending| before + 1 == after + pending) {
            return before;
        }
        let inside = record.as_slice().split(|byte| *byte == b'\n').count() as u64 - 1;
        let end = after - inside.min(after);
        let pending = *self.pending.get_or_insert(u64::from(end <= before));
        before.max((end + pending).saturating_sub(1))
    }
}

/// The message about a row that does not end, with the usual cause.
const ROW: &str = "row (is a quote left open?)";

/// Passes over so many lines.
fn skip_lines(text: &mut impl Read, count: u64) -> io::Result<()> {
    let mut byte = [0];
    for _ in 0..count {
        while text.read(&mut byte)? > 0 && byte != *b"\n" {}
    }
    Ok(())
}

/// The names in a header. Some exporters write a second one, the numbers of the columns, behind it without a break:
/// `wallet,quant0,1` heads two columns.
fn names_in(record: &csv::ByteRecord) -> Vec<String> {
    let mut names: Vec<String> = record.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
    let width = names.len().div_ceil(2);
    let is_numbered = width > 1 && names[width..].iter().zip(1..).all(|(name, number)| *name == number.to_string());
    if is_numbered && names.len() % 2 == 1 && names[width - 1].len() > 1 && names[width - 1].ends_with('0') {
        names.truncate(width);
        names[width - 1].pop();
    }
    names
}

fn each_json_row<C: Counts>(input: &Input, sink: &mut C, mut handle: impl Handle<C>) -> Result<(), IngestError> {
    each_json_value(input, |place, value| {
        let value = match value {
            Ok(value) => value,
            Err(field) => {
                sink.count_row(place)?;
                return sink.reject(RowError { file: input.path().to_owned(), place, field });
            }
        };
        one_row(input, &Row::json(value, place), sink, &mut |row: &Row<'_>, sink: &mut C| {
            if !matches!(value, json::Value::Object(_)) {
                return Err(FieldError::new("row", None, "one JSON object per line").into());
            }
            handle(row, sink)
        })
    })
}

/// Reads the values of a JSON file one by one: the rows that its document wraps, the items of its array, or its lines. A
/// text that is not JSON is given as the error that it is.
pub(crate) fn each_json_value(
    input: &Input,
    mut handle: impl FnMut(Place, Result<&json::Value<'_>, FieldError>) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    if let Some(wrapped) = input.wrapped() {
        return input.with_document(|document| {
            let several =
                || input.damaged(None, "it has more than one list of rows: put the one that is meant into a file");
            for (number, row) in (1..).zip(wrapped.rows(document).ok_or_else(several)?) {
                handle(Place::Row(number), Ok(&*row))?;
            }
            Ok(())
        });
    }
    let mut one = |text: &[u8], place| {
        let text = std::str::from_utf8(text)
            .map_err(|_| FieldError::new("row", Some(&String::from_utf8_lossy(text)), "text in UTF-8"));
        let parsed = text.and_then(|text| {
            json::parse(text, input.bounds()).map_err(|error| FieldError::new("row", Some(text), error.to_string()))
        });
        match parsed {
            Ok(value) => handle(place, Ok(&value)),
            Err(field) => handle(place, Err(field)),
        }
    };
    if let Some(mut items) = Items::of(input)? {
        while let Some((number, item)) = items.next_item()? {
            one(item, Place::Row(number))?;
        }
        return Ok(());
    }
    let mut lines = input.lines()?;
    while let Some((number, line)) = lines.next_line()? {
        if !line.iter().all(u8::is_ascii_whitespace) {
            one(line, Place::Line(number))?;
        }
    }
    Ok(())
}

/// The beginning of a text without a byte order mark.
struct Bom;

impl Bom {
    fn skip(reader: &mut impl Read) -> io::Result<io::Cursor<Vec<u8>>> {
        let mut start = Vec::new();
        reader.take(3).read_to_end(&mut start)?;
        Ok(io::Cursor::new(super::lines::without_mark(&start).to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_whatever_ends_them() {
        for (text, expected) in [
            ("a\nb\nc", &[1, 2, 3][..]),
            ("a\r\nb\r\nc\r\n", &[1, 2, 3]),
            ("a\n\nb\n", &[1, 3]),
            ("a\r\n\r\nb\r\n", &[1, 3]),
            ("a\n\"b\nc\"\nd", &[1, 2, 4]),
            ("a\r\n\"b\r\nc\"\r\nd\r\ne", &[1, 2, 4, 5]),
            ("\"a\nb\"\nc\n", &[1, 3]),
            ("\"a\r\nb\"\r\nc\r\n", &[1, 3]),
        ] {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            let (mut record, mut lines, mut found) = (csv::ByteRecord::new(), Lines::default(), Vec::new());
            while reader.read_byte_record(&mut record).unwrap() {
                found.push(lines.begin(&record, reader.position().line()));
            }
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
