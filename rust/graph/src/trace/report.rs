//! The result of a trace: its accounts, edges, ends, and how the money of the start is divided among them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use headwater_types::Usd;
use rustc_hash::FxHashMap;

use super::account::{Balance, Unit};
use super::allocate::{Allocation, Inflow, Outcome, Remainder, raise};
use super::edge::{Edge, add};
use super::source::TraceSource;
use super::stop::Stop;
use super::walk::{DIRECTIONS, Settings, State, Truncation, Walk, side, walk};
use crate::source::{Direction, Node};

/// An account of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedAccount {
    /// The account.
    pub node: Node,
    /// Hops from the start, negative inward. Change does not count.
    pub depth: i32,
    /// The direction in which the walk first came to it; `None` for the start.
    pub heading: Option<Direction>,
    /// The reason for which the trace does not continue from it in that direction; `None` where it does.
    pub stop: Option<Stop>,
    /// The units of the source that stayed at it in that direction while another part left: see [`Division`]. `None` where
    /// it was not looked through, and at ends.
    pub stayed: Option<u128>,
    /// US dollars that came to it along edges of the trace: of the direction with more of it; `None` where nothing had a
    /// price.
    pub in_usd: Option<Usd>,
    /// US dollars that left it along edges of the trace.
    pub out_usd: Option<Usd>,
    /// Distinct accounts it dealt with; `None` where it was not looked through.
    pub counterparties: Option<u64>,
    /// By asset, what came and what became of it; empty where it was not looked through.
    pub balances: BTreeMap<u32, Balance>,
}

/// An account at which the trace ends in one direction, and what came to it.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// The account.
    pub node: Node,
    /// The direction of the walk.
    pub direction: Direction,
    /// Hops from the start, without a sign.
    pub hops: u32,
    /// US dollars of the traced part, on arrival; `None` without a price.
    pub usd: Option<Usd>,
    /// The traced part by asset.
    pub assets: BTreeMap<u32, u128>,
    /// The units of the source that ended here: see [`Division`].
    pub source: u128,
    /// The reason.
    pub stop: Stop,
}

/// The division of the money of the start in one direction, in units of the source:
/// `whole = ended + returned + stayed + pruned + filtered + fees`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Division {
    /// The unit.
    pub unit: Unit,
    /// The money that left the start; inward, that came to it.
    pub whole: u128,
    /// The money at ends.
    pub ended: u128,
    /// The money that came back to the start.
    pub returned: u128,
    /// The money that stayed at accounts between.
    pub stayed: u128,
    /// The money that went to accounts for which there was no room.
    pub pruned: u128,
    /// The money that left outside of time and filters, or for nobody.
    pub filtered: u128,
    /// Fees.
    pub fees: u128,
}

/// A trace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// Accounts by hops, then by what came to them.
    pub nodes: Vec<TracedAccount>,
    /// Edges by hops, then by worth.
    pub edges: Vec<Edge>,
    /// The ends, by worth.
    pub ends: Vec<End>,
    /// The divisions outward and inward; `None` where the method does not divide it.
    pub divisions: [Option<Division>; 2],
    /// The reasons for which it is not complete.
    pub truncations: BTreeSet<Truncation>,
}

impl Trace {
    /// The division of the money in a direction.
    #[must_use]
    pub const fn division(&self, direction: Direction) -> Option<Division> {
        self.divisions[side(direction)]
    }
}

/// Follows money from an account. A source that is over ends the walk between two accounts with what was found.
///
/// The walk chooses accounts and the edges between them; then one pass over their movements, in order of time, divides the money.
/// If money came to an account after it was looked through, and left it for accounts that were not chosen, the walk continues
/// from there as far as there is room.
///
/// The same source gives the same trace, whatever it numbers nodes by, as long as it numbers them as it meets them.
///
/// # Errors
/// Those of the source.
pub fn trace<S: TraceSource>(source: &mut S, start: Node, settings: Settings) -> Result<Trace, S::Error> {
    let (walk, found) = walk(source, start, settings)?;
    Ok(report(source, walk, found))
}

/// Returns what came to an account along the trace, on its side of the start: inward what left it.
fn worth(reached: &TracedAccount) -> Option<Usd> {
    if reached.heading == Some(Direction::Incoming) { reached.out_usd } else { reached.in_usd }
}

/// Returns the key of the order of accounts: the start, then by hops, then by what came to them.
fn order(reached: &TracedAccount) -> impl Ord + use<> {
    (reached.depth.unsigned_abs(), reached.heading.is_some(), Reverse(worth(reached)))
}

/// The worth of what came to an account and left it along edges of one direction.
#[derive(Clone, Copy, Default)]
struct Sums {
    came: Option<Usd>,
    out: Option<Usd>,
}

/// Joins the accounts and edges of a walk with the division of its money. Ties are in the order of accounts, which does not depend
/// on the way of the walk.
fn report<S: TraceSource>(source: &S, walk: Walk, found: [Allocation; 2]) -> Trace {
    let Walk { settings, start, units, states, opened, mut truncations, .. } = walk;
    let mut outcomes: FxHashMap<(Node, Direction), Outcome> = FxHashMap::default();
    let mut edges: Vec<Edge> = Vec::new();
    let mut came: [BTreeMap<Node, Inflow>; 2] = Default::default();
    let mut divisions = [None; 2];
    for ((direction, found), opened) in DIRECTIONS.into_iter().zip(found).zip(opened) {
        let is_divided = settings.method.is_some_and(crate::taint::Method::divides);
        divisions[side(direction)] = is_divided.then(|| Division {
            unit: units[side(direction)],
            whole: found.whole,
            returned: found.returned,
            ..Division::default()
        });
        if let Some(division) = &mut divisions[side(direction)] {
            division.take(found.over_bridges);
        }
        for (opened, outcome) in opened.into_iter().zip(found.outcomes) {
            if !outcome.pruned.is_empty() && opened.chosen.len() >= settings.limit {
                truncations.insert(Truncation::FanoutLimit);
            }
            outcomes.insert((opened.node, direction), outcome);
        }
        edges.extend(found.edges);
        came[side(direction)] = found.came;
    }
    edges.sort_by(|one, other| {
        let key = |edge: &Edge| (edge.depth.unsigned_abs(), Reverse(edge.usd));
        let ends = || source.compare(one.from, other.from).then_with(|| source.compare(one.to, other.to));
        let within = |edge: &Edge| (edge.is_change, edge.asset);
        key(one).cmp(&key(other)).then_with(ends).then_with(|| within(one).cmp(&within(other)))
    });
    let mut sums: FxHashMap<Node, [Sums; 2]> = FxHashMap::default();
    for edge in &edges {
        add(&mut sums.entry(edge.from).or_default()[side(edge.direction)].out, edge.usd);
        add(&mut sums.entry(edge.to).or_default()[side(edge.direction)].came, edge.usd);
    }
    let (mut nodes, mut ends) = (Vec::new(), Vec::new());
    for state in states.iter().filter(|state| state.node == start || sums.contains_key(&state.node)) {
        // A movement along which both walks go is on two edges.
        let [one, other] = sums.get(&state.node).copied().unwrap_or_default();
        let (in_usd, out_usd) = (one.came.max(other.came), one.out.max(other.out));
        let is_start = state.node == start;
        let heading = heading(state);
        let mut stops = [None; 2];
        for direction in DIRECTIONS {
            let outcome = outcomes.get(&(state.node, direction));
            let of_side = &state.sides[side(direction)];
            let came = came[side(direction)].remove(&state.node);
            // Money that came to an account only when all rounds were over.
            let unmet = came.as_ref().map(|_| Stop::TimeBudget);
            let stop = outcome.map_or(of_side.stop.or(unmet), |outcome| outcome.stop).filter(|_| !is_start);
            stops[side(direction)] = stop;
            if stop == Some(Stop::DepthLimit) {
                truncations.insert(Truncation::DepthLimit);
            }
            if let Some(division) = &mut divisions[side(direction)] {
                match (outcome, stop, &came) {
                    (Some(outcome), Some(_), _) => raise(&mut division.ended, outcome.kept.sum()),
                    (Some(outcome), None, _) => division.take(outcome.kept),
                    (None, _, Some(came)) => raise(&mut division.ended, came.source),
                    (None, _, None) => {}
                }
            }
            if let (Some(stop), Some(Inflow { usd, source, assets })) = (stop, came) {
                let source = outcome.map_or(source, |outcome| outcome.kept.sum());
                let hops = of_side.depth.unwrap_or_default().unsigned_abs();
                ends.push(End { node: state.node, direction, hops, usd, assets, source, stop });
            }
        }
        let of_heading = outcomes.get(&(state.node, heading)).filter(|outcome| outcome.stop.is_none());
        let balances = DIRECTIONS.into_iter().find_map(|direction| outcomes.get(&(state.node, direction)));
        nodes.push(TracedAccount {
            node: state.node,
            depth: state.sides[side(heading)].depth.unwrap_or_default(),
            heading: (!is_start).then_some(heading),
            stop: stops[side(heading)],
            stayed: of_heading.filter(|_| !is_start).map(|outcome| outcome.kept.stayed),
            in_usd,
            out_usd,
            counterparties: state.counterparties,
            balances: balances.map(|outcome| outcome.balances.clone()).unwrap_or_default(),
        });
    }
    nodes.sort_by(|one, other| order(one).cmp(&order(other)).then_with(|| source.compare(one.node, other.node)));
    ends.sort_by_key(|end| (Reverse(end.usd), end.hops, end.node, side(end.direction)));
    Trace { nodes, edges, ends, divisions, truncations }
}

impl Division {
    fn take(&mut self, kept: Remainder) {
        raise(&mut self.stayed, kept.stayed);
        raise(&mut self.pruned, kept.pruned);
        raise(&mut self.filtered, kept.filtered);
        raise(&mut self.fees, kept.fees);
    }
}

/// Returns the direction in which an account is shown: that in which it is paid, of both the first.
fn heading(state: &State) -> Direction {
    let is_known = |direction: &Direction| state.sides[side(*direction)].is_paid;
    if is_known(&state.first) {
        return state.first;
    }
    DIRECTIONS.into_iter().find(is_known).unwrap_or(state.first)
}
