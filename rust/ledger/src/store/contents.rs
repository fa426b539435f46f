//! What one generation of a store consists of, on disk or in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_types::{BlockHash, Chain, Network, Timestamp};

use super::claims::Claims;
use super::feed::FeedState;
use super::imports::Imports;
use super::sidecars::{SidecarKind, Sidecars};
use crate::external::Scratch;
use crate::read::{Coverage, CoverageTable, Result};
use crate::segment::{self, Container, Segment, SegmentInput, Source, Spool};
use crate::{Cancel, LedgerError, Snapshot};

/// A file by its name in the store, and how to know it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileRef {
    pub(super) name: String,
    pub(super) length: u64,
    pub(super) digest: u128,
}

/// One live segment.
pub(super) struct Part {
    pub(super) file: FileRef,
    pub(super) segment: Arc<Segment>,
}

/// A followed block that may still be taken back.
#[derive(Clone)]
pub(super) struct TailBlock {
    pub(super) number: u64,
    pub(super) hash: BlockHash,
    pub(super) parent: BlockHash,
    pub(super) claims: Claims,
    pub(super) part: Arc<Part>,
}

/// What is held of one chain.
///
/// A transaction stands in one part only. Blocks, contracts and tokens may stand in several, which then say the same
/// of them: a commit that knows more rewrites every copy.
#[derive(Clone)]
pub(super) struct ChainContents {
    pub(super) network: Network,
    pub(super) sealed: Vec<Arc<Part>>,
    /// By number, each the parent of the next.
    pub(super) tail: Vec<TailBlock>,
    /// What is complete, the tail left out.
    pub(super) claims: Claims,
    /// The file that lists the claimed accounts.
    pub(super) accounts_file: Option<FileRef>,
    /// Names of sealed segments that passed what one segment can count when they were to be merged: not tried again.
    pub(super) apart: BTreeSet<String>,
    /// What is derived from the parts and kept beside them.
    pub(super) sidecars: Sidecars,
}

impl ChainContents {
    pub(super) const fn new(network: Network) -> Self {
        Self {
            network,
            sealed: Vec::new(),
            tail: Vec::new(),
            claims: Claims { ranges: BTreeMap::new(), accounts: BTreeMap::new() },
            accounts_file: None,
            apart: BTreeSet::new(),
            sidecars: Sidecars::NONE,
        }
    }

    /// All parts, the sealed ones first; places in this order name a part during a commit.
    pub(super) fn parts(&self) -> impl DoubleEndedIterator<Item = &Arc<Part>> {
        self.sealed.iter().chain(self.tail.iter().map(|block| &block.part))
    }

    /// Height of the highest block that is held.
    pub(super) fn head(&self) -> u64 {
        self.last_block().map_or(0, |(number, _)| number)
    }

    /// The last block that is held: the last one with a transaction, or an empty one behind it whose time is known, in a
    /// range in which no transaction is missing.
    fn last_block(&self) -> Option<(u64, Timestamp)> {
        let segments = || self.parts().map(|part| &part.segment);
        let last = segments().filter_map(|segment| segment.block_range()).map(|range| range.1).max();
        let time = segments().filter_map(|segment| segment.time_range()).map(|range| range.1).max();
        let ranges = |claims: &Claims| claims.ranges.get(&CoverageTable::Transactions)?.last().copied();
        let tail = self.tail.iter().filter_map(|block| ranges(&block.claims));
        let complete = ranges(&self.claims).into_iter().chain(tail).max_by_key(|range| range.1);
        // It stands with the last transactions, or with none. What cannot be read here is found by who answers from it.
        let empty = complete.filter(|range| last.is_none_or(|last| last < range.1)).and_then(|(first, to)| {
            let near =
                segments().rev().filter(|segment| segment.block_range().is_none_or(|range| Some(range.1) == last));
            let found = near.filter_map(|segment| segment.last_block_to(to).ok()?);
            let behind = found.filter(|block| block.number >= first && last.is_none_or(|last| block.number > last));
            behind.map(|block| (block.number, block.time)).max()
        });
        match (last.zip(time), empty) {
            (Some((_, time)), Some((number, of_empty))) => Some((number, time.max(of_empty))),
            (filled, empty) => empty.or(filled),
        }
    }

    fn all_claims(&self) -> Claims {
        let mut claims = self.claims.clone();
        self.tail.iter().for_each(|block| claims.add(&block.claims));
        claims
    }

    pub(super) fn coverage(&self) -> Coverage {
        let claims = self.all_claims();
        let last = self.last_block();
        let segments = || self.parts().map(|part| &part.segment);
        Coverage {
            network: self.network,
            ranges: claims.ranges,
            accounts: claims.accounts.iter().map(|(table, accounts)| (*table, accounts.len() as u64)).collect(),
            first_block: segments().filter_map(|segment| segment.block_range()).map(|range| range.0).min(),
            last_block: last.map(|(number, _)| number),
            first_time: segments().filter_map(|segment| segment.time_range()).map(|range| range.0).min(),
            last_time: last.map(|(_, time)| time),
            transactions: segments().map(|segment| u64::from(segment.transactions())).sum(),
            movements: segments().map(|segment| segment.movements()).sum(),
            approximate: segments().map(|segment| segment.marks().approximate).sum(),
        }
    }

    /// What is claimed, tail included, for the digest.
    pub(super) fn claimed(&self) -> Claims {
        self.all_claims()
    }
}

/// One generation.
#[derive(Clone, Default)]
pub(super) struct Contents {
    pub(super) generation: u64,
    pub(super) chains: BTreeMap<Chain, ChainContents>,
    pub(super) imports: Imports,
    /// Bytes of segments written by all generations up to this one.
    pub(super) written_bytes: u64,
    /// What was added and taken back.
    pub(super) feed: Arc<FeedState>,
}

impl Contents {
    pub(super) fn snapshot(&self) -> Snapshot {
        let parts = self.chains.values().flat_map(ChainContents::parts);
        let edges = self.chains.iter().flat_map(|(chain, held)| {
            let stamp = self.imports.stamp(*chain);
            held.parts().map(move |part| held.sidecars.edges_under(part, stamp))
        });
        Snapshot::new(
            self.generation,
            parts.map(|part| Arc::clone(&part.segment)).collect(),
            self.chains.iter().map(|(chain, held)| (*chain, held.coverage())).collect(),
            Arc::clone(&self.imports.registry),
            Arc::clone(&self.imports.prices),
        )
        .with_exchange_rates(Arc::clone(&self.imports.exchange_rates))
        .with_edges(edges.collect())
        .with_holders(self.holder_tables())
    }

    /// Every file but the manifest; those that the feed shares with the chains more than once.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileRef> {
        let of_chains = self.chains.values().flat_map(|held| {
            held.parts().map(|part| &part.file).chain(&held.accounts_file).chain(held.sidecars.files())
        });
        of_chains.chain(self.imports.versions.iter().map(|import| &import.file)).chain(self.feed.files())
    }
}

/// What writes a file, from front to back.
pub(super) type Writing<'a> = &'a mut dyn FnMut(&mut dyn Write) -> Result<()>;

/// Where new files are put: a folder, or memory.
pub(super) trait Storage {
    /// Where work goes that does not fit into memory.
    fn scratch(&self) -> Scratch;

    /// Keeps a segment, which `write` writes, and opens it.
    fn keep_segment(&mut self, chain: Chain, write: Writing<'_>) -> Result<Arc<Part>>;

    /// Keeps a file that is derived from segments, which `write` writes, and opens it.
    fn keep_sidecar(&mut self, kind: SidecarKind, chain: Chain, write: Writing<'_>) -> Result<(FileRef, Container)>;

    /// Keeps another file; `kind` is its folder and `extension` its ending.
    fn keep_file(&mut self, kind: &str, extension: &str, bytes: Vec<u8>) -> Result<FileRef>;
}

/// Builds a segment of facts and keeps it.
pub(super) fn keep_built(storage: &mut dyn Storage, input: &SegmentInput, cancel: &Cancel) -> Result<Arc<Part>> {
    let spool = Spool::within(&storage.scratch());
    storage.keep_segment(input.chain, &mut |out| segment::build_into(input, &spool, out, cancel).map(drop))
}

/// Merges segments and keeps the one they make.
pub(super) fn keep_merged(
    storage: &mut dyn Storage,
    (chain, network): (Chain, Network),
    sources: &[Source<'_>],
    merging: &dyn Fn(u64, u64),
    cancel: &Cancel,
) -> Result<Arc<Part>> {
    let scratch = storage.scratch();
    storage.keep_segment(chain, &mut |out| {
        segment::merge((chain, network), sources, &scratch, out, (merging, cancel)).map(drop)
    })
}

/// Writes bytes whose place the storage knows better than the error of the system.
pub(super) fn write_all(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    let failed = |source| LedgerError::Io { action: "cannot write", path: PathBuf::new(), source };
    out.write_all(bytes).map_err(failed)
}

/// The digest that knows a file again.
pub(super) fn file_digest(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}
