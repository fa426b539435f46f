//! The index of the link keys that occur in a segment.

use std::sync::{Arc, OnceLock};

use bytemuck::{Pod, Zeroable};
use headwater_bridge::LinkKey;
use headwater_types::Chain;

use super::MAX_UNINDEXED;
use super::keys::{hash_of, keys};
use crate::Cancel;
use crate::error::Result;
use crate::segment::{Column, Container, PackedSections, PackedTable, Section, Segment, search};

pub(super) const SUMMARY: Section<Summary> = Section::new("bridge.summary");
/// Hashes of keys in order.
pub(super) const KEYS: Section<u64> = Section::new("bridge.keys");
/// The row of each.
pub(super) const ROWS: PackedSections =
    PackedSections { blocks: Section::new("bridge.rows"), starts: Section::new("bridge.rows#") };

/// Numbers about the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Summary {
    /// The number of accounts of its segment.
    pub(super) accounts: u64,
    pub(super) transactions: u64,
    pub(super) bytes: u64,
    pub(super) keys: u64,
}

/// The index of one segment, open.
pub(crate) struct BridgeFile {
    chain: Chain,
    summary: Summary,
    keys: Column<u64>,
    rows: PackedTable<1>,
}

impl BridgeFile {
    /// Reads the numbers about the whole file, not the tables.
    pub(crate) fn read(file: Container) -> Result<Self> {
        let file = Arc::new(file);
        Ok(Self {
            chain: file.chain()?,
            summary: file.column(SUMMARY)?.get(0)?,
            keys: file.column(KEYS)?,
            rows: PackedTable::open(&file, ROWS)?,
        })
    }

    /// Returns whether it was built from a segment like this one.
    pub(crate) fn is_of(&self, segment: &Segment) -> bool {
        let Summary { accounts, transactions, bytes, .. } = self.summary;
        self.chain == segment.chain()
            && (accounts, transactions, bytes) == (segment.addresses(), segment.transactions().into(), segment.bytes())
    }

    fn rows_of(&self, hash: u64, into: &mut Vec<u32>) -> Result<()> {
        let start = search(0..self.keys.len(), |at| Ok(self.keys.get(at)? < hash))?;
        for at in start..self.keys.len() {
            if self.keys.get(at)? != hash {
                break;
            }
            let row = self.rows.value(at, 0)?;
            into.push(u32::try_from(row).map_err(|_| self.rows.wrong(at, "is too large"))?);
        }
        Ok(())
    }

    /// The rows that have legs, in order.
    fn all_rows(&self) -> Result<Vec<u32>> {
        let row = |at| u32::try_from(self.rows.value(at, 0)?).map_err(|_| self.rows.wrong(at, "is too large"));
        let mut rows = (0..self.keys.len()).map(row).collect::<Result<Vec<u32>>>()?;
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }
}

/// The index of a segment in one generation: its file, or what is found of it once.
pub(crate) struct SegmentBridges {
    file: Option<Arc<BridgeFile>>,
    found: Arc<FoundLegs>,
}

/// The legs that were found in a segment, kept with it for all generations.
#[derive(Default)]
struct FoundLegs {
    /// Hashed keys and their rows, in order, where no file has them.
    keys: OnceLock<Vec<(u64, u32)>>,
    /// Rows with legs, in order.
    rows: OnceLock<Vec<u32>>,
}

impl SegmentBridges {
    pub(crate) fn new(file: Option<Arc<BridgeFile>>, segment: &Segment) -> Self {
        Self { file, found: segment.derived.get() }
    }

    /// The rows that may have legs with a key, in order; `None` where no index is built and the segment is large.
    pub(crate) fn rows(
        &self,
        segment: &Segment,
        family: &str,
        key: &LinkKey,
        cancel: &Cancel,
    ) -> Result<Option<Vec<u32>>> {
        let hash = hash_of(family, key);
        let mut rows = Vec::new();
        if let Some(file) = &self.file {
            file.rows_of(hash, &mut rows)?;
            return Ok(Some(rows));
        }
        let Some(found) = self.found(segment, cancel)? else { return Ok(None) };
        let start = found.partition_point(|(known, _)| *known < hash);
        rows.extend(found[start..].iter().take_while(|(known, _)| *known == hash).map(|(_, row)| *row));
        Ok(Some(rows))
    }

    /// Returns whether a row has legs; `None` where no index is built and the segment is large.
    pub(crate) fn has_legs(&self, segment: &Segment, row: u32, cancel: &Cancel) -> Result<Option<bool>> {
        let rows = match self.found.rows.get() {
            Some(rows) => rows,
            None => {
                let rows = match (&self.file, self.found(segment, cancel)?) {
                    (Some(file), _) => file.all_rows()?,
                    (None, Some(found)) => {
                        let mut rows: Vec<u32> = found.iter().map(|(_, row)| *row).collect();
                        rows.sort_unstable();
                        rows
                    }
                    (None, None) => return Ok(None),
                };
                self.found.rows.get_or_init(|| rows)
            }
        };
        Ok(Some(rows.binary_search(&row).is_ok()))
    }

    /// The keys of a segment without an index; `None` where it is large.
    fn found(&self, segment: &Segment, cancel: &Cancel) -> Result<Option<&[(u64, u32)]>> {
        if self.file.is_some() {
            return Ok(None);
        }
        if let Some(found) = self.found.keys.get() {
            return Ok(Some(found));
        }
        if u64::from(segment.transactions()) > MAX_UNINDEXED {
            return Ok(None);
        }
        let found = keys(segment, &|_| {}, cancel)?;
        Ok(Some(self.found.keys.get_or_init(|| found)))
    }
}
