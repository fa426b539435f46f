//! Clusters of Bitcoin addresses, as endpoints read them.

use headwater_ledger::clusters::{Cluster, Clusters};
use headwater_ledger::read::Account;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Chain, Family};
use serde::Serialize;

use crate::fields::AddressText;
use crate::request::Warnings;
use crate::{Error, ErrorKind};

/// The cluster of a Bitcoin address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ClusterName {
    /// The address of the cluster that appears first on the chain; the address itself where nothing links it to another.
    pub cluster_id: AddressText,
    /// Number of addresses.
    #[schema(minimum = 1)]
    pub size: u64,
}

impl ClusterName {
    /// The name of a cluster, or of an address in none.
    pub(crate) fn of(account: &Account, cluster: Option<&Cluster>) -> Self {
        let (cluster_id, size) = cluster.map_or((account.address, 1), |cluster| (cluster.name, cluster.size));
        Self { cluster_id: AddressText::from(cluster_id), size }
    }
}

/// The clusters of a chain.
///
/// # Errors
/// Where no table of them is built and there is too much to look through.
pub(crate) fn clusters<'a>(ledger: &'a dyn Ledger, chain: Chain, cancel: &Cancel) -> Result<Clusters<'a>, Error> {
    ledger.clusters(chain, cancel)?.ok_or_else(|| {
        let message = format!("no table of the clusters on {chain} is built: run `headwater compact`, then ask again");
        Error::new(ErrorKind::Storage, message)
    })
}

/// The cluster of an account, for answers that are about more than that: `None` on chains of accounts, and with a warning
/// where no table is built.
pub(crate) fn cluster_name(
    ledger: &dyn Ledger,
    account: &Account,
    warnings: &mut Warnings,
    cancel: &Cancel,
) -> Result<Option<ClusterName>, Error> {
    if account.chain.family() != Family::Utxo {
        return Ok(None);
    }
    let Some(clusters) = ledger.clusters(account.chain, cancel)? else {
        let message = "cluster is null: no table of clusters is built; run `headwater compact`";
        warnings.add("not_built", Some("cluster"), message);
        return Ok(None);
    };
    Ok(Some(ClusterName::of(account, clusters.of(account)?.as_ref())))
}
