//! Columns: typed views of sections, whose every access is checked and fallible.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use headwater_types::Amount;

use super::container::Container;
use super::layout::{AmountSections, BlobSections, OptionalSections, Presence};
use crate::LedgerError;
use crate::read::Result;

/// No id, no blob: the largest number of its width, which no row reaches.
pub(super) const NONE: u32 = u32::MAX;

/// A value that a column of amounts does not hold in place.
pub(super) const SIDE_TABLE: u128 = u128::MAX;

/// The elements of one section.
pub(super) struct Column<T> {
    file: Arc<Container>,
    bytes: Range<usize>,
    length: usize,
    name: &'static str,
    of: PhantomData<fn() -> T>,
}

impl<T: Pod> Column<T> {
    pub(super) fn new(file: Arc<Container>, bytes: Range<usize>, name: &'static str) -> Self {
        let length = bytes.len() / size_of::<T>();
        Self { file, bytes, length, name, of: PhantomData }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn get(&self, at: usize) -> Result<T> {
        if at >= self.length {
            return Err(self.outside(at));
        }
        let start = self.bytes.start + at * size_of::<T>();
        Ok(*bytemuck::from_bytes(self.file.range(start..start + size_of::<T>())?))
    }

    pub(super) fn slice(&self, range: Range<usize>) -> Result<&[T]> {
        if range.start > range.end || range.end > self.length {
            return Err(self.outside(range.start.max(range.end)));
        }
        if range.is_empty() {
            return Ok(&[]);
        }
        let start = self.bytes.start + range.start * size_of::<T>();
        Ok(bytemuck::cast_slice(self.file.range(start..start + range.len() * size_of::<T>())?))
    }

    pub(super) fn all(&self) -> Result<&[T]> {
        self.file.will_need(self.bytes.clone());
        self.slice(0..self.length)
    }

    /// First place of a range where `before` no longer holds; the range is ordered so.
    pub(super) fn partition(&self, range: Range<usize>, mut before: impl FnMut(T) -> bool) -> Result<usize> {
        search(range, |at| Ok(before(self.get(at)?)))
    }

    #[cold]
    pub(super) fn outside(&self, at: usize) -> LedgerError {
        let what = format!("element {at} of {} is asked for, which has {}", self.name, self.length);
        self.file.corrupt(self.bytes.start, what)
    }

    #[cold]
    pub(super) fn wrong(&self, at: usize, what: &str) -> LedgerError {
        let offset = self.bytes.start + at.min(self.length) * size_of::<T>();
        self.file.corrupt(offset, format!("element {at} of {} {what}", self.name))
    }
}

/// First place of an ordered range where `before` no longer holds.
pub(crate) fn search(range: Range<usize>, mut before: impl FnMut(usize) -> Result<bool>) -> Result<usize> {
    let (mut low, mut high) = (range.start, range.end.max(range.start));
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Where the elements of each row begin; one more entry than rows, or empty when no row has any.
pub(super) struct Offsets(pub(super) Column<u32>);

impl Offsets {
    pub(super) fn get(&self, row: u32) -> Result<Range<usize>> {
        if self.0.len() == 0 {
            return Ok(0..0);
        }
        let row = row as usize;
        let pair = self.0.slice(row..row + 2)?;
        if pair[0] > pair[1] {
            return Err(self.0.wrong(row, "lies behind the next one"));
        }
        Ok(pair[0] as usize..pair[1] as usize)
    }

    /// The row that an element belongs to.
    pub(super) fn row_of(&self, element: u32) -> Result<u32> {
        let behind = self.0.partition(0..self.0.len(), |start| start <= element)?;
        behind
            .checked_sub(1)
            .and_then(|row| u32::try_from(row).ok())
            .ok_or_else(|| self.0.wrong(0, "begins behind its first element"))
    }
}

/// Which rows have a value, and where among the values theirs stands.
struct Present {
    words: Column<Presence>,
    values: usize,
}

impl Present {
    fn place(&self, row: u32) -> Result<Option<usize>> {
        let row = row as usize;
        if self.words.len() == 0 {
            // No word at all: every row has a value, or none has.
            return Ok((self.values > 0).then_some(row));
        }
        let word = self.words.get(row / 64)?;
        let bit = 1_u64 << (row % 64);
        let before = usize::try_from(word.before).map_err(|_| self.words.wrong(row / 64, "counts too far"))?;
        Ok((word.bits & bit != 0).then(|| before.saturating_add((word.bits & (bit - 1)).count_ones() as usize)))
    }
}

/// Values that some rows have.
pub(super) struct OptionalColumn<T> {
    present: Present,
    values: Column<T>,
}

impl<T: Pod> OptionalColumn<T> {
    pub(super) fn open(file: &Arc<Container>, sections: OptionalSections<T>) -> Result<Self> {
        let values = file.column(sections.values)?;
        Ok(Self { present: Present { words: file.column(sections.presence)?, values: values.len() }, values })
    }

    /// The same for a column that older files do not have; then no row has a value.
    pub(super) fn open_if_any(file: &Arc<Container>, sections: OptionalSections<T>) -> Result<Self> {
        let values = file.column_if_any(sections.values)?;
        Ok(Self { present: Present { words: file.column_if_any(sections.presence)?, values: values.len() }, values })
    }

    pub(super) fn get(&self, row: u32) -> Result<Option<T>> {
        self.present.place(row)?.map(|place| self.values.get(place)).transpose()
    }
}

/// Amounts: 128 bits in place, larger ones in a side table.
pub(super) struct AmountColumn {
    values: Column<u128>,
    large_at: Column<u64>,
    large: Column<[u8; 32]>,
}

impl AmountColumn {
    pub(super) fn open(file: &Arc<Container>, sections: AmountSections) -> Result<Self> {
        Ok(Self {
            values: file.column(sections.values)?,
            large_at: file.column(sections.large_at)?,
            large: file.column(sections.large)?,
        })
    }

    pub(super) fn get(&self, at: usize) -> Result<Amount> {
        let value = self.values.get(at)?;
        self.whole(at, value)
    }

    /// The small values of a range; those that read [`SIDE_TABLE`] need [`AmountColumn::whole`].
    pub(super) fn slice(&self, range: Range<usize>) -> Result<&[u128]> {
        self.values.slice(range)
    }

    pub(super) fn whole(&self, at: usize, value: u128) -> Result<Amount> {
        if value != SIDE_TABLE {
            return Ok(Amount::from_u128(value));
        }
        let place = self.large_at.partition(0..self.large_at.len(), |large| large < at as u64)?;
        if place == self.large_at.len() || self.large_at.get(place)? != at as u64 {
            return Err(self.values.wrong(at, "is not in the table of large amounts"));
        }
        self.large.get(place).map(Amount::from_be_bytes)
    }
}

/// Amounts that some rows have.
pub(super) struct OptionalAmounts {
    present: Present,
    values: AmountColumn,
}

impl OptionalAmounts {
    pub(super) fn open(
        file: &Arc<Container>,
        presence: super::layout::Section<Presence>,
        values: AmountSections,
    ) -> Result<Self> {
        let values = AmountColumn::open(file, values)?;
        Ok(Self { present: Present { words: file.column(presence)?, values: values.values.len() }, values })
    }

    pub(super) fn get(&self, row: u32) -> Result<Option<Amount>> {
        self.present.place(row)?.map(|place| self.values.get(place)).transpose()
    }
}

/// Texts and bytes of any length, each stored once.
pub(super) struct Blobs {
    starts: Column<u64>,
    bytes: Column<u8>,
}

impl Blobs {
    pub(super) fn open(file: &Arc<Container>, sections: BlobSections) -> Result<Self> {
        Ok(Self { starts: file.column(sections.starts)?, bytes: file.column(sections.bytes)? })
    }

    pub(super) fn get(&self, id: u32) -> Result<&[u8]> {
        let id = id as usize;
        let pair = self.starts.slice(id..id + 2)?;
        let place = |at: u64| usize::try_from(at).map_err(|_| self.starts.wrong(id, "lies outside"));
        self.bytes.slice(place(pair[0])?..place(pair[1])?)
    }

    pub(super) fn text(&self, id: u32) -> Result<String> {
        let bytes = self.get(id)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.starts.wrong(id as usize, "names bytes that are no text"))
    }
}
