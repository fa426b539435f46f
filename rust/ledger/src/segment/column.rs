//! Columns with gaps, offsets and texts, in an open file.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use headwater_types::Amount;

use super::container::{Column, Container};
use super::layout::{BlobSections, OptionalPacked, OptionalSections, Presence};
use super::pack::{AmountTable, Ints};
use super::section::{PackedSections, Section};
use crate::error::Result;

/// The beginnings of the elements of each row; one more entry than rows, or empty when no row has any.
pub(super) struct Offsets(Ints);

impl Offsets {
    pub(super) fn open(file: &Arc<Container>, sections: PackedSections) -> Result<Self> {
        Ints::open(file, sections).map(Self)
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

/// The rows that have a value, and where among the values theirs is.
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
pub(super) struct OptionalInts {
    present: Present,
    values: Ints,
}

impl OptionalInts {
    pub(super) fn open(file: &Arc<Container>, sections: OptionalPacked) -> Result<Self> {
        let values = Ints::open(file, sections.values)?;
        Ok(Self { present: Present::open(file, sections.presence, !values.is_empty())?, values })
    }

    pub(super) fn get(&self, row: u32) -> Result<Option<u64>> {
        self.present.place(row)?.map(|place| self.values.get(place)).transpose()
    }

    pub(super) fn id(&self, row: u32) -> Result<Option<u32>> {
        self.present.place(row)?.map(|place| self.values.id(place)).transpose()
    }
}

/// Amounts that some rows have.
pub(super) struct OptionalAmounts {
    present: Present,
    values: AmountTable,
}

impl OptionalAmounts {
    pub(super) fn open(file: &Arc<Container>, presence: Section<Presence>, values: PackedSections) -> Result<Self> {
        let values = AmountTable::open(file, values)?;
        Ok(Self { present: Present::open(file, presence, !values.is_empty())?, values })
    }

    pub(super) fn get(&self, row: u32) -> Result<Option<Amount>> {
        self.present.place(row)?.map(|place| self.values.get(place)).transpose()
    }
}

/// Texts and bytes of any length, each stored once.
pub(super) struct Blobs {
    starts: Ints,
    bytes: Column<u8>,
}

impl Blobs {
    pub(super) fn open(file: &Arc<Container>, sections: BlobSections) -> Result<Self> {
        Ok(Self { starts: Ints::open(file, sections.starts)?, bytes: file.column(sections.bytes)? })
    }

    pub(super) fn get(&self, id: u32) -> Result<&[u8]> {
        let id = id as usize;
        let (start, end) = self.starts.pair(id)?;
        let place = |at: u64| usize::try_from(at).map_err(|_| self.starts.outside(id));
        self.bytes.slice(place(start)?..place(end)?)
    }

    pub(super) fn text(&self, id: u32) -> Result<String> {
        let bytes = self.get(id)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.starts.wrong(id as usize, "names bytes that are not text"))
    }
}
