//! Peel chain: hop after hop passes most on to a fresh address and peels off the rest.

use headwater_ledger::LedgerError;
use headwater_types::{Address, Usd};
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Fact, intensity, measure};
use crate::behaviour::history::{History, Way};
use crate::behaviour::others::Reading;
use crate::behaviour::patterns::{Hop, Path, evidence, hops, path, shown};
use crate::behaviour::{DetectAmongOthers, Needs};

/// Several addresses in a row, each of which soon after its first movement passes most of all it ever gets of an asset to
/// one address that never moved before, and sends the rest elsewhere.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeelChain {
    /// Hops of the chain.
    pub least_hops: usize,
    /// The number of hops from which the intensity is 1.
    pub full_hops: usize,
    /// Share of the inflow that is passed on, at least.
    pub least_ratio: f64,
    /// And at most.
    pub most_ratio: f64,
    /// How long after its first movement an address passes on.
    pub most_gap_secs: i64,
}

impl DetectAmongOthers for PeelChain {
    const NEEDS: Needs = Needs::Values;

    fn detect_among(&self, history: &History, others: &Reading<'_>) -> Result<Option<Detection>, LedgerError> {
        let (chain, own) = path(self, history, others)?;
        if chain.len() < self.least_hops {
            return Ok(None);
        }
        let peeled: Usd = chain.iter().map(|hop| hop.rest).sum();
        let (Some(first), Some(last)) = (chain.first(), chain.last()) else { return Ok(None) };
        let evidence = evidence(shown(&chain, own), "chain")
            .within(self.most_gap_secs)
            .count("hops", chain.len())
            .with("peeled_usd", Fact::Usd(peeled));
        Ok(Some(Detection {
            intensity: intensity(measure(chain.len()), measure(self.least_hops), measure(self.full_hops)),
            occurrences: 1,
            first: first.came,
            last: last.left,
            evidence,
        }))
    }
}

impl Path for PeelChain {
    fn most(&self) -> usize {
        self.full_hops.max(self.least_hops)
    }

    fn hops(&self, at: &Address, history: &History) -> Vec<Hop> {
        let mut hops = hops(at, history, self.most_gap_secs);
        hops.retain(|hop| (self.least_ratio..=self.most_ratio).contains(&hop.ratio) && hop.rest > Usd::ZERO);
        hops
    }

    fn holds(&self, hop: &Hop, others: &Reading<'_>) -> Result<bool, LedgerError> {
        Ok(others.moved_before(&hop.to, hop.left)? == Some(false))
    }

    fn may_go_on(&self, _: &Hop, _: &Reading<'_>) -> Result<bool, LedgerError> {
        Ok(true)
    }

    /// The hop before paid first of all.
    fn may_come_from(&self, hop: &Hop, history: &History, others: &Reading<'_>) -> Result<Vec<Address>, LedgerError> {
        let Some(first) = history.all.first().map(|first| first.time) else { return Ok(Vec::new()) };
        let mut senders = Vec::new();
        for came in history.ins.iter().filter(|came| came.time == first && came.way == Way::In) {
            let Some(sender) = history.other(came).filter(|_| history.asset(came) == hop.asset) else { continue };
            let is_old = others.moved_before(&sender.address, first.saturating_sub(self.most_gap_secs))?;
            if is_old == Some(false) && !senders.contains(&sender.address) {
                senders.push(sender.address);
            }
        }
        Ok(senders)
    }
}
