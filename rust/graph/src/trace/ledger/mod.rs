//! The movements of a ledger as walks follow them: [`TraceSource`] and [`PathSource`] over the accounts of a chain, and of
//! those that bridges lead to.

mod assets;
mod bridges;
mod change;
mod movements;
mod stops;
mod sums;

use std::cmp::Ordering;

use headwater_intel::label::{Aggregate, Moment, aggregate, claims_of};
use headwater_ledger::market::PriceTable;
use headwater_ledger::memory::{Purpose, Reservation};
use headwater_ledger::read::{Account, AccountRef, TransactionRef};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Chain, Family, TimeWindow};
use rustc_hash::FxHashMap;

use self::assets::AssetTable;
pub use self::assets::{AssetFilter, Inclusion, MovementFilter, TracedAsset};
use self::change::ChangeOwners;
use self::movements::Counterparties;
use self::stops::AccountReader;
use super::movement::Movement;
use super::source::{PairSums, PathSource, SumQuery, TraceSource};
use super::stop::{Stop, StopRules};
use crate::source::{Direction, Node};

/// Movements that a walk looks at, some seconds of work: a limit of work and not of time, so that equal requests have equal
/// answers.
pub const MAX_MOVEMENTS: u64 = 5_000_000;
/// Movements that a trace keeps until it has divided the money, some 60 MB of memory.
const MAX_KEPT: usize = 750_000;
/// The token to stop is looked at once per so many movements.
const CANCEL_EVERY: usize = 4096;

const MOVEMENTS: Purpose = Purpose {
    what: "the movements of the accounts of a trace",
    narrower: "ask for fewer hops, fewer symbols or a lower `stop_track_condition.max_counterparties`",
};

/// The part of a ledger that a walk looks at.
#[derive(Clone, Copy)]
pub struct TraceScope<'a> {
    /// The chain that the walk begins on.
    pub chain: Chain,
    /// The time in which movements are followed. Balances need what lies outside of it.
    pub window: TimeWindow,
    /// The movements that are asked for.
    pub filter: &'a dyn MovementFilter,
    /// The rules by which walks stop.
    pub stops: &'a StopRules,
}

/// The source of walks over a ledger. Accounts and assets are numbered in the order in which they are met.
pub struct LedgerSource<'a> {
    ledger: &'a dyn Ledger,
    scope: TraceScope<'a>,
    /// The chain of the start, then those that bridges led to, each with the moment for which its labels are asked.
    chains: Vec<(Chain, Moment)>,
    nodes: FxHashMap<(Chain, Address), Node>,
    by_handle: FxHashMap<AccountRef, Option<Node>>,
    /// Chain and address of each node.
    accounts: Vec<(Chain, Address)>,
    assets: AssetTable<'a>,
    prices: &'a PriceTable,
    changes: ChangeOwners,
    /// Movements that were read to know whether an account is a hub.
    read_ahead: Option<(Node, Vec<Movement>)>,
    /// The work of the walk so far, in movements that it looked at.
    work: u64,
    /// Movements that a trace keeps.
    kept: usize,
    is_missing_legs: bool,
    memory: Reservation,
    cancel: &'a Cancel,
}

impl<'a> LedgerSource<'a> {
    /// A source of which nothing is read yet.
    #[must_use]
    pub fn new(ledger: &'a dyn Ledger, scope: TraceScope<'a>, cancel: &'a Cancel) -> Self {
        let mut source = Self {
            ledger,
            scope,
            chains: Vec::new(),
            nodes: FxHashMap::default(),
            by_handle: FxHashMap::default(),
            accounts: Vec::new(),
            assets: AssetTable::new(ledger, scope.filter, cancel),
            prices: ledger.prices(),
            changes: ChangeOwners::default(),
            read_ahead: None,
            work: 0,
            kept: 0,
            is_missing_legs: false,
            memory: cancel.holding(MOVEMENTS),
            cancel,
        };
        source.add_chain(scope.chain);
        source
    }

    fn add_chain(&mut self, chain: Chain) {
        if self.chains.iter().all(|(known, _)| *known != chain) {
            let head = self.ledger.coverage().get(&chain).and_then(|coverage| coverage.last_time);
            self.chains.push((chain, Moment::present(self.ledger.labels(), head)));
        }
    }

    /// Returns the node of an address of the chain that the walk begins on.
    pub fn node(&mut self, address: Address) -> Node {
        self.node_on(self.scope.chain, address)
    }

    /// Returns the node of an address that a search for paths begins or ends at, which sums then name too.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn path_end(&mut self, address: Address) -> Result<Node, LedgerError> {
        let node = self.node(address);
        if let Some(handle) = self.account_of(node)?.and_then(|account| account.handle()) {
            self.by_handle.insert(handle, Some(node));
        }
        Ok(node)
    }

    fn node_on(&mut self, chain: Chain, address: Address) -> Node {
        let next = Node::try_from(self.accounts.len()).expect("a walk meets fewer accounts");
        let node = *self.nodes.entry((chain, address)).or_insert(next);
        if node == next {
            self.accounts.push((chain, address));
        }
        node
    }

    /// Returns the node behind a handle of a chain; `None` for the zero address, which is nobody.
    fn node_of(&mut self, chain: Chain, handle: AccountRef) -> Result<Option<Node>, LedgerError> {
        if let Some(node) = self.by_handle.get(&handle) {
            return Ok(*node);
        }
        let address = self.ledger.address(handle)?;
        let node = (!address.is_zero()).then(|| self.node_on(chain, address));
        self.by_handle.insert(handle, node);
        Ok(node)
    }

    /// The address of a node.
    #[must_use]
    pub fn address(&self, node: Node) -> &Address {
        &self.accounts[node as usize].1
    }

    /// The chain of a node.
    #[must_use]
    pub fn chain(&self, node: Node) -> Chain {
        self.accounts[node as usize].0
    }

    fn is_utxo(&self, node: Node) -> bool {
        self.chain(node).family() == Family::Utxo
    }

    /// The chains that bridges led to.
    pub fn chains_beyond(&self) -> impl Iterator<Item = Chain> {
        self.chains[1..].iter().map(|(chain, _)| *chain)
    }

    /// An asset of a movement.
    #[must_use]
    pub fn asset(&self, asset: u32) -> &TracedAsset {
        self.assets.get(asset)
    }

    /// Returns what lists say of a node.
    ///
    /// # Errors
    /// When labels cannot be read.
    pub fn labels(&self, node: Node) -> Result<Aggregate<'a>, LedgerError> {
        let (chain, address) = self.accounts[node as usize];
        let known = self.chains.iter().find(|(known, _)| *known == chain);
        let (_, moment) = known.expect("a node is of a chain that was added");
        Ok(aggregate(&claims_of(self.ledger, chain, &address, &Cancel::new())?, moment))
    }

    /// The number of bitcoin transactions whose change was not looked for, as the walk came to too many.
    #[must_use]
    pub const fn unjudged_change(&self) -> u64 {
        self.changes.unjudged
    }

    /// Returns whether legs of a transfer over a bridge were not looked for.
    #[must_use]
    pub const fn is_missing_legs(&self) -> bool {
        self.is_missing_legs
    }

    fn account_of(&self, node: Node) -> Result<Option<Account>, LedgerError> {
        self.ledger.account(self.chain(node), self.address(node))
    }
}

impl TraceSource for LedgerSource<'_> {
    type Error = LedgerError;

    fn is_service(&mut self, node: Node) -> Result<bool, LedgerError> {
        Ok(self.scope.stops.is_service(&self.labels(node)?.codes))
    }

    fn stop(&mut self, node: Node) -> Result<Option<Stop>, LedgerError> {
        let rules = self.scope.stops;
        rules.stop(&mut AccountReader::new(self, node))
    }

    fn movements(&mut self, node: Node, into: &mut Vec<Movement>) -> Result<(), LedgerError> {
        match self.read_ahead.take().filter(|(of, _)| *of == node) {
            Some((_, mut movements)) => into.append(&mut movements),
            None => self.read(node, Counterparties::All, into)?,
        }
        Ok(())
    }

    fn sums(&mut self, node: Node, direction: Direction, query: SumQuery) -> Result<Option<PairSums>, LedgerError> {
        self.sums_of(node, direction, query)
    }

    fn is_change(&mut self, transaction: TransactionRef, (_, to): (Node, Node)) -> Result<bool, LedgerError> {
        if !self.is_utxo(to) {
            return Ok(false);
        }
        let owner = self.changes.of(self.ledger, transaction, self.cancel)?;
        Ok(owner.is_some_and(|owner| owner == *self.address(to)))
    }

    fn other_legs(
        &mut self,
        near: (Node, Direction),
        movement: &Movement,
    ) -> Result<Vec<(Node, Movement)>, LedgerError> {
        self.over_bridges(near, movement)
    }

    fn order(&mut self, one: TransactionRef, other: TransactionRef) -> Result<Ordering, LedgerError> {
        if one.part() == other.part() {
            return Ok(one.cmp(&other));
        }
        let place = |transaction| {
            let head = self.ledger.transaction_head(transaction)?;
            Ok::<_, LedgerError>((head.block, head.index, head.hash))
        };
        Ok(place(one)?.cmp(&place(other)?))
    }

    fn compare(&self, one: Node, other: Node) -> Ordering {
        self.accounts[one as usize].cmp(&self.accounts[other as usize])
    }

    fn keep(&mut self, movements: usize) -> Result<(), LedgerError> {
        self.kept = movements;
        Ok(self.memory.reach(movements.saturating_mul(size_of::<Movement>()))?)
    }

    fn is_over(&self) -> bool {
        self.work > MAX_MOVEMENTS || self.kept > MAX_KEPT
    }
}

impl PathSource for LedgerSource<'_> {
    fn size(&mut self, node: Node) -> Result<u64, LedgerError> {
        Ok(self.account_of(node)?.map_or(0, |account| account.postings))
    }

    fn payments(&mut self, node: Node, into: &mut Vec<Movement>) -> Result<(), LedgerError> {
        let chain = self.chain(node);
        let has_distinct_handles = chain.family() != Family::Utxo && self.ledger.has_unique_handles(chain);
        self.read(node, if has_distinct_handles { Counterparties::Numbered } else { Counterparties::All }, into)
    }

    fn may_move(&mut self, ends: (Node, Node), asset: u32) -> Result<bool, LedgerError> {
        self.has_moved(ends, asset)
    }

    fn compare_assets(&self, one: u32, other: u32) -> Ordering {
        self.asset(one).asset.cmp(&self.asset(other).asset)
    }
}
