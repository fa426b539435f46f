//! The claims about an address: of lists, in force or of an earlier state, of its cluster, and of the tables of bridges.

use std::collections::BTreeMap;

use headwater_bridge::Tables;
use headwater_ledger::feed::{FeedItem, ItemKind};
use headwater_ledger::labels::{Action, Claim, Code, LabelTable, Level, Link, Scope};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Chain, Family};

/// Returns the claims about an address on a chain: those of lists, that it is a contract of a bridge, and on Bitcoin those about
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
    // Of claims that differ in their dates alone the newest counts for all; of sanctions, which do not age, the oldest: the
    // owner is listed since then.
    let mut inherited: BTreeMap<(Claim<&str>, bool), Claim<&str>> = BTreeMap::new();
    for other in labelled_in_cluster(ledger, (chain, address), cancel)?.iter().filter(|other| *other != address) {
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

/// Returns the labelled addresses of the cluster of an address, from which it inherits claims; none outside of UTXO chains.
pub(crate) fn labelled_in_cluster<'a>(
    ledger: &'a dyn Ledger,
    (chain, address): (Chain, &Address),
    cancel: &Cancel,
) -> Result<&'a [Address], LedgerError> {
    if chain.family() != Family::Utxo {
        return Ok(&[]);
    }
    let (Some(clusters), Some(account)) = (ledger.clusters(chain, cancel)?, ledger.account(chain, address)?) else {
        return Ok(&[]);
    };
    match clusters.of(&account)? {
        Some(cluster) => ledger.labelled(chain, &cluster, cancel),
        None => Ok(&[]),
    }
}

/// A source of claims about addresses: the labels in force, or those of an earlier state.
pub trait LabelSource: Sync {
    /// Returns the claims about an address on a chain, with the claim that it is a contract of a bridge.
    ///
    /// # Errors
    /// When labels cannot be read.
    fn claims_on(&self, chain: Chain, address: &Address) -> Result<Vec<Claim<&str>>, LedgerError>;

    /// Returns true if the source has no labels at all.
    fn has_none(&self) -> bool;
}

impl LabelSource for LabelTable {
    fn claims_on(&self, chain: Chain, address: &Address) -> Result<Vec<Claim<&str>>, LedgerError> {
        let mut claims = self.claims(chain, address)?;
        claims.extend(bridge_claim(chain, address));
        Ok(claims)
    }

    fn has_none(&self) -> bool {
        self.is_empty()
    }
}

/// A state of the labels, relative to the imports of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelState {
    /// The labels in force: no later import changed them.
    InForce,
    /// The labels before an import.
    Before {
        /// The version of the import.
        version: u64,
        /// True if the import was taken back.
        is_rolled_back: bool,
    },
    /// The labels after an import.
    After {
        /// The version of the import.
        version: u64,
        /// True if the import was taken back.
        is_rolled_back: bool,
    },
}

impl LabelState {
    /// Returns the labels with an item of the change feed, given the next import after it.
    #[must_use]
    pub const fn of(item: &FeedItem, next: Option<(u64, bool)>) -> Self {
        match (item.kind, next) {
            (ItemKind::Labels { version, is_rolled_back }, _) => Self::After { version, is_rolled_back },
            (ItemKind::Block, Some((version, is_rolled_back))) => Self::Before { version, is_rolled_back },
            (ItemKind::Block, None) => Self::InForce,
        }
    }

    /// Returns the labels before an item.
    #[must_use]
    pub const fn before(self, item: &FeedItem) -> Self {
        match (self, item.kind) {
            (Self::After { version, is_rolled_back }, ItemKind::Labels { .. }) => {
                Self::Before { version, is_rolled_back }
            }
            (state, _) => state,
        }
    }
}

/// The labels of a state.
#[derive(Clone, Copy)]
pub struct StateLabels<'a> {
    /// The labels in force, with the changes of imports.
    pub table: &'a LabelTable,
    /// The state.
    pub state: LabelState,
}

impl LabelSource for StateLabels<'_> {
    fn claims_on(&self, chain: Chain, address: &Address) -> Result<Vec<Claim<&str>>, LedgerError> {
        let change = |version, is_rolled_back| self.table.change((version, is_rolled_back), chain, address);
        let mut claims = match self.state {
            LabelState::InForce => self.table.claims(chain, address)?,
            LabelState::Before { version, is_rolled_back } => {
                change(version, is_rolled_back)?.map(|change| change.before).unwrap_or_default()
            }
            LabelState::After { version, is_rolled_back } => {
                change(version, is_rolled_back)?.map(|change| change.after).unwrap_or_default()
            }
        };
        claims.extend(bridge_claim(chain, address));
        Ok(claims)
    }

    fn has_none(&self) -> bool {
        false
    }
}

/// The source and group of claims by the tables of bridges of this program.
const BRIDGES: &str = "bridge_contracts";

/// Returns the claim that an address is a contract of a bridge, by the tables of `headwater-bridge`. Tokens of bridges, and contracts
/// that were read in no source, are left out.
#[must_use]
pub fn bridge_claim(chain: Chain, address: &Address) -> Option<Claim<&'static str>> {
    let is_token = |role: &str| role.ends_with("Token") || role.ends_with("OFT");
    let mut contracts = Tables::builtin().contracts_of(chain, address);
    let contract = contracts.find(|contract| contract.verified() && !is_token(contract.role()))?;
    Some(Claim {
        address: *address,
        scope: Scope::Chain(chain),
        code: Some(Code::Bridge),
        name: Some(contract.role()),
        entity: Some(contract.bridge()),
        source: BRIDGES,
        source_url: None,
        group: BRIDGES,
        level: Level::TrustedProvider,
        reliability: Level::TrustedProvider.thousandths(),
        link: Link::Exact,
        asserted_at: None,
        date_basis: None,
        last_seen: None,
        valid_until: None,
        action: Action::Add,
        dispute: None,
    })
}

/// Returns the claims by the tables of bridges about the contracts of a chain that are chosen by bridge and role. O(contracts).
pub fn bridge_claims(
    chain: Chain,
    mut is_chosen: impl FnMut(&str, &str) -> bool,
) -> impl Iterator<Item = Claim<&'static str>> {
    let chosen = Tables::builtin().contracts().iter().filter(move |of| is_chosen(of.bridge(), of.role()));
    chosen.filter_map(move |of| bridge_claim(chain, &Address::parse(chain, of.address()).ok()?))
}
