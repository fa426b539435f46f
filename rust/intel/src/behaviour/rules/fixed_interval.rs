//! Fixed-interval transfers: by the clock.

use serde::Deserialize;

use crate::behaviour::Detect;
use crate::behaviour::chance::of_equal_gaps;
use crate::behaviour::episodes::{Detection, Evidence, Fact, measure};
use crate::behaviour::history::History;

/// Over all that is known of the address: the gaps between movements hardly vary, or most are about one value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedInterval {
    /// Movements, at least.
    pub least_transfers: usize,
    /// Largest standard deviation of the gaps by their mean.
    pub most_variation: f64,
    /// Or the share of gaps about one value.
    pub least_share: f64,
    /// How far a gap may lie from that value, as a share of it.
    pub most_difference: f64,
}

impl Detect for FixedInterval {
    fn detect(&self, history: &History) -> Option<Detection> {
        let valued = &history.valued;
        if valued.len() < self.least_transfers {
            return None;
        }
        let mut gaps: Vec<_> = valued.windows(2).map(|pair| secs(pair[1].time - pair[0].time)).collect();
        gaps.sort_by(f64::total_cmp);
        let all = gaps.iter().sum::<f64>();
        if all <= 0.0 {
            return None;
        }
        let mean = all / measure(gaps.len());
        let squares = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
        let variation = (squares / measure(gaps.len())).sqrt() / mean;
        let (mode, about) = self.mode(&gaps);
        let share = measure(about) / measure(gaps.len());
        if variation > self.most_variation && share < self.least_share {
            return None;
        }
        let reach = self.most_difference * mode;
        let p_value = of_equal_gaps(about, gaps.len(), ((mode - reach) / all, (mode + reach) / all));
        let evidence = Evidence::of(valued)
            .by_chance(p_value)
            .with("cv", Fact::Ratio(variation))
            .with("mode_gap_s", Fact::Ratio(mode));
        let (first, last) = (valued.first()?.time, valued.last()?.time);
        Some(Detection { intensity: 1.0, occurrences: 1, first, last, evidence })
    }
}

impl FixedInterval {
    /// The gap about which most others lie, and how many they are. Gaps of no time are no interval. Two pointers, O(n).
    fn mode(&self, sorted: &[f64]) -> (f64, usize) {
        let (mut start, mut end, mut best) = (0, 0, (0.0, 0));
        for &gap in sorted.iter().filter(|gap| **gap > 0.0) {
            let reach = self.most_difference * gap;
            while sorted[start] < gap - reach {
                start += 1;
            }
            while sorted.get(end).is_some_and(|other| *other <= gap + reach) {
                end += 1;
            }
            if end - start > best.1 {
                best = (gap, end - start);
            }
        }
        best
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a few thousand years are exact")]
fn secs(secs: i64) -> f64 {
    secs as f64
}
