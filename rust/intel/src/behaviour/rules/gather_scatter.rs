//! Gather then scatter: many pay in, and soon many are paid.

use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, Stretch, measure, note, windows};
use crate::behaviour::history::History;
use crate::behaviour::{Detect, ratio};

/// Within `window_secs` several senders; until `forward_secs` after the last of them several recipients who get most of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatherScatter {
    /// The window of gathering.
    pub window_secs: i64,
    /// Distinct senders in it.
    pub least_senders: usize,
    /// How long after it scattering may last.
    pub forward_secs: i64,
    /// Distinct recipients.
    pub least_recipients: usize,
    /// Share of what was gathered that has to go on.
    pub least_forwarded: f64,
    /// US dollars gathered, at least.
    pub least_usd: f64,
}

impl Detect for GatherScatter {
    fn detect(&self, history: &History) -> Option<Detection> {
        if history.ins.len() < self.least_senders || history.outs.len() < self.least_recipients {
            return None;
        }
        let mut came = Stretch::new(&history.ins, history.counterparties.len());
        let mut onward = Stretch::new(&history.outs, history.counterparties.len());
        let mut found = None;
        for window in windows(&history.ins, self.window_secs) {
            let (from, until) = (history.ins[window.start].time, history.ins[window.end - 1].time);
            came.slide(window);
            if came.distinct() < self.least_senders || came.usd().to_f64() < self.least_usd {
                continue;
            }
            onward.slide_to_times(from, until.saturating_add(self.forward_secs));
            let share = ratio(onward.usd(), came.usd());
            if onward.distinct() >= self.least_recipients && share >= self.least_forwarded {
                let ends = onward.transfers().last().map_or(until, |last| last.time.max(until));
                note(&mut found, (from, ends), measure(came.distinct() + onward.distinct()), || {
                    Evidence::of(came.transfers().iter().take(5).chain(onward.transfers()))
                        .within(self.window_secs)
                        .count("senders", came.distinct())
                        .count("recipients", onward.distinct())
                        .with("ratio", Fact::Ratio(share))
                });
            }
        }
        found.map(|found| Detection {
            intensity: 1.0,
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence: found.best,
        })
    }
}
