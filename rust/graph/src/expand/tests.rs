use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::csr::Csr;

fn spread(graph: &Csr, start: Node, amount: u128, params: &Params) -> Report {
    let mut scratch = Scratch::default();
    expand(&mut &*graph, (start, amount), params, (&mut scratch, &Cancel::new()), |_| ()).unwrap().by_amount()
}

/// 0 pays 1 three times what it pays 2; 1 pays 2 and 3 alike; 2 pays back to 0; 3 pays nobody.
fn town() -> Csr {
    Csr::new([(0, 1, 30), (0, 2, 10), (1, 2, 5), (1, 3, 5), (2, 0, 7)])
}

#[test]
fn amounts_spread_as_worked_by_hand() {
    // Hop 1: 75 at 1, 25 at 2. Hop 2: of 75, 38 to 2 (left over to the first of two equals) and 37 to 3; 25 to 0.
    // 2 and 0 were reached before, so what comes again rests. Hop 3: nothing continues from 3.
    let found = spread(&town(), 0, 100, &Params::default());
    let reached: Vec<_> = found.reached.iter().map(|reached| (reached.node, reached.hop, reached.amount)).collect();
    assert_eq!(reached, [(1, 1, 75), (2, 1, 63), (3, 2, 37), (0, 0, 25)]);
    assert_eq!((found.expanded, found.edges, found.rested, found.truncated), (4, 5, 100, false));
}

#[test]
fn what_goes_on_is_followed_to_the_last_hop() {
    // As above to hop 2: 38 at 2, 37 at 3, 25 at 0. Hop 3: 38 to 0; 37 rest at 3; of 25, 19 to 1 and 6 to 2.
    let params = Params::default().with_revisits(RevisitPolicy::Continues);
    let found = spread(&town(), 0, 100, &params);
    let reached: BTreeMap<_, _> = found.reached.iter().map(|reached| (reached.node, reached.amount)).collect();
    assert_eq!(reached, BTreeMap::from([(0, 25 + 38), (1, 75 + 19), (2, 25 + 38 + 6), (3, 37)]));
    assert_eq!(found.rested, 37);
}

#[test]
fn incoming_edges_lead_back() {
    // 2 received 10 from 0 and 5 from 1.
    let params = Params::new(1, 50).unwrap().with_direction(Direction::Incoming);
    let found = spread(&town(), 2, 3, &params);
    let reached: Vec<_> = found.reached.iter().map(|reached| (reached.node, reached.amount)).collect();
    assert_eq!(reached, [(0, 2), (1, 1)]);
}

#[test]
fn a_cap_follows_the_strongest_and_a_limit_ends_between_two_nodes() {
    let found = spread(&town(), 0, 100, &Params::new(2, 1).unwrap());
    let reached: Vec<_> = found.reached.iter().map(|reached| (reached.node, reached.amount)).collect();
    assert_eq!(reached, [(1, 100), (2, 100)]);
    let found = spread(&town(), 0, 100, &Params::default().with_max_edges(3));
    assert_eq!((found.edges, found.expanded, found.truncated), (4, 2, true));
    assert_eq!(spread(&town(), 77, 5, &Params::default()).rested, 5, "a node without edges keeps all");
    assert!(Params::new(0, 5).is_none() && Params::new(11, 5).is_none() && Params::new(3, 501).is_none());
}

#[test]
fn a_cancelled_expansion_stops() {
    let cancel = Cancel::new();
    cancel.cancel();
    let stopped = expand(&mut &town(), (0, 1), &Params::default(), (&mut Scratch::default(), &cancel), |_| ());
    assert!(matches!(stopped, Err(Error::Cancelled(_))));
}

/// Hop by hop with maps, every hop begun anew.
fn oracle(
    edges: &BTreeMap<Node, Vec<(Node, u128)>>,
    start: Node,
    amount: u128,
    params: &Params,
) -> BTreeMap<Node, u128> {
    let mut arrived: BTreeMap<Node, u128> = BTreeMap::new();
    let mut met = vec![start];
    let mut frontier = vec![(start, amount)];
    for _ in 0..params.hops {
        let mut next: Vec<(Node, u128)> = Vec::new();
        let met_before = met.clone();
        for (node, waiting) in frontier {
            let mut strongest = edges.get(&node).cloned().unwrap_or_default();
            strongest.sort_by_key(|(to, weight)| (Reverse(*weight), *to));
            strongest.truncate(params.cap);
            let total: u128 = strongest.iter().map(|(_, weight)| weight).sum();
            let mut shares: Vec<u128> = strongest.iter().map(|(_, weight)| waiting * weight / total).collect();
            let left = usize::try_from(waiting - shares.iter().sum::<u128>()).unwrap_or(0);
            shares.iter_mut().take(left).for_each(|share| *share += 1);
            for ((to, _), share) in strongest.into_iter().zip(shares) {
                *arrived.entry(to).or_default() += share;
                if params.revisits == RevisitPolicy::Continues || !met_before.contains(&to) {
                    match next.iter_mut().find(|(node, _)| *node == to) {
                        Some((_, waiting)) => *waiting += share,
                        None => next.push((to, share)),
                    }
                }
                met.push(to);
            }
        }
        frontier = next;
    }
    arrived
}

proptest! {
    #[test]
    fn expansion_is_what_maps_say_and_scratch_leaves_no_trace(
        edges in prop::collection::vec((0u32..12, 0u32..12, 1u128..50), 0..60),
        amount in 0u128..1_000_000,
        (hops, cap) in (1u8..6, 1usize..6),
        goes_on in any::<bool>(),
    ) {
        let graph = Csr::new(edges.iter().copied());
        let mut weights: BTreeMap<(Node, Node), u128> = BTreeMap::new();
        for (from, to, weight) in edges {
            *weights.entry((from, to)).or_default() += weight;
        }
        let mut by_node: BTreeMap<Node, Vec<(Node, u128)>> = BTreeMap::new();
        for ((from, to), weight) in weights {
            by_node.entry(from).or_default().push((to, weight));
        }
        let revisits = if goes_on { RevisitPolicy::Continues } else { RevisitPolicy::Stays };
        let params = Params::new(hops, cap).unwrap().with_revisits(revisits);
        let mut scratch = Scratch::default();
        for start in 0..12 {
            let cancel = Cancel::new();
            let mut of_last = 0;
            let found = expand(&mut &graph, (start, amount), &params, (&mut scratch, &cancel), |step| {
                of_last += if step.hop == hops { step.amount } else { 0 };
            });
            let found = found.unwrap().by_amount();
            prop_assert_eq!(amount, found.rested + of_last, "nothing is lost");
            prop_assert!(found.reached.is_sorted_by_key(|reached| (Reverse(reached.amount), reached.hop)));
            let mut expected = oracle(&by_node, start, amount, &params);
            let mut reached: BTreeMap<Node, u128> =
                found.reached.into_iter().map(|reached| (reached.node, reached.amount)).collect();
            // The start counts only where something came back.
            expected.retain(|node, amount| *node != start || *amount > 0);
            reached.retain(|node, amount| *node != start || *amount > 0);
            prop_assert_eq!(reached, expected);
        }
    }
}
