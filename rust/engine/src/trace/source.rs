//! The movements of a ledger as a trace reads them.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use headwater_graph::paths::{Asked, Largest, Neighbours};
use headwater_graph::source::{Direction as Heading, Node};
use headwater_graph::trace::{Exposed, Movement, Movements, Nameless, Share, Stop, Way};
use headwater_intel::label::{Aggregate, CodeConfidence};
use headwater_ledger::edges::EdgeOrder;
use headwater_ledger::labels::Code;
use headwater_ledger::memory::{Purpose, Reservation};
use headwater_ledger::read::{
    Account, AccountRef, ColumnSet, Direction, MovementKind, Posting, Scan, ScanOrder, TransactionRef,
};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Amount, Asset, Chain, Family, TimeWindow, Usd};
use rustc_hash::{FxHashMap, FxHashSet};

use super::rules::{HUB_COUNTERPARTIES, MAX_KEPT, MAX_MOVEMENTS};
use crate::Error;
use crate::asset_book::{AssetBook, AssetView};
use crate::change::ChangeBook;
use crate::labels::Labels;
use crate::query_meta::MovementSource;
use crate::request::Warnings;
use crate::scope::{EdgeScope, Judged, Rule, Scope, Verdict};
use crate::valuation::Valuer;
use crate::walk::{CANCEL_EVERY, counterparties};

/// Least reliability of a claim that stops a walk.
const LEAST_RELIABILITY: f64 = 0.5;
/// Least confidence that age may leave it.
const LEAST_CONFIDENCE: f64 = 0.25;

/// Returns whether a code says who an address is, as far as walks are concerned.
pub(crate) fn is_known(code: &CodeConfidence) -> bool {
    code.reliability >= LEAST_RELIABILITY && code.confidence >= LEAST_CONFIDENCE
}

const MOVEMENTS: Purpose = Purpose {
    what: "the movements of the accounts of a trace",
    narrower: "ask for fewer hops, fewer symbols or a lower `stop_track_condition.max_counterparties`",
};

/// Where a walk does not go on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stops {
    pub codes: Vec<Code>,
    pub max_counterparties: usize,
    pub at_contracts: bool,
    /// The chains on which a walk goes on over bridges; all that are held where nothing is said.
    pub bridge_chains: Option<Vec<Chain>>,
}

impl Stops {
    /// At these labels and at hubs of the usual size, not at contracts.
    pub fn at(codes: Vec<Code>) -> Self {
        let max_counterparties = usize::try_from(HUB_COUNTERPARTIES).expect("a small number");
        Self { codes, max_counterparties, at_contracts: false, bridge_chains: None }
    }

    /// Whether walks stop at an address with a code. The hot wallet of an exchange is one.
    fn are_at(&self, code: Code) -> bool {
        let meant = if code == Code::ExchangeHotWallet { Code::Exchange } else { code };
        self.codes.contains(&code) || self.codes.contains(&meant)
    }
}

/// With whom movements are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whom {
    Anyone,
    /// Accounts that have a handle with a node.
    Met,
}

/// What the movements of one chain are read by.
struct ChainView<'a> {
    /// Over all of time: balances need what lies outside of the window.
    scope: Scope,
    labels: Labels<'a>,
    book: AssetBook<'a>,
    rules: Vec<Option<Rule>>,
}

impl<'a> ChainView<'a> {
    fn new(ledger: &'a dyn Ledger, scope: Scope, cancel: &Cancel) -> Self {
        let (labels, book) = (Labels::present(ledger, scope.chain), AssetBook::within(ledger, scope.chain, cancel));
        Self { scope, labels, book, rules: Vec::new() }
    }

    fn chain(&self) -> Chain {
        self.scope.chain
    }

    fn is_utxo(&self) -> bool {
        self.chain().family() == Family::Utxo
    }
}

/// The number of an asset among those of all chains: its number in the book of its chain, then the place of that.
#[derive(Clone, Copy)]
struct AssetNumber(u32);

impl AssetNumber {
    fn new(chain: usize, number: usize) -> Self {
        let number = u32::try_from(number << u8::BITS | chain).expect("a walk meets fewer assets");
        Self(number)
    }

    fn parts(self) -> (usize, usize) {
        (usize::from(self.0.to_le_bytes()[0]), self.0 as usize >> u8::BITS)
    }
}

/// The movements of accounts, of one chain until a bridge leads to another. Nodes are numbered in the order in which they are met.
pub(crate) struct LedgerMovements<'a> {
    pub(super) ledger: &'a dyn Ledger,
    /// The chain of the start, then those that bridges led to.
    chains: Vec<ChainView<'a>>,
    window: TimeWindow,
    pub(super) stops: &'a Stops,
    valuer: Valuer,
    nodes: FxHashMap<(usize, Address), Node>,
    by_handle: FxHashMap<AccountRef, Option<Node>>,
    /// Chain and address of each node.
    places: Vec<(usize, Address)>,
    /// Movements that were read to know whether an account is a hub.
    kept: Option<(Node, Vec<Movement>)>,
    /// Movements looked at so far: what the budget counts.
    pub read: u64,
    /// Movements that a trace keeps.
    kept_by_walk: usize,
    pub changes: ChangeBook,
    /// Of bridge transfers that were not looked for everywhere.
    pub warnings: Warnings,
    held: Reservation,
    pub(super) cancel: &'a Cancel,
}

impl<'a> LedgerMovements<'a> {
    pub fn new(ledger: &'a dyn Ledger, scope: &Scope, stops: &'a Stops, cancel: &'a Cancel) -> Self {
        Self {
            ledger,
            chains: vec![ChainView::new(ledger, scope.within(TimeWindow::ALL), cancel)],
            window: scope.window,
            stops,
            valuer: Valuer::new(ledger),
            nodes: FxHashMap::default(),
            by_handle: FxHashMap::default(),
            places: Vec::new(),
            kept: None,
            read: 0,
            kept_by_walk: 0,
            changes: ChangeBook::default(),
            warnings: Warnings::default(),
            held: cancel.holding(MOVEMENTS),
            cancel,
        }
    }

    /// The node of an address of the chain that the walk begins on.
    pub fn node(&mut self, address: Address) -> Node {
        self.node_on(0, address)
    }

    fn node_on(&mut self, chain: usize, address: Address) -> Node {
        let next = Node::try_from(self.places.len()).expect("a walk meets fewer accounts");
        let node = *self.nodes.entry((chain, address)).or_insert(next);
        if node == next {
            self.places.push((chain, address));
        }
        node
    }

    /// The node of an address of a chain that a bridge leads to.
    pub(super) fn node_beyond(&mut self, chain: Chain, address: Address) -> Node {
        let known = self.chains.iter().position(|view| view.chain() == chain);
        let place = known.unwrap_or_else(|| {
            let scope = self.chains[0].scope.on(chain);
            self.chains.push(ChainView::new(self.ledger, scope, self.cancel));
            self.chains.len() - 1
        });
        self.node_on(place, address)
    }

    /// An asset of the chain of a node.
    pub(super) fn view_on(&mut self, node: Node, asset: Asset) -> Result<&AssetView, Error> {
        let book = &mut self.chains[self.places[node as usize].0].book;
        let number = book.of_asset(asset)?;
        Ok(book.view(number))
    }

    /// The node of an address that a search for paths begins or ends at, which edges then name too.
    pub fn end(&mut self, address: Address) -> Result<Node, Error> {
        let node = self.node(address);
        if let Some(handle) = self.account(node)?.and_then(|account| account.handle()) {
            self.by_handle.insert(handle, Some(node));
        }
        Ok(node)
    }

    /// The address of a node.
    pub fn address(&self, node: Node) -> &Address {
        &self.places[node as usize].1
    }

    /// The chain of a node.
    pub fn chain(&self, node: Node) -> Chain {
        self.chain_view(node).chain()
    }

    /// The chains that bridges led to.
    pub fn chains_beyond(&self) -> impl Iterator<Item = Chain> {
        self.chains[1..].iter().map(ChainView::chain)
    }

    /// What lists say of a node.
    pub fn labels(&self, node: Node) -> Result<Aggregate<'a>, Error> {
        self.chain_view(node).labels.of(self.address(node))
    }

    /// An asset of a movement.
    pub fn asset(&self, asset: u32) -> &AssetView {
        let (chain, number) = AssetNumber(asset).parts();
        self.chains[chain].book.view(number)
    }

    fn chain_view(&self, node: Node) -> &ChainView<'a> {
        &self.chains[self.places[node as usize].0]
    }

    pub(super) fn account(&self, node: Node) -> Result<Option<Account>, Error> {
        Ok(self.ledger.account(self.chain(node), self.address(node))?)
    }

    /// Returns whether the history of a node is held, as far as sources say: not where all there is of the chain are exports of
    /// other accounts.
    fn is_held(&self, node: Node) -> bool {
        let chain = self.chain(node);
        let coverage = self.ledger.coverage().get(&chain);
        let is_of_exports = coverage.is_some_and(|held| held.ranges.is_empty() && !held.accounts.is_empty());
        !is_of_exports || self.ledger.has_whole_history(chain, self.address(node))
    }

    /// The node behind a handle of a chain; `None` for the zero address, which is nobody.
    fn other(&mut self, chain: usize, handle: AccountRef) -> Result<Option<Node>, Error> {
        if let Some(node) = self.by_handle.get(&handle) {
            return Ok(*node);
        }
        let address = self.ledger.address(handle)?;
        let node = (!address.is_zero()).then(|| self.node_on(chain, address));
        self.by_handle.insert(handle, node);
        Ok(node)
    }

    /// The direct exposure of an account, from the edges that the ledger keeps; `None` where they cannot answer: not built,
    /// or asked for a time, some assets or a chain without edges.
    pub fn direct(&mut self, start: Node, heading: Heading) -> Result<Option<Exposed>, Error> {
        let (Some(EdgeScope::Default), Some(account)) =
            (self.chains[0].scope.within(self.window).of_edges(), self.account(start)?)
        else {
            return Ok(None);
        };
        let order = match heading {
            Heading::Outgoing => EdgeOrder::Sent,
            Heading::Incoming => EdgeOrder::Received,
        };
        let mut sides = Vec::new();
        let visited = self.ledger.visit_edges(&account, order, self.cancel, &mut |other, flows| {
            sides.push((other, if heading == Heading::Outgoing { flows.sent } else { flows.received }));
            ControlFlow::Continue(())
        })?;
        if visited.is_none() {
            return Ok(None);
        }
        let mut exposed = Exposed { looked_through: 1, ..Exposed::default() };
        for (handle, side) in sides {
            let Some(other) = self.other(0, handle)? else { continue };
            exposed.total += side.usd;
            exposed.unpriced += side.unpriced;
            if side.usd == Usd::ZERO {
                continue;
            }
            if self.is_service(other)? {
                exposed.shares.push(Share { node: other, hops: 1, usd: side.usd });
            } else {
                *exposed.nameless.entry(Nameless::Stopped(Stop::DepthLimit)).or_default() += side.usd;
            }
        }
        Ok(Some(exposed))
    }

    /// Returns whether a trace has done or kept as much as one may.
    pub fn is_over(&self) -> bool {
        self.read > MAX_MOVEMENTS || self.kept_by_walk > MAX_KEPT
    }

    /// What the movements of accounts are read from.
    pub fn kind(&self) -> MovementSource {
        match self.chains[0].chain().family() {
            Family::Utxo => MovementSource::Utxo,
            Family::Evm | Family::Tron => MovementSource::Postings,
        }
    }

    /// Whether an account deals with too many: looks at no more movements than it takes to know. On UTXO chains they are kept for
    /// the walk, which reads them next.
    fn is_hub(&mut self, node: Node, account: &Account) -> Result<bool, Error> {
        let most = self.stops.max_counterparties;
        if self.chain_view(node).is_utxo() {
            let mut movements = Vec::new();
            self.read(node, Whom::Anyone, &mut movements)?;
            let others: FxHashSet<Node> = movements.iter().filter_map(|movement| movement.other).collect();
            self.kept = Some((node, movements));
            return Ok(others.len() > most);
        }
        if account.postings <= most as u64 {
            return Ok(false);
        }
        let known = self.ledger.counterparty_bounds(account)?;
        if *known.start() > most as u64 || *known.end() <= most as u64 {
            return Ok(*known.start() > most as u64);
        }
        let mut others = FxHashSet::default();
        let wanted = (ColumnSet::COUNTERPARTIES, self.cancel);
        self.ledger.posting_columns(account, &Scan::default(), wanted, &mut |columns| {
            others.extend(columns.counterparties().iter().filter_map(|other| columns.counterparty(*other)));
            Ok(if others.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(others.len() > most)
    }

    /// Appends a movement of an account: on UTXO chains one for each other side.
    pub(super) fn add(&mut self, node: Node, posting: &Posting, into: &mut Vec<Movement>) -> Result<(), Error> {
        let place = self.places[node as usize].0;
        let ChainView { scope, book, rules, .. } = &mut self.chains[place];
        let number = book.of_ref(posting.asset)?;
        if number >= rules.len() {
            rules.resize(number + 1, None);
        }
        let rule = rules[number].get_or_insert_with(|| scope.rule(book.view(number)));
        let asset = AssetNumber::new(place, number).0;
        let left_out = match rule.judge(&Judged::from(posting)) {
            Verdict::Failed | Verdict::ZeroValue => return Ok(()),
            Verdict::Shown if self.window.contains(posting.time) => None,
            Verdict::Shown => Some(Stop::TimeRange),
            Verdict::Unverified | Verdict::Outside => Some(Stop::Filtered),
        };
        let way = match posting.direction {
            Direction::In => Way::In,
            Direction::Out => Way::Out,
            Direction::Own => return Ok(()),
        };
        let mut push = |source: &Self, amount: Amount, other: Option<Node>, way: Way| {
            let usd = source.valuer.usd(source.asset(asset), amount, posting.time);
            into.push(Movement {
                transaction: posting.transaction,
                time: posting.time.secs(),
                asset,
                // Larger amounts are beyond every supply that has a worth.
                amount: amount.to_u128().unwrap_or(u128::MAX),
                usd: usd.and_then(Usd::from_f64),
                other,
                way,
                left_out,
            });
        };
        if !self.chains[place].is_utxo() {
            let other = posting.counterparty.map(|handle| self.other(place, handle)).transpose()?.flatten();
            push(self, posting.amount, other, way);
            return Ok(());
        }
        let pairs = counterparties(self.ledger, posting.transaction, &self.address(node).clone())?;
        let mut rest = posting.amount;
        for (address, value) in pairs {
            let other = self.node_on(place, address);
            rest = rest.checked_sub(value).unwrap_or(Amount::ZERO);
            push(self, value, Some(other), way);
        }
        if !rest.is_zero() {
            push(self, rest, None, if way == Way::Out { Way::Fee } else { way });
        }
        Ok(())
    }

    /// Appends the movements of an account with some others.
    fn read(&mut self, node: Node, with: Whom, into: &mut Vec<Movement>) -> Result<(), Error> {
        let Some(account) = self.account(node)? else { return Ok(()) };
        let of_all = usize::try_from(account.postings).unwrap_or(usize::MAX);
        let oldest_first = Scan { order: ScanOrder::OldestFirst, ..Scan::default() };
        if with == Whom::Anyone {
            let movements = of_all.saturating_mul(2).saturating_add(self.kept_by_walk);
            self.held.reach(movements.saturating_mul(size_of::<Movement>()))?;
        }
        for (count, posting) in self.ledger.postings(&account, &oldest_first)?.enumerate() {
            if count % CANCEL_EVERY == 0 {
                self.cancel.check().map_err(LedgerError::from)?;
            }
            let posting = posting?;
            self.read += 1;
            if with == Whom::Met && posting.counterparty.is_none_or(|other| !self.by_handle.contains_key(&other)) {
                continue;
            }
            self.add(node, &posting, into)?;
            if with == Whom::Anyone && !self.chain_view(node).is_utxo() && is_sent(&posting) {
                self.fee(node, &posting, into)?;
            }
        }
        Ok(())
    }

    /// The fee of a transaction that the account sent.
    fn fee(&mut self, node: Node, posting: &Posting, into: &mut Vec<Movement>) -> Result<(), Error> {
        let Some(amount) = self.ledger.fee(posting.transaction)?.filter(|fee| !fee.is_zero()) else { return Ok(()) };
        let place = self.places[node as usize].0;
        let asset = AssetNumber::new(place, self.chains[place].book.of_asset(Asset::Native)?).0;
        let usd = self.valuer.usd(self.asset(asset), amount, posting.time);
        into.push(Movement {
            transaction: posting.transaction,
            time: posting.time.secs(),
            asset,
            amount: amount.to_u128().unwrap_or(u128::MAX),
            usd: usd.and_then(Usd::from_f64),
            other: None,
            way: Way::Fee,
            left_out: None,
        });
        Ok(())
    }
}

/// Whether the account sent the transaction: its own value left it.
fn is_sent(posting: &Posting) -> bool {
    posting.kind == MovementKind::Native && posting.direction != Direction::In
}

impl Movements for LedgerMovements<'_> {
    type Error = Error;

    fn is_service(&mut self, node: Node) -> Result<bool, Error> {
        let judged = self.labels(node)?;
        Ok(judged.codes.iter().any(|code| is_known(code) && self.stops.are_at(code.code)))
    }

    fn stop(&mut self, node: Node) -> Result<Option<Stop>, Error> {
        if self.address(node).is_keyless() {
            return Ok(Some(Stop::NoOwner));
        }
        if self.is_service(node)? {
            return Ok(Some(Stop::Label));
        }
        if !self.is_held(node) {
            return Ok(Some(Stop::NotHeld));
        }
        let Some(account) = self.account(node)? else { return Ok(None) };
        if self.stops.at_contracts && account.is_contract {
            return Ok(Some(Stop::Contract));
        }
        Ok(self.is_hub(node, &account)?.then_some(Stop::Hub))
    }

    fn movements(&mut self, node: Node, into: &mut Vec<Movement>) -> Result<(), Error> {
        match self.kept.take().filter(|(of, _)| *of == node) {
            Some((_, mut movements)) => into.append(&mut movements),
            None => self.read(node, Whom::Anyone, into)?,
        }
        Ok(())
    }

    fn keep(&mut self, movements: usize) -> Result<(), Error> {
        self.kept_by_walk = movements;
        Ok(self.held.reach(movements.saturating_mul(size_of::<Movement>()))?)
    }

    fn order(&mut self, one: TransactionRef, other: TransactionRef) -> Result<Ordering, Error> {
        if one.part() == other.part() {
            return Ok(one.cmp(&other));
        }
        let place = |transaction| {
            let head = self.ledger.transaction_head(transaction)?;
            Ok::<_, Error>((head.block, head.index, head.hash))
        };
        Ok(place(one)?.cmp(&place(other)?))
    }

    fn is_change(&mut self, transaction: TransactionRef, (_, to): (Node, Node)) -> Result<bool, Error> {
        if !self.chain_view(to).is_utxo() {
            return Ok(false);
        }
        let owner = self.changes.owner(self.ledger, transaction, self.cancel)?;
        Ok(owner.is_some_and(|owner| owner == *self.address(to)))
    }

    fn beyond(&mut self, near: (Node, Heading), movement: &Movement) -> Result<Vec<(Node, Movement)>, Error> {
        self.over_bridges(near, movement)
    }
}

impl Neighbours for LedgerMovements<'_> {
    fn size(&mut self, node: Node) -> Result<u64, Error> {
        Ok(self.account(node)?.map_or(0, |account| account.postings))
    }

    fn largest(&mut self, node: Node, way: Way, asked: Asked) -> Result<Option<Largest>, Error> {
        let order = match way {
            Way::Out => EdgeOrder::Sent,
            Way::In => EdgeOrder::Received,
            Way::Fee => return Ok(None),
        };
        let (Some(EdgeScope::Default), Some(account)) =
            (self.chains[0].scope.within(self.window).of_edges(), self.account(node)?)
        else {
            return Ok(None);
        };
        let (mut largest, mut sides) = (Largest::default(), Vec::new());
        let visited = self.ledger.visit_edges(&account, order, self.cancel, &mut |other, flows| {
            if sides.len() == asked.limit {
                largest.is_cut = true;
                return ControlFlow::Break(());
            }
            sides.push((other, if way == Way::Out { flows.sent } else { flows.received }));
            ControlFlow::Continue(())
        })?;
        if visited.is_none() {
            return Ok(None);
        }
        let is_unmet_left_out = asked.is_met_only && self.ledger.has_unique_handles(self.chains[0].chain());
        for (handle, side) in sides {
            if is_unmet_left_out && !self.by_handle.contains_key(&handle) {
                continue;
            }
            let Some(other) = self.other(0, handle)? else { continue };
            largest.parties.push((other, (side.unpriced < side.transfers).then_some(side.usd)));
        }
        Ok(Some(largest))
    }

    fn payments(&mut self, node: Node, into: &mut Vec<Movement>) -> Result<(), Error> {
        let chain = self.chains[0].chain();
        let is_told_apart = chain.family() != Family::Utxo && self.ledger.has_unique_handles(chain);
        self.read(node, if is_told_apart { Whom::Met } else { Whom::Anyone }, into)
    }

    fn may_move(&mut self, (from, to): (Node, Node), asset: u32) -> Result<bool, Error> {
        let (Some(account), Some(other)) = (self.account(from)?, self.account(to)?) else { return Ok(true) };
        let others: Vec<_> = other.handle().into_iter().collect();
        let Some(edges) = self.ledger.edges_with(&account, &others, self.cancel)? else { return Ok(true) };
        let asset = self.asset(asset).asset;
        for row in edges.pairs.iter().flat_map(|edge| edges.assets(edge)) {
            if row.flows.sent.transfers > 0 && self.ledger.asset(row.asset)? == asset {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn compare(&self, one: Node, other: Node) -> Ordering {
        self.address(one).cmp(self.address(other))
    }

    fn compare_assets(&self, one: u32, other: u32) -> Ordering {
        self.asset(one).asset.cmp(&self.asset(other).asset)
    }
}
