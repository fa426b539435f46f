//! Changes that segments behind the table make to its clusters.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use headwater_types::Address;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::base::Base;
use super::forest::Forest;
use super::link::Link;
use super::payments::{NumberedSegment, Payment, Payments, first_in, places};
use super::records::{Cluster, ClusterJoin, FirstSeen, Member, Root};
use crate::Cancel;
use crate::error::Result;
use crate::primitives::unpack;
use crate::segment::Segment;

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
    /// The nodes under each root, and the number of their addresses.
    groups: FxHashMap<u32, (Vec<u32>, u64)>,
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
        groups: FxHashMap::with_hasher(FxBuildHasher),
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
        let size = self.groups.get(&root).map_or(0, |(_, size)| *size);
        Ok(Cluster { name: self.name(base, root)?, size, root: Root::Later(root) })
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
        for node in self.groups.get(&root).map_or(&[][..], |(nodes, _)| nodes) {
            let first = self.forest.nodes()[*node as usize].first;
            match (self.parts[*node as usize], base.table) {
                (Part::Stored(cluster), Some((file, _))) => {
                    for member in file.behind(cluster, after)?.take(limit) {
                        found.push((file.first(member)?, *node, Some(member)));
                    }
                }
                _ if after.is_some_and(|after| first <= after) => {}
                _ => found.push((first, *node, None)),
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
        while let Some(payment) = payments.next()? {
            self.add(&base, all, numbers[payment.segment], &payment)?;
        }
        self.regroup(&base)
    }

    fn add(&mut self, base: &Base<'_>, all: &[NumberedSegment<'_>], segment: usize, payment: &Payment) -> Result<()> {
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
            self.forest.join(first, node, hash);
        }
        Ok(())
    }

    /// Returns whether an address is in the cluster of one of the payers already.
    fn consolidates(
        &mut self,
        base: &Base<'_>,
        all: &[NumberedSegment<'_>],
        (segment, payment): (usize, &Payment),
        address: &Address,
    ) -> Result<bool> {
        let Some(id) = all[segment].1.account(address)? else { return Ok(false) };
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

    fn node(&mut self, base: &Base<'_>, all: &[NumberedSegment<'_>], segment: usize, id: u32) -> Result<u32> {
        let address = all[segment].1.address(id)?;
        if let Some(node) = self.by_address.get(&address) {
            return Ok(*node);
        }
        let places = places(all, segment, id)?;
        for (number, id) in &places {
            let Some((file, cluster)) = base.stored_at(all[*number].0, *id)? else { continue };
            if let Some(node) = self.by_cluster.get(&cluster) {
                return Ok(*node);
            }
            let node = self.forest.push(file.first(file.name(cluster)?)?);
            self.parts.push(Part::Stored(cluster));
            self.by_cluster.insert(cluster, node);
            return Ok(node);
        }
        let mut first = None;
        for (number, id) in &places {
            first = first.into_iter().chain(first_in(all[*number].1, *id)?).min();
        }
        let Some(first) = first else { return Err(all[segment].1.miscounted(id)) };
        let node = self.forest.push(first);
        self.parts.push(Part::Single(address));
        self.by_address.insert(address, node);
        Ok(node)
    }

    /// Finds anew what is under each root. A single address that was only looked at is in no cluster.
    fn regroup(&mut self, base: &Base<'_>) -> Result<()> {
        self.groups.clear();
        for (node, part) in (0..).zip(&self.parts) {
            let size = match (part, base.table) {
                (Part::Stored(cluster), Some((file, _))) => file.size(*cluster)?,
                _ => 1,
            };
            let group = self.groups.entry(self.forest.root(node)).or_default();
            group.0.push(node);
            group.1 += size;
        }
        Ok(())
    }

    /// Returns whether a node is in a cluster, and not an address by itself.
    pub(super) fn is_cluster(&self, node: u32) -> bool {
        self.groups.get(&self.forest.root_of(node)).is_some_and(|(_, size)| *size > 1)
    }
}

/// The clusters that the generation before found, for the next one.
#[derive(Default)]
pub(super) struct LaterCache(Mutex<Option<CachedClusters>>);

/// Segments that were read, and what they came to.
type CachedClusters = (Vec<Weak<Segment>>, Arc<LaterClusters>);

impl LaterCache {
    /// Returns how many of the first segments are cached, and their clusters.
    pub(super) fn take_up(&self, segments: &[&Arc<Segment>]) -> (usize, Arc<LaterClusters>) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_these = kept.as_ref().filter(|(known, _)| {
            known.len() <= segments.len()
                && known.iter().zip(segments).all(|(known, segment)| known.as_ptr() == Arc::as_ptr(segment))
        });
        of_these.map_or_else(Default::default, |(known, later)| (known.len(), Arc::clone(later)))
    }

    pub(super) fn keep(&self, segments: &[&Arc<Segment>], later: &Arc<LaterClusters>) {
        let known = segments.iter().map(|segment| Arc::downgrade(segment)).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((known, Arc::clone(later)));
    }
}
