//! The approximate place of a row in blocks and time: a few hundred rows whose place is known, and lines between them.
//!
//! Postings store how far their block and time are from the line. Between two knots lie few rows, so on a chain whose
//! blocks are steady there is nothing to store, and on others a few bits; the knots themselves are a page that stays in
//! memory. Block numbers follow from rows, times from block numbers.

use bytemuck::{Pod, Zeroable};

/// A row whose place is known, as distances from the segment's first block and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Knot {
    pub(super) block: u32,
    pub(super) time: u32,
}

/// Knots at every `2^shift`-th row, and one behind the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Knots {
    shift: u32,
    list: Vec<Knot>,
    /// Seconds per block between a knot and the next, in 65,536ths.
    paces: Vec<i64>,
}

/// Knots kept at most: a page of them, one in memory for good.
const MOST: usize = 511;
const FRACTION: u32 = 16;

impl Knots {
    pub(super) fn new(shift: u32, knots: Vec<Knot>) -> Self {
        let pace = |pair: &[Knot]| {
            let blocks = i64::from(pair[1].block) - i64::from(pair[0].block);
            let seconds = i64::from(pair[1].time) - i64::from(pair[0].time);
            if blocks > 0 { (seconds << FRACTION) / blocks } else { 0 }
        };
        let paces = knots.windows(2).map(pace).collect();
        Self { shift: shift.min(31), list: knots, paces }
    }

    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    pub(super) fn knots(&self) -> &[Knot] {
        &self.list
    }

    /// Rows between which all rows of a block are, the second one past them.
    pub(super) fn rows_around(&self, block: u32) -> (usize, usize) {
        self.around(|knot| knot.block < block, |knot| knot.block <= block)
    }

    /// The same for a time, where times are ordered.
    pub(super) fn rows_around_time(&self, time: u32) -> (usize, usize) {
        self.around(|knot| knot.time < time, |knot| knot.time <= time)
    }

    fn around(&self, before: impl Fn(&Knot) -> bool, not_after: impl Fn(&Knot) -> bool) -> (usize, usize) {
        // The last knot lies behind the rows, and is a guess.
        let Some((_, knots)) = self.list.split_last() else { return (0, usize::MAX) };
        let low = knots.partition_point(before).saturating_sub(1);
        let high = knots.partition_point(not_after);
        let end = if high == knots.len() { usize::MAX } else { high << self.shift };
        (low << self.shift, end)
    }

    /// The line that a row is on.
    #[inline]
    fn line(&self, row: u32) -> Option<(Knot, Knot, i64)> {
        let place = ((row >> self.shift) as usize).min(self.paces.len().checked_sub(1)?);
        Some((self.list[place], self.list[place + 1], self.paces[place]))
    }

    #[inline]
    fn block(&self, row: u32, from: Knot, to: Knot) -> i64 {
        let part = i64::from(row & ((1 << self.shift) - 1));
        let blocks = i64::from(to.block) - i64::from(from.block);
        i64::from(from.block).wrapping_add(blocks.wrapping_mul(part) >> self.shift)
    }

    #[inline]
    fn time(block: i64, from: Knot, pace: i64) -> i64 {
        let blocks = block.wrapping_sub(i64::from(from.block));
        i64::from(from.time).wrapping_add(blocks.wrapping_mul(pace) >> FRACTION)
    }

    /// Returns how far a row's block and time are from the line.
    #[inline]
    pub(super) fn far(&self, row: u32, block: u32, time: u32) -> (i64, i64) {
        let (block, time) = (i64::from(block), i64::from(time));
        let Some((from, to, pace)) = self.line(row) else { return (block, time) };
        (block.wrapping_sub(self.block(row, from, to)), time.wrapping_sub(Self::time(block, from, pace)))
    }

    /// Block and time of a row that is so far from the line.
    #[inline]
    pub(super) fn near(&self, row: u32, block: i64, time: i64) -> (u32, u32) {
        let clamp = |value: i64| u32::try_from(value.max(0)).unwrap_or(u32::MAX);
        let Some((from, to, pace)) = self.line(row) else { return (clamp(block), clamp(time)) };
        let block = self.block(row, from, to).wrapping_add(block);
        (clamp(block), clamp(Self::time(block, from, pace).wrapping_add(time)))
    }
}

/// Makes knots while rows pass by.
#[derive(Debug, Default)]
pub(super) struct KnotMaker {
    shift: u32,
    knots: Vec<Knot>,
    rows: u64,
    last: Option<Knot>,
}

impl KnotMaker {
    pub(super) fn push(&mut self, block: u32, time: u32) {
        let knot = Knot { block, time };
        if self.rows & ((1 << self.shift) - 1) == 0 {
            if self.knots.len() == MOST {
                let mut place = 0;
                self.knots.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.shift += 1;
            }
            if self.rows & ((1 << self.shift) - 1) == 0 {
                self.knots.push(knot);
            }
        }
        self.rows += 1;
        self.last = Some(knot);
    }

    pub(super) fn finish(&self) -> Knots {
        let mut knots = self.knots.clone();
        if let (Some(&from), Some(last)) = (knots.last(), self.last) {
            // The last line continues as far as the others do.
            let rows = (self.rows - 1) & ((1 << self.shift) - 1);
            let stretch = |from: u32, to: u32| {
                let past = (u64::from(to.saturating_sub(from)) << self.shift).checked_div(rows).unwrap_or(0);
                u32::try_from(u64::from(from) + past).unwrap_or(u32::MAX)
            };
            knots.push(Knot { block: stretch(from.block, last.block), time: stretch(from.time, last.time) });
        }
        Knots::new(self.shift, knots)
    }
}
