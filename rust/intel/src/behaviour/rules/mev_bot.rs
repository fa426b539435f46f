//! MEV bot: gains within single transactions, again and again.

use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence};
use crate::behaviour::history::{History, Transfer};
use crate::behaviour::patterns::{by_asset, transactions};
use crate::behaviour::{Detect, Needs};

/// Many transactions, over some days, by which an asset left and more of the same came back.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MevBot {
    /// Transactions with a gain.
    pub least_count: usize,
    /// Seconds from the first to the last of them.
    pub least_span_secs: i64,
}

impl Detect for MevBot {
    const NEEDS: Needs = Needs::Movements;

    fn detect(&self, history: &History) -> Option<Detection> {
        if history.all.len() < 2 * self.least_count {
            return None;
        }
        let gains = |movements: &&[Transfer]| {
            movements.len() >= 2 && by_asset(history, movements).iter().any(|&(_, came, left)| left > 0 && came > left)
        };
        let won: Vec<&Transfer> = transactions(&history.all).filter(gains).map(|movements| &movements[0]).collect();
        let (first, last) = (won.first()?.time, won.last()?.time);
        if won.len() < self.least_count || last - first < self.least_span_secs {
            return None;
        }
        let evidence = Evidence::of(won.iter().copied()).count("count", won.len());
        Some(Detection { intensity: 1.0, occurrences: won.len() as u64, first, last, evidence })
    }
}
