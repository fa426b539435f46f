//! When an address came under sanctions.

use std::collections::BTreeSet;

use headwater_ledger::labels::{Claim, Code, DateBasis, Level};
use headwater_types::Timestamp;

use super::aggregate::Aggregate;
use super::standing::Standing;

const DAY_SECS: i64 = 86_400;

/// When lists of sanctions named an address, by its active claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SanctionsListing<'a> {
    /// The date of the listing; `None` where no list is dated.
    pub since: Option<Timestamp>,
    /// What that date belongs to; `None` without a date, and where the store does not record it.
    pub date_basis: Option<DateBasis>,
    /// A source of a list without a date, where no copy of the same group has one.
    pub undated: Option<&'a str>,
}

impl SanctionsListing<'_> {
    /// Returns the first second of the day (UTC) on which the listing began; `None` where a list has no date: it counts for
    /// all times.
    #[must_use]
    pub fn begins(&self) -> Option<Timestamp> {
        let day = |time: Timestamp| Timestamp::new(time.secs() - time.secs().rem_euclid(DAY_SECS));
        self.since.filter(|_| self.undated.is_none()).map(day)
    }
}

impl<'a> Aggregate<'a> {
    /// Returns when lists of sanctions named the address; `None` where none does, or all of them delisted it.
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
    pub fn sanctions_listing(&self) -> Option<SanctionsListing<'a>> {
        let active =
            self.sources.iter().filter(|source| source.standing == Standing::Active).map(|source| &source.claim);
        let listed = active.filter(|claim| claim.code == Some(Code::Sanction) && claim.level == Level::SanctionsList);
        let (own, inherited): (Vec<_>, Vec<_>) = listed.partition(|claim| claim.link.is_exact());
        let claims = if own.is_empty() { inherited } else { own };
        (!claims.is_empty()).then(|| listing(&claims))
    }
}

fn listing<'a>(claims: &[&Claim<&'a str>]) -> SanctionsListing<'a> {
    let rank = |basis: Option<DateBasis>| (basis.is_none(), basis);
    let dated = || claims.iter().filter_map(|claim| Some((rank(claim.date_basis), claim.asserted_at?)));
    let first = dated().min();
    let dated_groups: BTreeSet<&str> =
        claims.iter().filter(|claim| claim.asserted_at.is_some()).map(|claim| claim.group).collect();
    SanctionsListing {
        since: first.map(|(_, since)| since),
        date_basis: first.and_then(|((_, basis), _)| basis),
        undated: claims.iter().find(|claim| !dated_groups.contains(claim.group)).map(|claim| claim.source),
    }
}
