//! Editions of OFAC's own list that are later than the core list of its addresses.

use std::collections::{BTreeMap, HashSet};

use headwater_ledger::labels::Claim;
use headwater_ledger::read::Labels as _;
use headwater_ledger::store::{ImportVersion, Writer};
use headwater_types::{Address, Timestamp};

use crate::IngestError;
use crate::labels::outcome::{Labels, is_listed};

/// The source of OFAC's own files.
const SOURCE: &str = "ofac";

/// The addresses of an edition that states its date.
pub(super) struct LaterEdition {
    date: Timestamp,
    addresses: HashSet<Address>,
}

impl LaterEdition {
    /// Returns the edition of an import; `None` where it is not OFAC's or does not state its date.
    pub(super) fn of_labels(labels: &Labels) -> Option<Self> {
        let date = labels.list_date.filter(|_| labels.source == SOURCE)?;
        let addresses = labels.claims.iter().filter(|claim| is_listed(claim)).map(|claim| claim.address).collect();
        Some(Self { date, addresses })
    }

    /// Returns the newest edition in a store; `None` where none states its date.
    pub(super) fn of_store(writer: &Writer, versions: &[ImportVersion]) -> Result<Option<Self>, IngestError> {
        let dated = |version: &ImportVersion| {
            let list = version.list.as_ref().filter(|_| version.in_force && version.source == SOURCE)?;
            // An edition without a date of its own has that of its import.
            (list.ended_at < list.imported_at).then_some((version.version, list.ended_at))
        };
        let dates: BTreeMap<u64, Timestamp> = versions.iter().filter_map(dated).collect();
        let mut addresses: BTreeMap<u64, HashSet<Address>> = BTreeMap::new();
        if !dates.is_empty() {
            writer.snapshot().labels().each(&mut |version, claim| {
                if dates.contains_key(&version) && is_listed(&claim) {
                    addresses.entry(version).or_default().insert(claim.address);
                }
                Ok(())
            })?;
        }
        let editions = addresses.into_iter().map(|(version, addresses)| Self { date: dates[&version], addresses });
        Ok(editions.max_by_key(Self::date))
    }

    /// The date that it states of itself.
    pub(super) fn date(&self) -> Timestamp {
        self.date
    }

    /// Ends the listings that it no longer has, as of its date, and returns their number. A list that is not newer, or has
    /// less than nine tenths of them, ends none: it is a part of the list, or cut off.
    pub(super) fn end_missing(&self, claims: &mut [Claim], core_date: Option<Timestamp>) -> usize {
        let (mut listed, mut missing) = (0, Vec::new());
        for (place, claim) in claims.iter().enumerate().filter(|(_, claim)| is_listed(claim)) {
            listed += 1;
            if !self.addresses.contains(&claim.address) {
                missing.push(place);
            }
        }
        if Some(self.date) <= core_date || missing.len() * 10 > listed {
            return 0;
        }
        for place in &missing {
            claims[*place].valid_until = Some(self.date);
        }
        missing.len()
    }
}
