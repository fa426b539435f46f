//! The walk: which accounts are looked through, in which order, and what is kept of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::read::TransactionRef;
use headwater_types::Usd;
use rustc_hash::FxHashMap;

use super::account::{Arrival, Balance, Followed, Rules, flow, share_of};
use super::edge::{Edge, EdgeSum, add};
use super::movement::{Movement, Movements, Stop, Way};
use super::payments::{double, payments};
use crate::rank::{Params, Rank};
use crate::source::{Direction, Node};
use crate::taint::Method;

/// A payment beside one over a bridge is small up to this part of it.
const SMALL: i128 = 10;

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
    /// Payments to accounts that had already been looked through: the additional money that they trace there is not followed.
    pub late: u64,
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
        late: 0,
        movements: Vec::new(),
    };
    walk.place(start, 0, None);
    source.movements(start, &mut walk.movements)?;
    let mut rank = Rank::begin(start, &payments(&walk.movements), Params::default());
    let ways = [(Direction::Outgoing, settings.outward), (Direction::Incoming, settings.inward)];
    for (direction, _) in ways.into_iter().filter(|(_, hops)| *hops > 0) {
        for carried in walk.follow(source, start, direction)? {
            rank.carry(carried.bridge, carried.chip, &carried.onto);
        }
    }
    while let Some((node, direction)) = walk.next(&rank) {
        if is_over(source) {
            walk.truncations.insert(Truncation::TimeBudget);
            break;
        }
        walk.state(node).open.retain(|open| *open != direction);
        if let Some(stop) = source.stop(node)? {
            let state = walk.state(node);
            state.open.clear();
            state.reached.stop = Some(stop);
            continue;
        }
        walk.movements.clear();
        source.movements(node, &mut walk.movements)?;
        let over_bridges = walk.follow(source, node, direction)?;
        rank.push(node, &payments(&walk.movements));
        for carried in over_bridges {
            rank.carry(carried.bridge, carried.chip, &carried.onto);
        }
    }
    Ok(walk.finish())
}

struct State {
    reached: Reached,
    /// Directions in which it is still to be looked through.
    open: Vec<Direction>,
    /// What came along the trace and is followed further, by direction, as in the arrays below.
    arrivals: [Vec<Arrival>; 2],
    is_followed: bool,
    /// When each asset first came, in the order of the walk.
    since: [BTreeMap<u32, i64>; 2],
    /// Whether it was looked through.
    is_looked_through: [bool; 2],
    /// Whether nothing that came so far is followed further: it was the other side of swaps, or went on over bridges.
    is_passed_by: bool,
}

/// One movement along which the walk goes.
struct Hop<'f> {
    /// From the side of the start.
    near: Node,
    far: Node,
    direction: Direction,
    /// Hops of the near account in this direction.
    depth: i32,
    followed: &'f Followed,
    /// The near account as the far one sees it: over a bridge another one, or nobody.
    payer: Option<Node>,
    /// Whether a bridge took it on, so that nothing of it is left to follow.
    is_carried: bool,
}

/// A payment that a bridge took on: asset and time of what came to the bridge, and where it came out, by worth.
struct Carried {
    bridge: Node,
    chip: (u32, i64),
    onto: Vec<(Node, (u32, i64), f64)>,
}

/// Where a payment came out on another chain, with the account of each movement; `None` where no bridge took it.
type Beyond = Option<Vec<(Node, Movement)>>;

/// Ends, whether inward, whether change, asset, and the number of the movement where each has its own edge.
type EdgeKey = (Node, Node, [bool; 2], u32, usize);

struct Walk {
    settings: Settings,
    states: Vec<State>,
    places: FxHashMap<Node, usize>,
    edges: BTreeMap<EdgeKey, EdgeSum>,
    truncations: BTreeSet<Truncation>,
    late: u64,
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
            self.states.push(State {
                reached,
                open: Vec::new(),
                arrivals: [Vec::new(), Vec::new()],
                since: [BTreeMap::new(), BTreeMap::new()],
                is_looked_through: [false; 2],
                is_followed: false,
                is_passed_by: false,
            });
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

    /// Follows the money of the account whose movements are held.
    fn follow<S: Movements>(
        &mut self,
        source: &mut S,
        node: Node,
        direction: Direction,
    ) -> Result<Vec<Carried>, S::Error> {
        let settings = self.settings;
        let place = self.places[&node];
        let is_start = self.states[place].reached.heading.is_none();
        let rules = Rules {
            method: settings.method,
            is_time_ordered: settings.is_time_ordered,
            is_start,
            is_inward: direction == Direction::Incoming,
        };
        let depth = match direction {
            Direction::Outgoing => self.states[place].reached.depth.max(0),
            Direction::Incoming => self.states[place].reached.depth.min(0),
        };
        let mut found = flow(&self.movements, &self.states[place].arrivals[side(direction)], rules);
        let kept = self.kept(&found.followed);
        let beyond = self.beyond(source, (node, direction, depth), &found.followed, &kept)?;
        let mut carried = Vec::new();
        for (followed, beyond) in found.followed.iter().zip(beyond) {
            let Movement { other, asset, amount, .. } = followed.movement;
            let Some(far) = other else { continue };
            if kept.contains(&far) {
                let (payer, is_carried) = (Some(node), beyond.is_some());
                let hop = Hop { near: node, far, direction, depth, followed, payer, is_carried };
                let depth = self.step(source, &hop)?;
                if let Some(beyond) = beyond {
                    carried.push(self.cross(source, &Hop { depth, ..hop }, beyond)?);
                }
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
        state.is_looked_through[side(direction)] = !is_start;
        state.reached.counterparties = Some(parties.len() as u64);
        state.is_followed |= stop.is_none();
        state.reached.stop = stop.filter(|_| !state.is_followed && !is_start);
        if state.reached.balances.is_empty() || direction == Direction::Outgoing {
            state.reached.balances = found.balances;
        }
        Ok(carried)
    }

    /// Which of the payments of an account bridges took on. What little it paid the bridge beside one, as for its fee, went
    /// nowhere else.
    fn beyond<S: Movements>(
        &self,
        source: &mut S,
        (node, direction, depth): (Node, Direction, i32),
        followed: &[Followed],
        kept: &BTreeSet<Node>,
    ) -> Result<Vec<Beyond>, S::Error> {
        let mut found: Vec<Beyond> = vec![None; followed.len()];
        if depth.abs() + 1 >= self.limit(direction) {
            return Ok(found);
        }
        let mut over: FxHashMap<(TransactionRef, Node), Usd> = FxHashMap::default();
        let payment =
            |of: &Followed| Some((of.movement.transaction, of.movement.other.filter(|far| kept.contains(far))?));
        for (followed, found) in followed.iter().zip(&mut found) {
            let Some(payment) = payment(followed).filter(|_| !followed.is_swap) else { continue };
            let beyond = source.beyond((node, direction), &followed.movement)?;
            if !beyond.is_empty() {
                *over.entry(payment).or_default() += followed.movement.usd.unwrap_or_default();
                *found = Some(beyond);
            }
        }
        for (followed, found) in followed.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            let over = payment(followed).and_then(|payment| over.get(&payment)).copied().unwrap_or_default();
            let is_small = |usd: Usd| usd.raw() <= over.raw() / SMALL;
            if over > Usd::ZERO && followed.movement.usd.is_some_and(is_small) {
                *found = Some(Vec::new());
            }
        }
        Ok(found)
    }

    /// Goes along what came out of a bridge, as much of it traced as of what it was paid.
    fn cross<S: Movements>(
        &mut self,
        source: &mut S,
        paid: &Hop<'_>,
        beyond: Vec<(Node, Movement)>,
    ) -> Result<Carried, S::Error> {
        let Movement { asset, time, amount, .. } = paid.followed.movement;
        let mut carried = Carried { bridge: paid.far, chip: (asset, time), onto: Vec::new() };
        for (account, movement) in beyond {
            let taint = share_of(movement.amount, paid.followed.taint, amount);
            if taint == 0 {
                continue;
            }
            if !self.places.contains_key(&account) && self.states.len() >= self.settings.max_nodes {
                self.truncations.insert(Truncation::MaxNodes);
                continue;
            }
            let passed = Movement { other: Some(account), way: Way::Out, ..movement };
            let followed = &Followed { movement: passed, taint, is_swap: false };
            let (near, payer, is_carried) = (paid.far, movement.other, false);
            self.step(source, &Hop { near, far: account, followed, payer, is_carried, ..*paid })?;
            let weight = movement.usd.map_or(1.0, Usd::to_f64);
            carried.onto.push((account, (movement.asset, movement.time), weight));
        }
        Ok(carried)
    }

    const fn limit(&self, direction: Direction) -> i32 {
        match direction {
            Direction::Outgoing => self.settings.outward as i32,
            Direction::Incoming => self.settings.inward as i32,
        }
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

    /// Goes along one movement: a hop, unless it is change, which stays with whoever paid. Gives the hops of the far account.
    fn step<S: Movements>(&mut self, source: &mut S, hop: &Hop<'_>) -> Result<i32, S::Error> {
        let Hop { near, far, direction, depth, followed, payer, is_carried } = *hop;
        let Movement { transaction, asset, amount, usd, .. } = followed.movement;
        let (from, to) = match direction {
            Direction::Outgoing => (near, far),
            Direction::Incoming => (far, near),
        };
        let is_change = source.is_change(transaction, (from, to))?;
        let next = match direction {
            Direction::Outgoing => depth + i32::from(!is_change),
            Direction::Incoming => depth - i32::from(!is_change),
        };
        let limit = self.limit(direction);
        let is_new = !self.places.contains_key(&far);
        let place = self.place(far, next, Some(direction));
        let state = &mut self.states[place];
        if !is_carried {
            state.arrivals[side(direction)].push(Arrival {
                transaction,
                asset,
                from: payer,
                amount,
                taint: followed.taint,
            });
        }
        let is_passed_by = followed.is_swap || is_carried;
        if !is_carried {
            let time = if direction == Direction::Outgoing { followed.movement.time } else { -followed.movement.time };
            let first = state.since[side(direction)].entry(asset).or_insert(i64::MAX);
            // Without a method all that left since an asset first came is followed.
            let tells_more = self.settings.method.is_some() || self.settings.is_time_ordered && time < *first;
            self.late += u64::from(state.is_looked_through[side(direction)] && tells_more);
            *first = time.min(*first);
        }
        let is_nearer = state.reached.heading == Some(direction) && next.abs() < state.reached.depth.abs();
        if is_nearer && !is_passed_by && state.is_looked_through == [false; 2] {
            state.reached.depth = next;
            if state.reached.stop == Some(Stop::DepthLimit) {
                state.reached.stop = None;
                state.open.push(direction);
            }
        }
        let is_paid_first = !is_passed_by && (is_new || std::mem::take(&mut state.is_passed_by));
        if is_paid_first {
            if state.reached.heading != Some(direction) {
                (state.reached.depth, state.reached.heading) = (next, Some(direction));
            }
            state.reached.stop = None;
            if state.reached.depth.abs() < limit {
                state.open.push(direction);
            } else {
                state.reached.stop = Some(Stop::DepthLimit);
                self.truncations.insert(Truncation::DepthLimit);
            }
        } else if is_new {
            state.is_passed_by = true;
            state.reached.stop = followed.is_swap.then_some(Stop::Contract);
        }
        add(&mut self.state(from).reached.out_usd, usd);
        add(&mut self.state(to).reached.in_usd, usd);
        let number = if self.settings.accumulate { 0 } else { self.edges.len() + 1 };
        let key = (from, to, [direction == Direction::Incoming, is_change], asset, number);
        let edge = || EdgeSum::new((from, to), (next, direction), asset).of_change(is_change);
        let taint = self.settings.method.map(|_| followed.taint);
        self.edges.entry(key).or_insert_with(edge).add(&followed.movement, taint);
        Ok(next)
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
        Trace { nodes, edges, ends, truncations: self.truncations, late: self.late }
    }
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
