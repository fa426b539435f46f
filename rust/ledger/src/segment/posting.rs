//! The block of packed postings: up to 128 postings of one account, in one piece.
//!
//! ```text
//! header:  rows - 1 (7 bits), first row, width of gaps (6), others and assets alike or not (1 + 1),
//!          least flags (8), width of flags (4), of ordinals (7), of blocks (6), of times (6)
//! then:    gaps between rows, others, assets, flags, ordinals, blocks, times, amounts
//! ```
//!
//! All is one stream of bits. Rows, accounts and assets take the bits that the largest of the segment needs. The block
//! number and time of a posting are stored by how far they are from where [`Knots`] put their row: nothing on a chain
//! of steady blocks, a few bits on any. So a light account is one contiguous read, and nothing but its block is looked
//! at to show it.

#![expect(clippy::cast_possible_truncation, reason = "fields of a block are masked to the bits that are kept")]

use std::ops::Range;

use headwater_types::Amount;

use super::knots::Knots;
use super::layout::NONE;
use super::pack::bits::{BitReader, BitWriter, bits_of, field, unpack_as, unzigzag, zigzag};
use super::pack::{BLOCK, SIDE_TABLE, decode_amounts, encode_amounts};
use crate::primitives::{Direction, MovementKind, Ordinal, PostingFlags, Status, posting_bits};

/// A posting as a segment files it: local ids, distances from the segment's first block and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawPosting {
    pub(crate) row: u32,
    pub(crate) block: u32,
    pub(crate) time: u32,
    pub(crate) other: Option<u32>,
    pub(crate) asset: u32,
    pub(crate) ordinal: u64,
    pub(crate) amount: Amount,
    pub(crate) flags: u8,
}

impl RawPosting {
    pub(crate) fn kind(&self) -> MovementKind {
        PostingFlags(self.flags).kind()
    }

    pub(crate) fn ordinal(&self) -> Ordinal {
        ordinal_of(self.flags, self.ordinal)
    }

    pub(crate) fn direction(&self) -> Direction {
        PostingFlags(self.flags).direction()
    }

    pub(crate) fn status(&self) -> Option<Status> {
        PostingFlags(self.flags).status()
    }

    pub(crate) fn is_approximate(&self) -> bool {
        PostingFlags(self.flags).is_approximate()
    }

    /// Returns whether its amount counts in balances.
    pub(crate) fn counts(&self) -> bool {
        PostingFlags(self.flags).counts()
    }

    pub(crate) fn creates_contract(&self) -> bool {
        PostingFlags(self.flags).creates_contract()
    }
}

/// The place of a posting inside its block: its transaction, and its place in there.
pub(crate) type PlaceInRow = (u32, MovementKind, Ordinal);

pub(super) fn ordinal_of(flags: u8, number: u64) -> Ordinal {
    // Native movements have one place, and the bit another meaning.
    let is_unindexed = flags & posting_bits::UNINDEXED != 0 && flags & posting_bits::KIND != 0;
    if is_unindexed { Ordinal::Unindexed(number) } else { Ordinal::Indexed(number) }
}

/// The widths that all posting blocks of a segment share.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    row_bits: u32,
    other_bits: u32,
    asset_bits: u32,
    knots: Knots,
}

impl Shape {
    /// For so many transactions, accounts and assets.
    pub(crate) fn new(transactions: u64, accounts: u64, assets: u64, knots: Knots) -> Self {
        let bits = |most: u64| bits_of(most).min(u32::BITS);
        Self {
            row_bits: bits(transactions.saturating_sub(1)),
            // One more than the account, for zero is none.
            other_bits: bits(accounts),
            asset_bits: bits(assets.saturating_sub(1)),
            knots,
        }
    }
}

/// Flags with the direction lowest, so that postings which differ in nothing else differ in few bits.
const fn turned(flags: u8) -> u8 {
    ((flags & posting_bits::DIRECTION) >> 2) | ((flags & posting_bits::KIND) << 2) | (flags & 0xf0)
}

const fn turned_back(flags: u8) -> u8 {
    ((flags & 3) << 2) | ((flags >> 2) & 3) | (flags & 0xf0)
}

/// Appends a block of 1 to 128 postings in order.
pub(super) fn encode(postings: &[RawPosting], shape: &Shape, bits: &mut BitWriter, amounts: &mut Vec<Amount>) {
    let first = &postings[0];
    let mut blocks = [0; BLOCK];
    let mut times = [0; BLOCK];
    let (mut gaps, mut ordinals, mut far_blocks, mut far_times) = (0, 0, 0, 0);
    let (mut least, mut most) = (u8::MAX, 0);
    let (mut same_other, mut same_asset) = (true, true);
    let mut before = first.row;
    amounts.clear();
    for (at, posting) in postings.iter().enumerate() {
        gaps |= u64::from(posting.row - before);
        before = posting.row;
        ordinals |= posting.ordinal;
        let (block, time) = shape.knots.far(posting.row, posting.block, posting.time);
        (blocks[at], times[at]) = (zigzag(block), zigzag(time));
        far_blocks |= blocks[at];
        far_times |= times[at];
        least = least.min(turned(posting.flags));
        most = most.max(turned(posting.flags));
        same_other &= posting.other == first.other;
        same_asset &= posting.asset == first.asset;
        amounts.push(posting.amount);
    }
    let widths = [gaps, ordinals, far_blocks, far_times].map(bits_of);
    let flag_width = bits_of(u64::from(most - least));
    bits.push(postings.len() as u64 - 1, 7);
    bits.push(u64::from(first.row), shape.row_bits);
    bits.push(u64::from(widths[0]), 6);
    bits.push(u64::from(!same_other), 1);
    bits.push(u64::from(!same_asset), 1);
    bits.push(u64::from(least), 8);
    bits.push(u64::from(flag_width), 4);
    bits.push(u64::from(widths[1]), 7);
    bits.push(u64::from(widths[2]), 6);
    bits.push(u64::from(widths[3]), 6);
    for pair in postings.windows(2) {
        bits.push(u64::from(pair[1].row - pair[0].row), widths[0]);
    }
    for posting in if same_other { &postings[..1] } else { postings } {
        bits.push(posting.other.map_or(0, |other| u64::from(other) + 1), shape.other_bits);
    }
    for posting in if same_asset { &postings[..1] } else { postings } {
        bits.push(u64::from(posting.asset), shape.asset_bits);
    }
    for posting in postings {
        bits.push(u64::from(turned(posting.flags) - least), flag_width);
    }
    for posting in postings {
        bits.push(posting.ordinal, widths[1]);
    }
    for &block in &blocks[..postings.len()] {
        bits.push(block, widths[2]);
    }
    for &time in &times[..postings.len()] {
        bits.push(time, widths[3]);
    }
    encode_amounts(amounts, bits);
}

/// One column of a block: where it begins, and the bits of each value; none when all have the first one.
#[derive(Debug, Clone, Copy)]
struct ColumnHeader {
    bit: usize,
    width: u32,
    alike: bool,
}

impl ColumnHeader {
    #[inline]
    fn get(self, bytes: &[u8], at: usize) -> u64 {
        field(bytes, self.bit + if self.alike { 0 } else { at * self.width as usize }, self.width)
    }

    /// The values from a place on, as many as there is place for.
    #[inline]
    fn read<T: Copy>(self, bytes: &[u8], from: usize, into: &mut [T], make: impl Fn(u64) -> T) {
        if self.alike {
            into.fill(make(field(bytes, self.bit, self.width)));
        } else {
            unpack_as(bytes, self.bit + from * self.width as usize, self.width, into, make);
        }
    }
}

/// A block as its header describes it.
pub(super) struct PostingBlock<'a> {
    bytes: &'a [u8],
    shape: &'a Shape,
    count: usize,
    first: u32,
    least: u8,
    gaps: ColumnHeader,
    others: ColumnHeader,
    assets: ColumnHeader,
    flags: ColumnHeader,
    ordinals: ColumnHeader,
    blocks: ColumnHeader,
    times: ColumnHeader,
    amounts: usize,
}

/// Rows of a block, without more of its header.
#[inline]
pub(super) fn count_of(bytes: &[u8]) -> usize {
    field(bytes, 0, 7) as usize + 1
}

/// First row of a block, without more of its header.
#[inline]
pub(super) fn first_row(bytes: &[u8], shape: &Shape) -> u32 {
    u32::try_from(field(bytes, 7, shape.row_bits)).unwrap_or(u32::MAX)
}

impl<'a> PostingBlock<'a> {
    /// `None` for what is not such a block.
    #[inline]
    pub(super) fn open(bytes: &'a [u8], shape: &'a Shape) -> Option<Self> {
        let mut reader = BitReader::new(bytes);
        let count = reader.take(7) as usize + 1;
        let first = reader.take32(shape.row_bits);
        let gap_width = reader.take32(6);
        let (other_alike, asset_alike) = (reader.take(1) == 0, reader.take(1) == 0);
        let least = reader.take(8) as u8;
        let flag_width = reader.take32(4);
        let [ordinal_width, block_width, time_width] = [reader.take32(7), reader.take32(6), reader.take32(6)];
        let mut header = |width: u32, count: usize, alike: bool| ColumnHeader {
            bit: reader.skip(width as usize * if alike { 1 } else { count }),
            width,
            alike,
        };
        let gaps = header(gap_width, count - 1, false);
        let others = header(shape.other_bits, count, other_alike);
        let assets = header(shape.asset_bits, count, asset_alike);
        let flags = header(flag_width, count, false);
        let ordinals = header(ordinal_width, count, false);
        let blocks = header(block_width, count, false);
        let times = header(time_width, count, false);
        let amounts = reader.skip(0);
        let fits = reader.is_inside() && gap_width <= 32 && flag_width <= 8 && ordinal_width <= 64;
        fits.then_some(Self {
            bytes,
            shape,
            count,
            first,
            least,
            gaps,
            others,
            assets,
            flags,
            ordinals,
            blocks,
            times,
            amounts,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Row of a posting; adds up the gaps before it.
    #[inline]
    pub(super) fn row(&self, at: usize) -> u32 {
        let mut gaps = [0; BLOCK];
        let gaps = &mut gaps[..at.min(self.count - 1)];
        self.gaps.read(self.bytes, 0, gaps, |gap| gap as u32);
        gaps.iter().fold(self.first, |row, &gap| row.wrapping_add(gap))
    }

    /// Rows from a place on, as many as there is place for; as the columns below.
    #[inline]
    pub(super) fn rows(&self, from: usize, into: &mut [u32]) {
        let Some((first, others)) = into.split_first_mut() else { return };
        let mut row = self.row(from);
        *first = row;
        self.gaps.read(self.bytes, from, others, |gap| gap as u32);
        for value in others {
            row = row.wrapping_add(*value);
            *value = row;
        }
    }

    #[inline]
    pub(super) fn flags_at(&self, at: usize) -> u8 {
        turned_back(self.least.wrapping_add(self.flags.get(self.bytes, at) as u8))
    }

    #[inline]
    pub(super) fn ordinal(&self, at: usize) -> u64 {
        self.ordinals.get(self.bytes, at)
    }

    /// Block and time of a posting whose row is known.
    #[inline]
    pub(super) fn place(&self, at: usize, row: u32) -> (u32, u32) {
        let block = unzigzag(self.blocks.get(self.bytes, at));
        let time = unzigzag(self.times.get(self.bytes, at));
        self.shape.knots.near(row, block, time)
    }

    /// Counterparties; the largest number for nobody.
    #[inline]
    pub(super) fn others(&self, from: usize, into: &mut [u32]) {
        self.others.read(self.bytes, from, into, |stored| (stored as u32).wrapping_sub(1));
    }

    #[inline]
    pub(super) fn assets(&self, from: usize, into: &mut [u32]) {
        self.assets.read(self.bytes, from, into, |asset| asset as u32);
    }

    #[inline]
    pub(super) fn flags(&self, from: usize, into: &mut [PostingFlags]) {
        let of = |flags: u8| PostingFlags(turned_back(self.least.wrapping_add(flags)));
        self.flags.read(self.bytes, from, into, |flags| of(flags as u8));
    }

    /// Blocks and times of postings whose rows are known.
    pub(super) fn places(&self, from: usize, rows: &[u32], blocks: &mut [u32], times: &mut [u32]) {
        let (mut far_blocks, mut far_times) = ([0; BLOCK], [0; BLOCK]);
        let (far_blocks, far_times) = (&mut far_blocks[..rows.len()], &mut far_times[..rows.len()]);
        self.blocks.read(self.bytes, from, far_blocks, unzigzag);
        self.times.read(self.bytes, from, far_times, unzigzag);
        for (at, &row) in rows.iter().enumerate() {
            (blocks[at], times[at]) = self.shape.knots.near(row, far_blocks[at], far_times[at]);
        }
    }

    /// Amounts, as [`decode_amounts`] gives them.
    #[inline]
    pub(super) fn amounts(&self, from: usize, into: &mut [u128], large: impl FnMut(usize, Amount)) -> Option<()> {
        decode_amounts(self.bytes, (self.amounts, self.count), from, into, large)
    }

    /// Appends the postings of a range of places.
    pub(super) fn read(&self, range: Range<usize>, into: &mut Vec<RawPosting>) -> Option<()> {
        let (from, count) = (range.start, range.end.min(self.count).saturating_sub(range.start));
        let mut columns = [[0; BLOCK]; 5];
        let [rows, others, assets, blocks, times] = columns.each_mut().map(|column| &mut column[..count]);
        let (mut flags, mut ordinals, mut amounts) = ([PostingFlags(0); BLOCK], [0; BLOCK], [0; BLOCK]);
        self.rows(from, rows);
        self.others(from, others);
        self.assets(from, assets);
        self.flags(from, &mut flags[..count]);
        self.ordinals.read(self.bytes, from, &mut ordinals[..count], |ordinal| ordinal);
        self.places(from, rows, blocks, times);
        let mut larger = Vec::new();
        self.amounts(from, &mut amounts[..count], |at, amount| larger.push((at, amount)))?;
        let held = into.len();
        into.extend((0..count).map(|at| RawPosting {
            row: rows[at],
            block: blocks[at],
            time: times[at],
            other: (others[at] != NONE).then_some(others[at]),
            asset: assets[at],
            ordinal: ordinals[at],
            amount: Amount::from_u128(amounts[at]),
            flags: flags[at].0,
        }));
        for (at, amount) in larger {
            into[held + at].amount = amount;
        }
        Some(())
    }
}

const _: () = assert!(SIDE_TABLE == u128::MAX, "amounts that are not small read as the largest small one");
