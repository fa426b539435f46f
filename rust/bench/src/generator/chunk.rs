//! The rows themselves, as columns.

use std::f64::consts::TAU;
use std::ops::Range;

use headwater_types::Amount;

use super::draw::{Draws, Zipf, favourite, permutation, unit};
use super::names::token_decimals;
use super::preset::{CHUNK_ROWS, Preset, TOKENS};

/// Draws that every row takes: sender, whether a favourite, receiver, token, log index, two of the amount, rounding.
const DRAWS_PER_ROW: u64 = 8;

/// 2023-01-01 00:00:00 UTC.
const FIRST_SECOND: i64 = 1_672_531_200;
const BLOCK_SECONDS: u64 = 12;

/// One row in ten thousand has an amount above 2^128.
const LARGE_ONE_IN: u64 = 10_000;

/// Makes the rows of a preset.
#[derive(Debug, Clone)]
pub struct Generator {
    preset: Preset,
    /// Account by rank.
    ids: Vec<u32>,
    accounts: Zipf,
    favourites: Zipf,
    tokens: Zipf,
}

/// Up to a million rows as columns, in order of time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunk {
    /// Number of the first row, counted over all chunks.
    pub first_row: u64,
    /// Sender, below the number of accounts.
    pub from: Vec<u32>,
    /// Receiver.
    pub to: Vec<u32>,
    /// Token, below [`TOKENS`].
    pub token: Vec<u8>,
    /// Seconds since 1970.
    pub time: Vec<u32>,
    /// Block, counted from 0: twelve seconds each.
    pub block: Vec<u32>,
    /// Position in the block.
    pub index: Vec<u16>,
    /// Log index: grows within a block.
    pub log: Vec<u16>,
    /// The amount modulo 2^128.
    pub amount: Vec<u128>,
    /// The high parts of amounts of 2^128 and more: place in the chunk, multiple of 2^128. In order.
    pub high: Vec<(u32, u32)>,
}

impl Chunk {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.from.len()
    }

    /// Returns whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    /// The multiple of 2^128 in the amount at a place.
    #[must_use]
    pub fn high_at(&self, place: usize) -> u32 {
        let found = self.high.binary_search_by_key(&place, |&(place, _)| place as usize);
        found.map_or(0, |found| self.high[found].1)
    }

    /// The whole amount at a place.
    #[must_use]
    pub fn amount_at(&self, place: usize) -> Amount {
        let mut bytes = [0; 32];
        bytes[12..16].copy_from_slice(&self.high_at(place).to_be_bytes());
        bytes[16..].copy_from_slice(&self.amount[place].to_be_bytes());
        Amount::from_be_bytes(bytes)
    }
}

impl Generator {
    /// Prepares the permutation of the accounts: four bytes for each.
    #[must_use]
    pub fn new(preset: Preset) -> Self {
        Self {
            preset,
            ids: permutation(preset.accounts()),
            accounts: Zipf::new(preset.accounts(), 2.0),
            favourites: Zipf::new(2000, 4.0),
            tokens: Zipf::new(TOKENS, 1.0),
        }
    }

    /// The size.
    #[must_use]
    pub const fn preset(&self) -> Preset {
        self.preset
    }

    /// One chunk, the same whatever was made before it.
    #[must_use]
    pub fn chunk(&self, number: u64) -> Chunk {
        let first = number * CHUNK_ROWS;
        self.rows(first..(first + CHUNK_ROWS).min(self.preset.transfers()))
    }

    /// Any rows. They must lie in one chunk.
    #[must_use]
    pub fn rows(&self, rows: Range<u64>) -> Chunk {
        let mut chunk = Chunk { first_row: rows.start, ..Chunk::default() };
        if rows.is_empty() {
            return chunk;
        }
        let number = rows.start / CHUNK_ROWS;
        debug_assert_eq!(number, (rows.end - 1) / CHUNK_ROWS, "rows of one chunk");
        let mut draws = Draws::after(1000 + number * 77_777, (rows.start % CHUNK_ROWS) * DRAWS_PER_ROW);
        for row in rows {
            self.push(&mut chunk, row, &mut draws);
        }
        chunk
    }

    #[expect(clippy::cast_possible_truncation, reason = "every number is below the type's bound by its definition")]
    fn push(&self, chunk: &mut Chunk, row: u64, draws: &mut Draws) {
        let from = self.accounts.rank(draws.unit());
        let is_favourite = draws.unit() < 0.5;
        let drawn = draws.unit();
        let to = if is_favourite {
            self.accounts.rank(unit(favourite(from, self.favourites.rank(drawn))))
        } else {
            self.accounts.rank(drawn)
        };
        let token = self.tokens.rank(draws.unit());
        let block = block_of(row);
        let index = row - first_row_of(block);
        let log = index * 300 + draws.next() % 300;
        let amount = amount(token, draws);
        let high = high_part(row);

        if high > 0 {
            chunk.high.push((chunk.from.len() as u32, high));
        }
        chunk.from.push(self.ids[from as usize]);
        chunk.to.push(self.ids[to as usize]);
        chunk.token.push(token as u8);
        chunk.time.push((FIRST_SECOND as u64 + block * BLOCK_SECONDS) as u32);
        chunk.block.push(block as u32);
        chunk.index.push(index as u16);
        chunk.log.push(log as u16);
        chunk.amount.push(amount);
    }
}

/// The block of a row: one row every 3.15 seconds.
const fn block_of(row: u64) -> u64 {
    (row * 315 / 100) / BLOCK_SECONDS
}

/// The first row of a block.
const fn first_row_of(block: u64) -> u64 {
    (block * BLOCK_SECONDS * 100).div_ceil(315)
}

/// Log-normal, of median 148 units; 30 % of them whole units.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "positive and below 2^128 by far; the powers of ten used are exact in a double"
)]
fn amount(token: u32, draws: &mut Draws) -> u128 {
    // 1 - u is never 0, of which there is no logarithm.
    let radius = (-2.0 * (1.0 - draws.unit()).ln()).sqrt();
    let deviation = radius * (TAU * draws.unit()).cos();
    let units = (5.0 + 2.5 * deviation).exp();
    let scale = 10_u128.pow(u32::from(token_decimals(token)));
    if draws.unit() < 0.3 { units.ceil() as u128 * scale } else { (units * scale as f64) as u128 }
}

/// The multiple of 2^128 that a row's amount has on top; mostly none. Not a draw, so that it moves no other column.
const fn high_part(row: u64) -> u32 {
    let word = super::draw::mix(row ^ 0x6869_6768);
    if word.is_multiple_of(LARGE_ONE_IN) { 1 + (word >> 44) as u32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_can_be_made_alone() {
        let generator = Generator::new(Preset::of(2_000_000));
        let whole = generator.chunk(1);
        let part = generator.rows(1_500_000..1_500_100);
        assert_eq!(part.from, whole.from[500_000..500_100]);
        assert_eq!(part.amount, whole.amount[500_000..500_100]);
        assert_eq!(part.log, whole.log[500_000..500_100]);
    }

    #[test]
    fn log_indexes_grow_within_a_block() {
        let chunk = Generator::new(Preset::of(10_000)).chunk(0);
        for place in 1..chunk.len() {
            let before = (chunk.block[place - 1], chunk.index[place - 1], chunk.log[place - 1]);
            assert!(before < (chunk.block[place], chunk.index[place], chunk.log[place]));
        }
        assert_eq!((chunk.index[0], chunk.index[4], chunk.block[4]), (0, 0, 1), "rows 0 to 3 lie in 12 seconds");
    }

    #[test]
    fn one_amount_in_ten_thousand_needs_more_than_128_bits() {
        let chunk = Generator::new(Preset::S).chunk(0);
        assert!((70..130).contains(&chunk.high.len()), "{}", chunk.high.len());
        let (place, high) = chunk.high[0];
        let amount = chunk.amount_at(place as usize);
        assert_eq!(amount.to_u128(), None);
        assert_eq!(amount.to_be_bytes()[12..16], high.to_be_bytes());
    }
}
