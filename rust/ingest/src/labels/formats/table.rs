//! Plain tables of labels with our own codes: CSV, TSV, JSON lines or an array, Parquet, and frames in memory.

use std::borrow::Cow;
use std::path::Path;

use arrow::array::RecordBatch;
use headwater_ledger::labels::{Action, DateBasis, Level};
use headwater_types::Timestamp;

use super::{Files, Format, Given};
use crate::error::{FieldError, RowError};
use crate::labels::raw::{ChainHint, RawClaim, RawDateBasis, RawLabels, RawLevel, Vocabulary};
use crate::source::{Content, Counts, Probe, Row, each_row, text_columns, time_of};
use crate::{IngestError, Place};

pub(crate) const TABLE: Format = Format {
    name: "table",
    // A table of one's own is a source of its own, by its name.
    source: "",
    group: "",
    level: Level::Unknown,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

/// Our columns, each with the names that it may have, the first one found counts.
const COLUMNS: &[&[&str]] = &[
    &["address"],
    &["chain", "blockchain", "network"],
    &["code", "category", "label"],
    &["name", "nametag", "label"],
    &["entity"],
    &["source"],
    &["source_url", "url"],
    &["group", "provenance_group"],
    &["level"],
    &["confidence"],
    &["asserted_at", "first_seen", "date"],
    &["date_basis"],
    &["last_seen"],
    &["valid_until"],
    &["action"],
    &["is_cluster_definer"],
];

/// Columns of which a table needs one, besides the address.
const TELLING: [&str; 6] = ["code", "category", "label", "name", "nametag", "entity"];

fn reads(probe: &Probe) -> bool {
    let is_table = match probe.content() {
        Content::Csv | Content::Tsv | Content::Json | Content::Parquet => true,
        Content::Empty | Content::Binary => false,
    };
    is_table && probe.has(&["address"]) && TELLING.iter().any(|column| probe.has(&[column]))
}

fn read(probes: &[Probe], given: &Given) -> Result<RawLabels, IngestError> {
    let mut rows = Rows { names: Names::of(given, probes.first().map(Probe::path))?, raw: RawLabels::default() };
    let columns = rows.names.all();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    for probe in probes {
        rows.names.check(probe.path(), probe.columns(), given)?;
        each_row(probe.input(), probe.content(), &columns, &mut rows, |row, rows| Ok(rows.add(row)?))?;
    }
    Ok(rows.raw)
}

/// Reads a frame under the same names; `name` stands for the file in errors.
pub(crate) fn read_frame(name: &str, frame: &[RecordBatch], given: &Given) -> Result<RawLabels, IngestError> {
    let path = Path::new(name);
    let wrong = |place, field| IngestError::Row(Box::new(RowError { file: path.to_owned(), place, field }));
    let mut rows = Rows { names: Names::of(given, Some(path))?, raw: RawLabels::default() };
    let mut number = 0;
    for batch in frame {
        let columns: Vec<String> = batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
        rows.names.check(path, &columns, given)?;
        // Columns that nothing reads may be of any type.
        let known = rows.names.all();
        let is_read = |name: &String| known.iter().any(|known| known.eq_ignore_ascii_case(name));
        let places: Vec<usize> =
            (0..).zip(&columns).filter(|(_, name)| is_read(name)).map(|(place, _)| place).collect();
        let batch = batch
            .project(&places)
            .map_err(|error| wrong(Place::Row(number), FieldError::new("row", None, error.to_string())))?;
        let (header, text) = text_columns(&batch).map_err(|field| wrong(Place::Row(number + 1), field))?;
        for row in 0..batch.num_rows() {
            number += 1;
            rows.add(&Row::frame(&text, &header, row, number)).map_err(|field| wrong(Place::Row(number), field))?;
        }
    }
    Ok(rows.raw)
}

/// The names of our columns in the file.
struct Names {
    /// Ours, and what it may be called.
    columns: Vec<(&'static str, Vec<String>)>,
    /// Whether the label is the name, as it is where another column has the code.
    is_label_name: bool,
    /// Whether the file says what its dates belong to.
    has_basis: bool,
}

impl Names {
    fn of(given: &Given, path: Option<&Path>) -> Result<Self, IngestError> {
        let mut columns: Vec<(&'static str, Vec<String>)> = COLUMNS
            .iter()
            .filter_map(|names| Some((*names.first()?, names.iter().map(|name| (*name).to_owned()).collect())))
            .collect();
        for (ours, theirs) in &given.columns {
            let is_ours = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(ours));
            let place = COLUMNS.iter().position(|names| is_ours(names));
            let Some((_, names)) = place.and_then(|place| columns.get_mut(place)) else {
                let known: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
                let why = format!("{ours:?} is no column of labels; they are {}", known.join(", "));
                return Err(missing(path.unwrap_or_else(|| Path::new("labels")), why));
            };
            *names = vec![theirs.clone()];
        }
        Ok(Self { columns, is_label_name: true, has_basis: false })
    }

    /// All names that may be asked for.
    fn all(&self) -> Vec<String> {
        let mut all: Vec<String> = self.columns.iter().flat_map(|(_, names)| names.iter().cloned()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Whether a table has what labels need.
    fn check(&mut self, path: &Path, columns: &[String], given: &Given) -> Result<(), IngestError> {
        let has = |name: &str| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        for (_, theirs) in &given.columns {
            if !has(theirs) {
                return Err(missing(
                    path,
                    format!("it has no column {theirs:?}; its columns are {}", columns.join(", ")),
                ));
            }
        }
        let is_there =
            |ours: &str| self.columns.iter().any(|(name, names)| *name == ours && names.iter().any(|name| has(name)));
        if !is_there("address") {
            let why = format!(
                "it has no column \"address\"; name the one that is it: address=..., of {}",
                columns.join(", ")
            );
            return Err(missing(path, why));
        }
        let tells = ["code", "name", "entity"].iter().any(|column| is_there(column));
        if !tells && given.code.is_none() && given.entity.is_none() {
            let why = "no column says what an address is: code (or category, label), name or entity".to_owned();
            return Err(IngestError::MissingOption { path: path.to_owned(), option: "--code", why });
        }
        let is_mapped = |column: &str| given.columns.iter().any(|(ours, _)| ours.eq_ignore_ascii_case(column));
        self.has_basis = is_there("date_basis");
        self.is_label_name = has("code") || has("category") || is_mapped("code") || is_mapped("category");
        Ok(())
    }

    /// The value of one of our columns.
    fn value<'r>(&self, row: &Row<'r>, ours: &str) -> Result<Option<Cow<'r, str>>, FieldError> {
        let Some((_, names)) = self.columns.iter().find(|(name, _)| *name == ours) else { return Ok(None) };
        for name in names {
            if ours == "name" && name == "label" && !self.is_label_name {
                continue;
            }
            if let Some(value) = row.text(name)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

fn missing(path: &Path, why: String) -> IngestError {
    IngestError::MissingOption { path: path.to_owned(), option: "--column", why }
}

struct Rows {
    names: Names,
    raw: RawLabels,
}

impl Rows {
    fn add(&mut self, row: &Row<'_>) -> Result<(), FieldError> {
        let names = &self.names;
        let text = |column: &str| Ok(names.value(row, column)?.map(Cow::into_owned));
        let time = |column: &str| match names.value(row, column)? {
            Some(value) => told(&value)
                .map(Some)
                .ok_or_else(|| FieldError::new(column, Some(&value), "a date, a time or epoch seconds")),
            None => Ok(None),
        };
        let (asserted_at, valid_until) = (time("asserted_at")?, time("valid_until")?);
        if asserted_at.zip(valid_until).is_some_and(|(from, until)| until < from) {
            let until = names.value(row, "valid_until")?;
            return Err(FieldError::new("valid_until", until.as_deref(), "a time not before asserted_at"));
        }
        let concepts = names.value(row, "code")?.unwrap_or_default();
        let concepts = concepts.split([',', ';', '|']).map(str::trim).filter(|concept| !concept.is_empty());
        self.raw.claims.push(RawClaim {
            place: Some(row.place()),
            address: text("address")?.unwrap_or_default(),
            chain: text("chain")?.map_or(ChainHint::None, ChainHint::Chain),
            concepts: concepts.map(str::to_owned).collect(),
            name: text("name")?,
            entity: text("entity")?,
            source: text("source")?,
            source_url: text("source_url")?,
            group: text("group")?,
            level: text("level")?.map(RawLevel::Stated),
            confidence: text("confidence")?,
            asserted_at,
            date_basis: date_basis(names.value(row, "date_basis")?.as_deref(), names.has_basis)?,
            last_seen: time("last_seen")?,
            valid_until,
            action: action(names.value(row, "action")?.as_deref())?,
            is_address_only: is_address_only(text("is_cluster_definer")?.as_deref())?,
        });
        Ok(())
    }
}

fn action(text: Option<&str>) -> Result<Action, FieldError> {
    match text {
        None => Ok(Action::Add),
        Some(text) if text.eq_ignore_ascii_case("add") => Ok(Action::Add),
        Some(text) if text.eq_ignore_ascii_case("remove") => Ok(Action::Remove),
        Some(text) => Err(FieldError::new("action", Some(text), "add or remove")),
    }
}

/// What the date of a row belongs to: the address, unless the table has a column for it.
fn date_basis(text: Option<&str>, has_column: bool) -> Result<RawDateBasis, FieldError> {
    match text {
        None if has_column => Ok(RawDateBasis::Unknown),
        None => Ok(RawDateBasis::Address),
        Some(text) => match DateBasis::from_name(&text.to_ascii_lowercase()) {
            Some(DateBasis::Address) => Ok(RawDateBasis::Address),
            Some(DateBasis::Entity) => Ok(RawDateBasis::Entity),
            None => Err(FieldError::new("date_basis", Some(text), "address or entity")),
        },
    }
}

/// Whether a claim says that it does not hold for the cluster of its address.
fn is_address_only(is_cluster_definer: Option<&str>) -> Result<bool, FieldError> {
    match is_cluster_definer {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(true),
        Some(text) => Err(FieldError::new("is_cluster_definer", Some(text), "true or false")),
    }
}

/// A time as tables write it; a date alone is its first second.
fn told(text: &str) -> Option<Timestamp> {
    time_of(text).or_else(|| text.contains('-').then(|| text.parse().ok()).flatten())
}

impl Counts for Rows {
    fn count_row(&mut self, _place: Place) -> Result<(), IngestError> {
        Ok(())
    }

    fn reject(&mut self, error: RowError) -> Result<(), IngestError> {
        Err(IngestError::Row(Box::new(error)))
    }
}
