//! Windows that slide over movements, and the episodes they find.

use std::ops::Range;

use headwater_types::Usd;

use super::history::{NOBODY, Transfer};

/// For each movement the longest run from it on that lasts at most so many seconds. Both ends only move forward, so
/// all windows together cost O(n).
pub(super) fn windows(transfers: &[Transfer], secs: i64) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    (0..transfers.len()).map(move |start| {
        let until = transfers[start].time.saturating_add(secs);
        end = end.max(start);
        while transfers.get(end).is_some_and(|transfer| transfer.time <= until) {
            end += 1;
        }
        start..end
    })
}

/// A stretch of movements whose ends only move forward, with its sum and how many are in it of each counterparty.
pub(super) struct Stretch<'t> {
    transfers: &'t [Transfer],
    range: Range<usize>,
    of_each: Vec<u32>,
    distinct: usize,
    usd: Usd,
}

impl<'t> Stretch<'t> {
    /// An empty one at the beginning, of an address with so many counterparties.
    pub fn new(transfers: &'t [Transfer], counterparties: usize) -> Self {
        Self { transfers, range: 0..0, of_each: vec![0; counterparties], distinct: 0, usd: Usd::ZERO }
    }

    /// Moves on to a range that begins and ends no earlier than the last one.
    pub fn slide(&mut self, to: Range<usize>) {
        for place in self.range.end..to.end {
            let transfer = &self.transfers[place];
            self.usd += transfer.usd;
            if let Some(count) = self.of_each.get_mut(transfer.other as usize) {
                self.distinct += usize::from(*count == 0);
                *count += 1;
            }
        }
        for place in self.range.start..to.start {
            let transfer = &self.transfers[place];
            self.usd = self.usd - transfer.usd;
            if let Some(count) = self.of_each.get_mut(transfer.other as usize) {
                *count -= 1;
                self.distinct -= usize::from(*count == 0);
            }
        }
        self.range = to;
    }

    /// Moves on to the movements from one time to another, both included.
    pub fn slide_to_times(&mut self, from: i64, to: i64) {
        let start = self.range.start + self.transfers[self.range.start..].partition_point(|other| other.time < from);
        let last = self.range.end.max(start);
        let end = last + self.transfers[last..].partition_point(|other| other.time <= to);
        self.slide(start..end);
    }

    /// Distinct counterparties in it.
    pub const fn distinct(&self) -> usize {
        self.distinct
    }

    /// US dollars in it.
    pub const fn usd(&self) -> Usd {
        self.usd
    }

    /// The movements in it.
    pub fn transfers(&self) -> &'t [Transfer] {
        &self.transfers[self.range.clone()]
    }
}

/// What windows found: how many episodes, when, and the most marked one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Episodes<T> {
    /// How many windows hold that do not overlap.
    pub count: u64,
    /// When the first began.
    pub first: i64,
    /// When the last ended.
    pub last: i64,
    /// The largest measure.
    pub measure: f64,
    /// What was noted of the window with the largest measure, the first of several.
    pub best: T,
    until: i64,
}

/// Adds a window in which a rule holds, from one time to another.
pub(super) fn note<T>(
    episodes: &mut Option<Episodes<T>>,
    (from, until): (i64, i64),
    measure: f64,
    best: impl FnOnce() -> T,
) {
    match episodes {
        None => *episodes = Some(Episodes { count: 1, first: from, last: until, measure, best: best(), until }),
        Some(episodes) => {
            if from > episodes.until {
                episodes.count += 1;
                episodes.until = until;
            }
            episodes.last = episodes.last.max(until);
            if measure > episodes.measure {
                (episodes.measure, episodes.best) = (measure, best());
            }
        }
    }
}

/// The episodes of two looks at one address together; of equal measures the first is shown.
pub(super) fn join<T>(one: Option<Episodes<T>>, other: Option<Episodes<T>>) -> Option<Episodes<T>> {
    let (one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (one, other) => return one.or(other),
    };
    let (count, first, last) = (one.count + other.count, one.first.min(other.first), one.last.max(other.last));
    let best = if other.measure > one.measure { other } else { one };
    Some(Episodes { count, first, last, ..best })
}

/// A measure mapped from its threshold (0) to its full value (1); 1 from there on.
pub(super) fn intensity(measure: f64, threshold: f64, full: f64) -> f64 {
    if measure >= full { 1.0 } else { ((measure - threshold) / (full - threshold)).clamp(0.0, 1.0) }
}

/// A count as a measure.
#[expect(clippy::cast_precision_loss, reason = "counts of movements are far below 2^53")]
pub(super) fn measure(count: usize) -> f64 {
    count as f64
}

/// Distinct counterparties, nobody apart.
pub(super) fn distinct<'t>(transfers: impl IntoIterator<Item = &'t Transfer>) -> usize {
    let mut others: Vec<_> = transfers.into_iter().map(|transfer| transfer.other).filter(|&of| of != NOBODY).collect();
    others.sort_unstable();
    others.dedup();
    others.len()
}
