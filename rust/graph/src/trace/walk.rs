//! The walk: which accounts are looked through, in which order, and what is kept of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use headwater_ledger::read::TransactionRef;
use headwater_types::Usd;
use rustc_hash::FxHashMap;

use super::account::{Arrival, Fate, Outflow, Rules, Unit, directed, flow, share_of};
use super::allocate::{AccountVisit, Allocation, Outcome, Plan, allocate, next_depth, payment};
use super::edge::add;
use super::movement::Movement;
use super::payments::{double, payments};
use super::source::TraceSource;
use super::stop::Stop;
use crate::rank::{Params, Rank};
use crate::source::{Direction, Node};
use crate::taint::{Method, Part};

/// A payment beside one over a bridge is small up to this part of it.
const SMALL: i128 = 10;

/// The limits and rules of a trace.
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
    /// The rule by which traced money mixes with other money; `None` follows whole amounts.
    pub method: Option<Method>,
    /// True where only money is followed that left after it came.
    pub is_time_ordered: bool,
}

/// The reason for which a trace is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truncation {
    /// Counterparties of an account were left out.
    FanoutLimit,
    /// There was no room for more accounts.
    MaxNodes,
    /// Money left for accounts beyond the last hop.
    DepthLimit,
    /// The time was over.
    TimeBudget,
}

/// Chooses accounts and edges, and divides the money among them: see [`super::trace`].
///
/// # Errors
/// Those of the source.
pub(super) fn walk<S: TraceSource>(
    source: &mut S,
    start: Node,
    settings: Settings,
) -> Result<(Walk, [Allocation; 2]), S::Error> {
    let mut walk = Walk {
        settings,
        start,
        units: [Unit::None; 2],
        states: Vec::new(),
        places: FxHashMap::default(),
        opened: [Vec::new(), Vec::new()],
        kept_movements: 0,
        truncations: BTreeSet::new(),
    };
    walk.place(start, Direction::Outgoing);
    let mut movements = Vec::new();
    source.movements(start, &mut movements)?;
    let mut rank = Rank::begin(start, &payments(&movements), Params::default());
    let movements: Rc<[Movement]> = movements.into();
    for direction in DIRECTIONS {
        if walk.limit(direction) == 0 {
            continue;
        }
        for carried in walk.open(source, start, direction, &movements)? {
            rank.carry(carried.bridge, carried.chip, &carried.onto);
        }
    }
    for round in 1.. {
        walk.explore(source, &mut rank)?;
        let [outward, inward] = DIRECTIONS.map(|direction| walk.allocate(source, direction));
        let found = [outward?, inward?];
        if round == MAX_ROUNDS || !walk.choose_late(source, &found)? {
            return Ok((walk, found));
        }
    }
    unreachable!("the last round returns")
}

/// Rounds of choosing accounts and dividing money.
const MAX_ROUNDS: usize = 16;

pub(super) const DIRECTIONS: [Direction; 2] = [Direction::Outgoing, Direction::Incoming];

pub(super) struct State {
    pub node: Node,
    /// The direction in which the walk first came to it.
    pub first: Direction,
    pub sides: [Side; 2],
    /// Distinct accounts it dealt with; `None` where it was not looked through.
    pub counterparties: Option<u64>,
}

/// An account as the walk in one direction sees it.
#[derive(Default)]
pub(super) struct Side {
    /// Hops from the start, negative inward; `None` where the walk has not come to it.
    pub depth: Option<i32>,
    /// True where money came to it that is followed further: not to the other side of a swap, nor over a bridge.
    pub is_paid: bool,
    /// The reason for which it is not looked through.
    pub stop: Option<Stop>,
    /// True where it is still to be looked through.
    pub is_open: bool,
    is_looked_through: bool,
    /// The movements that came along the trace so far.
    arrivals: Vec<Arrival>,
    /// The worth of the traced part of them.
    usd: Option<Usd>,
}

/// One movement along which the walk goes.
struct Hop<'f> {
    /// From the side of the start.
    near: Node,
    far: Node,
    direction: Direction,
    /// Hops of the near account in this direction.
    depth: i32,
    movement: &'f Movement,
    part: Part,
    /// The near account as the far one sees it: over a bridge another one, or nobody.
    payer: Option<Node>,
    passes_by: Option<PassThrough>,
}

/// The reason for which nothing of a payment is left to follow at its payee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PassThrough {
    /// The payer continues with what it got for it.
    Swap,
    /// A bridge took it on.
    Bridge,
}

/// A payment that a bridge took on: asset and time of what came to the bridge, and where it came out, by worth.
struct BridgedMass {
    bridge: Node,
    chip: (u32, i64),
    onto: Vec<(Node, (u32, i64), f64)>,
}

/// The other legs of a payment, with the account of each movement; `None` where no bridge took it.
type OtherLegs = Option<Vec<(Node, Movement)>>;

pub(super) struct Walk {
    pub settings: Settings,
    pub start: Node,
    /// In what the money of the start is counted.
    pub units: [Unit; 2],
    pub states: Vec<State>,
    places: FxHashMap<Node, usize>,
    /// The accounts that were looked through, by direction.
    pub opened: [Vec<AccountVisit>; 2],
    kept_movements: usize,
    pub truncations: BTreeSet<Truncation>,
}

impl Walk {
    fn place(&mut self, node: Node, first: Direction) -> usize {
        *self.places.entry(node).or_insert_with(|| {
            self.states.push(State { node, first, sides: Default::default(), counterparties: None });
            self.states.len() - 1
        })
    }

    const fn limit(&self, direction: Direction) -> i32 {
        match direction {
            Direction::Outgoing => self.settings.outward as i32,
            Direction::Incoming => self.settings.inward as i32,
        }
    }

    fn rules(&self, direction: Direction, is_start: bool) -> Rules {
        Rules {
            method: self.settings.method,
            is_time_ordered: self.settings.is_time_ordered,
            start: is_start.then(|| self.units[side(direction)]),
            direction,
        }
    }

    /// Looks through accounts until none is left.
    fn explore<S: TraceSource>(&mut self, source: &mut S, rank: &mut Rank) -> Result<(), S::Error> {
        while let Some((place, direction)) = self.next(rank) {
            if source.is_over() {
                self.truncations.insert(Truncation::TimeBudget);
                for side in self.states.iter_mut().flat_map(|state| &mut state.sides).filter(|side| side.is_open) {
                    (side.is_open, side.stop) = (false, Some(Stop::TimeBudget));
                }
                break;
            }
            let node = self.states[place].node;
            self.states[place].sides[side(direction)].is_open = false;
            if let Some(stop) = source.stop(node)? {
                self.states[place].sides[side(direction)].stop = Some(stop);
                continue;
            }
            let movements = self.movements(source, node)?;
            let over_bridges = self.open(source, node, direction, &movements)?;
            rank.push(node, &payments(&movements));
            for carried in over_bridges {
                rank.carry(carried.bridge, carried.chip, &carried.onto);
            }
        }
        Ok(())
    }

    /// Returns the account that is looked through next: those of the first hop by what came to them, further on by rank; those without
    /// rank at last.
    fn next(&self, rank: &Rank) -> Option<(usize, Direction)> {
        let open = || {
            self.states.iter().enumerate().flat_map(|(place, state)| {
                let sides = DIRECTIONS.into_iter().filter(|direction| state.sides[side(*direction)].is_open);
                sides.map(move |direction| (place, direction))
            })
        };
        let hops = |(place, direction): &(usize, Direction)| {
            self.states[*place].sides[side(*direction)].depth.unwrap_or_default().unsigned_abs()
        };
        let by_worth = |of: &(usize, Direction)| {
            let state = &self.states[of.0];
            (hops(of), Reverse(state.sides[side(of.1)].usd), state.node)
        };
        let near = open().filter(|of| hops(of) <= 1).min_by_key(by_worth);
        let ranked = || {
            let is_open = |node| self.places.get(&node).is_some_and(|place| self.open_side(*place).is_some());
            let place = self.places[&rank.next(is_open)?];
            Some((place, self.open_side(place)?))
        };
        near.or_else(ranked).or_else(|| open().min_by_key(by_worth))
    }

    fn open_side(&self, place: usize) -> Option<Direction> {
        DIRECTIONS.into_iter().find(|direction| self.states[place].sides[side(*direction)].is_open)
    }

    /// The movements of an account in the order of the chain.
    fn movements<S: TraceSource>(&self, source: &mut S, node: Node) -> Result<Rc<[Movement]>, S::Error> {
        for direction in DIRECTIONS {
            if let Some(opened) = self.opened[side(direction)].iter().find(|opened| opened.node == node) {
                return Ok(match direction {
                    Direction::Outgoing => Rc::clone(&opened.movements),
                    Direction::Incoming => directed(&opened.movements, direction).into(),
                });
            }
        }
        let mut movements = Vec::new();
        source.movements(node, &mut movements)?;
        Ok(movements.into())
    }

    /// Looks through an account: chooses whose payments are followed.
    fn open<S: TraceSource>(
        &mut self,
        source: &mut S,
        node: Node,
        direction: Direction,
        movements: &Rc<[Movement]>,
    ) -> Result<Vec<BridgedMass>, S::Error> {
        let (place, is_start) = (self.places[&node], node == self.start);
        let parties: BTreeSet<Node> = movements.iter().filter_map(|movement| movement.other).collect();
        let movements = match direction {
            Direction::Outgoing => Rc::clone(movements),
            Direction::Incoming => directed(movements, direction).into(),
        };
        self.kept_movements += movements.len();
        source.keep(self.kept_movements)?;
        self.states[place].counterparties = Some(parties.len() as u64);
        self.states[place].sides[side(direction)].is_looked_through = true;
        let of_side = &self.states[place].sides[side(direction)];
        let depth = of_side.depth.unwrap_or_default();
        let left = flow(&movements, &of_side.arrivals, self.rules(direction, is_start));
        if is_start {
            let followed = left.iter().filter(|left| left.fate == Fate::Followed);
            self.units[side(direction)] = Unit::of(followed.map(|left| &left.movement));
        }
        let (chosen, other_legs) = (BTreeSet::new(), FxHashMap::default());
        self.opened[side(direction)].push(AccountVisit { node, movements, depth, chosen, other_legs });
        let number = self.opened[side(direction)].len() - 1;
        self.choose(source, (number, direction), &left)
    }

    /// Goes along what left an account that was looked through, as far as there is room.
    fn choose<S: TraceSource>(
        &mut self,
        source: &mut S,
        (number, direction): (usize, Direction),
        left: &[Outflow],
    ) -> Result<Vec<BridgedMass>, S::Error> {
        let shown: Vec<Outflow> = left.iter().filter(|left| left.is_shown()).copied().collect();
        let chosen = self.chosen((number, direction), &shown);
        self.go_along(source, (number, direction), &shown, chosen)
    }

    /// Goes along what left an account for those that are chosen.
    fn go_along<S: TraceSource>(
        &mut self,
        source: &mut S,
        (number, direction): (usize, Direction),
        shown: &[Outflow],
        chosen: BTreeSet<Node>,
    ) -> Result<Vec<BridgedMass>, S::Error> {
        let AccountVisit { node, depth, .. } = self.opened[side(direction)][number];
        let other_legs = self.other_legs(source, (node, direction, depth), shown, &chosen)?;
        let mut carried = Vec::new();
        for (left, other_legs) in shown.iter().zip(other_legs) {
            let Some(far) = left.movement.other.filter(|far| chosen.contains(far)) else { continue };
            let is_swap = left.fate == Fate::Swapped;
            let passes_by = is_swap.then_some(PassThrough::Swap).or(other_legs.as_ref().map(|_| PassThrough::Bridge));
            let (movement, payer) = (&left.movement, Some(node));
            let hop = Hop { near: node, far, direction, depth, movement, part: left.part, payer, passes_by };
            let depth = self.step(source, &hop)?;
            if let Some(other_legs) = other_legs {
                carried.push(self.cross(source, &Hop { depth, ..hop }, &other_legs)?);
                self.opened[side(direction)][number].other_legs.insert(payment(&left.movement), other_legs);
            }
        }
        self.opened[side(direction)][number].chosen.extend(chosen);
        Ok(carried)
    }

    /// Goes along what left accounts for others that were not chosen, as far as there is room: money that came after they were
    /// looked through. Returns whether there was any.
    fn choose_late<S: TraceSource>(&mut self, source: &mut S, found: &[Allocation; 2]) -> Result<bool, S::Error> {
        let chosen = |walk: &Self| walk.opened.iter().flatten().map(|opened| opened.chosen.len()).sum::<usize>();
        let (before, mut is_met) = (chosen(self), false);
        for (direction, found) in DIRECTIONS.into_iter().zip(found) {
            let late = |(_, of): &(usize, &Outcome)| !of.pruned.is_empty() || !of.unmet.is_empty();
            for (number, outcome) in found.outcomes.iter().enumerate().filter(late) {
                self.choose(source, (number, direction), &outcome.pruned)?;
                let met = outcome.unmet.iter().filter_map(|left| left.movement.other).collect();
                self.go_along(source, (number, direction), &outcome.unmet, met)?;
                is_met |= !outcome.unmet.is_empty();
            }
        }
        Ok(is_met || chosen(self) > before)
    }

    fn allocate<S: TraceSource>(&self, source: &mut S, direction: Direction) -> Result<Allocation, S::Error> {
        allocate(
            source,
            &Plan {
                start: self.start,
                direction,
                rules: self.rules(direction, true),
                opened: &self.opened[side(direction)],
                is_placed: &|node| self.places.contains_key(&node),
                is_met: &|node| {
                    self.places.get(&node).is_some_and(|place| self.states[*place].sides[side(direction)].is_paid)
                },
                accumulate: self.settings.accumulate,
            },
        )
    }

    /// Returns the other legs of the payments of an account that bridges took on. A small payment to the bridge beside one,
    /// as for its fee, has none.
    fn other_legs<S: TraceSource>(
        &self,
        source: &mut S,
        (node, direction, depth): (Node, Direction, i32),
        shown: &[Outflow],
        chosen: &BTreeSet<Node>,
    ) -> Result<Vec<OtherLegs>, S::Error> {
        let mut found: Vec<OtherLegs> = vec![None; shown.len()];
        if depth.abs() + 1 >= self.limit(direction) {
            return Ok(found);
        }
        let mut over: FxHashMap<(TransactionRef, Node), Usd> = FxHashMap::default();
        let beside =
            |of: &Outflow| Some((of.movement.transaction, of.movement.other.filter(|far| chosen.contains(far))?));
        for (left, found) in shown.iter().zip(&mut found).filter(|(left, _)| left.fate == Fate::Followed) {
            let Some(beside) = beside(left) else { continue };
            let other_legs = source.other_legs((node, direction), &left.movement)?;
            if !other_legs.is_empty() {
                *over.entry(beside).or_default() += left.movement.usd.unwrap_or_default();
                *found = Some(other_legs);
            }
        }
        let is_open = |(left, found): &(&Outflow, &mut OtherLegs)| left.fate == Fate::Followed && found.is_none();
        for (left, found) in shown.iter().zip(&mut found).filter(is_open) {
            let over = beside(left).and_then(|beside| over.get(&beside)).copied().unwrap_or_default();
            let is_small = |usd: Usd| usd.raw() <= over.raw() / SMALL;
            if over > Usd::ZERO && left.movement.usd.is_some_and(is_small) {
                *found = Some(Vec::new());
            }
        }
        Ok(found)
    }

    /// Goes along what came out of a bridge, as much of it traced as of what it was paid.
    fn cross<S: TraceSource>(
        &mut self,
        source: &mut S,
        paid: &Hop<'_>,
        other_legs: &[(Node, Movement)],
    ) -> Result<BridgedMass, S::Error> {
        let Movement { asset, time, amount, .. } = *paid.movement;
        let mut carried = BridgedMass { bridge: paid.far, chip: (asset, time), onto: Vec::new() };
        for (account, movement) in other_legs {
            let taint = share_of(movement.amount, paid.part.taint, amount);
            if taint == 0 {
                continue;
            }
            if !self.places.contains_key(account) && self.states.len() >= self.settings.max_nodes {
                self.truncations.insert(Truncation::MaxNodes);
                continue;
            }
            let (near, far, payer, passes_by) = (paid.far, *account, movement.other, None);
            self.step(
                source,
                &Hop { near, far, movement, part: Part { taint, source: 0 }, payer, passes_by, ..*paid },
            )?;
            let weight = movement.usd.map_or(1.0, Usd::to_f64);
            carried.onto.push((*account, (movement.asset, movement.time), weight));
        }
        Ok(carried)
    }

    /// The counterparties that are followed besides those that are already: the largest by what of the traced money they got,
    /// those without a price by their shares, then in the order in which they were met; only known ones where there is no room
    /// for others.
    fn chosen(&mut self, (number, direction): (usize, Direction), shown: &[Outflow]) -> BTreeSet<Node> {
        let already = &self.opened[side(direction)][number].chosen;
        // Without a price a payment counts by its share of all that is followed in its asset.
        let mut of_asset: BTreeMap<u32, f64> = BTreeMap::new();
        for left in shown {
            *of_asset.entry(left.movement.asset).or_default() += double(left.part.taint);
        }
        let mut by_party: BTreeMap<Node, (Usd, f64)> = BTreeMap::new();
        for Outflow { movement, part, .. } in shown {
            let Some(other) = movement.other.filter(|other| !already.contains(other)) else { continue };
            let (worth, share) = by_party.entry(other).or_default();
            *worth += traced(movement, part.taint).unwrap_or_default();
            *share += double(part.taint) / of_asset[&movement.asset];
        }
        let mut order: Vec<_> = by_party.into_iter().collect();
        order.sort_by(|(one, of_one), (other, of_other)| {
            of_other.0.cmp(&of_one.0).then(of_other.1.total_cmp(&of_one.1)).then(one.cmp(other))
        });
        let most = self.settings.limit.saturating_sub(already.len());
        if order.len() > most {
            self.truncations.insert(Truncation::FanoutLimit);
            order.truncate(most);
        }
        let mut chosen = BTreeSet::new();
        let mut room = self.settings.max_nodes.saturating_sub(self.states.len());
        for (node, _) in order {
            if self.places.contains_key(&node) {
                chosen.insert(node);
            } else if room > 0 {
                room -= 1;
                chosen.insert(node);
            } else {
                self.truncations.insert(Truncation::MaxNodes);
            }
        }
        chosen
    }

    /// Goes along one movement: a hop, unless it is change, which stays with whoever paid. Returns the hops of the far account.
    fn step<S: TraceSource>(&mut self, source: &mut S, hop: &Hop<'_>) -> Result<i32, S::Error> {
        let Hop { near, far, direction, depth, movement, part, payer, passes_by } = *hop;
        let Movement { transaction, asset, amount, .. } = *movement;
        let ends = match direction {
            Direction::Outgoing => (near, far),
            Direction::Incoming => (far, near),
        };
        let next = next_depth(direction, depth, source.is_change(transaction, ends)?);
        if far == self.start {
            return Ok(next);
        }
        let limit = self.limit(direction);
        let place = self.place(far, direction);
        let of_side = &mut self.states[place].sides[side(direction)];
        if passes_by.is_some() {
            if of_side.depth.is_none() {
                of_side.depth = Some(next);
                of_side.stop = (passes_by == Some(PassThrough::Swap)).then_some(Stop::Contract);
            }
            return Ok(next);
        }
        of_side.arrivals.push(Arrival { transaction, asset, from: payer, amount, part });
        add(&mut of_side.usd, traced(movement, part.taint));
        let is_nearer = of_side.depth.is_none_or(|known| next.abs() < known.abs()) && !of_side.is_looked_through;
        if !of_side.is_paid || is_nearer {
            let was_stopped = of_side.is_paid && of_side.stop.is_some_and(|stop| stop != Stop::DepthLimit);
            (of_side.is_paid, of_side.depth) = (true, Some(next));
            if !was_stopped {
                let is_within = next.abs() < limit;
                (of_side.is_open, of_side.stop) = (is_within, (!is_within).then_some(Stop::DepthLimit));
            }
        }
        Ok(next)
    }
}

/// Returns the worth of the traced part of a movement.
fn traced(movement: &Movement, taint: u128) -> Option<Usd> {
    let raw = share_of(u128::try_from(movement.usd?.raw()).ok()?, taint, movement.amount);
    i128::try_from(raw).ok().map(Usd::from_raw)
}

pub(super) const fn side(direction: Direction) -> usize {
    match direction {
        Direction::Outgoing => 0,
        Direction::Incoming => 1,
    }
}
