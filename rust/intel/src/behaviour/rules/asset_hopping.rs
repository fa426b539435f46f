//! Asset hopping: swap after swap within a day, then gone.

use serde::Deserialize;

use crate::behaviour::evidence::{Detection, Evidence, Fact};
use crate::behaviour::history::{History, Transfer, Way};
use crate::behaviour::swaps::{Swap, swaps};
use crate::behaviour::windows::note;
use crate::behaviour::{Detect, Needs};

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
        let swaps = swaps(&history.all);
        let mut found = None;
        for run in swaps.windows(self.least_swaps) {
            let (first, last) = (run[0], run[run.len() - 1]);
            if last.time - first.time > self.window_secs {
                continue;
            }
            let Some(left) = self.left(&history.all, &last) else { continue };
            let assets: std::collections::BTreeSet<_> = run.iter().flat_map(|swap| [swap.gave, swap.got]).collect();
            note(&mut found, (first.time, left.time), 0.0, || {
                let shown = run.iter().map(|swap| swap.transaction).chain([left.transaction]);
                Evidence { transactions: shown.collect(), ..Evidence::default() }
                    .within(self.window_secs)
                    .count("swaps", run.len())
                    .count("assets", assets.len())
                    .with("forwarded_ratio", Fact::Ratio(share(left.raw, last.raw)))
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

impl AssetHopping {
    /// The movement by which enough of what a swap brought had left, with all that had left by then; later swaps are no
    /// leaving.
    fn left(&self, all: &[Transfer], swap: &Swap) -> Option<Transfer> {
        let after = &all[all.partition_point(|transfer| transfer.time < swap.time)..];
        let until = swap.time.saturating_add(self.forward_secs);
        let mut gone = 0_u128;
        for transfer in after.iter().take_while(|transfer| transfer.time <= until) {
            if transfer.asset == swap.got && transfer.way == Way::Out && transfer.transaction != swap.transaction {
                gone = gone.saturating_add(transfer.raw);
                if share(gone, swap.raw) >= self.least_forwarded {
                    return Some(Transfer { raw: gone, ..*transfer });
                }
            }
        }
        None
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share(part: u128, whole: u128) -> f64 {
    part as f64 / whole as f64
}
