//! Methods of tracing, each by itself: what they find from one account.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::Result;
use headwater_graph::rank::{Params, Payments, Rank};
use headwater_graph::source::Node;
use headwater_graph::trace::{Movement, Way, payments as payments_of};

use super::source::Source;

/// Least share that the haircut follows, as in the authors' code of `TRacer`.
const MIN_SHARE: f64 = 1e-3;

/// The method by which money is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// All neighbours, payers too, hop by hop.
    BreadthFirst { hops: u32 },
    /// All who were paid, hop by hop.
    Poison { hops: u32 },
    /// Shares of what leaves, the largest first, until they are small.
    Haircut,
    /// Transaction tracing rank, so many accounts looked through.
    Ranked { most: usize },
    /// The same with all mass going forward.
    RankedForward { most: usize },
}

/// The result of a method.
#[derive(Debug, Clone, Default)]
pub struct MethodResult {
    /// Accounts apart from the start, with their hops from it.
    pub accounts: BTreeMap<Node, u32>,
    /// Accounts that were looked through.
    pub expanded: usize,
}

impl Method {
    /// Looks from an account.
    pub fn find(self, source: &mut Source<'_>, start: Node) -> Result<MethodResult> {
        match self {
            Self::BreadthFirst { hops } => by_hops(source, start, hops, &[Way::Out, Way::In]),
            Self::Poison { hops } => by_hops(source, start, hops, &[Way::Out]),
            Self::Haircut => haircut(source, start),
            Self::Ranked { most } => ranked(source, start, Params::default(), most),
            Self::RankedForward { most } => ranked(source, start, Params { forward: 1.0, ..Params::default() }, most),
        }
    }
}

/// The start is looked through whatever its labels.
fn movements(source: &mut Source<'_>, node: Node, start: Node) -> Result<Option<Vec<Movement>>> {
    if node == start { source.all(node) } else { source.movements(node) }
}

fn by_hops(source: &mut Source<'_>, start: Node, hops: u32, ways: &[Way]) -> Result<MethodResult> {
    let mut found = MethodResult::default();
    let mut queue = VecDeque::from([(start, 0)]);
    while let Some((node, depth)) = queue.pop_front() {
        if depth == hops {
            continue;
        }
        let Some(movements) = movements(source, node, start)? else { continue };
        found.expanded += 1;
        for movement in movements.iter().filter(|movement| ways.contains(&movement.way)) {
            let Some(other) = movement.other.filter(|other| *other != start) else { continue };
            if let Entry::Vacant(free) = found.accounts.entry(other) {
                free.insert(depth + 1);
                queue.push_back((other, depth + 1));
            }
        }
    }
    Ok(found)
}

fn haircut(source: &mut Source<'_>, start: Node) -> Result<MethodResult> {
    let mut shares = BTreeMap::from([(start, 1.0)]);
    let mut depths = BTreeMap::from([(start, 0)]);
    let mut seen = BTreeSet::new();
    let mut expanded = 0;
    loop {
        let open = shares.iter().filter(|(node, share)| **share >= MIN_SHARE && !seen.contains(*node));
        let Some((node, share)) =
            open.max_by(|one, other| one.1.total_cmp(other.1)).map(|(node, share)| (*node, *share))
        else {
            break;
        };
        seen.insert(node);
        let Some(movements) = movements(source, node, start)? else { continue };
        expanded += 1;
        let outs: Vec<(Node, f64)> = movements
            .iter()
            .filter(|movement| movement.way == Way::Out)
            .filter_map(|movement| Some((movement.other?, movement.usd?.to_f64())))
            .collect();
        let whole: f64 = outs.iter().map(|(_, usd)| usd).sum();
        if whole > 0.0 {
            for (other, usd) in outs {
                *shares.entry(other).or_default() += share * usd / whole;
                let depth = depths[&node] + 1;
                depths.entry(other).or_insert(depth);
            }
        }
    }
    let found = shares.into_iter().filter(|(node, share)| *share >= MIN_SHARE && *node != start);
    Ok(MethodResult { accounts: found.map(|(node, _)| (node, depths[&node])).collect(), expanded })
}

fn ranked(source: &mut Source<'_>, start: Node, params: Params, most: usize) -> Result<MethodResult> {
    let mut depths = BTreeMap::from([(start, 0)]);
    let mut looked_through = BTreeSet::from([start]);
    let mut meet = |node: Node, payments: &Payments| {
        let depth = depths[&node] + 1;
        for payment in payments.outs.iter().chain(&payments.ins) {
            depths.entry(payment.other).or_insert(depth);
        }
    };
    let first = payments_of(&source.all(start)?.unwrap_or_default());
    meet(start, &first);
    let mut rank = Rank::begin(start, &first, params);
    while let Some(node) = rank.next(|_| true) {
        // What comes to where a trace stops stays there, and so does what there is no room for.
        let is_open = looked_through.contains(&node) || looked_through.len() < most;
        let movements = if is_open { movements(source, node, start)? } else { None };
        let payments = match movements {
            Some(movements) => {
                looked_through.insert(node);
                payments_of(&movements)
            }
            None => Payments::default(),
        };
        meet(node, &payments);
        rank.push(node, &payments);
    }
    // Where no more than the least came nothing was pushed, and nothing stayed.
    let found = depths.iter().filter(|(node, _)| **node != start && rank.rank(**node) > 0.0);
    Ok(MethodResult { accounts: found.map(|(node, depth)| (*node, *depth)).collect(), expanded: looked_through.len() })
}
