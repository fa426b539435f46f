//! What is said of clusters.

use std::sync::Arc;

use headwater_types::{Address, TxHash};

use super::file::ClusterFile;
use super::later::Later;
use super::payments::first_in;
use crate::error::Result;
use crate::primitives::Account;
use crate::segment::Segment;

/// Where an address appears first on the chain. Earlier ones are less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FirstSeen {
    /// The block.
    pub block: u64,
    /// Position of the transaction in its block; `u32::MAX` where it is not known.
    pub index: u32,
    /// The first eight bytes of the hash of the transaction where its position is not known, else 0.
    pub hash: u64,
    /// Its place among the inputs, then the outputs.
    pub position: u32,
}

impl FirstSeen {
    pub(super) fn new(block: u64, index: Option<u32>, hash: &TxHash, position: u32) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = *hash.as_bytes();
        let prefix = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        let hash = if index.is_some() { 0 } else { prefix };
        Self { block, index: index.unwrap_or(u32::MAX), hash, position }
    }
}

/// Addresses that one person is taken to hold: at least two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// The address that appears first on the chain.
    pub name: Address,
    /// Number of addresses.
    pub size: u64,
    pub(super) root: Root,
}

/// Where the members of a cluster are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Root {
    /// A cluster of the table as it is.
    Stored(u32),
    /// A root of what came later.
    Later(u32),
}

/// An address of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The address.
    pub address: Address,
    /// Where it appears first.
    pub first: FirstSeen,
    /// What brought it in; `None` of the address that names the cluster.
    pub joined: Option<Joined>,
}

/// How the cluster that an address named, if only of itself, came into an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joined {
    /// The first transaction in the order of the chain that spends from both.
    pub transaction: TxHash,
    /// The name of the older cluster then.
    pub into: Address,
}

/// The clusters of a chain in one generation.
#[derive(Clone, Copy)]
pub struct Clusters<'a> {
    pub(super) segments: &'a [Arc<Segment>],
    pub(super) table: Option<(&'a ClusterFile, &'a [u32])>,
    pub(super) later: &'a Later,
}

impl Clusters<'_> {
    /// Those of a chain that is not held.
    pub(crate) const NONE: Clusters<'static> = Clusters { segments: &[], table: None, later: &Later::NONE };

    /// The cluster of an account; `None` where nothing links it to another address.
    ///
    /// # Errors
    /// When stored data is damaged.
    pub fn of(&self, account: &Account) -> Result<Option<Cluster>> {
        let stored = self.stored(account)?;
        let node = match stored {
            Some((_, cluster)) => self.later.of_cluster(cluster),
            None => self.later.of_address(&account.address),
        };
        match (node.filter(|node| self.later.is_cluster(*node)), stored) {
            (Some(node), _) => self.later.cluster(self, node).map(Some),
            (None, Some((file, cluster))) => {
                let name = file.member(file.name(cluster)?, self.segments, self.covered())?.address;
                Ok(Some(Cluster { name, size: file.size(cluster)?, root: Root::Stored(cluster) }))
            }
            (None, None) => Ok(None),
        }
    }

    /// Where an account appears first on the chain; `None` where no transaction tells.
    ///
    /// # Errors
    /// When stored data is damaged.
    pub fn first_seen(&self, account: &Account) -> Result<Option<FirstSeen>> {
        let mut first = None;
        for (place, id) in &account.places {
            first = first.into_iter().chain(first_in(&self.segments[*place as usize], *id)?).min();
        }
        Ok(first)
    }

    /// Addresses of a cluster in the order in which they appear on the chain: at most `limit` behind `after`.
    ///
    /// Time and memory are linear in `limit`, and in the number of clusters that became one since the table was built.
    ///
    /// # Errors
    /// When stored data is damaged.
    pub fn members(&self, cluster: &Cluster, after: Option<FirstSeen>, limit: usize) -> Result<Vec<Member>> {
        match (cluster.root, self.table) {
            (Root::Later(root), _) => self.later.members(self, root, after, limit),
            (Root::Stored(cluster), Some((file, covered))) => {
                let range = file.behind(cluster, after)?;
                range.take(limit).map(|at| file.member(at, self.segments, covered)).collect()
            }
            (Root::Stored(_), None) => Ok(Vec::new()),
        }
    }

    fn covered(&self) -> &[u32] {
        self.table.map_or(&[], |(_, covered)| covered)
    }

    /// The cluster of the table that an account is in.
    fn stored(&self, account: &Account) -> Result<Option<(&ClusterFile, u32)>> {
        for (place, id) in &account.places {
            let found = self.stored_at(*place, *id)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The same of the account of a segment, where the table covers it.
    pub(super) fn stored_at(&self, place: u32, id: u32) -> Result<Option<(&ClusterFile, u32)>> {
        let Some((file, covered)) = self.table else { return Ok(None) };
        let Some(number) = covered.iter().position(|covered| *covered == place) else { return Ok(None) };
        let before = covered[..number].iter().map(|place| self.segments[*place as usize].addresses()).sum();
        Ok(file.cluster_of(before, id)?.map(|cluster| (file, cluster)))
    }
}
