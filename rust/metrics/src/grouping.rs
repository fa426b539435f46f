//! Grouping of many rows by a number: by sorting where they are few, by radix where they are many.
//!
//! A hash table over the groups of a hub misses the cache at every row. Here rows are first scattered by a hash of their
//! key into so many runs that the groups of one run stay in the cache, and each run is grouped by itself. Rows are held
//! a chunk at a time, so memory is bounded by the chunk and the groups. All tallies are integers: the result does not
//! depend on how rows were chunked.

use headwater_types::{Amount, SumOverflow};

use crate::exact::ExactSum;

/// Up to so many rows are sorted.
const SORTED: usize = 4096;
/// Rows of a run, about.
const RUN: usize = 2048;
/// Rows held before they are grouped: 32 MiB.
const CHUNK: usize = 1 << 20;

/// Which way a row went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Side {
    /// Towards the account.
    Received,
    /// Away from it.
    Sent,
}

/// One row to be grouped.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What it is grouped by.
    pub key: u64,
    /// How much; `u128::MAX` stands for an amount given beside the row.
    pub amount: u128,
    /// When.
    pub secs: u32,
    /// Which way.
    pub side: Side,
}

/// What is known of the rows of a group.
pub trait Tally: Copy + Default + Send + Sync {
    /// Adds a row of an amount below 2^128.
    fn add(&mut self, row: &Row);

    /// Adds a row of any amount.
    ///
    /// # Errors
    /// When a sum passes 256 bits.
    fn add_large(&mut self, row: &Row, amount: Amount) -> Result<(), SumOverflow>;

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
pub struct Count {
    /// Rows that came in.
    pub received: u64,
    /// Rows that went out.
    pub sent: u64,
}

impl Tally for Count {
    #[inline]
    fn add(&mut self, row: &Row) {
        match row.side {
            Side::Received => self.received += 1,
            Side::Sent => self.sent += 1,
        }
    }

    fn add_large(&mut self, row: &Row, _: Amount) -> Result<(), SumOverflow> {
        self.add(row);
        Ok(())
    }

    fn join(&mut self, other: &Self) -> Result<(), SumOverflow> {
        self.received += other.received;
        self.sent += other.sent;
        Ok(())
    }

    fn count(&self) -> u64 {
        self.received + self.sent
    }
}

/// Rows, exact sums, first and last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Rows by side.
    pub count: Count,
    /// What came in.
    pub received: ExactSum,
    /// What went out.
    pub sent: ExactSum,
    /// Seconds of the earliest row.
    pub first_secs: i64,
    /// Seconds of the latest row.
    pub last_secs: i64,
}

impl Default for Flow {
    fn default() -> Self {
        let (received, sent) = (ExactSum::ZERO, ExactSum::ZERO);
        Self { count: Count::default(), received, sent, first_secs: i64::MAX, last_secs: i64::MIN }
    }
}

impl Flow {
    fn note(&mut self, row: &Row) -> &mut ExactSum {
        self.count.add(row);
        self.first_secs = self.first_secs.min(i64::from(row.secs));
        self.last_secs = self.last_secs.max(i64::from(row.secs));
        match row.side {
            Side::Received => &mut self.received,
            Side::Sent => &mut self.sent,
        }
    }
}

impl Tally for Flow {
    #[inline]
    fn add(&mut self, row: &Row) {
        self.note(row).add(row.amount);
    }

    fn add_large(&mut self, row: &Row, amount: Amount) -> Result<(), SumOverflow> {
        self.note(row).add_amount(amount)
    }

    fn join(&mut self, other: &Self) -> Result<(), SumOverflow> {
        self.count.join(&other.count)?;
        self.first_secs = self.first_secs.min(other.first_secs);
        self.last_secs = self.last_secs.max(other.last_secs);
        self.received.join(other.received)?;
        self.sent.join(other.sent)
    }

    fn count(&self) -> u64 {
        self.count.count()
    }
}

/// Groups rows as they come.
#[derive(Debug)]
pub struct Grouper<T> {
    rows: Vec<Row>,
    /// Amounts of 128 bits and more, with the place of their row.
    large: Vec<(usize, Amount)>,
    groups: Option<Table<T>>,
}

impl<T> Default for Grouper<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), large: Vec::new(), groups: None }
    }
}

impl<T: Tally> Grouper<T> {
    /// Adds a row of an amount below 2^128.
    ///
    /// # Errors
    /// When a sum passes 256 bits.
    #[inline]
    pub fn push(&mut self, row: Row) -> Result<(), SumOverflow> {
        self.rows.push(row);
        if self.rows.len() == CHUNK { self.settle() } else { Ok(()) }
    }

    /// Adds a row of any amount.
    ///
    /// # Errors
    /// When a sum passes 256 bits.
    pub fn push_large(&mut self, row: Row, amount: Amount) -> Result<(), SumOverflow> {
        self.large.push((self.rows.len(), amount));
        self.push(Row { amount: 0, ..row })
    }

    /// Adds a row to its group at once: for tallies so small that their groups stay in the cache.
    #[inline]
    pub fn tally(&mut self, row: &Row) {
        self.groups.get_or_insert_with(|| Table::with_room_for(RUN)).entry(row.key).add(row);
    }

    /// The groups, each key once: in an order that depends on nothing but the rows and their order.
    ///
    /// # Errors
    /// When a sum passes 256 bits.
    pub fn finish(mut self) -> Result<Vec<(u64, T)>, SumOverflow> {
        if self.groups.is_none() {
            let groups = group(&mut self.rows, &self.large)?;
            return Ok(groups);
        }
        self.settle()?;
        Ok(self.groups.map(|table| table.groups).unwrap_or_default())
    }

    fn settle(&mut self) -> Result<(), SumOverflow> {
        let groups = group(&mut self.rows, &self.large)?;
        self.rows.clear();
        self.large.clear();
        let table = self.groups.get_or_insert_with(|| Table::with_room_for(groups.len()));
        groups.iter().try_for_each(|(key, tally)| table.entry(*key).join(tally))
    }
}

/// Groups of one chunk. Rows with a large amount read 0; the amount is added afterwards.
fn group<T: Tally>(rows: &mut [Row], large: &[(usize, Amount)]) -> Result<Vec<(u64, T)>, SumOverflow> {
    if large.is_empty() {
        return Ok(if rows.len() <= SORTED { by_sorting(rows) } else { by_radix(rows) });
    }
    let mut table = Table::with_room_for(rows.len().min(RUN));
    let mut large = large.iter().peekable();
    for (place, row) in rows.iter().enumerate() {
        let tally: &mut T = table.entry(row.key);
        let amount = large.next_if(|(of, _)| *of == place).map_or(Amount::from_u128(row.amount), |(_, amount)| *amount);
        tally.add_large(row, amount)?;
    }
    Ok(table.groups)
}

fn by_sorting<T: Tally>(rows: &mut [Row]) -> Vec<(u64, T)> {
    rows.sort_unstable_by_key(|row| row.key);
    let mut groups: Vec<(u64, T)> = Vec::new();
    for row in rows {
        match groups.last_mut() {
            Some((key, tally)) if *key == row.key => tally.add(row),
            _ => {
                let mut tally = T::default();
                tally.add(row);
                groups.push((row.key, tally));
            }
        }
    }
    groups
}

fn by_radix<T: Tally>(rows: &[Row]) -> Vec<(u64, T)> {
    let bits = (rows.len() / RUN).next_power_of_two().trailing_zeros().clamp(1, 12);
    let run_of = |row: &Row| usize::try_from(mixed(row.key) >> (64 - bits)).expect("at most 12 bits");
    let mut ends = vec![0_usize; 1 << bits];
    for row in rows {
        ends[run_of(row)] += 1;
    }
    let mut start = 0;
    for end in &mut ends {
        start += std::mem::replace(end, start);
    }
    let mut scattered = vec![Row { key: 0, amount: 0, secs: 0, side: Side::Received }; rows.len()];
    for row in rows {
        let place = &mut ends[run_of(row)];
        scattered[*place] = *row;
        *place += 1;
    }
    let mut groups = Vec::new();
    let mut table: Table<T> = Table::with_room_for(RUN);
    let mut start = 0;
    for end in ends {
        for row in &scattered[start..end] {
            table.entry(row.key).add(row);
        }
        groups.append(&mut table.groups);
        table.clear();
        start = end;
    }
    groups
}

/// Spreads keys over 64 bits.
#[inline]
const fn mixed(key: u64) -> u64 {
    let key = (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (key ^ (key >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// An open table of groups, in the order in which they were first met.
#[derive(Debug)]
struct Table<T> {
    /// Number of a group and one more; 0 where there is none. A power of two of them, at most half of them taken.
    slots: Vec<u32>,
    groups: Vec<(u64, T)>,
}

impl<T: Tally> Table<T> {
    fn with_room_for(groups: usize) -> Self {
        Self { slots: vec![0; (groups * 2).next_power_of_two().max(16)], groups: Vec::new() }
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.slots.fill(0);
    }

    #[inline]
    fn entry(&mut self, key: u64) -> &mut T {
        if (self.groups.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        // The upper bits chose the run: the lower ones are still free.
        let mut slot = usize::try_from(mixed(key) & 0xffff_ffff).expect("32 bits") & mask;
        loop {
            match self.slots[slot] {
                0 => {
                    self.groups.push((key, T::default()));
                    self.slots[slot] = u32::try_from(self.groups.len()).expect("fewer than 2^32 groups");
                    return &mut self.groups.last_mut().expect("one was just added").1;
                }
                number => {
                    let place = number as usize - 1;
                    if self.groups[place].0 == key {
                        return &mut self.groups[place].1;
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        self.slots = vec![0; mask + 1];
        for (number, (key, _)) in (1_u32..).zip(&self.groups) {
            let mut slot = usize::try_from(mixed(*key) & 0xffff_ffff).expect("32 bits") & mask;
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

    /// By the book: a map, and 256-bit integers.
    fn oracle(rows: &[(Row, Amount)]) -> BTreeMap<u64, (u64, u64, Amount, Amount, i64, i64)> {
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

    fn grouped(rows: &[(Row, Amount)]) -> BTreeMap<u64, (u64, u64, Amount, Amount, i64, i64)> {
        let mut grouper = Grouper::<Flow>::default();
        for (row, amount) in rows {
            match amount.to_u128() {
                Some(small) => grouper.push(Row { amount: small, ..*row }).unwrap(),
                None => grouper.push_large(*row, *amount).unwrap(),
            }
        }
        let groups = grouper.finish().unwrap();
        let length = groups.len();
        let plain = |flow: Flow| {
            let Flow { count, received, sent, first_secs, last_secs } = flow;
            (count.received, count.sent, received.total(), sent.total(), first_secs, last_secs)
        };
        let groups: BTreeMap<_, _> = groups.into_iter().map(|(key, flow)| (key, plain(flow))).collect();
        assert_eq!(groups.len(), length, "each key once");
        groups
    }

    fn row(key: u64, secs: u32, sent: bool) -> Row {
        Row { key, amount: 0, secs, side: if sent { Side::Sent } else { Side::Received } }
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
            prop_assert_eq!(grouped(&rows), oracle(&rows));
        }
    }

    #[test]
    fn more_rows_than_a_chunk_are_grouped_piece_by_piece() {
        let rows: Vec<_> = (0..CHUNK as u64 * 2 + 5)
            .map(|number| {
                (
                    row(number * number % 5003, 7, number.is_multiple_of(3)),
                    Amount::from_u128(u128::MAX / 3 + u128::from(number)),
                )
            })
            .collect();
        assert_eq!(grouped(&rows), oracle(&rows));
    }

    #[test]
    fn a_sum_past_256_bits_is_an_error() {
        let mut grouper = Grouper::<Flow>::default();
        grouper.push_large(row(1, 1, true), Amount::MAX).unwrap();
        grouper.push(Row { amount: 1, ..row(1, 1, true) }).unwrap();
        assert_eq!(grouper.finish().unwrap_err(), SumOverflow);
    }
}
