//! Dormant reactivation: money sleeps for half a year, then leaves.

use headwater_types::Usd;
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, intensity, note};
use crate::behaviour::history::{History, Transfer, Way};
use crate::behaviour::{Detect, ratio};

const DAY_SECS: f64 = 86_400.0;

/// After a long silence with a balance most of it leaves soon.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DormantReactivation {
    /// Shortest silence.
    pub least_gap_secs: i64,
    /// The silence from which the intensity is 1.
    pub full_gap_secs: i64,
    /// US dollars that slept, at what they were worth when they came.
    pub least_usd: f64,
    /// How long it may take to leave after waking.
    pub window_secs: i64,
    /// Share of the balance that leaves.
    pub least_share: f64,
}

/// What is held of an asset: smallest units, and what they were worth when they came.
struct Lot {
    asset: u32,
    raw: u128,
    usd: f64,
}

impl Lot {
    fn add(&mut self, transfer: &Transfer) {
        match transfer.way {
            Way::In => {
                self.raw = self.raw.saturating_add(transfer.raw);
                self.usd += transfer.usd.to_f64();
            }
            Way::Out => {
                let taken = self.raw.min(transfer.raw);
                self.usd -= self.worth(taken);
                self.raw -= taken;
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a share of a worth")]
    fn worth(&self, raw: u128) -> f64 {
        if self.raw == 0 { 0.0 } else { self.usd * (raw.min(self.raw) as f64 / self.raw as f64) }
    }
}

impl Detect for DormantReactivation {
    fn detect(&self, history: &History) -> Option<Detection> {
        let valued = &history.valued;
        // In the order in which assets came first: their numbers depend on how the ledger is divided.
        let (mut lots, mut found): (Vec<Lot>, _) = (Vec::new(), None);
        for (place, transfer) in valued.iter().enumerate() {
            let slept = valued[..place].last().map_or(0, |last| transfer.time - last.time);
            if slept >= self.least_gap_secs {
                let held: f64 = lots.iter().map(|lot| lot.usd).sum();
                let woken = &valued[place..];
                let until = transfer.time.saturating_add(self.window_secs);
                let woken = &woken[..woken.partition_point(|later| later.time <= until)];
                let left: f64 = lots.iter().map(|lot| lot.worth(gone(woken, lot.asset))).sum();
                let (held, left) = (Usd::from_f64(held)?, Usd::from_f64(left)?);
                let share = ratio(left, held);
                if held.to_f64() >= self.least_usd && share >= self.least_share {
                    let days = secs(slept) / DAY_SECS;
                    let ends = woken.last().map_or(transfer.time, |last| last.time);
                    note(&mut found, (transfer.time, ends), secs(slept), || {
                        Evidence::of(woken)
                            .within(self.window_secs)
                            .with("gap_days", Fact::Ratio(days))
                            .with("moved_usd", Fact::Usd(left))
                            .with("share", Fact::Ratio(share))
                    });
                }
            }
            match lots.iter_mut().find(|lot| lot.asset == transfer.asset) {
                Some(lot) => lot.add(transfer),
                None => {
                    let mut lot = Lot { asset: transfer.asset, raw: 0, usd: 0.0 };
                    lot.add(transfer);
                    lots.push(lot);
                }
            }
        }
        found.map(|found| Detection {
            intensity: intensity(found.measure, secs(self.least_gap_secs), secs(self.full_gap_secs)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence: found.best,
        })
    }
}

fn gone(woken: &[Transfer], asset: u32) -> u128 {
    let outs = woken.iter().filter(|transfer| transfer.way == Way::Out && transfer.asset == asset);
    outs.fold(0, |sum, transfer| sum.saturating_add(transfer.raw))
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a few thousand years are exact")]
fn secs(secs: i64) -> f64 {
    secs as f64
}
