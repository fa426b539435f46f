//! The transaction tracing rank, worked by hand and at random.

use headwater_graph::rank::{Params, Payment, Payments, Rank};
use headwater_graph::source::Node;
use headwater_graph::trace::{TraceSource, payments as payments_of};
use proptest::prelude::*;

use crate::world::{Transfer, World, paid};

/// Payments of all nodes from (from, to, weight, time).
fn town(edges: &[(Node, Node, f64, i64)], nodes: usize) -> Vec<Payments> {
    let mut town = vec![Payments::default(); nodes];
    for (from, to, weight, time) in edges {
        let payment = |other| Payment { time: *time, asset: 0, other, weight: *weight, swapped: None };
        town[*from as usize].outs.push(payment(*to));
        town[*to as usize].ins.push(payment(*from));
    }
    town
}

fn ranked(town: &[Payments], start: Node) -> (Rank, usize) {
    let mut rank = Rank::begin(start, &town[start as usize], Params::default());
    let mut pushes = 0;
    while let Some(node) = rank.next(|_| true) {
        rank.push(node, &town[node as usize]);
        pushes += 1;
    }
    (rank, pushes)
}

#[test]
fn small_case_has_the_published_ranks() {
    // 0 pays 1 and 2; 2 paid 3 before it was paid, and 4 after.
    let edges = [(0, 1, 10.0, 1), (0, 2, 30.0, 2), (1, 3, 10.0, 3), (2, 3, 15.0, 1), (2, 4, 30.0, 4)];
    let (rank, pushes) = ranked(&town(&edges, 5), 0);
    assert_eq!(pushes, 6);
    for (node, expected) in [(0, 0.32000), (1, 0.05440), (2, 0.16949), (3, 0.09595), (4, 0.36016)] {
        assert!((rank.rank(node) - expected).abs() < 5e-6, "{node}: {}", rank.rank(node));
    }
    assert!((rank.mass() - 1.0).abs() < 1e-12);
}

#[test]
fn what_went_over_a_bridge_waits_where_it_came_out() {
    // 0 pays 1 twice; the second payment goes over a bridge to 2 and 3.
    let edges = [(0, 1, 10.0, 1), (0, 1, 30.0, 5)];
    let mut rank = Rank::begin(0, &town(&edges, 2)[0], Params { forward: 1.0, ..Params::default() });
    rank.carry(1, (0, 5), &[(2, (7, 9), 3.0), (3, (7, 9), 1.0)]);
    assert_eq!(rank.next(|_| true), Some(2));
    assert!((rank.mass() - 1.0).abs() < 1e-12);
    for (node, mass) in [(2, 0.75 * 0.75), (1, 0.25), (3, 0.75 * 0.25)] {
        rank.push(node, &Payments::default());
        assert!((rank.rank(node) - 0.85 * mass).abs() < 1e-12, "{node}");
    }
}

#[test]
fn a_node_without_payments_keeps_all_mass() {
    let (rank, pushes) = ranked(&town(&[], 1), 0);
    assert_eq!((rank.rank(0), pushes), (1.0, 0));
}

#[test]
fn rank_goes_on_in_the_asset_of_a_swap() {
    // 0 pays 1, which swaps at 5 for asset 1 and pays 2 in it; 5 pays others.
    let payments = |world: &mut World, node| {
        let mut movements = Vec::new();
        world.movements(node, &mut movements).unwrap();
        payments_of(&movements)
    };
    let mut world = World::new(&[
        paid(0, 1, 10),
        paid(1, 5, 10),
        Transfer { from: 5, to: 1, asset: 1, amount: 30, with_last: true },
        Transfer { from: 1, to: 2, asset: 1, amount: 12, with_last: false },
        paid(5, 6, 3),
    ]);
    let outs = payments(&mut world, 1).outs;
    assert_eq!(outs.iter().map(|out| (out.other, out.swapped)).collect::<Vec<_>>(), [(5, Some(1)), (2, None)]);
    let mut rank = Rank::begin(0, &payments(&mut world, 0), Params { forward: 1.0, ..Params::default() });
    while let Some(node) = rank.next(|_| true) {
        rank.push(node, &payments(&mut world, node));
    }
    // By hand, all forward: 0.15 stays at 0. Of 0.85 1 keeps 0.15 twice, before and after the swap, and 2 gets the rest.
    for (node, expected) in [(0, 0.15), (1, 0.85 * (1.0 - 0.85 * 0.85)), (2, 0.85 * 0.85 * 0.85), (5, 0.0), (6, 0.0)] {
        assert!((rank.rank(node) - expected).abs() < 1e-12, "{node}: {}", rank.rank(node));
    }
}

proptest! {
    #[test]
    fn mass_is_conserved_and_order_does_not_matter(
        edges in prop::collection::vec((0..6_u32, 0..6_u32, 1..50_u32, 0..8_i64), 0..30), turn in 0..30_usize,
    ) {
        let edges: Vec<_> = edges.into_iter().filter(|edge| edge.0 != edge.1)
            .map(|(from, to, weight, time)| (from, to, f64::from(weight), time)).collect();
        let (rank, pushes) = ranked(&town(&edges, 6), 0);
        prop_assert!((rank.mass() - 1.0).abs() < 1e-9);
        prop_assert!(pushes <= 6_667);
        let mut turned = edges.clone();
        turned.rotate_left(turn.min(edges.len()));
        turned.reverse();
        let (other, _) = ranked(&town(&turned, 6), 0);
        for node in 0..6 {
            prop_assert_eq!(rank.rank(node).to_bits(), other.rank(node).to_bits());
        }
    }
}
