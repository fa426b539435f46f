//! The contents of one generation of a store, on disk or in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_types::{Address, Chain, Network, Timestamp};

use super::claims::Claims;
use super::feed::FeedState;
use super::imports::Imports;
use super::parts::{FileRef, Part, TailBlock};
use super::sidecar::Sidecars;
use crate::read::{Coverage, CoverageTable};
use crate::snapshot::CarriedTables;

/// The contents of one chain.
///
/// A transaction is in one part only. Blocks, contracts and tokens may be in several. A commit that adds to what final parts
/// say of one rewrites every copy. Blocks and tokens of the tail have their copy in the part of their block, with which it is taken
/// back.
#[derive(Clone)]
pub(super) struct ChainContents {
    pub(super) network: Network,
    pub(super) sealed: Vec<Arc<Part>>,
    /// By number, each the parent of the next.
    pub(super) tail: Vec<TailBlock>,
    /// The ranges that are complete, the tail left out.
    pub(super) claims: Claims,
    /// The file that lists the claimed accounts.
    pub(super) accounts_file: Option<FileRef>,
    /// Names of sealed segments that passed what one segment can count when they were to be merged: not tried again.
    pub(super) apart: BTreeSet<String>,
    /// The files that are derived from the parts and kept beside them.
    pub(super) sidecars: Sidecars,
    /// Tables that generations derive of the chain and pass on.
    pub(super) carried: Arc<CarriedTables>,
}

impl ChainContents {
    pub(super) fn new(network: Network) -> Self {
        Self {
            network,
            sealed: Vec::new(),
            tail: Vec::new(),
            claims: Claims { ranges: BTreeMap::new(), accounts: BTreeMap::new() },
            accounts_file: None,
            apart: BTreeSet::new(),
            sidecars: Sidecars::NONE,
            carried: Arc::default(),
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
        // It is with the last transactions, or with none. What cannot be read here is found by who answers from it.
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

    /// The accounts whose own history is complete in some table.
    pub(super) fn whole_histories(&self) -> BTreeSet<Address> {
        self.all_claims().accounts.into_values().flatten().collect()
    }

    /// Returns what is claimed, tail included, for the digest.
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
    /// The blocks that were added and taken back.
    pub(super) feed: Arc<FeedState>,
}

impl Contents {
    /// Every file but the manifest; those that the feed shares with the chains more than once.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileRef> {
        let of_chains = self.chains.values().flat_map(|held| {
            held.parts()
                .map(|part| &part.file)
                .chain(&held.accounts_file)
                .chain(held.sidecars.all().map(|(_, sidecar)| &sidecar.file))
        });
        let of_imports = self.imports.versions.iter().map(|import| &import.file).chain(&self.imports.disputes.file);
        of_chains.chain(of_imports).chain(self.feed.files())
    }
}
