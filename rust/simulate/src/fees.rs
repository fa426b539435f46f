//! The price of block space over time.

use crate::clock::{DAY, HOUR, START};
use crate::random::{Stream, whole};

/// The weight of the hour before in the level of an hour.
const MEMORY: f64 = 0.96;
/// A rush on a chain begins in about one hour of so many.
const RUSH_RATIO: f64 = 0.002;

/// The level of fees, hour by hour: it wanders around a median, jumps in a rush and comes down again, is high when
/// America and Europe are awake, and low on weekends.
pub(crate) struct FeeLevels(Vec<u64>);

impl FeeLevels {
    /// Levels of a period around a median, in any unit; `spread` is the deviation of their logarithm.
    pub(crate) fn new(seed: u64, name: &str, days: i64, (median, spread): (f64, f64)) -> Self {
        let mut stream = Stream::new(seed, &format!("fees/{name}/levels"));
        // An hour's noise that leaves the wandering with the wanted spread.
        let noise = spread * (1.0 - MEMORY * MEMORY).sqrt();
        let mut ratio: f64 = stream.log_normal(1.0, spread);
        let level = |hour: i64| {
            ratio = ratio.powf(MEMORY) * stream.log_normal(1.0, noise);
            if stream.chance(RUSH_RATIO) {
                ratio *= stream.pareto(1.5, 1.6).min(12.0);
            }
            let of_day = if (13..=20).contains(&(hour % 24)) { 1.25 } else { 0.9 };
            let weekday = ((START + hour * HOUR).div_euclid(DAY) + 3).rem_euclid(7);
            let of_week = if weekday >= 5 { 0.8 } else { 1.0 };
            whole(median * ratio * of_day * of_week).max(1)
        };
        Self((0..=days * 24).map(level).collect())
    }

    /// The level at a time.
    pub(crate) fn at(&self, now: i64) -> u64 {
        let hour = usize::try_from((now - START).max(0) / HOUR).unwrap_or(usize::MAX);
        self.0[hour.min(self.0.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_stay_around_their_median_and_now_and_then_rush() {
        let levels = FeeLevels::new(1, "test", 700, (10_000.0, 0.5));
        let mut sorted = levels.0.clone();
        sorted.sort_unstable();
        let (median, largest) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
        assert!((7_000..13_000).contains(&median), "{median}");
        assert!(largest > 6 * median, "{largest}");
        // The level of an hour depends on the one before.
        let close = levels.0.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < pair[0] / 2).count();
        assert!(close * 10 > levels.0.len() * 8);
    }
}
