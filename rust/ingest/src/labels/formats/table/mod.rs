//! Plain tables of labels with our own codes: CSV, TSV, JSON lines or an array, Parquet, and frames in memory.

mod columns;
mod flags;

use std::borrow::Cow;
use std::path::Path;

use arrow::array::RecordBatch;
use headwater_ledger::labels::{Action, Code, DateBasis, Level};
use headwater_types::Family;
use rustc_hash::FxHashSet;

use super::name_tag::chain_of_link;
use super::{Files, Format, Given};
use crate::error::{FieldError, RowError};
use crate::labels::concepts::{Concepts, Meaning};
use crate::labels::dates::read_date;
use crate::labels::raw::{ChainHint, RawClaim, RawDateBasis, RawLabels, RawLevel, Vocabulary};
use crate::networks::{Stated, read_cell};
use crate::source::{Content, Counts, Probe, Row, each_row, text_columns};
use crate::{IngestError, Place};
use columns::Columns;
use flags::{Flag, Verdict, is_adverse, names_bystander};

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

/// Returns true if a probe is a table with a column of addresses, by its name.
pub(crate) fn has_address(probe: &Probe) -> bool {
    is_table(probe) && columns::has_address(probe.columns())
}

/// Returns true if a probe has a column that says what its addresses are, by its name.
pub(crate) fn tells(probe: &Probe) -> bool {
    columns::tells(probe.columns())
}

/// Returns whether a text denies a crime: a word for "harmless", or a negation before another word.
pub(super) fn denies_crime(text: &str) -> bool {
    flags::denies_crime(text)
}

/// Returns whether a column of this name may deny rows or end them.
pub(super) fn may_deny(column: &str) -> bool {
    let header = ["address".to_owned(), column.to_owned()];
    let given = Given { code: Some(String::new()), ..Given::default() };
    Columns::of(Path::new(""), &header, &given)
        .is_ok_and(|columns| !columns.flags.is_empty() || columns.has("valid_until") || columns.has("action"))
}

/// Columns of logs and key stores, whose addresses nothing is said about.
const OTHERS: [&str; 3] = ["topics", "crypto", "logIndex"];

fn is_table(probe: &Probe) -> bool {
    let has_rows = match probe.content() {
        Content::Csv | Content::Tsv | Content::Json | Content::Parquet => true,
        Content::Empty | Content::Binary => false,
    };
    has_rows && !OTHERS.iter().any(|column| probe.has(&[column]))
}

fn reads(probe: &Probe) -> bool {
    has_address(probe) && tells(probe)
}

fn read(probes: &[Probe], given: &Given) -> Result<RawLabels, IngestError> {
    let mut raw = RawLabels::default();
    for probe in probes {
        let header = header_of(probe)?;
        let mut rows = Rows::new(Columns::of(probe.path(), &header, given)?, given, raw);
        let asked = rows.columns.asked();
        let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
        each_row(probe.input(), probe.content(), &asked, &mut rows, |row, rows| Ok(rows.add(row)?))?;
        raw = rows.finish();
    }
    Ok(raw)
}

/// Returns the names of the columns: in JSON the members of all rows, since a row may leave out what it does not have.
fn header_of(probe: &Probe) -> Result<Vec<String>, IngestError> {
    let mut header = probe.columns().to_vec();
    if *probe.content() == Content::Json {
        let mut known: FxHashSet<String> = header.iter().cloned().collect();
        let mut members = Members { header: &mut header, known: &mut known };
        each_row(probe.input(), probe.content(), &[], &mut members, |row, members| {
            for name in row.members().filter(|name| !members.known.contains(*name)).collect::<Vec<_>>() {
                members.known.insert(name.to_owned());
                members.header.push(name.to_owned());
            }
            Ok(())
        })?;
    }
    Ok(header)
}

/// The names of the members of all rows, in order of their first row.
struct Members<'h> {
    header: &'h mut Vec<String>,
    known: &'h mut FxHashSet<String>,
}

impl Counts for Members<'_> {
    fn count_row(&mut self, _place: Place) -> Result<(), IngestError> {
        Ok(())
    }

    fn reject(&mut self, error: RowError) -> Result<(), IngestError> {
        Err(IngestError::Row(Box::new(error)))
    }
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
    /// The flags that put a claim in doubt, a bit each, by the place of the claim; known to be flags at the end alone.
    doubts: Vec<(usize, u64)>,
}

impl Rows {
    fn new(columns: Columns, given: &Given, raw: RawLabels) -> Self {
        let concepts = Concepts::of(TABLE.vocabulary).unwrap_or_default();
        Self { columns, concepts, code: given.code.clone(), raw, denied: 0, doubts: Vec::new() }
    }

    fn add(&mut self, row: &Row<'_>) -> Result<(), FieldError> {
        let texts = self.texts(row)?;
        let Some((concepts, doubts)) = self.undenied(row, &texts)? else {
            self.denied += 1;
            return Ok(());
        };
        if doubts != 0 {
            self.doubts.push((self.raw.claims.len(), doubts));
        }
        let columns = &self.columns;
        if ["code", "name", "label", "entity"].iter().any(|field| columns.items(row, field) > 1)
            && columns.items(row, "address") > 1
        {
            let expected = "one address for each row: columns as lists side by side are not read";
            return Err(FieldError::new(columns.name_of("address"), None, expected));
        }
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
            (Some(chain), Some(coin)) if contradicts(&chain, &coin) => ChainHint::Chain(format!("{chain} with {coin}")),
            (Some(chain), _) => ChainHint::Chain(chain),
            (None, Some(coin)) => ChainHint::Ticker(coin),
            // The page of an explorer names the chain too.
            (None, None) => text("source_url")?
                .as_deref()
                .and_then(chain_of_link)
                .map_or(ChainHint::None, |chain| ChainHint::Chain(chain.to_owned())),
        };
        self.raw.claims.push(RawClaim {
            place: Some(row.place()),
            address: text("address")?.unwrap_or_default(),
            chain,
            concepts,
            name: texts.name,
            entity: text("entity")?.filter(|entity| !is_missing(entity)),
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

    /// The code of an address in a row: the caller's code, else that of the column of codes, else a name that is the word of
    /// a code in all its parts. Any other name is a name.
    fn texts(&self, row: &Row<'_>) -> Result<Texts, FieldError> {
        let columns = &self.columns;
        let (name, label) = (columns.value(row, "name")?, columns.value(row, "label")?);
        let text = |cell: Option<Cow<'_, str>>| cell.map(Cow::into_owned).filter(|text| !is_missing(text));
        let (name, label) = (text(name), text(label));
        if let Some(code) = &self.code {
            return Ok(Texts { concepts: vec![code.clone()], name: name.or(label) });
        }
        let of_label = label.as_deref().and_then(|label| self.known_concepts(label));
        if columns.has("code") {
            let concepts =
                columns.value(row, "code")?.as_deref().map(|text| self.concepts_of(text)).unwrap_or_default();
            // A name beside a column of codes is a name; a label counts where the cell of the code says nothing.
            let is_telling = concepts.iter().any(|word| self.code_of(word).is_some());
            let concepts = if is_telling { concepts } else { of_label.unwrap_or(concepts) };
            return Ok(Texts { concepts, name: name.or(label) });
        }
        let (label, of_label) = if of_label.is_some() { (None, of_label) } else { (label, None) };
        let of_name = || name.as_deref().and_then(|name| self.known_concepts(name));
        let concepts = of_label.or_else(of_name).unwrap_or_default();
        // The class of a row is not a name.
        let label = label.filter(|label| label.trim().parse::<f64>().is_err());
        Ok(Texts { concepts, name: name.or(label) })
    }

    /// The words of a cell of codes: the whole cell where it is a word, else its parts.
    fn concepts_of(&self, cell: &str) -> Vec<String> {
        self.known_concepts(cell).unwrap_or_else(|| parts(cell).map(str::to_owned).collect())
    }

    /// The words of a cell, where the whole cell or each of its parts is a word with a code.
    fn known_concepts(&self, cell: &str) -> Option<Vec<String>> {
        let is_known = |text: &str| !text.contains('?') && matches!(self.concepts.meaning(text), Meaning::Code(_));
        if is_known(cell) {
            return Some(vec![cell.trim().to_owned()]);
        }
        let words: Vec<String> = parts(cell).map(str::to_owned).collect();
        (!words.is_empty() && words.iter().all(|word| is_known(word))).then_some(words)
    }

    /// Returns the words of a row that no flag denies, with those that flags affirm, and the flags that put it in doubt;
    /// `None` where the row is denied.
    fn undenied(&mut self, row: &Row<'_>, texts: &Texts) -> Result<Option<(Vec<String>, u64)>, FieldError> {
        let mut flags = std::mem::take(&mut self.columns.flags);
        let mut cells = Vec::with_capacity(flags.len());
        for flag in &mut flags {
            let value = row.text(&flag.column)?.filter(|value| !is_missing(value));
            cells.push(flag.read(value.as_deref()));
        }
        let mut kept = texts.concepts.clone();
        let (mut is_denied, mut denies_code) = (false, false);
        let given = self.code.as_deref().and_then(|code| self.code_of(code));
        for (flag, cell) in flags.iter_mut().zip(&cells) {
            let before = kept.len();
            if *cell == Verdict::Harmless {
                kept.retain(|word| !self.code_of(word).is_some_and(is_adverse));
                if kept.len() < before {
                    flag.count();
                }
            }
            if *cell != Verdict::Denied {
                continue;
            }
            if given.is_some_and(|given| flag.must_affirm(given)) {
                continue;
            }
            kept.retain(|word| !self.code_of(word).is_some_and(|code| flag.denies(code)));
            is_denied |= flag.denies_row();
            denies_code |= flag.code().is_some();
            if flag.denies_row() || kept.len() < before {
                flag.count();
            }
        }
        let doubts = self.doubts_of(&flags, &cells, &kept);
        match given {
            None => {
                let affirmed = flags.iter().zip(&cells).filter(|(_, cell)| **cell == Verdict::Affirmed);
                kept.extend(affirmed.filter_map(|(flag, _)| Some(flag.code()?.name().to_owned())));
            }
            Some(given) => {
                let of = |verdict, is_asked: &dyn Fn(&Flag) -> bool| {
                    flags.iter().zip(&cells).any(|(flag, cell)| is_asked(flag) && *cell == verdict)
                };
                let is_asked = |flag: &Flag| flag.must_affirm(given);
                let is_affirmed = of(Verdict::Affirmed, &|flag| flag.affirms(given));
                if of(Verdict::Denied, &is_asked) && !is_affirmed {
                    is_denied = true;
                    let asked = flags.iter_mut().zip(&cells).filter(|(flag, _)| flag.must_affirm(given));
                    asked.filter(|(_, cell)| **cell == Verdict::Denied).for_each(|(flag, _)| flag.count());
                }
            }
        }
        self.columns.flags = flags;
        // A row of flags alone that are all false says nothing of its address.
        let has_name = ["name", "label", "entity"].iter().any(|field| self.columns.has(field));
        is_denied |= kept.is_empty() && (!texts.concepts.is_empty() || (denies_code && !has_name));
        let is_bystander = texts.name.as_deref().is_some_and(names_bystander);
        is_denied |= is_bystander && given.is_some_and(is_adverse);
        Ok((!is_denied).then_some((kept, doubts)))
    }

    /// Returns the flags, a bit each, of which a cell cannot be read and without which the row may not hold.
    fn doubts_of(&self, flags: &[Flag], cells: &[Verdict], kept: &[String]) -> u64 {
        let given = self.code.as_deref().and_then(|code| self.code_of(code));
        let is_affirmed = |given: Code| {
            let mut says = flags.iter().zip(cells).filter(|(flag, _)| flag.affirms(given));
            says.any(|(_, cell)| *cell == Verdict::Affirmed)
        };
        let is_in_doubt = |flag: &Flag, cell: Verdict| match (cell, given) {
            (Verdict::Affirmed | Verdict::Denied | Verdict::Harmless, _) => false,
            (_, Some(given)) if flag.must_affirm(given) => !is_affirmed(given),
            (Verdict::Unknown, _) => flag.doubts(None) && (flag.denies_row() || self.is_about(flag, kept)),
            (Verdict::Blank, given) => given.is_some() && flag.doubts_blank(),
        };
        let bits = (0..64_u32).zip(flags.iter().zip(cells)).filter(|(_, (flag, cell))| is_in_doubt(flag, **cell));
        bits.fold(0, |doubts, (bit, _)| doubts | 1 << bit)
    }

    /// Returns whether a flag is about one of the codes of a row.
    fn is_about(&self, flag: &Flag, kept: &[String]) -> bool {
        kept.iter().any(|word| self.code_of(word).is_some_and(|code| flag.doubts(Some(code))))
    }

    /// Leaves out the rows in doubt, now that it is known which columns are flags.
    fn leave_out_doubts(&mut self) {
        let bits = (0..64_u32).zip(&self.columns.flags).filter(|(_, flag)| flag.has_spoken());
        let spoken = bits.fold(0_u64, |spoken, (bit, _)| spoken | 1 << bit);
        let in_doubt: FxHashSet<usize> =
            self.doubts.iter().filter(|(_, doubts)| doubts & spoken != 0).map(|(place, _)| *place).collect();
        self.denied += u64::try_from(in_doubt.len()).unwrap_or(u64::MAX);
        let mut place = 0;
        self.raw.claims.retain(|_| {
            place += 1;
            !in_doubt.contains(&(place - 1))
        });
    }

    fn code_of(&self, word: &str) -> Option<Code> {
        match self.concepts.meaning(word) {
            Meaning::Code(code) => Some(code),
            Meaning::NoCode | Meaning::Unreviewed => None,
        }
    }

    /// The statements, with what a person should know of the columns.
    fn finish(mut self) -> RawLabels {
        self.leave_out_doubts();
        self.raw.warnings.extend(self.columns.unread());
        self.raw.warnings.extend(self.columns.flags.iter().filter_map(Flag::unknown_values));
        let denied: Vec<String> = self.columns.flags.iter().filter_map(Flag::shown).collect();
        if self.denied > 0 || !denied.is_empty() {
            let columns = if denied.is_empty() { "all of their flags are false".to_owned() } else { denied.join(", ") };
            self.raw.warnings.push(format!("rows left out because a column denies them: {} ({columns})", self.denied));
        }
        self.raw.denied += self.denied;
        self.raw
    }
}

/// Returns whether a coin has its own chain, with addresses as those of the chain that is named: `bitcoin` with `BCH`.
pub(super) fn contradicts(chain: &str, coin: &str) -> bool {
    match (read_cell(chain), read_cell(coin)) {
        (Stated::One(chain), Stated::One(coin)) => coin.is_like(Family::Utxo) && coin.name != chain.name,
        _ => false,
    }
}

/// Returns whether a cell says that it has no value.
fn is_missing(text: &str) -> bool {
    const MISSING: [&str; 6] = ["null", "none", "nan", "n/a", "na", "nil"];
    let text = text.trim();
    !text.contains(char::is_alphanumeric) || MISSING.iter().any(|missing| text.eq_ignore_ascii_case(missing))
}

/// The code of an address in a row.
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

/// Returns the basis of the date of a row: the address, unless the table has a column for it.
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

/// Returns true if a claim says that it does not hold for the cluster of its address.
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
