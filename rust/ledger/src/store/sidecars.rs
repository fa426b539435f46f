//! What is derived from the segments of a chain and kept in files beside them: it may be missing or stale, and is then
//! built anew from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_types::{Chain, Family};

use super::contents::{ChainContents, Contents, FileRef, Part, Storage};
use crate::Cancel;
use crate::edges::{self, EdgeFile};
use crate::holders::{self, HolderFile, HolderTable};
use crate::market::MarketStamp;
use crate::read::Result;
use crate::segment::{Segment, Spool};

/// Files that are derived from segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SidecarKind {
    /// The edges of a segment.
    Edges,
    /// The holder table of a chain.
    Holders,
}

impl SidecarKind {
    /// The name of its folder, and how its files end.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Edges => "edges",
            Self::Holders => "holders",
        }
    }
}

/// One live edge file.
pub(super) struct EdgePart {
    pub(super) file: FileRef,
    pub(super) edges: Arc<EdgeFile>,
}

/// The sidecars of one chain.
#[derive(Clone)]
pub(super) struct Sidecars {
    /// By the name of the segment's file. A name stands for one content: names are given once.
    pub(super) edges: BTreeMap<String, Arc<EdgePart>>,
    pub(super) holders: Option<Arc<HolderPart>>,
}

/// One live holder table.
pub(super) struct HolderPart {
    pub(super) file: FileRef,
    /// Names of the files of the segments it covers, in the order it numbers them.
    pub(super) covers: Vec<String>,
    pub(super) holders: Arc<HolderFile>,
}

/// Which segments are to have an edge file.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// Those large enough.
    Large,
    /// Those that were not there before and will last, or have an account too large to group on reading.
    New(&'a Contents),
    /// All of them, for tests.
    All,
}

impl Sidecars {
    pub(super) const NONE: Self = Self { edges: BTreeMap::new(), holders: None };

    pub(super) fn files(&self) -> impl Iterator<Item = &FileRef> {
        self.edges.values().map(|edges| &edges.file).chain(self.holders.as_ref().map(|holders| &holders.file))
    }

    pub(super) fn edges_of(&self, part: &Part) -> Option<&Arc<EdgePart>> {
        self.edges.get(&part.file.name)
    }

    /// The edges of a part, unless they are missing or stale.
    pub(super) fn edges_under(&self, part: &Part, stamp: MarketStamp) -> Option<Arc<EdgeFile>> {
        let edges = &self.edges_of(part)?.edges;
        (edges.stamp() == stamp && edges.is_of(&part.segment)).then(|| Arc::clone(edges))
    }
}

impl Contents {
    /// Drops the sidecars of segments that are gone.
    pub(super) fn drop_orphans(&mut self) {
        for held in self.chains.values_mut() {
            let names: Vec<String> = held.parts().map(|part| part.file.name.clone()).collect();
            held.sidecars.edges.retain(|name, _| names.contains(name));
            // A table whose segment was rewritten no longer adds up with those that are newer.
            held.sidecars.holders =
                held.sidecars.holders.take().filter(|holders| holders.covers.iter().all(|name| names.contains(name)));
        }
    }

    fn has(&self, chain: Chain, part: &Part) -> bool {
        self.chains.get(&chain).is_some_and(|held| held.parts().any(|known| known.file.name == part.file.name))
    }

    /// With edges for every segment that is wanted to have them and has none, or stale ones; `None` when there is
    /// nothing to build. `progress` hears of (postings done, in all).
    pub(super) fn with_edges(
        &self,
        wanted: Wanted<'_>,
        storage: &mut dyn Storage,
        progress: &dyn Fn(u64, u64),
        cancel: &Cancel,
    ) -> Result<Option<Self>> {
        let mut missing = Vec::new();
        for (chain, held) in &self.chains {
            missing.extend(self.missing(*chain, held, wanted)?);
        }
        if missing.is_empty() {
            return Ok(None);
        }
        let total = missing.iter().map(|(_, part)| weight(part)).sum();
        let mut after = self.clone();
        let mut before = 0;
        for (chain, part) in missing {
            let terms = edges::Terms { registry: &self.imports.registry, prices: &self.imports.prices };
            let spool = Spool::within(&storage.scratch());
            let (file, opened) = storage.keep_sidecar(SidecarKind::Edges, chain, &mut |out| {
                edges::build(&part.segment, terms, &spool, out, &mut |done| progress(before + done, total), cancel)
            })?;
            if let Some(held) = after.chains.get_mut(&chain) {
                let edges = Arc::new(EdgeFile::read(opened)?);
                held.sidecars.edges.insert(part.file.name.clone(), Arc::new(EdgePart { file, edges }));
            }
            before += weight(&part);
        }
        Ok(Some(after))
    }

    /// With holder tables over all sealed segments of the chains that lack one, or where too much is outside of it;
    /// `None` when there is nothing to build. `progress` hears of (accounts done, at most).
    pub(super) fn with_holders(
        &self,
        wanted: Wanted<'_>,
        storage: &mut dyn Storage,
        progress: &dyn Fn(u64, u64),
        cancel: &Cancel,
    ) -> Result<Option<Self>> {
        let mut after = None;
        for (chain, held) in &self.chains {
            if held.sealed.is_empty() || !held.wants_holders(wanted)? {
                continue;
            }
            let segments: Vec<&Segment> = held.sealed.iter().map(|part| &*part.segment).collect();
            let accounts = segments.iter().map(|segment| segment.addresses()).sum();
            let scratch = storage.scratch();
            let (file, opened) = storage.keep_sidecar(SidecarKind::Holders, *chain, &mut |out| {
                holders::build(&segments, &scratch, out, &|done| progress(done, accounts), cancel)
            })?;
            progress(accounts, accounts);
            let covers = held.sealed.iter().map(|part| part.file.name.clone()).collect();
            let part = HolderPart { file, covers, holders: Arc::new(HolderFile::read(opened)?) };
            let contents = after.get_or_insert_with(|| self.clone());
            if let Some(held) = contents.chains.get_mut(chain) {
                held.sidecars.holders = Some(Arc::new(part));
            }
        }
        Ok(after)
    }

    /// The holder tables, with the places of the segments that they cover among those of all chains.
    pub(super) fn holder_tables(&self) -> Vec<(Chain, HolderTable)> {
        let mut tables = Vec::new();
        let mut first = 0_u32;
        for (chain, held) in &self.chains {
            let names: Vec<&str> = held.parts().map(|part| part.file.name.as_str()).collect();
            if let Some(holders) = &held.sidecars.holders {
                let place = |name: &String| names.iter().zip(first..).find(|(known, _)| *known == name);
                let covered: Option<Vec<u32>> =
                    holders.covers.iter().map(|name| place(name).map(|(_, place)| place)).collect();
                if let Some(covered) = covered {
                    tables.push((*chain, HolderTable { file: Arc::clone(&holders.holders), covered }));
                }
            }
            first += u32::try_from(names.len()).unwrap_or(u32::MAX);
        }
        tables
    }

    /// How many sidecars of a chain are wanted that are missing or stale.
    pub(super) fn underived(&self, chain: Chain, held: &ChainContents) -> Result<u64> {
        let edges = self.missing(chain, held, Wanted::Large)?.len() as u64;
        let holders = !held.sealed.is_empty() && held.wants_holders(Wanted::Large)?;
        Ok(edges + u64::from(holders))
    }

    fn missing(&self, chain: Chain, held: &ChainContents, wanted: Wanted<'_>) -> Result<Vec<(Chain, Arc<Part>)>> {
        let mut missing = Vec::new();
        if chain.family() == Family::Utxo {
            return Ok(missing);
        }
        let stamp = self.imports.stamp(chain);
        for part in held.parts() {
            let movements = part.segment.movements();
            let is_wanted = match wanted {
                Wanted::Large => movements >= edges::LEAST_MOVEMENTS,
                Wanted::New(before) => {
                    movements >= edges::LEAST_MOVEMENTS
                        && !before.has(chain, part)
                        && (movements >= edges::LASTING_MOVEMENTS
                            || part.segment.most_postings()? > edges::MOST_GROUPED)
                }
                Wanted::All => true,
            };
            if is_wanted && held.sidecars.edges_under(part, stamp).is_none() {
                missing.push((chain, Arc::clone(part)));
            }
        }
        Ok(missing)
    }
}

impl ChainContents {
    /// Whether a holder table is to be built. One is rewritten when a quarter of what it holds came after it, so that
    /// each movement is read for it a few times at most.
    fn wants_holders(&self, wanted: Wanted<'_>) -> Result<bool> {
        let is_covered = |part: &Part| {
            self.sidecars.holders.as_ref().is_some_and(|holders| holders.covers.contains(&part.file.name))
        };
        let parts = |covered: bool| -> Vec<&Segment> {
            let parts = self.sealed.iter().filter(|part| is_covered(part) == covered);
            parts.map(|part| &*part.segment).collect()
        };
        let (covered, newer) = (parts(true), parts(false));
        let is_overtaken = holders::is_overtaken(&covered, &newer)?;
        let changes = |segments: &[&Segment]| segments.iter().map(|segment| segment.balance_changes()).sum::<u64>();
        let (covered, newer) = (changes(&covered), changes(&newer));
        Ok(match wanted {
            Wanted::All => newer > 0 || self.sidecars.holders.is_none(),
            Wanted::Large | Wanted::New(_) => {
                is_overtaken && covered >= LEAST_HOLDINGS || newer >= LEAST_HOLDINGS && newer > covered / 4
            }
        })
    }
}

/// Movements and opening balances outside of a holder table from which on it is worth to be built.
const LEAST_HOLDINGS: u64 = 1 << 18;

/// Postings of a segment: each movement stands under both its ends.
fn weight(part: &Part) -> u64 {
    part.segment.movements() * 2
}
