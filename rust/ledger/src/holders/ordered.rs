//! Holders in memory, in order, with what the first of them come to.

use std::cmp::Reverse;
use std::sync::Arc;

use headwater_types::{Address, Amount};

use super::moments::{Sum, Top, wide};

/// The largest number of rows of a chunk: what a change copies, and what a sum is computed of.
const MAX_CHUNK: usize = 128;

/// A holder that a table has with another balance, or not at all.
#[derive(Clone, Copy)]
pub(super) struct HolderChange {
    pub(super) balance: Amount,
    pub(super) address: Address,
    /// A slot, see [`super::slots`], and the account in its segment.
    pub(super) account: (u32, u32),
}

impl HolderChange {
    /// Holders are in this order.
    pub(super) const fn key(&self) -> (Reverse<Amount>, Address) {
        (Reverse(self.balance), self.address)
    }
}

/// Rows by balance, largest first, then by address. Clones share the chunks that neither changes.
#[derive(Clone, Default)]
pub(super) struct OrderedRows {
    /// None is empty.
    chunks: Vec<Arc<Chunk>>,
    length: usize,
}

#[derive(Clone)]
struct Chunk {
    rows: Vec<HolderChange>,
    sum: Sum,
}

impl Chunk {
    fn new(rows: Vec<HolderChange>) -> Self {
        let sum = sum_of(&rows);
        Self { rows, sum }
    }
}

impl OrderedRows {
    pub(super) const fn len(&self) -> usize {
        self.length
    }

    pub(super) fn insert(&mut self, row: HolderChange) {
        self.length += 1;
        let at = self.chunks.partition_point(|chunk| chunk.rows[0].key() <= row.key()).saturating_sub(1);
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.chunks.push(Arc::new(Chunk::new(vec![row])));
            return;
        };
        let chunk = Arc::make_mut(chunk);
        let place = chunk.rows.partition_point(|held| held.key() <= row.key());
        chunk.rows.insert(place, row);
        chunk.sum += wide(row.balance);
        if chunk.rows.len() > MAX_CHUNK {
            let second = Chunk::new(chunk.rows.split_off(MAX_CHUNK / 2));
            chunk.sum -= second.sum;
            self.chunks.insert(at + 1, Arc::new(second));
        }
    }

    /// Removes the row of a balance and address; returns whether there was one.
    pub(super) fn remove(&mut self, balance: Amount, address: Address) -> bool {
        let key = (Reverse(balance), address);
        let at = self.chunks.partition_point(|chunk| chunk.rows[0].key() <= key).saturating_sub(1);
        let Some(chunk) = self.chunks.get_mut(at) else { return false };
        let Ok(place) = chunk.rows.binary_search_by_key(&key, HolderChange::key) else { return false };
        let chunk = Arc::make_mut(chunk);
        chunk.rows.remove(place);
        chunk.sum -= wide(balance);
        if chunk.rows.is_empty() {
            self.chunks.remove(at);
        }
        self.length -= 1;
        true
    }

    /// The rows from a place on.
    pub(super) fn from(&self, first: usize) -> impl Iterator<Item = &HolderChange> {
        let mut skipped = 0;
        let start = self.chunks.iter().position(|chunk| {
            let is_there = first < skipped + chunk.rows.len();
            skipped += if is_there { 0 } else { chunk.rows.len() };
            is_there
        });
        let chunks = start.map_or(&[][..], |start| &self.chunks[start..]);
        chunks.iter().flat_map(|chunk| &chunk.rows).skip(first - skipped.min(first))
    }

    pub(super) fn get(&self, place: usize) -> Option<&HolderChange> {
        self.from(place).next()
    }

    /// The number of first rows that have a property, which no row behind them has.
    pub(super) fn partition_point(&self, has: impl Fn(&HolderChange) -> bool) -> usize {
        let whole = self.chunks.partition_point(|chunk| chunk.rows.last().is_some_and(&has));
        let before: usize = self.chunks[..whole].iter().map(|chunk| chunk.rows.len()).sum();
        before + self.chunks.get(whole).map_or(0, |chunk| chunk.rows.partition_point(&has))
    }

    /// All of them.
    pub(super) fn all(&self) -> Top {
        Top { count: self.length as u64, sum: self.chunks.iter().map(|chunk| chunk.sum).sum() }
    }

    /// All that hold at least so much.
    pub(super) fn at_least(&self, balance: Amount) -> Top {
        let has = |row: &HolderChange| row.balance >= balance;
        let whole = self.chunks.partition_point(|chunk| chunk.rows.last().is_some_and(has));
        let of_chunk = |chunk: &Arc<Chunk>| Top { count: chunk.rows.len() as u64, sum: chunk.sum };
        let before = self.chunks[..whole].iter().map(of_chunk).fold(Top::default(), Top::with);
        let rows = self.chunks.get(whole).map_or(&[][..], |chunk| &chunk.rows);
        let rows = &rows[..rows.partition_point(has)];
        before.with(Top { count: rows.len() as u64, sum: sum_of(rows) })
    }

    /// The first so many.
    pub(super) fn top(&self, count: usize) -> Top {
        let (mut top, mut left) = (Top::default(), count);
        for chunk in &self.chunks {
            if left < chunk.rows.len() {
                return top.with(Top { count: left as u64, sum: sum_of(&chunk.rows[..left]) });
            }
            left -= chunk.rows.len();
            top = top.with(Top { count: chunk.rows.len() as u64, sum: chunk.sum });
        }
        top
    }
}

fn sum_of(rows: &[HolderChange]) -> Sum {
    rows.iter().fold(Sum::ZERO, |sum, row| sum + wide(row.balance))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(balance: u64, number: u8) -> HolderChange {
        HolderChange { balance: Amount::from(balance), address: Address::Evm([number; 20]), account: (0, 0) }
    }

    proptest! {
        #[test]
        fn rows_are_what_one_sorted_list_of_them_is(
            changes in prop::collection::vec((0..60_u64, any::<u8>(), any::<bool>()), 0..900),
        ) {
            let (mut rows, mut expected) = (OrderedRows::default(), Vec::<(u64, u8)>::new());
            for (balance, number, is_new) in changes {
                let at = expected.iter().position(|held| *held == (balance, number));
                if is_new && at.is_none() {
                    rows.insert(row(balance, number));
                    expected.push((balance, number));
                } else if !is_new {
                    prop_assert_eq!(rows.remove(Amount::from(balance), Address::Evm([number; 20])), at.is_some());
                    at.map(|at| expected.swap_remove(at));
                }
            }
            expected.sort_unstable_by_key(|(balance, number)| (Reverse(*balance), *number));
            let sum = |rows: &[(u64, u8)]| Top {
                count: rows.len() as u64,
                sum: rows.iter().map(|(balance, _)| Sum::from(*balance)).sum(),
            };
            prop_assert_eq!((rows.len(), rows.all()), (expected.len(), sum(&expected)));
            for first in (0..=expected.len()).step_by(7) {
                let rest: Vec<_> = rows.from(first).map(HolderChange::key).collect();
                let wanted: Vec<_> = expected[first..].iter().map(|(held, number)| row(*held, *number).key()).collect();
                prop_assert_eq!(rest, wanted);
                prop_assert_eq!(rows.top(first), sum(&expected[..first]));
            }
            for balance in 0..61 {
                let count = expected.partition_point(|(held, _)| *held >= balance);
                prop_assert_eq!(rows.at_least(Amount::from(balance)), sum(&expected[..count]));
                prop_assert_eq!(rows.partition_point(|row| row.balance >= Amount::from(balance)), count);
            }
        }
    }
}
