//! Dispersal to many: few pay in, many are paid within a day.

use serde::Deserialize;

use crate::behaviour::Detect;
use crate::behaviour::episodes::{Detection, Evidence, Fact, Stretch, intensity, measure, note, windows};
use crate::behaviour::history::{History, NOBODY};

/// Within `window_secs` many distinct recipients, where few have paid in so far.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FanOut {
    /// The window.
    pub window_secs: i64,
    /// Distinct recipients in it.
    pub least_recipients: usize,
    /// The number of recipients from which the intensity is 1.
    pub full_recipients: usize,
    /// Distinct senders until its end, at most; one who sent less than a dollar is none.
    pub most_sources: usize,
    /// Recipients by senders, at least.
    pub least_ratio: f64,
    /// US dollars sent in it.
    pub least_usd: f64,
}

impl Detect for FanOut {
    fn detect(&self, history: &History) -> Option<Detection> {
        if history.outs.len() < self.least_recipients {
            return None;
        }
        let sources = Sources::new(history);
        let mut paid = Stretch::new(&history.outs, history.counterparties.len());
        let mut found = None;
        for window in windows(&history.outs, self.window_secs) {
            let (from, until) = (history.outs[window.start].time, history.outs[window.end - 1].time);
            paid.slide(window);
            let (recipients, funders) = (paid.distinct(), sources.until(until));
            if recipients >= self.least_recipients
                && funders <= self.most_sources
                && measure(recipients) >= self.least_ratio * measure(funders)
                && paid.usd().to_f64() >= self.least_usd
            {
                note(&mut found, (from, until), measure(recipients), || {
                    Evidence::of(paid.transfers())
                        .within(self.window_secs)
                        .count("recipients", recipients)
                        .count("sources", funders)
                        .with("total_usd", Fact::Usd(paid.usd()))
                });
            }
        }
        found.map(|found| Detection {
            intensity: intensity(found.measure, measure(self.least_recipients), measure(self.full_recipients)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence: found.best,
        })
    }
}

/// When each sender paid in first, in order of time.
struct Sources(Vec<i64>);

impl Sources {
    fn new(history: &History) -> Self {
        let mut seen = vec![false; history.counterparties.len()];
        let paid_in = history.ins.iter().filter(|came| came.other != NOBODY && came.usd.to_f64() >= 1.0);
        let first = paid_in.filter(|came| !std::mem::replace(&mut seen[came.other as usize], true));
        Self(first.map(|came| came.time).collect())
    }

    fn until(&self, time: i64) -> usize {
        self.0.partition_point(|first| *first <= time)
    }
}
