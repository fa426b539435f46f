//! What of the money that came to an account along a trace went where: one account, one direction.

use std::collections::BTreeMap;

use headwater_ledger::read::TransactionRef;
use rustc_hash::FxHashMap;

use super::movement::{Movement, Way};
use crate::source::Node;
use crate::taint::{Lots, Method};

/// What came to an account along one movement of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    pub transaction: TransactionRef,
    pub asset: u32,
    /// `None` for nobody: a bridge made the tokens.
    pub from: Option<Node>,
    pub amount: u128,
    pub taint: u128,
}

/// What became of the money of one account in one asset, over the whole of its history: what came is what went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// What came in, and what must have been there before.
    pub came: u128,
    /// What left along edges of the trace.
    pub followed: u128,
    /// What left along edges that there was no room for.
    pub pruned: u128,
    /// What left otherwise: outside of time and filters, before the traced money came, or without a part of it.
    pub filtered: u128,
    /// Fees.
    pub fee: u128,
    /// What is left.
    pub stayed: u128,
    /// How much of what came is traced.
    pub taint: u128,
}

/// A movement that is followed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Followed {
    pub movement: Movement,
    /// How much of it is traced; all of it without a method.
    pub taint: u128,
    /// Whether it was swapped for another asset, which the account goes on with: the other side is not looked through.
    pub is_swap: bool,
}

/// Traced units of one asset that became units of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Swap {
    pub from: u32,
    pub given: u128,
    pub into: u32,
    pub received: u128,
}

/// How money is followed through an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub method: Option<Method>,
    pub is_time_ordered: bool,
    /// Whether the walk begins here, so that all that leaves is traced.
    pub is_start: bool,
    /// Whether time runs backward: what left has come, fees too, and what is left was there at first.
    pub is_inward: bool,
}

/// What an account did with what came to it.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub followed: Vec<Followed>,
    /// In the order in which they were followed.
    pub swaps: Vec<Swap>,
    pub balances: BTreeMap<u32, Balance>,
}

/// The account in one asset while its movements go by.
struct Holding {
    lots: Lots,
    balance: u128,
    /// Whether traced money has come.
    has_come: bool,
}

/// Follows the money of an account through its movements, which are in the order of the chain. Inward they are read from the
/// last to the first with in and out exchanged: then the money that came is that from which the arrivals were paid, by the same
/// shares as forward.
pub(super) fn flow(movements: &[Movement], arrivals: &[Arrival], rules: Rules) -> Flow {
    let mut state = State { rules, arrivals: FxHashMap::default(), holdings: BTreeMap::new(), flow: Flow::default() };
    let reversed: Vec<Movement>;
    let movements = if rules.is_inward {
        for (asset, left) in closing(movements) {
            state.open(asset, left);
        }
        reversed = movements.iter().rev().map(turned).collect();
        &reversed
    } else {
        for (asset, missing) in opening(movements) {
            state.open(asset, missing);
        }
        movements
    };
    for arrival in arrivals {
        let key = (arrival.transaction, arrival.asset, arrival.from, arrival.amount);
        state.arrivals.entry(key).or_default().push(arrival.taint);
    }
    for of_one in movements.chunk_by(|one, other| one.transaction == other.transaction) {
        state.transaction(of_one);
    }
    for (asset, holding) in state.holdings {
        state.flow.balances.entry(asset).or_default().stayed = holding.balance;
    }
    state.flow
}

/// What tells movements of one account apart; equal ones may stand for each other.
type MovementKey = (TransactionRef, u32, Option<Node>, u128);

struct State {
    rules: Rules,
    /// Taints of what came along the trace, by movement.
    arrivals: FxHashMap<MovementKey, Vec<u128>>,
    holdings: BTreeMap<u32, Holding>,
    flow: Flow,
}

impl State {
    fn transaction(&mut self, of_one: &[Movement]) {
        let swap = self.swap(of_one);
        let (is_fee, is_inward) = (|movement: &&Movement| movement.way == Way::Fee, self.rules.is_inward);
        for movement in of_one.iter().filter(is_fee).filter(|_| is_inward) {
            self.receive(movement, None);
        }
        // What comes in a transaction can leave in it; what a swap brings comes after what it takes.
        for movement in of_one.iter().filter(|movement| movement.way == Way::In) {
            if swap.is_none_or(|(_, into)| into != movement.asset) {
                self.receive(movement, None);
            }
        }
        let mut given = (0_u128, 0_u128);
        let leaves = |movement: &&Movement| movement.way == Way::Out || movement.way == Way::Fee && !is_inward;
        for movement in of_one.iter().filter(leaves) {
            let is_swap = swap.is_some_and(|(from, _)| from == movement.asset) && movement.way == Way::Out;
            let taint = self.spend(movement, is_swap);
            if is_swap {
                given = (given.0.saturating_add(movement.amount), given.1.saturating_add(taint));
            }
        }
        if let Some((from, into)) = swap {
            let mut received = 0_u128;
            for movement in of_one.iter().filter(|movement| movement.way == Way::In && movement.asset == into) {
                received = received.saturating_add(self.receive(movement, Some(given)));
            }
            self.flow.swaps.push(Swap { from, given: given.1, into, received });
        }
    }

    /// Begins with what was there.
    fn open(&mut self, asset: u32, amount: u128) {
        let method = self.rules.method.unwrap_or(Method::Haircut);
        let holding = Holding { lots: Lots::new(method, amount), balance: amount, has_come: false };
        self.holdings.insert(asset, holding);
        self.flow.balances.entry(asset).or_default().came = amount;
    }

    /// One asset out and another one in, of traced money: the assets.
    fn swap(&self, of_one: &[Movement]) -> Option<(u32, u32)> {
        let mut net: BTreeMap<u32, (u128, u128)> = BTreeMap::new();
        for movement in of_one {
            let (came, left) = net.entry(movement.asset).or_default();
            match movement.way {
                Way::In => *came = came.saturating_add(movement.amount),
                Way::Out => *left = left.saturating_add(movement.amount),
                Way::Fee => {}
            }
        }
        let mut outs = net.iter().filter(|(_, (came, left))| left > came).map(|(asset, _)| *asset);
        let mut ins = net.iter().filter(|(_, (came, left))| came > left).map(|(asset, _)| *asset);
        let (Some(from), None, Some(into), None) = (outs.next(), outs.next(), ins.next(), ins.next()) else {
            return None;
        };
        let is_traced = self.rules.is_start || self.holdings.get(&from).is_some_and(|holding| holding.has_come);
        // What came along the trace in this very transaction is a payment, not the other side of a swap.
        let is_payment = of_one
            .iter()
            .any(|movement| movement.way == Way::In && movement.asset == into && self.arrival(movement).is_some());
        (is_traced && !is_payment).then_some((from, into))
    }

    fn arrival(&self, movement: &Movement) -> Option<MovementKey> {
        let key = (movement.transaction, movement.asset, movement.other, movement.amount);
        self.arrivals.get(&key).is_some_and(|taints| !taints.is_empty()).then_some(key)
    }

    /// `given` is what a swap took, and how much of it was traced. Gives how much of what came is traced.
    fn receive(&mut self, movement: &Movement, given: Option<(u128, u128)>) -> u128 {
        let arrived = self.arrival(movement).and_then(|key| self.arrivals.get_mut(&key)?.pop());
        let taint = match (given, arrived) {
            (Some((whole, part)), _) if whole > 0 => share_of(movement.amount, part, whole),
            (_, Some(taint)) => taint,
            _ => 0,
        };
        let holding = self.holding(movement.asset);
        holding.lots.receive(movement.amount, taint);
        holding.balance = holding.balance.saturating_add(movement.amount);
        holding.has_come |= arrived.is_some() || given.is_some();
        let balance = self.flow.balances.entry(movement.asset).or_default();
        balance.came = balance.came.saturating_add(movement.amount);
        balance.taint = balance.taint.saturating_add(taint);
        taint
    }

    /// How much of what leaves is traced.
    fn spend(&mut self, movement: &Movement, is_swap: bool) -> u128 {
        let Rules { method, is_time_ordered, is_start, .. } = self.rules;
        let holding = self.holding(movement.asset);
        let has_come = holding.has_come;
        let missing = movement.amount.saturating_sub(holding.balance);
        holding.balance = holding.balance.saturating_sub(movement.amount);
        let of_lots = holding.lots.spend(movement.amount);
        let taint = if is_start || method.is_none() { movement.amount } else { of_lots };
        let is_reached = is_start || has_come || !is_time_ordered;
        let is_followed = movement.left_out.is_none() && is_reached && taint > 0 && movement.other.is_some();
        let balance = self.flow.balances.entry(movement.asset).or_default();
        balance.came = balance.came.saturating_add(missing);
        let part = match (movement.way, is_followed) {
            (Way::Fee, _) => &mut balance.fee,
            (_, true) => &mut balance.followed,
            (_, false) => &mut balance.filtered,
        };
        *part = part.saturating_add(movement.amount);
        if is_followed && movement.way == Way::Out {
            self.flow.followed.push(Followed { movement: *movement, taint, is_swap });
        }
        taint
    }

    fn holding(&mut self, asset: u32) -> &mut Holding {
        let method = self.rules.method.unwrap_or(Method::Haircut);
        self.holdings.entry(asset).or_insert_with(|| Holding {
            lots: Lots::new(method, 0),
            balance: 0,
            has_come: false,
        })
    }
}

/// What the account must have held of each asset before its first movement, so that no payment exceeds the balance. What comes in
/// a transaction can leave in it.
fn opening(movements: &[Movement]) -> BTreeMap<u32, u128> {
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

/// What is left in each asset after the last movement.
fn closing(movements: &[Movement]) -> BTreeMap<u32, u128> {
    let mut left: BTreeMap<u32, u128> = BTreeMap::new();
    for movement in movements {
        let balance = left.entry(movement.asset).or_default();
        *balance = match movement.way {
            Way::In => balance.saturating_add(movement.amount),
            Way::Out | Way::Fee => balance.saturating_sub(movement.amount),
        };
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
    crate::taint::share(amount, part.min(whole), whole)
}
