//! The segments of a generation as edges see them, and sums over several.

use std::collections::HashMap;
use std::mem::size_of;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use headwater_types::{Address, Asset};

use super::build::account_edges;
use super::file::{EdgeFile, Record};
use super::records::{AssetEdge, Edge, EdgeFlows, EdgeOrder, Edges};
use super::tally::{AccountEdges, AssetRow, PairRow};
use super::value::{Values, terms};
use super::{MAX_GROUPED, pack};
use crate::Cancel;
use crate::error::Result;
use crate::market::{AssetTerms, PriceTable, Registry};
use crate::memory::{Purpose, Reservation, table_bytes};
use crate::primitives::{Account, AccountRef, AssetRef, pack as as_handle, unpack};
use crate::segment::Segment;

/// The edges that a generation has of one segment.
#[derive(Default)]
pub(crate) struct SegmentEdges {
    /// Built under the registry and prices of the generation.
    pub(super) file: Option<Arc<EdgeFile>>,
    /// The terms of its assets, for those that are grouped on reading.
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

/// The purpose of memory for edges.
pub(super) const COUNTERPARTIES: Purpose = Purpose {
    what: "the counterparties of the address",
    narrower: "ask for one symbol, or for the movements with one counterparty",
};

/// Bytes of a counterparty, and of an asset of it, as they are stored and as they are handed out: one is made of the
/// other.
const PAIR_BYTES: usize = size_of::<PairRow>() + size_of::<Edge>();
const ROW_BYTES: usize = size_of::<AssetRow>() + size_of::<AssetEdge>();
/// The size of an empty list.
const LIST_BYTES: usize = 16;

/// The inputs of building edges: segments of a generation, the edges built for each, valuation, and a cancel token.
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
    /// The account in each segment that has a counterparty of it; `None` when a segment has no edges and too much of
    /// the account to be grouped on reading.
    pub(super) fn sources(&self, account: &Account, held: &mut Reservation) -> Result<Option<Vec<(u32, Source<'a>)>>> {
        let mut sources = Vec::with_capacity(account.places.len());
        for &(place, id) in &account.places {
            let (segment, edges) = (&self.segments[place as usize], &self.edges[place as usize]);
            match &edges.file {
                Some(file) => {
                    sources.extend(file.account(id)?.map(|record| (place, Source::Stored(record))));
                }
                None if count(segment.postings().range(id)?) <= MAX_GROUPED => {
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

    pub(super) fn address(&self, account: AccountRef) -> Result<Address> {
        let (place, id) = unpack(account.0);
        self.segments[place as usize].address(id)
    }

    fn asset(&self, asset: AssetRef) -> Result<Asset> {
        let (place, id) = unpack(asset.0);
        self.segments[place as usize].asset(id)
    }
}

impl Source<'_> {
    pub(super) fn all(self) -> Result<AccountEdges> {
        match self {
            Self::Stored(record) => record.all(),
            Self::Grouped(edges) => Ok(edges),
        }
    }

    /// Bytes of the first so many, as they are read and handed out.
    pub(super) fn bytes_of_first(&self, order: EdgeOrder, limit: usize) -> usize {
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

    pub(super) fn first(self, order: EdgeOrder, limit: usize) -> Result<AccountEdges> {
        match self {
            Self::Stored(record) => record.first(order, limit),
            Self::Grouped(edges) => Ok(pack::selected(&edges, pack::places_by(&edges.pairs, order), limit)),
        }
    }
}

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

pub(super) fn as_asset_edge(place: u32, row: &AssetRow) -> AssetEdge {
    let AssetRow { asset, flows, received, sent } = *row;
    AssetEdge { asset: AssetRef(as_handle(place, asset)), flows, received, sent }
}

/// Adds up segments by address.
pub(super) struct Sum<'a> {
    market: Market<'a>,
    held: Reservation,
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
