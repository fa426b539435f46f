//! Paths over small worlds, worked by hand and against brute force.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use headwater_graph::paths::{Path, Settings, paths};
use headwater_graph::source::Node;
use headwater_types::Usd;
use proptest::prelude::*;

use crate::world::{Transfer, World, paid};

const SETTINGS: Settings = Settings {
    max_hops: 4,
    count: 3,
    is_time_ordered: true,
    min_usd: None,
    limit: 100,
    max_nodes: 100,
    max_movements: 1_000,
};

fn found(world: &mut World, targets: &[Node], settings: Settings) -> Vec<(Vec<Node>, Option<f64>)> {
    let targets = targets.iter().copied().collect();
    let found = paths(world, 0, &targets, settings).unwrap();
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
    // Of what 0 pays to 1, the last comes too late; of what 1 pays to 9, the first came too early.
    let mut world = World::new(&[paid(1, 9, 7), paid(0, 1, 3), paid(0, 1, 2), paid(1, 9, 100), paid(0, 1, 1000)]);
    assert_eq!(found(&mut world, &[9], SETTINGS), [(vec![1, 9], Some(5.0))]);
    let at_least = |usd| Settings { min_usd: Usd::from_f64(usd), ..SETTINGS };
    assert_eq!(found(&mut world, &[9], at_least(5.0)).len(), 1);
    assert_eq!(found(&mut world, &[9], at_least(5.5)), []);
}

#[test]
fn no_path_leads_through_a_service() {
    let mut world = World::new(&[paid(0, 1, 5), paid(1, 9, 5)]);
    assert_eq!(found(&mut world, &[9], SETTINGS).len(), 1);
    world.stops.insert(1, headwater_graph::trace::Stop::Label);
    assert_eq!(found(&mut world, &[9], SETTINGS), [], "what leaves it is other people's money");
    assert_eq!(found(&mut world, &[1], SETTINGS).len(), 1);
}

/// All paths, by trying every chain of payments.
fn by_brute_force(payments: &[Transfer], target: Node, hops: usize) -> BTreeSet<(Vec<Node>, u32)> {
    fn extend(
        payments: &[Transfer],
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
                extend(payments, &longer, (number, Some(paid.asset)), end, into);
            }
        }
    }
    let mut all = BTreeSet::new();
    extend(payments, &[0], (0, None), (target, hops), &mut all);
    all
}

proptest! {
    #[test]
    fn paths_are_those_of_brute_force(
        ends in prop::collection::vec((0..6_u32, 0..6_u32, 0..2_u32, 1..50_u128), 0..24), target in 1..6_u32, hops in 1..5_u8,
    ) {
        let mut world = World::new(&payments(ends));
        let settings = Settings { max_hops: hops, count: 10_000, ..SETTINGS };
        let found = paths(&mut world, 0, &BTreeSet::from([target]), settings).unwrap();
        let found: BTreeSet<(Vec<Node>, u32)> = found.paths.iter()
            .map(|path| (path.links.iter().map(|link| link.to).collect(), path.links[0].asset)).collect();
        prop_assert_eq!(found, by_brute_force(&world.all(), target, usize::from(hops)));
    }

    #[test]
    fn the_first_paths_are_the_widest_of_all(
        ends in prop::collection::vec((0..6_u32, 0..6_u32, 0..2_u32, 1..50_u128), 0..24), target in 1..6_u32, hops in 1..5_u8,
        count in 1..5_usize,
    ) {
        let mut world = World::new(&payments(ends));
        let settings = Settings { max_hops: hops, count: 10_000, ..SETTINGS };
        let all = paths(&mut world, 0, &BTreeSet::from([target]), settings).unwrap();
        let keys: Vec<_> = all.paths.iter().map(|path| (Reverse(path.bottleneck), path.links.len())).collect();
        prop_assert!(keys.is_sorted());
        let few = paths(&mut world, 0, &BTreeSet::from([target]), Settings { count, ..settings }).unwrap();
        prop_assert_eq!(&few.paths[..], &all.paths[..count.min(all.paths.len())]);
    }

    #[test]
    fn known_sums_change_no_answer(
        ends in prop::collection::vec((0..6_u32, 0..6_u32, 0..2_u32, 1..50_u128), 0..24), target in 1..6_u32, hops in 1..6_u8,
        limit in 1..4_usize, max_nodes in 1..8_usize, max_movements in 1..30_u64,
    ) {
        let mut world = World::new(&payments(ends));
        let settings = Settings { max_hops: hops, limit, max_nodes, max_movements, ..SETTINGS };
        let read = paths(&mut world, 0, &BTreeSet::from([target]), settings).unwrap();
        world.has_sums = true;
        prop_assert_eq!(paths(&mut world, 0, &BTreeSet::from([target]), settings).unwrap(), read);
    }
}

fn payments(ends: Vec<(Node, Node, u32, u128)>) -> Vec<Transfer> {
    let ends = ends.into_iter().filter(|(from, to, ..)| from != to);
    ends.map(|(from, to, asset, amount)| Transfer { from, to, asset, amount, with_last: false }).collect()
}
