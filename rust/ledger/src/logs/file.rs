//! The index file of a segment: groups of logs by contract and first topic.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use headwater_types::Chain;

use super::MAX_GROUPS;
use super::records::FirstTopic;
use crate::LedgerError;
use crate::error::Result;
use crate::segment::{Container, PackedSections, PackedTable, Section, Segment, search};

pub(super) const SUMMARY: Section<Summary> = Section::new("log.summary");
/// Contract, and where the entries begin.
pub(super) const GROUPS: PackedSections =
    PackedSections { blocks: Section::new("log.groups"), starts: Section::new("log.groups#") };
/// Row, and position among the logs of the row.
pub(super) const ENTRIES: PackedSections =
    PackedSections { blocks: Section::new("log.entries"), starts: Section::new("log.entries#") };

/// Numbers about the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Summary {
    /// The number of accounts of its segment.
    pub(super) accounts: u64,
    pub(super) transactions: u64,
    pub(super) bytes: u64,
    pub(super) groups: u64,
    /// Logs of the segment, each of which has an entry.
    pub(super) logs: u64,
}

/// The place of a log in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) row: u32,
    /// Among the logs of the row.
    pub(super) position: u32,
}

/// The index of one segment, open.
pub(crate) struct LogFile {
    chain: Chain,
    summary: Summary,
    groups: PackedTable<2>,
    entries: PackedTable<2>,
}

impl LogFile {
    /// Reads the numbers about the whole file, not the tables.
    pub(crate) fn read(file: Container) -> Result<Self> {
        let file = Arc::new(file);
        let summary = file.column(SUMMARY)?.get(0)?;
        let (groups, entries) = (PackedTable::open(&file, GROUPS)?, PackedTable::open(&file, ENTRIES)?);
        Ok(Self { chain: file.chain()?, summary, groups, entries })
    }

    /// Returns whether it was built from a segment like this one.
    pub(crate) fn is_of(&self, segment: &Segment) -> bool {
        let Summary { accounts, transactions, bytes, .. } = self.summary;
        self.chain == segment.chain()
            && (accounts, transactions, bytes) == (segment.addresses(), segment.transactions().into(), segment.bytes())
    }

    /// The entries of the groups of a contract that pass, each in the order of the chain; `None` where there are too many
    /// groups to merge them.
    pub(super) fn entries_of(
        &self,
        segment: &Segment,
        contract: u32,
        first_topic: &FirstTopic,
    ) -> Result<Option<Vec<Range<usize>>>> {
        let groups = self.groups_of(contract)?;
        match first_topic {
            FirstTopic::Any if groups.len() > MAX_GROUPS => Ok(None),
            FirstTopic::Any => groups.map(|group| self.range(group)).collect::<Result<_>>().map(Some),
            FirstTopic::Absent => self.group(segment, groups, None).map(|found| Some(Vec::from_iter(found))),
            FirstTopic::OneOf(topics) => {
                let mut found = Vec::new();
                for topic in topics {
                    found.extend(self.group(segment, groups.clone(), Some(topic))?);
                }
                Ok(Some(found))
            }
        }
    }

    /// Entries of a range that lie at or behind `from` and before row `end`.
    pub(super) fn between(&self, entries: Range<usize>, from: Spot, end: u32) -> Result<Range<usize>> {
        let start = search(entries.clone(), |at| Ok(self.spot(at)? < from))?;
        let end = search(start..entries.end, |at| Ok(self.spot(at)?.row < end))?;
        Ok(start..end)
    }

    pub(super) fn spot(&self, at: usize) -> Result<Spot> {
        let [row, position] = self.entries.row(at)?;
        let narrow = |value: u64| u32::try_from(value).map_err(|_| self.entries.wrong(at, "is too large"));
        Ok(Spot { row: narrow(row)?, position: narrow(position)? })
    }

    /// The number of the log at a spot.
    pub(super) fn log(&self, segment: &Segment, spot: Spot) -> Result<usize> {
        if spot.row >= segment.transactions() {
            return Err(self.misleads());
        }
        let logs = segment.logs_of(spot.row)?;
        let log = logs.start.saturating_add(spot.position as usize);
        if log < logs.end { Ok(log) } else { Err(self.misleads()) }
    }

    #[cold]
    pub(super) fn misleads(&self) -> LedgerError {
        self.groups.wrong(0, "leads to other logs than those asked for")
    }

    fn groups_of(&self, contract: u32) -> Result<Range<usize>> {
        let all = 0..usize::try_from(self.summary.groups).unwrap_or(usize::MAX);
        let start = search(all.clone(), |at| Ok(self.groups.value(at, 0)? < u64::from(contract)))?;
        let end = search(start..all.end, |at| Ok(self.groups.value(at, 0)? == u64::from(contract)))?;
        Ok(start..end)
    }

    /// The entries of the group of a topic, among those of a contract.
    fn group(&self, segment: &Segment, groups: Range<usize>, topic: Option<&[u8; 32]>) -> Result<Option<Range<usize>>> {
        let place = search(groups.clone(), |at| Ok(self.topic(segment, at)?.as_ref() < topic))?;
        if place == groups.end || self.topic(segment, place)?.as_ref() != topic {
            return Ok(None);
        }
        self.range(place).map(Some)
    }

    /// The first topic that the logs of a group share.
    fn topic(&self, segment: &Segment, group: usize) -> Result<Option<[u8; 32]>> {
        segment.first_topic(self.log(segment, self.spot(self.range(group)?.start)?)?)
    }

    fn range(&self, group: usize) -> Result<Range<usize>> {
        let is_last = group as u64 + 1 >= self.summary.groups;
        let start = self.groups.value(group, 1)?;
        let end = if is_last { self.summary.logs } else { self.groups.value(group + 1, 1)? };
        match (usize::try_from(start), usize::try_from(end)) {
            (Ok(start), Ok(end)) if start < end && end as u64 <= self.summary.logs => Ok(start..end),
            _ => Err(self.groups.wrong(group, "has no entries")),
        }
    }
}
