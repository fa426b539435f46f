//! Which Bitcoin addresses are one person's.

use std::collections::HashSet;

use headwater_intel::bitcoin::change_clusters::{ChangeLink, ChangeLinks, Limits, Merged, Party, Refusal, merge};
use headwater_intel::bitcoin::links::LinkReader;
use headwater_ledger::clusters::{Cluster, Clusters, FirstSeen, Member};
use headwater_ledger::read::Account;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain, Family, TimeWindow};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::{Analysis, List};
use crate::clusters::{ClusterName, clusters};
use crate::cost_class::CostClass;
use crate::coverage;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::BITCOIN_ADDRESS;
use crate::fields::{AddressText, CursorText, HashText, NextCursor, OptIn, PageLimit, values};
use crate::method::Method;
use crate::query_meta::QueryMeta;
use crate::request::{Checks, CursorKey, Paging, Warnings};
use crate::table::{Rows, TableHead};
use crate::{Error, Pagination};

use super::counterparty_list::WindowOffset;

const CHAIN: Chain = Chain::BITCOIN;

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "btc/cluster",
    path: "/v1/btc/cluster",
    method: Method::Get,
    alternative: None,
    class: CostClass::Light,
    cost: 5,
    tag: Tag::Intelligence,
    summary: "Bitcoin address cluster",
    description: "The addresses that one person is taken to hold, because one transaction spends from several of them. \
                  Transactions that several people may have made link nobody. `weakest_link` says how much of the cluster hangs on \
                  one transaction. With `include_change`, also the clusters that \
                  named change links to it. A cluster is an inference and no proof.",
    chains: ChainScope::Always(CHAIN),
    reads: Reads::Movements,
    rows: Some("members"),
    first: &["address", "first_block", "joined_tx"],
    example: Example::new(|| json!({"address": BITCOIN_ADDRESS}), ("address", "0x12")),
    calls: Calls::list::<BtcCluster>(),
};

values! {
    /// What links the addresses of a cluster.
    ClusterMethod { MultiInput = "multi_input" }
    /// Why a change output makes two clusters no one: both are known as different entities, or one paid the other and kept
    /// other change.
    RefusalReason { Entities = "different_entities", Payment = "payment_between" }
}

/// `GET /v1/btc/cluster`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct BtcClusterRequest {
    /// The address asked about.
    #[schema(example = "bc1qdxnccj5wrr39nydzkc0rzhhqyd6r8jtjv7sjg0")]
    address: AddressText,
    /// Also find the clusters that change links to it; default false.
    include_change: Option<OptIn>,
    /// Addresses per page: default 20, at most 1000, of a table 100,000.
    limit: Option<PageLimit>,
    /// Addresses left out before the page.
    offset: Option<WindowOffset>,
    /// `next_cursor` of an answer: continues after its last address, at any depth.
    cursor: Option<CursorText>,
}

/// Checked parameters of a search for a cluster.
#[derive(Debug)]
pub struct BtcClusterParams {
    address: Address,
    include_change: bool,
    paging: Paging,
}

/// The cluster of an address.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct BtcClusterReport {
    /// The address asked about, canonical.
    pub address: AddressText,
    /// The address of the cluster that appears first on the chain: later addresses leave it as it is, and where two clusters
    /// become one the older name stays. The address itself where nothing links it to another; null where it was never seen.
    pub cluster_id: Option<AddressText>,
    /// Number of addresses; 1 where nothing links the address to another, 0 where it was never seen.
    pub size: u64,
    /// The addresses of the page, in the order in which they appear on the chain.
    pub addresses: Vec<AddressText>,
    /// What links them.
    pub method: ClusterMethod,
    /// The transactions that linked the addresses of the page, each once, in their order.
    pub evidence_tx: Vec<HashText>,
    /// The addresses of the page, each with what linked it.
    pub members: Vec<ClusterMember>,
    /// The transaction without which the cluster falls apart into the two largest parts: if it is wrong, that many addresses are
    /// another person's. Null where no single transaction holds the cluster together, and where there is too much to look through.
    pub weakest_link: Option<WeakestLink>,
    /// The clusters that change makes one with it; null unless asked for, and where there is too much to look through.
    pub with_change: Option<ChangeCluster>,
    /// Last block of the data that was read; pages of one cursor share it.
    pub as_of_block: Option<u64>,
    /// Give this as `cursor` to go on behind the last address; null on the last page.
    pub next_cursor: Option<NextCursor>,
    /// The query.
    pub meta: QueryMeta,
    /// What the envelope says of the page.
    #[serde(skip)]
    pub pagination: Pagination,
}

/// An address of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ClusterMember {
    /// The address.
    pub address: AddressText,
    /// The block in which it appears first.
    pub first_block: u64,
    /// The transaction by which the cluster that this address named, if only of itself, came into an older one; null of the
    /// address that names the cluster.
    pub joined_tx: Option<HashText>,
    /// The name of the older cluster then.
    pub joined_cluster: Option<AddressText>,
}

/// A transaction that holds a cluster together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct WeakestLink {
    /// The transaction.
    pub txid: HashText,
    /// Its block.
    pub block_number: u64,
    /// Addresses of the two largest parts of the cluster without it, larger first.
    pub parts: [u64; 2],
    /// Addresses outside of the largest part: as many hang on the transaction.
    pub addresses: u64,
}

/// Clusters that change makes one. The clusters themselves stay as they are.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ChangeCluster {
    /// The oldest of their names.
    pub cluster_id: AddressText,
    /// Addresses of all of them.
    pub size: u64,
    /// The clusters, oldest first.
    pub clusters: Vec<ClusterName>,
    /// The change that links them, in the order of the chain.
    pub links: Vec<ChangeClusterLink>,
    /// Change that would link them to others, and does not because something speaks against it.
    pub refused: Vec<RefusedLink>,
}

/// A change output that links two clusters.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ChangeClusterLink {
    /// The transaction.
    pub txid: HashText,
    /// Position of the output.
    pub index: u64,
    /// How probable it is that the output is the change, four decimals.
    #[schema(minimum = 0.99, maximum = 1)]
    pub confidence: f64,
    /// The cluster that paid.
    pub payer: AddressText,
    /// The cluster that has the change.
    pub owner: AddressText,
}

/// A change output that links nothing.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RefusedLink {
    /// The output.
    #[serde(flatten)]
    pub link: ChangeClusterLink,
    /// What speaks against it.
    pub reason: RefusalReason,
}

/// Which addresses are one person's.
pub struct BtcCluster;

impl Analysis for BtcCluster {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = BtcClusterRequest;
    type Params = BtcClusterParams;
    type Report = BtcClusterReport;

    fn params(request: BtcClusterRequest, checks: &mut Checks<'_>) -> Result<BtcClusterParams, Error> {
        let (limit, offset) = (request.limit.map(i64::from), request.offset.map(i64::from));
        Ok(BtcClusterParams {
            address: checks.address(CHAIN, "address", &request.address)?,
            include_change: request.include_change.is_some_and(bool::from),
            paging: Paging::of_offset(limit, offset, request.cursor.as_deref(), checks)?,
        })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &BtcClusterParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<BtcClusterReport, Error> {
        coverage::warn(ledger, CHAIN, TimeWindow::ALL, warnings);
        let clusters = clusters(ledger, CHAIN, cancel)?;
        let account = ledger.account(CHAIN, &params.address)?;
        let page = Page::read(clusters, account.as_ref(), &params.paging)?;
        let with_change = match &account {
            Some(account) if params.include_change => with_change(ledger, clusters, account, warnings, cancel)?,
            _ => None,
        };
        let weakest_link = match &account {
            Some(account) => weakest_link(ledger, clusters, account, warnings, cancel)?,
            None => None,
        };
        let as_of_block = ledger.coverage().get(&CHAIN).and_then(|coverage| coverage.last_block);
        let info = params.paging.info(page.members.len(), page.next(), None, ledger.generation(), as_of_block);
        let members: Vec<ClusterMember> = page.members.iter().map(ClusterMember::from).collect();
        let mut seen = HashSet::new();
        let joined = members.iter().filter_map(|member| member.joined_tx.as_ref());
        let evidence_tx = joined.filter(|hash| seen.insert((*hash).clone())).cloned().collect();
        Ok(BtcClusterReport {
            address: AddressText::from(params.address),
            cluster_id: page.name.as_ref().map(|name| name.cluster_id.clone()),
            size: page.size(),
            addresses: members.iter().map(|member| member.address.clone()).collect(),
            method: ClusterMethod::MultiInput,
            evidence_tx,
            members,
            weakest_link,
            with_change,
            as_of_block,
            next_cursor: info.next_cursor,
            meta: QueryMeta::new(CostClass::Light),
            pagination: params.paging.pagination(usize::try_from(page.size()).unwrap_or(usize::MAX)),
        })
    }

    fn pagination(report: &BtcClusterReport) -> Option<Pagination> {
        Some(report.pagination)
    }

    fn meta(report: &mut BtcClusterReport) -> Option<&mut QueryMeta> {
        Some(&mut report.meta)
    }
}

impl List for BtcCluster {
    type Row = ClusterMember;

    fn list(
        ledger: &dyn Ledger,
        params: &BtcClusterParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let BtcClusterReport { members, next_cursor, as_of_block, size, .. } =
            Self::report(ledger, params, warnings, rows.cancel)?;
        let next_cursor = next_cursor.map(String::from);
        let head = TableHead { next_cursor, total: Some(size), as_of_block, ..TableHead::default() };
        rows.whole(head, warnings, members)
    }
}

/// A page of the addresses of a cluster.
struct Page {
    name: Option<ClusterName>,
    members: Vec<Member>,
    has_more: bool,
}

impl Page {
    fn read(clusters: Clusters<'_>, account: Option<&Account>, paging: &Paging) -> Result<Self, Error> {
        let Some(account) = account else { return Ok(Self { name: None, members: Vec::new(), has_more: false }) };
        let cluster: Option<Cluster> = clusters.of(account)?;
        let name = Some(ClusterName::of(account, cluster.as_ref()));
        let after = match paging.after {
            Some(CursorKey::Member(first)) => Some(first),
            Some(CursorKey::Posting(_) | CursorKey::Counterparty { .. }) | None => None,
        };
        let (skipped, size) = (paging.skipped(), paging.size());
        let mut members = match &cluster {
            Some(cluster) => clusters.members(cluster, after, skipped + size + 1)?,
            None => alone(clusters, account, after)?,
        };
        members.drain(..skipped.min(members.len()));
        let has_more = members.len() > size;
        members.truncate(size);
        Ok(Self { name, members, has_more })
    }

    fn size(&self) -> u64 {
        self.name.as_ref().map_or(0, |name| name.size)
    }

    fn next(&self) -> Option<CursorKey> {
        self.members.last().filter(|_| self.has_more).map(|member| CursorKey::Member(member.first))
    }
}

/// An address that is in no cluster, as its only member.
fn alone(clusters: Clusters<'_>, account: &Account, after: Option<FirstSeen>) -> Result<Vec<Member>, Error> {
    let first = clusters.first_seen(account)?.filter(|first| after.is_none_or(|after| *first > after));
    Ok(first.map(|first| Member { address: account.address, first, joined: None }).into_iter().collect())
}

/// Transactions that are read to find the weakest link.
const MAX_LINKS: usize = 10_000;

fn weakest_link(
    ledger: &dyn Ledger,
    clusters: Clusters<'_>,
    account: &Account,
    warnings: &mut Warnings,
    cancel: &Cancel,
) -> Result<Option<WeakestLink>, Error> {
    let Some(cluster) = clusters.of(account)? else { return Ok(None) };
    let Ok(found) = LinkReader::new((ledger, CHAIN), clusters, MAX_LINKS, cancel).weakest(&cluster)? else {
        let message = format!("weakest_link is null: more than {MAX_LINKS} transactions would have to be read");
        warnings.add("too_much_to_judge", Some("weakest_link"), message);
        return Ok(None);
    };
    Ok(found.map(|found| WeakestLink {
        txid: HashText(found.hash.display(Family::Utxo)),
        block_number: found.block,
        parts: found.parts,
        addresses: found.addresses,
    }))
}

fn with_change(
    ledger: &dyn Ledger,
    clusters: Clusters<'_>,
    account: &Account,
    warnings: &mut Warnings,
    cancel: &Cancel,
) -> Result<Option<ChangeCluster>, Error> {
    let mut links = ChangeLinks::new(ledger, CHAIN, clusters, cancel);
    let Some(party) = links.party(&account.address)? else { return Ok(None) };
    let limits = Limits::default();
    let Some(evidence) = links.around(party, limits)? else {
        let message = format!(
            "with_change is null: more than {} transactions or {} addresses would have to be judged",
            limits.transactions, limits.addresses
        );
        warnings.add("too_much_to_judge", Some("include_change"), message);
        return Ok(None);
    };
    let merged = merge(&evidence, |party| links.entities(party))?;
    Ok(Some(ChangeCluster::of(party, &merged)))
}

impl ChangeCluster {
    fn of(party: Party, merged: &Merged) -> Self {
        let parties = merged.with(party);
        let is_of = |link: &ChangeLink| parties.contains(&link.payer) || parties.contains(&link.owner);
        let name = |party: &Party| ClusterName { cluster_id: AddressText::from(party.name), size: party.size };
        Self {
            cluster_id: AddressText::from(parties.first().map_or(party.name, |oldest| oldest.name)),
            size: parties.iter().map(|party| party.size).sum(),
            links: merged.links.iter().filter(|link| is_of(link)).map(ChangeClusterLink::from).collect(),
            refused: merged
                .refused
                .iter()
                .filter(|(link, _)| is_of(link))
                .map(|(link, why)| RefusedLink { link: link.into(), reason: (*why).into() })
                .collect(),
            clusters: parties.iter().map(name).collect(),
        }
    }
}

impl From<&Member> for ClusterMember {
    fn from(member: &Member) -> Self {
        Self {
            address: AddressText::from(member.address),
            first_block: member.first.block,
            joined_tx: member.joined.map(|joined| HashText(joined.transaction.display(Family::Utxo))),
            joined_cluster: member.joined.map(|joined| AddressText::from(joined.into)),
        }
    }
}

impl From<&ChangeLink> for ChangeClusterLink {
    fn from(link: &ChangeLink) -> Self {
        Self {
            txid: HashText(link.transaction.display(Family::Utxo)),
            index: u64::try_from(link.output).unwrap_or(u64::MAX),
            confidence: (link.confidence * 10_000.0).round() / 10_000.0,
            payer: AddressText::from(link.payer.name),
            owner: AddressText::from(link.owner.name),
        }
    }
}

impl From<Refusal> for RefusalReason {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Entities => Self::Entities,
            Refusal::Payment => Self::Payment,
        }
    }
}
