//! Collection from many: many pay in within a day, and one or two get it.

use std::collections::BTreeSet;

use headwater_types::Usd;
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, Stretch, intensity, measure, note, windows};
use crate::behaviour::history::{History, NOBODY, Transfer};
use crate::behaviour::{Detect, ratio};

/// Within `window_secs` many distinct senders; what they sent goes on to at most `most_targets` until `forward_secs`
/// after the last of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FanIn {
    /// The window.
    pub window_secs: i64,
    /// Distinct senders in it.
    pub least_senders: usize,
    /// The number of senders from which the intensity is 1.
    pub full_senders: usize,
    /// How long after the window money may go on.
    pub forward_secs: i64,
    /// To how many at most.
    pub most_targets: usize,
    /// Share of what came that has to go on to them.
    pub least_forwarded: f64,
}

impl Detect for FanIn {
    fn detect(&self, history: &History) -> Option<Detection> {
        if history.ins.len() < self.least_senders || history.outs.is_empty() {
            return None;
        }
        let mut came = Stretch::new(&history.ins, history.counterparties.len());
        let mut onward = Targets::new(&history.outs, history.counterparties.len());
        let mut found = None;
        for window in windows(&history.ins, self.window_secs) {
            let (from, until) = (history.ins[window.start].time, history.ins[window.end - 1].time);
            came.slide(window);
            if came.distinct() < self.least_senders {
                continue;
            }
            onward.slide(from, until.saturating_add(self.forward_secs));
            let (forwarded, targets) = onward.largest(self.most_targets);
            let share = ratio(forwarded, came.usd());
            if share >= self.least_forwarded {
                note(&mut found, (from, until), measure(came.distinct()), || {
                    Evidence::of(came.transfers())
                        .within(self.window_secs)
                        .count("senders", came.distinct())
                        .with("targets", Fact::Addresses(history.addresses(targets)))
                        .with("forwarded_ratio", Fact::Ratio(share))
                });
            }
        }
        found.map(|found| Detection {
            intensity: intensity(found.measure, measure(self.least_senders), measure(self.full_senders)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence: found.best,
        })
    }
}

/// What went to each in a stretch of time whose ends only move forward.
struct Targets<'t> {
    outs: &'t [Transfer],
    start: usize,
    end: usize,
    of_each: Vec<Usd>,
    by_sum: BTreeSet<(Usd, u32)>,
}

impl<'t> Targets<'t> {
    fn new(outs: &'t [Transfer], counterparties: usize) -> Self {
        Self { outs, start: 0, end: 0, of_each: vec![Usd::ZERO; counterparties], by_sum: BTreeSet::new() }
    }

    fn slide(&mut self, from: i64, until: i64) {
        while let Some(next) = self.outs.get(self.end).filter(|next| next.time <= until) {
            self.change(next.other, next.usd);
            self.end += 1;
        }
        while let Some(first) = self.outs[..self.end].get(self.start).filter(|first| first.time < from) {
            self.change(first.other, -first.usd);
            self.start += 1;
        }
    }

    fn change(&mut self, other: u32, by: Usd) {
        if other == NOBODY {
            return;
        }
        let sum = &mut self.of_each[other as usize];
        self.by_sum.remove(&(*sum, other));
        *sum += by;
        if *sum > Usd::ZERO {
            self.by_sum.insert((*sum, other));
        }
    }

    /// The sum of the so many largest, and who they are.
    fn largest(&self, count: usize) -> (Usd, Vec<u32>) {
        let largest = || self.by_sum.iter().rev().take(count);
        (largest().map(|(sum, _)| *sum).sum(), largest().map(|(_, other)| *other).collect())
    }
}
