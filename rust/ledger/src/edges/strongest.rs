//! The strongest counterparties over several segments without adding up all of them: the threshold algorithm (Fagin,
//! Lotem, Naor, "Optimal aggregation algorithms for middleware", 2003).
//!
//! Each segment is read in its own order, and whoever is met is looked up in all others. Nobody who was not met yet can
//! weigh more than the next ones of all segments together; when that is less than the last of those wanted, they are
//! the strongest.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use headwater_types::{Address, Usd};

use super::pack::{places_by, selected};
use super::records::{EdgeFlows, EdgeOrder, Edges};
use super::sum::{Market, Source, Sum, as_edges};
use super::tally::AccountEdges;
use crate::error::Result;

/// Fewer pairs than this are added up at once.
const FEW_PAIRS: usize = 2048;
/// At most one pair in so many is looked up one by one; beyond that all of them are added up.
const ONE_IN: usize = 16;

type Weight = (Usd, u64);

/// The first counterparties of an order; `None` when adding up all of them is no more work.
pub(super) fn strongest(
    market: Market<'_>,
    sources: &[(u32, Source<'_>)],
    order: EdgeOrder,
    limit: usize,
) -> Result<Option<Edges>> {
    let pairs: usize = sources.iter().map(|(_, source)| source.pairs()).sum();
    let most = pairs / ONE_IN;
    if pairs < FEW_PAIRS || limit == 0 || limit > most {
        return Ok(None);
    }
    let mut ranked = Vec::with_capacity(sources.len());
    for (place, source) in sources {
        ranked.push((*place, PairOrder::new(source, order)?));
    }
    let mut met: HashSet<Address> = HashSet::new();
    let mut best: BinaryHeap<Reverse<Weight>> = BinaryHeap::new();
    let mut found: Vec<AccountEdges> = sources.iter().map(|_| AccountEdges::default()).collect();
    for rank in 0.. {
        let mut threshold = (Usd::ZERO, 0);
        let mut is_over = true;
        for (place, ranked) in &ranked {
            let Some((other, weight)) = ranked.at(rank)? else { continue };
            is_over = false;
            threshold = (threshold.0 + weight.0, threshold.1 + weight.1);
            let address = market.segments[*place as usize].address(other)?;
            if !met.insert(address) {
                continue;
            }
            let weight = look_up(market, sources, (&address, (*place, other)), &mut found)?.weight(order);
            best.push(Reverse(weight));
            if best.len() > limit {
                best.pop();
            }
        }
        // Those of equal weight are told apart by address, so they must be met too.
        let is_decided = best.len() == limit && best.peek().is_some_and(|Reverse(last)| *last > threshold);
        if is_over || is_decided {
            break;
        }
        if met.len() > most {
            return Ok(None);
        }
    }
    added_up(market, sources, found)?.finish(order, limit).map(Some)
}

/// Adds up the pairs found in the segments, counterparty by counterparty.
pub(super) fn added_up<'a>(
    market: Market<'a>,
    sources: &[(u32, Source<'_>)],
    found: Vec<AccountEdges>,
) -> Result<Sum<'a>> {
    let mut sum = Sum::new(market);
    for ((place, _), edges) in sources.iter().zip(found) {
        sum.add(&as_edges(*place, edges))?;
    }
    Ok(sum)
}

/// Adds up a counterparty over all segments, and keeps what each has of it; one of them and its id there are known.
pub(super) fn look_up(
    market: Market<'_>,
    sources: &[(u32, Source<'_>)],
    (address, known): (&Address, (u32, u32)),
    found: &mut [AccountEdges],
) -> Result<EdgeFlows> {
    let mut flows = EdgeFlows::NONE;
    for ((place, source), found) in sources.iter().zip(found) {
        let id = if known.0 == *place { Some(known.1) } else { market.segments[*place as usize].account(address)? };
        let Some(id) = id else { continue };
        let Some(edges) = source.find(id)? else { continue };
        edges.pairs.iter().for_each(|pair| flows.add(&pair.flows));
        found.pairs.extend(edges.pairs);
        found.rows.extend(edges.rows);
    }
    Ok(flows)
}

/// The pairs of a segment in an order.
enum PairOrder<'s, 'a> {
    Stored(&'s Source<'a>, EdgeOrder, usize),
    Listed(Vec<(u32, Weight)>),
}

impl<'s, 'a> PairOrder<'s, 'a> {
    fn new(source: &'s Source<'a>, order: EdgeOrder) -> Result<Self> {
        let listed = |edges: &AccountEdges| {
            let weight = |place: usize| (edges.pairs[place].other, edges.pairs[place].flows.weight(order));
            places_by(&edges.pairs, order).into_iter().map(weight).collect()
        };
        Ok(match source {
            Source::Stored(record) => match record.ranks(order) {
                Some(ranks) => Self::Stored(source, order, ranks),
                None => Self::Listed(listed(&record.all()?)),
            },
            Source::Grouped(edges) => Self::Listed(listed(edges)),
        })
    }

    fn at(&self, rank: usize) -> Result<Option<(u32, Weight)>> {
        match self {
            Self::Listed(pairs) => Ok(pairs.get(rank).copied()),
            Self::Stored(Source::Stored(record), order, ranks) if rank < *ranks => {
                record.ranked(*order, rank).map(Some)
            }
            Self::Stored(..) => Ok(None),
        }
    }
}

impl Source<'_> {
    fn pairs(&self) -> usize {
        match self {
            Self::Stored(record) => record.pairs(),
            Self::Grouped(edges) => edges.pairs.len(),
        }
    }

    fn find(&self, other: u32) -> Result<Option<AccountEdges>> {
        match self {
            Self::Stored(record) => record.find(other),
            Self::Grouped(edges) => {
                let place = edges.pairs.iter().position(|pair| pair.other == other);
                Ok(place.map(|place| selected(edges, vec![place], 1)))
            }
        }
    }
}
