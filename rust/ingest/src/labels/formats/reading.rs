//! Parts that readers of label files share: rows, JSON documents and dates.

use headwater_types::Timestamp;

use crate::error::{Fault, RowError};
use crate::labels::dates::read_date;
use crate::labels::raw::{RawClaim, RawLabels};
use crate::source::{Counts, Input, Probe, Row, each_row, json};
use crate::{IngestError, Place};

/// Reads the rows of a table; a row that cannot be read is an error.
pub(super) fn each_table_row(
    probe: &Probe,
    columns: &[&str],
    labels: &mut RawLabels,
    mut handle: impl FnMut(&Row<'_>, &mut RawLabels) -> Result<(), Fault>,
) -> Result<(), IngestError> {
    each_row(probe.input(), probe.content(), columns, &mut Strict(labels), |row: &Row<'_>, strict: &mut Strict<'_>| {
        handle(row, strict.0)
    })
}

struct Strict<'l>(&'l mut RawLabels);

impl Counts for Strict<'_> {
    fn count_row(&mut self, _place: Place) -> Result<(), IngestError> {
        Ok(())
    }

    fn reject(&mut self, error: RowError) -> Result<(), IngestError> {
        Err(IngestError::Row(Box::new(error)))
    }
}

/// Reads a file that is one JSON document; of one that wraps a list, the list.
pub(super) fn with_json<T>(
    input: &Input,
    read: impl FnOnce(&json::Value<'_>) -> Result<T, IngestError>,
) -> Result<T, IngestError> {
    input.with_document(|document| read(input.wrapped().and_then(|rows| rows.list(document)).unwrap_or(document)))
}

/// The items of a document that is a list, or an object with one of these lists.
pub(super) fn listed<'v>(value: &'v json::Value<'v>, names: &[&str]) -> &'v [json::Value<'v>] {
    let inner = || names.iter().find_map(|name| value.get(name)).map_or(&[][..], json::Value::items);
    if value.items().is_empty() { inner() } else { value.items() }
}

/// The items with their places.
pub(super) fn placed<T>(items: &[T]) -> impl Iterator<Item = (Place, &T)> {
    (1..).map(Place::Row).zip(items)
}

/// Returns true if a text begins as an EVM address does.
pub(super) fn is_hex(text: &str) -> bool {
    text.strip_prefix("0x").is_some_and(|digits| digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A text without blanks around it; `None` where nothing is left.
pub(super) fn filled(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// Warnings of one import: a file may repeat its fault in every row.
const MAX_WARNINGS: usize = 50;

/// Adds a warning about a place of a file.
fn warn(labels: &mut RawLabels, place: Place, what: &str) {
    if labels.warnings.len() < MAX_WARNINGS {
        labels.warnings.push(format!("{place}: {what}"));
    }
}

/// Returns the date of a text; one that cannot be read is left out with a warning.
pub(super) fn date(labels: &mut RawLabels, place: Place, text: Option<&str>) -> Option<Timestamp> {
    let text = filled(text)?;
    read_date(text).unwrap_or_else(|expected| {
        warn(labels, place, &format!("the date {text:?} is left out: expected {expected}"));
        None
    })
}

/// Adds one claim per text of a list; an item that is no text is an empty address.
pub(super) fn add_addresses(labels: &mut RawLabels, items: &[json::Value<'_>], claim: &RawClaim) {
    for (place, item) in placed(items) {
        let address = item.text().unwrap_or_default().to_owned();
        labels.claims.push(RawClaim { place: Some(claim.place.unwrap_or(place)), address, ..claim.clone() });
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::super::{FORMATS, Format, Given};
    use super::*;
    use crate::labels::raw::{ChainHint, RawLevel};
    use crate::source::Bounds;

    /// Probes of files with these names and contents; the folder must outlive them.
    pub(in super::super) fn probes(folder: &std::path::Path, files: &[(&str, &str)]) -> Vec<Probe> {
        let probe = |(name, content): &(&str, &str)| {
            let path = folder.join(name);
            std::fs::write(&path, content).unwrap();
            Probe::new(Input::new(&path, &Bounds::default()).unwrap()).unwrap().unwrapped()
        };
        files.iter().map(probe).collect()
    }

    /// Reads files as one import, with what the caller says of them. Each must be taken by the format by itself.
    pub(in super::super) fn read_given(
        format: &Format,
        files: &[(&str, &str)],
        given: &Given,
    ) -> Result<RawLabels, IngestError> {
        let folder = tempfile::tempdir().unwrap();
        let probes = probes(folder.path(), files);
        for probe in &probes {
            let taken = FORMATS.iter().find(|format| (format.reads)(probe)).map(|format| format.name);
            assert_eq!(taken, Some(format.name), "{}", probe.path().display());
        }
        format.read(&probes, given)
    }

    pub(in super::super) fn read(format: &Format, files: &[(&str, &str)]) -> RawLabels {
        read_given(format, files, &Given::default()).unwrap()
    }

    /// Prints a claim in one line: address, chain, concepts, name, entity, source, group, level, dates; what is missing
    /// is left out.
    pub(in super::super) fn shown(claim: &RawClaim) -> String {
        let chain = match &claim.chain {
            ChainHint::None => String::new(),
            ChainHint::Ticker(ticker) => format!("ticker {ticker}"),
            ChainHint::Chain(chain) => format!("on {chain}"),
            ChainHint::AnyEvm => "on evm".to_owned(),
        };
        let level = match &claim.level {
            None => String::new(),
            Some(RawLevel::Known(level)) => format!("level {}", level.name()),
            Some(RawLevel::Stated(text)) => format!("level {text}"),
        };
        let with =
            |what: &str, text: &Option<String>| text.as_ref().map_or(String::new(), |text| format!("{what} {text}"));
        let time = |what: &str, time: Option<Timestamp>| time.map_or(String::new(), |time| format!("{what} {time}"));
        let parts = [
            claim.address.clone(),
            chain,
            claim.concepts.join("+"),
            with("named", &claim.name),
            with("of", &claim.entity),
            with("source", &claim.source),
            with("at", &claim.source_url),
            with("group", &claim.group),
            level,
            time("since", claim.asserted_at),
            time("seen", claim.last_seen),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" | ")
    }

    pub(in super::super) fn all_shown(labels: &RawLabels) -> Vec<String> {
        labels.claims.iter().map(shown).collect()
    }
}
