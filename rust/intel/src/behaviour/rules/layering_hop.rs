//! Layering hop: one of several fresh addresses in a row that pass nearly all on within a day.

use headwater_ledger::LedgerError;
use headwater_types::Address;
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Fact, intensity, measure};
use crate::behaviour::history::History;
use crate::behaviour::others::Reading;
use crate::behaviour::patterns::{Hop, Path, evidence, hops, path, shown};
use crate::behaviour::{DetectAmongOthers, Needs};

/// Several addresses in a row, each of which is young and passes nearly all that it ever gets of an asset to one address,
/// within `window_secs` after the asset came first.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayeringHop {
    /// Addresses of the path.
    pub least_length: usize,
    /// The number of addresses from which the intensity is 1.
    pub full_length: usize,
    /// Share of the inflow that is passed on.
    pub least_ratio: f64,
    /// How soon it is passed on.
    pub window_secs: i64,
    /// How old an address is at most, from its first movement, when it passes on.
    pub most_age_secs: i64,
}

impl DetectAmongOthers for LayeringHop {
    const NEEDS: Needs = Needs::Values;

    fn detect_among(&self, history: &History, others: &Reading<'_>) -> Result<Option<Detection>, LedgerError> {
        let (way, own) = path(self, history, others)?;
        if way.len() < self.least_length {
            return Ok(None);
        }
        let (Some(first), Some(last)) = (way.first(), way.last()) else { return Ok(None) };
        let shown = shown(&way, own);
        let evidence = evidence(shown, "path")
            .within(self.window_secs)
            .count("length", way.len())
            .with("ratios", Fact::Numbers(shown.iter().map(|hop| hop.ratio).collect()))
            .with("gaps_s", Fact::EachSecs(shown.iter().map(|hop| hop.left - hop.came).collect()));
        Ok(Some(Detection {
            intensity: intensity(measure(way.len()), measure(self.least_length), measure(self.full_length)),
            occurrences: 1,
            first: first.came,
            last: last.left,
            evidence,
        }))
    }
}

impl Path for LayeringHop {
    fn most(&self) -> usize {
        self.full_length.max(self.least_length)
    }

    fn hops(&self, at: &Address, history: &History) -> Vec<Hop> {
        let mut hops = hops(at, history, self.most_age_secs);
        hops.retain(|hop| hop.ratio >= self.least_ratio && hop.left - hop.came <= self.window_secs);
        hops
    }

    fn holds(&self, _: &Hop, _: &Reading<'_>) -> Result<bool, LedgerError> {
        Ok(true)
    }

    fn may_go_on(&self, hop: &Hop, others: &Reading<'_>) -> Result<bool, LedgerError> {
        Ok(others.moved_before(&hop.to, hop.left.saturating_sub(self.most_age_secs))? == Some(false))
    }

    fn may_come_from(&self, hop: &Hop, history: &History, others: &Reading<'_>) -> Result<Vec<Address>, LedgerError> {
        let mut senders = Vec::new();
        for came in history.ins.iter().take_while(|came| came.time <= hop.left) {
            let Some(sender) = history.other(came).filter(|_| history.asset(came) == hop.asset) else { continue };
            if senders.contains(&sender.address) {
                continue;
            }
            let is_old = others.moved_before(&sender.address, came.time.saturating_sub(self.most_age_secs))?;
            if is_old == Some(false) {
                senders.push(sender.address);
            }
        }
        Ok(senders)
    }
}
