//! Clusters of addresses that change makes one: a second layer over those of common inputs, which it leaves as they are.
//!
//! Where the change of a payment is named with high confidence, payer and owner of the change are one person. One wrong
//! guess would make one cluster of two services, so a link counts only where nothing speaks against it: the two are known
//! to be different entities, or one of them paid the other in a payment whose change is named too. Source: Möser and
//! Narayanan (2022), constraint-based clustering: without constraints the largest service swallowed a third of all others.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use headwater_ledger::clusters::{Clusters, FirstSeen};
use headwater_ledger::labels::{Claim, Link};
use headwater_ledger::read::{Direction, Scan, ScanOrder, Transaction, TransactionRef};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Chain, TxHash};
use rustc_hash::{FxHashMap, FxHashSet};

use super::TransactionView;
use super::change::{Level, RULES, judge};
use super::gather::{Gathered, in_cluster_of_inputs};
use crate::label::{Moment, aggregate, claims_of};

/// From this confidence on two clusters are taken for different entities.
const ENTITY_FROM: f64 = 0.50;

/// A cluster of common inputs, or an address that is in none. Older ones are less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Party {
    /// Where its name appears first.
    pub first: FirstSeen,
    /// The name of the cluster, or the address.
    pub name: Address,
    /// Number of addresses.
    pub size: u64,
}

/// A payment whose change went to another party than its payer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeLink {
    /// Block and position of the transaction, unknown last.
    pub place: (u64, u64),
    /// The transaction.
    pub transaction: TxHash,
    /// Place of the output.
    pub output: usize,
    /// How probable it is that the output is the change.
    pub confidence: f64,
    /// Who paid.
    pub payer: Party,
    /// Who has the change.
    pub owner: Party,
}

/// Why a link makes nothing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Both sides are known, as different entities.
    Entities,
    /// One side paid the other, and kept other change.
    Payment,
}

/// Links between parties, and what speaks against them.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Change that links two parties.
    pub links: Vec<ChangeLink>,
    /// For each party those that it paid, or that paid it, where the change went elsewhere.
    pub payments: BTreeMap<Party, BTreeSet<Party>>,
}

/// What links come to.
#[derive(Debug, Clone, Default)]
pub struct Merged {
    /// The oldest party that each linked party is one with.
    pub oldest: BTreeMap<Party, Party>,
    /// The links that count, in the order of the chain.
    pub links: Vec<ChangeLink>,
    /// Those that do not.
    pub refused: Vec<(ChangeLink, Refusal)>,
}

impl Merged {
    /// The parties that are one with a party, the oldest first; at least itself.
    #[must_use]
    pub fn with(&self, party: Party) -> Vec<Party> {
        let Some(oldest) = self.oldest.get(&party) else { return vec![party] };
        self.oldest.iter().filter(|(_, of)| *of == oldest).map(|(party, _)| *party).collect()
    }
}

/// How far evidence is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Transactions that are judged.
    pub transactions: usize,
    /// Addresses that are looked at.
    pub addresses: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { transactions: 10_000, addresses: 10_000 }
    }
}

/// Finds the parties of addresses, and what transactions say of them.
pub struct ChangeLinks<'a> {
    ledger: &'a dyn Ledger,
    chain: Chain,
    clusters: Clusters<'a>,
    cancel: &'a Cancel,
    parties: FxHashMap<Address, Option<Party>>,
}

impl<'a> ChangeLinks<'a> {
    /// Over the clusters of a chain.
    #[must_use]
    pub fn new(ledger: &'a dyn Ledger, chain: Chain, clusters: Clusters<'a>, cancel: &'a Cancel) -> Self {
        Self { ledger, chain, clusters, cancel, parties: FxHashMap::default() }
    }

    /// The party that an address is of; `None` where it was never seen.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn party(&mut self, address: &Address) -> Result<Option<Party>, LedgerError> {
        if let Some(known) = self.parties.get(address) {
            return Ok(*known);
        }
        let party = self.look_up(address)?;
        self.parties.insert(*address, party);
        Ok(party)
    }

    fn look_up(&self, address: &Address) -> Result<Option<Party>, LedgerError> {
        let Some(account) = self.ledger.account(self.chain, address)? else { return Ok(None) };
        let Some(cluster) = self.clusters.of(&account)? else {
            let first = self.clusters.first_seen(&account)?;
            return Ok(first.map(|first| Party { first, name: *address, size: 1 }));
        };
        let named = self.clusters.members(&cluster, None, 1)?;
        Ok(named.first().map(|member| Party { first: member.first, name: cluster.name, size: cluster.size }))
    }

    /// Adds what a transaction says: only where its change is named with [`Level::High`].
    ///
    /// # Errors
    /// When the ledger cannot be read, or the call is cancelled.
    pub fn judge(&mut self, transaction: Transaction, evidence: &mut Evidence) -> Result<(), LedgerError> {
        let head = transaction.head;
        let Some(utxo) = transaction.facts.utxo.clone() else { return Ok(()) };
        let view = TransactionView::new(&utxo, head.block, head.time);
        let Some(payer) = view.signers().next() else { return Ok(()) };
        let Some(payer) = self.party(&payer)? else { return Ok(()) };
        let same_cluster = in_cluster_of_inputs(self.ledger, self.clusters, &transaction);
        let gathered = Gathered::read(self.ledger, transaction, Some(&same_cluster), self.cancel)?;
        let Some(gathered) = gathered else { return Ok(()) };
        let case = gathered.case();
        // Of several payers nobody can say whose the change is.
        if case.coinjoin.is_some_and(|found| found.links_nobody()) {
            return Ok(());
        }
        let Ok(change) = judge(&case, RULES).change else { return Ok(()) };
        if change.level() != Some(Level::High) {
            return Ok(());
        }
        for (output, facts) in view.owned() {
            let Some(owner) = facts.owner else { continue };
            let Some(owner) = self.party(&owner)?.filter(|owner| *owner != payer) else { continue };
            if output == change.output {
                let place = (head.block, head.index.map_or(u64::MAX, u64::from));
                let (transaction, confidence) = (head.hash, change.confidence);
                evidence.links.push(ChangeLink { place, transaction, output, confidence, payer, owner });
            } else {
                evidence.payments.entry(payer).or_default().insert(owner);
                evidence.payments.entry(owner).or_default().insert(payer);
            }
        }
        Ok(())
    }

    /// All evidence about the parties that may be one with that of an address; `None` where there is more of it than the
    /// limits allow, so that nothing is known of the whole.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the call is cancelled.
    pub fn around(&mut self, party: Party, limits: Limits) -> Result<Option<Evidence>, LedgerError> {
        let (mut evidence, mut seen) = (Evidence::default(), FxHashSet::default());
        let (mut met, mut next) = (BTreeSet::from([party]), VecDeque::from([party]));
        let mut addresses = 0;
        while let Some(party) = next.pop_front() {
            addresses += usize::try_from(party.size).unwrap_or(usize::MAX).min(limits.addresses + 1);
            if addresses > limits.addresses {
                return Ok(None);
            }
            let known = evidence.links.len();
            for address in self.addresses(party)? {
                if !self.judge_all(&address, (limits, &mut seen), &mut evidence)? {
                    return Ok(None);
                }
            }
            for ChangeLink { payer, owner, .. } in &evidence.links[known..] {
                next.extend([*payer, *owner].into_iter().filter(|party| met.insert(*party)));
            }
        }
        Ok(Some(evidence))
    }

    fn addresses(&self, party: Party) -> Result<Vec<Address>, LedgerError> {
        let account = self.ledger.account(self.chain, &party.name)?;
        let cluster = account.map(|account| self.clusters.of(&account)).transpose()?.flatten();
        let Some(cluster) = cluster else { return Ok(vec![party.name]) };
        let members = self.clusters.members(&cluster, None, usize::try_from(cluster.size).unwrap_or(usize::MAX))?;
        Ok(members.into_iter().map(|member| member.address).collect())
    }

    /// Judges the transactions of an address; `false` where there are too many.
    fn judge_all(
        &mut self,
        address: &Address,
        (limits, seen): (Limits, &mut FxHashSet<TransactionRef>),
        evidence: &mut Evidence,
    ) -> Result<bool, LedgerError> {
        let Some(account) = self.ledger.account(self.chain, address)? else { return Ok(true) };
        let oldest_first = Scan { order: ScanOrder::OldestFirst, ..Scan::default() };
        let page = self.ledger.page(&account, &oldest_first, limits.transactions + 1)?;
        for posting in page.iter().filter(|posting| posting.direction != Direction::Own) {
            if seen.insert(posting.transaction) {
                if seen.len() > limits.transactions {
                    return Ok(false);
                }
                self.cancel.check()?;
                self.judge(self.ledger.transaction(posting.transaction)?, evidence)?;
            }
        }
        Ok(true)
    }

    /// The entities that labels name for a party with a confidence of at least 0.50.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the call is cancelled.
    pub fn entities(&self, party: Party) -> Result<BTreeSet<String>, LedgerError> {
        let labels = self.ledger.labels();
        if labels.is_empty() {
            return Ok(BTreeSet::new());
        }
        let head = self.ledger.coverage().get(&self.chain).and_then(|coverage| coverage.last_time);
        let moment = Moment::present(labels, head);
        let claims = claims_of(self.ledger, self.chain, &party.name, self.cancel)?;
        // A cluster passes on what one of its addresses is: the claim itself decides, not how far it goes.
        let claims: Vec<_> = claims.into_iter().map(|claim| Claim { link: Link::Exact, ..claim }).collect();
        let found = aggregate(&claims, &moment).entities;
        Ok(found.into_iter().filter(|entity| entity.confidence >= ENTITY_FROM).map(|entity| entity.key).collect())
    }
}

/// Makes parties one, link by link in the order of the chain, unless something speaks against it.
///
/// # Errors
/// What `entities` gives.
pub fn merge<E>(
    evidence: &Evidence,
    mut entities: impl FnMut(Party) -> Result<BTreeSet<String>, E>,
) -> Result<Merged, E> {
    let mut links = evidence.links.clone();
    links.sort_by(|one, other| {
        (one.place, one.transaction, one.output).cmp(&(other.place, other.transaction, other.output))
    });
    let mut merged = Merged::default();
    let mut groups: BTreeMap<Party, Group> = BTreeMap::new();
    for link in links {
        for party in [link.payer, link.owner] {
            if let Entry::Vacant(vacant) = merged.oldest.entry(party) {
                vacant.insert(party);
                groups.insert(party, Group { parties: BTreeSet::from([party]), entities: entities(party)? });
            }
        }
        let (one, other) = (merged.oldest[&link.payer], merged.oldest[&link.owner]);
        if one == other {
            merged.links.push(link);
            continue;
        }
        if let Some(refusal) = groups[&one].refuses(&groups[&other], &evidence.payments) {
            merged.refused.push((link, refusal));
            continue;
        }
        let (older, younger) = (one.min(other), one.max(other));
        let Some(gone) = groups.remove(&younger) else { continue };
        for party in &gone.parties {
            merged.oldest.insert(*party, older);
        }
        let Some(kept) = groups.get_mut(&older) else { continue };
        kept.parties.extend(gone.parties);
        kept.entities.extend(gone.entities);
        merged.links.push(link);
    }
    Ok(merged)
}

/// Parties that are one.
struct Group {
    parties: BTreeSet<Party>,
    entities: BTreeSet<String>,
}

impl Group {
    fn refuses(&self, other: &Self, payments: &BTreeMap<Party, BTreeSet<Party>>) -> Option<Refusal> {
        let are_known = !self.entities.is_empty() && !other.entities.is_empty();
        if are_known && self.entities.is_disjoint(&other.entities) {
            return Some(Refusal::Entities);
        }
        let (few, many) = if self.parties.len() < other.parties.len() { (self, other) } else { (other, self) };
        let mut paid = few.parties.iter().filter_map(|party| payments.get(party)).flatten();
        paid.any(|party| many.parties.contains(party)).then_some(Refusal::Payment)
    }
}
