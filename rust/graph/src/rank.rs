//! Transaction tracing rank: which account to look at next when money is followed.
//!
//! A local push of personalised `PageRank` in which mass moves only along payments that can carry it: forward along what
//! left later than it came, backward along what came earlier than it left, in the same asset (Wu, Liu, Wu, Zheng: `TRacer`,
//! arXiv 2201.05757). Mass that cannot move on stays where it is, which marks the ends of a path; the authors' code returns it
//! and pushes it again.
//!
//! ```text
//! p[u] += α Σ m
//! forward   W = Σ w of payments out of u after t:   r[to]   += (1-α) β m w / W,        W = 0: p[u] += (1-α) β m
//! backward  W = Σ w of payments into u before t:    r[from] += (1-α) (1-β) m w / W,    W = 0: p[u] += (1-α) (1-β) m
//! ```
//!
//! for every chip (asset, t, m) of the residual of u. Mass is conserved: `Σ p + Σ r` is 1 for each asset that the start moved. At
//! most `1 / (α ε)` pushes for each.
//!
//! A swap, one asset out and one other in within a transaction, moves no mass to the other side: it stays with the account, as
//! a chip of the other asset at the same time.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::Node;

/// A payment as seen from one of its ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Payment {
    /// When; any number that grows with the order on chain.
    pub time: i64,
    /// The number of the asset.
    pub asset: u32,
    /// The other end.
    pub other: Node,
    /// What it weighs against other payments of the asset, above 0.
    pub weight: f64,
    /// Where it is one side of a swap: the asset of the other side, in which the account itself goes on.
    pub swapped: Option<u32>,
}

/// The payments of a node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Payments {
    /// Out of it.
    pub outs: Vec<Payment>,
    /// Into it.
    pub ins: Vec<Payment>,
}

/// How mass spreads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// α: the share of mass that stays at a node.
    pub stays: f64,
    /// β: the share of the rest that goes forward.
    pub forward: f64,
    /// ε: nodes with less mass waiting are left alone.
    pub least: f64,
}

impl Default for Params {
    /// Those of the authors: α 0.15, β 0.8, ε 0.001.
    fn default() -> Self {
        Self { stays: 0.15, forward: 0.8, least: 1e-3 }
    }
}

/// Rank and waiting mass of the nodes met so far.
#[derive(Debug, Clone)]
pub struct Rank {
    params: Params,
    ranks: BTreeMap<Node, f64>,
    /// Mass that waits at a node, by asset and time of arrival.
    waiting: BTreeMap<Node, BTreeMap<(u32, i64), f64>>,
}

impl Rank {
    /// Begins at a node with its payments. Each of its assets begins with a mass of 1, which moves along all payments in it, at
    /// whatever time they were; without payments there is one mass of 1.
    #[must_use]
    pub fn begin(start: Node, payments: &Payments, params: Params) -> Self {
        let mut rank = Self { params, ranks: BTreeMap::new(), waiting: BTreeMap::new() };
        let assets: BTreeSet<u32> = payments.outs.iter().chain(&payments.ins).map(|payment| payment.asset).collect();
        if assets.is_empty() {
            rank.stay(start, 1.0);
        }
        let mass = 1.0 - params.stays;
        for asset in assets {
            rank.stay(start, params.stays);
            rank.spread(start, of_asset(&payments.outs, asset), &[(i64::MIN, params.forward * mass)]);
            let backward = reversed(&of_asset(&payments.ins, asset));
            rank.spread(start, backward, &[(i64::MIN, (1.0 - params.forward) * mass)]);
        }
        rank
    }

    /// The node with the most mass waiting, of those that `may` be pushed; `None` where none has enough. Of several the one
    /// with the smallest number.
    #[must_use]
    pub fn next(&self, may: impl Fn(Node) -> bool) -> Option<Node> {
        let mass = |chips: &BTreeMap<(u32, i64), f64>| chips.values().sum::<f64>();
        let open = self.waiting.iter().filter(|(node, _)| may(**node)).map(|(node, chips)| (*node, mass(chips)));
        let best = open.fold(None, |best: Option<(Node, f64)>, next| match best {
            Some(best) if best.1 >= next.1 => Some(best),
            _ => Some(next),
        });
        best.filter(|(_, mass)| *mass > self.params.least).map(|(node, _)| node)
    }

    /// Moves on what waits at a node. O((payments + chips) · log).
    pub fn push(&mut self, node: Node, payments: &Payments) {
        let Some(chips) = self.waiting.remove(&node) else { return };
        let Params { stays, forward, .. } = self.params;
        self.stay(node, stays * chips.values().sum::<f64>());
        let mut by_asset: BTreeMap<u32, Vec<(i64, f64)>> = BTreeMap::new();
        for ((asset, time), mass) in chips {
            by_asset.entry(asset).or_default().push((time, (1.0 - stays) * mass));
        }
        for (asset, chips) in by_asset {
            let scaled = |by: f64| chips.iter().map(|(time, mass)| (*time, by * mass)).collect::<Vec<_>>();
            self.spread(node, of_asset(&payments.outs, asset), &scaled(forward));
            // Backward is forward with time reversed.
            let chips: Vec<_> = scaled(1.0 - forward).into_iter().rev().map(|(time, mass)| (-time, mass)).collect();
            self.spread(node, reversed(&of_asset(&payments.ins, asset)), &chips);
        }
    }

    /// Moves what waits at a node, of one asset and time, to where a bridge took it: nodes with an asset and time each, by weight.
    pub fn carry(&mut self, node: Node, chip: (u32, i64), onto: &[(Node, (u32, i64), f64)]) {
        let whole: f64 = onto.iter().map(|(_, _, weight)| weight).sum();
        let mass = self.waiting.get_mut(&node).and_then(|chips| chips.remove(&chip));
        let Some(mass) = mass.filter(|_| whole > 0.0) else { return };
        for (to, chip, weight) in onto {
            *self.waiting.entry(*to).or_default().entry(*chip).or_default() += mass * weight / whole;
        }
    }

    /// Spreads chips, in order of time, over the payments after each of them.
    fn spread(&mut self, node: Node, mut payments: Vec<(i64, Payment)>, chips: &[(i64, f64)]) {
        // An order that does not depend on the source; sums of doubles depend on theirs.
        payments.sort_by(|one, other| {
            (one.0, one.1.other).cmp(&(other.0, other.1.other)).then(one.1.weight.total_cmp(&other.1.weight))
        });
        // What is left to spread after each payment, from the last one back.
        let mut rest = vec![0.0; payments.len() + 1];
        for (place, (_, payment)) in payments.iter().enumerate().rev() {
            rest[place] = rest[place + 1] + payment.weight;
        }
        let mut of_unit = 0.0;
        let mut chips = chips.iter().peekable();
        for (place, (time, payment)) in payments.iter().enumerate() {
            while let Some((_, mass)) = chips.next_if(|(came, _)| came < time) {
                of_unit += mass / rest[place];
            }
            if of_unit > 0.0 {
                let (to, asset) = match payment.swapped {
                    Some(asset) => (node, asset),
                    None => (payment.other, payment.asset),
                };
                let chip = (asset, payment.time);
                *self.waiting.entry(to).or_default().entry(chip).or_default() += of_unit * payment.weight;
            }
        }
        // What came later than every payment.
        self.stay(node, chips.map(|(_, mass)| mass).sum());
    }

    fn stay(&mut self, node: Node, mass: f64) {
        *self.ranks.entry(node).or_default() += mass;
    }

    /// The rank of a node: the mass that stayed there.
    #[must_use]
    pub fn rank(&self, node: Node) -> f64 {
        self.ranks.get(&node).copied().unwrap_or(0.0)
    }

    /// All mass: 1 for each asset that the start moved, apart from rounding.
    #[must_use]
    pub fn mass(&self) -> f64 {
        let waiting = self.waiting.values().flat_map(BTreeMap::values).sum::<f64>();
        self.ranks.values().sum::<f64>() + waiting
    }
}

fn of_asset(payments: &[Payment], asset: u32) -> Vec<(i64, Payment)> {
    let of = payments.iter().filter(|payment| payment.asset == asset);
    of.map(|payment| (payment.time, *payment)).collect()
}

fn reversed(payments: &[(i64, Payment)]) -> Vec<(i64, Payment)> {
    payments.iter().map(|(time, payment)| (-time, *payment)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::world::{Paid, World, paid};
    use crate::trace::{TraceSource, payments as payments_of};

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
            Paid { from: 5, to: 1, asset: 1, amount: 30, with_last: true },
            Paid { from: 1, to: 2, asset: 1, amount: 12, with_last: false },
            paid(5, 6, 3),
        ]);
        let outs = payments(&mut world, 1).outs;
        assert_eq!(outs.iter().map(|out| (out.other, out.swapped)).collect::<Vec<_>>(), [(5, Some(1)), (2, None)]);
        let mut rank = Rank::begin(0, &payments(&mut world, 0), Params { forward: 1.0, ..Params::default() });
        while let Some(node) = rank.next(|_| true) {
            rank.push(node, &payments(&mut world, node));
        }
        // By hand, all forward: 0.15 stays at 0. Of 0.85 1 keeps 0.15 twice, before and after the swap, and 2 gets the rest.
        for (node, expected) in
            [(0, 0.15), (1, 0.85 * (1.0 - 0.85 * 0.85)), (2, 0.85 * 0.85 * 0.85), (5, 0.0), (6, 0.0)]
        {
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
}
