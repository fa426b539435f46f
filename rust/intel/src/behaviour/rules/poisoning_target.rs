//! Poisoning target: somebody wants the address to copy the wrong recipient. Shown, never scored.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::behaviour::evidence::{Detection, Evidence, Fact};
use crate::behaviour::history::{AssetKind, History, NOBODY, Transfer, Way};
use crate::behaviour::{Detect, Needs};

/// Movements of nothing, of dust or of counterfeit tokens with an address that looks like one that the address paid
/// shortly before.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoisoningTarget {
    /// How soon after the true payment.
    pub window_secs: i64,
    /// Equal leading characters, `0x` apart.
    pub leading: usize,
    /// Equal trailing characters.
    pub trailing: usize,
    /// Bait is worth less.
    pub most_usd: f64,
}

impl Detect for PoisoningTarget {
    const NEEDS: Needs = Needs::Movements;

    fn detect(&self, history: &History) -> Option<Detection> {
        let mut is_twin_wanted = false;
        for transfer in &history.all {
            is_twin_wanted |= self.is_bait(history, transfer);
        }
        if !is_twin_wanted {
            return None;
        }
        // Those who look alike, and when each was last paid.
        let looks: Vec<Option<(String, String)>> =
            (0..history.counterparties.len()).map(|other| self.look(history, other)).collect();
        let mut paid: FxHashMap<&(String, String), Vec<(u32, i64)>> = FxHashMap::default();
        let mut baits = Vec::new();
        for transfer in history.all.iter().filter(|transfer| transfer.other != NOBODY) {
            let Some(look) = &looks[transfer.other as usize] else { continue };
            if self.is_bait(history, transfer) {
                let is_twin =
                    |&(other, time): &(u32, i64)| other != transfer.other && transfer.time - time <= self.window_secs;
                if paid.get(look).is_some_and(|alike| alike.iter().any(is_twin)) {
                    baits.push(*transfer);
                }
            } else if transfer.way == Way::Out && transfer.usd.to_f64() >= self.most_usd {
                let alike = paid.entry(look).or_default();
                match alike.iter_mut().find(|(other, _)| *other == transfer.other) {
                    Some((_, last)) => *last = transfer.time,
                    None => alike.push((transfer.other, transfer.time)),
                }
            }
        }
        let (first, last) = (baits.first()?.time, baits.last()?.time);
        let twins = history.addresses(baits.iter().map(|bait| bait.other));
        let evidence = Evidence::of(&baits)
            .within(self.window_secs)
            .count("count", baits.len())
            .with("lookalikes", Fact::Addresses(twins));
        Some(Detection { intensity: 1.0, occurrences: baits.len() as u64, first, last, evidence })
    }
}

impl PoisoningTarget {
    fn is_bait(&self, history: &History, transfer: &Transfer) -> bool {
        let kind = history.assets[transfer.asset as usize].kind;
        let is_priced = transfer.usd > headwater_types::Usd::ZERO;
        transfer.raw == 0
            || kind == AssetKind::Counterfeit
            || (transfer.way == Way::In && is_priced && transfer.usd.to_f64() < self.most_usd)
    }

    /// The ends of an address by which people know it again.
    fn look(&self, history: &History, other: usize) -> Option<(String, String)> {
        let text = history.counterparties.get(other)?.address.to_string();
        let body = text.strip_prefix("0x").unwrap_or(&text);
        let trailing = body.len().checked_sub(self.trailing)?;
        Some((body.get(..self.leading)?.to_owned(), body.get(trailing..)?.to_owned()))
    }
}
