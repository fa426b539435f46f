//! The dates on which OFAC published each address, by the core list.
//!
//! OFAC's own files date the entity, or nothing: for a quarter of the addresses the date of the entity is too early, and a
//! payment from before the address was listed would be held against its sender.

use std::collections::HashMap;

use headwater_ledger::labels::{Claim, DateBasis};
use headwater_types::{Address, Timestamp};

use super::ofac;
use crate::IngestError;
use crate::labels::outcome::{Labels, is_listed};

/// The provenance group of OFAC's lists.
const GROUP: &str = "ofac";

/// The dates of OFAC's addresses.
pub(in super::super) struct AddressDates {
    edition: Option<Timestamp>,
    /// By address in order of time; an address of two entities may have two.
    dates: HashMap<Address, Vec<(Timestamp, DateBasis)>>,
}

impl AddressDates {
    /// Reads the core list.
    pub(in super::super) fn read() -> Result<Self, IngestError> {
        let Labels { claims, list_date, .. } = ofac()?;
        let mut dates: HashMap<Address, Vec<(Timestamp, DateBasis)>> = HashMap::new();
        for claim in claims.iter().filter(|claim| is_listed(claim)) {
            if let (Some(date), Some(basis)) = (claim.asserted_at, claim.date_basis) {
                dates.entry(claim.address).or_default().push((date, basis));
            }
        }
        for dates in dates.values_mut() {
            dates.sort();
        }
        Ok(Self { edition: list_date, dates })
    }

    /// Returns whether an import has claims whose dates are not those of the addresses.
    pub(in super::super) fn are_missing_in(labels: &Labels) -> bool {
        labels.claims.iter().any(is_undated)
    }

    /// Dates the claims of OFAC's lists by the address, and adds a warning that says how many and from where. A listing does
    /// not begin before the date of its entity, where the list gives one: such a date of the address is that of an earlier
    /// listing.
    pub(in super::super) fn apply(&self, labels: &mut Labels) {
        let mut dated = 0_u64;
        for claim in labels.claims.iter_mut().filter(|claim| is_undated(claim)) {
            let known = self.dates.get(&claim.address).into_iter().flatten();
            let Some((date, basis)) = known.filter(|(date, _)| claim.asserted_at <= Some(*date)).min() else {
                continue;
            };
            dated += u64::from(*basis == DateBasis::Address);
            (claim.asserted_at, claim.date_basis) = (Some(*date), Some(*basis));
        }
        if let (1.., Some(edition)) = (dated, self.edition) {
            let day = edition.to_string();
            labels.warnings.push(format!(
                "claims dated by the address, from the core list of {}: {dated}; the file gives the date of the entity, or none",
                day.get(..10).unwrap_or(&day)
            ));
        }
    }
}

/// Returns whether a claim of OFAC's lists has no date, or that of its entity.
fn is_undated(claim: &Claim) -> bool {
    &*claim.group == GROUP && is_listed(claim) && claim.date_basis != Some(DateBasis::Address)
}
