//! The writing side of columns with gaps, amounts and blobs.

use std::collections::HashMap;

use bytemuck::Pod;
use headwater_types::Amount;

use crate::LedgerError;
use crate::read::Result;
use crate::segment::column::{NONE, SIDE_TABLE};
use crate::segment::container::ContainerWriter;
use crate::segment::layout::{AmountSections, BLOBS, OptionalNumeric, OptionalSections, Presence, Section};

/// Which rows have a value.
#[derive(Default)]
struct Present {
    words: Vec<Presence>,
    rows: usize,
    values: usize,
}

impl Present {
    fn push(&mut self, present: bool) {
        if self.rows.is_multiple_of(64) {
            self.words.push(Presence { bits: 0, before: self.values as u64 });
        }
        if present {
            let word = self.words.last_mut().expect("a word was pushed for the first row of 64");
            word.bits |= 1 << (self.rows % 64);
            self.values += 1;
        }
        self.rows += 1;
    }

    fn put(&self, out: &mut ContainerWriter, section: Section<Presence>) {
        let mixed = self.values > 0 && self.values < self.rows;
        out.put(section, if mixed { &self.words } else { &[] });
    }
}

/// Values that some rows have.
pub(super) struct OptionalBuilder<T> {
    present: Present,
    values: Vec<T>,
}

impl<T: Pod> OptionalBuilder<T> {
    pub(super) fn new() -> Self {
        Self { present: Present::default(), values: Vec::new() }
    }

    pub(super) fn push(&mut self, value: Option<T>) {
        self.present.push(value.is_some());
        self.values.extend(value);
    }

    pub(super) fn put(&self, out: &mut ContainerWriter, sections: OptionalSections<T>) {
        self.present.put(out, sections.presence);
        out.put(sections.values, &self.values);
    }

    pub(super) fn put_numbers(&self, out: &mut ContainerWriter, sections: OptionalNumeric<T>) {
        self.present.put(out, sections.presence);
        out.put(sections.values.raw, &self.values);
    }
}

/// Amounts: 128 bits in place, larger ones in a side table.
#[derive(Default)]
pub(super) struct AmountBuilder {
    values: Vec<u128>,
    large_at: Vec<u64>,
    large: Vec<[u8; 32]>,
}

impl AmountBuilder {
    pub(super) fn push(&mut self, amount: Amount) {
        let small = amount.to_u128().filter(|&value| value != SIDE_TABLE);
        if small.is_none() {
            self.large_at.push(self.values.len() as u64);
            self.large.push(amount.to_be_bytes());
        }
        self.values.push(small.unwrap_or(SIDE_TABLE));
    }

    pub(super) fn put(&self, out: &mut ContainerWriter, sections: AmountSections) {
        out.put(sections.values, &self.values);
        out.put(sections.large_at, &self.large_at);
        out.put(sections.large, &self.large);
    }
}

/// Amounts that some rows have.
#[derive(Default)]
pub(super) struct OptionalAmountBuilder {
    present: Present,
    values: AmountBuilder,
}

impl OptionalAmountBuilder {
    pub(super) fn push(&mut self, amount: Option<Amount>) {
        self.present.push(amount.is_some());
        if let Some(amount) = amount {
            self.values.push(amount);
        }
    }

    pub(super) fn put(&self, out: &mut ContainerWriter, presence: Section<Presence>, values: AmountSections) {
        self.present.put(out, presence);
        self.values.put(out, values);
    }
}

/// Where the elements of each row begin.
pub(super) struct OffsetBuilder {
    starts: Vec<u32>,
    what: &'static str,
}

impl OffsetBuilder {
    pub(super) fn new(what: &'static str) -> Self {
        Self { starts: vec![0], what }
    }

    /// Ends a row; `elements` is the number of elements so far.
    pub(super) fn end_row(&mut self, elements: usize) -> Result<()> {
        self.starts.push(id(elements, self.what)?);
        Ok(())
    }

    pub(super) fn put(&self, out: &mut ContainerWriter, section: Section<u32>) {
        let any = self.starts.last().is_some_and(|&end| end > 0);
        out.put(section, if any { &self.starts } else { &[] });
    }
}

/// Texts and bytes, each stored once, in order of first use.
pub(super) struct BlobBuilder<'a> {
    ids: HashMap<&'a [u8], u32>,
    starts: Vec<u64>,
    bytes: Vec<u8>,
}

impl<'a> BlobBuilder<'a> {
    pub(super) fn new() -> Self {
        Self { ids: HashMap::new(), starts: vec![0], bytes: Vec::new() }
    }

    pub(super) fn id(&mut self, blob: &'a [u8]) -> Result<u32> {
        if let Some(&known) = self.ids.get(blob) {
            return Ok(known);
        }
        let new = id(self.starts.len() - 1, "texts")?;
        self.ids.insert(blob, new);
        self.bytes.extend_from_slice(blob);
        self.starts.push(self.bytes.len() as u64);
        Ok(new)
    }

    pub(super) fn optional(&mut self, blob: Option<&'a [u8]>) -> Result<Option<u32>> {
        blob.map(|blob| self.id(blob)).transpose()
    }

    pub(super) fn put(&self, out: &mut ContainerWriter) {
        out.put(BLOBS.starts.raw, &self.starts);
        out.put(BLOBS.bytes, &self.bytes);
    }
}

/// A count or place as an id of 32 bits; the largest stands for none.
pub(super) fn id(place: usize, what: &'static str) -> Result<u32> {
    u32::try_from(place).ok().filter(|&id| id != NONE).ok_or(LedgerError::SegmentFull { what, limit: u64::from(NONE) })
}
