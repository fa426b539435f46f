//! High-frequency transfers: too fast for a person.

use serde::Deserialize;

use crate::behaviour::Detect;
use crate::behaviour::episodes::{Detection, Episodes, Evidence, Fact, intensity, measure, note, windows};
use crate::behaviour::history::{History, Transfer};

const HOUR_SECS: i64 = 3_600;
const DAY_SECS: i64 = 86_400;

/// Many movements in an hour, or in a day, or a short median gap over many.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HighFrequency {
    /// Movements in an hour.
    pub least_per_hour: usize,
    /// Movements in an hour from which the intensity is 1.
    pub full_per_hour: usize,
    /// Movements in a day.
    pub least_per_day: usize,
    /// The longest median gap.
    pub most_median_gap_secs: i64,
    /// Movements over which the gap is taken, at least.
    pub least_gaps_of: usize,
}

impl Detect for HighFrequency {
    fn detect(&self, history: &History) -> Option<Detection> {
        let valued = &history.valued;
        if valued.len() < self.least_per_hour.min(self.least_per_day).min(self.least_gaps_of) {
            return None;
        }
        let (mut most, mut found) = (0, None);
        for window in windows(valued, HOUR_SECS) {
            most = most.max(window.len());
            note_from(&valued[window], self.least_per_hour, HOUR_SECS, &mut found);
        }
        let mut of_days = None;
        for window in windows(valued, DAY_SECS) {
            note_from(&valued[window], self.least_per_day, DAY_SECS, &mut of_days);
        }
        let found = found.or(of_days);
        let mut gaps: Vec<_> = valued.windows(2).map(|pair| pair[1].time - pair[0].time).collect();
        gaps.sort_unstable();
        let median = gaps.get(gaps.len().saturating_sub(1) / 2).copied();
        let is_short = valued.len() >= self.least_gaps_of && median <= Some(self.most_median_gap_secs);
        let found = found.or_else(|| {
            let (first, last) = (valued.first()?.time, valued.last()?.time);
            let mut whole = None;
            note(&mut whole, (first, last), 0.0, || Evidence::of(valued));
            whole.filter(|_| is_short)
        })?;
        let evidence = found.best.count("max_per_hour", most);
        let evidence =
            median.into_iter().fold(evidence, |evidence, median| evidence.with("median_gap_s", Fact::Secs(median)));
        Some(Detection {
            intensity: intensity(measure(most), measure(self.least_per_hour), measure(self.full_per_hour)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence,
        })
    }
}

/// Notes the movements of a window where there are so many.
fn note_from(within: &[Transfer], least: usize, secs: i64, found: &mut Option<Episodes<Evidence>>) {
    if within.len() >= least {
        let span = (within[0].time, within[within.len() - 1].time);
        note(found, span, measure(within.len()), || Evidence::of(within).within(secs));
    }
}
