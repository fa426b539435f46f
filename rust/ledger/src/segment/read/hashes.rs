//! From hashes to rows.

use std::ops::Range;
use std::sync::Arc;

use super::super::container::{Container, search};
use super::super::layout::short_prefix;
use super::super::pack::{BLOCK, Table};
use super::super::section::PackedSections;
use super::walk::BlockCache;
use crate::LedgerError;
use crate::error::Result;

/// Entries with hashes of one prefix that are compared one by one.
const FEW: usize = 8;

/// First bytes of hashes in order, and what each belongs to. The rest of a hash is looked up where it belongs.
pub(super) struct HashIndex {
    table: Table<2>,
    length: usize,
}

/// Gives the hash that an entry has.
type HashOf<'a> = &'a dyn Fn(u32) -> Result<[u8; 32]>;

impl HashIndex {
    pub(super) fn open(file: &Arc<Container>, sections: PackedSections, length: u64) -> Result<Self> {
        Ok(Self { table: Table::open(file, sections)?, length: usize::try_from(length).unwrap_or(usize::MAX) })
    }

    /// The entry at a place in order of hashes.
    pub(super) fn entry(&self, place: usize) -> Result<u32> {
        self.narrow(place, self.table.value(place, 1)?)
    }

    fn narrow(&self, place: usize, entry: u64) -> Result<u32> {
        u32::try_from(entry).map_err(|_| self.table.wrong(place, "is too large"))
    }

    /// The first four bytes of the hash at a place, and its entry; places are asked for one after the other.
    pub(super) fn prefixed(&self, place: usize, kept: &mut BlockCache<2>) -> Result<(u64, u32)> {
        let [prefix, entry] = kept.row(&self.table, place)?;
        Ok((prefix, self.narrow(place, entry)?))
    }

    /// The places whose prefix is that of a hash.
    pub(super) fn run(&self, hash: &[u8; 32]) -> Result<Range<usize>> {
        let first = short_prefix(hash);
        let low = interpolate(&self.table, self.length, first)?;
        let high = gallop(low, self.length, |at| Ok(self.table.value(at, 0)? == first))?;
        Ok(low..high)
    }

    /// First place of a hash, or where it would be.
    pub(super) fn place(&self, hash: &[u8; 32], of: HashOf<'_>) -> Result<(usize, Range<usize>)> {
        let run = self.run(hash)?;
        // Real hashes rarely share a prefix, the ids of allocations and rewards all do.
        let place = search(run.clone(), |at| Ok(of(self.entry(at)?)? < *hash))?;
        Ok((place, run))
    }

    pub(super) fn find(&self, hash: &[u8; 32], of: HashOf<'_>) -> Result<Option<u32>> {
        let (place, run) = self.place(hash, of)?;
        if place == run.end {
            return Ok(None);
        }
        let entry = self.entry(place)?;
        Ok((of(entry)? == *hash).then_some(entry))
    }

    /// Those of ascending hashes that are held: place among them, and entry. Walks the index from each to the next.
    pub(super) fn find_many<'a>(
        &self,
        hashes: impl Iterator<Item = &'a [u8; 32]>,
        of: HashOf<'_>,
    ) -> Result<Vec<(usize, u32)>> {
        let mut found = Vec::new();
        let Self { table, length } = self;
        let length = *length;
        let mut walk = Walk { table, block: usize::MAX, values: [0; BLOCK], count: 0 };
        let mut low = 0;
        for (place, hash) in hashes.enumerate() {
            let first = short_prefix(hash);
            low = walk.seek(low, length, first)?;
            let mut at = low;
            while at < length && walk.value(at)? == first {
                if at - low == FEW {
                    found.extend(self.find(hash, of)?.map(|entry| (place, entry)));
                    break;
                }
                let entry = self.entry(at)?;
                if of(entry)? == *hash {
                    found.push((place, entry));
                    break;
                }
                at += 1;
            }
        }
        Ok(found)
    }

    /// The places of those of ascending hashes whose first bytes an entry has.
    pub(super) fn with_known_prefix<'a>(&self, hashes: impl Iterator<Item = &'a [u8; 32]>) -> Result<Vec<usize>> {
        let mut found = Vec::new();
        let mut walk = Walk { table: &self.table, block: usize::MAX, values: [0; BLOCK], count: 0 };
        let mut low = 0;
        for (place, hash) in hashes.enumerate() {
            let first = short_prefix(hash);
            low = walk.seek(low, self.length, first)?;
            if low == self.length {
                break;
            }
            if walk.value(low)? == first {
                found.push(place);
            }
        }
        Ok(found)
    }
}

/// First place behind `low` where a property ends that the places from `low` on have, if any.
fn gallop(low: usize, end: usize, mut has: impl FnMut(usize) -> Result<bool>) -> Result<usize> {
    let mut step = 1;
    let mut from = low;
    while from < end && has(from)? {
        let next = from.saturating_add(step).min(end);
        if next == end || !has(next)? {
            return search(from + 1..next, has);
        }
        from = next;
        step *= 2;
    }
    Ok(from)
}

/// First place whose prefix is not below one: about there where evenly spread hashes have it.
fn interpolate(table: &Table<2>, length: usize, first: u64) -> Result<usize> {
    let guess = usize::try_from((u128::from(first) * length as u128) >> 32).unwrap_or(length).min(length);
    let below = |at: usize| Ok::<_, LedgerError>(table.value(at, 0)? < first);
    let (mut low, mut high) = (0, length);
    let mut step = BLOCK;
    if guess < length && below(guess)? {
        low = guess + 1;
        while low.saturating_add(step) < length {
            if !below(low + step)? {
                high = low + step;
                break;
            }
            low += step + 1;
            step *= 4;
        }
    } else {
        high = guess;
        while step <= high {
            if below(high - step)? {
                low = high - step + 1;
                break;
            }
            high -= step;
            step *= 4;
        }
    }
    search(low.min(high)..high, below)
}

/// A block of prefixes at a time.
struct Walk<'a> {
    table: &'a Table<2>,
    block: usize,
    values: [u64; BLOCK],
    count: usize,
}

impl Walk<'_> {
    fn load(&mut self, block: usize) -> Result<()> {
        if self.block != block {
            self.count = self.table.block(block, 0, &mut self.values)?;
            self.block = block;
        }
        Ok(())
    }

    fn value(&mut self, at: usize) -> Result<u64> {
        self.load(at / BLOCK)?;
        match self.values[..self.count].get(at % BLOCK) {
            Some(&value) => Ok(value),
            None => Err(self.table.outside(at)),
        }
    }

    /// First place from `low` on whose prefix is not below one.
    fn seek(&mut self, low: usize, length: usize, first: u64) -> Result<usize> {
        if low >= length {
            return Ok(length);
        }
        let mut block = low / BLOCK;
        self.load(block)?;
        // Mostly the block at hand has the place. Else, of the blocks whose first prefix is below, the last one has it,
        // or ends before it.
        if self.values[..self.count].last().is_none_or(|&last| last < first) {
            let (table, blocks) = (self.table, length.div_ceil(BLOCK));
            block = gallop(block + 1, blocks, |block| Ok(table.value(block * BLOCK, 0)? < first))? - 1;
            self.load(block)?;
        }
        let start = if block == low / BLOCK { (low % BLOCK).min(self.count) } else { 0 };
        let inside = self.values[start..self.count].partition_point(|&value| value < first);
        Ok((block * BLOCK + start + inside).min(length))
    }
}
