//! Grouping of many rows by a number, by radix and hash; and counting of numbers.
//!
//! A hash table over the groups of a hub misses the cache at every row. Here rows are first divided by a hash of their
//! key into runs so small that the groups of one run stay in the cache, and each run is grouped by itself and shown
//! before the next, so the groups of a hub never are in memory together unless somebody keeps them. Several threads
//! divide their rows alike, so a run of all of them is grouped by one, and nothing is joined. All tallies are integers:
//! the result does not depend on how rows were divided.

mod numbers;
mod tally;

use std::ops::Range;

use headwater_types::{Amount, SumOverflow};
use rayon::prelude::*;

pub use self::numbers::{Numbers, counted};
pub use self::tally::{Count, Flow, FlowRow, OfRows, Side, Tally};

/// Rows that are held as they come; when there are more, they are divided as they come.
const FLAT: usize = 1 << 16;
/// Bits of the hash that divide rows as they come.
const RUN_BITS: u32 = 8;
/// Runs that rows are divided into as they come.
pub const RUNS: usize = 1 << RUN_BITS;
/// Rows that are grouped at once, about: their groups stay in the cache.
const PART: usize = 512;
/// Bits that divide a run at most.
const MAX_BITS: u32 = 12;

/// Takes rows as they come: 32 bytes for each movement with its amount.
#[derive(Debug)]
pub struct Grouper<T: OfRows> {
    /// Not divided yet.
    rows: Vec<T::Row>,
    /// By hash; none while rows are few.
    runs: Vec<Vec<T::Row>>,
    /// Those that are wanted.
    wanted: Range<usize>,
    /// Rows of amounts of 128 bits and more.
    large: Vec<(T::Row, Amount)>,
}

impl<T: OfRows> Default for Grouper<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), runs: Vec::new(), wanted: 0..RUNS, large: Vec::new() }
    }
}

impl<T: OfRows> Grouper<T> {
    /// Takes only rows of some runs, of [`RUNS`]: for whoever cannot hold all rows, and reads them several times.
    #[must_use]
    pub fn of_runs(wanted: Range<usize>) -> Self {
        let mut grouper = Self { wanted, ..Self::default() };
        grouper.divide();
        grouper
    }

    /// Adds those of some rows that are to be kept. Without a branch on what the rows say, for no processor foresees it.
    #[inline]
    pub fn extend(&mut self, rows: impl ExactSizeIterator<Item = (T::Row, bool)>) {
        if !self.runs.is_empty() {
            for (row, _) in rows.filter(|(_, kept)| *kept) {
                let run = part_of(T::key(&row), 0, RUN_BITS).wrapping_sub(self.wanted.start);
                if let Some(run) = self.runs.get_mut(run) {
                    run.push(row);
                }
            }
            return;
        }
        let mut next = self.rows.len();
        self.rows.resize(next + rows.len(), T::Row::default());
        for (row, kept) in rows {
            self.rows[next] = row;
            next += usize::from(kept);
        }
        self.rows.truncate(next);
        if self.rows.len() >= FLAT {
            self.divide();
        }
    }

    /// Adds a row of an amount that its own field does not hold.
    pub fn push_large(&mut self, row: T::Row, amount: Amount) {
        if self.wanted.contains(&part_of(T::key(&row), 0, RUN_BITS)) {
            self.large.push((row, amount));
        }
    }

    #[cold]
    fn divide(&mut self) {
        self.runs = self.wanted.clone().map(|_| Vec::with_capacity((2 * FLAT) >> RUN_BITS)).collect();
        for row in std::mem::take(&mut self.rows) {
            self.runs[part_of(T::key(&row), 0, RUN_BITS)].push(row);
        }
    }
}

/// Groups the rows of several groupers together and shows the groups, each key once and in no order, to whoever makes
/// something of them: a part of the groups after the other to one, or divided between several on all threads where rows
/// were divided as they came.
///
/// # Errors
/// When a sum passes 256 bits.
pub fn grouped<T: OfRows, R: Send>(
    mut groupers: Vec<Grouper<T>>,
    begin: impl Fn() -> R + Sync,
    each: impl Fn(&mut R, &[(u64, T)]) + Sync,
) -> Result<Vec<R>, SumOverflow> {
    let of_run = |table: &mut Table<T>, run: Run<T>| -> Result<R, SumOverflow> {
        let mut made = begin();
        table.group(run, &mut |groups| each(&mut made, groups))?;
        Ok(made)
    };
    if groupers.iter().all(|grouper| grouper.runs.is_empty()) {
        let mut run = Run::default();
        for grouper in groupers {
            run.rows.push(grouper.rows);
            run.large.extend(grouper.large);
        }
        return Ok(vec![of_run(&mut Table::default(), run)?]);
    }
    let mut runs: Vec<Run<T>> = (0..RUNS).map(|_| Run { divided_by: RUN_BITS, ..Run::default() }).collect();
    for grouper in &mut groupers {
        if grouper.runs.is_empty() {
            grouper.divide();
        }
        for (run, rows) in runs[grouper.wanted.clone()].iter_mut().zip(std::mem::take(&mut grouper.runs)) {
            run.rows.push(rows);
        }
        for (row, amount) in std::mem::take(&mut grouper.large) {
            runs[part_of(T::key(&row), 0, RUN_BITS)].large.push((row, amount));
        }
    }
    runs.into_par_iter().map_init(Table::default, of_run).collect()
}

/// Rows whose keys share the upper bits of their hash, from several threads.
struct Run<T: OfRows> {
    rows: Vec<Vec<T::Row>>,
    large: Vec<(T::Row, Amount)>,
    /// The number of bits they share.
    divided_by: u32,
}

impl<T: OfRows> Default for Run<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), large: Vec::new(), divided_by: 0 }
    }
}

/// The part that a key falls into: some bits of its hash, behind those that divided it before.
#[inline]
fn part_of(key: u64, behind: u32, bits: u32) -> usize {
    usize::try_from(mixed(key) << behind >> (64 - bits)).expect("a few bits")
}

/// Spreads keys over the upper bits (Knuth's multiplicative hashing).
#[inline]
const fn mixed(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// An open table of groups, in the order in which they were first met.
#[derive(Debug)]
struct Table<T> {
    /// Number of a group and one more; 0 where there is none. At most a quarter of them taken.
    slots: Vec<u32>,
    /// There are 2 to the power of so many slots.
    bits: u32,
    /// Bits of the hash that all keys share.
    shared: u32,
    groups: Vec<(u64, T)>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { slots: vec![0; 16], bits: 4, shared: 0, groups: Vec::new() }
    }
}

impl<T: OfRows> Table<T> {
    /// Groups a run; divides it once more where its groups might not stay in the cache.
    fn group(&mut self, mut run: Run<T>, each: &mut impl FnMut(&[(u64, T)])) -> Result<(), SumOverflow> {
        let count: usize = run.rows.iter().map(Vec::len).sum();
        self.shared = run.divided_by;
        if count <= 2 * PART {
            for rows in &run.rows {
                self.add(rows);
            }
            return self.show(&run.large, each);
        }
        let bits = (count / PART).next_power_of_two().trailing_zeros().min(MAX_BITS);
        self.shared += bits;
        let part = |row: &T::Row| part_of(T::key(row), run.divided_by, bits);
        let mut ends = vec![0_usize; 1 << bits];
        for rows in &run.rows {
            for row in rows {
                ends[part(row)] += 1;
            }
        }
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        // Any row: each place is written once.
        let Some(any) = run.rows.iter().find_map(|rows| rows.first()) else { return Ok(()) };
        let mut divided = vec![*any; count];
        for rows in &run.rows {
            for row in rows {
                let place = &mut ends[part(row)];
                divided[*place] = *row;
                *place += 1;
            }
        }
        run.large.sort_by_key(|(row, _)| part(row));
        let (mut start, mut large) = (0, &run.large[..]);
        for (number, end) in ends.into_iter().enumerate() {
            self.add(&divided[start..end]);
            let (of_part, rest) = large.split_at(large.partition_point(|(row, _)| part(row) <= number));
            self.show(of_part, each)?;
            (start, large) = (end, rest);
        }
        Ok(())
    }

    fn add(&mut self, rows: &[T::Row]) {
        for row in rows {
            self.entry(T::key(row)).add(row);
        }
    }

    /// Adds what is large, shows the groups and forgets them.
    fn show(&mut self, large: &[(T::Row, Amount)], each: &mut impl FnMut(&[(u64, T)])) -> Result<(), SumOverflow> {
        large.iter().try_for_each(|(row, amount)| self.entry(T::key(row)).add_large(row, *amount))?;
        if !self.groups.is_empty() {
            each(&self.groups);
            self.groups.clear();
            self.slots.fill(0);
        }
        Ok(())
    }

    #[inline]
    fn entry(&mut self, key: u64) -> &mut T {
        let mask = self.slots.len() - 1;
        let mut slot = part_of(key, self.shared, self.bits);
        loop {
            let number = self.slots[slot] as usize;
            if number == 0 {
                return self.begin(key, slot);
            }
            if self.groups[number - 1].0 == key {
                return &mut self.groups[number - 1].1;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// A new group, in a slot that is free.
    fn begin(&mut self, key: u64, slot: usize) -> &mut T {
        self.groups.push((key, T::default()));
        self.slots[slot] = u32::try_from(self.groups.len()).expect("fewer than 2^32 groups");
        if self.groups.len() * 4 > self.slots.len() {
            self.grow();
        }
        &mut self.groups.last_mut().expect("one was just added").1
    }

    #[cold]
    fn grow(&mut self) {
        self.bits += 1;
        self.slots = vec![0; 1 << self.bits];
        let mask = self.slots.len() - 1;
        for (number, (key, _)) in (1_u32..).zip(&self.groups) {
            let mut slot = part_of(*key, self.shared, self.bits);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = number;
        }
    }
}

#[cfg(test)]
mod tests;
