//! Round amounts: most movements have one or two significant digits.

use serde::Deserialize;

use crate::behaviour::Detect;
use crate::behaviour::episodes::{Detection, Evidence, Fact, intensity, measure};
use crate::behaviour::history::{History, Transfer};

/// Over all that is known of the address: the share of movements of a round amount.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundAmounts {
    /// Movements, at least.
    pub least_transfers: usize,
    /// Share of round ones, at least.
    pub least_share: f64,
    /// The share from which the intensity is 1.
    pub full_share: f64,
    /// Significant digits of a round amount, at most.
    pub most_digits: usize,
    /// Whole units of a round amount, at least.
    pub least_units: f64,
}

impl Detect for RoundAmounts {
    fn detect(&self, history: &History) -> Option<Detection> {
        let count = history.valued.len();
        if count < self.least_transfers {
            return None;
        }
        let round: Vec<&Transfer> = history.valued.iter().filter(|transfer| self.is_round(history, transfer)).collect();
        let share = measure(round.len()) / measure(count);
        if share < self.least_share {
            return None;
        }
        let evidence =
            Evidence::of(round.iter().copied()).with("share", Fact::Ratio(share)).count("count", round.len());
        Some(Detection {
            intensity: intensity(share, self.least_share, self.full_share),
            occurrences: 1,
            first: round.first()?.time,
            last: round.last()?.time,
            evidence,
        })
    }
}

impl RoundAmounts {
    fn is_round(&self, history: &History, transfer: &Transfer) -> bool {
        let mut digits = transfer.raw;
        while digits != 0 && digits.is_multiple_of(10) {
            digits /= 10;
        }
        let count = digits.checked_ilog10().map_or(0, |power| power as usize + 1);
        count <= self.most_digits && history.units(transfer).is_some_and(|units| units >= self.least_units)
    }
}
