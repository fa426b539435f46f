//! Plain tables of labels with our own codes: CSV, TSV, JSON lines or an array, Parquet, and frames in memory.

mod columns;
mod flags;

use std::borrow::Cow;
use std::path::Path;

use arrow::array::RecordBatch;
use headwater_ledger::labels::{Action, Code, DateBasis, Level};

use super::{Files, Format, Given};
use crate::error::{FieldError, RowError};
use crate::labels::concepts::{Concepts, Meaning};
use crate::labels::dates::read_date;
use crate::labels::raw::{ChainHint, RawClaim, RawDateBasis, RawLabels, RawLevel, Vocabulary};
use crate::source::{Content, Counts, Probe, Row, each_row, text_columns};
use crate::{IngestError, Place};
use columns::Columns;
use flags::{Flag, Verdict};

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

/// Whether a probe is a table with a column of addresses, by its name.
pub(crate) fn has_address(probe: &Probe) -> bool {
    is_table(probe) && columns::has_address(probe.columns())
}

fn is_table(probe: &Probe) -> bool {
    match probe.content() {
        Content::Csv | Content::Tsv | Content::Json | Content::Parquet => true,
        Content::Empty | Content::Binary => false,
    }
}

fn reads(probe: &Probe) -> bool {
    has_address(probe) && columns::tells(probe.columns())
}

fn read(probes: &[Probe], given: &Given) -> Result<RawLabels, IngestError> {
    let mut raw = RawLabels::default();
    for probe in probes {
        let mut rows = Rows::new(Columns::of(probe.path(), probe.columns(), given)?, given, raw);
        let asked = rows.columns.asked();
        let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
        each_row(probe.input(), probe.content(), &asked, &mut rows, |row, rows| Ok(rows.add(row)?))?;
        raw = rows.finish();
    }
    Ok(raw)
}

/// Reads a frame under the same names; `name` stands for the file in errors.
pub(crate) fn read_frame(name: &str, frame: &[RecordBatch], given: &Given) -> Result<RawLabels, IngestError> {
    let path = Path::new(name);
    let wrong = |place, field| IngestError::Row(Box::new(RowError { file: path.to_owned(), place, field }));
    let Some(first) = frame.first() else { return Ok(RawLabels::default()) };
    let header: Vec<String> = first.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
    let mut rows = Rows::new(Columns::of(path, &header, given)?, given, RawLabels::default());
    let asked = rows.columns.asked();
    let mut number = 0;
    for batch in frame {
        // Columns that nothing reads may be of any type.
        let fields = batch.schema_ref().fields();
        let places: Vec<usize> =
            (0..).zip(fields).filter(|(_, field)| asked.contains(field.name())).map(|(place, _)| place).collect();
        let batch = batch
            .project(&places)
            .map_err(|error| wrong(Place::Row(number), FieldError::new("row", None, error.to_string())))?;
        let (header, text) = text_columns(&batch).map_err(|field| wrong(Place::Row(number + 1), field))?;
        for row in 0..batch.num_rows() {
            number += 1;
            rows.add(&Row::frame(&text, &header, row, number)).map_err(|field| wrong(Place::Row(number), field))?;
        }
    }
    Ok(rows.finish())
}

/// The rows of one file on their way into statements.
struct Rows {
    columns: Columns,
    concepts: Concepts,
    /// The code that the caller gives: all rows have it, and no column is asked.
    code: Option<String>,
    raw: RawLabels,
    denied: u64,
}

impl Rows {
    fn new(columns: Columns, given: &Given, raw: RawLabels) -> Self {
        let concepts = Concepts::of(TABLE.vocabulary).unwrap_or_default();
        Self { columns, concepts, code: given.code.clone(), raw, denied: 0 }
    }

    fn add(&mut self, row: &Row<'_>) -> Result<(), FieldError> {
        let texts = self.texts(row)?;
        let Some(concepts) = self.undenied(row, texts.concepts)? else {
            self.denied += 1;
            return Ok(());
        };
        let columns = &self.columns;
        let text = |field: &str| Ok(columns.value(row, field)?.map(Cow::into_owned));
        let time = |field: &str| match columns.value(row, field)? {
            Some(value) => {
                read_date(&value).map_err(|expected| FieldError::new(columns.name_of(field), Some(&value), expected))
            }
            None => Ok(None),
        };
        let (asserted_at, valid_until) = (time("asserted_at")?, time("valid_until")?);
        if asserted_at.zip(valid_until).is_some_and(|(from, until)| until < from) {
            let until = columns.value(row, "valid_until")?;
            let column = columns.name_of("valid_until");
            return Err(FieldError::new(column, until.as_deref(), "a time not before asserted_at"));
        }
        let chain = match (text("chain")?, text("coin")?) {
            (Some(chain), _) => ChainHint::Chain(chain),
            (None, Some(coin)) => ChainHint::Ticker(coin),
            (None, None) => ChainHint::None,
        };
        self.raw.claims.push(RawClaim {
            place: Some(row.place()),
            address: text("address")?.unwrap_or_default(),
            chain,
            concepts,
            name: texts.name,
            entity: text("entity")?,
            source: text("source")?,
            source_url: text("source_url")?,
            group: text("group")?,
            level: text("level")?.map(RawLevel::Stated),
            confidence: text("confidence")?,
            asserted_at,
            date_basis: date_basis(columns.value(row, "date_basis")?.as_deref(), columns.has("date_basis"))?,
            last_seen: time("last_seen")?,
            valid_until,
            action: action(columns.value(row, "action")?.as_deref())?,
            is_address_only: is_address_only(text("is_cluster_definer")?.as_deref())?,
        });
        Ok(())
    }

    /// What a row says an address is: the caller's code, else that of the column of codes, else a name that is the word of
    /// a code in all its parts. Any other name is a name.
    fn texts(&self, row: &Row<'_>) -> Result<Texts, FieldError> {
        let columns = &self.columns;
        let (name, label) = (columns.value(row, "name")?, columns.value(row, "label")?);
        let (name, label) = (name.map(Cow::into_owned), label.map(Cow::into_owned));
        if let Some(code) = &self.code {
            return Ok(Texts { concepts: vec![code.clone()], name: name.or(label) });
        }
        if columns.has("code") {
            let concepts =
                columns.value(row, "code")?.as_deref().map(|text| self.concepts_of(text)).unwrap_or_default();
            return Ok(Texts { concepts, name: name.or(label) });
        }
        let of_label = label.as_deref().and_then(|label| self.known_concepts(label));
        let (label, of_label) = if of_label.is_some() { (None, of_label) } else { (label, None) };
        let of_name = || name.as_deref().and_then(|name| self.known_concepts(name));
        let concepts = of_label.or_else(of_name).unwrap_or_default();
        Ok(Texts { concepts, name: name.or(label) })
    }

    /// The words of a cell of codes: the whole cell where it is a word, else its parts.
    fn concepts_of(&self, cell: &str) -> Vec<String> {
        self.known_concepts(cell).unwrap_or_else(|| parts(cell).map(str::to_owned).collect())
    }

    /// The words of a cell, where the whole cell or each of its parts is a word with a code.
    fn known_concepts(&self, cell: &str) -> Option<Vec<String>> {
        let is_known = |text: &str| matches!(self.concepts.meaning(text), Meaning::Code(_));
        if is_known(cell) {
            return Some(vec![cell.trim().to_owned()]);
        }
        let words: Vec<String> = parts(cell).map(str::to_owned).collect();
        (!words.is_empty() && words.iter().all(|word| is_known(word))).then_some(words)
    }

    /// The words of a row that no flag denies, with those that flags affirm; `None` where flags deny the row.
    fn undenied(&mut self, row: &Row<'_>, mut concepts: Vec<String>) -> Result<Option<Vec<String>>, FieldError> {
        let had_words = !concepts.is_empty();
        let mut is_denied = false;
        let mut flags = std::mem::take(&mut self.columns.flags);
        for flag in &mut flags {
            let Some(value) = row.text(&flag.column)? else { continue };
            match flag.read(&value) {
                Some(Verdict::Denied) => {
                    let before = concepts.len();
                    concepts.retain(|word| !flag.denies(self.code_of(word)));
                    let denies_row = flag.denies(None) || (concepts.is_empty() && before > 0);
                    flag.denied += u64::from(denies_row || concepts.len() < before);
                    is_denied |= denies_row;
                }
                Some(Verdict::Affirmed) if self.code.is_none() => {
                    concepts.extend(flag.code().map(|code| code.name().to_owned()));
                }
                Some(Verdict::Affirmed) | None => {}
            }
        }
        let denied_all_codes = !had_words && concepts.is_empty() && flags.iter().any(|flag| flag.code().is_some());
        self.columns.flags = flags;
        // A row of flags alone that are all false says nothing of its address.
        let is_empty = denied_all_codes && !["name", "label", "entity"].iter().any(|field| self.columns.has(field));
        Ok((!is_denied && !is_empty).then_some(concepts))
    }

    fn code_of(&self, word: &str) -> Option<Code> {
        match self.concepts.meaning(word) {
            Meaning::Code(code) => Some(code),
            Meaning::NoCode | Meaning::Unreviewed => None,
        }
    }

    /// The statements, with what a person should know of the columns.
    fn finish(mut self) -> RawLabels {
        self.raw.warnings.extend(self.columns.unread());
        let denied: Vec<String> = self.columns.flags.iter().filter(|flag| flag.denied > 0).map(Flag::shown).collect();
        if self.denied > 0 {
            let columns = if denied.is_empty() { "their flags".to_owned() } else { denied.join(", ") };
            self.raw
                .warnings
                .push(format!("rows without a claim, since a column denies it: {} ({columns})", self.denied));
        }
        self.raw.denied += self.denied;
        self.raw
    }
}

/// What a row says an address is.
struct Texts {
    concepts: Vec<String>,
    name: Option<String>,
}

fn parts(cell: &str) -> impl Iterator<Item = &str> {
    cell.split([',', ';', '|']).map(str::trim).filter(|part| !part.is_empty())
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

impl Counts for Rows {
    fn count_row(&mut self, _place: Place) -> Result<(), IngestError> {
        Ok(())
    }

    fn reject(&mut self, error: RowError) -> Result<(), IngestError> {
        Err(IngestError::Row(Box::new(error)))
    }
}
