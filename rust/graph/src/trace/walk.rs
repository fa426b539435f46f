//! The walk: which accounts are looked through, in which order, and what is kept of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::read::TransactionRef;
use headwater_types::{Amount, Usd};
use rustc_hash::{FxHashMap, FxHashSet};

use super::account::{Arrival, Balance, Followed, Rules, flow, share_of};
use super::movement::{Crossing, Movement, Movements, Stop, Way};
use super::payments::{double, payments};
use crate::rank::{Params, Payment, Rank};
use crate::source::{Direction, Node};
use crate::taint::Method;

/// Most transactions that an edge names.
const MAX_NAMED: usize = 10;

/// How far, how wide, and by which rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Hops outward; 0 for none.
    pub outward: u8,
    /// Hops inward.
    pub inward: u8,
    /// Counterparties of an account that are followed, largest first.
    pub limit: usize,
    /// One edge per pair and asset; else one per movement.
    pub accumulate: bool,
    /// Accounts in all.
    pub max_nodes: usize,
    /// How traced money mixes with other money; `None` follows whole amounts.
    pub method: Option<Method>,
    /// Whether only what left after it came is followed.
    pub is_time_ordered: bool,
}

/// Why a trace is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truncation {
    /// Counterparties of an account were left out.
    FanoutLimit,
    /// There was no room for more accounts.
    MaxNodes,
    /// Money went on beyond the last hop.
    DepthLimit,
    /// The time was over.
    TimeBudget,
}

/// An account of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Reached {
    /// The account.
    pub node: Node,
    /// Hops from the start, negative inward. Change is no hop.
    pub depth: i32,
    /// Which way the walk first came to it; `None` for the start.
    pub heading: Option<Direction>,
    /// Why it was not looked through.
    pub stop: Option<Stop>,
    /// What came to it along edges of the trace, in US dollars; `None` where nothing had a price.
    pub in_usd: Option<Usd>,
    /// What left it along edges of the trace.
    pub out_usd: Option<Usd>,
    /// Distinct accounts it dealt with; `None` where it was not looked through.
    pub counterparties: Option<u64>,
    /// By asset, what came and what became of it; empty where it was not looked through.
    pub balances: BTreeMap<u32, Balance>,
}

/// What went from one account to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// Who paid.
    pub from: Node,
    /// Who was paid.
    pub to: Node,
    /// The hop, negative inward.
    pub depth: i32,
    /// Which way the walk went.
    pub direction: Direction,
    /// The asset.
    pub asset: u32,
    /// In its smallest unit.
    pub amount: Amount,
    /// What it was worth; `None` where no movement had a price.
    pub usd: Option<Usd>,
    /// Movements without a price.
    pub unpriced: u64,
    /// Distinct transactions.
    pub transactions: u64,
    /// Time of the first.
    pub first: i64,
    /// Time of the last.
    pub last: i64,
    /// The largest transactions, at most ten.
    pub largest: Vec<TransactionRef>,
    /// How much of it is traced; `None` without a method.
    pub taint: Option<Amount>,
    /// Whether it went back to whoever paid.
    pub is_change: bool,
}

/// An account at which the trace ends, and what came to it.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// The account.
    pub node: Node,
    /// Hops from the start, without a sign.
    pub hops: u32,
    /// US dollars; `None` without a price.
    pub usd: Option<Usd>,
    /// Why it ends.
    pub stop: Stop,
}

/// A trace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// Accounts by hops, then by what came to them.
    pub nodes: Vec<Reached>,
    /// Edges by hops, then by worth.
    pub edges: Vec<Edge>,
    /// Where it ends, by worth.
    pub ends: Vec<End>,
    /// Why it is not complete.
    pub truncations: BTreeSet<Truncation>,
}

/// Follows money from an account. `is_over` ends the walk between two accounts with what was found.
///
/// The same source gives the same trace, whatever it numbers nodes by, as long as it numbers them as it meets them.
///
/// # Errors
/// Those of the source.
pub fn trace<S: Movements>(
    source: &mut S,
    start: Node,
    settings: Settings,
    is_over: &dyn Fn(&S) -> bool,
) -> Result<Trace, S::Error> {
    let mut walk = Walk {
        settings,
        states: Vec::new(),
        places: FxHashMap::default(),
        edges: BTreeMap::new(),
        truncations: BTreeSet::new(),
        movements: Vec::new(),
    };
    walk.place(start, 0, None);
    source.movements(start, &mut walk.movements)?;
    let mut rank = Rank::begin(start, &payments(&walk.movements), Params::default());
    let ways = [(Direction::Outgoing, settings.outward), (Direction::Incoming, settings.inward)];
    for (direction, _) in ways.into_iter().filter(|(_, hops)| *hops > 0) {
        walk.follow(source, start, direction)?;
    }
    while let Some((node, direction)) = walk.next(&rank) {
        if is_over(source) {
            walk.truncations.insert(Truncation::TimeBudget);
            break;
        }
        walk.state(node).open.retain(|open| *open != direction);
        let stop = source.stop(node)?;
        let is_bridge = stop == Some(Stop::Label) && source.is_bridge(node)?;
        if (stop.is_none() || is_bridge) && walk.hand_over(source, (node, is_bridge), direction, &mut rank)? {
            continue;
        }
        if let Some(stop) = stop {
            let state = walk.state(node);
            state.open.clear();
            state.reached.stop = Some(stop);
            continue;
        }
        walk.movements.clear();
        source.movements(node, &mut walk.movements)?;
        walk.follow(source, node, direction)?;
        rank.push(node, &payments(&walk.movements));
    }
    Ok(walk.finish())
}

struct State {
    reached: Reached,
    /// Directions in which it is still to be looked through.
    open: Vec<Direction>,
    /// What came along the trace, by direction.
    came: [Vec<Came>; 2],
    is_followed: bool,
    /// Whether it is looked at again when it is paid: so far it was the other side of swaps, or a bridge took on what came.
    is_passed_by: bool,
    /// Whether a way over a bridge ends at it.
    is_end: bool,
}

/// What came to an account along one movement of the trace.
#[derive(Debug, Clone, Copy)]
struct Came {
    arrival: Arrival,
    usd: Option<Usd>,
    /// What whoever it came from paid in the transaction, less what they got; inward the reverse.
    net: Usd,
}

/// Ends, whether inward, whether change, asset, and the number of the movement where each has its own edge.
type EdgeKey = (Node, Node, [bool; 2], u32, usize);

/// An edge that movements are added to.
pub(crate) struct EdgeSum {
    edge: Edge,
    /// Amount and time of each movement, and its transaction.
    named: Vec<(u128, i64, TransactionRef)>,
}

impl EdgeSum {
    pub fn new((from, to): (Node, Node), (depth, direction): (i32, Direction), asset: u32) -> Self {
        let edge = Edge {
            from,
            to,
            depth,
            direction,
            asset,
            amount: Amount::ZERO,
            usd: None,
            unpriced: 0,
            transactions: 0,
            first: i64::MAX,
            last: i64::MIN,
            largest: Vec::new(),
            taint: None,
            is_change: false,
        };
        Self { edge, named: Vec::new() }
    }

    /// The same of what went back to whoever paid.
    fn of_change(mut self, is_change: bool) -> Self {
        self.edge.is_change = is_change;
        self
    }

    /// Adds a movement, and how much of it is traced.
    pub fn add(&mut self, movement: &Movement, taint: Option<u128>) {
        let Movement { transaction, time, amount, usd, .. } = *movement;
        let sum = |held: Amount, more: u128| held.checked_add(Amount::from_u128(more)).unwrap_or(Amount::MAX);
        let edge = &mut self.edge;
        edge.amount = sum(edge.amount, amount);
        edge.taint = taint.map(|taint| sum(edge.taint.unwrap_or(Amount::ZERO), taint));
        add(&mut edge.usd, usd);
        edge.unpriced += u64::from(usd.is_none());
        (edge.first, edge.last) = (edge.first.min(time), edge.last.max(time));
        self.named.push((amount, time, transaction));
    }

    /// The edge with its transactions.
    pub fn finish(self) -> Edge {
        let Self { mut edge, mut named } = self;
        // Of equal ones in the order in which they were followed, which is that of the chain.
        named.sort_by_key(|(amount, time, _)| (Reverse(*amount), *time));
        let mut distinct = FxHashSet::default();
        for (_, _, transaction) in named {
            if distinct.insert(transaction) && edge.largest.len() < MAX_NAMED {
                edge.largest.push(transaction);
            }
        }
        edge.transactions = distinct.len() as u64;
        edge
    }
}

struct Walk {
    settings: Settings,
    states: Vec<State>,
    places: FxHashMap<Node, usize>,
    edges: BTreeMap<EdgeKey, EdgeSum>,
    truncations: BTreeSet<Truncation>,
    /// Those of the account that is looked through.
    movements: Vec<Movement>,
}

impl Walk {
    fn place(&mut self, node: Node, depth: i32, heading: Option<Direction>) -> usize {
        *self.places.entry(node).or_insert_with(|| {
            let reached = Reached {
                node,
                depth,
                heading,
                stop: None,
                in_usd: None,
                out_usd: None,
                counterparties: None,
                balances: BTreeMap::new(),
            };
            let came = [Vec::new(), Vec::new()];
            let (open, is_followed, is_passed_by, is_end) = (Vec::new(), false, false, false);
            self.states.push(State { reached, open, came, is_followed, is_passed_by, is_end });
            self.states.len() - 1
        })
    }

    fn state(&mut self, node: Node) -> &mut State {
        let place = self.places[&node];
        &mut self.states[place]
    }

    /// Which account is looked through next: those of the first hop by what came to them, further on by rank; those without
    /// rank at last.
    fn next(&self, rank: &Rank) -> Option<(Node, Direction)> {
        let open = || self.states.iter().filter(|state| !state.open.is_empty());
        let by_worth = |state: &&State| {
            let (depth, usd) = (state.reached.depth.unsigned_abs(), worth(&state.reached));
            (depth, Reverse(usd), state.reached.node)
        };
        let near = open().filter(|state| state.reached.depth.unsigned_abs() <= 1).min_by_key(by_worth);
        let ranked = || {
            let may = |node| self.places.get(&node).is_some_and(|place| !self.states[*place].open.is_empty());
            rank.next(may).map(|node| &self.states[self.places[&node]])
        };
        let state = near.or_else(ranked).or_else(|| open().min_by_key(by_worth))?;
        Some((state.reached.node, state.open[0]))
    }

    /// Goes along what came to an account and went on over a bridge, or inward came over one, to the other chain: what else the
    /// account pays is other people's. Whether that is all; at a bridge it always is.
    fn hand_over<S: Movements>(
        &mut self,
        source: &mut S,
        (node, is_bridge): (Node, bool),
        direction: Direction,
        rank: &mut Rank,
    ) -> Result<bool, S::Error> {
        let came = std::mem::take(&mut self.state(node).came[side(direction)]);
        let payment = |came: &Came| (came.arrival.transaction, came.arrival.from);
        let (mut stays, mut is_lost, mut far) = (Vec::new(), false, Vec::new());
        for parts in came.chunk_by(|one, other| payment(one) == payment(other)) {
            let Came { arrival, net, .. } = *parts.iter().max_by_key(|came| came.usd).expect("a chunk has an item");
            let crossing = |account| Crossing {
                transaction: arrival.transaction,
                account,
                direction,
                net,
                is_with_bridge: is_bridge,
            };
            let beyond = match arrival.from {
                Some(account) => source.beyond(&crossing(account))?,
                None => None,
            };
            match beyond {
                None => stays.extend_from_slice(parts),
                Some(movements) => {
                    is_lost |= movements.is_empty();
                    far.extend(movements.into_iter().map(|of| passed_on(of, &arrival)));
                }
            }
        }
        self.cross(source, node, direction, &far)?;
        let is_all = is_bridge || stays.is_empty();
        let state = self.state(node);
        state.is_end |= is_lost || is_bridge && !stays.is_empty();
        if is_all {
            rank.carry(node, &weights(&far));
            state.is_passed_by = true;
            state.reached.stop = state.is_end.then_some(Stop::Label);
        } else {
            state.came[side(direction)] = stays;
        }
        Ok(is_all)
    }

    /// Goes along movements on another chain, each with who made it there.
    fn cross<S: Movements>(
        &mut self,
        source: &mut S,
        node: Node,
        direction: Direction,
        far: &[(Followed, Option<Node>)],
    ) -> Result<(), S::Error> {
        let followed: Vec<Followed> = far.iter().map(|(followed, _)| *followed).collect();
        let kept = self.kept(&followed);
        for (followed, payer) in far {
            let Some(other) = followed.movement.other.filter(|other| kept.contains(other)) else { continue };
            self.step(source, (node, other), direction, (followed, *payer))?;
        }
        Ok(())
    }

    /// Follows the money of the account whose movements are held.
    fn follow<S: Movements>(&mut self, source: &mut S, node: Node, direction: Direction) -> Result<(), S::Error> {
        let settings = self.settings;
        let place = self.places[&node];
        let is_start = self.states[place].reached.heading.is_none();
        let rules = Rules {
            method: settings.method,
            is_time_ordered: settings.is_time_ordered,
            is_start,
            is_inward: direction == Direction::Incoming,
        };
        let arrivals = self.states[place].came[side(direction)].iter().map(|came| &came.arrival);
        let mut found = flow(&self.movements, arrivals, rules);
        let kept = self.kept(&found.followed);
        for followed in &found.followed {
            let Movement { other, asset, amount, .. } = followed.movement;
            let Some(other) = other else { continue };
            if kept.contains(&other) {
                self.step(source, (node, other), direction, (followed, Some(node)))?;
            } else {
                let balance = found.balances.entry(asset).or_default();
                (balance.followed, balance.pruned) =
                    (balance.followed - amount.min(balance.followed), balance.pruned.saturating_add(amount));
            }
        }
        let parties: BTreeSet<Node> = self.movements.iter().filter_map(|movement| movement.other).collect();
        let away = if rules.is_inward { Way::In } else { Way::Out };
        let outs = || self.movements.iter().filter(|movement| movement.way == away);
        let stop = match (found.followed.is_empty(), outs().find_map(|movement| movement.left_out)) {
            (false, _) => None,
            (true, Some(left_out)) if outs().all(|movement| movement.left_out.is_some()) => Some(left_out),
            (true, _) if outs().next().is_none() => Some(Stop::NoOutflow),
            (true, _) => Some(Stop::TimeRange),
        };
        let state = &mut self.states[place];
        state.reached.counterparties = Some(parties.len() as u64);
        state.is_followed |= stop.is_none();
        state.reached.stop = stop.filter(|_| !state.is_followed && !is_start);
        if state.reached.balances.is_empty() || direction == Direction::Outgoing {
            state.reached.balances = found.balances;
        }
        Ok(())
    }

    /// The counterparties that are followed: the largest by worth, those without a price by their shares, then in the order in
    /// which they were met; only known ones where there is no room for others.
    fn kept(&mut self, followed: &[Followed]) -> BTreeSet<Node> {
        // Without a price a payment counts by its share of all that is followed in its asset.
        let mut of_asset: BTreeMap<u32, f64> = BTreeMap::new();
        for each in followed {
            *of_asset.entry(each.movement.asset).or_default() += double(each.movement.amount);
        }
        let mut by_party: BTreeMap<Node, (Usd, f64)> = BTreeMap::new();
        for each in followed {
            let Movement { other: Some(other), usd, amount, asset, .. } = each.movement else { continue };
            let (worth, share) = by_party.entry(other).or_default();
            *worth += usd.unwrap_or_default();
            *share += double(amount) / of_asset[&asset];
        }
        let mut order: Vec<_> = by_party.into_iter().collect();
        order.sort_by(|(one, of_one), (other, of_other)| {
            of_other.0.cmp(&of_one.0).then(of_other.1.total_cmp(&of_one.1)).then(one.cmp(other))
        });
        if order.len() > self.settings.limit {
            self.truncations.insert(Truncation::FanoutLimit);
            order.truncate(self.settings.limit);
        }
        let mut kept = BTreeSet::new();
        let mut room = self.settings.max_nodes.saturating_sub(self.states.len());
        for (node, _) in order {
            if self.places.contains_key(&node) {
                kept.insert(node);
            } else if room > 0 {
                room -= 1;
                kept.insert(node);
            } else {
                self.truncations.insert(Truncation::MaxNodes);
            }
        }
        kept
    }

    /// Goes along one movement: a hop, unless it is change, which stays with whoever paid. `payer` is who paid it as the other side
    /// sees it: over a bridge another account than the one that the walk comes from, or nobody.
    fn step<S: Movements>(
        &mut self,
        source: &mut S,
        (node, other): (Node, Node),
        direction: Direction,
        (followed, payer): (&Followed, Option<Node>),
    ) -> Result<(), S::Error> {
        let Movement { transaction, asset, amount, usd, .. } = followed.movement;
        let (from, to) = match direction {
            Direction::Outgoing => (node, other),
            Direction::Incoming => (other, node),
        };
        let is_change = source.is_change(transaction, (from, to))?;
        let (depth, hop) = (self.state(node).reached.depth, i32::from(!is_change));
        let (next, limit) = match direction {
            Direction::Outgoing => (depth.max(0) + hop, i32::from(self.settings.outward)),
            Direction::Incoming => (depth.min(0) - hop, i32::from(self.settings.inward)),
        };
        let is_new = !self.places.contains_key(&other);
        let place = self.place(other, next, Some(direction));
        let state = &mut self.states[place];
        let arrival = Arrival { transaction, asset, from: payer, amount, taint: followed.taint };
        state.came[side(direction)].push(Came { arrival, usd, net: followed.net });
        let is_paid_first = !followed.is_swap && (is_new || std::mem::take(&mut state.is_passed_by));
        if is_paid_first {
            state.reached.stop = None;
            if state.reached.depth.abs() < limit {
                state.open.push(direction);
            } else {
                state.reached.stop = Some(Stop::DepthLimit);
                self.truncations.insert(Truncation::DepthLimit);
            }
        } else if is_new {
            state.is_passed_by = true;
            state.reached.stop = Some(Stop::Contract);
        }
        add(&mut self.state(from).reached.out_usd, usd);
        add(&mut self.state(to).reached.in_usd, usd);
        let number = if self.settings.accumulate { 0 } else { self.edges.len() + 1 };
        let key = (from, to, [direction == Direction::Incoming, is_change], asset, number);
        let edge = || EdgeSum::new((from, to), (next, direction), asset).of_change(is_change);
        let taint = self.settings.method.map(|_| followed.taint);
        self.edges.entry(key).or_insert_with(edge).add(&followed.movement, taint);
        Ok(())
    }

    fn finish(mut self) -> Trace {
        let mut edges: Vec<Edge> = std::mem::take(&mut self.edges).into_values().map(EdgeSum::finish).collect();
        edges.sort_by_key(|edge| (edge.depth.unsigned_abs(), Reverse(edge.usd), edge.from, edge.to, edge.asset));
        let mut nodes: Vec<Reached> = self.states.into_iter().map(|state| state.reached).collect();
        nodes.sort_by_key(|reached| (order(reached), reached.node));
        let mut ends: Vec<End> = nodes
            .iter()
            .filter(|reached| reached.heading.is_some())
            .filter_map(|reached| {
                let (hops, usd) = (reached.depth.unsigned_abs(), worth(reached));
                Some(End { node: reached.node, hops, usd, stop: reached.stop? })
            })
            .collect();
        ends.sort_by_key(|end| (Reverse(end.usd), end.hops, end.node));
        Trace { nodes, edges, ends, truncations: self.truncations }
    }
}

/// A movement on another chain as it is followed from a bridge, and who made it there. As much of it is traced as of what came to
/// the bridge.
fn passed_on((account, movement): (Node, Movement), came: &Arrival) -> (Followed, Option<Node>) {
    let taint = share_of(movement.amount, came.taint, came.amount);
    let net = movement.usd.unwrap_or_default();
    let passed = Movement { other: Some(account), way: Way::Out, ..movement };
    (Followed { movement: passed, taint, is_swap: false, net }, movement.other)
}

/// The movements on another chain as the ranking takes them, by worth; equal where nothing has a price.
fn weights(far: &[(Followed, Option<Node>)]) -> Vec<Payment> {
    let is_priced = far.iter().any(|(followed, _)| followed.net > Usd::ZERO);
    let weigh = |followed: &Followed| if is_priced { followed.net.to_f64() } else { 1.0 };
    let payment = |(followed, _): &(Followed, Option<Node>)| {
        let Movement { time, asset, other, .. } = followed.movement;
        Some(Payment { time, asset, other: other?, weight: weigh(followed), swapped: None })
    };
    far.iter().filter_map(payment).collect()
}

/// What came to an account along the trace, on its side of the start: inward what left it.
#[must_use]
pub fn worth(reached: &Reached) -> Option<Usd> {
    if reached.heading == Some(Direction::Incoming) { reached.out_usd } else { reached.in_usd }
}

/// The order of accounts: the start, then by hops, then by what came to them.
#[must_use]
pub fn order(reached: &Reached) -> impl Ord + use<> {
    (reached.depth.unsigned_abs(), reached.heading.is_some(), Reverse(worth(reached)))
}

const fn side(direction: Direction) -> usize {
    match direction {
        Direction::Outgoing => 0,
        Direction::Incoming => 1,
    }
}

fn add(sum: &mut Option<Usd>, more: Option<Usd>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or_default() + more);
    }
}
