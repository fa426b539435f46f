//! Dust: what anybody can send to anybody.

use headwater_types::Usd;
use serde::Deserialize;

use super::history::History;
use super::ratio;
use super::transfer::Transfer;

/// Money that only came, so little that it may have been sent to compromise the address. In August 2022 somebody sent
/// small amounts from a sanctioned mixer to well-known people.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DustGuard {
    /// Less than this is dust.
    pub most_usd: f64,
    /// Less than this is dust where it is a small share of the inflow and was never spent.
    pub most_unspent_usd: f64,
    /// What a small share of all inflow is.
    pub most_share: f64,
}

impl DustGuard {
    /// Whether movements that only came, worth so much together, are dust. Spent means: any amount of the same asset left
    /// later.
    pub fn is_dust(&self, usd: Usd, history: &History, came: impl IntoIterator<Item = impl AsRef<Transfer>>) -> bool {
        let worth = usd.to_f64();
        if worth < self.most_usd {
            return true;
        }
        // What became of movements that were left out is not known.
        let is_spent = |came: &Transfer| history.last_out(came.asset).is_some_and(|left| left >= came.time);
        !history.is_truncated
            && worth < self.most_unspent_usd
            && ratio(usd, history.in_usd) < self.most_share
            && !came.into_iter().any(|came| is_spent(came.as_ref()))
    }
}

impl AsRef<Self> for Transfer {
    fn as_ref(&self) -> &Self {
        self
    }
}
