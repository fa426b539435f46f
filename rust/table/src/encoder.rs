//! Encoding of rows in a format of tables.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::csv;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::writer::StreamWriter;
use headwater_engine::{AnyRow, Column, TableHead};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde::Serialize;
use serde_json::Value;

use crate::builder::{ColumnBuilder, Misfit};
use crate::schema::{Nested, Times, fields_of, flat, flattened, metadata_of};
use crate::{Format, TableError};

/// Rows that are encoded together, and a row group of Parquet: the bound of memory.
const BATCH: usize = 8192;

/// Encodes the rows of a list.
pub struct Encoder<W: Write + Send> {
    form: Form<W>,
}

enum Form<W: Write + Send> {
    Lines(W),
    Columns(Box<ColumnWriter<W>>),
}

struct ColumnWriter<W: Write + Send> {
    columns: Vec<Column>,
    /// The columns as they are written.
    schema: SchemaRef,
    rows: ColumnBuilder,
    writer: Writer<W>,
}

enum Writer<W: Write + Send> {
    Csv(Box<csv::Writer<W>>),
    Parquet(Box<ArrowWriter<W>>),
    Arrow(Box<StreamWriter<W>>),
}

impl<W: Write + Send> Encoder<W> {
    /// Begins a table.
    ///
    /// # Errors
    /// When its beginning cannot be written.
    pub fn new(format: Format, columns: &[Column], head: &TableHead, out: W) -> Result<Self, TableError> {
        let times = if format == Format::Csv { Times::Seconds } else { Times::Utc };
        let fields = fields_of(columns, Nested::Text, times);
        let schema: SchemaRef = Arc::new(Schema::new_with_metadata(fields.clone(), metadata_of(head)));
        let (writer, schema) = match format {
            Format::Ndjson => return Ok(Self { form: Form::Lines(out) }),
            Format::Csv => {
                let flat = flat(columns, &fields);
                let mut writer = csv::WriterBuilder::new().with_header(true).build(out);
                // A table without rows has its line of names too.
                writer.write(&RecordBatch::new_empty(SchemaRef::clone(&flat)))?;
                (Writer::Csv(Box::new(writer)), flat)
            }
            Format::Parquet => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(ZstdLevel::default()))
                    .set_max_row_group_row_count(Some(BATCH))
                    .build();
                let writer = ArrowWriter::try_new(out, SchemaRef::clone(&schema), Some(properties))?;
                (Writer::Parquet(Box::new(writer)), schema)
            }
            Format::Arrow => (Writer::Arrow(Box::new(StreamWriter::try_new(out, &schema)?)), schema),
        };
        let rows = ColumnBuilder::of_records(&fields);
        Ok(Self { form: Form::Columns(Box::new(ColumnWriter { columns: columns.to_vec(), schema, rows, writer })) })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When it does not fit the columns, or cannot be written.
    pub fn row(&mut self, row: &dyn AnyRow) -> Result<(), TableError> {
        match &mut self.form {
            Form::Lines(out) => {
                serde_json::to_writer(&mut *out, row).map_err(std::io::Error::from)?;
                Ok(out.write_all(b"\n")?)
            }
            Form::Columns(columns) => columns.push(row),
        }
    }

    /// Adds rows that are text already: whole lines of JSON.
    ///
    /// # Errors
    /// When they do not fit the columns, or cannot be written.
    pub fn lines(&mut self, lines: &[u8]) -> Result<(), TableError> {
        match &mut self.form {
            Form::Lines(out) => Ok(out.write_all(lines)?),
            Form::Columns(columns) => {
                let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                for line in lines {
                    let row: Value = serde_json::from_slice(line).map_err(Misfit::from)?;
                    columns.push(&row)?;
                }
                Ok(())
            }
        }
    }

    /// Ends the table, and returns its writer.
    ///
    /// # Errors
    /// When the rest cannot be written.
    pub fn finish(self) -> Result<W, TableError> {
        match self.form {
            Form::Lines(out) => Ok(out),
            Form::Columns(mut columns) => {
                columns.write()?;
                Ok(match columns.writer {
                    Writer::Csv(writer) => writer.into_inner(),
                    Writer::Parquet(writer) => writer.into_inner()?,
                    Writer::Arrow(writer) => writer.into_inner()?,
                })
            }
        }
    }
}

impl<W: Write + Send> ColumnWriter<W> {
    fn push(&mut self, row: &dyn AnyRow) -> Result<(), TableError> {
        row.serialize(&mut self.rows)?;
        if self.rows.len() == BATCH { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), TableError> {
        if self.rows.len() == 0 {
            return Ok(());
        }
        let rows = self.rows.finish()?;
        let columns = rows.as_struct().columns().to_vec();
        match &mut self.writer {
            Writer::Csv(writer) => writer.write(&flattened(&columns, &self.columns, &self.schema)?)?,
            Writer::Parquet(writer) => writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?,
            Writer::Arrow(writer) => writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?,
        }
        Ok(())
    }
}
