//! One pass over the movements of the accounts that a walk looked through, in order of time: how much of the money of the start
//! went along each of its edges, and where it ended.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use headwater_ledger::read::TransactionRef;
use headwater_types::Usd;
use rustc_hash::FxHashMap;

use super::account::{Account, Arrival, Balance, Fate, Outflow, Rules, share_of};
use super::edge::{Edge, EdgeSum, add};
use super::movement::{Movement, Way};
use super::source::TraceSource;
use super::stop::Stop;
use crate::source::{Direction, Node};
use crate::taint::Part;

/// A payment that bridges take on, and where it came out on other chains: its transaction, asset, receiver and amount.
pub(super) type Payment = (TransactionRef, u32, Option<Node>, u128);

/// An account that a walk looked through in one direction.
pub(super) struct AccountVisit {
    pub node: Node,
    /// As the walk reads them.
    pub movements: Rc<[Movement]>,
    /// Hops from the start, negative inward.
    pub depth: i32,
    /// The counterparties whose payments are followed.
    pub chosen: BTreeSet<Node>,
    /// The other legs of payments that bridges took on, with the account of each movement; none for the fees of bridges.
    pub other_legs: FxHashMap<Payment, Vec<(Node, Movement)>>,
}

/// The money that came to an account along edges of the trace and was not taken on by a bridge or a swap.
#[derive(Debug, Clone, Default)]
pub(super) struct Inflow {
    /// The worth of the traced part; `None` where nothing had a price.
    pub usd: Option<Usd>,
    pub source: u128,
    /// Traced units by asset.
    pub assets: BTreeMap<u32, u128>,
}

/// The source units that came to an account and were not followed further.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Remainder {
    pub stayed: u128,
    pub pruned: u128,
    pub filtered: u128,
    pub fees: u128,
}

impl Remainder {
    pub fn sum(self) -> u128 {
        [self.stayed, self.pruned, self.filtered, self.fees].into_iter().fold(0, u128::saturating_add)
    }
}

/// The money of one account after the pass.
#[derive(Default)]
pub(super) struct Outcome {
    pub balances: BTreeMap<u32, Balance>,
    pub kept: Remainder,
    /// The reason for which nothing is followed further.
    pub stop: Option<Stop>,
    /// True where money left it along edges, or for accounts without room.
    pub is_passed_on: bool,
    /// True where the rest was swapped, or went to nobody.
    is_spent: bool,
    /// The payments to accounts that were not chosen.
    pub pruned: Vec<Outflow>,
    /// The payments to chosen accounts to which the walk has not come with money of their own: they came late.
    pub unmet: Vec<Outflow>,
}

/// The division of the money of the start among the edges and accounts of a walk in one direction.
#[derive(Default)]
pub(super) struct Allocation {
    pub edges: Vec<Edge>,
    pub came: BTreeMap<Node, Inflow>,
    /// In the order of the accounts looked through.
    pub outcomes: Vec<Outcome>,
    /// Source units that left the start.
    pub whole: u128,
    pub returned: u128,
    /// The fees of bridges, and the money that they brought to accounts without room.
    pub over_bridges: Remainder,
}

/// A walk in one direction, as far as amounts depend on it.
pub(super) struct Plan<'p> {
    pub start: Node,
    pub direction: Direction,
    /// The rules of every account; the unit holds for the start alone.
    pub rules: Rules,
    pub opened: &'p [AccountVisit],
    /// Returns whether an account found room.
    pub is_placed: &'p dyn Fn(Node) -> bool,
    /// Returns whether the walk came to it with money that is followed further.
    pub is_met: &'p dyn Fn(Node) -> bool,
    /// One edge per pair and asset; else one per movement.
    pub accumulate: bool,
}

/// Divides the money of the start. O(movements · log movements).
///
/// # Errors
/// Those of the source.
pub(super) fn allocate<S: TraceSource>(source: &mut S, plan: &Plan<'_>) -> Result<Allocation, S::Error> {
    let events = events(source, plan)?;
    let rules =
        |opened: &AccountVisit| Rules { start: plan.rules.start.filter(|_| opened.node == plan.start), ..plan.rules };
    let mut pass = Pass {
        source,
        plan,
        places: plan.opened.iter().enumerate().map(|(place, opened)| (opened.node, place)).collect(),
        accounts: plan.opened.iter().map(|opened| Account::new(&opened.movements, rules(opened))).collect(),
        last: vec![None; plan.opened.len()],
        edges: BTreeMap::new(),
        found: Allocation {
            outcomes: plan.opened.iter().map(|_| Outcome::default()).collect(),
            ..Allocation::default()
        },
    };
    for of_one in events.chunk_by(|one, other| one.transaction == other.transaction) {
        for event in in_turn(plan.opened, of_one) {
            pass.take(event)?;
        }
    }
    Ok(pass.finish())
}

/// The movements of one account in one transaction.
struct Event {
    time: i64,
    transaction: TransactionRef,
    /// The place of the account among those looked through.
    place: usize,
    range: Range<usize>,
}

/// All events in the order in which the walk reads them: those of each account are, so they are merged.
fn events<S: TraceSource>(source: &mut S, plan: &Plan<'_>) -> Result<Vec<Event>, S::Error> {
    let mut lists: VecDeque<Vec<Event>> = plan.opened.iter().enumerate().map(of_account).collect();
    while let Some(one) = lists.pop_front() {
        let Some(other) = lists.pop_front() else { return Ok(one) };
        lists.push_back(merged(source, plan.direction, one, other)?);
    }
    Ok(Vec::new())
}

/// The events of one account.
fn of_account((place, opened): (usize, &AccountVisit)) -> Vec<Event> {
    let mut from = 0;
    let of_one = opened.movements.chunk_by(|one, other| one.transaction == other.transaction);
    let event = |of_one: &[Movement]| {
        let range = from..from + of_one.len();
        from = range.end;
        Event { time: of_one[0].time, transaction: of_one[0].transaction, place, range }
    };
    of_one.map(event).collect()
}

/// Merges two lists that are in order.
fn merged<S: TraceSource>(
    source: &mut S,
    direction: Direction,
    one: Vec<Event>,
    other: Vec<Event>,
) -> Result<Vec<Event>, S::Error> {
    let mut events = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
    while let (Some(first), Some(second)) = (one.peek(), other.peek()) {
        let (first, second) = ((first.time, first.transaction), (second.time, second.transaction));
        let is_second = compare(source, direction, first, second)? == Ordering::Greater;
        events.extend(if is_second { other.next() } else { one.next() });
    }
    events.extend(one.chain(other));
    Ok(events)
}

/// The order of two transactions as the walk reads them: inward the later one comes first.
fn compare<S: TraceSource>(
    source: &mut S,
    direction: Direction,
    one: (i64, TransactionRef),
    other: (i64, TransactionRef),
) -> Result<Ordering, S::Error> {
    let order = match one.0.cmp(&other.0) {
        Ordering::Equal if one.1 != other.1 => source.order(one.1, other.1)?,
        order => order,
    };
    Ok(if direction == Direction::Incoming { order.reverse() } else { order })
}

/// The accounts of one transaction in the order in which they pay one another; in a circle the first that was looked through
/// begins.
fn in_turn<'e>(opened: &[AccountVisit], of_one: &'e [Event]) -> Vec<&'e Event> {
    if of_one.len() == 1 {
        return vec![&of_one[0]];
    }
    let mut order: Vec<&Event> = of_one.iter().collect();
    order.sort_by_key(|event| event.place);
    let numbers: FxHashMap<Node, usize> =
        order.iter().enumerate().map(|(number, event)| (opened[event.place].node, number)).collect();
    let pays = |number: usize| -> BTreeSet<usize> {
        let movements = &opened[order[number].place].movements[order[number].range.clone()];
        let paid = movements.iter().filter(|movement| movement.way == Way::Out).filter_map(|movement| movement.other);
        paid.filter_map(|node| numbers.get(&node).copied()).filter(|paid| *paid != number).collect()
    };
    let pays: Vec<BTreeSet<usize>> = (0..order.len()).map(pays).collect();
    let mut waits_for = vec![0_usize; order.len()];
    for paid in pays.iter().flatten() {
        waits_for[*paid] += 1;
    }
    let mut left: BTreeSet<(usize, usize)> =
        waits_for.iter().enumerate().map(|(number, waits)| (*waits, number)).collect();
    let mut turns = Vec::with_capacity(order.len());
    // Who waits for the fewest others comes next: for nobody, but in a circle.
    while let Some((_, number)) = left.pop_first() {
        turns.push(order[number]);
        for paid in &pays[number] {
            if left.remove(&(waits_for[*paid], *paid)) {
                waits_for[*paid] -= 1;
                left.insert((waits_for[*paid], *paid));
            }
        }
    }
    turns
}

/// Ends, whether inward, whether change, asset, and the number of the movement where each has its own edge.
type EdgeKey = (Node, Node, [bool; 2], u32, usize);

struct Pass<'p, S> {
    source: &'p mut S,
    plan: &'p Plan<'p>,
    /// The place of each account among those looked through.
    places: FxHashMap<Node, usize>,
    accounts: Vec<Account>,
    /// The last transaction of each account that went by.
    last: Vec<Option<(i64, TransactionRef)>>,
    edges: BTreeMap<EdgeKey, EdgeSum>,
    found: Allocation,
}

impl<S: TraceSource> Pass<'_, S> {
    /// Lets the movements of an account in a transaction go by.
    fn take(&mut self, event: &Event) -> Result<(), S::Error> {
        let opened = &self.plan.opened[event.place];
        let mut left = Vec::new();
        self.accounts[event.place].transaction(&opened.movements[event.range.clone()], &mut left);
        self.last[event.place] = Some((event.time, event.transaction));
        for left in left {
            if opened.node == self.plan.start {
                raise(&mut self.found.whole, left.part.source);
            }
            let Outcome { kept, is_passed_on, is_spent, pruned, unmet, .. } = &mut self.found.outcomes[event.place];
            *is_passed_on |= left.fate == Fate::Followed;
            let is_to_nobody = left.movement.other.is_none() && left.movement.left_out.is_none() && left.part.taint > 0;
            *is_spent |= left.fate == Fate::Swapped || left.fate == Fate::Filtered && is_to_nobody;
            match (left.fate, left.movement.other) {
                (Fate::Fee, _) => raise(&mut kept.fees, left.part.source),
                (Fate::Filtered, _) | (Fate::Followed, None) => raise(&mut kept.filtered, left.part.source),
                (Fate::Swapped, _) if !left.is_shown() => {}
                (Fate::Swapped, other) => match other.filter(|far| opened.chosen.contains(far)) {
                    Some(far) => {
                        self.edge((opened.node, far), opened.depth, &left.movement, left.part)?;
                    }
                    None => self.accounts[event.place].prune(&left),
                },
                (Fate::Followed, Some(far)) if opened.chosen.contains(&far) => {
                    let is_carried = opened.other_legs.contains_key(&payment(&left.movement));
                    if !is_carried && far != self.plan.start && !(self.plan.is_met)(far) {
                        unmet.push(left);
                    }
                    self.follow(opened, far, &left)?;
                }
                (Fate::Followed, Some(_)) => {
                    raise(&mut kept.pruned, left.part.source);
                    pruned.push(left);
                    self.accounts[event.place].prune(&left);
                }
            }
        }
        Ok(())
    }

    /// Goes along a payment to an account that was chosen.
    fn follow(&mut self, opened: &AccountVisit, far: Node, left: &Outflow) -> Result<(), S::Error> {
        let Outflow { movement, part, .. } = *left;
        let Movement { transaction, asset, amount, usd, .. } = movement;
        let depth = self.edge((opened.node, far), opened.depth, &movement, part)?;
        if let Some(other_legs) = opened.other_legs.get(&payment(&movement)) {
            return self.cross((far, depth), left, other_legs);
        }
        let arrival = Arrival { transaction, asset, from: Some(opened.node), amount, part };
        self.arrive(far, arrival, (movement.time, usd))
    }

    /// Goes along what came out of a bridge, as much of it traced as of what it was paid.
    fn cross(&mut self, bridge: (Node, i32), paid: &Outflow, other_legs: &[(Node, Movement)]) -> Result<(), S::Error> {
        let weights = weights(other_legs);
        let (mut source, mut weight) = (paid.part.source, weights.iter().copied().fold(0, u128::saturating_add));
        for ((account, movement), of_one) in other_legs.iter().zip(weights) {
            let taint = share_of(movement.amount, paid.part.taint, paid.movement.amount);
            let part = Part { taint, source: share_of(source, of_one, weight) };
            (source, weight) = (source - part.source, weight.saturating_sub(of_one));
            if taint == 0 {
                raise(&mut self.found.over_bridges.filtered, part.source);
            } else if !(self.plan.is_placed)(*account) {
                raise(&mut self.found.over_bridges.pruned, part.source);
            } else {
                self.edge((bridge.0, *account), bridge.1, movement, part)?;
                let Movement { transaction, time, asset, amount, usd, other, .. } = *movement;
                self.arrive(*account, Arrival { transaction, asset, from: other, amount, part }, (time, usd))?;
            }
        }
        // What a bridge was paid beside a transfer, as for its fee.
        raise(&mut self.found.over_bridges.fees, source);
        Ok(())
    }

    /// Brings traced money to an account.
    fn arrive(&mut self, node: Node, arrival: Arrival, (time, usd): (i64, Option<Usd>)) -> Result<(), S::Error> {
        let Arrival { asset, amount, part, .. } = arrival;
        if node == self.plan.start {
            raise(&mut self.found.returned, part.source);
            return Ok(());
        }
        let came = self.found.came.entry(node).or_default();
        let traced = usd.and_then(|usd| Some(share_of(u128::try_from(usd.raw()).ok()?, part.taint, amount)));
        add(&mut came.usd, traced.and_then(|raw| Some(Usd::from_raw(i128::try_from(raw).ok()?))));
        raise(&mut came.source, part.source);
        raise(came.assets.entry(asset).or_default(), part.taint);
        let Some(place) = self.places.get(&node).copied() else { return Ok(()) };
        let has_gone_by = match self.last[place] {
            Some(last) => {
                compare(self.source, self.plan.direction, (time, arrival.transaction), last)? != Ordering::Greater
            }
            None => false,
        };
        if has_gone_by {
            self.accounts[place].receive_late(arrival);
        } else {
            self.accounts[place].expect(arrival);
        }
        Ok(())
    }

    /// Adds a movement to its edge. Gives the hops of the far account.
    fn edge(&mut self, ends: (Node, Node), depth: i32, movement: &Movement, part: Part) -> Result<i32, S::Error> {
        let direction = self.plan.direction;
        let (from, to) = match direction {
            Direction::Outgoing => ends,
            Direction::Incoming => (ends.1, ends.0),
        };
        let is_change = self.source.is_change(movement.transaction, (from, to))?;
        let depth = next_depth(direction, depth, is_change);
        let number = if self.plan.accumulate { 0 } else { self.edges.len() + 1 };
        let key = (from, to, [direction == Direction::Incoming, is_change], movement.asset, number);
        let edge = || EdgeSum::new((from, to), (depth, direction), movement.asset).of_change(is_change);
        let taint = self.plan.rules.method.map(|_| part.taint);
        self.edges.entry(key).or_insert_with(edge).add(movement, taint);
        Ok(depth)
    }

    fn finish(mut self) -> Allocation {
        for ((account, opened), outcome) in
            self.accounts.into_iter().zip(self.plan.opened).zip(&mut self.found.outcomes)
        {
            let (balances, stayed) = account.finish();
            outcome.balances = balances;
            if opened.node != self.plan.start {
                outcome.kept.stayed = stayed;
                outcome.stop = match (outcome.is_passed_on, outcome.is_spent) {
                    (true, _) => None,
                    (false, true) => Some(Stop::NoOutflow),
                    (false, false) => Some(why_not_followed(&opened.movements)),
                };
            }
        }
        self.found.edges = self.edges.into_values().map(EdgeSum::finish).collect();
        self.found
    }
}

/// Returns the key of a payment among those of its account.
pub(super) const fn payment(movement: &Movement) -> Payment {
    (movement.transaction, movement.asset, movement.other, movement.amount)
}

/// Returns the weights by which a payment is divided among its other legs: their worth, else their amounts in one asset.
fn weights(other_legs: &[(Node, Movement)]) -> Vec<u128> {
    let priced: Option<Vec<u128>> =
        other_legs.iter().map(|(_, movement)| u128::try_from(movement.usd?.raw()).ok()).collect();
    if let Some(priced) = priced.filter(|priced| priced.iter().any(|usd| *usd > 0)) {
        return priced;
    }
    let is_of_one_asset = other_legs.windows(2).all(|pair| pair[0].1.asset == pair[1].1.asset);
    other_legs.iter().map(|(_, movement)| if is_of_one_asset { movement.amount } else { 1 }).collect()
}

/// Adds to a sum. Tokens without worth are made in numbers at which sums end.
pub(super) fn raise(sum: &mut u128, more: u128) {
    *sum = sum.saturating_add(more);
}

/// The hops of an account that was paid: change stays with whoever paid.
pub(super) fn next_depth(direction: Direction, depth: i32, is_change: bool) -> i32 {
    match direction {
        Direction::Outgoing => depth + i32::from(!is_change),
        Direction::Incoming => depth - i32::from(!is_change),
    }
}

/// Returns why nothing that left an account is followed.
fn why_not_followed(movements: &[Movement]) -> Stop {
    let mut outs = movements.iter().filter(|movement| movement.way == Way::Out).peekable();
    match outs.peek().map(|first| first.left_out) {
        None => Stop::NoOutflow,
        Some(Some(left_out)) if outs.all(|movement| movement.left_out.is_some()) => left_out,
        Some(_) => Stop::TimeRange,
    }
}
