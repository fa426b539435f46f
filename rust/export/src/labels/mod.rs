//! Labels as one file: a plain table, a `TagPack` of `GraphSense`, or tags of the Open Labels Initiative.

mod draft;
mod oli;
mod table;
mod tagpack;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use headwater_ledger::labels::{Action, Claim, LabelTable};
use headwater_ledger::{Cancelled, LedgerError};

use crate::ExportError;
use oli::OliWriter;
use table::TableWriter;
use tagpack::TagPackWriter;

/// The format of a file of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelFormat {
    /// Comma separated values with a header.
    Csv,
    /// Parquet with the same columns, all of them text.
    Parquet,
    /// A `TagPack` of `GraphSense`, in YAML.
    TagPack,
    /// Tags of the Open Labels Initiative, a row each, in JSON.
    OliJson,
    /// The same rows in CSV.
    OliCsv,
}

impl LabelFormat {
    /// The names that [`LabelFormat::named`] accepts.
    pub const NAMES: [&'static str; 4] = ["csv", "parquet", "tagpack", "oli"];

    /// Returns the format that the ending of a file names, in any case.
    ///
    /// ```
    /// use headwater_export::LabelFormat;
    /// assert_eq!(LabelFormat::of("labels.csv".as_ref()), Some(LabelFormat::Csv));
    /// assert_eq!(LabelFormat::of("labels.Parquet".as_ref()), Some(LabelFormat::Parquet));
    /// assert_eq!(LabelFormat::of("labels.yaml".as_ref()), Some(LabelFormat::TagPack));
    /// assert_eq!(LabelFormat::of("labels.json".as_ref()), Some(LabelFormat::OliJson));
    /// assert_eq!(LabelFormat::of("labels.xlsx".as_ref()), None);
    /// ```
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            "yaml" | "yml" => Some(Self::TagPack),
            "json" => Some(Self::OliJson),
            _ => None,
        }
    }

    /// Returns the format of a name; of OLI, in CSV where the file ends with `.csv`, else in JSON.
    ///
    /// ```
    /// use headwater_export::LabelFormat;
    /// assert_eq!(LabelFormat::named("oli", "labels.csv".as_ref()), Some(LabelFormat::OliCsv));
    /// assert_eq!(LabelFormat::named("tagpack", "labels".as_ref()), Some(LabelFormat::TagPack));
    /// ```
    #[must_use]
    pub fn named(name: &str, path: &Path) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            "tagpack" => Some(Self::TagPack),
            "oli" if Self::of(path) == Some(Self::Csv) => Some(Self::OliCsv),
            "oli" => Some(Self::OliJson),
            _ => None,
        }
    }

    /// The name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::TagPack => "tagpack",
            Self::OliJson | Self::OliCsv => "oli",
        }
    }

    /// The fields of claims that the format has no place for.
    #[must_use]
    pub const fn not_written(self) -> &'static [&'static str] {
        match self {
            Self::Csv | Self::Parquet | Self::TagPack => &[],
            Self::OliJson | Self::OliCsv => {
                &["source", "source_url", "group", "level", "confidence", "date_basis", "last_seen"]
            }
        }
    }

    fn writer(self, path: &Path) -> Result<Box<dyn LabelWriter>, ExportError> {
        Ok(match self {
            Self::Csv => Box::new(TableWriter::csv(path)?),
            Self::Parquet => Box::new(TableWriter::parquet(path)?),
            Self::TagPack => Box::new(TagPackWriter::create(path)?),
            Self::OliJson | Self::OliCsv => Box::new(OliWriter::create(path, self)?),
        })
    }
}

/// The counts of an export of labels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelExport {
    /// Claims in the file.
    pub claims: u64,
    /// Claims that the format cannot say, by reason.
    pub left_out: BTreeMap<String, u64>,
}

impl LabelExport {
    fn leave_out(&mut self, reason: impl Into<String>) {
        *self.left_out.entry(reason.into()).or_default() += 1;
    }
}

/// A file of labels in the making.
trait LabelWriter {
    /// Adds a claim, or counts it as left out.
    fn push(&mut self, claim: &Claim<&str>, report: &mut LabelExport) -> Result<(), ExportError>;

    /// Completes the file.
    fn finish(self: Box<Self>, report: &mut LabelExport) -> Result<(), ExportError>;
}

/// Writes the claims in force, of one version or of all lists, and returns their number.
///
/// The claims go list by list, in order of address. An import of the file makes the same claims: plain tables and `TagPacks`
/// carry all fields, tags of OLI those beside [`LabelFormat::not_written`]. Claims that a format cannot say are left out and
/// counted: ended ones and removals in `TagPacks` and tags, codes without a category in tags. An import joins claims of one
/// file that agree in address, chain, code, entity, group and action: of lists that say the same, export each version on
/// its own to keep them apart.
///
/// The file has its name only once it is whole. Takes memory for one batch of rows; for OLI, of which all tags of an address
/// are written together, for all rows.
///
/// # Errors
/// When the labels cannot be read, or the file cannot be written.
pub fn labels(
    table: &LabelTable,
    version: Option<u64>,
    format: LabelFormat,
    path: &Path,
) -> Result<LabelExport, ExportError> {
    let mut writer = format.writer(path)?;
    let mut report = LabelExport::default();
    let mut failed = None;
    let read = table.each(&mut |of, claim| {
        if version.is_none_or(|version| version == of) {
            // The error that stops the walk is returned below.
            failed = writer.push(&claim, &mut report).err();
        }
        if failed.is_some() { Err(LedgerError::from(Cancelled)) } else { Ok(()) }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    read?;
    writer.finish(&mut report)?;
    Ok(report)
}

/// A name as an import reads it back: it decodes references of HTML once.
fn encoded(name: &str) -> Cow<'_, str> {
    let has_reference = name.contains('&') && name.contains(';');
    if has_reference { Cow::Owned(name.replace('&', "&amp;")) } else { Cow::Borrowed(name) }
}

/// A reliability as a number between 0 and 1.
fn in_thousandths(reliability: u16) -> String {
    format!("{}.{:03}", reliability / 1_000, reliability % 1_000)
}

/// Returns why a claim is left out by formats that say what holds and nothing else; `None` where it is not.
fn unsaid(claim: &Claim<&str>) -> Option<&'static str> {
    match (claim.action, claim.valid_until) {
        (Action::Remove, _) => Some("removals of a code"),
        (Action::Add, Some(_)) => Some("claims that ended"),
        (Action::Add, None) => None,
    }
}
