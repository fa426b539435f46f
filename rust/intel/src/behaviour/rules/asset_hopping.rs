//! Asset hopping: swap after swap within a day, then gone.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, measure, note};
use crate::behaviour::history::{History, Way};
use crate::behaviour::patterns::{Swap, swaps};
use crate::behaviour::{Detect, MAX_LISTED, Needs};

/// Within `window_secs` several swaps; of what the last one brought most leaves within `forward_secs`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssetHopping {
    /// The window of the swaps.
    pub window_secs: i64,
    /// Swaps in it.
    pub least_swaps: usize,
    /// How long after the last swap the asset may leave.
    pub forward_secs: i64,
    /// Share of it that leaves.
    pub least_forwarded: f64,
}

impl Detect for AssetHopping {
    const NEEDS: Needs = Needs::Movements;

    fn detect(&self, history: &History) -> Option<Detection> {
        if history.all.len() < 2 * self.least_swaps {
            return None;
        }
        let swaps = swaps(history);
        if swaps.len() < self.least_swaps {
            return None;
        }
        let leaving = Leaving::new(history, &swaps);
        let (mut found, mut start) = (None, 0);
        for (place, last) in swaps.iter().enumerate() {
            while last.time - swaps[start].time > self.window_secs {
                start += 1;
            }
            let run = &swaps[start..=place];
            if run.len() < self.least_swaps {
                continue;
            }
            let Some((left, share)) = leaving.most_of(last, self.least_forwarded) else { continue };
            let left = &history.all[left];
            if left.time > last.time.saturating_add(self.forward_secs) {
                continue;
            }
            note(&mut found, (run[0].time, left.time), measure(run.len()), || {
                let assets: BTreeSet<_> = run.iter().flat_map(|swap| [swap.gave, swap.got]).collect();
                let shown = run.iter().take(MAX_LISTED - 1).map(|swap| swap.transaction).chain([left.transaction]);
                Evidence { transactions: shown.collect(), ..Evidence::default() }
                    .within(self.window_secs)
                    .count("swaps", run.len())
                    .count("assets", assets.len())
                    .with("forwarded_ratio", Fact::Ratio(share))
            });
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

/// What left of each asset: places among all movements, and the sums so far. Swaps are no leaving.
struct Leaving(FxHashMap<u32, Vec<(usize, u128)>>);

impl Leaving {
    fn new(history: &History, swaps: &[Swap]) -> Self {
        let swapped: FxHashSet<_> = swaps.iter().map(|swap| swap.transaction).collect();
        let mut of_each: FxHashMap<u32, Vec<(usize, u128)>> = FxHashMap::default();
        let outs = history.all.iter().enumerate().filter(|(_, transfer)| transfer.way == Way::Out);
        for (place, transfer) in outs.filter(|(_, transfer)| !swapped.contains(&transfer.transaction)) {
            let sums = of_each.entry(transfer.asset).or_default();
            let before = sums.last().map_or(0, |(_, sum)| *sum);
            sums.push((place, before.saturating_add(transfer.raw)));
        }
        Self(of_each)
    }

    /// The place of the movement by which such a share of what a swap brought had left, and the share that had left by
    /// then. O(log n).
    fn most_of(&self, swap: &Swap, least: f64) -> Option<(usize, f64)> {
        let sums = self.0.get(&swap.got)?;
        let from = sums.partition_point(|(place, _)| *place < swap.after);
        let before = from.checked_sub(1).map_or(0, |last| sums[last].1);
        let reached = from + sums[from..].partition_point(|(_, sum)| share(sum - before, swap.raw) < least);
        sums.get(reached).map(|(place, sum)| (*place, share(sum - before, swap.raw)))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share(part: u128, whole: u128) -> f64 {
    part as f64 / whole as f64
}
