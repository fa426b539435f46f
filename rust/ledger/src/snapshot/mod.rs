//! One generation: segments of all chains, the registry and prices, read as one ledger.

mod accounts;
mod addresses;
mod assets;
mod bridges;
mod carried;
mod columns;
mod history;
mod postings;
mod sweep;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use headwater_types::{Address, Amount, Asset, Balance, Chain, Family, TxHash};
use rustc_hash::FxHashMap;

use crate::Cancel;
use crate::bridges::{BridgeFile, SegmentBridges};
use crate::clusters::{ChainClusters, Cluster, ClusterTable, Clusters};
use crate::edges::{self, AssetEdge, EdgeFile, EdgeOrder, Edges, Market, SegmentEdges};
use crate::facts::{OutPoint, OutputFacts};
use crate::holders::{ChainHolders, HolderTable, Holders};
use crate::labels::LabelTable;
use crate::lineage::SegmentIdentity;
use crate::live::LiveStatus;
use crate::logs::{self, Log, LogFile, LogFilter, LogMerge, LogScan};
use crate::market::{FxTable, PriceTable, Registry};
use crate::primitives::{pack, unpack};
use crate::read::{
    Account, AccountRef, Accounts, AddressMatches, AddressRange, Balances, Block, ChainRange, ClusterReader, ColumnSet,
    ColumnVisit, Counterparties, Coverage, Generation, History, Holding, Logs, Movements, Opening, Outputs, Posting,
    Postings, Result, Scan, SweepVisit, Sweeps, Transaction, TransactionHead, TransactionRef, TransactionRun,
    TransactionRuns, Transactions, VisitEdge, VisitMovement, VisitWeight,
};
use crate::segment::{HistoryStart, MissingOrdinals, Segment, fee_of, openings_of};

pub(crate) use self::carried::CarriedTables;

/// One immutable generation of a store.
pub struct Snapshot {
    generation: u64,
    coverage: BTreeMap<Chain, Coverage>,
    /// The accounts whose own history is complete; see [`Coverage::accounts`].
    whole_histories: BTreeMap<Chain, BTreeSet<Address>>,
    registry: Arc<Registry>,
    prices: Arc<PriceTable>,
    exchange_rates: Arc<FxTable>,
    labels: Arc<LabelTable>,
    segments: Vec<Arc<Segment>>,
    by_chain: BTreeMap<Chain, Vec<u32>>,
    /// By segment.
    edges: Vec<SegmentEdges>,
    holders: BTreeMap<Chain, ChainHolders>,
    clusters: BTreeMap<Chain, ChainClusters>,
    /// By segment.
    logs: Vec<Option<Arc<LogFile>>>,
    /// By segment.
    bridges: Vec<SegmentBridges>,
    /// The histories that begin with stated balances; chains without such are absent.
    openings: BTreeMap<Chain, BTreeMap<Asset, Opening>>,
    /// The same by segment, in its numbers.
    begins: Vec<OnceLock<Vec<HistoryStart>>>,
    /// The folder of its store, and when it was committed; `None` in memory.
    origin: Option<(PathBuf, Option<SystemTime>)>,
    /// The identity of each segment; empty where generations hand nothing on.
    identities: Vec<SegmentIdentity>,
    carried: BTreeMap<Chain, Arc<CarriedTables>>,
    /// The hold on the generation, dropped with its last user.
    _hold: Option<Arc<dyn Any + Send + Sync>>,
}

impl Snapshot {
    /// A generation over these segments. A transaction is in one segment only.
    ///
    /// # Panics
    /// When there are more segments than a handle can number (2^32).
    #[must_use]
    pub fn new(
        generation: u64,
        segments: Vec<Arc<Segment>>,
        coverage: BTreeMap<Chain, Coverage>,
        registry: Arc<Registry>,
        prices: Arc<PriceTable>,
    ) -> Self {
        let mut by_chain: BTreeMap<Chain, Vec<u32>> = BTreeMap::new();
        for (place, segment) in segments.iter().enumerate() {
            let place = u32::try_from(place).expect("a generation has far fewer than 2^32 segments");
            by_chain.entry(segment.chain()).or_default().push(place);
        }
        let edges = segments.iter().map(|_| SegmentEdges::default()).collect();
        let holders = by_chain.keys().map(|chain| (*chain, ChainHolders::default())).collect();
        let clusters = by_chain.keys().map(|chain| (*chain, ChainClusters::default())).collect();
        let of_chain = |(chain, places): (&Chain, &Vec<u32>)| {
            let openings = openings_of(places.iter().map(|place| &*segments[*place as usize]));
            (!openings.is_empty()).then_some((*chain, openings))
        };
        let openings = by_chain.iter().filter_map(of_chain).collect();
        let logs = vec![None; segments.len()];
        let bridges = segments.iter().map(|segment| SegmentBridges::new(None, segment)).collect();
        let begins = segments.iter().map(|_| OnceLock::new()).collect();
        let (exchange_rates, labels) = (Arc::default(), Arc::default());
        Self {
            generation,
            coverage,
            whole_histories: BTreeMap::new(),
            registry,
            prices,
            exchange_rates,
            labels,
            segments,
            by_chain,
            edges,
            holders,
            clusters,
            logs,
            bridges,
            openings,
            begins,
            origin: None,
            identities: Vec::new(),
            carried: BTreeMap::new(),
            _hold: None,
        }
    }

    /// Sets the folder of its store and the time of its commit.
    pub(crate) fn with_origin(self, folder: &Path, committed: Option<SystemTime>) -> Self {
        Self { origin: Some((folder.to_owned(), committed)), ..self }
    }

    /// Attaches a hold on the generation, which is dropped with the snapshot.
    pub(crate) fn with_hold(self, hold: Arc<dyn Any + Send + Sync>) -> Self {
        Self { _hold: Some(hold), ..self }
    }

    /// With exchange rates.
    pub(crate) fn with_exchange_rates(self, exchange_rates: Arc<FxTable>) -> Self {
        Self { exchange_rates, ..self }
    }

    /// With the accounts whose own history is complete.
    pub(crate) fn with_whole_histories(self, whole_histories: BTreeMap<Chain, BTreeSet<Address>>) -> Self {
        Self { whole_histories, ..self }
    }

    /// With labels.
    pub(crate) fn with_labels(self, labels: Arc<LabelTable>) -> Self {
        Self { labels, ..self }
    }

    /// With the edges that are built under its registry and prices, by segment.
    pub(crate) fn with_edges(self, files: Vec<Option<Arc<EdgeFile>>>) -> Self {
        Self { edges: files.into_iter().map(SegmentEdges::new).collect(), ..self }
    }

    /// With the holder tables that are built.
    pub(crate) fn with_holders(mut self, tables: impl IntoIterator<Item = (Chain, HolderTable)>) -> Self {
        for (chain, table) in tables {
            self.holders.insert(chain, ChainHolders::new(Some(table)));
        }
        self
    }

    /// With the cluster tables that are built.
    pub(crate) fn with_clusters(mut self, tables: impl IntoIterator<Item = (Chain, ClusterTable)>) -> Self {
        for (chain, table) in tables {
            self.clusters.insert(chain, ChainClusters::new(Some(table)));
        }
        self
    }

    /// With the indexes of logs that are built, by segment.
    pub(crate) fn with_logs(self, logs: Vec<Option<Arc<LogFile>>>) -> Self {
        Self { logs, ..self }
    }

    /// With the indexes of link keys that are built, by segment.
    pub(crate) fn with_bridges(self, files: Vec<Option<Arc<BridgeFile>>>) -> Self {
        let placed = files.into_iter().zip(&self.segments);
        let bridges = placed.map(|(file, segment)| SegmentBridges::new(file, segment)).collect();
        Self { bridges, ..self }
    }

    /// Returns where histories begin, in the numbers of a segment.
    fn begins(&self, place: u32) -> Result<&[HistoryStart]> {
        let (segment, begins) = (&self.segments[place as usize], &self.begins[place as usize]);
        let Some(openings) = self.openings.get(&segment.chain()) else { return Ok(&[]) };
        if let Some(found) = begins.get() {
            return Ok(found);
        }
        let found = segment.begins(openings)?;
        Ok(begins.get_or_init(|| found))
    }

    fn market<'a>(&'a self, cancel: &'a Cancel) -> Market<'a> {
        let Self { segments, edges, registry, prices, .. } = self;
        Market { segments, edges, registry, prices, cancel }
    }

    /// The segments, in the order given.
    #[must_use]
    pub fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// The output that an input spends, where any segment holds it.
    ///
    /// # Errors
    /// When a segment is damaged.
    pub fn output(&self, chain: Chain, point: &OutPoint) -> Result<Option<OutputFacts>> {
        self.first(chain, |_, segment| segment.output(point))
    }

    fn of_chain(&self, chain: Chain) -> impl Iterator<Item = (u32, &Segment)> {
        let places = self.by_chain.get(&chain).map_or(&[][..], Vec::as_slice);
        places.iter().map(|&place| (place, &*self.segments[place as usize]))
    }

    /// The first answer that a segment of the chain gives.
    fn first<T>(&self, chain: Chain, mut ask: impl FnMut(u32, &Segment) -> Result<Option<T>>) -> Result<Option<T>> {
        for (place, segment) in self.of_chain(chain) {
            if let Some(found) = ask(place, segment)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// An account by its address; where a handle of it is known, the segment of the handle is not searched.
    fn account_in(&self, chain: Chain, address: &Address, known: Option<AccountRef>) -> Result<Option<Account>> {
        let known = known.map(|handle| unpack(handle.0));
        let mut account = Account { chain, address: *address, postings: 0, is_contract: false, places: Vec::new() };
        for (place, segment) in self.of_chain(chain) {
            let id = match known {
                Some((known, id)) if known == place => Some(id),
                _ => segment.account(address)?,
            };
            let Some(id) = id else { continue };
            let range = segment.postings().range(id)?;
            account.postings += range.end - range.start;
            account.is_contract |= segment.is_contract(id)?;
            account.places.push((place, id));
        }
        Ok((!account.places.is_empty()).then_some(account))
    }

    /// The labelled addresses of each cluster, by its name.
    fn labelled_by_cluster(
        &self,
        chain: Chain,
        clusters: Clusters<'_>,
        cancel: &Cancel,
    ) -> Result<FxHashMap<Address, Vec<Address>>> {
        let mut labelled = BTreeSet::new();
        self.labels.each(&mut |_, claim| {
            labelled.extend(claim.scope.contains(chain).then_some(claim.address));
            Ok(())
        })?;
        let mut found: FxHashMap<Address, Vec<Address>> = FxHashMap::default();
        for address in labelled {
            cancel.check()?;
            let Some(account) = self.account(chain, &address)? else { continue };
            if let Some(cluster) = clusters.of(&account)? {
                found.entry(cluster.name).or_default().push(address);
            }
        }
        Ok(found)
    }

    /// The segment and the local id behind a handle.
    fn behind(&self, handle: u64) -> (&Segment, u32) {
        let (place, id) = unpack(handle);
        (&self.segments[place as usize], id)
    }
}

impl Generation for Snapshot {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn coverage(&self) -> &BTreeMap<Chain, Coverage> {
        &self.coverage
    }

    fn has_whole_history(&self, chain: Chain, address: &Address) -> bool {
        self.whole_histories.get(&chain).is_some_and(|addresses| addresses.contains(address))
    }

    fn live(&self, chain: Chain) -> Result<Option<LiveStatus>> {
        let Some((folder, _)) = &self.origin else { return Ok(None) };
        LiveStatus::read_live(folder, chain)
    }

    fn committed(&self) -> Option<SystemTime> {
        self.origin.as_ref().and_then(|(_, committed)| *committed)
    }
}

impl Accounts for Snapshot {
    fn account(&self, chain: Chain, address: &Address) -> Result<Option<Account>> {
        self.account_in(chain, address, None)
    }

    fn account_of(&self, account: AccountRef) -> Result<Account> {
        let (segment, id) = self.behind(account.0);
        let (chain, address) = (segment.chain(), segment.address(id)?);
        let found = self.account_in(chain, &address, Some(account))?;
        Ok(found.expect("the segment of the handle files it"))
    }

    fn address(&self, account: AccountRef) -> Result<Address> {
        let (segment, id) = self.behind(account.0);
        segment.address(id)
    }

    fn has_unique_handles(&self, chain: Chain) -> bool {
        self.by_chain.get(&chain).is_none_or(|places| places.len() == 1)
    }

    fn addresses(&self, chain: Chain, after: Option<&Address>, limit: usize) -> Result<Vec<Address>> {
        let segments: Vec<_> = self.of_chain(chain).map(|(_, segment)| segment).collect();
        accounts::page(&segments, after, limit)
    }

    fn find_addresses(&self, chain: Chain, prefix: &str, limit: usize, count_limit: usize) -> Result<AddressMatches> {
        let segments: Vec<_> = self.of_chain(chain).map(|(_, segment)| segment).collect();
        addresses::find(&segments, prefix, limit, count_limit)
    }
}

impl Movements for Snapshot {
    fn postings<'a>(&'a self, account: &Account, scan: &Scan) -> Result<Postings<'a>> {
        postings::scan(&self.segments, account, scan)
    }

    fn page(&self, account: &Account, scan: &Scan, limit: usize) -> Result<Vec<Posting>> {
        postings::page(&self.segments, account, scan, limit)
    }

    fn posting_columns(
        &self,
        account: &Account,
        scan: &Scan,
        wanted: (ColumnSet, &Cancel),
        visit: ColumnVisit<'_>,
    ) -> Result<()> {
        columns::scan(&self.segments, account, scan, wanted, visit)
    }

    fn count_postings(&self, account: &Account, scan: &Scan, cancel: &Cancel) -> Result<u64> {
        columns::count(&self.segments, account, scan, cancel)
    }

    fn split(&self, account: &Account, scan: &Scan, parts: usize) -> Result<Vec<Scan>> {
        columns::split(&self.segments, account, scan, parts)
    }
}

impl Sweeps for Snapshot {
    fn sweep(
        &self,
        chain: Chain,
        range: &AddressRange,
        wanted: (ColumnSet, &Cancel),
        visit: SweepVisit<'_>,
    ) -> Result<()> {
        sweep::sweep(self.of_chain(chain), range, wanted, visit)
    }

    fn split_addresses(&self, chain: Chain, parts: usize) -> Result<Vec<AddressRange>> {
        sweep::split(self.of_chain(chain).map(|(_, segment)| segment), parts)
    }
}

impl Transactions for Snapshot {
    fn transaction_head(&self, transaction: TransactionRef) -> Result<TransactionHead> {
        let (segment, row) = self.behind(transaction.0);
        segment.head(row)
    }

    fn transaction(&self, transaction: TransactionRef) -> Result<Transaction> {
        let (segment, row) = self.behind(transaction.0);
        let head = segment.head(row)?;
        let mut facts = segment.facts_with(row, MissingOrdinals::Numbered)?;
        for input in facts.utxo.iter_mut().flat_map(|utxo| &mut utxo.inputs) {
            if input.spent.is_none() {
                input.spent = self.output(head.chain, &input.previous)?;
            }
        }
        let block_hash = self.block(head.chain, head.block)?.and_then(|block| block.hash);
        let fee = fee_of(&facts);
        Ok(Transaction { head, block_hash, facts, fee })
    }

    fn fee(&self, transaction: TransactionRef) -> Result<Option<Amount>> {
        let (segment, row) = self.behind(transaction.0);
        segment.fee(row)
    }

    fn find_transaction(&self, chain: Chain, hash: &TxHash) -> Result<Option<TransactionRef>> {
        self.first(chain, |place, segment| Ok(segment.find(hash)?.map(|row| TransactionRef(pack(place, row)))))
    }

    fn transaction_at(&self, chain: Chain, block: u64, index: u32) -> Result<Option<TransactionRef>> {
        self.first(chain, |place, segment| {
            let held = segment.block_range().is_some_and(|(first, last)| (first..=last).contains(&block));
            let row = if held { segment.row_at(block, index)? } else { None };
            Ok(row.map(|row| TransactionRef(pack(place, row))))
        })
    }

    fn block(&self, chain: Chain, number: u64) -> Result<Option<Block>> {
        let mut found: Option<Block> = None;
        for (_, segment) in self.of_chain(chain) {
            if let Some(block) = segment.block(number)? {
                let hash = found.and_then(|found| found.hash).or(block.hash);
                found = Some(Block { number, time: block.time, hash });
                if hash.is_some() {
                    break;
                }
            }
        }
        Ok(found)
    }
}

impl History for Snapshot {
    fn transaction_runs<'a>(
        &'a self,
        chain: Chain,
        range: &ChainRange,
        max_length: u32,
    ) -> Result<TransactionRuns<'a>> {
        Ok(Box::new(history::Runs::new(self.of_chain(chain), range, max_length)?))
    }

    fn visit_movements(&self, run: &TransactionRun, visit: VisitMovement<'_>) -> Result<()> {
        history::visit_movements(&self.segments[run.part as usize], run, visit)
    }
}

impl Outputs for Snapshot {
    fn spender(&self, chain: Chain, output: &OutPoint) -> Result<Option<(TxHash, u32)>> {
        self.first(chain, |_, segment| {
            let spends = segment.spenders_of(&output.hash)?;
            let spend = spends.iter().find(|spend| spend.output == output.index);
            spend.map(|spend| Ok((segment.hash(spend.row)?, spend.input))).transpose()
        })
    }
}

impl ClusterReader for Snapshot {
    fn clusters(&self, chain: Chain, cancel: &Cancel) -> Result<Option<Clusters<'_>>> {
        let (Some(clusters), Some(places)) = (self.clusters.get(&chain), self.by_chain.get(&chain)) else {
            return Ok(Some(Clusters::NONE));
        };
        clusters.clusters(&self.carried_of(chain, |carried| &carried.clusters), places, cancel)
    }

    fn labelled(&self, chain: Chain, cluster: &Cluster, cancel: &Cancel) -> Result<&[Address]> {
        let Some(of_chain) = self.clusters.get(&chain) else { return Ok(&[]) };
        let labelled = of_chain.labelled(|| match self.clusters(chain, cancel)? {
            Some(clusters) => self.labelled_by_cluster(chain, clusters, cancel),
            None => Ok(FxHashMap::default()),
        })?;
        Ok(labelled.get(&cluster.name).map_or(&[], Vec::as_slice))
    }
}

impl Balances for Snapshot {
    fn opening(&self, chain: Chain, asset: &Asset) -> Option<Opening> {
        self.openings.get(&chain)?.get(asset).copied()
    }

    fn holdings(&self, account: &Account) -> Result<Vec<Holding>> {
        // Sums past 256 bits stay at the largest amount, as inside a segment.
        let add = |sum: &mut Amount, amount: Amount| *sum = sum.checked_add(amount).unwrap_or(Amount::MAX);
        let mut sums: BTreeMap<Asset, [Amount; 4]> = BTreeMap::new();
        for &(place, id) in &account.places {
            let segment = &self.segments[place as usize];
            for part in segment.holdings(id, self.begins(place)?)? {
                let [opening, came, sent, fees] = sums.entry(segment.asset(part.asset)?).or_default();
                add(opening, part.opening);
                add(came, part.opening);
                add(came, part.received);
                add(sent, part.sent);
                add(fees, part.fees);
            }
        }
        let holding = |(asset, [opening, came, sent, fees]): (Asset, [Amount; 4])| {
            let balance = Balance::of(came, sent);
            Holding { asset, balance, fees, opening }
        };
        Ok(sums.into_iter().map(holding).collect())
    }

    fn holders(&self, chain: Chain, asset: &Asset) -> Result<Option<Holders<'_>>> {
        let (Some(holders), Some(places)) = (self.holders.get(&chain), self.by_chain.get(&chain)) else {
            return Ok(Some(Holders::NOBODY));
        };
        holders.holders(&self.carried_of(chain, |carried| &carried.holders), places, asset)
    }
}

impl Counterparties for Snapshot {
    fn edges(&self, account: &Account, order: EdgeOrder, limit: usize, cancel: &Cancel) -> Result<Option<Edges>> {
        if account.chain.family() == Family::Utxo {
            return Ok(None);
        }
        edges::edges(self.market(cancel), account, order, limit)
    }

    fn edges_with(&self, account: &Account, others: &[AccountRef], cancel: &Cancel) -> Result<Option<Edges>> {
        if account.chain.family() == Family::Utxo {
            return Ok(None);
        }
        edges::edges_with(self.market(cancel), account, others)
    }

    fn busiest_edges(
        &self,
        account: &Account,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Option<Vec<(AccountRef, AssetEdge)>>> {
        if account.chain.family() == Family::Utxo {
            return Ok(None);
        }
        edges::busiest(self.market(cancel), account, limit)
    }

    fn counterparty_bounds(&self, account: &Account) -> Result<RangeInclusive<u64>> {
        edges::counterparty_bounds(&self.edges, account)
    }

    fn visit_edges(
        &self,
        account: &Account,
        order: EdgeOrder,
        cancel: &Cancel,
        visit: VisitEdge<'_>,
    ) -> Result<Option<()>> {
        if account.chain.family() == Family::Utxo {
            return Ok(None);
        }
        edges::visit_edges(self.market(cancel), account, order, visit)
    }

    fn visit_weights(
        &self,
        account: AccountRef,
        order: EdgeOrder,
        cancel: &Cancel,
        visit: VisitWeight<'_>,
    ) -> Result<Option<()>> {
        let (place, id) = unpack(account.0);
        let chain = self.segments[place as usize].chain();
        if chain.family() == Family::Utxo {
            return Ok(None);
        }
        if self.has_unique_handles(chain)
            && let Some(visited) = edges::visit_weights(self.market(cancel), (place, id), order, visit)?
        {
            return Ok(Some(visited));
        }
        self.visit_edges(&self.account_of(account)?, order, cancel, &mut |other, flows| {
            visit(other, flows.weight(order).0)
        })
    }
}

impl Logs for Snapshot {
    fn logs<'a>(&'a self, chain: Chain, filter: &LogFilter, cancel: &Cancel) -> Result<LogScan<'a>> {
        let indexed = |(place, segment)| (place, segment, self.logs[place as usize].as_ref());
        Ok(Box::new(LogMerge::new(self.of_chain(chain).map(indexed), filter, cancel)))
    }

    fn transaction_logs(&self, transaction: TransactionRef) -> Result<Vec<Log>> {
        let (segment, row) = self.behind(transaction.0);
        logs::of_transaction(segment, row, transaction)
    }
}
