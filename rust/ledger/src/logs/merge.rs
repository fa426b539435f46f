//! The logs of all segments in one order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use headwater_types::Timestamp;

use super::cursor::{Cursor, LogPosition};
use super::file::LogFile;
use super::records::{FirstTopic, Log, LogFilter, LogKey};
use crate::Cancel;
use crate::error::Result;
use crate::primitives::{TransactionHead, TransactionRef, pack};
use crate::segment::{LogRecord, Segment};

/// A segment, its place among those of the generation, and its index.
pub(crate) type IndexedSegment<'a> = (u32, &'a Segment, Option<&'a Arc<LogFile>>);

/// Shows the logs of a filter, merged over segments.
pub(crate) struct LogMerge<'a> {
    filter: LogFilter,
    cancel: Cancel,
    /// Segments that are not open yet with their first block, the one that comes next last.
    waiting: Vec<(u64, IndexedSegment<'a>)>,
    open: Vec<(u32, &'a Segment, Cursor<'a>)>,
    /// The next log of each open segment.
    heads: BinaryHeap<Reverse<Head>>,
}

/// A log that was found in an open segment.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    key: LogKey,
    /// Among the open ones.
    segment: usize,
    found: LogPosition,
    time: Timestamp,
}

impl<'a> LogMerge<'a> {
    /// Opens no segment yet.
    pub(crate) fn new(segments: impl Iterator<Item = IndexedSegment<'a>>, filter: &LogFilter, cancel: &Cancel) -> Self {
        let mut filter = filter.clone();
        if let FirstTopic::OneOf(topics) = &mut filter.first_topic {
            topics.sort_unstable();
            topics.dedup();
        }
        let first = (*filter.blocks.start()).max(filter.after.map_or(0, |after| after.block));
        let last = *filter.blocks.end();
        let mut waiting: Vec<_> = segments
            .filter_map(|indexed| {
                let (from, to) = indexed.1.block_range()?;
                (from <= last && to >= first).then_some((from, indexed))
            })
            .collect();
        waiting.sort_unstable_by_key(|(from, (place, ..))| Reverse((*from, *place)));
        Self { filter, cancel: cancel.clone(), waiting, open: Vec::new(), heads: BinaryHeap::new() }
    }

    fn step(&mut self) -> Result<Option<Log>> {
        if self.waiting.is_empty() && self.heads.is_empty() {
            return Ok(None);
        }
        self.cancel.check()?;
        while let Some((first, _)) = self.waiting.last()
            && self.heads.peek().is_none_or(|Reverse(head)| *first <= head.key.block)
        {
            self.open_next()?;
        }
        let Some(Reverse(Head { key, segment: at, found, time })) = self.heads.pop() else { return Ok(None) };
        let (place, segment, cursor) = &self.open[at];
        let record = cursor.record(found, &self.filter)?;
        let head = TransactionHead {
            chain: segment.chain(),
            hash: key.hash,
            block: key.block,
            time,
            index: key.transaction_index,
        };
        let log = log(segment, TransactionRef(pack(*place, found.0)), head, record)?;
        self.advance(at)?;
        Ok(Some(log))
    }

    fn open_next(&mut self) -> Result<()> {
        let Some((_, (place, segment, file))) = self.waiting.pop() else { return Ok(()) };
        if let Some(cursor) = Cursor::open(segment, file.map(|file| &**file), &self.filter)? {
            self.open.push((place, segment, cursor));
            self.advance(self.open.len() - 1)?;
        }
        Ok(())
    }

    /// Finds the next log of an open segment.
    fn advance(&mut self, at: usize) -> Result<()> {
        let (_, segment, cursor) = &mut self.open[at];
        let Some(found) = cursor.next(&self.filter, &self.cancel)? else { return Ok(()) };
        let head = segment.head(found.0)?;
        let key = LogKey {
            block: head.block,
            transaction_index: head.index,
            hash: head.hash,
            log_index: segment.log_index(found.1)?,
        };
        self.heads.push(Reverse(Head { key, segment: at, found, time: head.time }));
        Ok(())
    }
}

impl Iterator for LogMerge<'_> {
    type Item = Result<Log>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            // One error ends the scan: what follows a hole must not look like the rest.
            self.waiting.clear();
            self.heads.clear();
        }
        step.transpose()
    }
}

/// The logs of a row of a segment, by index.
pub(crate) fn of_transaction(segment: &Segment, row: u32, transaction: TransactionRef) -> Result<Vec<Log>> {
    let head = segment.head(row)?;
    segment.logs_of(row)?.map(|number| log(segment, transaction, head, segment.log(number)?)).collect()
}

fn log(segment: &Segment, transaction: TransactionRef, head: TransactionHead, record: LogRecord) -> Result<Log> {
    let LogRecord { index, address, topics, data } = record;
    Ok(Log { transaction, head, index, contract: segment.address(address)?, topics, data })
}
