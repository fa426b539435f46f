//! Grouping of many rows by a number, by radix and hash.
//!
//! A hash table over the groups of a hub misses the cache at every row. Here rows are first divided by a hash of their
//! key into runs so small that the groups of one run stay in the cache, and each run is grouped by itself and shown
//! before the next, so the groups of a hub never stand in memory together unless somebody keeps them. Several threads
//! divide their rows alike, so a run of all of them is grouped by one, and nothing is joined. All tallies are integers:
//! the result does not depend on how rows were divided.

use headwater_types::{Amount, SumOverflow};
use rayon::prelude::*;

use crate::exact::ExactSum;

/// Rows that are held as they come; when there are more, they are divided as they come.
const FLAT: usize = 1 << 16;
/// Bits of the hash that divide rows as they come.
const RUN_BITS: u32 = 8;
/// Rows that are grouped at once, about: their groups stay in the cache.
const PART: usize = 512;
/// Bits that divide a run at most.
const MOST_BITS: u32 = 12;

/// Which way a row went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Side {
    /// Towards the account.
    #[default]
    Received,
    /// Away from it.
    Sent,
}

/// What is known of the rows of a group.
pub trait Tally: Copy + Default + Send + Sync {
    /// What of a movement is counted.
    type Row: Copy + Default + Send + Sync;

    /// What a row is grouped by.
    fn key(row: &Self::Row) -> u64;

    /// Adds a row.
    fn add(&mut self, row: &Self::Row);

    /// Adds a row of an amount that its own field does not hold.
    ///
    /// # Errors
    /// When a sum passes 256 bits.
    fn add_large(&mut self, row: &Self::Row, amount: Amount) -> Result<(), SumOverflow>;

    /// Adds the rows of another tally.
    ///
    /// # Errors
    /// When a sum passes 256 bits.
    fn join(&mut self, other: &Self) -> Result<(), SumOverflow>;

    /// Number of rows.
    fn count(&self) -> u64;
}

/// Rows by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count([u64; 2]);

impl Count {
    /// Rows of a side.
    #[must_use]
    pub const fn of(&self, side: Side) -> u64 {
        self.0[side as usize]
    }
}

impl Tally for Count {
    /// The upper half of the key, whose lower half is 0, and the way.
    type Row = (u32, Side);

    #[inline]
    fn key(row: &Self::Row) -> u64 {
        u64::from(row.0) << 32
    }

    #[inline]
    fn add(&mut self, row: &Self::Row) {
        self.0[row.1 as usize] += 1;
    }

    fn add_large(&mut self, row: &Self::Row, _: Amount) -> Result<(), SumOverflow> {
        self.add(row);
        Ok(())
    }

    fn join(&mut self, other: &Self) -> Result<(), SumOverflow> {
        self.0[0] += other.0[0];
        self.0[1] += other.0[1];
        Ok(())
    }

    fn count(&self) -> u64 {
        self.0[0] + self.0[1]
    }
}

/// A movement to be added up.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlowRow {
    /// What it is grouped by.
    pub key: u64,
    /// How much.
    pub amount: u128,
    /// When.
    pub secs: u32,
    /// Which way.
    pub side: Side,
}

/// Rows, exact sums, first and last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Rows by side.
    pub count: Count,
    sums: [ExactSum; 2],
    /// Seconds of the earliest row.
    pub first_secs: i64,
    /// Seconds of the latest row.
    pub last_secs: i64,
}

impl Default for Flow {
    fn default() -> Self {
        Self { count: Count::default(), sums: [ExactSum::ZERO; 2], first_secs: i64::MAX, last_secs: i64::MIN }
    }
}

impl Flow {
    /// What moved to a side.
    #[must_use]
    pub const fn sum(&self, side: Side) -> ExactSum {
        self.sums[side as usize]
    }

    #[inline]
    fn note(&mut self, row: &FlowRow) -> &mut ExactSum {
        self.count.0[row.side as usize] += 1;
        self.first_secs = self.first_secs.min(i64::from(row.secs));
        self.last_secs = self.last_secs.max(i64::from(row.secs));
        &mut self.sums[row.side as usize]
    }
}

impl Tally for Flow {
    type Row = FlowRow;

    #[inline]
    fn key(row: &FlowRow) -> u64 {
        row.key
    }

    #[inline]
    fn add(&mut self, row: &FlowRow) {
        self.note(row).add(row.amount);
    }

    fn add_large(&mut self, row: &FlowRow, amount: Amount) -> Result<(), SumOverflow> {
        self.note(row).add_amount(amount)
    }

    fn join(&mut self, other: &Self) -> Result<(), SumOverflow> {
        self.count.join(&other.count)?;
        self.first_secs = self.first_secs.min(other.first_secs);
        self.last_secs = self.last_secs.max(other.last_secs);
        self.sums[0].join(other.sums[0])?;
        self.sums[1].join(other.sums[1])
    }

    fn count(&self) -> u64 {
        self.count.count()
    }
}

/// Takes rows as they come: 32 bytes for each movement with its amount, 8 for one that is only counted.
#[derive(Debug)]
pub struct Grouper<T: Tally> {
    /// Not divided yet.
    rows: Vec<T::Row>,
    /// By hash; none while rows are few.
    runs: Vec<Vec<T::Row>>,
    /// Rows of amounts of 128 bits and more.
    large: Vec<(T::Row, Amount)>,
}

impl<T: Tally> Default for Grouper<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), runs: Vec::new(), large: Vec::new() }
    }
}

impl<T: Tally> Grouper<T> {
    /// Adds those of some rows that are to be kept. Without a branch on what the rows say, for no processor foresees it.
    #[inline]
    pub fn extend(&mut self, rows: impl ExactSizeIterator<Item = (T::Row, bool)>) {
        if !self.runs.is_empty() {
            for (row, _) in rows.filter(|(_, kept)| *kept) {
                self.runs[part_of(T::key(&row), 0, RUN_BITS)].push(row);
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
        self.large.push((row, amount));
    }

    #[cold]
    fn divide(&mut self) {
        self.runs = (0..1 << RUN_BITS).map(|_| Vec::with_capacity(2 * FLAT >> RUN_BITS)).collect();
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
pub fn grouped<T: Tally, R: Send>(
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
    let mut runs: Vec<Run<T>> = (0..1 << RUN_BITS).map(|_| Run { divided_by: RUN_BITS, ..Run::default() }).collect();
    for grouper in &mut groupers {
        if grouper.runs.is_empty() {
            grouper.divide();
        }
        for (run, rows) in runs.iter_mut().zip(std::mem::take(&mut grouper.runs)) {
            run.rows.push(rows);
        }
        for (row, amount) in std::mem::take(&mut grouper.large) {
            runs[part_of(T::key(&row), 0, RUN_BITS)].large.push((row, amount));
        }
    }
    runs.into_par_iter().map_init(Table::default, of_run).collect()
}

/// Rows whose keys share the upper bits of their hash, from several threads.
struct Run<T: Tally> {
    rows: Vec<Vec<T::Row>>,
    large: Vec<(T::Row, Amount)>,
    /// How many bits they share.
    divided_by: u32,
}

impl<T: Tally> Default for Run<T> {
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

impl<T: Tally> Table<T> {
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
        let bits = (count / PART).next_power_of_two().trailing_zeros().min(MOST_BITS);
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
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    type Plain = (u64, u64, Amount, Amount, i64, i64);

    /// By the book: a map, and 256-bit integers.
    fn oracle(rows: &[(FlowRow, Amount)]) -> BTreeMap<u64, Plain> {
        let mut groups = BTreeMap::new();
        for (row, amount) in rows {
            let secs = i64::from(row.secs);
            let group = groups.entry(row.key).or_insert((0, 0, Amount::ZERO, Amount::ZERO, secs, secs));
            let (count, sum) = match row.side {
                Side::Received => (&mut group.0, &mut group.2),
                Side::Sent => (&mut group.1, &mut group.3),
            };
            *count += 1;
            *sum = sum.checked_add(*amount).unwrap();
            group.4 = group.4.min(secs);
            group.5 = group.5.max(secs);
        }
        groups
    }

    fn grouper(rows: &[(FlowRow, Amount)]) -> Grouper<Flow> {
        let mut grouper = Grouper::default();
        for batch in rows.chunks(1000) {
            let small = |(row, amount): &(FlowRow, Amount)| {
                let small = amount.to_u128();
                (FlowRow { amount: small.unwrap_or(7), ..*row }, small.is_some())
            };
            grouper.extend(batch.iter().map(small));
        }
        for (row, amount) in rows.iter().filter(|(_, amount)| amount.to_u128().is_none()) {
            grouper.push_large(*row, *amount);
        }
        grouper
    }

    fn plain(groupers: Vec<Grouper<Flow>>) -> BTreeMap<u64, Plain> {
        let groups = grouped(groupers, Vec::new, |all, groups| all.extend_from_slice(groups)).unwrap().concat();
        let length = groups.len();
        let plain = |flow: Flow| {
            let [received, sent] =
                [Side::Received, Side::Sent].map(|side| (flow.count.of(side), flow.sum(side).total()));
            (received.0, sent.0, received.1, sent.1, flow.first_secs, flow.last_secs)
        };
        let groups: BTreeMap<_, _> = groups.into_iter().map(|(key, flow)| (key, plain(flow))).collect();
        assert_eq!(groups.len(), length, "each key once");
        groups
    }

    fn row(key: u64, secs: u32, sent: bool) -> FlowRow {
        FlowRow { key, amount: 0, secs, side: if sent { Side::Sent } else { Side::Received } }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn groups_are_those_of_a_map(
            rows in prop::collection::vec((0u64..40, any::<u32>(), any::<bool>(), any::<u128>()), 0..6000),
            spread in any::<u64>(),
            wide in any::<bool>(),
        ) {
            let amount = |value: u128| {
                let small = Amount::from_u128(value);
                if wide && value.is_multiple_of(97) { small.checked_add(Amount::from_u128(u128::MAX)).unwrap() } else { small }
            };
            let rows: Vec<_> = rows
                .into_iter()
                .map(|(key, secs, sent, value)| (row(key.wrapping_mul(spread | 1), secs, sent), amount(value)))
                .collect();
            let (some, others) = rows.split_at(rows.len() / 3);
            prop_assert_eq!(plain(vec![grouper(&rows)]), oracle(&rows));
            prop_assert_eq!(plain(vec![grouper(some), grouper(others)]), oracle(&rows));
        }
    }

    #[test]
    fn more_rows_than_are_held_as_they_come_are_divided() {
        let many = |number: u64| {
            let amount = u128::MAX / 3 + u128::from(number);
            let amount = Amount::from_u128(amount).checked_add(Amount::from_u128(u128::from(number % 7 / 6) << 127));
            (row(number * number % 5003 << 32 | number % 3, 7, number.is_multiple_of(3)), amount.unwrap())
        };
        let rows: Vec<_> = (0..FLAT as u64 * 9 + 5).map(many).collect();
        let (many, few) = rows.split_at(rows.len() - 10);
        let expected = oracle(&rows);
        assert_eq!(plain(vec![grouper(&rows)]), expected);
        assert_eq!(plain(vec![grouper(few), grouper(many)]), expected, "who has few rows divides them too");
        // One key takes all: a run that cannot be divided.
        let alike: Vec<_> = rows.iter().map(|(_, amount)| (row(5, 3, true), *amount)).collect();
        assert_eq!(plain(vec![grouper(&alike)]), oracle(&alike));
    }

    #[test]
    fn a_sum_past_256_bits_is_an_error() {
        let mut grouper = Grouper::<Flow>::default();
        grouper.push_large(row(1, 1, true), Amount::MAX);
        grouper.extend([(FlowRow { amount: 1, ..row(1, 1, true) }, true)].into_iter());
        assert_eq!(grouped(vec![grouper], || (), |(), _| ()).unwrap_err(), SumOverflow);
    }
}
