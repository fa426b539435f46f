//! Burner wallet: a few days of life, then empty and silent.

use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, intensity};
use crate::behaviour::history::{AssetKind, History, Transfer};
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
        let mut used = history.all.iter().filter(|transfer| is_use(history, transfer)).map(|transfer| transfer.time);
        let first = used.next()?;
        let last = used.next_back().unwrap_or(first);
        let count = history.valued.len();
        if last - first > self.most_life_secs
            || !(self.least_transfers..=self.most_transfers).contains(&count)
            || history.head - last < self.silent_secs
            || history.in_usd.to_f64() < self.least_usd
            || history.ins.is_empty()
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
        let intensity = intensity(powers, 0.0, self.full_powers);
        Some(Detection { intensity, occurrences: 1, first, last, evidence })
    }
}

/// Whether a movement is use of the address. Movements of nothing, and of tokens that nobody vouches for, are written
/// into the history of any address by others.
fn is_use(history: &History, transfer: &Transfer) -> bool {
    match history.assets[transfer.asset as usize].kind {
        AssetKind::Native | AssetKind::Stablecoin | AssetKind::Verified => transfer.raw > 0,
        AssetKind::Unverified | AssetKind::Counterfeit => false,
    }
}
