//! Dusting sender: next to nothing to very many within a day.

use serde::Deserialize;

use crate::behaviour::Detect;
use crate::behaviour::episodes::{Detection, Evidence, Fact, Stretch, intensity, measure, note, windows};
use crate::behaviour::history::{History, Transfer};

/// Within `window_secs` movements of less than `most_usd` to very many recipients, none of whom ever paid back.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dusting {
    /// The window.
    pub window_secs: i64,
    /// Distinct recipients in it.
    pub least_recipients: usize,
    /// The number of recipients from which the intensity is 1.
    pub full_recipients: usize,
    /// Dust is worth less.
    pub most_usd: f64,
}

impl Detect for Dusting {
    fn detect(&self, history: &History) -> Option<Detection> {
        if history.outs.len() < self.least_recipients {
            return None;
        }
        let mut replied = vec![false; history.counterparties.len()];
        for came in &history.ins {
            if let Some(replied) = replied.get_mut(came.other as usize) {
                *replied = true;
            }
        }
        let is_unanswered = |to: u32| !replied.get(to as usize).copied().unwrap_or(true);
        let is_grain = |sent: &&Transfer| sent.usd.to_f64() < self.most_usd && is_unanswered(sent.other);
        let grains: Vec<Transfer> = history.outs.iter().filter(is_grain).copied().collect();
        let mut sent = Stretch::new(&grains, history.counterparties.len());
        let mut found = None;
        for window in windows(&grains, self.window_secs) {
            let span = (grains[window.start].time, grains[window.end - 1].time);
            sent.slide(window);
            if sent.distinct() >= self.least_recipients {
                note(&mut found, span, measure(sent.distinct()), || (sent.transfers(), sent.distinct()));
            }
        }
        let found = found?;
        let (best, recipients) = found.best;
        let mut worth: Vec<_> = best.iter().map(|grain| grain.usd).collect();
        worth.sort_unstable();
        let evidence = Evidence::of(best)
            .within(self.window_secs)
            .count("recipients", recipients)
            .with("median_usd", Fact::Usd(worth[(worth.len() - 1) / 2]));
        Some(Detection {
            intensity: intensity(found.measure, measure(self.least_recipients), measure(self.full_recipients)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence,
        })
    }
}
