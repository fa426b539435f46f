//! Paths of money from one account to others, searched from both ends.
//!
//! A path is a chain of accounts along which money can have gone: in one asset, and with every payment after the one before. Accounts are looked through hop by hop from the source and from the targets, at the
//! largest payments first, until the halves meet; the paths are then searched in what was looked through. So a path over small
//! payments of a very busy account can be missed, which is said.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use headwater_types::Usd;

use crate::source::Node;
use crate::trace::{Movement, Movements, Way};

/// How far, how many, and by which rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Payments of a path at most.
    pub max_hops: u8,
    /// Paths at most.
    pub count: usize,
    /// Whether each payment has to come after the one before.
    pub is_time_ordered: bool,
    /// Counterparties of an account that are looked at in each direction, largest first.
    pub limit: usize,
    /// Accounts that are looked through.
    pub max_nodes: usize,
}

/// Payments between two accounts in one asset, in order of time.
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

/// A path.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Its payments, hop by hop: those that fit in time.
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

/// Finds paths from an account to any of some others.
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
    let mut search = Search { settings, links: BTreeMap::new(), found: Found::default() };
    let ahead = settings.max_hops.div_ceil(2);
    search.spread(source, BTreeSet::from([start]), (Way::Out, ahead), is_over)?;
    search.spread(source, targets.clone(), (Way::In, settings.max_hops - ahead), is_over)?;
    search.walk(start, targets);
    Ok(search.found)
}

struct Search {
    settings: Settings,
    /// What was seen, by sender, then receiver and asset.
    links: BTreeMap<Node, BTreeMap<(Node, u32), Vec<Movement>>>,
    found: Found,
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
        let (mut seen, mut frontier) = (from.clone(), from);
        for hop in 0..hops {
            let mut next = BTreeSet::new();
            for node in frontier {
                if self.found.looked_through >= self.settings.max_nodes {
                    self.found.is_node_limited = true;
                    return Ok(());
                }
                if is_over(source) {
                    self.found.is_over = true;
                    return Ok(());
                }
                if hop > 0 && source.stop(node)?.is_some() {
                    continue;
                }
                self.found.looked_through += 1;
                let mut movements = Vec::new();
                source.movements(node, &mut movements)?;
                for other in self.take(node, way, &movements) {
                    if seen.insert(other) {
                        next.insert(other);
                    }
                }
            }
            frontier = next;
        }
        Ok(())
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

    /// Tries all simple paths, at the widest first, and keeps the best.
    fn walk(&mut self, start: Node, targets: &BTreeSet<Node>) {
        let distances = self.distances(targets);
        let mut tried = 0;
        let mut best: Vec<Path> = Vec::new();
        let mut open: Vec<Vec<Link>> = vec![Vec::new()];
        while let Some(links) = open.pop() {
            tried += 1;
            if tried > MAX_TRIED {
                self.found.is_over = true;
                break;
            }
            let at = links.last().map_or(start, |link| link.to);
            if !links.is_empty() && targets.contains(&at) {
                best.push(Path { bottleneck: bottleneck(&links), links });
                continue;
            }
            let left = self.settings.max_hops.saturating_sub(u8::try_from(links.len()).unwrap_or(u8::MAX));
            let Some(of_node) = self.links.get(&at) else { continue };
            for ((to, asset), payments) in of_node {
                let is_visited = *to == start || links.iter().any(|link| link.to == *to);
                let is_near = distances.get(to).is_some_and(|hops| *hops < left);
                if is_visited || !is_near || left == 0 {
                    continue;
                }
                if let Some(link) = self.fitting(&links, (at, *to, *asset), payments) {
                    let mut longer = links.clone();
                    longer.push(link);
                    open.push(longer);
                }
            }
        }
        best.sort_by(|one, other| {
            let key = |path: &Path| (Reverse(path.bottleneck), path.links.len());
            let nodes = |path: &Path| path.links.iter().map(|link| (link.to, link.asset)).collect::<Vec<_>>();
            key(one).cmp(&key(other)).then_with(|| nodes(one).cmp(&nodes(other)))
        });
        best.truncate(self.settings.count);
        self.found.paths = best;
    }

    /// The payments that money of the path so far can have gone on with; `None` without any.
    fn fitting(&self, links: &[Link], (from, to, asset): (Node, Node, u32), payments: &[Movement]) -> Option<Link> {
        let Some(last) = links.last() else { return Some(Link { from, to, asset, payments: payments.to_vec() }) };
        if last.asset != asset {
            return None;
        }
        let payments = if self.settings.is_time_ordered {
            let first = last.payments.iter().map(|payment| payment.time).min()?;
            payments.iter().filter(|payment| payment.time >= first).copied().collect()
        } else {
            payments.to_vec()
        };
        (!payments.is_empty()).then_some(Link { from, to, asset, payments })
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

/// The least of what its hops carried.
fn bottleneck(links: &[Link]) -> Option<Usd> {
    let worth = |link: &Link| link.payments.iter().filter_map(|payment| payment.usd).reduce(|sum, usd| sum + usd);
    links.iter().map(worth).try_fold(None, |least: Option<Usd>, usd| {
        let usd = usd?;
        Some(Some(least.map_or(usd, |least| least.min(usd))))
    })?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::world::{Paid, World, paid};

    const SETTINGS: Settings = Settings { max_hops: 4, count: 3, is_time_ordered: true, limit: 100, max_nodes: 100 };

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
