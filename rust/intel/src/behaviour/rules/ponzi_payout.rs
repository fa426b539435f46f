//! Ponzi-like payouts: earlier payers are paid from the money of later ones.

use headwater_types::Usd;
use serde::Deserialize;

use crate::behaviour::Detect;
use crate::behaviour::episodes::{Detection, Evidence, Fact, measure};
use crate::behaviour::history::{History, NOBODY, Transfer};

/// Over all that is known of the address: many payers; most payouts go to those who paid before, out of what others paid
/// since; some got out more than they paid in; and payouts are less evenly spread than payments.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "each is a least value, and says so")]
pub struct PonziPayout {
    /// Distinct payers.
    pub least_payers: usize,
    /// Share of all payouts that go to earlier payers.
    pub least_overlap: f64,
    /// Share of the payouts to payers that later payments of others cover.
    pub least_covered: f64,
    /// Concentration of payouts to payers by that of payments.
    pub least_concentration: f64,
}

/// What one payer paid: times and sums so far.
#[derive(Clone, Default)]
struct Payer {
    times: Vec<i64>,
    sums: Vec<Usd>,
    received: Usd,
}

impl Payer {
    /// What was paid after one time, until another.
    fn between(&self, after: i64, until: i64) -> Usd {
        let until_sum = |time: i64| {
            let count = self.times.partition_point(|paid| *paid <= time);
            count.checked_sub(1).map_or(Usd::ZERO, |last| self.sums[last])
        };
        until_sum(until) - until_sum(after)
    }

    fn pay(&mut self, transfer: &Transfer) {
        let before = self.sums.last().copied().unwrap_or_default();
        self.times.push(transfer.time);
        self.sums.push(before + transfer.usd);
    }
}

impl Detect for PonziPayout {
    fn detect(&self, history: &History) -> Option<Detection> {
        if history.ins.len() < self.least_payers || history.outs.is_empty() {
            return None;
        }
        let mut payers = vec![Payer::default(); history.counterparties.len()];
        let mut everybody = Payer::default();
        for came in history.ins.iter().filter(|came| came.other != NOBODY) {
            payers[came.other as usize].pay(came);
            everybody.pay(came);
        }
        let count = payers.iter().filter(|payer| !payer.times.is_empty()).count();
        if count < self.least_payers {
            return None;
        }
        let (mut earlier, mut covered, mut to_payers, mut shown) = (0, 0, 0, Vec::new());
        for paid in history.outs.iter().filter(|paid| paid.other != NOBODY) {
            let payer = &mut payers[paid.other as usize];
            let Some(&first) = payer.times.first() else { continue };
            to_payers += 1;
            payer.received += paid.usd;
            if first < paid.time {
                earlier += 1;
                shown.push(paid);
            }
            let since = everybody.between(first, paid.time) - payer.between(first, paid.time);
            covered += usize::from(since >= paid.usd);
        }
        // A wrapper of coins, or whoever else gives back what is theirs, pays nobody more than they paid.
        let is_gain = |payer: &Payer| payer.sums.last().is_some_and(|paid| payer.received > *paid);
        if !payers.iter().any(is_gain) {
            return None;
        }
        let overlap = measure(earlier) / measure(history.outs.len());
        let paid_in = hhi(payers.iter().filter_map(|payer| payer.sums.last().copied()));
        let paid_out = hhi(payers.iter().map(|payer| payer.received));
        if overlap < self.least_overlap
            || measure(covered) < self.least_covered * measure(to_payers)
            || paid_out < self.least_concentration * paid_in
        {
            return None;
        }
        let evidence = Evidence::of(shown.iter().copied())
            .count("payers", count)
            .with("overlap", Fact::Ratio(overlap))
            .with("hhi", Fact::Ratio(paid_out));
        Some(Detection {
            intensity: 1.0,
            occurrences: 1,
            first: shown.first()?.time,
            last: shown.last()?.time,
            evidence,
        })
    }
}

/// Sum of squared shares.
fn hhi(sums: impl Iterator<Item = Usd> + Clone) -> f64 {
    let total = sums.clone().sum::<Usd>().to_f64();
    if total <= 0.0 { 0.0 } else { sums.map(|sum| (sum.to_f64() / total).powi(2)).sum() }
}
