//! The search for the widest paths in what was looked through.
//!
//! Best first: an incomplete path is ranked by the best path that can become of it, so the first complete paths are the
//! answer. What can become of it comes from the sums of pairs, and payments are read of pairs whose turn it is.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, BinaryHeap};

use headwater_types::Usd;
use rustc_hash::FxHashMap;

use super::{Link, Path, Search, worth};
use crate::source::Node;
use crate::trace::{Movement, PathSource, TraceSource};

/// The maximum number of partial paths that are tried.
const MAX_TRIED: usize = 200_000;

/// The progress of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// The payments of its last hop are not read.
    Unread,
    /// It may continue.
    Open,
    Complete,
}

/// A path that may continue, or is complete.
struct PartialPath {
    hops: Vec<Hop>,
    /// The most that a complete path carries that it becomes; of a complete one, the amount that it carries.
    best: Option<Usd>,
    /// The hops of a complete path that it becomes, at least.
    length: usize,
    /// The least of what the hops that were read carry.
    width: Option<Usd>,
    state: State,
}

/// A hop, with those of the payments of its pair that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hop {
    /// The number of the receiver, in the order in which accounts were met.
    place: u32,
    /// The number of the asset among those of the pair.
    asset: usize,
    begin: usize,
    end: usize,
    to: Node,
}

impl PartialPath {
    fn key(&self) -> impl Ord + '_ {
        (self.best, Reverse(self.length), Reverse(&self.hops), Reverse(self.state))
    }
}

impl PartialEq for PartialPath {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PartialPath {}

impl PartialOrd for PartialPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PartialPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The best path from an account to a target, by sums of pairs: the most it carries, and the fewest hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rest {
    width: Option<Usd>,
    hops: usize,
}

impl Search {
    /// Tries simple paths, at the widest first, until enough are found.
    pub(super) fn walk<S: PathSource>(
        &mut self,
        source: &mut S,
        start: Node,
        targets: &BTreeSet<Node>,
    ) -> Result<(), S::Error> {
        let rests = self.rests(targets);
        let mut tried = 0;
        let nothing =
            PartialPath { hops: Vec::new(), best: None, length: 0, width: Some(Usd::MAX), state: State::Open };
        let mut open = BinaryHeap::from([nothing]);
        while let Some(partial) = open.pop() {
            match partial.state {
                State::Complete => {
                    self.found.paths.push(self.path(start, &partial));
                    if self.found.paths.len() == self.settings.count {
                        break;
                    }
                }
                State::Unread => self.read(source, (start, targets), &partial, &mut open)?,
                State::Open => {
                    tried += 1;
                    if tried > MAX_TRIED {
                        self.found.is_over = true;
                        break;
                    }
                    if partial.hops.last().is_some_and(|hop| targets.contains(&hop.to)) {
                        open.extend(self.complete(source, start, partial.hops)?);
                    } else {
                        self.extend(start, &rests, &partial, &mut open);
                    }
                }
            }
        }
        Ok(())
    }

    /// The hops that may follow, by the sums of their pairs.
    fn extend(
        &self,
        start: Node,
        rests: &[FxHashMap<Node, Rest>],
        partial: &PartialPath,
        open: &mut BinaryHeap<PartialPath>,
    ) {
        let at = partial.hops.last().map_or(start, |hop| hop.to);
        let Some(left) = usize::from(self.settings.max_hops).checked_sub(partial.hops.len() + 1) else { return };
        for (to, pair) in self.pairs.of(at) {
            let (Some(rest), Some(place)) = (rests[left].get(&to), self.places.get(&to)) else { continue };
            let is_visited = to == start || partial.hops.iter().any(|hop| hop.to == to);
            let best = partial.width.min(pair.usd).min(rest.width);
            if is_visited || !self.is_wide_enough(best) {
                continue;
            }
            let hop = Hop { place: *place, asset: 0, begin: 0, end: 0, to };
            let hops: Vec<_> = partial.hops.iter().copied().chain([hop]).collect();
            let length = hops.len() + rest.hops;
            open.push(PartialPath { hops, best, length, width: partial.width, state: State::Unread });
        }
    }

    /// Reads the payments of the last hop, and tries it in each asset.
    fn read<S: PathSource>(
        &mut self,
        source: &mut S,
        (start, targets): (Node, &BTreeSet<Node>),
        partial: &PartialPath,
        open: &mut BinaryHeap<PartialPath>,
    ) -> Result<(), S::Error> {
        let Some((last, before)) = partial.hops.split_last() else { return Ok(()) };
        if !targets.contains(&last.to) && !self.is_station(source, last.to)? {
            return Ok(());
        }
        let from = before.last().map_or(start, |hop| hop.to);
        let place_before = before.len().checked_sub(1);
        let asset_before = place_before.map(|place| self.asset_and_payments(start, before, place).0);
        self.pairs.read(source, (from, last.to), asset_before)?;
        let so_far = place_before.map(|place| self.asset_and_payments(start, before, place));
        for (asset, (name, payments)) in self.pairs.payments(from, last.to).iter().enumerate() {
            if so_far.is_some_and(|(asset, _)| asset != *name) {
                continue;
            }
            let begin = match so_far.and_then(|(_, payments)| payments.first()) {
                Some(first) if self.settings.is_time_ordered => begin_after(source, payments, first)?,
                _ => 0,
            };
            let width = worth(&payments[begin..]).min(partial.width);
            let best = width.min(partial.best);
            if begin < payments.len() && self.is_wide_enough(best) {
                let hop = Hop { asset, begin, end: payments.len(), ..*last };
                let hops = before.iter().copied().chain([hop]).collect();
                open.push(PartialPath { hops, best, length: partial.length, width, state: State::Open });
            }
        }
        Ok(())
    }

    fn is_wide_enough(&self, width: Option<Usd>) -> bool {
        self.settings.min_usd.is_none_or(|least| width.is_some_and(|width| width >= least))
    }

    /// A path that has come to a target, without the payments that came too late for the hop that follows.
    fn complete<S: TraceSource>(
        &self,
        source: &mut S,
        start: Node,
        mut hops: Vec<Hop>,
    ) -> Result<Option<PartialPath>, S::Error> {
        if self.settings.is_time_ordered {
            for place in (1..hops.len()).rev() {
                let last = self.payments(start, &hops, place).last().copied();
                let payments = self.payments(start, &hops, place - 1);
                let mut kept = payments.len();
                while let (Some(last), Some(payment)) = (last, payments.get(kept.wrapping_sub(1))) {
                    if fits(source, payment, &last)? {
                        break;
                    }
                    kept -= 1;
                }
                hops[place - 1].end = hops[place - 1].begin + kept;
            }
        }
        let widths = (0..hops.len()).map(|place| worth(self.payments(start, &hops, place)));
        let (width, length) = (widths.min().flatten(), hops.len());
        let is_kept = self.is_wide_enough(width);
        Ok(is_kept.then_some(PartialPath { hops, best: width, length, width, state: State::Complete }))
    }

    /// The payments of a hop.
    fn payments(&self, start: Node, hops: &[Hop], place: usize) -> &[Movement] {
        self.asset_and_payments(start, hops, place).1
    }

    fn asset_and_payments(&self, start: Node, hops: &[Hop], place: usize) -> (u32, &[Movement]) {
        let from = place.checked_sub(1).map_or(start, |before| hops[before].to);
        let Hop { to, asset, begin, end, .. } = hops[place];
        let (asset, payments) = &self.pairs.payments(from, to)[asset];
        (*asset, &payments[begin..end])
    }

    fn path(&self, start: Node, partial: &PartialPath) -> Path {
        let hops = &partial.hops;
        let link = |place: usize| {
            let (asset, payments) = self.asset_and_payments(start, hops, place);
            let from = if place == 0 { start } else { hops[place - 1].to };
            Link { from, to: hops[place].to, asset, payments: payments.to_vec() }
        };
        Path { links: (0..hops.len()).map(link).collect(), bottleneck: partial.width }
    }

    /// Returns the best path from each account to a target within 0, 1, 2, … hops.
    fn rests(&self, targets: &BTreeSet<Node>) -> Vec<FxHashMap<Node, Rest>> {
        let senders = self.pairs.senders();
        let arrived = Rest { width: Some(Usd::MAX), hops: 0 };
        let mut rests = vec![targets.iter().map(|target| (*target, arrived)).collect::<FxHashMap<_, _>>()];
        for hops in 1..usize::from(self.settings.max_hops) {
            let last = &rests[hops - 1];
            let mut next = last.clone();
            for (to, rest) in last {
                for (from, usd) in senders.get(to).into_iter().flatten() {
                    let width = rest.width.min(*usd);
                    let known = next.entry(*from).or_insert(Rest { width, hops });
                    known.width = known.width.max(width);
                }
            }
            rests.push(next);
        }
        rests
    }
}

/// Returns whether money of one payment can have continued in another.
fn fits<S: TraceSource>(source: &mut S, one: &Movement, next: &Movement) -> Result<bool, S::Error> {
    Ok(match one.time.cmp(&next.time) {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => source.order(one.transaction, next.transaction)?.is_le(),
    })
}

/// Returns the place at which the payments begin that can have continued another.
fn begin_after<S: TraceSource>(source: &mut S, payments: &[Movement], first: &Movement) -> Result<usize, S::Error> {
    let mut begin = payments.partition_point(|payment| payment.time < first.time);
    while let Some(payment) = payments.get(begin) {
        if fits(source, first, payment)? {
            break;
        }
        begin += 1;
    }
    Ok(begin)
}
