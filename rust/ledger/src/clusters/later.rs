//! Changes that segments behind the table make to its clusters.

use std::sync::{Arc, Mutex, PoisonError};

use headwater_types::{Address, TxHash};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::base::Base;
use super::file::ClusterFile;
use super::forest::Forest;
use super::link::Link;
use super::payments::{NumberedSegment, Payment, Payments, first_in};
use super::records::{Cluster, ClusterJoin, FirstSeen, Member, Root};
use crate::Cancel;
use crate::error::Result;
use crate::lineage::{SegmentDiff, SegmentIdentity, compare};
use crate::primitives::unpack;
use crate::segment::AccountFilter;

/// The member that a node of the forest stands for.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// A cluster of the table.
    Stored(u32),
    /// An address that is in none of them.
    Single(Address),
}

/// Clusters that became one, or grew, or came to be, behind the table. Refers to no segment, so that the next generation
/// can continue from it.
#[derive(Clone)]
pub(super) struct LaterClusters {
    forest: Forest,
    parts: Vec<Part>,
    by_cluster: FxHashMap<u32, u32>,
    by_address: FxHashMap<Address, u32>,
    /// The node behind each one, in a ring of those under one root.
    next: Vec<u32>,
    /// The number of addresses under each root; of others, what it was while they were roots.
    sizes: Vec<u64>,
}

impl Default for LaterClusters {
    fn default() -> Self {
        Self::NONE
    }
}

impl LaterClusters {
    pub(super) const NONE: Self = Self {
        forest: Forest::NONE,
        parts: Vec::new(),
        by_cluster: FxHashMap::with_hasher(FxBuildHasher),
        by_address: FxHashMap::with_hasher(FxBuildHasher),
        next: Vec::new(),
        sizes: Vec::new(),
    };

    pub(super) fn of_cluster(&self, cluster: u32) -> Option<u32> {
        self.by_cluster.get(&cluster).copied()
    }

    pub(super) fn of_address(&self, address: &Address) -> Option<u32> {
        self.by_address.get(address).copied()
    }

    /// The cluster that a node is in.
    pub(super) fn cluster(&self, base: &Base<'_>, node: u32) -> Result<Cluster> {
        let root = self.forest.root_of(node);
        Ok(Cluster { name: self.name(base, root)?, size: self.sizes[root as usize], root: Root::Later(root) })
    }

    /// The first members of a root behind a place.
    pub(super) fn members(
        &self,
        base: &Base<'_>,
        root: u32,
        after: Option<FirstSeen>,
        limit: usize,
    ) -> Result<Vec<Member>> {
        let mut found: Vec<(FirstSeen, u32, Option<usize>)> = Vec::new();
        for node in self.ring(root) {
            let first = self.forest.nodes()[node as usize].first;
            match (self.parts[node as usize], base.table) {
                (Part::Stored(cluster), Some((file, _))) => {
                    for member in file.behind(cluster, after)?.take(limit) {
                        found.push((file.first(member)?, node, Some(member)));
                    }
                }
                _ if after.is_some_and(|after| first <= after) => {}
                _ => found.push((first, node, None)),
            }
        }
        found.sort_unstable();
        found.truncate(limit);
        let member = |(first, node, stored): (FirstSeen, u32, Option<usize>)| {
            // Only the name of a cluster is joined to another one.
            let is_name = first == self.forest.nodes()[node as usize].first;
            let joined = match self.forest.nodes()[node as usize].joined.filter(|_| is_name) {
                Some((transaction, into)) => Some(ClusterJoin { transaction, into: self.name(base, into)? }),
                None => None,
            };
            match (stored, base.table, self.parts[node as usize]) {
                (Some(stored), Some((file, covered)), _) => {
                    let member = file.member(stored, base.segments, covered)?;
                    Ok(Member { joined: joined.or(member.joined), ..member })
                }
                (_, _, Part::Single(address)) => Ok(Member { address, first, joined }),
                (_, _, Part::Stored(_)) => Ok(Member { address: self.name(base, node)?, first, joined }),
            }
        };
        found.into_iter().map(member).collect()
    }

    /// The address that names a node.
    fn name(&self, base: &Base<'_>, node: u32) -> Result<Address> {
        match (self.parts[node as usize], base.table) {
            (Part::Single(address), _) => Ok(address),
            (Part::Stored(cluster), Some((file, covered))) => {
                Ok(file.member(file.name(cluster)?, base.segments, covered)?.address)
            }
            (Part::Stored(_), None) => unreachable!("without a table no cluster is stored"),
        }
    }

    /// Reads further segments; `all` are those of the chain.
    pub(super) fn extend(
        &mut self,
        base: Base<'_>,
        all: &[NumberedSegment<'_>],
        newer: &[u32],
        cancel: &Cancel,
    ) -> Result<()> {
        let numbers: Vec<usize> = newer.iter().filter_map(|place| all.iter().position(|(of, _)| of == place)).collect();
        let read: Vec<NumberedSegment<'_>> = numbers.iter().map(|number| all[*number]).collect();
        let mut payments = Payments::of(&read, &|_| {}, cancel)?;
        let search = AppearanceOrder::of(&base, all);
        while let Some(payment) = payments.next()? {
            self.add(&base, (all, &search), numbers[payment.segment], &payment)?;
        }
        Ok(())
    }

    /// The nodes under a root.
    fn ring(&self, root: u32) -> impl Iterator<Item = u32> {
        let behind = move |node: &u32| Some(self.next[*node as usize]).filter(|next| *next != root);
        std::iter::successors(Some(root), behind)
    }

    fn join(&mut self, one: u32, other: u32, by: TxHash) {
        if let Some((older, younger)) = self.forest.join(one, other, by) {
            self.next.swap(older as usize, younger as usize);
            self.sizes[older as usize] += self.sizes[younger as usize];
        }
    }

    fn push(&mut self, first: FirstSeen, part: Part, size: u64) -> u32 {
        let node = self.forest.push(first);
        self.parts.push(part);
        self.next.push(node);
        self.sizes.push(size);
        node
    }

    fn add(&mut self, base: &Base<'_>, all: SearchScope<'_>, segment: usize, payment: &Payment) -> Result<()> {
        if let Link::Consolidates(address) = &payment.link
            && !self.consolidates(base, all, (segment, payment), address)?
        {
            return Ok(());
        }
        let (place, row) = unpack(payment.transaction.0);
        let hash = base.segments[place as usize].hash(row)?;
        let first = self.node(base, all, segment, payment.payers[0])?;
        for payer in &payment.payers[1..] {
            let node = self.node(base, all, segment, *payer)?;
            self.join(first, node, hash);
        }
        Ok(())
    }

    /// Returns whether an address is in the cluster of one of the payers already.
    fn consolidates(
        &mut self,
        base: &Base<'_>,
        all: SearchScope<'_>,
        (segment, payment): (usize, &Payment),
        address: &Address,
    ) -> Result<bool> {
        let Some(id) = all.0[segment].1.account(address)? else { return Ok(false) };
        let node = self.node(base, all, segment, id)?;
        let root = self.forest.root(node);
        for payer in &payment.payers {
            let node = self.node(base, all, segment, *payer)?;
            if self.forest.root(node) == root {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn node(&mut self, base: &Base<'_>, (all, search): SearchScope<'_>, segment: usize, id: u32) -> Result<u32> {
        let address = all[segment].1.address(id)?;
        if let Some(node) = self.by_address.get(&address) {
            return Ok(*node);
        }
        let mut first = None;
        for number in &search.covered {
            let (place, covered) = all[*number];
            let Some(id) = covered.account(&address)? else { continue };
            if let Some((file, cluster)) = base.stored_at(place, id)? {
                return self.stored(file, cluster);
            }
            first = first.into_iter().chain(first_in(covered, id)?).min();
        }
        // What the table covers is before all others.
        let newer = if first.is_none() { &search.newer[..] } else { &[] };
        for (from, number, filter) in newer {
            if first.is_some_and(|first: FirstSeen| first.block < *from) {
                break;
            }
            let newer = all[*number].1;
            let id = if *number == segment { Some(id) } else { filter.account(newer, &address)? };
            let found = id.map(|id| first_in(newer, id)).transpose()?.flatten();
            first = first.into_iter().chain(found).min();
        }
        let Some(first) = first else { return Err(all[segment].1.miscounted(id)) };
        let node = self.push(first, Part::Single(address), 1);
        self.by_address.insert(address, node);
        Ok(node)
    }

    /// The node of a cluster of the table.
    fn stored(&mut self, file: &ClusterFile, cluster: u32) -> Result<u32> {
        if let Some(node) = self.by_cluster.get(&cluster) {
            return Ok(*node);
        }
        let node = self.push(file.first(file.name(cluster)?)?, Part::Stored(cluster), file.size(cluster)?);
        self.by_cluster.insert(cluster, node);
        Ok(node)
    }

    /// Returns whether a node is in a cluster, and not an address by itself.
    pub(super) fn is_cluster(&self, node: u32) -> bool {
        self.sizes[self.forest.root_of(node) as usize] > 1
    }
}

/// The segments of the chain, and the order in which they are searched.
type SearchScope<'a> = (&'a [NumberedSegment<'a>], &'a AppearanceOrder);

/// The order in which segments are searched for the first appearance of an address. All are places in a list.
struct AppearanceOrder {
    /// Those that the table covers.
    covered: Vec<usize>,
    /// The others by their first block, which is with them.
    newer: Vec<(u64, usize, Arc<AccountFilter>)>,
}

impl AppearanceOrder {
    fn of(base: &Base<'_>, all: &[NumberedSegment<'_>]) -> Self {
        let (covered, newer): (Vec<usize>, Vec<usize>) =
            (0..all.len()).partition(|number| base.covered().contains(&all[*number].0));
        let with_block = |number: usize| {
            let segment = all[number].1;
            Some((segment.block_range()?.0, number, segment.derived.get()))
        };
        let mut newer: Vec<(u64, usize, Arc<AccountFilter>)> = newer.into_iter().filter_map(with_block).collect();
        newer.sort_unstable_by_key(|(from, number, _)| (*from, *number));
        Self { covered, newer }
    }
}

/// States that are kept: the newest, and those before it for blocks that are taken back.
const MAX_STATES: usize = 3;

/// The clusters that generations before found, for the next one.
#[derive(Default)]
pub(crate) struct ClusterCache(Mutex<Vec<CachedClusters>>);

/// The clusters of the segments of a generation.
struct CachedClusters {
    /// The table that they are behind.
    table: Option<Arc<ClusterFile>>,
    known: Vec<SegmentIdentity>,
    later: Arc<LaterClusters>,
}

impl ClusterCache {
    /// Returns the clusters of as many of some segments as possible behind a table, and the places of the others, all of
    /// which are behind them.
    pub(super) fn take_up(
        &self,
        table: Option<&Arc<ClusterFile>>,
        now: &[SegmentIdentity],
    ) -> Option<(Arc<LaterClusters>, Vec<usize>)> {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_table = states.iter().filter(|state| state.table.as_ref().map(Arc::as_ptr) == table.map(Arc::as_ptr));
        let usable = of_table.filter_map(|state| {
            let SegmentDiff { removed, added, .. } = compare(&state.known, now);
            let last = state.known.iter().filter_map(|known| known.blocks).map(|blocks| blocks.1).max();
            let first = added.iter().filter_map(|place| now[*place].blocks).map(|blocks| blocks.0).min();
            let is_behind = last.zip(first).is_none_or(|(last, first)| last < first);
            (removed.is_empty() && is_behind).then(|| (Arc::clone(&state.later), added))
        });
        usable.min_by_key(|(_, added)| added.len())
    }

    pub(super) fn keep(&self, table: Option<&Arc<ClusterFile>>, now: &[SegmentIdentity], later: &Arc<LaterClusters>) {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let table = table.cloned();
        states.retain(|state| {
            state.table.as_ref().map(Arc::as_ptr) == table.as_ref().map(Arc::as_ptr) && state.known != now
        });
        states.truncate(MAX_STATES - 1);
        states.insert(0, CachedClusters { table, known: now.to_vec(), later: Arc::clone(later) });
    }
}
