//! What lists say of an address, itself or through its cluster.

use std::collections::BTreeMap;

use headwater_ledger::labels::{Action, Claim, Level, Link};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Chain, Family};

use super::source::LabelSource;

/// The claims about an address on a chain: those of lists, that it is a contract of a bridge, and on Bitcoin those about
/// other addresses of its cluster, with [`Link::Cluster`]: of several that say the same, the newest.
///
/// Clusters through change pass nothing on. O(lists), and of a cluster O(its labelled addresses · lists).
///
/// # Errors
/// When the ledger cannot be read, or the call is cancelled.
pub fn claims_of<'a>(
    ledger: &'a dyn Ledger,
    chain: Chain,
    address: &Address,
    cancel: &Cancel,
) -> Result<Vec<Claim<&'a str>>, LedgerError> {
    claims_by(&**ledger.labels(), ledger, (chain, address), cancel)
}

/// Returns the same by the claims of another source than the labels in force. The members of a cluster are those that the
/// labels in force name.
///
/// # Errors
/// As [`claims_of`].
pub fn claims_by<'a>(
    labels: &'a dyn LabelSource,
    ledger: &dyn Ledger,
    (chain, address): (Chain, &Address),
    cancel: &Cancel,
) -> Result<Vec<Claim<&'a str>>, LedgerError> {
    let mut claims = labels.claims_on(chain, address)?;
    if chain.family() != Family::Utxo || labels.has_none() {
        return Ok(claims);
    }
    let (Some(clusters), Some(account)) = (ledger.clusters(chain, cancel)?, ledger.account(chain, address)?) else {
        return Ok(claims);
    };
    let Some(cluster) = clusters.of(&account)? else { return Ok(claims) };
    // Of claims that differ in their dates alone the newest counts for all; of sanctions, which do not age, the oldest: the
    // owner is listed since then.
    let mut inherited: BTreeMap<(Claim<&str>, bool), Claim<&str>> = BTreeMap::new();
    for other in ledger.labelled(chain, &cluster, cancel)?.iter().filter(|other| *other != address) {
        let of_other = labels.claims_on(chain, other)?;
        // A curator's removal holds for the address that it names.
        let removed: Vec<_> =
            of_other.iter().filter(|claim| claim.action == Action::Remove).map(|claim| claim.code).collect();
        let holds = |claim: &Claim<&str>| claim.link == Link::Exact && !removed.contains(&claim.code);
        for claim in of_other.iter().copied().filter(holds) {
            let same =
                Claim { address: *address, name: None, source_url: None, asserted_at: None, last_seen: None, ..claim };
            let kept = inherited.entry((same, claim.asserted_at.is_some())).or_insert(claim);
            let is_older = claim.asserted_at < kept.asserted_at;
            let is_newer = claim.asserted_at > kept.asserted_at;
            let replaces = if claim.level == Level::SanctionsList { is_older } else { is_newer };
            if replaces {
                *kept = claim;
            }
        }
    }
    claims.extend(inherited.into_values().map(|claim| Claim { link: Link::Cluster, ..claim }));
    Ok(claims)
}
