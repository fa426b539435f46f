//! Plain tables of labels, with the columns that an import of labels reads back.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, RecordBatch, StringBuilder};
use arrow::csv::{Writer, WriterBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use headwater_ledger::labels::{Action, Claim, Code, DateBasis, Link};
use headwater_types::Timestamp;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::draft::Draft;
use super::{LabelExport, LabelWriter, encoded, in_thousandths};
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

/// A plain table in the making.
pub(super) struct TableWriter {
    rows: Rows,
    draft: Draft,
    form: Form,
}

enum Form {
    Csv(Box<Writer<File>>),
    Parquet(Box<ArrowWriter<File>>),
}

impl TableWriter {
    pub(super) fn csv(path: &Path) -> Result<Self, ExportError> {
        let (draft, file) = Draft::create(path)?;
        let form = Form::Csv(Box::new(WriterBuilder::new().with_header(true).build(file)));
        Ok(Self { rows: Rows::default(), draft, form })
    }

    pub(super) fn parquet(path: &Path) -> Result<Self, ExportError> {
        let (draft, file) = Draft::create(path)?;
        let level = ZstdLevel::try_new(3).expect("3 is a level of zstd");
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
        let writer = ArrowWriter::try_new(file, Arc::clone(&SCHEMA), Some(properties));
        let form = Form::Parquet(Box::new(writer.map_err(ExportError::parquet(draft.temporary()))?));
        Ok(Self { rows: Rows::default(), draft, form })
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        let rows = self.rows.take();
        match &mut self.form {
            Form::Csv(writer) => writer.write(&rows).map_err(ExportError::csv(self.draft.temporary())),
            Form::Parquet(writer) => writer.write(&rows).map_err(ExportError::parquet(self.draft.temporary())),
        }
    }
}

impl LabelWriter for TableWriter {
    fn push(&mut self, claim: &Claim<&str>, report: &mut LabelExport) -> Result<(), ExportError> {
        report.claims += 1;
        self.rows.push(claim);
        if self.rows.count == ROW_GROUP { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>, _report: &mut LabelExport) -> Result<(), ExportError> {
        self.flush()?;
        let file = match self.form {
            Form::Csv(writer) => writer.into_inner(),
            Form::Parquet(writer) => writer.into_inner().map_err(ExportError::parquet(self.draft.temporary()))?,
        };
        self.draft.finish(&file)
    }
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
            Some(Cow::Owned(in_thousandths(claim.reliability))),
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
