//! Columns: typed views of sections, whose every access is checked and fallible.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use headwater_types::Amount;

use super::container::{Container, RAW};
use super::layout::{AmountSections, BlobSections, Numeric, OptionalNumeric, OptionalSections, Presence, Section};
use super::pack::{AmountTable, BLOCK, Ints};
use crate::LedgerError;
use crate::read::Result;

/// No id, no blob: the largest number of its width, which no row reaches.
pub(super) const NONE: u32 = u32::MAX;

/// A value that a column of amounts does not hold in place.
pub(super) const SIDE_TABLE: u128 = u128::MAX;

/// The elements of one section.
pub(crate) struct Column<T> {
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

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn get(&self, at: usize) -> Result<T> {
        if at >= self.length {
            return Err(self.outside(at));
        }
        let start = self.bytes.start + at * size_of::<T>();
        Ok(*bytemuck::from_bytes(self.file.range(start..start + size_of::<T>())?))
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> Result<&[T]> {
        if range.start > range.end || range.end > self.length {
            return Err(self.outside(range.start.max(range.end)));
        }
        if range.is_empty() {
            return Ok(&[]);
        }
        let start = self.bytes.start + range.start * size_of::<T>();
        Ok(bytemuck::cast_slice(self.file.range(start..start + range.len() * size_of::<T>())?))
    }

    pub(crate) fn all(&self) -> Result<&[T]> {
        self.file.will_need(self.bytes.clone());
        self.slice(0..self.length)
    }

    /// Says that places all over a range are soon asked for.
    pub(crate) fn will_need(&self, range: Range<usize>) {
        let place = |at: usize| self.bytes.start + at.min(self.length) * size_of::<T>();
        self.file.will_need(place(range.start)..place(range.end));
    }

    /// First place of a range where `before` no longer holds; the range is ordered so.
    pub(super) fn partition(&self, range: Range<usize>, mut before: impl FnMut(T) -> bool) -> Result<usize> {
        search(range, |at| Ok(before(self.get(at)?)))
    }

    #[cold]
    pub(crate) fn outside(&self, at: usize) -> LedgerError {
        let what = format!("element {at} of {} is asked for, which has {}", self.name, self.length);
        self.file.corrupt(self.bytes.start, what)
    }

    #[cold]
    pub(crate) fn wrong(&self, at: usize, what: &str) -> LedgerError {
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

/// The same, looked for outwards from a guess: few steps, next to each other, where it is near.
pub(crate) fn search_from(
    range: Range<usize>,
    guess: usize,
    mut before: impl FnMut(usize) -> Result<bool>,
) -> Result<usize> {
    let (mut low, mut high) = (range.start, range.end.max(range.start));
    let mut next = guess.clamp(low, high);
    let mut step = 1;
    while low < high {
        // Past an end there is nothing to ask; the other end was asked or is open.
        let at = next.clamp(low, high - 1);
        if before(at)? {
            low = at + 1;
            if high != range.end {
                break;
            }
            next = at.saturating_add(step);
        } else {
            high = at;
            if low != range.start {
                break;
            }
            next = at.saturating_sub(step);
        }
        step *= 2;
    }
    search(low..high, before)
}

/// Whole numbers, as elements or packed.
pub(super) enum Numbers {
    Byte(Column<u8>),
    Short(Column<u16>),
    Word(Column<u32>),
    Long(Column<u64>),
    Signed(Column<i64>),
    Packed(Ints),
}

/// Elements that are whole numbers.
pub(super) trait Number: Pod {
    fn column(of: Column<Self>) -> Numbers;
}

macro_rules! number {
    ($($type:ty => $variant:ident),*) => {
        $(impl Number for $type {
            fn column(of: Column<Self>) -> Numbers {
                Numbers::$variant(of)
            }
        })*
    };
}

number!(u8 => Byte, u16 => Short, u32 => Word, u64 => Long, i64 => Signed);

impl Numbers {
    pub(super) fn open<T: Number>(file: &Arc<Container>, sections: Numeric<T>) -> Result<Self> {
        if file.format() <= RAW {
            file.column(sections.raw).map(T::column)
        } else {
            Ints::open(file, sections.packed).map(Self::Packed)
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Byte(column) => column.len() == 0,
            Self::Short(column) => column.len() == 0,
            Self::Word(column) => column.len() == 0,
            Self::Long(column) => column.len() == 0,
            Self::Signed(column) => column.len() == 0,
            Self::Packed(ints) => ints.is_empty(),
        }
    }

    /// How many there are; packed ones read their last block for it.
    pub(super) fn len(&self) -> Result<usize> {
        Ok(match self {
            Self::Byte(column) => column.len(),
            Self::Short(column) => column.len(),
            Self::Word(column) => column.len(),
            Self::Long(column) => column.len(),
            Self::Signed(column) => column.len(),
            Self::Packed(ints) => ints.len()?,
        })
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Result<u64> {
        Ok(match self {
            Self::Byte(column) => u64::from(column.get(at)?),
            Self::Short(column) => u64::from(column.get(at)?),
            Self::Word(column) => u64::from(column.get(at)?),
            Self::Long(column) => column.get(at)?,
            Self::Signed(column) => column.get(at)?.cast_unsigned(),
            Self::Packed(ints) => ints.get(at)?,
        })
    }

    /// A number of 32 bits.
    pub(super) fn id(&self, at: usize) -> Result<u32> {
        u32::try_from(self.get(at)?).map_err(|_| self.wrong(at, "is too large"))
    }

    /// An id, or none.
    pub(super) fn optional_id(&self, at: usize) -> Result<Option<u32>> {
        match self {
            Self::Packed(ints) => ints.get(at)?.checked_sub(1).map(|id| self.narrow(at, id)).transpose(),
            _ => Ok(Some(self.id(at)?).filter(|&id| id != NONE)),
        }
    }

    fn narrow(&self, at: usize, id: u64) -> Result<u32> {
        u32::try_from(id).map_err(|_| self.wrong(at, "is too large"))
    }

    /// A number and the next one.
    pub(super) fn pair(&self, at: usize) -> Result<(u64, u64)> {
        match self {
            Self::Word(column) => {
                column.slice(at..at.saturating_add(2)).map(|pair| (u64::from(pair[0]), u64::from(pair[1])))
            }
            Self::Long(column) => column.slice(at..at.saturating_add(2)).map(|pair| (pair[0], pair[1])),
            Self::Packed(ints) => ints.pair(at),
            _ => Ok((self.get(at)?, self.get(at.saturating_add(1))?)),
        }
    }

    /// All of them, in order.
    pub(super) fn all(&self) -> Result<Vec<u64>> {
        match self {
            Self::Packed(ints) => {
                let mut all = Vec::with_capacity(ints.blocks() * BLOCK);
                ints.read(0..ints.len()?, &mut all)?;
                Ok(all)
            }
            Self::Byte(column) => Ok(column.all()?.iter().map(|&value| u64::from(value)).collect()),
            _ => (0..self.len()?).map(|at| self.get(at)).collect(),
        }
    }

    /// First place of an ascending range whose number is not below a bound.
    pub(super) fn lower_bound(&self, range: Range<usize>, bound: u64) -> Result<usize> {
        search(range, |at| Ok(self.get(at)? < bound))
    }

    #[cold]
    pub(super) fn wrong(&self, at: usize, what: &str) -> LedgerError {
        match self {
            Self::Byte(column) => column.wrong(at, what),
            Self::Short(column) => column.wrong(at, what),
            Self::Word(column) => column.wrong(at, what),
            Self::Long(column) => column.wrong(at, what),
            Self::Signed(column) => column.wrong(at, what),
            Self::Packed(ints) => ints.wrong(at, what),
        }
    }

    #[cold]
    pub(super) fn outside(&self, at: usize) -> LedgerError {
        self.wrong(at, "lies outside")
    }
}

/// Where the elements of each row begin; one more entry than rows, or empty when no row has any.
pub(super) struct Offsets(pub(super) Numbers);

impl Offsets {
    pub(super) fn open(file: &Arc<Container>, sections: Numeric<u32>) -> Result<Self> {
        Numbers::open(file, sections).map(Self)
    }

    pub(super) fn get(&self, row: u32) -> Result<Range<usize>> {
        if self.0.is_empty() {
            return Ok(0..0);
        }
        let row = row as usize;
        let (start, end) = self.0.pair(row)?;
        match (usize::try_from(start), usize::try_from(end)) {
            (Ok(start), Ok(end)) if start <= end => Ok(start..end),
            _ => Err(self.0.wrong(row, "lies behind the next one")),
        }
    }

    /// The row that an element belongs to.
    pub(super) fn row_of(&self, element: u32) -> Result<u32> {
        let behind = self.0.lower_bound(0..self.0.len()?, u64::from(element) + 1)?;
        behind
            .checked_sub(1)
            .and_then(|row| u32::try_from(row).ok())
            .ok_or_else(|| self.0.wrong(0, "begins behind its first element"))
    }
}

/// Which rows have a value, and where among the values theirs stands.
pub(super) struct Present {
    words: Column<Presence>,
    has_values: bool,
}

impl Present {
    pub(super) fn open(file: &Arc<Container>, words: Section<Presence>, has_values: bool) -> Result<Self> {
        Ok(Self { words: file.column(words)?, has_values })
    }

    pub(super) fn place(&self, row: u32) -> Result<Option<usize>> {
        let row = row as usize;
        if self.words.len() == 0 {
            // No word at all: every row has a value, or none has.
            return Ok(self.has_values.then_some(row));
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
        Ok(Self { present: Present::open(file, sections.presence, values.len() > 0)?, values })
    }

    pub(super) fn get(&self, row: u32) -> Result<Option<T>> {
        self.present.place(row)?.map(|place| self.values.get(place)).transpose()
    }
}

/// Whole numbers that some rows have.
pub(super) struct OptionalNumbers {
    present: Present,
    values: Numbers,
}

impl OptionalNumbers {
    pub(super) fn open<T: Number>(file: &Arc<Container>, sections: OptionalNumeric<T>) -> Result<Self> {
        let values = Numbers::open(file, sections.values)?;
        Ok(Self { present: Present::open(file, sections.presence, !values.is_empty())?, values })
    }

    /// The same for a column that older files of format 1 do not have; then no row has a value.
    pub(super) fn open_if_any<T: Number>(file: &Arc<Container>, sections: OptionalNumeric<T>) -> Result<Self> {
        if file.format() > RAW {
            return Self::open(file, sections);
        }
        let values = T::column(file.column_if_any(sections.values.raw)?);
        let words = file.column_if_any(sections.presence)?;
        Ok(Self { present: Present { words, has_values: !values.is_empty() }, values })
    }

    pub(super) fn get(&self, row: u32) -> Result<Option<u64>> {
        self.present.place(row)?.map(|place| self.values.get(place)).transpose()
    }

    pub(super) fn id(&self, row: u32) -> Result<Option<u32>> {
        self.present.place(row)?.map(|place| self.values.id(place)).transpose()
    }
}

/// Amounts of 128 bits in place, larger ones in a side table.
pub(super) struct RawAmounts {
    values: Column<u128>,
    large_at: Column<u64>,
    large: Column<[u8; 32]>,
}

impl RawAmounts {
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

    /// The small values of a range; those that read [`SIDE_TABLE`] need [`RawAmounts::whole`].
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

/// Amounts, in place or packed.
pub(super) enum Amounts {
    Raw(RawAmounts),
    Packed(AmountTable),
}

impl Amounts {
    pub(super) fn open(file: &Arc<Container>, sections: AmountSections) -> Result<Self> {
        if file.format() <= RAW {
            RawAmounts::open(file, sections).map(Self::Raw)
        } else {
            AmountTable::open(file, sections.packed).map(Self::Packed)
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Raw(amounts) => amounts.values.len() == 0,
            Self::Packed(table) => table.is_empty(),
        }
    }

    pub(super) fn get(&self, at: usize) -> Result<Amount> {
        match self {
            Self::Raw(amounts) => amounts.get(at),
            Self::Packed(table) => table.get(at),
        }
    }
}

/// Amounts that some rows have.
pub(super) struct OptionalAmounts {
    present: Present,
    values: Amounts,
}

impl OptionalAmounts {
    pub(super) fn open(file: &Arc<Container>, presence: Section<Presence>, values: AmountSections) -> Result<Self> {
        let values = Amounts::open(file, values)?;
        Ok(Self { present: Present::open(file, presence, !values.is_empty())?, values })
    }

    pub(super) fn get(&self, row: u32) -> Result<Option<Amount>> {
        self.present.place(row)?.map(|place| self.values.get(place)).transpose()
    }
}

/// Texts and bytes of any length, each stored once.
pub(super) struct Blobs {
    starts: Numbers,
    bytes: Column<u8>,
}

impl Blobs {
    pub(super) fn open(file: &Arc<Container>, sections: BlobSections) -> Result<Self> {
        Ok(Self { starts: Numbers::open(file, sections.starts)?, bytes: file.column(sections.bytes)? })
    }

    pub(super) fn get(&self, id: u32) -> Result<&[u8]> {
        let id = id as usize;
        let (start, end) = self.starts.pair(id)?;
        let place = |at: u64| usize::try_from(at).map_err(|_| self.starts.outside(id));
        self.bytes.slice(place(start)?..place(end)?)
    }

    pub(super) fn text(&self, id: u32) -> Result<String> {
        let bytes = self.get(id)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.starts.wrong(id as usize, "names bytes that are no text"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_its_place_from_any_guess_in_few_steps() {
        for (start, end) in [(0, 0), (0, 1), (3, 12), (5, 105)] {
            for place in start..=end {
                for guess in 0..end + 3 {
                    let mut steps = 0;
                    let found = search_from(start..end, guess, |at| {
                        assert!((start..end).contains(&at));
                        steps += 1;
                        Ok(at < place)
                    });
                    assert_eq!(found.unwrap(), place);
                    let off = guess.clamp(start, end).abs_diff(place);
                    assert!(steps <= 2 * (off + 2).ilog2() + 3, "{steps} steps for {off}");
                }
            }
        }
    }
}
