//! The money of one account in one direction: how what came along a trace mixes with the rest, and what leaves with it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::read::TransactionRef;
use rustc_hash::FxHashMap;

use super::movement::{Movement, Way};
use super::payments::swap;
use crate::source::{Direction, Node};
use crate::taint::{Lots, Method, Part};

/// A movement of the trace that came to an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    pub transaction: TransactionRef,
    pub asset: u32,
    /// `None` for nobody: a bridge made the tokens.
    pub from: Option<Node>,
    pub amount: u128,
    pub part: Part,
}

/// The money of one account in one asset, over the whole of its history: as much came as went or stayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// The amount that came in, and what must have been there before.
    pub came: u128,
    /// The amount that left along edges of the trace.
    pub followed: u128,
    /// The amount that left along edges that there was no room for.
    pub pruned: u128,
    /// The amount that left otherwise: outside of time and filters, before the traced money came, or without a part of it.
    pub filtered: u128,
    /// Fees.
    pub fee: u128,
    /// The amount that is left.
    pub stayed: u128,
    /// The traced part of what came.
    pub taint: u128,
}

/// The fate of a movement that leaves an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is followed.
    Followed,
    /// It was swapped for another asset, with which the account continues: the other side is not looked through.
    Swapped,
    /// It is not followed.
    Filtered,
    /// It is a fee.
    Fee,
}

/// A movement that left an account, in the order in which it was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outflow {
    pub movement: Movement,
    /// The part that is traced; all of it without a method.
    pub part: Part,
    pub fate: Fate,
}

impl Outflow {
    /// Returns whether it is on an edge of a trace.
    pub const fn is_shown(&self) -> bool {
        match self.fate {
            Fate::Followed => true,
            Fate::Swapped => self.part.taint > 0 && is_payment(&self.movement),
            Fate::Filtered | Fate::Fee => false,
        }
    }
}

/// In what the parts of the money of a start are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Pico-dollars at the times at which they left it, or came to it.
    Dollars,
    /// The smallest unit of the one asset that moved, which has no price.
    Asset(u32),
    /// Nothing: several assets moved, and none has a price, or nothing moved.
    #[default]
    None,
}

impl Unit {
    /// The unit of movements: those that left a start.
    pub(super) fn of<'m>(movements: impl Iterator<Item = &'m Movement>) -> Self {
        let mut assets = BTreeSet::new();
        for movement in movements {
            if movement.usd.is_some() {
                return Self::Dollars;
            }
            assets.insert(movement.asset);
        }
        match (assets.pop_first(), assets.is_empty()) {
            (Some(asset), true) => Self::Asset(asset),
            _ => Self::None,
        }
    }

    fn measure(self, movement: &Movement) -> u128 {
        match self {
            Self::Dollars => movement.usd.map_or(0, |usd| u128::try_from(usd.raw()).unwrap_or(0)),
            Self::Asset(asset) if asset == movement.asset => movement.amount,
            Self::Asset(_) | Self::None => 0,
        }
    }
}

/// The rules by which money is followed through an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub method: Option<Method>,
    pub is_time_ordered: bool,
    /// The unit of what leaves where the walk begins here, so that all of it is traced.
    pub start: Option<Unit>,
    /// Against which time runs: inward what left has come, fees too, and what is left was there at first.
    pub direction: Direction,
}

/// The movements of an account as a walk in a direction reads them: inward from the last to the first with in and out
/// exchanged. Then the money that came is that from which the arrivals were paid, by the same shares as forward.
pub(super) fn directed(movements: &[Movement], direction: Direction) -> Cow<'_, [Movement]> {
    match direction {
        Direction::Outgoing => Cow::Borrowed(movements),
        Direction::Incoming => Cow::Owned(movements.iter().rev().map(turned).collect()),
    }
}

/// Follows the money of an account through its movements, as a walk in the direction of the rules reads them.
pub(super) fn flow(movements: &[Movement], arrivals: &[Arrival], rules: Rules) -> Vec<Outflow> {
    let mut account = Account::new(movements, rules);
    for arrival in arrivals {
        account.expect(*arrival);
    }
    let mut left = Vec::new();
    for of_one in movements.chunk_by(|one, other| one.transaction == other.transaction) {
        account.transaction(of_one, &mut left);
    }
    left
}

/// The account in one asset while its movements go by.
struct Holding {
    lots: Lots,
    balance: u128,
    /// True where traced money has come.
    has_come: bool,
}

/// The key of a movement of an account; equal ones can replace each other.
type MovementKey = (TransactionRef, u32, Option<Node>, u128);

/// An account while its movements go by, in the order in which the walk reads them.
pub(super) struct Account {
    rules: Rules,
    /// The traced parts of what is still to come along the trace, by movement.
    expected: FxHashMap<MovementKey, Vec<Part>>,
    holdings: BTreeMap<u32, Holding>,
    balances: BTreeMap<u32, Balance>,
    /// Source units that came too late to find their money.
    stray: u128,
}

impl Account {
    /// Before its first movement, with what must have been there.
    pub fn new(movements: &[Movement], rules: Rules) -> Self {
        let mut account = Self {
            rules,
            expected: FxHashMap::default(),
            holdings: BTreeMap::new(),
            balances: BTreeMap::new(),
            stray: 0,
        };
        for (asset, amount) in opening(movements, rules.direction) {
            account.holdings.insert(asset, account.holding_of(amount));
            account.balances.entry(asset).or_default().came = amount;
        }
        account
    }

    /// Expects traced money with a movement that is still to go by.
    pub fn expect(&mut self, arrival: Arrival) {
        let key = (arrival.transaction, arrival.asset, arrival.from, arrival.amount);
        self.expected.entry(key).or_default().push(arrival.part);
    }

    /// Takes traced money with a movement that has gone by.
    pub fn receive_late(&mut self, arrival: Arrival) {
        let holding = self.holding(arrival.asset);
        holding.has_come = true;
        let rest = holding.lots.taint_later(arrival.part);
        let balance = self.balances.entry(arrival.asset).or_default();
        balance.taint = balance.taint.saturating_add(arrival.part.taint - rest.taint);
        self.stray = self.stray.saturating_add(rest.source);
    }

    /// Ends the account: what became of each asset, and the source units that stayed.
    pub fn finish(mut self) -> (BTreeMap<u32, Balance>, u128) {
        let mut stayed = self.stray;
        for part in self.expected.into_values().flatten() {
            stayed = stayed.saturating_add(part.source);
        }
        for (asset, holding) in self.holdings {
            self.balances.entry(asset).or_default().stayed = holding.balance;
            stayed = stayed.saturating_add(holding.lots.part().source);
        }
        (self.balances, stayed)
    }

    /// Records a payment that found no room.
    pub fn prune(&mut self, left: &Outflow) {
        let amount = left.movement.amount;
        let balance = self.balances.entry(left.movement.asset).or_default();
        (balance.followed, balance.pruned) =
            (balance.followed - amount.min(balance.followed), balance.pruned.saturating_add(amount));
    }

    /// Lets the movements of one transaction go by, and appends those that left.
    pub fn transaction(&mut self, of_one: &[Movement], into: &mut Vec<Outflow>) {
        let swap = self.swap(of_one);
        let is_inward = self.rules.direction == Direction::Incoming;
        for movement in of_one.iter().filter(|movement| movement.way == Way::Fee && is_inward) {
            self.receive(movement, None);
        }
        // What comes in a transaction can leave in it; what a swap brings comes after what it takes.
        for movement in of_one.iter().filter(|movement| movement.way == Way::In) {
            if swap.is_none_or(|(_, into)| into != movement.asset) {
                self.receive(movement, None);
            }
        }
        if let Some(swap) = swap {
            self.swapped(of_one, swap, into);
        }
        let is_swapped =
            |movement: &Movement| swap.is_some_and(|(from, _)| from == movement.asset) && movement.way == Way::Out;
        let leaves = |movement: &&Movement| movement.way == Way::Out || movement.way == Way::Fee && !is_inward;
        for movement in of_one.iter().filter(leaves).filter(|movement| !is_swapped(movement)) {
            into.push(self.spend(movement, false));
        }
    }

    /// Lets the two sides of a swap go by: what it takes, then what it brings.
    fn swapped(&mut self, of_one: &[Movement], (from, received): (u32, u32), into: &mut Vec<Outflow>) {
        let mut given = SwapInput::default();
        for movement in of_one.iter().filter(|movement| movement.way == Way::Out && movement.asset == from) {
            let left = self.spend(movement, true);
            given.amount = given.amount.saturating_add(movement.amount);
            given.part = given.part.plus(left.part);
            into.push(left);
        }
        let comes = |movement: &&Movement| movement.way == Way::In && movement.asset == received;
        given.received = of_one.iter().filter(comes).fold(0, |sum: u128, movement| sum.saturating_add(movement.amount));
        for movement in of_one.iter().filter(comes) {
            let part = given.part_of(movement.amount);
            self.receive(movement, Some(part));
        }
    }

    fn holding_of(&self, amount: u128) -> Holding {
        let method = self.rules.method.unwrap_or(Method::Haircut);
        Holding { lots: Lots::new(method, amount), balance: amount, has_come: false }
    }

    /// One asset out and another one in, of traced money: the assets.
    fn swap(&self, of_one: &[Movement]) -> Option<(u32, u32)> {
        let (from, into) = swap(of_one)?;
        let is_traced = self.rules.start.is_some() || self.holdings.get(&from).is_some_and(|holding| holding.has_come);
        // What came along the trace in this very transaction is a payment, not the other side of a swap.
        let is_payment = of_one
            .iter()
            .any(|movement| movement.way == Way::In && movement.asset == into && self.expected(movement).is_some());
        (is_traced && !is_payment).then_some((from, into))
    }

    fn expected(&self, movement: &Movement) -> Option<MovementKey> {
        let key = (movement.transaction, movement.asset, movement.other, movement.amount);
        self.expected.get(&key).is_some_and(|parts| !parts.is_empty()).then_some(key)
    }

    /// `swapped` is the traced part of what a swap brings.
    fn receive(&mut self, movement: &Movement, swapped: Option<Part>) {
        let arrived = self.expected(movement).and_then(|key| self.expected.get_mut(&key)?.pop());
        let part = swapped.or(arrived).unwrap_or_default();
        let holding = self.holding(movement.asset);
        holding.lots.receive(movement.amount, part);
        holding.balance = holding.balance.saturating_add(movement.amount);
        holding.has_come |= arrived.is_some() || swapped.is_some();
        let balance = self.balances.entry(movement.asset).or_default();
        balance.came = balance.came.saturating_add(movement.amount);
        balance.taint = balance.taint.saturating_add(part.taint);
    }

    fn spend(&mut self, movement: &Movement, is_swap: bool) -> Outflow {
        let Rules { method, is_time_ordered, start, .. } = self.rules;
        let holding = self.holding(movement.asset);
        let is_reached = start.is_some() || holding.has_come || !is_time_ordered;
        let missing = movement.amount.saturating_sub(holding.balance);
        holding.balance = holding.balance.saturating_sub(movement.amount);
        let of_lots = holding.lots.spend(movement.amount);
        let part = match (start, method) {
            (Some(unit), _) => {
                let is_source = is_payment(movement) && !is_swap;
                Part { taint: movement.amount, source: if is_source { unit.measure(movement) } else { 0 } }
            }
            (None, None) => Part { taint: movement.amount, source: 0 },
            (None, Some(_)) => of_lots,
        };
        let fate = match movement.way {
            Way::Fee => Fate::Fee,
            // The money continues in the other asset.
            _ if is_swap => Fate::Swapped,
            _ if is_reached && part.taint > 0 && is_payment(movement) => Fate::Followed,
            _ => Fate::Filtered,
        };
        let left = Outflow { movement: *movement, part, fate };
        let balance = self.balances.entry(movement.asset).or_default();
        balance.came = balance.came.saturating_add(missing);
        let sum = match fate {
            Fate::Fee => &mut balance.fee,
            _ if left.is_shown() => &mut balance.followed,
            _ => &mut balance.filtered,
        };
        *sum = sum.saturating_add(movement.amount);
        left
    }

    fn holding(&mut self, asset: u32) -> &mut Holding {
        let fresh = self.holding_of(0);
        self.holdings.entry(asset).or_insert(fresh)
    }
}

/// Returns whether a movement pays somebody within the time and the filters.
const fn is_payment(movement: &Movement) -> bool {
    matches!(movement.way, Way::Out) && movement.left_out.is_none() && movement.other.is_some()
}

/// The sides of a swap.
#[derive(Default)]
struct SwapInput {
    amount: u128,
    /// The traced part of it.
    part: Part,
    /// The amount that it has still to bring.
    received: u128,
}

impl SwapInput {
    /// The traced part of the next amount that it brings; the last one takes all that is left of the source.
    fn part_of(&mut self, amount: u128) -> Part {
        let source = share_of(self.part.source, amount, self.received);
        self.received = self.received.saturating_sub(amount);
        self.part.source -= source;
        // A part of the source that would be less than a unit is one, so that it can continue.
        let least = u128::from(source > 0).min(amount);
        Part { taint: share_of(amount, self.part.taint, self.amount).max(least), source }
    }
}

/// Returns what the account must have held of each asset before its first movement, so that no payment exceeds the balance.
fn opening(movements: &[Movement], direction: Direction) -> BTreeMap<u32, u128> {
    match direction {
        Direction::Outgoing => missing(movements),
        Direction::Incoming => closing(&movements.iter().rev().map(turned).collect::<Vec<_>>()),
    }
}

/// Returns what the account lacks of each asset to make its payments. What comes in a transaction can leave in it.
fn missing(movements: &[Movement]) -> BTreeMap<u32, u128> {
    let (mut held, mut missing): (BTreeMap<u32, u128>, BTreeMap<u32, u128>) = (BTreeMap::new(), BTreeMap::new());
    for of_one in movements.chunk_by(|one, other| one.transaction == other.transaction) {
        let (ins, outs): (Vec<&Movement>, Vec<&Movement>) = of_one.iter().partition(|movement| movement.way == Way::In);
        for movement in ins {
            let balance = held.entry(movement.asset).or_default();
            *balance = balance.saturating_add(movement.amount);
        }
        for movement in outs {
            let balance = held.entry(movement.asset).or_default();
            let lacks = movement.amount.saturating_sub(*balance);
            *balance = balance.saturating_sub(movement.amount);
            if lacks > 0 {
                let sum = missing.entry(movement.asset).or_default();
                *sum = sum.saturating_add(lacks);
            }
        }
    }
    missing
}

/// Returns what is left in each asset after the last movement. What comes in a transaction can leave in it.
fn closing(movements: &[Movement]) -> BTreeMap<u32, u128> {
    let mut left: BTreeMap<u32, u128> = BTreeMap::new();
    for of_one in movements.chunk_by(|one, other| one.transaction == other.transaction) {
        let (ins, outs): (Vec<&Movement>, Vec<&Movement>) = of_one.iter().partition(|movement| movement.way == Way::In);
        for movement in ins {
            let balance = left.entry(movement.asset).or_default();
            *balance = balance.saturating_add(movement.amount);
        }
        for movement in outs {
            let balance = left.entry(movement.asset).or_default();
            *balance = balance.saturating_sub(movement.amount);
        }
    }
    left.retain(|_, balance| *balance > 0);
    left
}

/// A movement with time reversed: what left comes.
const fn turned(movement: &Movement) -> Movement {
    let way = match movement.way {
        Way::In => Way::Out,
        Way::Out => Way::In,
        Way::Fee => Way::Fee,
    };
    Movement { way, ..*movement }
}

pub(super) fn share_of(amount: u128, part: u128, whole: u128) -> u128 {
    if whole == 0 { 0 } else { crate::taint::share(amount, part.min(whole), whole) }
}
