//! Event logs: numbered in the order of their rows, inside a row by log index.

use std::ops::Range;
use std::sync::Arc;

use super::super::column::{Blobs, Offsets};
use super::super::container::{Column, Container};
use super::super::layout;
use super::super::pack::{BLOCK, Ints};
use super::super::record::LogRecord;
use super::Segment;
use crate::error::Result;

/// The columns of logs.
pub(super) struct Logs {
    offsets: Offsets,
    indexes: Ints,
    addresses: Ints,
    topic_offsets: Offsets,
    topics: Column<[u8; 32]>,
    /// Places among the topics, which are mostly distinct.
    topic_ids: Ints,
    data: Ints,
}

impl Logs {
    pub(super) fn open(file: &Arc<Container>) -> Result<Self> {
        Ok(Self {
            offsets: Offsets::open(file, layout::TX_LOGS)?,
            indexes: Ints::open(file, layout::LOG_INDEXES)?,
            addresses: Ints::open(file, layout::LOG_ADDRESSES)?,
            topic_offsets: Offsets::open(file, layout::LOG_TOPICS)?,
            topics: file.column(layout::TOPICS)?,
            topic_ids: Ints::open(file, layout::TOPIC_IDS)?,
            data: Ints::open(file, layout::LOG_DATA)?,
        })
    }

    pub(super) fn of(&self, row: u32, blobs: &Blobs, into: &mut Vec<LogRecord>) -> Result<()> {
        into.clear();
        for log in self.offsets.get(row)? {
            into.push(self.record(log, blobs)?);
        }
        Ok(())
    }

    fn record(&self, log: usize, blobs: &Blobs) -> Result<LogRecord> {
        Ok(LogRecord {
            index: self.indexes.get(log)?,
            address: self.addresses.id(log)?,
            topics: self.topics_of(log)?.map(|at| self.topic(at)).collect::<Result<_>>()?,
            data: blobs.get(self.data.id(log)?)?.to_vec(),
        })
    }

    fn topics_of(&self, log: usize) -> Result<Range<usize>> {
        self.topic_offsets.get(self.number(log)?)
    }

    fn topic(&self, at: usize) -> Result<[u8; 32]> {
        self.topics.get(self.topic_ids.id(at)? as usize)
    }

    fn number(&self, log: usize) -> Result<u32> {
        u32::try_from(log).map_err(|_| self.indexes.outside(log))
    }
}

impl Segment {
    fn log_columns(&self) -> &Logs {
        &self.transactions.logs
    }

    /// About the number of event logs: that number, rounded up to a multiple of 128. Reads nothing.
    pub(crate) fn max_logs(&self) -> u64 {
        (self.log_columns().indexes.blocks() * BLOCK) as u64
    }

    /// The numbers of the logs of a row.
    pub(crate) fn logs_of(&self, row: u32) -> Result<Range<usize>> {
        self.log_columns().offsets.get(row)
    }

    /// The row of a log.
    pub(crate) fn row_of_log(&self, log: usize) -> Result<u32> {
        let columns = self.log_columns();
        columns.offsets.row_of(columns.number(log)?)
    }

    /// The index of a log in its block.
    pub(crate) fn log_index(&self, log: usize) -> Result<u64> {
        self.log_columns().indexes.get(log)
    }

    /// Appends the contracts of a range of logs, as accounts.
    pub(crate) fn log_contracts(&self, logs: Range<usize>, into: &mut Vec<u64>) -> Result<()> {
        self.log_columns().addresses.read(logs, into)
    }

    /// The account of a number that was read.
    pub(crate) fn known_account(&self, number: u64) -> Result<u32> {
        let known = u32::try_from(number).ok().filter(|id| u64::from(*id) < self.addresses());
        known.ok_or_else(|| self.log_columns().addresses.wrong(0, "names an account that is not there"))
    }

    /// The first topic of a log; `None` when it has no topics.
    pub(crate) fn first_topic(&self, log: usize) -> Result<Option<[u8; 32]>> {
        let columns = self.log_columns();
        let topics = columns.topics_of(log)?;
        topics.into_iter().next().map(|first| columns.topic(first)).transpose()
    }

    /// All of a log.
    pub(crate) fn log(&self, log: usize) -> Result<LogRecord> {
        self.log_columns().record(log, &self.blobs)
    }
}
