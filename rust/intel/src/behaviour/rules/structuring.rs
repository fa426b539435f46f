//! Structuring: many amounts just below a limit within a day.

use headwater_types::Usd;
use serde::Deserialize;

use crate::behaviour::Detect;
use crate::behaviour::evidence::{Detection, Evidence, Fact};
use crate::behaviour::history::History;
use crate::behaviour::transfer::Transfer;
use crate::behaviour::windows::{Episodes, Stretch, intensity, join, measure, note, windows};

/// Within `window_secs` several movements of one direction, each just below one of the limits, together far above it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Structuring {
    /// Limits in US dollars above which somebody reports.
    pub limits_usd: Vec<f64>,
    /// Just below begins at this share of a limit.
    pub least_share: f64,
    /// The window.
    pub window_secs: i64,
    /// Movements in it.
    pub least_count: usize,
    /// The number of movements from which the intensity is 1.
    pub full_count: usize,
    /// Their sum in limits, at least.
    pub least_limits: f64,
}

impl Detect for Structuring {
    fn detect(&self, history: &History) -> Option<Detection> {
        let mut together: Option<Episodes<Evidence>> = None;
        for &limit in &self.limits_usd {
            for of_one_way in [&history.ins, &history.outs] {
                let mut found = None;
                if of_one_way.len() < self.least_count {
                    continue;
                }
                let is_near = |transfer: &&Transfer| {
                    let usd = transfer.usd.to_f64();
                    usd >= self.least_share * limit && usd < limit
                };
                let near: Vec<Transfer> = of_one_way.iter().filter(is_near).copied().collect();
                let mut stretch = Stretch::new(&near, 0);
                for window in windows(&near, self.window_secs) {
                    stretch.slide(window);
                    let (within, sum) = (stretch.transfers(), stretch.usd());
                    if within.len() >= self.least_count && sum.to_f64() >= self.least_limits * limit {
                        let span = (within[0].time, within[within.len() - 1].time);
                        note(&mut found, span, measure(within.len()), || {
                            Evidence::of(within)
                                .within(self.window_secs)
                                .with("limit_usd", Fact::Usd(Usd::from_f64(limit).unwrap_or_default()))
                                .count("count", within.len())
                                .with("sum_usd", Fact::Usd(sum))
                        });
                    }
                }
                together = join(together, found);
            }
        }
        together.map(|found| Detection {
            intensity: intensity(found.measure, measure(self.least_count), measure(self.full_count)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence: found.best,
        })
    }
}
