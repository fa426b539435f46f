//! Amounts: trailing decimal zeros are stripped, what is left takes the bits it has.
//!
//! ```text
//! block:   rows - 1 (7 bits); shortest length (8), width of lengths (4), exponents - 1 (2), each exponent (7)
//!          which exponent each amount has (0, 1 or 2 bits), the length of each mantissa above the shortest,
//!          then the mantissas: of length 0 nothing, of length 1 to 128 all bits but the highest, which is set,
//!          and of length 129 a whole number of 256 bits, for what 128 do not hold
//! amount:  mantissa * 10^exponent
//! ```
//!
//! A block has up to four exponents: those that save most. Round amounts of tokens with 18 decimals and odd ones of
//! tokens with 6 then lie side by side in few bits.

#![expect(clippy::cast_possible_truncation, reason = "fields of a block are masked to the bits that are kept")]

use std::cmp::Ordering;
use std::sync::Arc;

use headwater_types::Amount;

use super::super::container::{Column, Container, SegmentFile};
use super::super::section::PackedSections;
use super::super::spool::{Part, Spool};
use super::bits::{BitReader, BitWriter, bits_of, short_field, unpack_as, wide_field};
use super::ints::block_bytes;
use super::{BLOCK, SIDE_TABLE};
use crate::LedgerError;
use crate::error::Result;

/// The length that says: 256 bits follow.
const WIDE: u64 = 129;
const WIDE_BITS: usize = 256;
const EXPONENTS: usize = 4;

const POWERS: [u128; 39] = {
    let mut powers = [1_u128; 39];
    let mut at = 1;
    while at < 39 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// Returns how often ten divides a number; 0 for zero.
fn trailing_zeros(value: u128) -> usize {
    const NINE_DIGITS: u64 = 1_000_000_000;
    if value & 1 == 1 || value == 0 {
        return 0;
    }
    let (mut rest, mut zeros) = (value, 0);
    loop {
        let (high, low) = ((rest >> 64) as u64, rest as u64);
        // 2^64 modulo 10^9.
        let nine = if high == 0 {
            low % NINE_DIGITS
        } else {
            ((high % NINE_DIGITS) * (u64::MAX % NINE_DIGITS + 1) + low % NINE_DIGITS) % NINE_DIGITS
        };
        if nine != 0 {
            return zeros + trailing_zeros_of(nine);
        }
        zeros += 9;
        rest = divided(rest, 9);
    }
}

fn trailing_zeros_of(mut value: u64) -> usize {
    let mut zeros = 0;
    while value.is_multiple_of(10) {
        value /= 10;
        zeros += 1;
    }
    zeros
}

fn divided(value: u128, exponent: usize) -> u128 {
    match (u64::try_from(value), u64::try_from(POWERS[exponent])) {
        (Ok(value), Ok(power)) => u128::from(value / power),
        _ => value / POWERS[exponent],
    }
}

#[inline]
fn length(value: u128) -> u64 {
    u64::from(u128::BITS - value.leading_zeros())
}

/// The exponents worth having: 0 or the least there is, and up to three that save most digits.
fn choose(counts: &[u16; POWERS.len()]) -> ([usize; EXPONENTS], usize) {
    let mut chosen = [0; EXPONENTS];
    let least = counts.iter().position(|&count| count > 0).unwrap_or(0);
    chosen[0] = least;
    let mut length = 1;
    while length < EXPONENTS {
        // What a further exponent saves: for all amounts that it divides, the digits above the next smaller one.
        let mut best = (0, 0);
        for exponent in least + 1..counts.len() {
            if counts[exponent] == 0 {
                continue;
            }
            let below = chosen[..length].iter().copied().filter(|&known| known <= exponent).max().unwrap_or(least);
            let above = chosen[..length].iter().copied().filter(|&known| known > exponent).min();
            let gains = counts[exponent..above.unwrap_or(counts.len())].iter().map(|&count| usize::from(count));
            let saved = gains.sum::<usize>() * (exponent - below);
            best = best.max((saved, exponent));
        }
        // An exponent costs two bytes at worst, and a digit is more than three bits.
        if best.0 <= 5 {
            break;
        }
        chosen[length] = best.1;
        length += 1;
    }
    chosen[..length].sort_unstable();
    (chosen, length)
}

const fn choice_width(exponents: usize) -> u32 {
    match exponents {
        1 => 0,
        2 => 1,
        _ => 2,
    }
}

/// Appends a block of up to 128 amounts, without their number.
pub(in super::super) fn encode_amounts(amounts: &[Amount], bits: &mut BitWriter) {
    let mut small = [None; BLOCK];
    let mut counts = [0_u16; POWERS.len()];
    let mut zeros = [0_u8; BLOCK];
    for (at, amount) in amounts.iter().enumerate() {
        small[at] = amount.to_u128();
        if let Some(value) = small[at].filter(|&value| value != 0) {
            let exponent = trailing_zeros(value);
            zeros[at] = u8::try_from(exponent).expect("128 bits have at most 38 zeros");
            counts[exponent] += 1;
        }
    }
    let (chosen, length_of_chosen) = choose(&counts);
    let chosen = &chosen[..length_of_chosen];
    let mut choices = [0_u64; BLOCK];
    let mut lengths = [0_u64; BLOCK];
    for (at, value) in small[..amounts.len()].iter_mut().enumerate() {
        match value {
            None => lengths[at] = WIDE,
            Some(0) => {}
            Some(value) => {
                let behind = chosen.partition_point(|&exponent| exponent <= usize::from(zeros[at]));
                let choice = behind.saturating_sub(1);
                choices[at] = choice as u64;
                if chosen[choice] > 0 {
                    *value = divided(*value, chosen[choice]);
                }
                lengths[at] = length(*value);
            }
        }
    }
    let lengths = &lengths[..amounts.len()];
    let shortest = lengths.iter().copied().min().unwrap_or(0);
    let width = bits_of(lengths.iter().copied().max().unwrap_or(0) - shortest);
    bits.push(shortest, 8);
    bits.push(u64::from(width), 4);
    bits.push(chosen.len() as u64 - 1, 2);
    for &exponent in chosen {
        bits.push(exponent as u64, 7);
    }
    let choice_width = choice_width(chosen.len());
    for &choice in &choices[..amounts.len()] {
        bits.push(choice, choice_width);
    }
    for &length in lengths {
        bits.push(length - shortest, width);
    }
    for ((amount, value), &length) in amounts.iter().zip(&small).zip(lengths) {
        match value {
            None => {
                for eight in amount.to_be_bytes().chunks_exact(8) {
                    bits.push(u64::from_be_bytes(eight.try_into().unwrap_or_default()), 64);
                }
            }
            Some(value) if length > 1 => {
                let width = u32::try_from(length - 1).expect("at most 127");
                bits.push_wide(value & !(1 << width), width);
            }
            Some(_) => {}
        }
    }
}

/// A block as its header describes it.
struct Header {
    exponents: [usize; EXPONENTS],
    shortest: u64,
    choice_width: u32,
    length_width: u32,
    choices: usize,
    lengths: usize,
    mantissas: usize,
}

fn open_block(bytes: &[u8], start: usize, count: usize) -> Option<Header> {
    let mut reader = BitReader::new(bytes);
    reader.skip(start);
    let shortest = reader.take(8);
    let length_width = reader.take32(4);
    let chosen = reader.take(2) as usize + 1;
    let mut exponents = [0; EXPONENTS];
    for exponent in &mut exponents[..chosen] {
        *exponent = reader.take(7) as usize;
    }
    let choice_width = choice_width(chosen);
    let choices = reader.skip(count * choice_width as usize);
    let lengths = reader.skip(count * length_width as usize);
    let mantissas = reader.skip(0);
    let fits = reader.is_inside() && exponents.iter().all(|&exponent| exponent < POWERS.len());
    fits.then_some(Header { exponents, shortest, choice_width, length_width, choices, lengths, mantissas })
}

/// Returns the number of bits of the mantissa of a length.
#[inline]
fn stored_bits(length: u64) -> usize {
    match length {
        0 => 0,
        WIDE => WIDE_BITS,
        length => length as usize - 1,
    }
}

#[inline]
fn small(bytes: &[u8], bit: usize, length: u64, exponent: usize) -> Option<u128> {
    if length == 0 {
        return Some(0);
    }
    let width = (length - 1) as u32;
    let mantissa = wide_field(bytes, bit, width) | (1 << width);
    if exponent == 0 { Some(mantissa) } else { mantissa.checked_mul(POWERS[exponent]) }
}

fn wide(bytes: &[u8], bit: usize) -> Amount {
    let mut number = [0; 32];
    for (at, eight) in number.chunks_exact_mut(8).enumerate() {
        eight.copy_from_slice(&super::bits::field(bytes, bit + at * 64, 64).to_be_bytes());
    }
    Amount::from_be_bytes(number)
}

/// Decodes amounts of a block of `count` that begins at a bit: from a place on, as many as there is place for. What 128
/// bits do not hold reads [`SIDE_TABLE`] and is handed over with its place behind the first, as is an amount that is
/// just that. `None` for what is not such a block.
#[inline]
pub(in super::super) fn decode_amounts(
    bytes: &[u8],
    (start, count): (usize, usize),
    from: usize,
    into: &mut [u128],
    mut large: impl FnMut(usize, Amount),
) -> Option<()> {
    let header = open_block(bytes, start, count)?;
    let (mut choices, mut lengths) = ([0_u8; BLOCK], [0_u64; BLOCK]);
    let (choices, lengths) = (choices.get_mut(..into.len())?, lengths.get_mut(..from + into.len())?);
    let choices_at = header.choices + from * header.choice_width as usize;
    unpack_as(bytes, choices_at, header.choice_width, choices, |choice| choice as u8 & 3);
    unpack_as(bytes, header.lengths, header.length_width, lengths, |length| length + header.shortest);
    let (before, lengths) = lengths.split_at(from);
    let powers = header.exponents.map(|exponent| u64::try_from(POWERS[exponent]).ok());
    let mut bit = header.mantissas + before.iter().map(|&length| stored_bits(length)).sum::<usize>();
    for (at, value) in into.iter_mut().enumerate() {
        let length = lengths[at];
        let choice = choices[at] as usize;
        if let (1..=57, Some(power)) = (length, powers[choice]) {
            // Almost all: the product of two numbers of 64 bits.
            let width = (length - 1) as u32;
            *value = u128::from(short_field(bytes, bit, width) | (1 << width)) * u128::from(power);
            bit += width as usize;
            continue;
        }
        match length.cmp(&WIDE) {
            Ordering::Less => {
                *value = small(bytes, bit, length, header.exponents[choice])?;
                if *value == SIDE_TABLE {
                    large(at, Amount::from_u128(SIDE_TABLE));
                }
            }
            Ordering::Equal => {
                *value = SIDE_TABLE;
                large(at, wide(bytes, bit));
            }
            Ordering::Greater => return None,
        }
        bit += stored_bits(length);
    }
    (bit <= bytes.len() * 8).then_some(())
}

/// One amount of such a block.
pub(in super::super) fn amount_at(bytes: &[u8], block: (usize, usize), at: usize) -> Option<Amount> {
    let (mut value, mut whole) = ([0], None);
    decode_amounts(bytes, block, at, &mut value, |_, amount| whole = Some(amount))?;
    Some(whole.unwrap_or_else(|| Amount::from_u128(value[0])))
}

/// Writes a column of amounts.
pub(in super::super) struct AmountTableWriter {
    amounts: Vec<Amount>,
    bits: BitWriter,
    blocks: Part,
    starts: Part,
    any: bool,
}

impl AmountTableWriter {
    pub(in super::super) fn new(spool: &Arc<Spool>) -> Self {
        Self {
            amounts: Vec::with_capacity(BLOCK),
            bits: BitWriter::default(),
            blocks: Part::new(spool),
            starts: Part::new(spool),
            any: false,
        }
    }

    pub(in super::super) fn push(&mut self, amount: Amount) -> Result<()> {
        self.amounts.push(amount);
        self.any = true;
        if self.amounts.len() == BLOCK { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<()> {
        self.starts.write(&self.blocks.len().to_le_bytes())?;
        self.bits.clear();
        self.bits.push(self.amounts.len() as u64 - 1, 7);
        encode_amounts(&self.amounts, &mut self.bits);
        self.blocks.write(self.bits.bytes())?;
        self.amounts.clear();
        Ok(())
    }

    /// Writes the column into a file.
    pub(in super::super) fn put(mut self, out: &mut SegmentFile<'_>, sections: PackedSections) -> Result<()> {
        if !self.amounts.is_empty() {
            self.end_block()?;
        }
        if self.any {
            self.starts.write(&self.blocks.len().to_le_bytes())?;
        }
        out.part(sections.blocks, self.blocks)?;
        out.part(sections.starts, self.starts)
    }
}

/// A column of amounts in an open file.
pub(in super::super) struct AmountTable {
    bytes: Column<u8>,
    starts: Column<u64>,
}

impl AmountTable {
    pub(in super::super) fn open(file: &Arc<Container>, sections: PackedSections) -> Result<Self> {
        Ok(Self { bytes: file.column(sections.blocks)?, starts: file.column(sections.starts)? })
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.starts.len() == 0
    }

    fn block(&self, block: usize) -> Result<(&[u8], usize)> {
        let bytes = block_bytes(&self.bytes, &self.starts, block)?;
        let first = *bytes.first().ok_or_else(|| self.damaged(block))?;
        Ok((bytes, usize::from(first & 0x7f) + 1))
    }

    pub(in super::super) fn get(&self, at: usize) -> Result<Amount> {
        let (bytes, count) = self.block(at / BLOCK)?;
        if at % BLOCK >= count {
            return Err(self.damaged(at / BLOCK));
        }
        amount_at(bytes, (7, count), at % BLOCK).ok_or_else(|| self.damaged(at / BLOCK))
    }

    /// Appends all amounts of a block.
    pub(in super::super) fn read_block(&self, block: usize, into: &mut Vec<Amount>) -> Result<()> {
        let (bytes, count) = self.block(block)?;
        let (mut values, mut larger) = ([0; BLOCK], Vec::new());
        let values = &mut values[..count];
        decode_amounts(bytes, (7, count), 0, values, |at, amount| larger.push((at, amount)))
            .ok_or_else(|| self.damaged(block))?;
        let held = into.len();
        into.extend(values.iter().map(|&value| Amount::from_u128(value)));
        for (at, amount) in larger {
            into[held + at] = amount;
        }
        Ok(())
    }

    #[cold]
    fn damaged(&self, block: usize) -> LedgerError {
        self.starts.wrong(block, "names a block that is not a block of amounts")
    }
}
