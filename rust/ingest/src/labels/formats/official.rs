//! Parts that the readers of official lists share. Such a list is read whole or not at all: a row that is lost would end its
//! claim.

use std::collections::HashMap;

use headwater_ledger::labels::Code;
use headwater_types::Timestamp;

use super::super::raw::{ChainHint, RawClaim, RawLabels};
use crate::error::{Fault, RowError};
use crate::source::{Counts, Input, Probe, Row, each_row, plain_number};
use crate::{FieldError, IngestError, Place};

/// A claim of this code.
pub(super) fn claim(code: Code, place: Place, address: impl Into<String>, chain: ChainHint) -> RawClaim {
    RawClaim {
        place: Some(place),
        address: address.into(),
        chain,
        concepts: vec![code.name().to_owned()],
        ..RawClaim::default()
    }
}

/// The hint of a column that names a coin in some rows.
pub(super) fn ticker(text: Option<&str>) -> ChainHint {
    let name = text.map(str::trim).filter(|name| !name.is_empty() && *name != "-");
    name.map_or(ChainHint::AnyEvm, |name| ChainHint::Ticker(name.to_owned()))
}

/// Reads the rows of a table with a header; a row that cannot be read is an error.
pub(super) fn each_list_row(
    probe: &Probe,
    columns: &[&str],
    labels: &mut RawLabels,
    mut handle: impl FnMut(&Row<'_>, &mut RawLabels) -> Result<(), Fault>,
) -> Result<(), IngestError> {
    each_row(probe.input(), probe.content(), columns, &mut Whole(labels), |row: &Row<'_>, whole: &mut Whole<'_>| {
        handle(row, whole.0)
    })
}

struct Whole<'l>(&'l mut RawLabels);

impl Counts for Whole<'_> {
    fn count_row(&mut self, _place: Place) -> Result<(), IngestError> {
        Ok(())
    }

    fn reject(&mut self, error: RowError) -> Result<(), IngestError> {
        Err(IngestError::Row(Box::new(error)))
    }
}

/// One record of a comma separated file, with the blanks around its fields.
pub(super) struct Record {
    pub(super) place: Place,
    fields: csv::StringRecord,
}

/// The character with which DOS ends a text.
const END_OF_TEXT: char = '\u{1a}';

impl Record {
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field as it is written; empty where the record has so many not.
    pub(super) fn field(&self, column: usize) -> &str {
        self.fields.get(column).unwrap_or_default()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.fields.iter()
    }
}

/// Reads the records of a comma separated file in which rows of other lengths, without a header or above it, have a
/// meaning.
pub(super) fn each_record(
    input: &Input,
    handle: impl FnMut(&Record) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    each_divided_record(input, b',', handle)
}

/// The same of a file with another mark between its fields.
pub(super) fn each_divided_record(
    input: &Input,
    delimiter: u8,
    mut handle: impl FnMut(&Record) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let content = input.read_document()?;
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content);
    let mut rows = csv::ReaderBuilder::new();
    let mut reader = rows.has_headers(false).flexible(true).delimiter(delimiter).from_reader(content);
    for record in reader.byte_records() {
        let record = record.map_err(|error| {
            let line = error.position().map(|position| Place::Line(position.line()));
            input.damaged(line, error.to_string())
        })?;
        let place = Place::Line(record.position().map_or(0, |position| {
            // Of a line end of two bytes the second one is read with the record that follows.
            let byte = usize::try_from(position.byte()).ok().and_then(|byte| content.get(byte));
            position.line() + u64::from(byte == Some(&b'\n'))
        }));
        let fields = csv::StringRecord::from_byte_record_lossy(record);
        if !fields.iter().all(|field| field.trim_matches([END_OF_TEXT, ' ']).is_empty()) {
            handle(&Record { place, fields })?;
        }
    }
    Ok(())
}

/// An error about one record.
pub(super) fn wrong(input: &Input, place: Place, column: &str, value: &str, expected: &str) -> IngestError {
    let field = FieldError::new(column, Some(value), expected);
    IngestError::Row(Box::new(RowError { file: input.path().to_owned(), place, field }))
}

/// The form of the dates of a list.
#[derive(Clone, Copy)]
pub(super) enum Dates {
    /// `2025-02-24`, with or without a time of day.
    Iso,
    /// `28/10/2025`, `05.04.2026`.
    DayFirst,
    /// `03/04/2025` is in March.
    MonthFirst,
}

impl Dates {
    /// The first second of the day; `None` for anything else, a year alone included.
    pub(super) fn read(self, text: &str) -> Option<Timestamp> {
        let text = text.trim();
        let parts: Vec<&str> = text.split(['/', '.', '-']).collect();
        let numbers = |parts: &[&str]| parts.iter().map(|part| plain_number::<u32>(part)).collect::<Option<Vec<_>>>();
        match self {
            Self::Iso if parts.first().is_some_and(|year| year.len() == 4) && parts.len() >= 3 => text.parse().ok(),
            Self::Iso => None,
            Self::DayFirst | Self::MonthFirst => {
                let [first, second, year] = parts[..] else { return None };
                let [first, second, year] = numbers(&[first, second, year])?[..] else { return None };
                let (day, month) = if matches!(self, Self::DayFirst) { (first, second) } else { (second, first) };
                date(year, month, day)
            }
        }
    }
}

/// The first second of a day.
pub(super) fn date(year: u32, month: u32, day: u32) -> Option<Timestamp> {
    // A year of two digits names no century.
    (year >= 1_000).then(|| format!("{year}-{month:02}-{day:02}").parse().ok()).flatten()
}

/// The number of a month by its English name, of which three letters are enough.
pub(super) fn month(name: &str) -> Option<u32> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = name.to_ascii_lowercase();
    (1..).zip(MONTHS).find(|(_, month)| name.starts_with(month)).map(|(number, _)| number)
}

/// The first date of several fields; a warning where one of them is written in another way.
pub(super) fn first_date(
    labels: &mut RawLabels,
    place: Place,
    fields: &[(&str, Option<&str>)],
    forms: &[Dates],
) -> Option<Timestamp> {
    for (column, text) in fields {
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { continue };
        match forms.iter().find_map(|form| form.read(text)) {
            Some(date) => return Some(date),
            None => {
                labels.warnings.push(format!("{place}: column {column:?} is {text:?}, which is not a date: left out"));
            }
        }
    }
    None
}

/// The parties of a list that has a row for each of their names: their claims get the name once all rows are read.
#[derive(Default)]
pub(super) struct Parties {
    names: HashMap<String, (Rank, String)>,
    /// The party of each claim, by its place in the list of claims.
    claims: Vec<(usize, String)>,
}

/// The rank of a name of a party.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// The list calls it the main one.
    Primary,
    /// Any other.
    Other,
}

impl Parties {
    /// Notes a name; of one rank the first stands.
    pub(super) fn note_name(&mut self, party: &str, rank: Rank, name: &str) {
        let name = name.trim();
        if name.is_empty() || self.names.get(party).is_some_and(|(known, _)| *known <= rank) {
            return;
        }
        self.names.insert(party.to_owned(), (rank, name.to_owned()));
    }

    /// Adds a claim about a party.
    pub(super) fn add(&mut self, labels: &mut RawLabels, party: &str, claim: RawClaim) {
        self.claims.push((labels.claims.len(), party.to_owned()));
        labels.claims.push(claim);
    }

    /// Names the parties of all claims.
    pub(super) fn name_claims(self, labels: &mut RawLabels) {
        for (claim, party) in self.claims {
            labels.claims[claim].entity = self.names.get(&party).map(|(_, name)| name.clone());
        }
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::super::{FORMATS, Format, Given};
    use super::*;
    use crate::source::Bounds;

    /// The files of one import, by their names.
    pub(in super::super) fn read(format: &Format, files: &[(&str, &str)]) -> Result<RawLabels, IngestError> {
        let folder = tempfile::tempdir().unwrap();
        let probes: Vec<Probe> = files
            .iter()
            .map(|(name, content)| {
                let path = folder.path().join(name);
                std::fs::write(&path, content).unwrap();
                let probe = Probe::new(Input::new(&path, &Bounds::default()).unwrap()).unwrap().unwrapped();
                let taken = FORMATS.iter().find(|format| (format.reads)(&probe)).map(|format| format.name);
                assert_eq!(taken, Some(format.name), "{name}");
                probe
            })
            .collect();
        format.read(&probes, &Given::default())
    }

    /// Address, chain, entity, first and last day of each claim, the day as text.
    pub(in super::super) fn rows(labels: &RawLabels) -> Vec<(&str, &ChainHint, Option<&str>, String, String)> {
        let day = |time: Option<Timestamp>| time.map(|time| time.to_string().replace("T00:00:00Z", ""));
        let claims = labels.claims.iter();
        claims
            .map(|claim| {
                let (since, until) = (day(claim.asserted_at), day(claim.valid_until));
                let (since, until) = (since.unwrap_or_default(), until.unwrap_or_default());
                (claim.address.as_str(), &claim.chain, claim.entity.as_deref(), since, until)
            })
            .collect()
    }

    /// Addresses and tickers alone.
    pub(in super::super) fn addresses(labels: &RawLabels) -> Vec<(&str, &str)> {
        let hint = |chain| match chain {
            &ChainHint::Ticker(ref name) | &ChainHint::Chain(ref name) => name.as_str(),
            &ChainHint::None => "none",
            &ChainHint::AnyEvm => "evm",
        };
        labels.claims.iter().map(|claim| (claim.address.as_str(), hint(&claim.chain))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_the_order_of_their_list() {
        let read = |form: Dates, text: &str| form.read(text).map(|time| time.to_string());
        let day = |text: &str| Some(format!("{text}T00:00:00Z"));
        assert_eq!(read(Dates::DayFirst, "03/04/2025"), day("2025-04-03"));
        assert_eq!(read(Dates::DayFirst, " 3.12.2024 "), day("2024-12-03"));
        assert_eq!(read(Dates::MonthFirst, "03/04/2025"), day("2025-03-04"));
        assert_eq!(read(Dates::Iso, "2025-02-24"), day("2025-02-24"));
        assert_eq!(read(Dates::Iso, "2025-02-24T00:00:00"), day("2025-02-24"));
        for (form, text) in [
            (Dates::DayFirst, "31/02/2025"),
            (Dates::DayFirst, "3.12.24"),
            (Dates::DayFirst, "2025-02-24"),
            (Dates::MonthFirst, "13/01/2025"),
            (Dates::Iso, "2025"),
            (Dates::Iso, "2025-02"),
            (Dates::Iso, "24/02/2025"),
            (Dates::Iso, ""),
        ] {
            assert_eq!(read(form, text), None, "{text}");
        }
    }

    #[test]
    fn party_keeps_its_first_name_unless_a_later_one_is_primary() {
        let mut parties = Parties::default();
        let mut labels = RawLabels::default();
        for party in ["a", "b", "c"] {
            parties.add(&mut labels, party, RawClaim::default());
        }
        for (party, rank, name) in [
            ("a", Rank::Other, ""),
            ("a", Rank::Other, "One"),
            ("a", Rank::Other, "Two"),
            ("b", Rank::Other, "One"),
            ("b", Rank::Primary, "Two"),
            ("b", Rank::Primary, "Three"),
        ] {
            parties.note_name(party, rank, name);
        }
        parties.name_claims(&mut labels);
        let names: Vec<_> = labels.claims.iter().map(|claim| claim.entity.as_deref()).collect();
        assert_eq!(names, [Some("One"), Some("Two"), None]);
    }
}
