//! Counterparties from the edges that the ledger keeps, where they say the same as the movements would.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::mem::size_of;
use std::ops::{ControlFlow, Range};

use headwater_ledger::edges::{Edge, EdgeFlows, EdgeOrder, Edges};
use headwater_ledger::memory::{Reservation, table_bytes};
use headwater_ledger::read::{Account, AccountRef};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_metrics::flow::{AssetTally, Group, Tally};
use headwater_types::{Address, Usd};

use crate::Error;
use crate::asset_book::AssetBook;
use crate::flows::{Groups, Others, Unverified};
use crate::movement_reader::CANCEL_EVERY;
use crate::purposes::COUNTERPARTIES;
use crate::scope::EdgeScope;

/// The movements of an account by counterparty, in no particular order; `None` where edges are not built, or stale.
pub(crate) fn edge_groups(
    ledger: &dyn Ledger,
    scope: EdgeScope,
    account: &Account,
    (others, book): (&mut Others<'_>, &mut AssetBook<'_>),
    cancel: &Cancel,
) -> Result<Option<Groups>, Error> {
    let Some(edges) = ledger.edges(account, EdgeOrder::Total, usize::MAX, cancel)? else { return Ok(None) };
    let mut of_edges = cancel.holding(COUNTERPARTIES);
    of_edges.reach(edges.bytes())?;
    let (mut list, mut held) = (Vec::new(), cancel.holding(COUNTERPARTIES));
    let mut unverified = Unverified::default();
    for (count, edge) in edges.pairs.iter().enumerate() {
        if count % CANCEL_EVERY == 0 {
            cancel.check().map_err(LedgerError::from)?;
        }
        let group = group(scope, &edges, edge, book)?;
        if scope == EdgeScope::Default {
            let shown = group.as_ref().map_or(0, |group| group.by_asset.len());
            unverified.pairs += u64::try_from(edges.assets(edge).len() - shown).expect("a count fits");
            unverified.counterparties += u64::from(group.is_none());
        }
        if let Some(group) = group {
            held.more(size_of::<(usize, Group)>() + group.by_asset.capacity() * Group::ASSET_BYTES)?;
            list.push((others.of_account(edge.counterparty)?, group));
        }
    }
    Ok(Some(Groups { list, unverified, held }))
}

/// The movements between an account and some counterparties over everything that is shown by default.
pub(crate) fn groups_with(
    ledger: &dyn Ledger,
    account: &Account,
    counterparties: &[AccountRef],
    book: &mut AssetBook<'_>,
    (held, cancel): (&mut Reservation, &Cancel),
) -> Result<HashMap<Address, Group>, Error> {
    let edges = ledger.edges_with(account, counterparties, cancel)?.unwrap_or_default();
    held.more(edges.bytes() + table_bytes::<(Address, Group)>(edges.pairs.len()))?;
    let mut groups = HashMap::with_capacity(edges.pairs.len());
    for edge in &edges.pairs {
        if let Some(group) = group(EdgeScope::Default, &edges, edge, book)? {
            held.more(group.by_asset.capacity() * Group::ASSET_BYTES)?;
            groups.insert(ledger.address(edge.counterparty)?, group);
        }
    }
    Ok(groups)
}

/// What a scope shows of an edge; `None` where that is nothing.
fn group(scope: EdgeScope, edges: &Edges, edge: &Edge, book: &mut AssetBook<'_>) -> Result<Option<Group>, Error> {
    let mut group = Group::default();
    for row in edges.assets(edge) {
        let number = book.of_ref(row.asset)?;
        let view = book.view(number);
        let is_meant = match scope {
            EdgeScope::Default => view.verified,
            EdgeScope::Asset(asset) => view.asset == asset,
        };
        if is_meant {
            if group.by_asset.is_empty() {
                // Most have one asset: lists begin with room for four.
                group.by_asset.reserve_exact(1);
            }
            group.by_asset.push((number, AssetTally::from(row)));
        }
    }
    group.all = match (scope, &group.by_asset[..]) {
        (_, []) => return Ok(None),
        (EdgeScope::Default, _) => Tally::from(&edge.flows),
        (EdgeScope::Asset(_), [(_, only), ..]) => only.tally,
    };
    Ok(Some(group))
}

/// The counterparties of an account over everything that is shown by default, each with the number it is ranked by:
/// what a page of a ranking needs of those that are not on it.
pub(crate) struct EdgeRanking {
    pub entries: Vec<Ranked>,
    /// Distinct senders to the account, and receivers from it.
    pub senders: u64,
    pub receivers: u64,
    /// Those with whom only tokens moved that no registry vouches for.
    pub unverified: u64,
    /// Whether any of their movements has a price.
    pub is_priced: bool,
    held: Reservation,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked {
    pub counterparty: AccountRef,
    pub key: i128,
    /// US dollars either way.
    pub usd: Usd,
}

impl EdgeRanking {
    /// Of those with at least so many transactions; `None` where edges are not built, or stale.
    pub fn new(
        ledger: &dyn Ledger,
        account: &Account,
        min_transactions: u64,
        (key, cancel): (impl Fn(&EdgeFlows) -> i128, &Cancel),
    ) -> Result<Option<Self>, Error> {
        let held = cancel.holding(COUNTERPARTIES);
        let mut ranking = Self { entries: Vec::new(), senders: 0, receivers: 0, unverified: 0, is_priced: false, held };
        let (mut seen, mut stopped) = (0, Ok(()));
        let visited = ledger.visit_edges(account, EdgeOrder::Total, cancel, &mut |counterparty, flows| {
            if seen % CANCEL_EVERY == 0 {
                stopped = cancel.check().map_err(LedgerError::from);
                if stopped.is_err() {
                    return ControlFlow::Break(());
                }
            }
            seen += 1;
            ranking.unverified += u64::from(flows.transfers() == 0);
            if flows.transfers() > 0 {
                ranking.senders += u64::from(flows.received.transfers > 0);
                ranking.receivers += u64::from(flows.sent.transfers > 0);
                if flows.transactions >= min_transactions {
                    ranking.is_priced |= flows.received.unpriced + flows.sent.unpriced < flows.transfers();
                    let bytes = (ranking.entries.len() + 1) * size_of::<Ranked>();
                    if let Err(refusal) = ranking.held.reach(bytes) {
                        stopped = Err(refusal.into());
                        return ControlFlow::Break(());
                    }
                    ranking.entries.push(Ranked { counterparty, key: key(flows), usd: flows.usd() });
                }
            }
            ControlFlow::Continue(())
        })?;
        stopped?;
        Ok(visited.map(|()| ranking))
    }

    /// How many entries there are up to that of an address, itself included; all of them where it has none.
    pub fn until(&self, ledger: &dyn Ledger, address: &Address) -> Result<usize, Error> {
        let of = |entry: &Ranked| ledger.address(entry.counterparty);
        let mut found = None;
        for entry in &self.entries {
            if of(entry)? == *address {
                found = Some(entry.key);
            }
        }
        let Some(key) = found else { return Ok(self.entries.len()) };
        let mut until = 0;
        for entry in &self.entries {
            until += usize::from(entry.key > key || (entry.key == key && of(entry)? <= *address));
        }
        Ok(until)
    }

    /// Puts the entries in order as far as `end`: largest number first, equal ones by address, whose order
    /// is that of its text on chains that have edges. Addresses are looked up only where numbers leave it open who comes
    /// before the end.
    pub fn order_until(&mut self, ledger: &dyn Ledger, end: usize) -> Result<(), Error> {
        let end = end.min(self.entries.len());
        let Some(last) = end.checked_sub(1) else { return Ok(()) };
        let (_, least, _) = self.entries.select_nth_unstable_by_key(last, |entry| Reverse(entry.key));
        let least = least.key;
        // Those above the last number, those of it, and the rest.
        self.entries.sort_unstable_by_key(|entry| least.cmp(&entry.key));
        let above = self.entries.partition_point(|entry| entry.key > least);
        let alike = self.entries.partition_point(|entry| entry.key >= least);
        self.by_address(ledger, above..alike, end - above)?;
        self.by_address(ledger, 0..above, above)
    }

    /// Puts a stretch in order as far as so many.
    fn by_address(&mut self, ledger: &dyn Ledger, range: Range<usize>, count: usize) -> Result<(), Error> {
        let alike = size_of::<(Reverse<i128>, Address, Ranked)>() * range.len();
        self.held.reach(self.entries.len() * size_of::<Ranked>() + alike)?;
        let addressed = |entry: &Ranked| Ok((Reverse(entry.key), ledger.address(entry.counterparty)?, *entry));
        let mut stretch = self.entries[range.clone()].iter().map(addressed).collect::<Result<Vec<_>, Error>>()?;
        let place = |one: &(Reverse<i128>, Address, Ranked)| (one.0, one.1);
        if count < stretch.len() {
            stretch.select_nth_unstable_by_key(count, place);
        }
        stretch[..count].sort_unstable_by_key(place);
        for (entry, (.., sorted)) in self.entries[range].iter_mut().zip(stretch) {
            *entry = sorted;
        }
        Ok(())
    }
}
