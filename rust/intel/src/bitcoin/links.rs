//! Which transactions link the addresses of a cluster: the evidence behind an inherited claim, and the weakest of it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use headwater_ledger::clusters::{Cluster, Clusters, Link, link};
use headwater_ledger::read::{Scan, ScanOrder, TransactionRef};
use headwater_ledger::{Cancel, Ledger, LedgerError, labels};
use headwater_types::{Address, Chain, TxHash};
use rustc_hash::{FxHashMap, FxHashSet};

use super::TransactionView;
use crate::label::Aggregate;

/// The maximum number of linking transactions that are named in words.
const MAX_NAMED: usize = 3;
/// The maximum number of transactions that are read to find the links of one address.
const MAX_READ: usize = 1_000;
/// The same for all addresses of an answer.
const MAX_READ_IN_ALL: usize = 5_000;

/// A transaction that links addresses by common inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linking {
    /// The transaction.
    pub hash: TxHash,
    /// Its block.
    pub block: u64,
    /// The addresses that it links.
    pub addresses: Vec<Address>,
}

/// Reads the transactions that link the addresses of a cluster, up to a number of transactions.
pub struct LinkReader<'a> {
    ledger: &'a dyn Ledger,
    clusters: Clusters<'a>,
    chain: Chain,
    cancel: &'a Cancel,
    /// Transactions that may still be read.
    left: usize,
    read: FxHashMap<TransactionRef, Option<Rc<Linking>>>,
}

/// The transaction without which a cluster falls apart into the two largest parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeakestLink {
    /// The transaction.
    pub hash: TxHash,
    /// Its block.
    pub block: u64,
    /// Addresses of the two largest parts, larger first.
    pub parts: [u64; 2],
    /// Addresses outside of the largest part.
    pub addresses: u64,
}

impl<'a> LinkReader<'a> {
    /// A reader of at most `limit` transactions.
    #[must_use]
    pub fn new(
        (ledger, chain): (&'a dyn Ledger, Chain),
        clusters: Clusters<'a>,
        limit: usize,
        cancel: &'a Cancel,
    ) -> Self {
        Self { ledger, clusters, chain, cancel, left: limit, read: FxHashMap::default() }
    }

    /// Transactions that may still be read.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.left
    }

    /// The shortest chains of linking transactions from an address to others of its cluster, nearest transaction first. Addresses
    /// that the limit keeps out of reach are missing.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the call is cancelled.
    pub fn paths(
        &mut self,
        from: &Address,
        to: &BTreeSet<Address>,
    ) -> Result<BTreeMap<Address, Vec<TxHash>>, LedgerError> {
        let mut came: FxHashMap<Address, Option<(TxHash, Address)>> = FxHashMap::from_iter([(*from, None)]);
        let mut missing = to.iter().filter(|address| *address != from).count();
        let mut next = VecDeque::from([*from]);
        while let Some(address) = next.pop_front().filter(|_| missing > 0) {
            let Some(linking) = self.of(&address)? else { break };
            for linking in linking {
                for other in &linking.addresses {
                    if came.contains_key(other) {
                        continue;
                    }
                    came.insert(*other, Some((linking.hash, address)));
                    next.push_back(*other);
                    missing -= usize::from(to.contains(other));
                }
            }
        }
        let mut paths = BTreeMap::new();
        for address in to.iter().filter(|address| came.contains_key(*address)) {
            let (mut path, mut at) = (Vec::new(), *address);
            while let Some((hash, before)) = came[&at] {
                path.push(hash);
                at = before;
            }
            path.reverse();
            paths.insert(*address, path);
        }
        Ok(paths)
    }

    /// Returns the weakest link of a cluster: `Ok(None)` if no single transaction holds it together, `Err(TooLarge)` if the search
    /// needs more transactions than the limit.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the call is cancelled.
    pub fn weakest(&mut self, cluster: &Cluster) -> Result<Result<Option<WeakestLink>, TooLarge>, LedgerError> {
        if usize::try_from(cluster.size).map_or(true, |size| size > self.left) {
            return Ok(Err(TooLarge));
        }
        let mut numbers: FxHashMap<Address, usize> = FxHashMap::from_iter([(cluster.name, 0)]);
        let (mut next, mut met) = (VecDeque::from([cluster.name]), FxHashSet::default());
        let mut links: Vec<(Rc<Linking>, Vec<usize>)> = Vec::new();
        while let Some(address) = next.pop_front() {
            let Some(linking) = self.of(&address)? else { return Ok(Err(TooLarge)) };
            for linking in linking.into_iter().filter(|linking| met.insert(linking.hash)) {
                let mut linked = Vec::with_capacity(linking.addresses.len());
                for other in &linking.addresses {
                    let count = numbers.len();
                    linked.push(*numbers.entry(*other).or_insert_with(|| {
                        next.push_back(*other);
                        count
                    }));
                }
                links.push((linking, linked));
            }
        }
        // Of equal ones the first on the chain.
        links.sort_by_key(|(linking, _)| (linking.block, linking.hash));
        let linked: Vec<&[usize]> = links.iter().map(|(_, linked)| &linked[..]).collect();
        let found = weakest(numbers.len(), &linked).map(|(place, parts)| {
            let linking = &links[place].0;
            let addresses = numbers.len() as u64 - parts[0];
            WeakestLink { hash: linking.hash, block: linking.block, parts, addresses }
        });
        Ok(Ok(found))
    }

    /// The transactions that link an address to others; `None` where the limit is reached.
    fn of(&mut self, address: &Address) -> Result<Option<Vec<Rc<Linking>>>, LedgerError> {
        let Some(account) = self.ledger.account(self.chain, address)? else { return Ok(Some(Vec::new())) };
        let oldest_first = Scan { order: ScanOrder::OldestFirst, ..Scan::default() };
        let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
        for posting in self.ledger.postings(&account, &oldest_first)? {
            let transaction = posting?.transaction;
            if !seen.insert(transaction) {
                continue;
            }
            let linking = match self.read.get(&transaction) {
                Some(linking) => linking.clone(),
                None => {
                    let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
                    self.left = left;
                    self.cancel.check()?;
                    let linking = self.linking(transaction)?.map(Rc::new);
                    self.read.insert(transaction, linking.clone());
                    linking
                }
            };
            found.extend(linking.filter(|linking| linking.addresses.contains(address)));
        }
        Ok(Some(found))
    }

    /// A transaction, where it links several addresses.
    fn linking(&self, transaction: TransactionRef) -> Result<Option<Linking>, LedgerError> {
        let found = self.ledger.transaction(transaction)?;
        let Some(utxo) = &found.facts.utxo else { return Ok(None) };
        let view = TransactionView::new(utxo, found.head.block, found.head.time);
        let addresses: BTreeSet<Address> = view.signers().collect();
        let is_linking = match link(&view) {
            Link::Together => true,
            Link::Apart => false,
            Link::Consolidates(payee) => {
                let payer = addresses.first().map_or(Ok(None), |payer| self.cluster(payer))?;
                payer.is_some() && payer == self.cluster(&payee)?
            }
        };
        let (hash, block) = (found.head.hash, found.head.block);
        Ok(is_linking.then(|| Linking { hash, block, addresses: addresses.into_iter().collect() }))
    }

    fn cluster(&self, address: &Address) -> Result<Option<Cluster>, LedgerError> {
        self.ledger.account(self.chain, address)?.map_or(Ok(None), |account| self.clusters.of(&account))
    }
}

/// The link between an address and another one of its cluster whose label it inherits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InheritedLink {
    /// The address that the claim names.
    pub address: Address,
    /// The name of the cluster of both.
    pub cluster: Address,
    /// The shortest chain of transactions that link the two by common inputs; `None` if the search limit is reached.
    pub transactions: Option<Vec<TxHash>>,
}

impl InheritedLink {
    /// Returns how sure the link is, 0 to 1: the claim counts times this.
    #[must_use]
    pub fn confidence(&self) -> f64 {
        f64::from(labels::Link::Cluster.thousandths()) / 1000.0
    }

    /// Describes the link in words.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { address, cluster, transactions } = self;
        let linked = match transactions {
            Some(transactions) => {
                let named = transactions.iter().take(MAX_NAMED).map(|hash| hash.display(address.family()));
                let named: Vec<String> = named.collect();
                let more = transactions.len() - named.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("linked by {}{more}", named.join(", "))
            }
            None => "link not found within the search limit".to_owned(),
        };
        format!("inherited with {} from {address} of the cluster {cluster}, {linked}", self.confidence())
    }
}

/// The number of transactions that an answer may still read to find links.
#[derive(Debug)]
pub struct LinkBudget(Cell<usize>);

impl Default for LinkBudget {
    fn default() -> Self {
        Self(Cell::new(MAX_READ_IN_ALL))
    }
}

impl LinkBudget {
    /// Returns the links to those addresses of a cluster whose labels an address inherits, by their addresses.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the call is cancelled.
    pub fn inherited(
        &self,
        ledger: &dyn Ledger,
        (chain, address): (Chain, &Address),
        aggregate: &Aggregate<'_>,
        cancel: &Cancel,
    ) -> Result<BTreeMap<Address, InheritedLink>, LedgerError> {
        let inherited = aggregate.sources.iter().filter(|source| source.claim.link == labels::Link::Cluster);
        let named: BTreeSet<Address> = inherited.map(|source| source.claim.address).collect();
        if named.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (Some(clusters), Some(account)) = (ledger.clusters(chain, cancel)?, ledger.account(chain, address)?) else {
            return Ok(BTreeMap::new());
        };
        let Some(cluster) = clusters.of(&account)? else { return Ok(BTreeMap::new()) };
        let limit = self.0.get().min(MAX_READ);
        let mut reader = LinkReader::new((ledger, chain), clusters, limit, cancel);
        let mut paths = reader.paths(address, &named)?;
        self.0.set(self.0.get() - (limit - reader.left()));
        let links = named.into_iter().map(|address| {
            let transactions = paths.remove(&address);
            (address, InheritedLink { address, cluster: cluster.name, transactions })
        });
        Ok(links.collect())
    }
}

/// The answer takes more transactions than may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge;

/// Returns, of links between `nodes` connected nodes, the one without which the second largest part is largest, with both
/// parts; `None` if every link can be spared.
///
/// Links and nodes are the two sides of one graph, in which a depth-first search finds what hangs on each link (Hopcroft and
/// Tarjan 1973). O(nodes + ends of links).
fn weakest(nodes: usize, links: &[&[usize]]) -> Option<(usize, [u64; 2])> {
    let mut of_node: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (link, linked) in links.iter().enumerate() {
        linked.iter().for_each(|node| of_node[*node].push(nodes + link));
    }
    let total = nodes + links.len();
    let neighbours = |at: usize| if at < nodes { &of_node[at][..] } else { links[at - nodes] };
    let (mut order, mut low, mut size) = (vec![usize::MAX; total], vec![0; total], vec![0_u64; total]);
    // The parts that fall off without each link.
    let mut cut = vec![Vec::<u64>::new(); links.len()];
    let mut count = 0;
    let mut path: Vec<(usize, usize)> = Vec::new();
    let enter = |at: usize, order: &mut Vec<usize>, low: &mut Vec<usize>, size: &mut Vec<u64>, count: &mut usize| {
        (order[at], low[at], size[at]) = (*count, *count, u64::from(at < nodes));
        *count += 1;
    };
    enter(0, &mut order, &mut low, &mut size, &mut count);
    path.push((0, 0));
    while let Some((at, step)) = path.last_mut() {
        let (at, place) = (*at, *step);
        if let Some(&other) = neighbours(at).get(place) {
            *step += 1;
            if order[other] == usize::MAX {
                enter(other, &mut order, &mut low, &mut size, &mut count);
                path.push((other, 0));
            } else {
                low[at] = low[at].min(order[other]);
            }
            continue;
        }
        path.pop();
        let Some(&(above, _)) = path.last() else { break };
        low[above] = low[above].min(low[at]);
        size[above] += size[at];
        if above >= nodes && low[at] >= order[above] {
            cut[above - nodes].push(size[at]);
        }
    }
    let all = nodes as u64;
    let parts = |(link, mut parts): (usize, Vec<u64>)| {
        parts.push(all - parts.iter().sum::<u64>());
        parts.sort_unstable_by(|one, other| other.cmp(one));
        (parts.len() > 1 && parts[1] > 0).then(|| (link, [parts[0], parts[1]]))
    };
    let found = cut.into_iter().enumerate().filter_map(parts);
    // Of equal ones the first.
    found.fold(None, |best, one| match best {
        Some((_, parts)) if [one.1[1], one.1[0]] <= [parts[1], parts[0]] => best,
        _ => Some(one),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::weakest;

    /// The parts that nodes fall into without a link, largest first.
    fn parts(nodes: usize, links: &[Vec<usize>], without: usize) -> Vec<u64> {
        let mut part: Vec<usize> = (0..nodes).collect();
        for (_, linked) in links.iter().enumerate().filter(|(place, _)| *place != without) {
            for node in linked {
                let (from, to) = (part[*node], part[linked[0]]);
                part.iter_mut().filter(|part| **part == from).for_each(|part| *part = to);
            }
        }
        let mut sizes: Vec<u64> =
            (0..nodes).map(|name| part.iter().filter(|part| **part == name).count() as u64).collect();
        sizes.retain(|size| *size > 0);
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        sizes
    }

    #[test]
    fn weakest_link_of_two_halves_is_the_bridge() {
        // 0-1-2 twice linked, 3-4 twice linked, one link between.
        let links: [&[usize]; 5] = [&[0, 1, 2], &[0, 1, 2], &[2, 3], &[3, 4], &[3, 4]];
        assert_eq!(weakest(5, &links), Some((2, [3, 2])));
    }

    #[test]
    fn weakest_link_of_a_doubly_linked_cluster_is_none() {
        assert_eq!(weakest(2, &[&[0, 1], &[0, 1]]), None);
        assert_eq!(weakest(3, &[&[0, 1], &[1, 2], &[2, 0]]), None);
    }

    proptest! {
        #[test]
        fn weakest_link_equals_removal_of_each(
            nodes in 2_usize..9,
            extra in prop::collection::vec(prop::collection::vec(0_usize..9, 2..4), 0..6),
            chain in prop::collection::vec(any::<prop::sample::Index>(), 8),
        ) {
            // A tree, so that all are connected, and further links.
            let mut links: Vec<Vec<usize>> = (1..nodes).map(|node| vec![chain[node - 1].index(node), node]).collect();
            links.extend(extra.into_iter().map(|link| link.into_iter().map(|node| node % nodes).collect()));
            for link in &mut links {
                link.sort_unstable();
                link.dedup();
            }
            let best = (0..links.len())
                .filter_map(|without| {
                    let parts = parts(nodes, &links, without);
                    (parts.len() > 1).then(|| ([parts[1], parts[0]], without))
                })
                .max_by(|one, other| one.0.cmp(&other.0).then(other.1.cmp(&one.1)));
            let borrowed: Vec<&[usize]> = links.iter().map(|link| &link[..]).collect();
            prop_assert_eq!(weakest(nodes, &borrowed), best.map(|([second, first], link)| (link, [first, second])));
        }
    }
}
