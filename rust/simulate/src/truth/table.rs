//! Truth tables as Parquet, both ways, through one plain row form.

use std::fs::File;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, UInt64Type};
use arrow::error::ArrowError;
use headwater_types::{Address, Amount, Asset, Chain, TxHash};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

/// The reason why a truth folder could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TruthError {
    /// The operating system refused.
    #[error("cannot access {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The file is not a Parquet file.
    #[error("{} cannot be read or written as parquet", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The error of the library.
        #[source]
        source: ParquetError,
    },
    /// The columns do not form a table.
    #[error("{} cannot be read or written as a table", path.display())]
    Arrow {
        /// The file.
        path: PathBuf,
        /// The error of the library.
        #[source]
        source: ArrowError,
    },
    /// A value that no truth holds.
    #[error("{} row {row} column {column:?}: {value:?} is not what is expected there", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Row, 0 for the first.
        row: usize,
        /// The column.
        column: &'static str,
        /// The value that is there.
        value: String,
    },
}

impl TruthError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text, perhaps missing.
    Text,
    /// A count.
    Number,
    /// A number, perhaps missing.
    MaybeNumber,
    /// Yes or no.
    Flag,
}

/// One value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Text(Option<String>),
    Number(u64),
    MaybeNumber(Option<u64>),
    Flag(bool),
}

impl Cell {
    pub(super) fn text(text: &(impl ToString + ?Sized)) -> Self {
        Self::Text(Some(text.to_string()))
    }

    pub(super) fn maybe(text: Option<impl ToString>) -> Self {
        Self::Text(text.map(|text| text.to_string()))
    }
}

/// A row of a truth table.
pub(super) trait Row: Sized {
    /// Name of the table and of its file.
    const NAME: &'static str;
    /// Its columns.
    const COLUMNS: &'static [(&'static str, Kind)];
    /// The values in order of the columns.
    fn cells(&self) -> Vec<Cell>;
    /// The row of these values; `None` when a value is not what the column holds. The reader names the column.
    fn from_cells(cells: &mut Cells<'_>) -> Option<Self>;
}

/// The values of one row, taken from left to right.
pub(super) struct Cells<'a> {
    batch: &'a RecordBatch,
    row: usize,
    column: usize,
}

impl Cells<'_> {
    fn next(&mut self) -> &ArrayRef {
        self.column += 1;
        self.batch.column(self.column - 1)
    }

    pub(super) fn maybe(&mut self) -> Option<String> {
        let row = self.row;
        let column = self.next().as_string::<i32>();
        column.is_valid(row).then(|| column.value(row).to_owned())
    }

    pub(super) fn parse<T>(&mut self, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        self.maybe().as_deref().and_then(read)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        self.maybe()
    }

    pub(super) fn number(&mut self) -> u64 {
        let row = self.row;
        self.next().as_primitive::<UInt64Type>().value(row)
    }

    pub(super) fn maybe_number(&mut self) -> Option<u64> {
        let row = self.row;
        let column = self.next().as_primitive::<UInt64Type>();
        column.is_valid(row).then(|| column.value(row))
    }

    pub(super) fn flag(&mut self) -> bool {
        let row = self.row;
        self.next().as_boolean().value(row)
    }

    pub(super) fn chain(&mut self) -> Option<Chain> {
        self.parse(|text| text.parse().ok())
    }

    pub(super) fn address(&mut self, chain: Chain) -> Option<Address> {
        self.parse(|text| Address::parse(chain, text).ok())
    }

    pub(super) fn hash(&mut self, chain: Chain) -> Option<TxHash> {
        self.parse(|text| TxHash::parse(chain.family(), text).ok())
    }

    pub(super) fn asset(&mut self, chain: Chain) -> Option<Asset> {
        match self.maybe() {
            None => Some(Asset::Native),
            Some(text) => Address::parse(chain, &text).ok().map(Asset::Token),
        }
    }

    pub(super) fn amount(&mut self) -> Option<Amount> {
        self.parse(|text| Amount::parse_raw(text).ok())
    }
}

fn path_of<R: Row>(folder: &Path) -> PathBuf {
    folder.join(format!("{}.parquet", R::NAME))
}

/// Rows of one batch at most, so that a large slice needs no second copy of itself.
const BATCH_ROWS: usize = 32_768;
/// Rows of one row group.
const GROUP_ROWS: usize = 1 << 17;

/// A table on its way to its file. The file gets its name when it is whole.
pub(super) struct TableWriter<R> {
    path: PathBuf,
    partial: PathBuf,
    writer: ArrowWriter<File>,
    rows: PhantomData<R>,
}

impl<R: Row> TableWriter<R> {
    pub(super) fn create(folder: &Path) -> Result<Self, TruthError> {
        let path = path_of::<R>(folder);
        let partial = path.with_extension("parquet.partial");
        let file = File::create(&partial).map_err(|source| TruthError::io(&partial, source))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let writer = ArrowWriter::try_new(file, schema::<R>(), Some(properties))
            .map_err(|source| TruthError::Parquet { path: path.clone(), source })?;
        Ok(Self { path, partial, writer, rows: PhantomData })
    }

    pub(super) fn append(&mut self, rows: &[R]) -> Result<(), TruthError> {
        for rows in rows.chunks(BATCH_ROWS) {
            let batch = batch(rows).map_err(|source| TruthError::Arrow { path: self.path.clone(), source })?;
            self.writer.write(&batch).map_err(|source| TruthError::Parquet { path: self.path.clone(), source })?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), TruthError> {
        let Self { path, partial, writer, .. } = self;
        writer.close().map_err(|source| TruthError::Parquet { path: path.clone(), source })?;
        std::fs::rename(&partial, &path).map_err(|source| TruthError::io(&path, source))
    }
}

fn schema<R: Row>() -> Arc<Schema> {
    let fields = R::COLUMNS.iter().map(|&(name, kind)| match kind {
        Kind::Text => Field::new(name, DataType::Utf8, true),
        Kind::Number => Field::new(name, DataType::UInt64, false),
        Kind::MaybeNumber => Field::new(name, DataType::UInt64, true),
        Kind::Flag => Field::new(name, DataType::Boolean, false),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn batch<R: Row>(rows: &[R]) -> Result<RecordBatch, ArrowError> {
    let cells: Vec<Vec<Cell>> = rows.iter().map(Row::cells).collect();
    let columns = R::COLUMNS.iter().enumerate().map(|(place, &(_, kind))| -> ArrayRef {
        let column = cells.iter().map(|row| &row[place]);
        match kind {
            Kind::Text => Arc::new(column.map(as_text).collect::<StringArray>()),
            Kind::Number | Kind::MaybeNumber => Arc::new(column.map(as_number).collect::<UInt64Array>()),
            Kind::Flag => Arc::new(column.map(as_flag).collect::<BooleanArray>()),
        }
    });
    RecordBatch::try_new(schema::<R>(), columns.collect())
}

fn as_text(cell: &Cell) -> Option<&str> {
    if let Cell::Text(text) = cell { text.as_deref() } else { None }
}

fn as_number(cell: &Cell) -> Option<u64> {
    match cell {
        Cell::Number(number) => Some(*number),
        Cell::MaybeNumber(number) => *number,
        Cell::Text(_) | Cell::Flag(_) => None,
    }
}

fn as_flag(cell: &Cell) -> Option<bool> {
    if let Cell::Flag(flag) = cell { Some(*flag) } else { None }
}

pub(super) fn read<R: Row>(folder: &Path) -> Result<Vec<R>, TruthError> {
    let path = path_of::<R>(folder);
    let file = File::open(&path).map_err(|source| TruthError::io(&path, source))?;
    let parquet = |source| TruthError::Parquet { path: path.clone(), source };
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(parquet)?;
    let mut rows = Vec::new();
    for batch in builder.build().map_err(parquet)? {
        let batch = batch.map_err(|source| TruthError::Arrow { path: path.clone(), source })?;
        check_columns::<R>(&path, &batch)?;
        for row in 0..batch.num_rows() {
            let mut cells = Cells { batch: &batch, row, column: 0 };
            let Some(read) = R::from_cells(&mut cells) else {
                let column = cells.column.saturating_sub(1);
                let mut value = Cells { batch: &batch, row, column };
                let text = if R::COLUMNS[column].1 == Kind::Text { value.maybe() } else { None };
                let value = text.unwrap_or_else(|| "null".to_owned());
                return Err(TruthError::Value { path, row, column: R::COLUMNS[column].0, value });
            };
            rows.push(read);
        }
    }
    Ok(rows)
}

fn check_columns<R: Row>(path: &Path, batch: &RecordBatch) -> Result<(), TruthError> {
    let expected = schema::<R>();
    let found = batch.schema();
    let fits = |(field, wanted): (&Arc<Field>, &Arc<Field>)| {
        field.name() == wanted.name() && field.data_type() == wanted.data_type()
    };
    if found.fields().len() == expected.fields().len() && found.fields().iter().zip(expected.fields()).all(fits) {
        return Ok(());
    }
    let source = ArrowError::SchemaError(format!("the columns are not those of table {}", R::NAME));
    Err(TruthError::Arrow { path: path.to_owned(), source })
}
