//! Paths of money from one account to others, searched from both ends.
//!
//! A path is a chain of accounts along which money can have gone: in one asset, and with every payment after the one before.
//! Accounts are looked through hop by hop from the source and from the targets, at the largest payments first, until the
//! halves meet; the paths are then searched in what was looked through, the widest first. So a path over small payments of a
//! very busy account can be missed, which is said.
//!
//! To look through an account takes its counterparties and what went to each, which a source may know without its payments.
//! The search then reads the payments of the few pairs that may be part of an answer.

mod pairs;
mod walk;

use std::collections::BTreeSet;

use headwater_types::Usd;
use rustc_hash::FxHashMap;

use self::pairs::Pairs;
use crate::source::{Direction, Node};
use crate::trace::{Edge, EdgeSum, Movement, PairSum, PathSource, SumQuery, TraceSource, Way, direction_of};

/// The limits and rules of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Payments of a path at most.
    pub max_hops: u8,
    /// Paths at most.
    pub count: usize,
    /// True where each payment has to come after the one before.
    pub is_time_ordered: bool,
    /// The least US dollars that each hop has to carry; one without a price does not carry any.
    pub min_usd: Option<Usd>,
    /// Counterparties of an account that are looked at in each direction, largest first.
    pub limit: usize,
    /// Accounts that are looked through.
    pub max_nodes: usize,
    /// Movements of accounts from which no further account is looked through.
    pub max_movements: u64,
}

/// Payments between two accounts in one asset, in the order of the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The payer.
    pub from: Node,
    /// The payee.
    pub to: Node,
    /// The asset.
    pub asset: u32,
    /// The payments.
    pub payments: Vec<Movement>,
}

/// A path.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Its hops, with the payments that can have been part of it: after the first of the hop before, and not after the last of
    /// the hop that follows.
    pub links: Vec<Link>,
    /// US dollars of its weakest hop; `None` where a hop has no price.
    pub bottleneck: Option<Usd>,
}

impl Path {
    /// Returns its hops as edges. One is change where all of its payments are.
    ///
    /// # Errors
    /// Those of the source.
    pub fn edges<S: TraceSource>(&self, source: &mut S) -> Result<Vec<Edge>, S::Error> {
        let edge = |(hop, link): (i32, &Link)| {
            let ends = (link.from, link.to);
            let (mut sum, mut is_change) = (EdgeSum::new(ends, (hop, Direction::Outgoing), link.asset), true);
            for payment in &link.payments {
                is_change = is_change && source.is_change(payment.transaction, ends)?;
                sum.add(payment, None);
            }
            Ok(sum.of_change(is_change).finish())
        };
        (1..).zip(&self.links).map(edge).collect()
    }
}

/// The paths of a search, and what it left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathSet {
    /// Paths, widest first, then the shorter, then over those who come first among the counterparties.
    pub paths: Vec<Path>,
    /// Accounts that were looked through.
    pub looked_through: usize,
    /// True where counterparties of an account were left out.
    pub is_fanout_limited: bool,
    /// True where there was no room for more accounts.
    pub is_node_limited: bool,
    /// True where the search ended before all paths were tried.
    pub is_over: bool,
}

/// Finds paths from an account to any of some others. Accounts at which the source stops are ends, not stations.
///
/// # Errors
/// Those of the source.
pub fn paths<S: PathSource>(
    source: &mut S,
    start: Node,
    targets: &BTreeSet<Node>,
    settings: Settings,
) -> Result<PathSet, S::Error> {
    let mut search = Search {
        settings,
        pairs: Pairs::default(),
        places: FxHashMap::default(),
        stations: FxHashMap::default(),
        movements: 0,
        found: PathSet::default(),
    };
    let ahead = settings.max_hops.div_ceil(2);
    let joint = search.spread(source, Vec::from([start]), (Way::Out, ahead), Joint::Later)?;
    let mut targets_in_order: Vec<_> = targets.iter().copied().collect();
    targets_in_order.sort_by(|one, other| source.compare(*one, *other));
    search.spread(source, targets_in_order, (Way::In, settings.max_hops - ahead), Joint::Now)?;
    for node in joint {
        search.look(source, node, Way::Out, SumQuery { limit: settings.limit, is_numbered_only: true })?;
    }
    search.walk(source, start, targets)?;
    Ok(search.found)
}

struct Search {
    settings: Settings,
    pairs: Pairs,
    /// The order in which accounts were met.
    places: FxHashMap<Node, u32>,
    /// By account, true where a path may lead through it.
    stations: FxHashMap<Node, bool>,
    /// Movements of the accounts that were looked through.
    movements: u64,
    found: PathSet,
}

/// The time at which the accounts of the last hop of a half are looked through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    Now,
    /// Once the other half is known, as only counterparties in it matter.
    Later,
}

impl Search {
    /// Looks through accounts hop by hop; hands out those that are to be looked through later.
    fn spread<S: PathSource>(
        &mut self,
        source: &mut S,
        from: Vec<Node>,
        (way, hops): (Way, u8),
        joint: Joint,
    ) -> Result<Vec<Node>, S::Error> {
        let (mut seen, mut frontier, mut later) = (BTreeSet::from_iter(from.clone()), from, Vec::new());
        for node in &frontier {
            self.place(*node);
        }
        for hop in 0..hops {
            let mut next = Vec::new();
            for node in frontier {
                if hop > 0 && !self.is_station(source, node)? {
                    continue;
                }
                if self.found.looked_through >= self.settings.max_nodes {
                    self.found.is_node_limited = true;
                    return Ok(later);
                }
                if self.movements > self.settings.max_movements {
                    self.found.is_over = true;
                    return Ok(later);
                }
                self.found.looked_through += 1;
                self.movements += source.size(node)?;
                if joint == Joint::Later && hop + 1 == hops {
                    later.push(node);
                    continue;
                }
                let all = SumQuery { limit: self.settings.limit, is_numbered_only: false };
                let others = self.look(source, node, way, all)?;
                for other in others {
                    self.place(other);
                    next.extend(seen.insert(other).then_some(other));
                }
            }
            frontier = next;
        }
        Ok(later)
    }

    fn place(&mut self, node: Node) {
        let next = u32::try_from(self.places.len()).expect("nodes are numbers of 32 bits");
        self.places.entry(node).or_insert(next);
    }

    fn is_station<S: TraceSource>(&mut self, source: &mut S, node: Node) -> Result<bool, S::Error> {
        if let Some(is_station) = self.stations.get(&node) {
            return Ok(*is_station);
        }
        let is_station = source.stop(node)?.is_none();
        self.stations.insert(node, is_station);
        Ok(is_station)
    }

    /// Keeps the pairs of an account and its largest counterparties, and returns these; where asked, only those that were met.
    fn look<S: PathSource>(
        &mut self,
        source: &mut S,
        node: Node,
        way: Way,
        query: SumQuery,
    ) -> Result<Vec<Node>, S::Error> {
        let (sums, movements) = match source.sums(node, direction_of(way), query)? {
            Some(sums) => (sums, None),
            None => {
                let mut movements = Vec::new();
                source.movements(node, &mut movements)?;
                (pairs::sums(source, &movements, way, query.limit), Some(movements))
            }
        };
        self.found.is_fanout_limited |= sums.is_cut;
        let is_kept = |sum: &PairSum| !query.is_numbered_only || self.places.contains_key(&sum.other);
        let kept: Vec<PairSum> = sums.pairs.into_iter().filter(is_kept).collect();
        self.pairs.add(node, way, &kept);
        if let Some(movements) = movements {
            self.pairs.fill(source, node, way, &movements);
        }
        Ok(kept.into_iter().map(|sum| sum.other).collect())
    }
}

/// Returns the US dollars of some payments; `None` where none has a price.
fn worth(payments: &[Movement]) -> Option<Usd> {
    payments.iter().filter_map(|payment| payment.usd).reduce(|sum, usd| sum + usd)
}
