//! Pass-through address: all that comes goes on, soon, between few.

use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, distinct, intensity};
use crate::behaviour::history::History;
use crate::behaviour::{Detect, ratio, residual};

/// Over all that is known of the address: as much leaves as comes, nearly nothing stays, and nothing stays for long.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassThrough {
    /// Largest difference of inflow and outflow, as a share of the inflow.
    pub most_imbalance: f64,
    /// Largest share of the inflow that stays.
    pub most_residual: f64,
    /// Longest median stay.
    pub most_hold_secs: i64,
    /// Most senders, and most receivers.
    pub most_counterparties: usize,
    /// Least inflow in US dollars.
    pub least_usd: f64,
}

impl Detect for PassThrough {
    fn detect(&self, history: &History) -> Option<Detection> {
        if history.in_usd.to_f64() < self.least_usd || history.outs.is_empty() {
            return None;
        }
        let difference = (history.in_usd - history.out_usd).to_f64().abs();
        let imbalance = difference / history.in_usd.to_f64();
        let stays = residual(history);
        let few = |count: usize| count <= self.most_counterparties;
        if imbalance > self.most_imbalance
            || ratio(stays, history.in_usd) > self.most_residual
            || !few(distinct(&history.ins))
            || !few(distinct(&history.outs))
        {
            return None;
        }
        let mut secs: Vec<_> = history.holds().iter().map(|hold| hold.secs).collect();
        secs.sort_unstable();
        let upper = *secs.get(secs.len() / 2)?;
        let median = secs[(secs.len() - 1) / 2].midpoint(upper);
        if median > self.most_hold_secs {
            return None;
        }
        let evidence = Evidence::of(&history.valued)
            .with("in_usd", Fact::Usd(history.in_usd))
            .with("out_usd", Fact::Usd(history.out_usd))
            .with("residual_usd", Fact::Usd(stays))
            .with("median_hold_s", Fact::Secs(median));
        Some(Detection {
            intensity: intensity(self.most_imbalance - imbalance, 0.0, self.most_imbalance),
            occurrences: 1,
            first: history.ins.first()?.time,
            last: history.valued.last()?.time,
            evidence,
        })
    }
}
