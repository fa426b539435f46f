//! Lines of JSON in, a form of tables out.

use std::io::Write;

use arrow::csv;
use arrow::datatypes::SchemaRef;
use arrow::ipc::writer::StreamWriter;
use arrow::json::ReaderBuilder;
use arrow::json::reader::Decoder;
use headwater_engine::{Column, ColumnKind, TableHead};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::{Map, Value};

use crate::schema::{flat, flattened, schema_of};
use crate::{Format, TableError};

/// Rows that are encoded together, and a row group of Parquet: what bounds memory.
const BATCH: usize = 8192;

/// Encodes the rows of a list.
pub struct Encoder<W: Write + Send> {
    form: Form<W>,
    /// Names of the columns that hold records, which are written as text.
    nested: Vec<String>,
}

enum Form<W: Write + Send> {
    Lines(W),
    Columns(Box<Columns<W>>),
}

struct Columns<W: Write + Send> {
    decoder: Decoder,
    writer: Writer<W>,
}

enum Writer<W: Write + Send> {
    Csv { writer: Box<csv::Writer<W>>, schema: SchemaRef },
    Parquet(Box<ArrowWriter<W>>),
    Arrow(Box<StreamWriter<W>>),
}

impl<W: Write + Send> Encoder<W> {
    /// Begins a table.
    ///
    /// # Errors
    /// When its beginning cannot be written.
    pub fn new(format: Format, columns: &[Column], head: &TableHead, out: W) -> Result<Self, TableError> {
        let schema = schema_of(columns, head);
        let nested = columns.iter().filter(|column| column.kind == ColumnKind::Nested);
        let nested = nested.map(|column| column.name.clone()).collect();
        let writer = match format {
            Format::Ndjson => return Ok(Self { form: Form::Lines(out), nested: Vec::new() }),
            Format::Csv => {
                let flat = flat(&schema);
                let mut writer = csv::WriterBuilder::new().with_header(true).build(out);
                // A table without rows has its line of names too.
                writer.write(&arrow::array::RecordBatch::new_empty(SchemaRef::clone(&flat)))?;
                Writer::Csv { writer: Box::new(writer), schema: flat }
            }
            Format::Parquet => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(ZstdLevel::default()))
                    .set_max_row_group_row_count(Some(BATCH))
                    .build();
                Writer::Parquet(Box::new(ArrowWriter::try_new(out, SchemaRef::clone(&schema), Some(properties))?))
            }
            Format::Arrow => Writer::Arrow(Box::new(StreamWriter::try_new(out, &schema)?)),
        };
        let decoder = ReaderBuilder::new(schema).with_batch_size(BATCH).build_decoder()?;
        Ok(Self { form: Form::Columns(Box::new(Columns { decoder, writer })), nested })
    }

    /// Adds rows: whole lines of JSON.
    ///
    /// # Errors
    /// When they do not fit the columns, or cannot be written.
    pub fn lines(&mut self, lines: &[u8]) -> Result<(), TableError> {
        let flattened;
        let lines = if self.nested.is_empty() {
            lines
        } else {
            flattened = with_text(lines, &self.nested)?;
            &flattened
        };
        match &mut self.form {
            Form::Lines(out) => Ok(out.write_all(lines)?),
            Form::Columns(columns) => {
                let Columns { decoder, writer } = &mut **columns;
                let mut rest = lines;
                while !rest.is_empty() {
                    let taken = decoder.decode(rest)?;
                    rest = &rest[taken..];
                    // A decoder that takes less than it is given has a batch full.
                    if !rest.is_empty() {
                        writer.write(decoder)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Ends the table, and gives back where it went.
    ///
    /// # Errors
    /// When the rest cannot be written.
    pub fn finish(self) -> Result<W, TableError> {
        match self.form {
            Form::Lines(out) => Ok(out),
            Form::Columns(columns) => {
                let Columns { mut decoder, mut writer } = *columns;
                writer.write(&mut decoder)?;
                Ok(match writer {
                    Writer::Csv { writer, .. } => writer.into_inner(),
                    Writer::Parquet(writer) => writer.into_inner()?,
                    Writer::Arrow(writer) => writer.into_inner()?,
                })
            }
        }
    }
}

impl<W: Write + Send> Writer<W> {
    fn write(&mut self, decoder: &mut Decoder) -> Result<(), TableError> {
        let Some(batch) = decoder.flush()? else { return Ok(()) };
        match self {
            Self::Csv { writer, schema } => writer.write(&flattened(&batch, schema)?)?,
            Self::Parquet(writer) => writer.write(&batch)?,
            Self::Arrow(writer) => writer.write(&batch)?,
        }
        Ok(())
    }
}

/// The same lines with some fields as the text of their JSON.
fn with_text(lines: &[u8], fields: &[String]) -> Result<Vec<u8>, TableError> {
    let mut out = Vec::with_capacity(lines.len());
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut row: Map<String, Value> = serde_json::from_slice(line).map_err(std::io::Error::from)?;
        for field in fields {
            if let Some(value) = row.get_mut(field).filter(|value| !value.is_null() && !value.is_string()) {
                *value = Value::String(value.to_string());
            }
        }
        serde_json::to_writer(&mut out, &row).map_err(std::io::Error::from)?;
        out.push(b'\n');
    }
    Ok(out)
}
