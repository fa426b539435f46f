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

use std::cmp::Ordering;
use std::collections::BTreeSet;

use headwater_types::Usd;
use rustc_hash::FxHashMap;

use self::pairs::Pairs;
use crate::source::{Direction, Node};
use crate::trace::{Edge, EdgeSum, Movement, Movements, Way};

/// Where counterparties and movements come from.
pub trait Neighbours: Movements {
    /// Movements of an account: what the work of a search is counted in.
    ///
    /// # Errors
    /// When they cannot be counted.
    fn size(&mut self, node: Node) -> Result<u64, Self::Error>;

    /// The largest counterparties of an account in one direction, as [`Largest`] says, without a look at its movements;
    /// `None` where only these can tell.
    ///
    /// # Errors
    /// When they cannot be read.
    fn largest(&mut self, node: Node, way: Way, asked: Asked) -> Result<Option<Largest>, Self::Error>;

    /// The movements of an account as [`Movements::movements`] hands them out; those with accounts without a number may be
    /// left out.
    ///
    /// # Errors
    /// When they cannot be read.
    fn payments(&mut self, node: Node, into: &mut Vec<Movement>) -> Result<(), Self::Error>;

    /// Whether an asset can have gone from one account to another, as far as can be told without a look at movements.
    ///
    /// # Errors
    /// When that cannot be read.
    fn may_move(&mut self, ends: (Node, Node), asset: u32) -> Result<bool, Self::Error>;

    /// The order of accounts, whatever the order in which they were met.
    fn compare(&self, one: Node, other: Node) -> Ordering;

    /// The order of assets, whatever the order in which they were met.
    fn compare_assets(&self, one: u32, other: u32) -> Ordering;
}

/// Which counterparties are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Among how many of the largest.
    pub limit: usize,
    /// Whether counterparties without a number can be left out.
    pub is_met_only: bool,
}

/// The largest counterparties of an account: by US dollars, then by number of payments, then in their own order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Largest {
    /// With the US dollars of all payments; `None` where none has a price.
    pub parties: Vec<(Node, Option<Usd>)>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// How far, how many, and by which rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Payments of a path at most.
    pub max_hops: u8,
    /// Paths at most.
    pub count: usize,
    /// Whether each payment has to come after the one before.
    pub is_time_ordered: bool,
    /// What each hop has to carry at least; a hop without a price carries nothing that is known.
    pub least: Option<Usd>,
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
    /// Who paid.
    pub from: Node,
    /// Who was paid.
    pub to: Node,
    /// The asset.
    pub asset: u32,
    /// The payments.
    pub payments: Vec<Movement>,
}

impl Link {
    /// The link as an edge of a hop.
    #[must_use]
    pub fn edge(&self, hop: i32) -> Edge {
        let mut edge = EdgeSum::new((self.from, self.to), (hop, Direction::Outgoing), self.asset);
        for payment in &self.payments {
            edge.add(payment, None);
        }
        edge.finish()
    }
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

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// Paths, widest first, then the shorter, then over those who come first among the counterparties.
    pub paths: Vec<Path>,
    /// Accounts that were looked through.
    pub looked_through: usize,
    /// Whether counterparties of an account were left out.
    pub is_fanout_limited: bool,
    /// Whether there was no room for more accounts.
    pub is_node_limited: bool,
    /// Whether the search ended before all paths were tried.
    pub is_over: bool,
}

/// Finds paths from an account to any of some others. Accounts at which the source stops are ends, not stations.
///
/// # Errors
/// Those of the source.
pub fn paths<S: Neighbours>(
    source: &mut S,
    start: Node,
    targets: &BTreeSet<Node>,
    settings: Settings,
) -> Result<Found, S::Error> {
    let mut search = Search {
        settings,
        pairs: Pairs::default(),
        places: FxHashMap::default(),
        stations: FxHashMap::default(),
        movements: 0,
        found: Found::default(),
    };
    let ahead = settings.max_hops.div_ceil(2);
    let joint = search.spread(source, Vec::from([start]), (Way::Out, ahead), Joint::Later)?;
    let mut targets_in_order: Vec<_> = targets.iter().copied().collect();
    targets_in_order.sort_by(|one, other| source.compare(*one, *other));
    search.spread(source, targets_in_order, (Way::In, settings.max_hops - ahead), Joint::Now)?;
    for node in joint {
        search.look(source, node, Way::Out, Asked { limit: settings.limit, is_met_only: true })?;
    }
    search.walk(source, start, targets)?;
    Ok(search.found)
}

struct Search {
    settings: Settings,
    pairs: Pairs,
    /// The order in which accounts were met.
    places: FxHashMap<Node, u32>,
    /// Whether a path may lead through an account.
    stations: FxHashMap<Node, bool>,
    /// Movements of the accounts that were looked through.
    movements: u64,
    found: Found,
}

/// When the accounts of the last hop of a half are looked through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    Now,
    /// Once the other half is known, as only counterparties in it matter.
    Later,
}

impl Search {
    /// Looks through accounts hop by hop; hands out those that are to be looked through later.
    fn spread<S: Neighbours>(
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
                let anyone = Asked { limit: self.settings.limit, is_met_only: false };
                let others = self.look(source, node, way, anyone)?;
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

    fn is_station<S: Movements>(&mut self, source: &mut S, node: Node) -> Result<bool, S::Error> {
        if let Some(is_station) = self.stations.get(&node) {
            return Ok(*is_station);
        }
        let is_station = source.stop(node)?.is_none();
        self.stations.insert(node, is_station);
        Ok(is_station)
    }

    /// Keeps the pairs of an account and its largest counterparties, and names these; where asked, only those that were met.
    fn look<S: Neighbours>(
        &mut self,
        source: &mut S,
        node: Node,
        way: Way,
        asked: Asked,
    ) -> Result<Vec<Node>, S::Error> {
        let (known, movements) = match source.largest(node, way, asked)? {
            Some(known) => (known, None),
            None => {
                let mut movements = Vec::new();
                source.movements(node, &mut movements)?;
                (pairs::largest(source, &movements, way, asked.limit), Some(movements))
            }
        };
        self.found.is_fanout_limited |= known.is_cut;
        let is_kept = |other: &Node| !asked.is_met_only || self.places.contains_key(other);
        let parties: Vec<_> = known.parties.into_iter().filter(|(other, _)| is_kept(other)).collect();
        self.pairs.add(node, way, &parties);
        if let Some(movements) = movements {
            self.pairs.fill(source, node, way, &movements);
        }
        Ok(parties.into_iter().map(|(other, _)| other).collect())
    }
}

/// US dollars of some payments; `None` where none has a price.
fn worth(payments: &[Movement]) -> Option<Usd> {
    payments.iter().filter_map(|payment| payment.usd).reduce(|sum, usd| sum + usd)
}

#[cfg(test)]
mod tests;
