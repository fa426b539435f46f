//! Indexes by hash: the first four bytes in order, and the row or input of each. As sorted hashes lie near a line, an
//! entry takes little more than its row.

use std::sync::Arc;

use super::super::container::SegmentFile;
use super::super::layout::{self, short_prefix};
use super::super::pack::TableWriter;
use super::super::spool::Spool;
use crate::error::Result;

/// Takes (first four bytes, row) in order of hashes.
pub(crate) struct HashesWriter(TableWriter<2>);

/// Takes (hash of the transaction whose output is spent, number of the input that spends it) in order of (hash,
/// output, input).
pub(crate) struct SpendersWriter(TableWriter<2>);

impl HashesWriter {
    pub(crate) fn new(spool: &Arc<Spool>) -> Self {
        Self(TableWriter::new(spool))
    }

    pub(crate) fn push(&mut self, prefix: u64, row: u32) -> Result<()> {
        self.0.push([prefix, u64::from(row)])
    }

    pub(crate) fn put(self, out: &mut SegmentFile<'_>) -> Result<()> {
        self.0.put(out, layout::HASHES)
    }
}

impl SpendersWriter {
    pub(crate) fn new(spool: &Arc<Spool>) -> Self {
        Self(TableWriter::new(spool))
    }

    pub(crate) fn push(&mut self, hash: &[u8; 32], input: u32) -> Result<()> {
        self.0.push([short_prefix(hash), u64::from(input)])
    }

    pub(crate) fn put(self, out: &mut SegmentFile<'_>) -> Result<()> {
        self.0.put(out, layout::SPENDERS)
    }
}
