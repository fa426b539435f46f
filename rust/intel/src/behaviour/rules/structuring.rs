//! Structuring: many amounts just below a limit within a day.

use headwater_types::Usd;
use serde::Deserialize;

use crate::behaviour::Detect;
use crate::behaviour::chance::of_amounts_below;
use crate::behaviour::episodes::{
    Detection, Episodes, Evidence, Fact, Stretch, intensity, join, measure, note, windows,
};
use crate::behaviour::history::{History, Transfer};

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
        let bands = self.bands(history);
        let all_near: usize = bands.iter().map(|(_, band)| band.len()).sum();
        let mut together: Option<Episodes<Evidence>> = None;
        for (limit, band) in bands {
            let mut found = None;
            let below: Vec<Transfer> = band.iter().filter(|transfer| transfer.usd.to_f64() < limit).copied().collect();
            let mut stretch = Stretch::new(&below, 0);
            for window in windows(&below, self.window_secs) {
                stretch.slide(window);
                let (within, sum) = (stretch.transfers(), stretch.usd());
                if within.len() >= self.least_count && sum.to_f64() >= self.least_limits * limit {
                    let (start, last) = (within[0].time, within[within.len() - 1].time);
                    note(&mut found, (start, last), measure(within.len()), || {
                        let end = start.saturating_add(self.window_secs);
                        let near = band.partition_point(|transfer| transfer.time <= end)
                            - band.partition_point(|transfer| transfer.time < start);
                        Evidence::of(within)
                            .within(self.window_secs)
                            .by_chance(of_amounts_below(within.len(), near, all_near))
                            .with("limit_usd", Fact::Usd(Usd::from_f64(limit).unwrap_or_default()))
                            .count("count", within.len())
                            .with("sum_usd", Fact::Usd(sum))
                    });
                }
            }
            together = join(together, found);
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

impl Structuring {
    /// The transfers near each limit, below or as far above it, by direction.
    fn bands(&self, history: &History) -> Vec<(f64, Vec<Transfer>)> {
        let of_both = self.limits_usd.iter().flat_map(|limit| [(*limit, &history.ins), (*limit, &history.outs)]);
        let long_enough = of_both.filter(|(_, of_one_way)| of_one_way.len() >= self.least_count);
        let band = |(limit, of_one_way): (f64, &Vec<Transfer>)| {
            let within = self.least_share * limit..(2.0 - self.least_share) * limit;
            (limit, of_one_way.iter().filter(|transfer| within.contains(&transfer.usd.to_f64())).copied().collect())
        };
        long_enough.map(band).collect()
    }
}
