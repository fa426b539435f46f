//! Poisoning target: somebody wants the address to copy the wrong recipient. Shown, never scored.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact};
use crate::behaviour::history::{AssetKind, History, NOBODY, Transfer, Way};
use crate::behaviour::patterns::ends;
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
        // Those whom it paid lately, each with the last time. Texts of addresses are made only where there is bait.
        let mut looks = Looks { rule: self, history, known: FxHashMap::default() };
        let mut paid: VecDeque<(u32, i64)> = VecDeque::new();
        let mut baits = Vec::new();
        for transfer in history.all.iter().filter(|transfer| transfer.other != NOBODY) {
            if self.is_bait(history, transfer) {
                while paid.front().is_some_and(|(_, time)| transfer.time - time > self.window_secs) {
                    paid.pop_front();
                }
                let others = paid.iter().map(|(other, _)| *other).filter(|other| *other != transfer.other);
                if looks.has_twin(transfer.other, others) {
                    baits.push(*transfer);
                }
            } else if transfer.way == Way::Out
                && transfer.usd.to_f64() >= self.most_usd
                && paid.back() != Some(&(transfer.other, transfer.time))
            {
                paid.push_back((transfer.other, transfer.time));
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
}

/// The ends of addresses by which people know them again.
struct Looks<'a> {
    rule: &'a PoisoningTarget,
    history: &'a History,
    known: FxHashMap<u32, Option<(String, String)>>,
}

impl Looks<'_> {
    /// Returns whether a counterparty looks like one of others.
    fn has_twin(&mut self, of: u32, others: impl Iterator<Item = u32>) -> bool {
        let mut others = others.peekable();
        if others.peek().is_none() {
            return false;
        }
        let Some(look) = self.of(of).cloned() else { return false };
        others.any(|other| self.of(other) == Some(&look))
    }

    fn of(&mut self, other: u32) -> Option<&(String, String)> {
        let (rule, history) = (self.rule, self.history);
        self.known.entry(other).or_insert_with(|| rule.look(history, other)).as_ref()
    }
}

impl PoisoningTarget {
    fn look(&self, history: &History, other: u32) -> Option<(String, String)> {
        ends(&history.counterparties.get(other as usize)?.address, self.leading, self.trailing)
    }
}
