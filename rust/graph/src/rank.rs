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
    /// The time: any number that grows with the order on chain.
    pub time: i64,
    /// The number of the asset.
    pub asset: u32,
    /// The other end.
    pub other: Node,
    /// The weight against other payments of the asset, above 0.
    pub weight: f64,
    /// The asset of the other side of a swap, in which the account itself continues; `None` where it is not one.
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

/// The parameters by which mass spreads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// α: the share of mass that stays at a node.
    pub stays: f64,
    /// β: the share of the rest that goes forward.
    pub forward: f64,
    /// ε: nodes with less mass waiting are left alone.
    pub min_mass: f64,
}

impl Default for Params {
    /// Those of the authors: α 0.15, β 0.8, ε 0.001.
    fn default() -> Self {
        Self { stays: 0.15, forward: 0.8, min_mass: 1e-3 }
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
        best.filter(|(_, mass)| *mass > self.params.min_mass).map(|(node, _)| node)
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
