//! The edges of an account over all segments.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::mem::size_of;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, OnceLock};

use headwater_types::{Address, Asset};

use super::build::account_edges;
use super::file::{EdgeFile, Record};
use super::records::{AssetEdge, Edge, EdgeFlows, EdgeOrder, Edges};
use super::tally::{AccountEdges, AssetRow, PairRow};
use super::value::{Values, terms};
use super::{MOST_GROUPED, pack, strongest};
use crate::Cancel;
use crate::error::Result;
use crate::market::{AssetTerms, PriceTable, Registry};
use crate::memory::{Held, Purpose, table_bytes};
use crate::primitives::{Account, AccountRef, AssetRef};
use crate::primitives::{pack as as_handle, unpack};
use crate::segment::Segment;

/// What a generation has of the edges of one segment.
#[derive(Default)]
pub(crate) struct SegmentEdges {
    /// Built under the registry and prices of the generation.
    file: Option<Arc<EdgeFile>>,
    /// What its assets count as, for those that are grouped on reading.
    terms: OnceLock<Vec<AssetTerms>>,
}

impl SegmentEdges {
    pub(crate) fn new(file: Option<Arc<EdgeFile>>) -> Self {
        Self { file, terms: OnceLock::new() }
    }

    fn terms(&self, segment: &Segment, registry: &Registry) -> Result<&[AssetTerms]> {
        if let Some(held) = self.terms.get() {
            return Ok(held);
        }
        let made = terms(segment, registry)?;
        Ok(self.terms.get_or_init(|| made))
    }
}

/// What the memory of edges is for.
const COUNTERPARTIES: Purpose = Purpose {
    what: "the counterparties of the address",
    narrower: "ask for one symbol, or for the movements with one counterparty",
};

/// Bytes of a counterparty, and of an asset of it, as they are stored and as they are handed out: one is made of the
/// other.
const PAIR_BYTES: usize = size_of::<PairRow>() + size_of::<Edge>();
const ROW_BYTES: usize = size_of::<AssetRow>() + size_of::<AssetEdge>();
/// What a list takes besides what is in it.
const LIST_BYTES: usize = 16;

/// A generation as edges see it: segments, what is built of each, and what values them; and who asks.
#[derive(Clone, Copy)]
pub(crate) struct Market<'a> {
    pub(crate) segments: &'a [Arc<Segment>],
    pub(crate) edges: &'a [SegmentEdges],
    pub(crate) registry: &'a Registry,
    pub(crate) prices: &'a PriceTable,
    pub(crate) cancel: &'a Cancel,
}

fn count(postings: Range<u64>) -> u64 {
    postings.end - postings.start
}

/// The edges of an account in one segment.
pub(super) enum Source<'a> {
    Stored(Record<'a>),
    Grouped(AccountEdges),
}

impl<'a> Market<'a> {
    /// The account in each segment that knows a counterparty of it; `None` when a segment has no edges and too much of
    /// the account to be grouped on reading.
    fn sources(&self, account: &Account, held: &mut Held) -> Result<Option<Vec<(u32, Source<'a>)>>> {
        let mut sources = Vec::with_capacity(account.places.len());
        for &(place, id) in &account.places {
            let (segment, edges) = (&self.segments[place as usize], &self.edges[place as usize]);
            match &edges.file {
                Some(file) => {
                    sources.extend(file.account(id)?.map(|record| (place, Source::Stored(record))));
                }
                None if count(segment.postings().range(id)?) <= MOST_GROUPED => {
                    let values = Values::new(segment, edges.terms(segment, self.registry)?, self.prices);
                    let grouped = account_edges(segment, id, &values, self.cancel)?;
                    held.more(grouped.bytes())?;
                    if !grouped.pairs.is_empty() {
                        sources.push((place, Source::Grouped(grouped)));
                    }
                }
                None => return Ok(None),
            }
        }
        Ok(Some(sources))
    }

    fn address(&self, account: AccountRef) -> Result<Address> {
        let (place, id) = unpack(account.0);
        self.segments[place as usize].address(id)
    }

    fn asset(&self, asset: AssetRef) -> Result<Asset> {
        let (place, id) = unpack(asset.0);
        self.segments[place as usize].asset(id)
    }
}

impl Source<'_> {
    fn all(self) -> Result<AccountEdges> {
        match self {
            Self::Stored(record) => record.all(),
            Self::Grouped(edges) => Ok(edges),
        }
    }

    /// Bytes of the first so many, as they are read and handed out.
    fn bytes_of_first(&self, order: EdgeOrder, limit: usize) -> usize {
        /// Other orders may read all to sort them, unless this part of them is asked for.
        const FEW: usize = 16;

        let (pairs, rows) = match self {
            Self::Stored(record) => (record.pairs(), record.rows()),
            Self::Grouped(edges) => (edges.pairs.len(), edges.rows.len()),
        };
        let is_part = limit < if order == EdgeOrder::Total { pairs } else { pairs / FEW };
        let part = |all: usize| if is_part { all.div_ceil(pairs).saturating_mul(limit).min(all) } else { all };
        part(pairs) * PAIR_BYTES + part(rows) * ROW_BYTES
    }

    fn first(self, order: EdgeOrder, limit: usize) -> Result<AccountEdges> {
        match self {
            Self::Stored(record) => record.first(order, limit),
            Self::Grouped(edges) => Ok(pack::selected(&edges, pack::places_by(&edges.pairs, order), limit)),
        }
    }
}

/// The first counterparties of an account in an order; `None` when they are not built, or stale.
pub(crate) fn edges(market: Market<'_>, account: &Account, order: EdgeOrder, limit: usize) -> Result<Option<Edges>> {
    let mut held = market.cancel.holding(COUNTERPARTIES);
    let Some(mut sources) = market.sources(account, &mut held)? else { return Ok(None) };
    if sources.len() == 1 {
        let (place, source) = sources.remove(0);
        held.more(source.bytes_of_first(order, limit))?;
        return Ok(Some(as_edges(place, source.first(order, limit)?)));
    }
    if let Some(edges) = strongest::strongest(market, &sources, order, limit)? {
        return Ok(Some(edges));
    }
    let mut sum = Sum::new(market);
    for (place, source) in sources {
        // Handed out and added up one segment after the other.
        let mut of_source = market.cancel.holding(COUNTERPARTIES);
        of_source.reach(source.bytes_of_first(order, usize::MAX))?;
        sum.add(&as_edges(place, source.all()?))?;
    }
    sum.finish(order, limit).map(Some)
}

/// The counterparties and assets of an account with most movements; `None` when they are not built, or stale.
pub(crate) fn busiest(
    market: Market<'_>,
    account: &Account,
    limit: usize,
) -> Result<Option<Vec<(AccountRef, AssetEdge)>>> {
    if let [(place, id)] = account.places[..]
        && let Some(file) = &market.edges[place as usize].file
    {
        let Some(record) = file.account(id)? else { return Ok(Some(Vec::new())) };
        let named = |(other, row)| (AccountRef(as_handle(place, other)), as_asset_edge(place, &row));
        return Ok(Some(record.busiest(limit)?.into_iter().map(named).collect()));
    }
    let Some(edges) = edges(market, account, EdgeOrder::Total, usize::MAX)? else { return Ok(None) };
    let of_pair = |edge| edges.assets(edge).iter().map(move |row| (edge.counterparty, *row));
    let mut busiest: Vec<_> = edges.pairs.iter().flat_map(of_pair).collect();
    busiest.sort_by_key(|(_, row)| Reverse(row.flows.transfers()));
    busiest.truncate(limit);
    Ok(Some(busiest))
}

/// What moved between an account and some counterparties, in the order of [`EdgeOrder::Total`]; `None` when edges are not
/// built, or stale.
pub(crate) fn edges_with(market: Market<'_>, account: &Account, others: &[AccountRef]) -> Result<Option<Edges>> {
    let mut held = market.cancel.holding(COUNTERPARTIES);
    let Some(sources) = market.sources(account, &mut held)? else { return Ok(None) };
    let mut found: Vec<AccountEdges> = sources.iter().map(|_| AccountEdges::default()).collect();
    let mut of_found = market.cancel.holding(COUNTERPARTIES);
    for (count, other) in others.iter().enumerate() {
        if count % 1024 == 0 {
            market.cancel.check()?;
        }
        strongest::look_up(market, &sources, (&market.address(*other)?, unpack(other.0)), &mut found)?;
        of_found.reach(found.iter().map(AccountEdges::bytes).sum())?;
    }
    strongest::added_up(market, &sources, found)?.finish(EdgeOrder::Total, usize::MAX).map(Some)
}

/// Shows the counterparties of an account in an order until `visit` breaks off; `None` when they are not built, or
/// stale.
pub(crate) fn visit_edges(
    market: Market<'_>,
    account: &Account,
    order: EdgeOrder,
    visit: &mut dyn FnMut(AccountRef, &EdgeFlows) -> ControlFlow<()>,
) -> Result<Option<()>> {
    if let [(place, id)] = account.places[..]
        && let Some(file) = &market.edges[place as usize].file
    {
        if let Some(record) = file.account(id)? {
            let _ = record.visit(order, &mut |other, flows| visit(AccountRef(as_handle(place, other)), flows))?;
        }
        return Ok(Some(()));
    }
    // Most visits end after a few.
    let mut seen = 0;
    for limit in [FIRST_SEEN, usize::MAX] {
        let Some(edges) = edges(market, account, order, limit)? else { return Ok(None) };
        let visited = edges.pairs[seen..].iter().try_for_each(|edge| visit(edge.counterparty, &edge.flows));
        if visited.is_break() || edges.pairs.len() < limit {
            break;
        }
        seen = limit;
    }
    Ok(Some(()))
}

/// Counterparties that a visit over several segments is begun with.
const FIRST_SEEN: usize = 64;

/// The edges of one segment with handles for local ids.
pub(super) fn as_edges(place: u32, edges: AccountEdges) -> Edges {
    let handle = |id| as_handle(place, id);
    let mut start = 0;
    let pairs = edges.pairs.into_iter().map(|pair| {
        let assets = start..start + pair.assets as usize;
        start = assets.end;
        Edge { counterparty: AccountRef(handle(pair.other)), flows: pair.flows, assets }
    });
    let pairs = pairs.collect();
    Edges { pairs, assets: edges.rows.into_iter().map(|row| as_asset_edge(place, &row)).collect() }
}

fn as_asset_edge(place: u32, row: &AssetRow) -> AssetEdge {
    let AssetRow { asset, flows, received, sent } = *row;
    AssetEdge { asset: AssetRef(as_handle(place, asset)), flows, received, sent }
}

/// Adds up segments by address.
pub(super) struct Sum<'a> {
    market: Market<'a>,
    held: Held,
    /// Assets that there is room for in all pairs.
    assets: usize,
    by_address: HashMap<Address, usize>,
    pairs: Vec<Pair>,
    by_handle: HashMap<AssetRef, Asset>,
}

struct Pair {
    address: Address,
    counterparty: AccountRef,
    flows: EdgeFlows,
    assets: Vec<(Asset, AssetEdge)>,
}

impl<'a> Sum<'a> {
    pub(super) fn new(market: Market<'a>) -> Self {
        let held = market.cancel.holding(COUNTERPARTIES);
        Self { market, held, assets: 0, by_address: HashMap::new(), pairs: Vec::new(), by_handle: HashMap::new() }
    }

    pub(super) fn add(&mut self, edges: &Edges) -> Result<()> {
        for (count, edge) in edges.pairs.iter().enumerate() {
            if count % 4096 == 0 {
                self.market.cancel.check()?;
            }
            let address = self.market.address(edge.counterparty)?;
            self.held.reach(self.bytes_with(edges.assets(edge).len()))?;
            let place = *self.by_address.entry(address).or_insert(self.pairs.len());
            if place == self.pairs.len() {
                let counterparty = edge.counterparty;
                self.pairs.push(Pair { address, counterparty, flows: EdgeFlows::NONE, assets: Vec::new() });
            }
            let pair = &mut self.pairs[place];
            pair.flows.add(&edge.flows);
            for row in edges.assets(edge) {
                let asset = match self.by_handle.get(&row.asset) {
                    Some(asset) => *asset,
                    None => {
                        let asset = self.market.asset(row.asset)?;
                        self.by_handle.insert(row.asset, asset);
                        asset
                    }
                };
                match pair.assets.iter_mut().find(|(held, _)| *held == asset) {
                    Some((_, held)) => held.add(row),
                    None => {
                        let room = pair.assets.capacity();
                        if pair.assets.len() == room {
                            // Most have one asset: lists begin with room for four.
                            pair.assets.reserve_exact(room.max(1));
                        }
                        pair.assets.push((asset, *row));
                        self.assets += pair.assets.capacity() - room;
                    }
                }
            }
        }
        Ok(())
    }

    /// Bytes of it with one more pair that has so many assets.
    fn bytes_with(&self, assets: usize) -> usize {
        let pairs = self.pairs.len() + 1;
        let asset = size_of::<(Asset, AssetEdge)>() + LIST_BYTES;
        table_bytes::<(Address, usize)>(pairs) + pairs * size_of::<Pair>() + (self.assets + 2 * assets) * asset
    }

    pub(super) fn finish(mut self, order: EdgeOrder, limit: usize) -> Result<Edges> {
        self.pairs.retain(|pair| order.holds(&pair.flows));
        self.pairs.sort_unstable_by(|one, other| {
            other.flows.weight(order).cmp(&one.flows.weight(order)).then_with(|| one.address.cmp(&other.address))
        });
        self.pairs.truncate(limit);
        let rows: usize = self.pairs.iter().map(|pair| pair.assets.len()).sum();
        self.held.more(self.pairs.len() * size_of::<Edge>() + rows * size_of::<AssetEdge>())?;
        let mut edges = Edges::default();
        for mut pair in self.pairs {
            let weight = |row: &AssetEdge| row.flows.weight(EdgeOrder::Total);
            pair.assets.sort_unstable_by(|(asset, one), (another, other)| {
                weight(other).cmp(&weight(one)).then_with(|| asset.cmp(another))
            });
            let start = edges.assets.len();
            edges.assets.extend(pair.assets.into_iter().map(|(_, row)| row));
            let assets = start..edges.assets.len();
            edges.pairs.push(Edge { counterparty: pair.counterparty, flows: pair.flows, assets });
        }
        Ok(edges)
    }
}
