//! The logs of one segment that a filter asks for, one after the other: through its index, or one by one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::file::{LogFile, Spot};
use super::records::{LogFilter, LogKey};
use crate::Cancel;
use crate::error::Result;
use crate::segment::{LogRecord, Segment, search};

/// Logs whose contracts are looked at in one go.
const CHUNK: usize = 4096;

/// A log that was found: its row, and its number in the segment.
pub(super) type LogPosition = (u32, usize);

/// Reads the logs of one segment in order.
pub(super) struct Cursor<'a> {
    segment: &'a Segment,
    /// The contract, as an account of the segment.
    contract: u32,
    way: Way<'a>,
}

enum Way<'a> {
    Index {
        file: &'a LogFile,
        /// The next log of each group, its entry, and the end of the entries.
        next: BinaryHeap<Reverse<(Spot, usize, usize)>>,
    },
    Search {
        left: Range<usize>,
        /// Logs of the chunk that was searched last, the next one last.
        found: Vec<usize>,
    },
}

impl<'a> Cursor<'a> {
    /// `None` when nothing in the segment can pass.
    pub(super) fn open(segment: &'a Segment, file: Option<&'a LogFile>, filter: &LogFilter) -> Result<Option<Self>> {
        let Some(contract) = segment.account(&filter.contract)? else { return Ok(None) };
        let (from, end) = bounds(segment, filter)?;
        if from.row >= end {
            return Ok(None);
        }
        if let Some(file) = file
            && let Some(groups) = file.entries_of(segment, contract, &filter.first_topic)?
        {
            let mut next = BinaryHeap::with_capacity(groups.len());
            for entries in groups {
                let entries = file.between(entries, from, end)?;
                if !entries.is_empty() {
                    next.push(Reverse((file.spot(entries.start)?, entries.start, entries.end)));
                }
            }
            return Ok(Some(Self { segment, contract, way: Way::Index { file, next } }));
        }
        let start = segment.logs_of(from.row)?.start.saturating_add(from.position as usize);
        let left = start..segment.logs_of(end - 1)?.end;
        Ok(Some(Self { segment, contract, way: Way::Search { left, found: Vec::new() } }))
    }

    /// The next log; `None` behind the last one.
    pub(super) fn next(&mut self, filter: &LogFilter, cancel: &Cancel) -> Result<Option<LogPosition>> {
        match &mut self.way {
            Way::Index { file, next } => {
                let Some(Reverse((spot, at, end))) = next.pop() else { return Ok(None) };
                if at + 1 < end {
                    next.push(Reverse((file.spot(at + 1)?, at + 1, end)));
                }
                Ok(Some((spot.row, file.log(self.segment, spot)?)))
            }
            Way::Search { left, found } => {
                let mut contracts = Vec::new();
                while found.is_empty() && left.start < left.end {
                    cancel.check()?;
                    let chunk = left.start..left.end.min(left.start.saturating_add(CHUNK));
                    contracts.clear();
                    self.segment.log_contracts(chunk.clone(), &mut contracts)?;
                    for (log, contract) in chunk.clone().zip(&contracts) {
                        if *contract == u64::from(self.contract)
                            && filter.first_topic.passes(self.segment.first_topic(log)?.as_ref())
                        {
                            found.push(log);
                        }
                    }
                    found.reverse();
                    left.start = chunk.end;
                }
                found.pop().map(|log| Ok((self.segment.row_of_log(log)?, log))).transpose()
            }
        }
    }

    /// All of a log that was found.
    pub(super) fn record(&self, (_, log): LogPosition, filter: &LogFilter) -> Result<LogRecord> {
        let record = self.segment.log(log)?;
        if let Way::Index { file, .. } = &self.way
            && (record.address != self.contract || !filter.first_topic.passes(record.topics.first()))
        {
            return Err(file.misleads());
        }
        Ok(record)
    }
}

/// Returns where the logs of the blocks begin, behind `after`, and the row behind the last one.
fn bounds(segment: &Segment, filter: &LogFilter) -> Result<(Spot, u32)> {
    let (first, last) = (*filter.blocks.start(), *filter.blocks.end());
    if first > last {
        return Ok((Spot { row: 0, position: 0 }, 0));
    }
    let rows = segment.rows_of_blocks(first, last)?;
    let start = Spot { row: rows.start, position: 0 };
    let Some(after) = &filter.after else { return Ok((start, rows.end)) };
    Ok((start.max(behind(segment, after)?), rows.end))
}

/// The first place behind a log.
fn behind(segment: &Segment, after: &LogKey) -> Result<Spot> {
    let row = segment.row_from(after.block, after.transaction_index, &after.hash)?;
    if row >= segment.transactions() || segment.hash(row)? != after.hash {
        return Ok(Spot { row, position: 0 });
    }
    let logs = segment.logs_of(row)?;
    let next = search(logs.clone(), |log| Ok(segment.log_index(log)? <= after.log_index))?;
    match u32::try_from(next - logs.start) {
        Ok(position) if next < logs.end => Ok(Spot { row, position }),
        _ => Ok(Spot { row: row + 1, position: 0 }),
    }
}
