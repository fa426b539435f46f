//! The report of an import of lists into a store.

use std::collections::BTreeMap;

use headwater_ledger::labels::Level;
use headwater_types::Timestamp;
use serde::{Serialize, Serializer};

use crate::labels::counts::Counts;
use crate::labels::import::LeftOutFile;
use crate::labels::outcome::Labels;

/// The lists of an import, and the files without a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LabelImportReport {
    /// The lists, one per format.
    pub lists: Vec<ImportedList>,
    /// Files of folders that give no claim.
    pub left_out: Vec<LeftOutFile>,
}

/// The outcome of the import of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportState {
    /// It is a new version.
    Imported,
    /// The store has the same edition.
    Unchanged,
    /// The store has a newer edition.
    Newer,
}

/// A list of labels that was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedList {
    /// The number of its version; of the version in the store where it is not imported.
    pub version: u64,
    /// The outcome.
    pub state: ImportState,
    /// The format of the files.
    pub format: &'static str,
    /// The source.
    pub source: String,
    /// The name of the list.
    pub list: String,
    /// The licence of the list; `None` where it is not known.
    pub licence: Option<String>,
    /// The date that the list states of itself, epoch seconds; `None` where it states none.
    pub edition: Option<Timestamp>,
    /// The version that it replaces.
    pub replaces: Option<u64>,
    /// The counts of rows by outcome.
    pub counts: Counts,
    /// Claims with a code by level.
    #[serde(serialize_with = "by_name")]
    pub levels: BTreeMap<Level, u64>,
    /// Warnings for people.
    pub warnings: Vec<String>,
}

impl ImportedList {
    /// Returns the report of a list that became a version.
    #[must_use]
    pub fn new(version: u64, replaces: Option<u64>, labels: &Labels) -> Self {
        let Labels { format, source, list, licence, list_date, counts, warnings, .. } = labels;
        let mut levels = BTreeMap::new();
        for claim in labels.claims.iter().filter(|claim| claim.code.is_some()) {
            *levels.entry(claim.level).or_default() += 1;
        }
        let (source, list, licence, warnings) = (source.clone(), list.clone(), licence.clone(), warnings.clone());
        let (state, edition, counts) = (ImportState::Imported, *list_date, *counts);
        Self { version, state, format, source, list, licence, edition, replaces, counts, levels, warnings }
    }
}

fn by_name<S: Serializer>(levels: &BTreeMap<Level, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(levels.iter().map(|(level, count)| (level.name(), count)))
}
