//! Tables of whole numbers: `K` columns in blocks of 128 rows, so that a row lies in one piece.
//!
//! ```text
//! block:   rows - 1 (a byte), then for each column: width, with the highest bit set when there is a slope (a byte);
//!          base (signed), slope if any (variable length, seven bits a byte)
//!          then for each column its residuals, `width` bits each
//! value:   base + row in block * slope + residual, modulo 2^64
//! ```
//!
//! A slope is taken where it saves bits: ascending ids, offsets, heights and times are all but free.

use std::sync::Arc;

use super::super::container::{Column, Container, SegmentFile, search};
use super::super::section::PackedSections;
use super::super::spool::{Part, Spool};
use super::BLOCK;
use super::bits::{BitWriter, bits_of, field, unpack, unzigzag, zigzag};
use crate::LedgerError;
use crate::error::Result;

const SLOPED: u8 = 0x80;

/// Writes a table row by row.
pub(crate) struct TableWriter<const K: usize> {
    rows: Vec<[u64; K]>,
    bits: BitWriter,
    header: Vec<u8>,
    blocks: Part,
    starts: Part,
    count: u64,
}

/// One column.
pub(in super::super) type IntWriter = TableWriter<1>;

struct Line {
    base: u64,
    slope: u64,
    width: u32,
}

impl<const K: usize> TableWriter<K> {
    pub(crate) fn new(spool: &Arc<Spool>) -> Self {
        Self {
            rows: Vec::with_capacity(BLOCK),
            bits: BitWriter::default(),
            header: Vec::new(),
            blocks: Part::new(spool),
            starts: Part::new(spool),
            count: 0,
        }
    }

    pub(crate) fn push(&mut self, row: [u64; K]) -> Result<()> {
        self.rows.push(row);
        self.count += 1;
        if self.rows.len() == BLOCK { self.end_block() } else { Ok(()) }
    }

    /// Rows so far.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    fn end_block(&mut self) -> Result<()> {
        let count = self.rows.len();
        self.starts.write(&self.blocks.len().to_le_bytes())?;
        self.header.clear();
        self.bits.clear();
        self.header.push(u8::try_from(count - 1).expect("a block has at most 128 rows"));
        for column in 0..K {
            let line = fit(&self.rows, column);
            let sloped = if line.slope == 0 { 0 } else { SLOPED };
            self.header.push(u8::try_from(line.width).expect("at most 64 bits") | sloped);
            put_varint(&mut self.header, zigzag(line.base.cast_signed()));
            if line.slope != 0 {
                put_varint(&mut self.header, line.slope);
            }
            let mut on_line = line.base;
            for row in &self.rows {
                self.bits.push(row[column].wrapping_sub(on_line), line.width);
                on_line = on_line.wrapping_add(line.slope);
            }
        }
        self.blocks.write(&self.header)?;
        self.blocks.write(self.bits.bytes())?;
        self.rows.clear();
        Ok(())
    }

    /// Writes the table into a file.
    pub(crate) fn put(mut self, out: &mut SegmentFile<'_>, sections: PackedSections) -> Result<()> {
        if !self.rows.is_empty() {
            self.end_block()?;
        }
        if self.count > 0 {
            self.starts.write(&self.blocks.len().to_le_bytes())?;
        }
        out.part(sections.blocks, self.blocks)?;
        out.part(sections.starts, self.starts)
    }
}

/// The line that leaves the narrowest residuals, of two: level, and from the first value to the last.
fn fit<const K: usize>(rows: &[[u64; K]], column: usize) -> Line {
    let value = |row: &[u64; K]| row[column];
    let least = rows.iter().map(value).min().unwrap_or(0);
    let most = rows.iter().map(value).max().unwrap_or(0);
    let level = Line { base: least, slope: 0, width: bits_of(most - least) };
    let (Some(first), Some(last)) = (rows.first().map(value), rows.last().map(value)) else { return level };
    if level.width == 0 || last <= first || most > i64::MAX.cast_unsigned() {
        return level;
    }
    // Rounded to the nearest, for a line that is too flat drifts away from a steady one.
    let steps = rows.len() as u64 - 1;
    let slope = (last - first + steps / 2) / steps;
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    let mut on_line = 0_u64;
    for row in rows {
        let residual = row[column].wrapping_sub(on_line).cast_signed();
        low = low.min(residual);
        high = high.max(residual);
        on_line = on_line.wrapping_add(slope);
    }
    let width = bits_of(high.wrapping_sub(low).cast_unsigned());
    let saved = u64::from(level.width.saturating_sub(width)) * rows.len() as u64;
    if saved <= 16 { level } else { Line { base: low.cast_unsigned(), slope, width } }
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let seven = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(seven);
            return;
        }
        out.push(seven | 0x80);
    }
}

fn take_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// One column of a block, as its header describes it.
#[derive(Clone, Copy, Default)]
struct ColumnHeader {
    base: u64,
    slope: u64,
    width: u32,
    bit: usize,
}

/// The rows and columns of a block; `None` when they do not fit it.
fn open_block<const K: usize>(block: &[u8]) -> Option<(usize, [ColumnHeader; K])> {
    let count = usize::from(*block.first()?) + 1;
    let mut at = 1;
    let mut headers = [ColumnHeader::default(); K];
    for column in &mut headers {
        let width = *block.get(at)?;
        at += 1;
        column.width = u32::from(width & !SLOPED);
        column.base = unzigzag(take_varint(block, &mut at)?).cast_unsigned();
        if width & SLOPED != 0 {
            column.slope = take_varint(block, &mut at)?;
        }
    }
    let mut bit = at * 8;
    for column in &mut headers {
        column.bit = bit;
        bit += count * column.width as usize;
    }
    let fits = count <= BLOCK && headers.iter().all(|column| column.width <= 64) && bit <= block.len() * 8;
    fits.then_some((count, headers))
}

impl ColumnHeader {
    #[inline]
    fn value(&self, block: &[u8], at: usize) -> u64 {
        let residual = field(block, self.bit + at * self.width as usize, self.width);
        self.base.wrapping_add(self.slope.wrapping_mul(at as u64)).wrapping_add(residual)
    }

    fn values(&self, block: &[u8], into: &mut [u64]) {
        unpack(block, self.bit, self.width, into);
        let mut on_line = self.base;
        for value in into {
            *value = value.wrapping_add(on_line);
            on_line = on_line.wrapping_add(self.slope);
        }
    }
}

/// A table in an open file.
pub(crate) struct Table<const K: usize> {
    bytes: Column<u8>,
    starts: Column<u64>,
}

/// One column in an open file.
pub(in super::super) type Ints = Table<1>;

impl<const K: usize> Table<K> {
    pub(crate) fn open(file: &Arc<Container>, sections: PackedSections) -> Result<Self> {
        Ok(Self { bytes: file.column(sections.blocks)?, starts: file.column(sections.starts)? })
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.starts.len() == 0
    }

    pub(in super::super) fn blocks(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Rows in all; reads the last block.
    pub(in super::super) fn len(&self) -> Result<usize> {
        let Some(last) = self.blocks().checked_sub(1) else { return Ok(0) };
        let (count, _) = self.headers(last)?.0;
        Ok(last * BLOCK + count)
    }

    #[expect(clippy::type_complexity, reason = "a header and its bytes, for the next function only")]
    #[inline]
    fn headers(&self, block: usize) -> Result<((usize, [ColumnHeader; K]), &[u8])> {
        let bytes = block_bytes(&self.bytes, &self.starts, block)?;
        let headers = open_block(bytes).ok_or_else(|| self.damaged(block))?;
        Ok((headers, bytes))
    }

    pub(crate) fn row(&self, at: usize) -> Result<[u64; K]> {
        let ((count, headers), bytes) = self.headers(at / BLOCK)?;
        if at % BLOCK >= count {
            return Err(self.outside(at));
        }
        Ok(headers.map(|column| column.value(bytes, at % BLOCK)))
    }

    /// One value of a row.
    #[inline]
    pub(crate) fn value(&self, at: usize, column: usize) -> Result<u64> {
        let ((count, headers), bytes) = self.headers(at / BLOCK)?;
        match headers.get(column) {
            Some(column) if at % BLOCK < count => Ok(column.value(bytes, at % BLOCK)),
            _ => Err(self.outside(at)),
        }
    }

    /// One column of a block; the number of its rows.
    #[inline]
    pub(in super::super) fn block(&self, block: usize, column: usize, into: &mut [u64; BLOCK]) -> Result<usize> {
        let ((count, headers), bytes) = self.headers(block)?;
        let column = headers.get(column).ok_or_else(|| self.damaged(block))?;
        column.values(bytes, &mut into[..count]);
        Ok(count)
    }

    #[cold]
    pub(in super::super) fn damaged(&self, block: usize) -> LedgerError {
        self.starts.wrong(block, "names a block that is not a packed block")
    }

    #[cold]
    pub(in super::super) fn outside(&self, at: usize) -> LedgerError {
        self.starts.wrong(at / BLOCK, "names a block that is shorter than the rows asked for")
    }

    /// Says that a value is none that can be there.
    #[cold]
    pub(crate) fn wrong(&self, at: usize, what: &str) -> LedgerError {
        self.bytes.wrong(usize::try_from(self.starts.get(at / BLOCK).unwrap_or(0)).unwrap_or(0), what)
    }
}

impl Ints {
    #[inline]
    pub(in super::super) fn get(&self, at: usize) -> Result<u64> {
        self.value(at, 0)
    }

    /// A value of 32 bits.
    pub(in super::super) fn id(&self, at: usize) -> Result<u32> {
        self.narrow(at, self.get(at)?)
    }

    /// An id that was stored and one more, 0 for none.
    pub(in super::super) fn optional_id(&self, at: usize) -> Result<Option<u32>> {
        self.get(at)?.checked_sub(1).map(|id| self.narrow(at, id)).transpose()
    }

    fn narrow(&self, at: usize, value: u64) -> Result<u32> {
        u32::try_from(value).map_err(|_| self.wrong(at, "is too large"))
    }

    /// All values, in order.
    pub(in super::super) fn all(&self) -> Result<Vec<u64>> {
        let mut all = Vec::with_capacity(self.blocks() * BLOCK);
        self.read(0..self.len()?, &mut all)?;
        Ok(all)
    }

    /// A value and the next one.
    #[inline]
    pub(in super::super) fn pair(&self, at: usize) -> Result<(u64, u64)> {
        let ((count, headers), bytes) = self.headers(at / BLOCK)?;
        let place = at % BLOCK;
        if place >= count {
            return Err(self.outside(at));
        }
        let next = if place + 1 < count { headers[0].value(bytes, place + 1) } else { self.get(at.saturating_add(1))? };
        Ok((headers[0].value(bytes, place), next))
    }

    /// Appends the values of a range.
    pub(in super::super) fn read(&self, range: std::ops::Range<usize>, into: &mut Vec<u64>) -> Result<()> {
        let mut at = range.start;
        let mut values = [0; BLOCK];
        while at < range.end {
            let count = self.block(at / BLOCK, 0, &mut values)?;
            let last = count.min(range.end - at / BLOCK * BLOCK);
            if at % BLOCK >= last {
                return Err(self.outside(at));
            }
            into.extend_from_slice(&values[at % BLOCK..last]);
            at += last - at % BLOCK;
        }
        Ok(())
    }

    /// First place of an ascending range whose value is not below a bound.
    pub(in super::super) fn lower_bound(&self, range: std::ops::Range<usize>, bound: u64) -> Result<usize> {
        search(range, |at| Ok(self.get(at)? < bound))
    }
}

/// The bytes of one block.
#[inline]
pub(super) fn block_bytes<'a>(bytes: &'a Column<u8>, starts: &Column<u64>, block: usize) -> Result<&'a [u8]> {
    let pair = starts.slice(block..block.saturating_add(2))?;
    let place = |at: u64| usize::try_from(at).map_err(|_| starts.wrong(block, "lies outside"));
    bytes.slice(place(pair[0])?..place(pair[1])?)
}
