//! Approval drain: owners allowed something to somebody, who takes nearly all that they have.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::LedgerError;
use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Usd};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, intensity, measure, note};
use crate::behaviour::history::{AssetKind, History, NOBODY, Roles, Transfer, Way};
use crate::behaviour::others::Reading;
use crate::behaviour::patterns::{share, transactions};
use crate::behaviour::{DetectAmongOthers, MAX_LISTED, Needs};

/// Within `window_secs` tokens of several owners come in transactions that the owners did not send, each nearly all that
/// the owner has of the token, by one sender or two. Only tokens that a registry vouches for count: other contracts can
/// write what they like into the history of anybody.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalDrain {
    /// The window.
    pub window_secs: i64,
    /// Distinct owners in it.
    pub least_owners: usize,
    /// The number of owners from which the intensity is 1.
    pub full_owners: usize,
    /// Share of what the owner has of the token.
    pub least_share: f64,
    /// Distinct senders of the transactions, at most.
    pub most_senders: usize,
}

/// What one transaction brought from one owner of one token.
#[derive(Clone, Copy)]
struct Taken {
    time: i64,
    transaction: TransactionRef,
    owner: u32,
    asset: u32,
    raw: u128,
    usd: Usd,
}

/// The same, once it is known who sent it.
struct Drain {
    taken: Taken,
    sender: Address,
}

impl DetectAmongOthers for ApprovalDrain {
    const NEEDS: Needs = Needs::Movements;

    fn detect_among(&self, history: &History, others: &Reading<'_>) -> Result<Option<Detection>, LedgerError> {
        if history.counterparties.len() < self.least_owners {
            return Ok(None);
        }
        let drains = self.drains(history, others)?;
        let mut found = None;
        for (place, first) in drains.iter().enumerate() {
            let until = first.taken.time.saturating_add(self.window_secs);
            let within = &drains[place..];
            let within = &within[..within.partition_point(|drain| drain.taken.time <= until)];
            let (by_most, senders) = self.of_few_senders(within);
            let owners: BTreeSet<u32> = by_most.iter().map(|drain| drain.taken.owner).collect();
            if owners.len() < self.least_owners {
                continue;
            }
            let span = (by_most[0].taken.time, by_most[by_most.len() - 1].taken.time);
            note(&mut found, span, measure(owners.len()), || {
                let usd: Usd = by_most.iter().map(|drain| drain.taken.usd).sum();
                Evidence::by(by_most.iter().map(|drain| drain.taken.transaction))
                    .within(self.window_secs)
                    .count("owners", owners.len())
                    .with("spender", Fact::Addresses(senders.into_iter().take(MAX_LISTED).collect()))
                    .with("usd", Fact::Usd(usd))
            });
        }
        Ok(found.map(|found| Detection {
            intensity: intensity(found.measure, measure(self.least_owners), measure(self.full_owners)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence: found.best,
        }))
    }
}

/// What came of sound tokens from somebody who is no exchange, and not for anything that the address gave in the same transaction.
fn taken(history: &History) -> Vec<Taken> {
    let is_sound = |transfer: &Transfer| matches!(history.kind(transfer), AssetKind::Stablecoin | AssetKind::Verified);
    let mut all: Vec<Taken> = Vec::new();
    for movements in transactions(&history.all) {
        let is_given =
            |one: &Transfer| one.way == Way::Out && one.raw > 0 && history.kind(one) != AssetKind::Counterfeit;
        if movements.iter().any(is_given) {
            continue;
        }
        let begin = all.len();
        let may_own = |one: &Transfer| one.other != NOBODY && !history.roles(one.other).holds(Roles::EXCHANGE);
        for one in movements.iter().filter(|one| one.raw > 0 && is_sound(one) && may_own(one)) {
            match all[begin..].iter_mut().find(|taken| (taken.owner, taken.asset) == (one.other, one.asset)) {
                Some(taken) => {
                    taken.raw = taken.raw.saturating_add(one.raw);
                    taken.usd += one.usd;
                }
                None => all.push(Taken {
                    time: one.time,
                    transaction: one.transaction,
                    owner: one.other,
                    asset: one.asset,
                    raw: one.raw,
                    usd: one.usd,
                }),
            }
        }
    }
    all
}

impl ApprovalDrain {
    /// Those within a window in which enough owners paid.
    fn candidates(&self, all: &[Taken]) -> Vec<Taken> {
        let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
        let (mut end, mut covered, mut candidates) = (0, 0, Vec::new());
        for (start, first) in all.iter().enumerate() {
            while let Some(next) = all.get(end).filter(|next| next.time <= first.time.saturating_add(self.window_secs))
            {
                *counts.entry(next.owner).or_default() += 1;
                end += 1;
            }
            if counts.len() >= self.least_owners {
                candidates.extend_from_slice(&all[covered.max(start)..end]);
                covered = end;
            }
            if let Some(count) = counts.get_mut(&first.owner) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&first.owner);
                }
            }
        }
        candidates
    }

    /// What was taken from owners, as long as enough of them may be found.
    fn drains(&self, history: &History, others: &Reading<'_>) -> Result<Vec<Drain>, LedgerError> {
        let candidates = self.candidates(&taken(history));
        let mut open: FxHashMap<u32, usize> = FxHashMap::default();
        for taken in &candidates {
            *open.entry(taken.owner).or_default() += 1;
        }
        let mut drained: FxHashSet<u32> = FxHashSet::default();
        let mut drains: Vec<Drain> = Vec::new();
        for taken in candidates {
            if open.len() + drained.len() < self.least_owners {
                break;
            }
            if let Some(left) = open.get_mut(&taken.owner) {
                *left -= 1;
                if *left == 0 {
                    open.remove(&taken.owner);
                }
            }
            let Some(whole) = others.transaction(taken.transaction)? else { break };
            let owner = history.counterparties[taken.owner as usize].address;
            match whole.sender {
                None => {
                    others.miss::<()>();
                }
                Some(sender) if sender != owner && self.is_most(history, others, &taken)? => {
                    drained.insert(taken.owner);
                    drains.push(Drain { taken, sender });
                }
                Some(_) => {}
            }
        }
        Ok(drains)
    }

    /// Returns whether it was nearly all that the owner had of the token.
    fn is_most(&self, history: &History, others: &Reading<'_>, taken: &Taken) -> Result<bool, LedgerError> {
        let asset = history.assets[taken.asset as usize].asset;
        if !others.has_whole_history(&asset) {
            return Ok(false);
        }
        let owner = history.counterparties[taken.owner as usize].address;
        let Some(of_owner) = others.history(&owner)? else { return Ok(false) };
        let (mut came, mut left) = (0_u128, 0_u128);
        for one in of_owner.all.iter().take_while(|one| one.transaction != taken.transaction) {
            if of_owner.asset(one) == asset {
                let sum = if one.way == Way::In { &mut came } else { &mut left };
                *sum = sum.saturating_add(one.raw);
            }
        }
        let had = came.saturating_sub(left);
        if of_owner.is_truncated || had < taken.raw {
            // Not all that came to the owner is held.
            return Ok(others.miss::<()>().is_some());
        }
        Ok(share(taken.raw, had) >= self.least_share)
    }

    /// The drains by the few senders who took from most owners, with those senders in order of address.
    fn of_few_senders<'d>(&self, drains: &'d [Drain]) -> (Vec<&'d Drain>, BTreeSet<Address>) {
        let mut owners_of: BTreeMap<Address, BTreeSet<u32>> = BTreeMap::new();
        for drain in drains {
            owners_of.entry(drain.sender).or_default().insert(drain.taken.owner);
        }
        let mut senders: Vec<(Address, usize)> = owners_of.iter().map(|(sender, of)| (*sender, of.len())).collect();
        senders.sort_by_key(|(sender, owners)| (std::cmp::Reverse(*owners), *sender));
        let senders: BTreeSet<Address> =
            senders.into_iter().take(self.most_senders).map(|(sender, _)| sender).collect();
        (drains.iter().filter(|drain| senders.contains(&drain.sender)).collect(), senders)
    }
}
