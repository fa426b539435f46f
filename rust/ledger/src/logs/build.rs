//! The index of a segment, by one pass over its logs and one sort.

use std::io::Write;

use bytemuck::{Pod, Zeroable};

use super::file::{ENTRIES, GROUPS, SUMMARY, Summary};
use crate::Cancel;
use crate::error::Result;
use crate::external::{ExternalSorter, Scratch};
use crate::segment::{PackedTableWriter, Segment, SegmentFile, Spool};

/// Rows between two looks at the cancel token.
const ROWS_PER_CHECK: u32 = 4096;

/// Logs after which the memory of what was read of the segment is given back.
const RELEASE_STEP: u64 = 1 << 21;

/// A log to be sorted: by contract, first topic with none first, place in the segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    contract: u32,
    has_topic: u32,
    topic: [u8; 32],
    row: u32,
    position: u32,
}

impl Entry {
    fn is_of_group(&self, other: &Self) -> bool {
        let group = |entry: &Self| (entry.contract, entry.has_topic, entry.topic);
        group(self) == group(other)
    }
}

/// Writes the index of a segment. `progress` hears of logs done. Takes the memory of `scratch` and puts the rest into
/// temporary files: 48 bytes per log while they are sorted.
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
    let sorter = gather(segment, scratch, progress, cancel)?;
    let logs = sorter.len();
    let spool = Spool::within(scratch);
    let (mut groups, mut entries) = (PackedTableWriter::<2>::new(&spool), PackedTableWriter::<2>::new(&spool));
    let mut group: Option<Entry> = None;
    for entry in sorter.finish()? {
        let entry = entry?;
        if !group.is_some_and(|group| group.is_of_group(&entry)) {
            groups.push([entry.contract.into(), entries.len()])?;
            group = Some(entry);
        }
        entries.push([entry.row.into(), entry.position.into()])?;
    }
    let summary = Summary {
        accounts: segment.addresses(),
        transactions: segment.transactions().into(),
        bytes: segment.bytes(),
        groups: groups.len(),
        logs,
    };
    let mut out = SegmentFile::begin(out, segment.chain(), segment.network())?;
    out.put(SUMMARY, &[summary])?;
    groups.put(&mut out, GROUPS)?;
    entries.put(&mut out, ENTRIES)?;
    out.finish()?;
    Ok(())
}

fn gather(
    segment: &Segment,
    scratch: &Scratch,
    progress: &dyn Fn(u64),
    cancel: &Cancel,
) -> Result<ExternalSorter<Entry>> {
    let mut sorter = ExternalSorter::new(&scratch.share(2), cancel);
    let (mut contracts, mut released) = (Vec::new(), 0);
    for row in 0..segment.transactions() {
        if row % ROWS_PER_CHECK == 0 {
            cancel.check()?;
            progress(sorter.len());
        }
        if sorter.len() - released > RELEASE_STEP {
            segment.release();
            released = sorter.len();
        }
        let logs = segment.logs_of(row)?;
        contracts.clear();
        segment.log_contracts(logs.clone(), &mut contracts)?;
        for ((position, log), contract) in (0_u32..).zip(logs).zip(&contracts) {
            let topic = segment.first_topic(log)?;
            sorter.push(Entry {
                contract: segment.known_account(*contract)?,
                has_topic: topic.is_some().into(),
                topic: topic.unwrap_or_default(),
                row,
                position,
            })?;
        }
    }
    segment.release();
    progress(sorter.len());
    Ok(sorter)
}
