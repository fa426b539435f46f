//! Round-the-clock automation: it never sleeps.

use serde::Deserialize;

use crate::behaviour::Detect;
use crate::behaviour::episodes::{Detection, Evidence, Fact, measure};
use crate::behaviour::history::History;

const HOUR_SECS: i64 = 3_600;
const DAY_SECS: i64 = 86_400;

/// Over all that is known of the address: the hours of the day are used alike, and none of them long not at all.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlwaysOn {
    /// Movements, at least.
    pub least_transfers: usize,
    /// Days with a movement, at least.
    pub least_days: usize,
    /// Entropy of the hour of the day, as a share of the largest possible one.
    pub least_entropy: f64,
    /// Longest run of hours of the day without any movement.
    pub most_silent_hours: usize,
}

impl Detect for AlwaysOn {
    fn detect(&self, history: &History) -> Option<Detection> {
        let valued = &history.valued;
        if valued.len() < self.least_transfers {
            return None;
        }
        let mut by_hour = [0_usize; 24];
        for transfer in valued {
            let hour = transfer.time.rem_euclid(DAY_SECS) / HOUR_SECS;
            by_hour[usize::try_from(hour).expect("0 to 23")] += 1;
        }
        let mut days: Vec<_> = valued.iter().map(|transfer| transfer.time.div_euclid(DAY_SECS)).collect();
        days.dedup();
        let shares = by_hour.iter().filter(|count| **count > 0).map(|count| measure(*count) / measure(valued.len()));
        let entropy = shares.map(|share| -share * share.ln()).sum::<f64>() / 24_f64.ln();
        let silent = silent_hours(&by_hour);
        if days.len() < self.least_days || entropy < self.least_entropy || silent > self.most_silent_hours {
            return None;
        }
        let evidence = Evidence::of(valued).with("entropy", Fact::Ratio(entropy)).count("silent_hours", silent);
        let (first, last) = (valued.first()?.time, valued.last()?.time);
        Some(Detection { intensity: 1.0, occurrences: 1, first, last, evidence })
    }
}

/// The longest run of hours without a movement, around midnight too.
fn silent_hours(by_hour: &[usize; 24]) -> usize {
    let (mut longest, mut run) = (0, 0);
    for hour in 0..48 {
        run = if by_hour[hour % 24] == 0 { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest.min(24)
}
