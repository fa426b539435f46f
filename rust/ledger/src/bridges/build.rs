//! The index of a segment: one pass over its transactions, one sort of their keys.

use std::io::Write;

use super::index::{KEYS, ROWS, SUMMARY, Summary};
use super::keys::keys;
use crate::Cancel;
use crate::error::Result;
use crate::external::Scratch;
use crate::segment::{PackedTableWriter, Segment, SegmentFile, Spool};

/// Writes the index of a segment. `progress` hears of transactions done. In memory are 12 bytes for each key.
///
/// # Errors
/// When the segment is damaged, a file cannot be written, or the work is cancelled.
pub(crate) fn build(
    segment: &Segment,
    scratch: &Scratch,
    out: &mut dyn Write,
    progress: &dyn Fn(u64),
    cancel: &Cancel,
) -> Result<()> {
    let found = keys(segment, progress, cancel)?;
    let mut rows = PackedTableWriter::<1>::new(&Spool::within(scratch));
    let mut hashes = Vec::with_capacity(found.len());
    for (hash, row) in found {
        hashes.push(hash);
        rows.push([row.into()])?;
    }
    let summary = Summary {
        accounts: segment.addresses(),
        transactions: segment.transactions().into(),
        bytes: segment.bytes(),
        keys: rows.len(),
    };
    let mut out = SegmentFile::begin(out, segment.chain(), segment.network())?;
    out.put(SUMMARY, &[summary])?;
    out.put(KEYS, &hashes)?;
    rows.put(&mut out, ROWS)?;
    out.finish()?;
    Ok(())
}
