//! Burner wallet: a few days of life, then empty and silent.

use serde::Deserialize;

use crate::behaviour::evidence::{Detection, Evidence, Fact};
use crate::behaviour::history::History;
use crate::behaviour::{Detect, ratio, residual};

/// Few movements within a short life, after which nothing is left and nothing happens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurnerWallet {
    /// Longest life.
    pub most_life_secs: i64,
    /// Fewest movements.
    pub least_transfers: usize,
    /// Most movements.
    pub most_transfers: usize,
    /// Largest share of the inflow that stays.
    pub most_residual: f64,
    /// How long it has been silent, at least.
    pub silent_secs: i64,
    /// Least inflow in US dollars.
    pub least_usd: f64,
    /// Powers of ten above `least_usd` from which the intensity is 1.
    pub full_powers: f64,
}

impl Detect for BurnerWallet {
    fn detect(&self, history: &History) -> Option<Detection> {
        let (first, last) = (history.all.first()?.time, history.all.last()?.time);
        let count = history.valued.len();
        if last - first > self.most_life_secs
            || !(self.least_transfers..=self.most_transfers).contains(&count)
            || history.head - last < self.silent_secs
            || history.in_usd.to_f64() < self.least_usd
            || history.outs.is_empty()
        {
            return None;
        }
        let stays = residual(history);
        if ratio(stays, history.in_usd) > self.most_residual {
            return None;
        }
        let evidence = Evidence::of(&history.valued)
            .with("life_s", Fact::Secs(last - first))
            .count("tx_count", count)
            .with("in_usd", Fact::Usd(history.in_usd))
            .with("residual_usd", Fact::Usd(stays));
        let powers = (history.in_usd.to_f64() / self.least_usd).log10();
        let intensity = (powers / self.full_powers).clamp(0.0, 1.0);
        Some(Detection { intensity, occurrences: 1, first, last, evidence })
    }
}
