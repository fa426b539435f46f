//! Rapid in and out: what comes leaves within the hour.

use headwater_types::Usd;
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, intensity};
use crate::behaviour::history::History;
use crate::behaviour::{Detect, ratio};

const DAY_SECS: i64 = 86_400;

/// Matched first in first out, at least `least_ratio` of all that came in left within `window_secs`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RapidInOut {
    /// How soon counts as rapid.
    pub window_secs: i64,
    /// Share of the inflow that has to leave so soon.
    pub least_ratio: f64,
    /// The share from which the intensity is 1.
    pub full_ratio: f64,
    /// Movements in that have to leave so soon.
    pub least_inflows: usize,
    /// US dollars that have to leave so soon.
    pub least_usd: f64,
}

impl Detect for RapidInOut {
    /// An episode is a run of days: quick exits at most a day apart.
    fn detect(&self, history: &History) -> Option<Detection> {
        let quick = || history.holds().iter().filter(|hold| hold.secs <= self.window_secs);
        let usd: Usd = quick().map(|hold| hold.usd).sum();
        let matched = ratio(usd, history.in_usd);
        let mut came: Vec<_> = quick().filter(|hold| hold.usd.to_f64() >= 1.0).map(|hold| hold.came).collect();
        came.sort_unstable();
        came.dedup();
        if matched < self.least_ratio || came.len() < self.least_inflows || usd.to_f64() < self.least_usd {
            return None;
        }
        let mut left: Vec<_> = quick().map(|hold| hold.left).collect();
        left.sort_unstable();
        left.dedup();
        let time = |place: usize| history.valued[place].time;
        let pauses = left.windows(2).filter(|pair| time(pair[1]) - time(pair[0]) > DAY_SECS).count();
        let mut secs: Vec<_> = quick().map(|hold| hold.secs).collect();
        secs.sort_unstable();
        let median = *secs.get(secs.len().checked_sub(1)? / 2)?;
        let mut shown: Vec<_> = quick().flat_map(|hold| [hold.came, hold.left]).collect();
        shown.sort_unstable();
        let evidence = Evidence::of(shown.iter().map(|place| &history.valued[*place]))
            .within(self.window_secs)
            .with("matched_usd", Fact::Usd(usd))
            .with("ratio", Fact::Ratio(matched))
            .with("median_hold_s", Fact::Secs(median))
            .count("matched_inflows", came.len());
        Some(Detection {
            intensity: intensity(matched, self.least_ratio, self.full_ratio),
            occurrences: 1 + pauses as u64,
            first: time(shown[0]),
            last: time(*left.last()?),
            evidence,
        })
    }
}
