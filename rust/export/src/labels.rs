//! Labels as one table, with the columns that an import of labels reads back.

use std::borrow::Cow;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, RecordBatch, StringBuilder};
use arrow::csv::{Writer, WriterBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use headwater_ledger::labels::{Action, Claim, Code, DateBasis, LabelTable, Link};
use headwater_ledger::{Cancelled, LedgerError};
use headwater_types::Timestamp;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::ExportError;
use crate::files::ROW_GROUP;

const COLUMNS: [&str; 16] = [
    "address",
    "chain",
    "code",
    "name",
    "entity",
    "source",
    "source_url",
    "group",
    "level",
    "confidence",
    "asserted_at",
    "date_basis",
    "last_seen",
    "valid_until",
    "action",
    "is_cluster_definer",
];

static SCHEMA: LazyLock<SchemaRef> =
    LazyLock::new(|| Arc::new(Schema::new(COLUMNS.map(|name| Field::new(name, DataType::Utf8, true)).to_vec())));

/// The format of a file of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelFormat {
    /// Comma separated values with a header.
    Csv,
    /// Parquet with the same columns, all of them text.
    Parquet,
}

impl LabelFormat {
    /// The format that the ending of a file names, in any case.
    ///
    /// ```
    /// use headwater_export::LabelFormat;
    /// assert_eq!(LabelFormat::of("labels.csv".as_ref()), Some(LabelFormat::Csv));
    /// assert_eq!(LabelFormat::of("labels.Parquet".as_ref()), Some(LabelFormat::Parquet));
    /// assert_eq!(LabelFormat::of("labels.json".as_ref()), None);
    /// ```
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        let is = |known: &str| ending.eq_ignore_ascii_case(known);
        if is("csv") { Some(Self::Csv) } else { is("parquet").then_some(Self::Parquet) }
    }
}

/// Writes the claims in force, of one version or of all lists, and gives their number.
///
/// One row per claim, list by list, in order of address; columns are those of a plain table of labels, so that an import of
/// the file makes the same claims. Times are UTC texts. An import joins claims of one file that agree in address, chain,
/// code, entity, group and action: of lists that say the same, export each version on its own to keep them apart.
///
/// The file has its name only once it is whole. Takes memory for one batch of rows.
///
/// # Errors
/// When the labels cannot be read, or the file cannot be written.
pub fn labels(table: &LabelTable, version: Option<u64>, format: LabelFormat, path: &Path) -> Result<u64, ExportError> {
    let mut out = Out::create(format, path)?;
    let (mut rows, mut count) = (Rows::default(), 0);
    let mut failed = None;
    let read = table.each(&mut |of, claim| {
        if version.is_none_or(|version| version == of) {
            count += 1;
            rows.push(&claim);
        }
        if rows.count == ROW_GROUP {
            // What stops the walk is told below.
            failed = out.write(&rows.take()).err();
            if failed.is_some() {
                return Err(LedgerError::from(Cancelled));
            }
        }
        Ok(())
    });
    if let Some(error) = failed {
        return Err(error);
    }
    read?;
    out.write(&rows.take())?;
    out.finish()?;
    Ok(count)
}

/// Rows as they are gathered.
#[derive(Default)]
struct Rows {
    columns: [StringBuilder; COLUMNS.len()],
    count: usize,
}

impl Rows {
    fn push<'c>(&mut self, claim: &Claim<&'c str>) {
        let time = |time: Option<Timestamp>| time.map(|time| Cow::Owned(time.to_string()));
        let cells: [Option<Cow<'c, str>>; COLUMNS.len()] = [
            Some(Cow::Owned(claim.address.to_string())),
            Some(Cow::Borrowed(claim.scope.name())),
            claim.code.map(Code::name).map(Cow::Borrowed),
            claim.name.map(encoded),
            claim.entity.map(encoded),
            Some(Cow::Borrowed(claim.source)),
            claim.source_url.map(Cow::Borrowed),
            Some(Cow::Borrowed(claim.group)),
            Some(Cow::Borrowed(claim.level.name())),
            Some(Cow::Owned(format!("{}.{:03}", claim.reliability / 1_000, claim.reliability % 1_000))),
            time(claim.asserted_at),
            claim.date_basis.map(DateBasis::name).map(Cow::Borrowed),
            time(claim.last_seen),
            time(claim.valid_until),
            Some(Cow::Borrowed(match claim.action {
                Action::Add => "add",
                Action::Remove => "remove",
            })),
            (claim.link == Link::ExactOnly).then_some(Cow::Borrowed("false")),
        ];
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.append_option(cell);
        }
        self.count += 1;
    }

    fn take(&mut self) -> RecordBatch {
        self.count = 0;
        let columns = self.columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        RecordBatch::try_new(Arc::clone(&SCHEMA), columns.collect()).expect("the columns are those of the schema")
    }
}

/// A name as an import reads it back: it decodes references of HTML once.
fn encoded(name: &str) -> Cow<'_, str> {
    let has_reference = name.contains('&') && name.contains(';');
    if has_reference { Cow::Owned(name.replace('&', "&amp;")) } else { Cow::Borrowed(name) }
}

/// A file in the making. Dropped before it is finished, it leaves nothing.
struct Out {
    path: PathBuf,
    temporary: PathBuf,
    writer: Option<Form>,
}

enum Form {
    Csv(Box<Writer<File>>),
    Parquet(Box<ArrowWriter<File>>),
}

impl Out {
    fn create(format: LabelFormat, path: &Path) -> Result<Self, ExportError> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let file = File::create(&temporary).map_err(ExportError::io(&temporary))?;
        let form = match format {
            LabelFormat::Csv => Form::Csv(Box::new(WriterBuilder::new().with_header(true).build(file))),
            LabelFormat::Parquet => {
                let level = ZstdLevel::try_new(3).expect("3 is a level of zstd");
                let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
                let writer = ArrowWriter::try_new(file, Arc::clone(&SCHEMA), Some(properties));
                Form::Parquet(Box::new(writer.map_err(ExportError::parquet(&temporary))?))
            }
        };
        Ok(Self { path: path.to_owned(), temporary, writer: Some(form) })
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<(), ExportError> {
        match &mut self.writer {
            Some(Form::Csv(writer)) => writer.write(rows).map_err(ExportError::csv(&self.temporary)),
            Some(Form::Parquet(writer)) => writer.write(rows).map_err(ExportError::parquet(&self.temporary)),
            None => Ok(()),
        }
    }

    /// Gives the file its name.
    fn finish(mut self) -> Result<(), ExportError> {
        let file = match self.writer.take() {
            Some(Form::Csv(writer)) => writer.into_inner(),
            Some(Form::Parquet(writer)) => writer.into_inner().map_err(ExportError::parquet(&self.temporary))?,
            None => return Ok(()),
        };
        file.sync_all().map_err(ExportError::io(&self.temporary))?;
        fs::rename(&self.temporary, &self.path).map_err(ExportError::io(&self.path))
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        // Behind the end it has another name.
        let _ = fs::remove_file(&self.temporary);
    }
}
