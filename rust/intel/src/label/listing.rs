//! When an address came under sanctions.

use std::collections::BTreeSet;

use headwater_ledger::labels::{Claim, Code, DateBasis, Level};
use headwater_types::Timestamp;

use super::aggregate::Aggregate;
use super::standing::Standing;

const DAY_SECS: i64 = 86_400;

/// When lists of sanctions named an address, by its active claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SanctionsListing {
    /// The date of the listing; `None` where no list is dated.
    pub since: Option<Timestamp>,
    /// What that date belongs to; `None` without a date, and where the store does not record it.
    pub date_basis: Option<DateBasis>,
    /// Whether an authority lists the address without any date.
    pub has_undated: bool,
}

impl SanctionsListing {
    /// Whether the listing began after the day (UTC) of a time. An undated listing counts as one of always.
    #[must_use]
    pub fn is_after(&self, time: Timestamp) -> bool {
        let day = |time: Timestamp| time.secs().div_euclid(DAY_SECS);
        !self.has_undated && self.since.is_some_and(|since| day(time) < day(since))
    }
}

impl Aggregate<'_> {
    /// When lists of sanctions named the address; `None` where none does, or only one that delisted it.
    ///
    /// It reads the active claims of the code `sanction` and the level `sanctions_list`: those that name the address
    /// itself, and only without them those through its cluster. An address date counts before an entity date, which is
    /// too early for addresses that an entity got later, and before a date of unknown basis; of several dates of one basis
    /// the earliest counts. A copy of a list without dates adds nothing where another copy of the same group has dates.
    /// O(claims).
    ///
    /// ```
    /// use headwater_intel::label::Aggregate;
    /// assert_eq!(Aggregate::default().sanctions_listing(), None);
    /// ```
    #[must_use]
    pub fn sanctions_listing(&self) -> Option<SanctionsListing> {
        let active =
            self.sources.iter().filter(|source| source.standing == Standing::Active).map(|source| &source.claim);
        let listed = active.filter(|claim| claim.code == Some(Code::Sanction) && claim.level == Level::SanctionsList);
        let (own, inherited): (Vec<_>, Vec<_>) = listed.partition(|claim| claim.link.is_exact());
        let claims = if own.is_empty() { inherited } else { own };
        (!claims.is_empty()).then(|| listing(&claims))
    }
}

fn listing(claims: &[&Claim<&str>]) -> SanctionsListing {
    let rank = |basis: Option<DateBasis>| (basis.is_none(), basis);
    let dated = || claims.iter().filter_map(|claim| Some((rank(claim.date_basis), claim.asserted_at?)));
    let first = dated().min();
    let dated_groups: BTreeSet<&str> =
        claims.iter().filter(|claim| claim.asserted_at.is_some()).map(|claim| claim.group).collect();
    SanctionsListing {
        since: first.map(|(_, since)| since),
        date_basis: first.and_then(|((_, basis), _)| basis),
        has_undated: claims.iter().any(|claim| !dated_groups.contains(claim.group)),
    }
}
