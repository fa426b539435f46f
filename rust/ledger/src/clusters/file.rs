//! The table file: members of clusters, and the member that each account is.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use headwater_types::{Chain, TxHash};

use super::records::{ClusterJoin, FirstSeen, Member};
use crate::LedgerError;
use crate::error::Result;
use crate::segment::{Column, Container, PackedSections, PackedTable, Section, Segment, search};

pub(super) const SUMMARY: Section<Summary> = Section::new("cluster.summary");
/// The first member of each cluster, which names it.
pub(super) const STARTS: PackedSections =
    PackedSections { blocks: Section::new("cluster.starts"), starts: Section::new("cluster.starts#") };
/// Members, cluster after cluster, by first appearance: segment, local id, the four parts of [`FirstSeen`], and the
/// member that named the older cluster when its own was joined.
pub(super) const MEMBERS: PackedSections =
    PackedSections { blocks: Section::new("cluster.members"), starts: Section::new("cluster.members#") };
/// The transaction that joined it; zeros for the one that names the cluster.
pub(super) const EVIDENCE: Section<[u8; 32]> = Section::new("cluster.evidence");
/// For each account of each segment the member that it is, plus one; 0 for those in no cluster.
pub(super) const MEMBER_OF: PackedSections =
    PackedSections { blocks: Section::new("cluster.of"), starts: Section::new("cluster.of#") };

/// Numbers about the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Summary {
    pub(super) segments: u64,
    /// The number of accounts of all segments.
    pub(super) accounts: u64,
    pub(super) clusters: u64,
    pub(super) members: u64,
}

/// A row of the members.
pub(super) struct MemberRow {
    /// The segment, by its number in the file.
    pub(super) segment: usize,
    /// Its local id there.
    pub(super) id: u32,
    pub(super) first: FirstSeen,
    /// The transaction that joined it, and the member that named the older cluster.
    pub(super) joined: Option<(TxHash, usize)>,
}

/// The cluster table of some segments, open.
pub(crate) struct ClusterFile {
    chain: Chain,
    summary: Summary,
    starts: PackedTable<1>,
    members: PackedTable<7>,
    evidence: Column<[u8; 32]>,
    member_of: PackedTable<1>,
}

impl ClusterFile {
    /// Reads the numbers about the whole file, not the tables.
    pub(crate) fn read(file: Container) -> Result<Self> {
        let file = Arc::new(file);
        Ok(Self {
            chain: file.chain()?,
            summary: file.column(SUMMARY)?.get(0)?,
            starts: PackedTable::open(&file, STARTS)?,
            members: PackedTable::open(&file, MEMBERS)?,
            evidence: file.column(EVIDENCE)?,
            member_of: PackedTable::open(&file, MEMBER_OF)?,
        })
    }

    /// Returns whether it was built from segments like these, in this order.
    pub(crate) fn is_of(&self, segments: &[&Segment]) -> bool {
        self.summary.segments == segments.len() as u64
            && self.summary.accounts == segments.iter().map(|segment| segment.addresses()).sum::<u64>()
            && segments.iter().all(|segment| segment.chain() == self.chain)
    }

    pub(super) fn members(&self) -> usize {
        index(self.summary.members)
    }

    /// The member that an account is, by its number among those of all segments.
    pub(super) fn member_at(&self, account: usize) -> Result<Option<usize>> {
        let member = self.member_of.value(account, 0)?.checked_sub(1).map(index);
        if member.is_some_and(|member| member >= self.members()) {
            return Err(self.member_of.wrong(account, "is a member that there is not"));
        }
        Ok(member)
    }

    /// The cluster of an account of a segment that it covers; `first` is the number of accounts of the segments before.
    pub(super) fn cluster_of(&self, first: u64, id: u32) -> Result<Option<u32>> {
        let at = index(first.saturating_add(u64::from(id)));
        let Some(member) = self.member_at(at)? else { return Ok(None) };
        let behind = search(0..index(self.summary.clusters), |at| Ok(index(self.starts.value(at, 0)?) <= member))?;
        let cluster = behind.checked_sub(1).and_then(|cluster| u32::try_from(cluster).ok());
        cluster.ok_or_else(|| self.member_of.wrong(at, "is a member of no cluster")).map(Some)
    }

    pub(super) fn size(&self, cluster: u32) -> Result<u64> {
        let range = self.range(cluster)?;
        Ok((range.end - range.start) as u64)
    }

    /// The member that names a cluster.
    pub(super) fn name(&self, cluster: u32) -> Result<usize> {
        Ok(self.range(cluster)?.start)
    }

    /// The members of a cluster that appear behind a place.
    pub(super) fn behind(&self, cluster: u32, after: Option<FirstSeen>) -> Result<Range<usize>> {
        let range = self.range(cluster)?;
        let Some(after) = after else { return Ok(range) };
        let start = search(range.clone(), |at| Ok(self.first(at)? <= after))?;
        Ok(start..range.end)
    }

    /// Returns where a member appears first.
    pub(super) fn first(&self, member: usize) -> Result<FirstSeen> {
        Ok(self.stored(member)?.first)
    }

    /// A row of the members.
    pub(super) fn stored(&self, member: usize) -> Result<MemberRow> {
        let [segment, id, block, at, hash, position, into] = self.members.row(member)?;
        let narrow = |value: u64| u32::try_from(value).map_err(|_| self.members.wrong(member, "is too large"));
        let into = index(into);
        let joined = if into == member { None } else { Some((TxHash::new(self.evidence.get(member)?), into)) };
        Ok(MemberRow {
            segment: index(segment),
            id: narrow(id)?,
            first: FirstSeen { block, index: narrow(at)?, hash, position: narrow(position)? },
            joined,
        })
    }

    /// A member; `covered` are the places of the segments that the file covers.
    pub(super) fn member(&self, member: usize, segments: &[Arc<Segment>], covered: &[u32]) -> Result<Member> {
        let address = |stored: &MemberRow| {
            let place = covered.get(stored.segment).ok_or_else(|| self.misleads(member))?;
            segments.get(*place as usize).ok_or_else(|| self.misleads(member))?.address(stored.id)
        };
        let stored = self.stored(member)?;
        let joined = match stored.joined {
            None => None,
            Some((transaction, into)) => Some(ClusterJoin { transaction, into: address(&self.stored(into)?)? }),
        };
        Ok(Member { address: address(&stored)?, first: stored.first, joined })
    }

    #[cold]
    pub(super) fn misleads(&self, member: usize) -> LedgerError {
        self.members.wrong(member, "leads to a segment or a member that there is not")
    }

    fn range(&self, cluster: u32) -> Result<Range<usize>> {
        let at = cluster as usize;
        let start = self.starts.value(at, 0)?;
        let is_last = u64::from(cluster) + 1 >= self.summary.clusters;
        let end = if is_last { self.summary.members } else { self.starts.value(at + 1, 0)? };
        if start < end && end <= self.summary.members { Ok(index(start)..index(end)) } else { Err(self.wrong(at)) }
    }

    #[cold]
    fn wrong(&self, cluster: usize) -> LedgerError {
        self.starts.wrong(cluster, "has no members")
    }
}

fn index(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
