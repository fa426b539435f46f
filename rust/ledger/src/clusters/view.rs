//! The clusters of a chain, as they are asked for.

use super::base::Base;
use super::later::LaterClusters;
use super::payments::first_in;
use super::records::{Cluster, FirstSeen, Member, Root};
use crate::error::Result;
use crate::primitives::Account;

/// The clusters of a chain in one generation.
#[derive(Clone, Copy)]
pub struct Clusters<'a> {
    pub(super) base: Base<'a>,
    pub(super) later: &'a LaterClusters,
}

impl Clusters<'_> {
    /// Those of a chain that is not held.
    pub(crate) const NONE: Clusters<'static> =
        Clusters { base: Base { segments: &[], table: None }, later: &LaterClusters::NONE };

    /// The cluster of an account; `None` where nothing links it to another address.
    ///
    /// # Errors
    /// When stored data is damaged.
    pub fn of(&self, account: &Account) -> Result<Option<Cluster>> {
        let stored = self.base.stored(account)?;
        let node = match stored {
            Some((_, cluster)) => self.later.of_cluster(cluster),
            None => self.later.of_address(&account.address),
        };
        match (node.filter(|node| self.later.is_cluster(*node)), stored) {
            (Some(node), _) => self.later.cluster(&self.base, node).map(Some),
            (None, Some((file, cluster))) => {
                let name = file.member(file.name(cluster)?, self.base.segments, self.base.covered())?.address;
                Ok(Some(Cluster { name, size: file.size(cluster)?, root: Root::Stored(cluster) }))
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns where an account appears first on the chain; `None` where no transaction shows it.
    ///
    /// # Errors
    /// When stored data is damaged.
    pub fn first_seen(&self, account: &Account) -> Result<Option<FirstSeen>> {
        let mut first = None;
        for (place, id) in &account.places {
            first = first.into_iter().chain(first_in(&self.base.segments[*place as usize], *id)?).min();
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
        match (cluster.root, self.base.table) {
            (Root::Later(root), _) => self.later.members(&self.base, root, after, limit),
            (Root::Stored(cluster), Some((file, covered))) => {
                let range = file.behind(cluster, after)?;
                range.take(limit).map(|at| file.member(at, self.base.segments, covered)).collect()
            }
            (Root::Stored(_), None) => Ok(Vec::new()),
        }
    }
}
