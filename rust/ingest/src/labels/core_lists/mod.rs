//! The core lists: public lists of labels that are part of the program, each with its licence and date.
//!
//! `scripts/core_lists.py` makes the packed files beside this one from `sources`, whose `SOURCES.md` names the origin, date
//! and known errors of each. They are in formats that other imports have too, so that nothing here reads an address. A
//! further list is a function there and a line in [`LISTS`].

mod address_dates;

use headwater_ledger::labels::Level;
use headwater_ledger::market::CORE_SOURCE;
use headwater_types::Timestamp;

pub(super) use address_dates::AddressDates;

use super::dates::read_date;
use super::formats::format_of;
use super::import::{LabelOptions, read_packed};
use super::outcome::Labels;
use crate::IngestError;
use crate::source::{Input, Probe};

/// The list of OFAC's addresses among the core lists.
pub(super) const OFAC: &str = "ofac";

/// One core list.
struct CoreList {
    /// Its name; the source of its version is [`CORE_SOURCE`].
    name: &'static str,
    /// The name of its format.
    format: &'static str,
    /// The source of its claims.
    source: &'static str,
    /// The date of the data: no claim is newer.
    edition: &'static str,
    licence: &'static str,
    /// The level of its claims, where neither the rows nor the format state it.
    level: Option<Level>,
    /// The file, compressed.
    packed: &'static [u8],
}

const PUBLIC_DOMAIN: &str = "public domain (US government work)";
const MIT: &str = "MIT";
const APACHE: &str = "Apache-2.0";

/// The core lists. Licences and dates are those of `sources/SOURCES.md`; the dates of npm packages those of their release.
const LISTS: &[CoreList] = &[
    CoreList {
        name: OFAC,
        format: "table",
        source: "ofac",
        edition: "2026-08-20",
        licence: PUBLIC_DOMAIN,
        level: Some(Level::SanctionsList),
        packed: include_bytes!("ofac.csv.gz"),
    },
    CoreList {
        name: "mining_pools",
        format: "mining_pools",
        source: "mempool",
        edition: "2026-02-24",
        licence: MIT,
        level: None,
        packed: include_bytes!("mining_pools.json.gz"),
    },
    CoreList {
        name: "graphsense",
        format: "tagpack",
        source: "graphsense_tagpacks",
        edition: "2026-05-12",
        licence: MIT,
        level: None,
        packed: include_bytes!("graphsense.yaml.gz"),
    },
    contracts("uniswap", "2026-08-07", MIT, include_bytes!("uniswap.csv.gz")),
    contracts("aave", "2026-05-01", MIT, include_bytes!("aave.csv.gz")),
    contracts("zero_ex", "2024-12-13", APACHE, include_bytes!("zero_ex.csv.gz")),
    contracts("safe", "2026-08-17", MIT, include_bytes!("safe.csv.gz")),
    contracts("multicall3", "2025-02-23", MIT, include_bytes!("multicall3.csv.gz")),
    contracts("entry_points", "2026-11-15", MIT, include_bytes!("entry_points.csv.gz")),
];

/// A list of contracts that their maker publishes.
const fn contracts(
    name: &'static str,
    edition: &'static str,
    licence: &'static str,
    packed: &'static [u8],
) -> CoreList {
    CoreList { name, format: "table", source: name, edition, licence, level: Some(Level::ServiceData), packed }
}

/// Reads the core lists. Nothing is imported: [`super::import_core_lists`] does that.
///
/// Takes about a second.
///
/// ```
/// let lists = headwater_ingest::labels::core_lists()?;
/// let ofac = lists.iter().find(|list| list.list == "ofac").unwrap();
/// assert_eq!((ofac.source.as_str(), ofac.licence.as_deref()), ("core", Some("public domain (US government work)")));
/// assert_eq!(ofac.list_date.unwrap().to_string(), "2026-08-20T00:00:00Z");
/// # Ok::<(), headwater_ingest::IngestError>(())
/// ```
///
/// # Errors
/// When memory is short.
pub fn core_lists() -> Result<Vec<Labels>, IngestError> {
    LISTS.iter().map(CoreList::read).collect()
}

/// Reads the core list of OFAC's addresses.
fn ofac() -> Result<Labels, IngestError> {
    LISTS.iter().filter(|list| list.name == OFAC).map(CoreList::read).next().expect("the core lists contain OFAC's")
}

impl CoreList {
    fn edition(&self) -> Option<Timestamp> {
        read_date(self.edition).expect("the table states days")
    }

    fn read(&self) -> Result<Labels, IngestError> {
        let options = LabelOptions {
            source: Some(self.source.to_owned()),
            level: self.level,
            licence: Some(self.licence.to_owned()),
            ..LabelOptions::default()
        };
        let probe = Probe::new(Input::packed(self.name, self.packed))?.unwrapped();
        let mut labels = read_packed(probe, format_of(self.format)?, self.name, &options)?;
        CORE_SOURCE.clone_into(&mut labels.source);
        labels.list_date = self.edition();
        // The files are reviewed: what they say of coins and networks is in the counts.
        labels.warnings.clear();
        Ok(labels)
    }
}

#[cfg(test)]
mod tests;
