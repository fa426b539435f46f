//! Columns with gaps, and texts.

use std::sync::Arc;

use headwater_types::Amount;
use rustc_hash::FxHashMap;

use super::super::container::SegmentFile;
use super::super::layout::{BlobSections, NONE, OptionalPacked, Presence};
use super::super::pack::{AmountTableWriter, IntWriter, TableWriter};
use super::super::section::{PackedSections, Section};
use super::super::spool::{Part, Spool};
use crate::LedgerError;
use crate::error::Result;

/// The rows that have a value.
pub(super) struct PresenceWriter {
    word: Presence,
    words: Part,
    rows: u64,
    values: u64,
}

impl PresenceWriter {
    pub(super) fn new(spool: &Arc<Spool>) -> Self {
        Self { word: Presence { bits: 0, before: 0 }, words: Part::new(spool), rows: 0, values: 0 }
    }

    pub(super) fn push(&mut self, present: bool) -> Result<()> {
        if self.values == 0 {
            // Most columns are of no row at all: words are written from the first value on, and those before it then.
            if !present {
                self.rows += 1;
                return Ok(());
            }
            for _ in 0..self.rows / 64 {
                self.words.write(bytemuck::bytes_of(&Presence { bits: 0, before: 0 }))?;
            }
        }
        self.word.bits |= u64::from(present) << (self.rows % 64);
        self.rows += 1;
        self.values += u64::from(present);
        if self.rows.is_multiple_of(64) { self.end_word() } else { Ok(()) }
    }

    fn end_word(&mut self) -> Result<()> {
        self.words.write(bytemuck::bytes_of(&self.word))?;
        self.word = Presence { bits: 0, before: self.values };
        Ok(())
    }

    pub(super) fn put(mut self, out: &mut SegmentFile<'_>, section: Section<Presence>) -> Result<()> {
        if self.values == 0 || self.values == self.rows {
            // No word at all: every row has a value, or none has.
            return out.put(section, &[]);
        }
        if !self.rows.is_multiple_of(64) {
            self.end_word()?;
        }
        out.part(section, self.words)
    }
}

/// Numbers that some rows have.
pub(super) struct OptionalInts {
    present: PresenceWriter,
    values: IntWriter,
}

impl OptionalInts {
    pub(super) fn new(spool: &Arc<Spool>) -> Self {
        Self { present: PresenceWriter::new(spool), values: IntWriter::new(spool) }
    }

    pub(super) fn push(&mut self, value: Option<u64>) -> Result<()> {
        self.present.push(value.is_some())?;
        value.map_or(Ok(()), |value| self.values.push([value]))
    }

    pub(super) fn put(self, out: &mut SegmentFile<'_>, sections: OptionalPacked) -> Result<()> {
        self.present.put(out, sections.presence)?;
        self.values.put(out, sections.values)
    }
}

/// Rows of a table that some rows have.
pub(super) struct OptionalTable<const K: usize> {
    present: PresenceWriter,
    values: TableWriter<K>,
}

impl<const K: usize> OptionalTable<K> {
    pub(super) fn new(spool: &Arc<Spool>) -> Self {
        Self { present: PresenceWriter::new(spool), values: TableWriter::new(spool) }
    }

    pub(super) fn push(&mut self, value: Option<[u64; K]>) -> Result<()> {
        self.present.push(value.is_some())?;
        value.map_or(Ok(()), |value| self.values.push(value))
    }

    pub(super) fn put(
        self,
        out: &mut SegmentFile<'_>,
        presence: Section<Presence>,
        values: PackedSections,
    ) -> Result<()> {
        self.present.put(out, presence)?;
        self.values.put(out, values)
    }
}

/// Amounts that some rows have.
pub(super) struct OptionalAmountWriter {
    present: PresenceWriter,
    values: AmountTableWriter,
}

impl OptionalAmountWriter {
    pub(super) fn new(spool: &Arc<Spool>) -> Self {
        Self { present: PresenceWriter::new(spool), values: AmountTableWriter::new(spool) }
    }

    pub(super) fn push(&mut self, value: Option<Amount>) -> Result<()> {
        self.present.push(value.is_some())?;
        value.map_or(Ok(()), |value| self.values.push(value))
    }

    pub(super) fn put(
        self,
        out: &mut SegmentFile<'_>,
        presence: Section<Presence>,
        values: PackedSections,
    ) -> Result<()> {
        self.present.put(out, presence)?;
        self.values.put(out, values)
    }
}

/// The beginnings of the elements of each row; nothing when no row has any.
pub(super) struct OffsetWriter {
    starts: IntWriter,
    /// Rows before the first element.
    empty: u64,
    elements: u64,
    what: &'static str,
}

impl OffsetWriter {
    pub(super) fn new(spool: &Arc<Spool>, what: &'static str) -> Self {
        Self { starts: IntWriter::new(spool), empty: 0, elements: 0, what }
    }

    /// Adds a row of so many elements.
    pub(super) fn push(&mut self, elements: usize) -> Result<()> {
        if self.elements == 0 {
            // Often no row has any, and nothing is written.
            if elements == 0 {
                self.empty += 1;
                return Ok(());
            }
            (0..std::mem::take(&mut self.empty)).try_for_each(|_| self.starts.push([0]))?;
        }
        self.starts.push([self.elements])?;
        self.elements += elements as u64;
        check_ids(self.elements, self.what)
    }

    pub(super) fn put(mut self, out: &mut SegmentFile<'_>, sections: PackedSections) -> Result<()> {
        if self.elements == 0 {
            out.put(sections.blocks, &[])?;
            return out.put(sections.starts, &[]);
        }
        self.starts.push([self.elements])?;
        self.starts.put(out, sections)
    }
}

/// Refuses what 32 bits cannot number, the largest standing for none.
pub(super) fn check_ids(count: u64, what: &'static str) -> Result<()> {
    let limit = u64::from(NONE);
    if count <= limit { Ok(()) } else { Err(LedgerError::SegmentFull { what, limit }) }
}

/// Bytes of texts that are remembered, so that each is stored once; what comes later is stored as often as it comes.
const REMEMBERED: usize = 64 << 20;

/// Texts and bytes, in order of first use.
pub(super) struct BlobWriter {
    known: FxHashMap<Box<[u8]>, u32>,
    remembered: usize,
    starts: IntWriter,
    bytes: Part,
    count: u32,
}

impl BlobWriter {
    pub(super) fn new(spool: &Arc<Spool>) -> Self {
        Self {
            known: FxHashMap::default(),
            remembered: 0,
            starts: IntWriter::new(spool),
            bytes: Part::new(spool),
            count: 0,
        }
    }

    pub(super) fn id(&mut self, blob: &[u8]) -> Result<u32> {
        if let Some(&known) = self.known.get(blob) {
            return Ok(known);
        }
        let id = self.count;
        check_ids(u64::from(id) + 1, "texts")?;
        self.count += 1;
        self.starts.push([self.bytes.len()])?;
        self.bytes.write(blob)?;
        if self.remembered + blob.len() <= REMEMBERED {
            // What an entry of the table takes beside its text.
            self.remembered += blob.len() + 40;
            self.known.insert(blob.into(), id);
        }
        Ok(id)
    }

    pub(super) fn optional(&mut self, blob: Option<&[u8]>) -> Result<Option<u32>> {
        blob.map(|blob| self.id(blob)).transpose()
    }

    pub(super) fn put(mut self, out: &mut SegmentFile<'_>, sections: BlobSections) -> Result<()> {
        self.starts.push([self.bytes.len()])?;
        self.starts.put(out, sections.starts)?;
        out.part(sections.bytes, self.bytes)
    }
}

/// Values of 32 bytes, each stored once while they are few, and for each use its place among them.
pub(super) struct DistinctWriter {
    known: FxHashMap<[u8; 32], u64>,
    values: Part,
    ids: IntWriter,
    count: u64,
}

impl DistinctWriter {
    pub(super) fn new(spool: &Arc<Spool>) -> Self {
        Self { known: FxHashMap::default(), values: Part::new(spool), ids: IntWriter::new(spool), count: 0 }
    }

    pub(super) fn push(&mut self, value: [u8; 32]) -> Result<()> {
        let id = match self.known.get(&value) {
            Some(&known) => known,
            None => {
                let id = self.count;
                self.count += 1;
                self.values.write(&value)?;
                if self.known.len() * 48 < REMEMBERED {
                    self.known.insert(value, id);
                }
                id
            }
        };
        self.ids.push([id])
    }

    pub(super) fn put(self, out: &mut SegmentFile<'_>, values: Section<[u8; 32]>, ids: PackedSections) -> Result<()> {
        out.part(values, self.values)?;
        self.ids.put(out, ids)
    }
}
