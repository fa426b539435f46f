//! Counting by number, without a hash: numbers are divided into ranges so small that a counter for each number of one
//! stays in the cache, and each range is counted by itself and shown in rising order.

use std::ops::Range;

use rayon::prelude::*;

use super::tally::{Count, Side};

/// Bits of a number inside its range.
const RANGE_BITS: u32 = 12;
const RANGE: usize = 1 << RANGE_BITS;
/// Up to so many are sorted instead, and where there is not one for so many that could be.
const FEW: usize = 1 << 10;
const SPARSE: usize = 1 << 11;
/// More are counted by several threads.
const PARALLEL: usize = 1 << 16;
/// Ranges that one thread takes at a time.
const RANGES: usize = 16;

/// Takes numbers as they come, 4 bytes each.
#[derive(Debug, Default)]
pub struct Numbers {
    /// By side.
    sides: [Vec<u32>; 2],
}

impl Numbers {
    /// Adds those of some numbers that are to be kept. Without a branch on what they say, for no processor foresees it.
    #[inline]
    pub fn extend(&mut self, numbers: impl ExactSizeIterator<Item = (u32, Side, bool)>) {
        let mut next = self.sides.each_ref().map(Vec::len);
        for side in &mut self.sides {
            side.resize(side.len() + numbers.len(), 0);
        }
        for (number, side, kept) in numbers {
            let side = side as usize;
            self.sides[side][next[side]] = number;
            next[side] += usize::from(kept);
        }
        for (side, length) in self.sides.iter_mut().zip(next) {
            side.truncate(length);
        }
    }
}

/// Counts all numbers together and shows the counts, each number once, in the upper half of a key whose lower half is 0:
/// all to one, or divided between several on all threads where numbers are many.
pub fn counted<R: Send>(
    numbers: Vec<Numbers>,
    begin: impl Fn() -> R + Sync,
    each: impl Fn(&mut R, &[(u64, Count)]) + Sync,
) -> Vec<R> {
    let sides: Vec<(Side, Vec<u32>)> = numbers
        .into_iter()
        .flat_map(|Numbers { sides: [received, sent] }| [(Side::Received, received), (Side::Sent, sent)])
        .collect();
    let total: usize = sides.iter().map(|(_, numbers)| numbers.len()).sum();
    let most = sides.iter().filter_map(|(_, numbers)| numbers.iter().max()).max().map_or(0, |most| *most as usize);
    if total <= FEW.max(most / SPARSE) {
        let mut made = begin();
        each(&mut made, &sorted(sides));
        return vec![made];
    }
    let ranges = (most >> RANGE_BITS) + 1;
    let divide = |(side, numbers): (Side, Vec<u32>)| RangedNumbers::new(side, &numbers, ranges);
    let divided: Vec<RangedNumbers> = if total < PARALLEL {
        sides.into_iter().map(divide).collect()
    } else {
        sides.into_par_iter().map(divide).collect()
    };
    let of_ranges = |counters: &mut Counters, ranges: Range<usize>| {
        let mut made = begin();
        for range in ranges {
            for divided in &divided {
                counters.add(divided.side, divided.range(range));
            }
            counters.show(range, |groups| each(&mut made, groups));
        }
        made
    };
    if total < PARALLEL {
        return vec![of_ranges(&mut Counters::default(), 0..ranges)];
    }
    let parts = (0..ranges.div_ceil(RANGES)).into_par_iter();
    parts
        .map_init(Counters::default, |counters, part| {
            of_ranges(counters, part * RANGES..ranges.min((part + 1) * RANGES))
        })
        .collect()
}

/// Counts of few numbers.
fn sorted(sides: Vec<(Side, Vec<u32>)>) -> Vec<(u64, Count)> {
    let mut numbers: Vec<(u32, Side)> =
        sides.into_iter().flat_map(|(side, numbers)| numbers.into_iter().map(move |number| (number, side))).collect();
    numbers.sort_unstable_by_key(|(number, _)| *number);
    let mut groups: Vec<(u64, Count)> = Vec::new();
    for (number, side) in numbers {
        let key = u64::from(number) << 32;
        match groups.last_mut() {
            Some((last, count)) if *last == key => count.add(side),
            Some(_) | None => {
                let mut count = Count::default();
                count.add(side);
                groups.push((key, count));
            }
        }
    }
    groups
}

/// Numbers of one side, range by range.
struct RangedNumbers {
    side: Side,
    /// The beginning of each range, and the end.
    starts: Vec<usize>,
    /// Inside their range.
    numbers: Vec<u16>,
}

impl RangedNumbers {
    #[expect(clippy::cast_possible_truncation, reason = "the bits inside a range are fewer than 16")]
    fn new(side: Side, numbers: &[u32], ranges: usize) -> Self {
        let range = |number: u32| (number >> RANGE_BITS) as usize;
        let mut starts = vec![0; ranges + 1];
        for number in numbers {
            starts[range(*number) + 1] += 1;
        }
        for range in 0..ranges {
            starts[range + 1] += starts[range];
        }
        let mut next = starts.clone();
        let mut divided = vec![0; numbers.len()];
        for number in numbers {
            let place = &mut next[range(*number)];
            divided[*place] = *number as u16 & (RANGE as u16 - 1);
            *place += 1;
        }
        Self { side, starts, numbers: divided }
    }

    fn range(&self, range: usize) -> &[u16] {
        &self.numbers[self.starts[range]..self.starts[range + 1]]
    }
}

/// A counter for each number of a range and side; a part of the ledger has fewer than 2^32 rows.
struct Counters {
    counts: Vec<[u32; 2]>,
    /// A bit for each number that occurs.
    met: [u64; RANGE / 64],
    groups: Vec<(u64, Count)>,
}

impl Default for Counters {
    fn default() -> Self {
        Self { counts: vec![[0; 2]; RANGE], met: [0; RANGE / 64], groups: Vec::new() }
    }
}

impl Counters {
    fn add(&mut self, side: Side, numbers: &[u16]) {
        for number in numbers {
            let place = usize::from(*number) % RANGE;
            self.counts[place][side as usize] += 1;
            self.met[place / 64] |= 1 << (place % 64);
        }
    }

    /// Shows what was counted of a range, and forgets it.
    fn show(&mut self, range: usize, each: impl FnOnce(&[(u64, Count)])) {
        for (word, met) in self.met.iter_mut().enumerate() {
            let mut left = std::mem::take(met);
            while left != 0 {
                let place = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let counts = std::mem::take(&mut self.counts[place]);
                let key = ((range << RANGE_BITS | place) as u64) << 32;
                self.groups.push((key, Count::of_sides(counts.map(u64::from))));
            }
        }
        if !self.groups.is_empty() {
            each(&self.groups);
            self.groups.clear();
        }
    }
}
