//! The edges of an account over all segments.

use std::cmp::Reverse;
use std::ops::{ControlFlow, RangeInclusive};

use headwater_types::Usd;

use super::records::{AssetEdge, EdgeFlows, EdgeOrder, Edges};
use super::strongest;
use super::sum::{COUNTERPARTIES, Market, SegmentEdges, Sum, as_asset_edge, as_edges};
use super::tally::AccountEdges;
use crate::error::Result;
use crate::primitives::{Account, AccountRef, pack as as_handle, unpack};

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

/// Returns the flows between an account and some counterparties, in the order of [`EdgeOrder::Total`]; `None` when
/// edges are not built, or stale.
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

/// Numbers of counterparties that an account has at least and at most.
pub(crate) fn counterparty_bounds(edges: &[SegmentEdges], account: &Account) -> Result<RangeInclusive<u64>> {
    let (mut fewest, mut most, mut transfers) = (0, 0, 0);
    for &(place, id) in &account.places {
        let Some(file) = &edges[place as usize].file else { continue };
        let Some(record) = file.account(id)? else { continue };
        fewest = fewest.max(record.pairs() as u64);
        most += record.pairs() as u64;
        transfers += record.transfers()?;
    }
    Ok(fewest..=most + account.postings.saturating_sub(transfers))
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

/// Shows the counterparties of the account behind a place by what an order goes by; `None` where more than its record has to be
/// read.
pub(crate) fn visit_weights(
    market: Market<'_>,
    (place, id): (u32, u32),
    order: EdgeOrder,
    visit: &mut dyn FnMut(AccountRef, Usd) -> ControlFlow<()>,
) -> Result<Option<()>> {
    let Some(file) = &market.edges[place as usize].file else { return Ok(None) };
    if let Some(record) = file.account(id)? {
        let _ = record.visit_usd(order, &mut |other, usd| visit(AccountRef(as_handle(place, other)), usd))?;
    }
    Ok(Some(()))
}

/// Counterparties that a visit over several segments is begun with.
const FIRST_SEEN: usize = 64;
