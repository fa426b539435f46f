//! The record of a provider: calls, times, failures, and answers that were wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The number of latest times that quantiles are taken of.
const KEPT: usize = 512;

/// The score card of a provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScoreCard {
    /// Calls with an answer that was used.
    pub answered: u64,
    /// Calls that failed: cut connections, failures of the provider, answers that were not understood.
    pub failed: u64,
    /// Refusals because of too many requests.
    pub rate_limited: u64,
    /// Blocks or receipts that it did not have although its head is beyond them.
    pub gaps: u64,
    /// Wrong answers, by the name of the contradiction.
    pub lies: BTreeMap<String, u64>,
    /// The first wrong answer, in a sentence.
    pub first_lie: Option<String>,
    /// Methods that it does not have.
    pub lacks: Vec<String>,
    /// The reason for which the last load stopped to ask it; none if it did not.
    pub aside: Option<String>,
    /// The latest times of calls in milliseconds, which the file of the store keeps beside the card.
    #[serde(skip)]
    pub(crate) millis: Vec<f64>,
}

/// The score card of a named provider as it is shown, with two of its times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProviderSummary {
    /// Host and port of the provider.
    pub provider: String,
    /// The counts.
    #[serde(flatten)]
    pub card: ScoreCard,
    /// The time that half of the latest calls took at most, in milliseconds.
    pub p50_ms: Option<f64>,
    /// The time that 99 of 100 of the latest calls took at most, in milliseconds.
    pub p99_ms: Option<f64>,
}

impl ScoreCard {
    /// Returns what is shown of the card of a provider.
    #[must_use]
    pub fn summary(&self, provider: &str) -> ProviderSummary {
        ProviderSummary {
            provider: provider.to_owned(),
            p50_ms: self.quantile(0.5),
            p99_ms: self.quantile(0.99),
            card: self.clone(),
        }
    }

    /// Counts an answer.
    pub fn answered(&mut self, time: Duration) {
        self.answered += 1;
        if self.millis.len() == KEPT {
            self.millis.remove(0);
        }
        self.millis.push(time.as_secs_f64() * 1000.0);
    }

    /// Counts a wrong answer.
    pub fn lied(&mut self, code: &str, text: &str) {
        *self.lies.entry(code.to_owned()).or_default() += 1;
        self.first_lie.get_or_insert_with(|| text.to_owned());
    }

    /// Adds the counts of a later load.
    pub(crate) fn add(&mut self, later: &Self) {
        self.answered += later.answered;
        self.failed += later.failed;
        self.rate_limited += later.rate_limited;
        self.gaps += later.gaps;
        for (code, count) in &later.lies {
            *self.lies.entry(code.clone()).or_default() += count;
        }
        self.first_lie = self.first_lie.take().or_else(|| later.first_lie.clone());
        self.lacks.clone_from(&later.lacks);
        self.aside.clone_from(&later.aside);
        self.millis.extend(&later.millis);
        let surplus = self.millis.len().saturating_sub(KEPT);
        self.millis.drain(..surplus);
    }

    /// Notes a method that it does not have.
    pub fn lacks(&mut self, method: &str) {
        if !self.lacks.iter().any(|known| known == method) {
            self.lacks.push(method.to_owned());
        }
    }

    /// Returns the time that a share of the latest calls took at most, in milliseconds.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let mut sorted = self.millis.clone();
        sorted.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a rank of at most 512"
        )]
        let rank = ((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1);
        sorted.get(rank).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add_sums_counts_and_keeps_the_latest_times() {
        let mut card = ScoreCard { aside: Some("before".to_owned()), ..ScoreCard::default() };
        let mut later = ScoreCard { gaps: 2, ..ScoreCard::default() };
        (0..KEPT).for_each(|_| card.answered(Duration::from_millis(1)));
        later.answered(Duration::from_millis(9));
        later.lied("count", "block 3: ...");
        card.add(&later);
        card.add(&later);
        assert_eq!((card.gaps, card.lies["count"], card.answered), (4, 2, KEPT as u64 + 2));
        assert_eq!((card.aside.clone(), card.millis.len(), card.quantile(1.0)), (None, KEPT, Some(9.0)));
    }

    #[test]
    fn quantiles_are_of_the_latest_calls() {
        let mut card = ScoreCard::default();
        assert_eq!(card.quantile(0.5), None);
        for millis in 1..=100 {
            card.answered(Duration::from_millis(millis));
        }
        assert_eq!((card.quantile(0.5), card.quantile(0.99)), (Some(50.0), Some(99.0)));
    }
}
