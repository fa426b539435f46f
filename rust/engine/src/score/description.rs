//! The description of a job: everything that the bytes of its parts depend on.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::Cancel;
use headwater_types::Address;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::format::ScoreFormat;
use super::{ScoreError, Scorer};
use crate::Error;

/// The number of addresses that the probe takes from all over the chain, at most.
const PROBED_ACROSS: usize = 192;
/// The number of addresses that the probe takes from the beginning of the chain, at most.
const PROBED_FIRST: usize = 64;
/// Movements of an address of the probe, at most, so that the probe takes little time.
const PROBED_MOVEMENTS: u64 = 1_000;

/// Everything that the bytes of the parts of a job depend on. Parts of equal descriptions can be joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobDescription {
    /// The versions of [`Scorer::versions`], by name. The metadata of the file of scores repeats them.
    pub versions: BTreeMap<String, String>,
    /// The content of the generation; `None` where the ledger is in memory.
    pub store: Option<String>,
    /// The checksum of the parameters of the risk; `None` where rows have no risk.
    pub parameters: Option<String>,
    /// The checksum of a small part, as the machine that planned the job computed it. A processor whose arithmetic
    /// differs computes another one.
    pub probe: String,
    /// The addresses: their number and a checksum, or that they are all of the chain.
    pub addresses: String,
    /// Number of addresses.
    pub rows: u64,
    /// Number of parts.
    pub parts: u64,
    /// Addresses of a part, at most.
    pub addresses_per_part: u64,
    /// Movements from which an address is a part of its own.
    pub hub_movements: u64,
}

impl JobDescription {
    /// Parses the JSON text of a description.
    ///
    /// # Errors
    /// [`ScoreError::Job`] where the text is not one.
    pub fn from_json(text: &str) -> Result<Self, ScoreError> {
        serde_json::from_str(text).map_err(|error| ScoreError::Job { message: error.to_string() })
    }

    /// Returns the JSON text: equal descriptions have equal texts.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers have a JSON form")
    }

    /// Describes the difference from this to another description; empty where they are equal. Names the remedy if another
    /// generation is read.
    pub(super) fn difference(&self, now: &Self) -> String {
        let remedy = match self.versions.get("generation") {
            Some(before) if now.versions.get("generation") != Some(before) => {
                format!("; to read that generation, give --generation {before}, or generation={before} in Python")
            }
            _ => String::new(),
        };
        let (before, now) = (self.properties(), now.properties());
        let names: BTreeSet<_> = before.keys().chain(now.keys()).collect();
        let shown =
            |of: &BTreeMap<String, String>, name: &String| of.get(name).map_or("none", String::as_str).to_owned();
        let differ = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
        differ
            .map(|name| format!("{name} was {}, is {}", shown(&before, name), shown(&now, name)))
            .collect::<Vec<_>>()
            .join("; ")
            + &remedy
    }

    /// Checks that a scorer computes the rows of this job: the same versions, the same data, the same arithmetic.
    ///
    /// # Errors
    /// [`ScoreError::OtherRows`] with what differs; when the work is cancelled.
    pub fn check<F: ScoreFormat>(&self, scorer: &Scorer, cancel: &Cancel) -> Result<(), ScoreError> {
        let here = Self::of_scorer::<F>(scorer, cancel)?.with_extent_of(self);
        let difference = self.difference(&here);
        if difference.is_empty() { Ok(()) } else { Err(ScoreError::OtherRows { difference }) }
    }

    /// Describes the rows of a scorer, without addresses yet.
    pub(super) fn of_scorer<F: ScoreFormat>(scorer: &Scorer, cancel: &Cancel) -> Result<Self, ScoreError> {
        let versions = scorer.versions().into_iter();
        let parameters = scorer.columns.risk.then(|| format!("{:016x}", scorer.intelligence.parameters.digest));
        Ok(Self {
            versions: versions.map(|(name, version)| (name.to_owned(), version)).collect(),
            store: scorer.store.clone(),
            parameters,
            probe: probe::<F>(scorer, cancel)?,
            addresses: String::new(),
            rows: 0,
            parts: 0,
            addresses_per_part: 0,
            hub_movements: 0,
        })
    }

    fn with_extent_of(self, other: &Self) -> Self {
        let Self { versions, store, parameters, probe, .. } = self;
        Self { versions, store, parameters, probe, ..other.clone() }
    }

    /// The properties by the names that messages use.
    fn properties(&self) -> BTreeMap<String, String> {
        let mut properties = self.versions.clone();
        properties.extend(
            [
                ("store", self.store.clone().unwrap_or_else(|| "in memory".to_owned())),
                ("parameters", self.parameters.clone().unwrap_or_else(|| "none".to_owned())),
                ("probe", self.probe.clone()),
                ("addresses", self.addresses.clone()),
                ("rows", self.rows.to_string()),
                ("parts", self.parts.to_string()),
                ("addresses per part", self.addresses_per_part.to_string()),
                ("movements of a hub", self.hub_movements.to_string()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        properties
    }
}

/// Computes the checksum of a part of light addresses from all over the chain.
fn probe<F: ScoreFormat>(scorer: &Scorer, cancel: &Cancel) -> Result<String, ScoreError> {
    let mut candidates: BTreeSet<Address> = scorer.addresses(None, PROBED_FIRST)?.into_iter().collect();
    for range in scorer.ledger.split_addresses(scorer.chain, PROBED_ACROSS).map_err(Error::from)? {
        // The range begins with an address of many movements more often than not, but not the address that follows.
        if let Some(from) = range.from {
            candidates.extend(scorer.addresses(Some(&from), 1)?);
        }
    }
    let mut probed = Vec::new();
    for address in candidates {
        if scorer.movements(&address)? <= PROBED_MOVEMENTS {
            probed.push(address);
        }
    }
    let rows = scorer.score(&probed, cancel)?;
    Ok(format!("{} addresses, {:016x}", probed.len(), xxh3_64(&F::encode(scorer, &rows)?)))
}
