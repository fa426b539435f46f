//! Expansion: an amount leaves a node and spreads, hop by hop, along the strongest edges of whatever it reaches.

mod share;

use std::cmp::Reverse;

use headwater_ledger::{Cancel, Cancelled};

use self::share::split;
use crate::source::{Direction, Edge, Node, Source};

/// The token to stop is looked at once per so many nodes.
const CANCEL_EVERY: usize = 256;

/// The rule for an amount that comes to a node a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RevisitPolicy {
    /// It stays there: a node is expanded once, with what had arrived by then. The default of a trace.
    #[default]
    Stays,
    /// It continues, hop by hop, as often as it comes: shares then say where every unit is after the last hop.
    Continues,
}

/// The hops and edges of an expansion.
#[derive(Debug, Clone)]
pub struct Params {
    hops: u8,
    cap: usize,
    direction: Direction,
    revisits: RevisitPolicy,
    max_edges: usize,
}

impl Default for Params {
    /// Three hops, 50 edges per node, as a trace begins; a million edges in all, which is some 100 MB of answer.
    fn default() -> Self {
        Self { hops: 3, cap: 50, direction: Direction::Outgoing, revisits: RevisitPolicy::Stays, max_edges: 1_000_000 }
    }
}

impl Params {
    /// So many hops, along so many edges of each node. `None` unless hops are 1 to 10 and edges 1 to 500.
    #[must_use]
    pub fn new(hops: u8, cap: usize) -> Option<Self> {
        ((1..=10).contains(&hops) && (1..=500).contains(&cap)).then(|| Self { hops, cap, ..Self::default() })
    }

    /// In a direction.
    #[must_use]
    pub fn with_direction(self, direction: Direction) -> Self {
        Self { direction, ..self }
    }

    /// With a rule for what comes to a node again.
    #[must_use]
    pub fn with_revisits(self, revisits: RevisitPolicy) -> Self {
        Self { revisits, ..self }
    }

    /// Ending where so many edges were followed; the node that is being expanded is finished.
    #[must_use]
    pub fn with_max_edges(self, max_edges: usize) -> Self {
        Self { max_edges, ..self }
    }
}

/// A node that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReachedNode {
    /// The node.
    pub node: Node,
    /// The hop at which it was first reached, from 1.
    pub hop: u8,
    /// The amount that arrived there, over all hops.
    pub amount: u128,
}

/// An edge that was followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The node that the amount was at; for incoming edges, the receiver.
    pub from: Node,
    /// The node that it went to; for incoming edges, the sender.
    pub to: Node,
    /// At which hop, from 1.
    pub hop: u8,
    /// The amount.
    pub amount: u128,
}

/// The nodes and counts of an expansion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Nodes reached, in order of being reached.
    pub reached: Vec<ReachedNode>,
    /// Nodes whose edges were followed, each time it happened.
    pub expanded: usize,
    /// Edges followed.
    pub edges: usize,
    /// The amount that stayed behind at an earlier hop: at nodes without an edge, where it came again and stayed, or where the limit
    /// of edges was met. The amount less what arrived at the last hop.
    pub rested: u128,
    /// True where the limit of edges ended the expansion early.
    pub truncated: bool,
}

impl Report {
    /// With the nodes by amount, largest first, then by hop, then in order of being reached.
    #[must_use]
    pub fn by_amount(mut self) -> Self {
        self.reached.sort_by_key(|reached| (Reverse(reached.amount), reached.hop));
        self
    }
}

/// The failure of an expansion.
#[derive(Debug, thiserror::Error)]
pub enum Error<E> {
    /// The edges cannot be read.
    #[error(transparent)]
    Source(E),
    /// It was stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Memory of a worker, used from one expansion to the next: a place per node, stamped with the number of the expansion
/// that wrote it, so that nothing is cleared in between.
#[derive(Debug, Default)]
pub struct Scratch {
    epoch: u32,
    /// By node: the expansion that wrote it, and the place of the node among those reached.
    stamps: Vec<(u32, u32)>,
    places: Vec<NodeState>,
    edges: Vec<Edge>,
    shares: Vec<u128>,
}

#[derive(Debug)]
struct NodeState {
    reached: ReachedNode,
    /// The amount that continues at the next hop, by the parity of the hop at which it arrived.
    waiting: [u128; 2],
    /// The last hop at which it joined the next frontier.
    queued: u8,
}

impl Scratch {
    fn begin(&mut self, nodes: usize) {
        self.epoch = self.epoch.checked_add(1).unwrap_or_else(|| {
            self.stamps.clear();
            1
        });
        self.reserve(nodes);
        self.places.clear();
    }

    fn reserve(&mut self, nodes: usize) {
        if self.stamps.len() < nodes {
            self.stamps.resize(nodes, (0, 0));
        }
    }

    /// The place of a node, and whether it is new.
    fn place(&mut self, node: Node, hop: u8) -> (usize, bool) {
        self.reserve(node as usize + 1);
        let (epoch, place) = &mut self.stamps[node as usize];
        if *epoch == self.epoch {
            return (*place as usize, false);
        }
        let new = self.places.len();
        (*epoch, *place) = (self.epoch, u32::try_from(new).expect("no more places than nodes"));
        self.places.push(NodeState { reached: ReachedNode { node, hop, amount: 0 }, waiting: [0, 0], queued: 0 });
        (new, true)
    }
}

/// Returns the queue of what arrives at a hop.
const fn parity(hop: u8) -> usize {
    (hop & 1) as usize
}

/// Spreads `amount` from `start`.
///
/// At each hop, what waits at a node is divided among its `cap` strongest edges in proportion to their weights: each
/// share is rounded down, and what is left over goes unit by unit to the strongest. So amounts are integers, nothing is
/// lost, and the answer does not depend on order. Time O(edges followed), on scratch that is used again.
///
/// # Errors
/// When edges cannot be read, or the work is cancelled.
pub fn expand<S: Source>(
    source: &mut S,
    (start, amount): (Node, u128),
    params: &Params,
    (scratch, cancel): (&mut Scratch, &Cancel),
    mut on_step: impl FnMut(Step),
) -> Result<Report, Error<S::Error>> {
    scratch.begin(source.nodes());
    let (place, _) = scratch.place(start, 0);
    scratch.places[place].waiting[0] = amount;
    let mut frontier = vec![place];
    let mut report = Report::default();
    let mut arrived = amount;
    for hop in 1..=params.hops {
        let mut next = Vec::new();
        arrived = 0;
        for (number, place) in frontier.into_iter().enumerate() {
            if number % CANCEL_EVERY == 0 {
                cancel.check()?;
            }
            if report.edges >= params.max_edges {
                report.truncated = true;
                break;
            }
            let node = scratch.places[place].reached.node;
            let waiting = std::mem::take(&mut scratch.places[place].waiting[parity(hop - 1)]);
            let (mut edges, mut shares) = (std::mem::take(&mut scratch.edges), std::mem::take(&mut scratch.shares));
            edges.clear();
            source.strongest(node, params.direction, params.cap, &mut edges).map_err(Error::Source)?;
            split(waiting, &edges, &mut shares);
            report.expanded += 1;
            report.edges += edges.len();
            for (edge, share) in edges.iter().zip(&shares) {
                let (place, is_new) = scratch.place(edge.to, hop);
                let at = &mut scratch.places[place];
                at.reached.amount = at.reached.amount.saturating_add(*share);
                arrived += share;
                on_step(Step { from: node, to: edge.to, hop, amount: *share });
                let joined = at.queued == hop;
                if joined || is_new || params.revisits == RevisitPolicy::Continues {
                    at.queued = hop;
                    at.waiting[parity(hop)] += share;
                    if !joined {
                        next.push(place);
                    }
                }
            }
            (scratch.edges, scratch.shares) = (edges, shares);
        }
        frontier = next;
        if report.truncated {
            break;
        }
    }
    report.rested = amount - arrived;
    let reached = scratch.places.iter().map(|place| place.reached);
    report.reached = reached.filter(|reached| reached.hop > 0 || reached.amount > 0).collect();
    Ok(report)
}

#[cfg(test)]
mod tests;
