//! What lists say of an address, itself or through its cluster.

use std::collections::BTreeMap;

use headwater_ledger::labels::{Action, Claim, Link};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Chain, Family};

/// The claims about an address on a chain, and on Bitcoin those about other addresses of its cluster, with
/// [`Link::Cluster`]: of several that say the same, the newest.
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
    let mut claims = ledger.labels().claims(chain, address)?;
    if chain.family() != Family::Utxo || ledger.labels().is_empty() {
        return Ok(claims);
    }
    let (Some(clusters), Some(account)) = (ledger.clusters(chain, cancel)?, ledger.account(chain, address)?) else {
        return Ok(claims);
    };
    let Some(cluster) = clusters.of(&account)? else { return Ok(claims) };
    // Of claims that differ in their dates alone the newest counts for all.
    let mut inherited: BTreeMap<(Claim<&str>, bool), Claim<&str>> = BTreeMap::new();
    for other in ledger.labelled(chain, &cluster, cancel)?.iter().filter(|other| *other != address) {
        let of_other = ledger.labels().claims(chain, other)?;
        // What a curator removed from another address is no word about this one.
        let removed: Vec<_> =
            of_other.iter().filter(|claim| claim.action == Action::Remove).map(|claim| claim.code).collect();
        let holds = |claim: &Claim<&str>| claim.link == Link::Exact && !removed.contains(&claim.code);
        for claim in of_other.iter().copied().filter(holds) {
            let same =
                Claim { address: *address, name: None, source_url: None, asserted_at: None, last_seen: None, ..claim };
            let newest = inherited.entry((same, claim.asserted_at.is_some())).or_insert(claim);
            if claim.asserted_at > newest.asserted_at {
                *newest = claim;
            }
        }
    }
    claims.extend(inherited.into_values().map(|claim| Claim { link: Link::Cluster, ..claim }));
    Ok(claims)
}
