//! Paths of money from one account to others, searched from both ends.
//!
//! A path is a chain of accounts along which money can have gone: in one asset, and with every payment after the one before.
//! Accounts are looked through hop by hop from the source and from the targets, at the largest payments first, until the
//! halves meet; the paths are then searched in what was looked through, the widest first. So a path over small payments of a
//! very busy account can be missed, which is said.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use headwater_types::Usd;
use rustc_hash::FxHashMap;

use crate::source::{Direction, Node};
use crate::trace::{Edge, EdgeSum, Movement, Movements, Way};

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
    /// Paths, widest first, then the shorter.
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

/// Partial paths that are tried at most.
const MAX_TRIED: usize = 200_000;

/// Finds paths from an account to any of some others. Accounts at which the source stops are ends, not stations.
///
/// # Errors
/// Those of the source.
pub fn paths<S: Movements>(
    source: &mut S,
    start: Node,
    targets: &BTreeSet<Node>,
    settings: Settings,
    is_over: &dyn Fn(&S) -> bool,
) -> Result<Found, S::Error> {
    let mut search =
        Search { settings, links: BTreeMap::new(), stations: FxHashMap::default(), found: Found::default() };
    let ahead = settings.max_hops.div_ceil(2);
    search.spread(source, BTreeSet::from([start]), (Way::Out, ahead), is_over)?;
    search.spread(source, targets.clone(), (Way::In, settings.max_hops - ahead), is_over)?;
    search.walk(source, start, targets)?;
    Ok(search.found)
}

struct Search {
    settings: Settings,
    /// What was seen, by sender, then receiver and asset.
    links: BTreeMap<Node, BTreeMap<(Node, u32), Vec<Movement>>>,
    /// Whether a path may lead through an account.
    stations: FxHashMap<Node, bool>,
    found: Found,
}

/// A path that may go on, or is complete.
struct Partial {
    hops: Vec<Hop>,
    /// The least of what its hops carry: what follows can only lower it.
    width: Option<Usd>,
    is_complete: bool,
}

/// A hop, with those of the payments of its link that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hop {
    to: Node,
    asset: u32,
    begin: usize,
    end: usize,
}

impl Partial {
    fn key(&self) -> impl Ord + '_ {
        (self.width, Reverse(self.hops.len()), Reverse(&self.hops), Reverse(self.is_complete))
    }
}

impl PartialEq for Partial {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Partial {}

impl PartialOrd for Partial {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Partial {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Search {
    /// Looks through accounts hop by hop.
    fn spread<S: Movements>(
        &mut self,
        source: &mut S,
        from: BTreeSet<Node>,
        (way, hops): (Way, u8),
        is_over: &dyn Fn(&S) -> bool,
    ) -> Result<(), S::Error> {
        let (mut seen, mut frontier) = (from.clone(), Vec::from_iter(from));
        let mut movements = Vec::new();
        for hop in 0..hops {
            let mut next = Vec::new();
            for node in frontier {
                if hop > 0 && !self.is_station(source, node)? {
                    continue;
                }
                if self.found.looked_through >= self.settings.max_nodes {
                    self.found.is_node_limited = true;
                    return Ok(());
                }
                if is_over(source) {
                    self.found.is_over = true;
                    return Ok(());
                }
                self.found.looked_through += 1;
                movements.clear();
                source.movements(node, &mut movements)?;
                let others = self.take(node, way, &movements);
                next.extend(others.into_iter().filter(|other| seen.insert(*other)));
            }
            frontier = next;
        }
        Ok(())
    }

    fn is_station<S: Movements>(&mut self, source: &mut S, node: Node) -> Result<bool, S::Error> {
        if let Some(is_station) = self.stations.get(&node) {
            return Ok(*is_station);
        }
        let is_station = source.stop(node)?.is_none();
        self.stations.insert(node, is_station);
        Ok(is_station)
    }

    /// Keeps the payments of an account with its largest counterparties, and names these.
    fn take(&mut self, node: Node, way: Way, movements: &[Movement]) -> Vec<Node> {
        let mut by_party: BTreeMap<Node, (Usd, Vec<Movement>)> = BTreeMap::new();
        for movement in movements.iter().filter(|movement| movement.way == way && movement.left_out.is_none()) {
            let Some(other) = movement.other else { continue };
            let (usd, all) = by_party.entry(other).or_default();
            *usd += movement.usd.unwrap_or_default();
            all.push(*movement);
        }
        let mut order: Vec<_> = by_party.into_iter().collect();
        order.sort_by_key(|(other, (usd, all))| (Reverse(*usd), Reverse(all.len()), *other));
        self.found.is_fanout_limited |= order.len() > self.settings.limit;
        order.truncate(self.settings.limit);
        let mut kept = Vec::with_capacity(order.len());
        for (other, (_, payments)) in order {
            kept.push(other);
            let (from, to) = if way == Way::Out { (node, other) } else { (other, node) };
            let of_pair = self.links.entry(from).or_default();
            let mut by_asset: BTreeMap<u32, Vec<Movement>> = BTreeMap::new();
            for payment in payments {
                by_asset.entry(payment.asset).or_default().push(payment);
            }
            for (asset, payments) in by_asset {
                // Seen from both ends it is the same.
                of_pair.entry((to, asset)).or_insert(payments);
            }
        }
        kept
    }

    /// Tries simple paths, at the widest first, until enough are found.
    fn walk<S: Movements>(&mut self, source: &mut S, start: Node, targets: &BTreeSet<Node>) -> Result<(), S::Error> {
        let distances = self.distances(targets);
        let mut tried = 0;
        let mut open = BinaryHeap::from([Partial { hops: Vec::new(), width: Some(Usd::MAX), is_complete: false }]);
        while let Some(partial) = open.pop() {
            if partial.is_complete {
                self.found.paths.push(self.path(start, &partial));
                if self.found.paths.len() == self.settings.count {
                    break;
                }
                continue;
            }
            tried += 1;
            if tried > MAX_TRIED {
                self.found.is_over = true;
                break;
            }
            let at = partial.hops.last().map_or(start, |hop| hop.to);
            if targets.contains(&at) {
                open.extend(self.complete(source, start, partial.hops)?);
                continue;
            }
            if at != start && !self.is_station(source, at)? {
                continue;
            }
            let left = usize::from(self.settings.max_hops) - partial.hops.len();
            for ((to, asset), payments) in self.links.get(&at).into_iter().flatten() {
                let is_visited = *to == start || partial.hops.iter().any(|hop| hop.to == *to);
                let is_near = distances.get(to).is_some_and(|hops| usize::from(*hops) < left);
                if is_visited || !is_near {
                    continue;
                }
                if partial.hops.last().is_some_and(|last| last.asset != *asset) {
                    continue;
                }
                let begin = match self.first(start, &partial.hops) {
                    Some(first) if self.settings.is_time_ordered => begin_after(source, payments, first)?,
                    _ => 0,
                };
                let hop = Hop { to: *to, asset: *asset, begin, end: payments.len() };
                let width = worth(&payments[begin..]).min(partial.width);
                if begin < payments.len() && self.is_wide_enough(width) {
                    let hops = partial.hops.iter().copied().chain([hop]).collect();
                    open.push(Partial { hops, width, is_complete: false });
                }
            }
        }
        Ok(())
    }

    fn is_wide_enough(&self, width: Option<Usd>) -> bool {
        self.settings.least.is_none_or(|least| width.is_some_and(|width| width >= least))
    }

    /// A path that has come to a target, without the payments that came too late for the hop that follows.
    fn complete<S: Movements>(
        &self,
        source: &mut S,
        start: Node,
        mut hops: Vec<Hop>,
    ) -> Result<Option<Partial>, S::Error> {
        if self.settings.is_time_ordered {
            for place in (1..hops.len()).rev() {
                let last = self.payments(start, &hops, place).last().copied();
                let payments = self.payments(start, &hops, place - 1);
                let mut kept = payments.len();
                while let (Some(last), Some(payment)) = (last, payments.get(kept.wrapping_sub(1))) {
                    if fits(source, payment, &last)? {
                        break;
                    }
                    kept -= 1;
                }
                hops[place - 1].end = hops[place - 1].begin + kept;
            }
        }
        let widths = (0..hops.len()).map(|place| worth(self.payments(start, &hops, place)));
        let width = widths.min().flatten();
        Ok(self.is_wide_enough(width).then_some(Partial { hops, width, is_complete: true }))
    }

    /// The payments of a hop.
    fn payments(&self, start: Node, hops: &[Hop], place: usize) -> &[Movement] {
        let from = place.checked_sub(1).map_or(start, |before| hops[before].to);
        let Hop { to, asset, begin, end } = hops[place];
        &self.links[&from][&(to, asset)][begin..end]
    }

    /// The first payment of the last hop.
    fn first(&self, start: Node, hops: &[Hop]) -> Option<&Movement> {
        self.payments(start, hops, hops.len().checked_sub(1)?).first()
    }

    fn path(&self, start: Node, partial: &Partial) -> Path {
        let hops = &partial.hops;
        let link = |place: usize| Link {
            from: if place == 0 { start } else { hops[place - 1].to },
            to: hops[place].to,
            asset: hops[place].asset,
            payments: self.payments(start, hops, place).to_vec(),
        };
        Path { links: (0..hops.len()).map(link).collect(), bottleneck: partial.width }
    }

    /// Hops from each account to the nearest target, over what was seen.
    fn distances(&self, targets: &BTreeSet<Node>) -> BTreeMap<Node, u8> {
        let mut senders: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
        for (from, of_node) in &self.links {
            for (to, _) in of_node.keys() {
                senders.entry(*to).or_default().push(*from);
            }
        }
        let mut distances: BTreeMap<Node, u8> = targets.iter().map(|target| (*target, 0)).collect();
        let mut frontier: Vec<Node> = targets.iter().copied().collect();
        for hops in 1..=self.settings.max_hops {
            let mut next = Vec::new();
            for node in frontier {
                for sender in senders.get(&node).into_iter().flatten() {
                    if !distances.contains_key(sender) {
                        distances.insert(*sender, hops);
                        next.push(*sender);
                    }
                }
            }
            frontier = next;
        }
        distances
    }
}

/// Whether money of one payment can have gone on in another.
fn fits<S: Movements>(source: &mut S, one: &Movement, next: &Movement) -> Result<bool, S::Error> {
    Ok(match one.time.cmp(&next.time) {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => source.order(one.transaction, next.transaction)?.is_le(),
    })
}

/// Where the payments begin that can have gone on from another.
fn begin_after<S: Movements>(source: &mut S, payments: &[Movement], first: &Movement) -> Result<usize, S::Error> {
    let mut begin = payments.partition_point(|payment| payment.time < first.time);
    while let Some(payment) = payments.get(begin) {
        if fits(source, first, payment)? {
            break;
        }
        begin += 1;
    }
    Ok(begin)
}

/// US dollars of some payments; `None` where none has a price.
fn worth(payments: &[Movement]) -> Option<Usd> {
    payments.iter().filter_map(|payment| payment.usd).reduce(|sum, usd| sum + usd)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::world::{Paid, World, paid};

    const SETTINGS: Settings =
        Settings { max_hops: 4, count: 3, is_time_ordered: true, least: None, limit: 100, max_nodes: 100 };

    fn found(world: &mut World, targets: &[Node], settings: Settings) -> Vec<(Vec<Node>, Option<f64>)> {
        let targets = targets.iter().copied().collect();
        let found = paths(world, 0, &targets, settings, &|_| false).unwrap();
        let nodes = |path: &Path| path.links.iter().map(|link| link.to).collect();
        found.paths.iter().map(|path| (nodes(path), path.bottleneck.map(Usd::to_f64))).collect()
    }

    #[test]
    fn the_widest_path_in_time_comes_first() {
        // 0 to 9 over 1 (5), over 2 and 3 (8), and over 4, which paid before it was paid.
        let mut world = World::new(&[
            paid(4, 9, 50),
            paid(0, 4, 50),
            paid(0, 1, 5),
            paid(0, 2, 9),
            paid(1, 9, 6),
            paid(2, 3, 8),
            paid(3, 9, 20),
        ]);
        assert_eq!(found(&mut world, &[9], SETTINGS), [(vec![2, 3, 9], Some(8.0)), (vec![1, 9], Some(5.0))]);
        let short = Settings { max_hops: 2, ..SETTINGS };
        assert_eq!(found(&mut world, &[9], short), [(vec![1, 9], Some(5.0))]);
        let whenever = Settings { is_time_ordered: false, ..SETTINGS };
        assert_eq!(found(&mut world, &[9], whenever)[0], (vec![4, 9], Some(50.0)));
        assert_eq!(found(&mut world, &[9], Settings { count: 1, ..SETTINGS }).len(), 1);
        assert_eq!(found(&mut world, &[7], SETTINGS), []);
    }

    #[test]
    fn a_hop_carries_what_fits_before_and_after_it() {
        // Of what 0 pays to 1, the last comes too late to go on; of what 1 pays to 9, the first came too early.
        let mut world = World::new(&[paid(1, 9, 7), paid(0, 1, 3), paid(0, 1, 2), paid(1, 9, 100), paid(0, 1, 1000)]);
        assert_eq!(found(&mut world, &[9], SETTINGS), [(vec![1, 9], Some(5.0))]);
        let least = |usd| Settings { least: Usd::from_f64(usd), ..SETTINGS };
        assert_eq!(found(&mut world, &[9], least(5.0)).len(), 1);
        assert_eq!(found(&mut world, &[9], least(5.5)), []);
    }

    #[test]
    fn no_path_leads_through_a_service() {
        let mut world = World::new(&[paid(0, 1, 5), paid(1, 9, 5)]);
        assert_eq!(found(&mut world, &[9], SETTINGS).len(), 1);
        world.stops.insert(1, crate::trace::Stop::Label);
        assert_eq!(found(&mut world, &[9], SETTINGS), [], "what leaves it is other people's money");
        assert_eq!(found(&mut world, &[1], SETTINGS).len(), 1);
    }

    /// All paths, by trying every chain of payments.
    fn by_brute_force(payments: &[Paid], target: Node, hops: usize) -> BTreeSet<(Vec<Node>, u32)> {
        fn go_on(
            payments: &[Paid],
            path: &[Node],
            (time, asset): (usize, Option<u32>),
            end: (Node, usize),
            into: &mut BTreeSet<(Vec<Node>, u32)>,
        ) {
            let at = *path.last().unwrap();
            if at == end.0 {
                into.insert((path[1..].to_vec(), asset.unwrap()));
                return;
            }
            if path.len() > end.1 {
                return;
            }
            for (number, paid) in payments.iter().enumerate().skip(time) {
                if paid.from == at && !path.contains(&paid.to) && asset.is_none_or(|asset| asset == paid.asset) {
                    let longer: Vec<Node> = path.iter().copied().chain([paid.to]).collect();
                    go_on(payments, &longer, (number, Some(paid.asset)), end, into);
                }
            }
        }
        let mut all = BTreeSet::new();
        go_on(payments, &[0], (0, None), (target, hops), &mut all);
        all
    }

    proptest! {
        #[test]
        fn paths_are_those_of_brute_force(
            ends in prop::collection::vec((0..6_u32, 0..6_u32, 0..2_u32, 1..50_u128), 0..24), target in 1..6_u32, hops in 1..5_u8,
        ) {
            let payments: Vec<Paid> = ends.into_iter().filter(|(from, to, ..)| from != to)
                .map(|(from, to, asset, amount)| Paid { from, to, asset, amount, with_last: false }).collect();
            let mut world = World::new(&payments);
            let settings = Settings { max_hops: hops, count: 10_000, ..SETTINGS };
            let found = paths(&mut world, 0, &BTreeSet::from([target]), settings, &|_| false).unwrap();
            let found: BTreeSet<(Vec<Node>, u32)> = found.paths.iter()
                .map(|path| (path.links.iter().map(|link| link.to).collect(), path.links[0].asset)).collect();
            prop_assert_eq!(found, by_brute_force(&payments, target, usize::from(hops)));
        }
    }
}
