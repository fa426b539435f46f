//! Traces over small worlds, worked by hand and at random.

use headwater_graph::source::{Direction, Node};
use headwater_graph::taint::Method;
use headwater_graph::trace::{Settings, Stop, Trace, Truncation, Unit, trace};
use headwater_types::Amount;
use proptest::prelude::*;

use crate::world::{FEE, Transfer, World, paid};

const SETTINGS: Settings = Settings {
    outward: 3,
    inward: 0,
    limit: 10,
    accumulate: true,
    max_nodes: 100,
    method: None,
    is_time_ordered: true,
};

fn edges(trace: &Trace) -> Vec<(Node, Node, u128, Option<u128>)> {
    let small = |amount: Amount| amount.to_u128().unwrap();
    let mut edges: Vec<_> =
        trace.edges.iter().map(|edge| (edge.from, edge.to, small(edge.amount), edge.taint.map(small))).collect();
    edges.sort_unstable();
    edges
}

#[test]
fn money_is_followed_only_after_it_came() {
    // 1 paid 2 before it was paid, and 3 afterwards.
    let mut world = World::new(&[paid(1, 2, 7), paid(0, 1, 10), paid(1, 3, 4), paid(0, 1, 5)]);
    assert_eq!(edges(&world.trace(SETTINGS)), [(0, 1, 15, None), (1, 3, 4, None)]);
    let whenever = Settings { is_time_ordered: false, ..SETTINGS };
    assert_eq!(edges(&world.trace(whenever)), [(0, 1, 15, None), (1, 2, 7, None), (1, 3, 4, None)]);
}

#[test]
fn haircut_and_fifo_follow_their_share() {
    // 1 holds 6 of its own, gets 4, and pays 5 to 2 and 5 to 3.
    let mut world = World::new(&[paid(9, 1, 6), paid(0, 1, 4), paid(1, 2, 5), paid(1, 3, 5)]);
    let with = |method| Settings { method: Some(method), ..SETTINGS };
    // 5 · 4/10 = 2, the rest with the rest.
    let haircut = [(0, 1, 4, Some(4)), (1, 2, 5, Some(2)), (1, 3, 5, Some(2))];
    assert_eq!(edges(&world.trace(with(Method::Haircut))), haircut);
    // The own 6 leave first: 5, and 1 of the second payment.
    assert_eq!(edges(&world.trace(with(Method::Fifo))), [(0, 1, 4, Some(4)), (1, 3, 5, Some(4))]);
    assert_eq!(edges(&world.trace(with(Method::Poison)))[1..], [(1, 2, 5, Some(5)), (1, 3, 5, Some(5))]);
}

#[test]
fn what_is_missing_was_there_at_first() {
    // 1 gets 4 and pays 5 and 5: it must have had 6, which the data do not show.
    let mut world = World::new(&[paid(0, 1, 4), paid(1, 2, 5), paid(1, 3, 5)]);
    let with = |method| Settings { method: Some(method), ..SETTINGS };
    assert_eq!(edges(&world.trace(with(Method::Haircut)))[1..], [(1, 2, 5, Some(2)), (1, 3, 5, Some(2))]);
    assert_eq!(edges(&world.trace(with(Method::Fifo)))[1..], [(1, 3, 5, Some(4))]);
    let inward = trace(&mut world, 3, Settings { outward: 0, inward: 3, ..with(Method::Haircut) }).unwrap();
    assert_eq!(edges(&inward), [(0, 1, 4, Some(2)), (1, 3, 5, Some(5))]);
}

#[test]
fn inward_is_outward_with_time_reversed() {
    // 2 paid 1 before 1 paid the start, 3 afterwards.
    let mut world = World::new(&[paid(2, 1, 8), paid(1, 0, 6), paid(3, 1, 5)]);
    let inward = Settings { outward: 0, inward: 3, ..SETTINGS };
    let found = world.trace(inward);
    assert_eq!(edges(&found), [(1, 0, 6, None), (2, 1, 8, None)]);
    assert_eq!(found.nodes.iter().map(|node| (node.node, node.depth)).collect::<Vec<_>>(), [(0, 0), (1, -1), (2, -2)]);
}

#[test]
fn inward_shares_are_those_that_were_paid_on() {
    // 1 gets 100 of 2, pays 50 to 4, gets 50 of 3, pays 50 to the start and keeps 50: half of what the start got is of 2.
    let payments = [paid(2, 1, 100), paid(1, 4, 50), paid(3, 1, 50), paid(1, 0, 50)];
    let inward = |method| Settings { outward: 0, inward: 3, method: Some(method), ..SETTINGS };
    let found = World::new(&payments).trace(inward(Method::Haircut));
    assert_eq!(edges(&found), [(1, 0, 50, Some(50)), (2, 1, 100, Some(25)), (3, 1, 50, Some(25))]);
    // First in, first out: the second 50 of 2.
    let found = World::new(&payments).trace(inward(Method::Fifo));
    assert_eq!(edges(&found), [(1, 0, 50, Some(50)), (2, 1, 100, Some(50))]);
}

#[test]
fn a_swap_goes_on_in_the_other_asset() {
    let swap = [
        paid(0, 1, 10),
        // 1 gives 10 of asset 0 to the pool 5 and gets 30 of asset 1.
        paid(1, 5, 10),
        Transfer { from: 5, to: 1, asset: 1, amount: 30, with_last: true },
        Transfer { from: 1, to: 2, asset: 1, amount: 12, with_last: false },
        paid(5, 6, 3),
    ];
    let mut world = World::new(&swap);
    let found = world.trace(Settings { method: Some(Method::Haircut), ..SETTINGS });
    assert_eq!(edges(&found), [(0, 1, 10, Some(10)), (1, 2, 12, Some(12)), (1, 5, 10, Some(10))]);
    let pool = found.nodes.iter().find(|node| node.node == 5).unwrap();
    assert_eq!(pool.stop, Some(Stop::Contract), "what leaves the pool is other people's money");
}

#[test]
fn whoever_is_paid_after_a_swap_is_looked_through() {
    let mut world = World::new(&[
        paid(0, 1, 10),
        paid(1, 5, 4),
        Transfer { from: 5, to: 1, asset: 1, amount: 30, with_last: true },
        paid(1, 5, 6),
        paid(5, 6, 6),
    ]);
    let found = world.trace(SETTINGS);
    assert_eq!(edges(&found), [(0, 1, 10, None), (1, 5, 10, None), (5, 6, 6, None)]);
}

#[test]
fn walk_stops_at_marked_accounts_with_the_reason() {
    let mut world = World::new(&[paid(0, 1, 10), paid(0, 2, 5), paid(1, 3, 10), paid(3, 4, 10), paid(4, 5, 10)]);
    world.stops.insert(1, Stop::Label);
    let found = world.trace(SETTINGS);
    assert_eq!(edges(&found), [(0, 1, 10, None), (0, 2, 5, None)]);
    let ends: Vec<_> = found.ends.iter().map(|end| (end.node, end.hops, end.stop)).collect();
    assert_eq!(ends, [(1, 1, Stop::Label), (2, 1, Stop::NoOutflow)]);
    world.stops.clear();
    let found = world.trace(SETTINGS);
    assert_eq!(found.ends[0].stop, Stop::DepthLimit);
    assert!(found.truncations.contains(&Truncation::DepthLimit));
    let narrow = world.trace(Settings { limit: 1, ..SETTINGS });
    assert_eq!(narrow.edges[0].to, 1);
    assert!(narrow.truncations.contains(&Truncation::FanoutLimit));
    let few = world.trace(Settings { max_nodes: 3, ..SETTINGS });
    assert_eq!(few.nodes.len(), 3);
    assert!(few.truncations.contains(&Truncation::MaxNodes));
    world.is_over = true;
    let over = world.trace(SETTINGS);
    assert_eq!((over.nodes.len(), over.truncations.contains(&Truncation::TimeBudget)), (3, true));
}

/// 1 pays 10 over the bridge 5, with a fee, and then 7 to 5. With the first 9 of asset 1 came to 8 on the other side, from 7, and
/// were paid on to 9. The bridge pays others, as 7 does.
fn bridged() -> Vec<Transfer> {
    let far = |from, to, amount| Transfer { asset: 1, ..paid(from, to, amount) };
    vec![
        paid(0, 1, 20),
        Transfer { asset: FEE, ..paid(0, 1, 2) },
        paid(1, 5, 10),
        Transfer { asset: FEE, with_last: true, ..paid(1, 5, 1) },
        paid(1, 5, 7),
        paid(5, 6, 17),
        Transfer { asset: FEE, ..paid(5, 2, 3) },
        far(7, 8, 9),
        far(7, 4, 3),
        far(8, 9, 6),
    ]
}

fn without_fees(trace: &Trace) -> Vec<(Node, Node, u128, Option<u128>)> {
    let fees: Vec<_> = trace.edges.iter().filter(|edge| edge.asset == FEE).map(|edge| (edge.from, edge.to)).collect();
    assert!(!fees.contains(&(5, 2)), "what the bridge was paid as a fee is not followed: {fees:?}");
    edges(&Trace { edges: trace.edges.iter().filter(|edge| edge.asset != FEE).cloned().collect(), ..Trace::default() })
}

#[test]
fn what_goes_over_a_bridge_is_followed_on_the_other_side() {
    let mut world = World::new(&bridged());
    world.crossed = vec![(1, 3, vec![7]), (1, 4, vec![8])];
    let found = world.trace(Settings { method: Some(Method::Haircut), outward: 4, ..SETTINGS });
    let crossed =
        [(0, 1, 20, Some(20)), (1, 5, 17, Some(17)), (5, 4, 3, Some(3)), (5, 8, 9, Some(9)), (8, 9, 6, Some(6))];
    assert_eq!(without_fees(&found), crossed, "not 6, whom others' money went to");
    let depth = |node| found.nodes.iter().find(|reached| reached.node == node).unwrap().depth;
    assert_eq!([depth(5), depth(8), depth(9)], [2, 3, 4]);
    assert_eq!(
        found.ends.iter().map(|end| end.node).collect::<Vec<_>>(),
        [9, 4],
        "the trace does not end at the bridge"
    );
    // The last hop does not leave the chain.
    let short = world.trace(Settings { outward: 2, ..SETTINGS });
    assert_eq!(short.ends.iter().map(|end| (end.node, end.stop)).collect::<Vec<_>>(), [(5, Stop::DepthLimit)]);
    let few = world.trace(Settings { outward: 4, max_nodes: 3, ..SETTINGS });
    assert!(few.nodes.len() == 3 && few.truncations.contains(&Truncation::MaxNodes));
}

#[test]
fn a_payment_beside_a_bridge_transfer_is_followed() {
    let mut world = World::new(&bridged());
    world.crossed = vec![(1, 3, vec![7])];
    // The second payment to 5 is an ordinary one, so what 5 paid after it may be of that money.
    assert_eq!(
        without_fees(&world.trace(SETTINGS)),
        [(0, 1, 20, None), (1, 5, 17, None), (5, 6, 17, None), (5, 8, 9, None)]
    );
    // A service ends it.
    world.stops.insert(5, Stop::Label);
    let found = world.trace(SETTINGS);
    assert_eq!(without_fees(&found), [(0, 1, 20, None), (1, 5, 17, None), (5, 8, 9, None)]);
    // Of the 17 that came to 5, 10 continued.
    let ends: Vec<_> = found.ends.iter().map(|end| (end.node, end.usd.unwrap().to_f64(), end.stop)).collect();
    assert_eq!(ends, [(8, 9.0, Stop::DepthLimit), (5, 7.0, Stop::Label)]);
}

#[test]
fn inward_what_came_over_a_bridge_is_followed_to_who_sent_it() {
    let mut world = World::new(&bridged());
    world.crossed = vec![(8, 7, vec![3])];
    let inward = Settings { outward: 0, inward: 4, ..SETTINGS };
    let found = trace(&mut world, 9, inward).unwrap();
    assert_eq!(without_fees(&found), [(0, 1, 20, None), (1, 7, 10, None), (7, 8, 9, None), (8, 9, 6, None)]);
}

#[test]
fn a_bridge_takes_on_what_comes_to_it_whenever_it_was_met() {
    // 1 sends over the bridge 5, 3 does two hops later, 2 pays 5 something else, before both or after both.
    let far = |from, to, amount| Transfer { asset: 1, ..paid(from, to, amount) };
    for of_two in [vec![paid(0, 2, 6), paid(2, 5, 6)], vec![paid(0, 2, 6), paid(2, 4, 6), paid(4, 3, 6), paid(3, 5, 6)]]
    {
        let mut payments = vec![paid(0, 1, 20), paid(1, 5, 20), paid(0, 10, 5), paid(10, 3, 5), paid(3, 5, 4)];
        payments.extend([far(7, 8, 20), far(7, 9, 4)]);
        payments.extend(of_two);
        payments.push(paid(5, 6, 6));
        let mut world = World::new(&payments);
        world.crossed = vec![(1, 2, vec![6]), (3, 5, vec![7])];
        let found = world.trace(Settings { outward: 6, ..SETTINGS });
        let over: Vec<_> = found.edges.iter().filter(|edge| edge.from == 5).map(|edge| edge.to).collect();
        assert_eq!(over, [8, 6, 9]);
    }
}

#[test]
fn money_that_comes_late_is_followed() {
    // 1 is looked through for the 50 that 0 paid it; the 20 over 2 and 3 came to it before, and 9 of them went to 4.
    let payments = [paid(0, 2, 30), paid(2, 3, 20), paid(3, 1, 20), paid(1, 4, 9), paid(0, 1, 50), paid(1, 5, 5)];
    let found = World::new(&payments).trace(SETTINGS);
    let edge = |from, to, amount| (from, to, amount, None);
    let all = [edge(0, 1, 50), edge(0, 2, 30), edge(1, 4, 9), edge(1, 5, 5), edge(2, 3, 20), edge(3, 1, 20)];
    assert_eq!(edges(&found), all);
    let with_method = Settings { method: Some(Method::Haircut), ..SETTINGS };
    let found = World::new(&payments).trace(with_method);
    assert_eq!(edges(&found), all.map(|(from, to, amount, _)| (from, to, amount, Some(amount))));
    // 80 left 0: 9 and 5 end at 4 and 5, the rest stayed at 1, 2 and 3.
    let division = found.division(Direction::Outgoing).unwrap();
    let usd = |whole: u128| whole * 1_000_000_000_000;
    assert_eq!((division.whole, division.ended, division.stayed), (usd(80), usd(14), usd(66)));
}

#[test]
fn parts_of_the_money_add_up() {
    // 0 pays 60 to 1, which has 40 of its own, pays 50 to 2, 10 back to 0, and keeps 40; 2 pays 20 to the service 9.
    let payments = [paid(7, 1, 40), paid(0, 1, 60), paid(1, 2, 50), paid(1, 0, 10), paid(2, 9, 20)];
    let mut world = World::new(&payments);
    world.stops.insert(9, Stop::Label);
    let found = world.trace(Settings { outward: 4, method: Some(Method::Haircut), ..SETTINGS });
    let ends: Vec<_> = found.ends.iter().map(|end| (end.node, end.direction, end.source, end.stop)).collect();
    // 60 % of what 1 pays is of the start: 30 to 2, of which 12 continue, and 6 return.
    let usd = |whole: u128| whole * 1_000_000_000_000;
    assert_eq!(ends, [(9, Direction::Outgoing, usd(12), Stop::Label)]);
    let division = found.division(Direction::Outgoing).unwrap();
    let parts =
        [division.ended, division.returned, division.stayed, division.pruned + division.filtered + division.fees];
    assert_eq!((division.unit, division.whole, parts), (Unit::Dollars, usd(60), [usd(12), usd(6), usd(42), 0]));
}

#[test]
fn an_account_that_is_met_both_ways_is_looked_through_both_ways() {
    // 1 has 5 of 8, is paid 10 by 0, pays 0 back 4, and 3 to 9.
    let payments = [paid(8, 1, 5), paid(0, 1, 10), paid(1, 0, 4), paid(1, 9, 3)];
    let found = World::new(&payments).trace(Settings { inward: 3, method: Some(Method::Fifo), ..SETTINGS });
    let ends: Vec<_> = found.ends.iter().map(|end| (end.node, end.direction, end.stop)).collect();
    assert_eq!(ends, [(8, Direction::Incoming, Stop::NoOutflow), (9, Direction::Outgoing, Stop::NoOutflow)]);
    // First in, first out: the 4 that came back are of the 5 of 8; of the 3 to 9 one is, and two are of the 10 of 0.
    assert_eq!(found.ends.iter().map(|end| end.usd.unwrap().to_f64()).collect::<Vec<_>>(), [4.0, 2.0]);
}

#[test]
fn the_pool_of_a_swap_is_no_end() {
    let swap = [
        paid(0, 1, 10),
        paid(1, 5, 10),
        Transfer { from: 5, to: 1, asset: 1, amount: 30, with_last: true },
        Transfer { from: 1, to: 2, asset: 1, amount: 12, with_last: false },
    ];
    let found = World::new(&swap).trace(Settings { method: Some(Method::Haircut), ..SETTINGS });
    let ends: Vec<_> = found.ends.iter().map(|end| (end.node, end.source, end.usd.unwrap().to_f64())).collect();
    // 12 of the 30 that 10 dollars brought: 4 dollars of the source, worth 12 on arrival.
    assert_eq!(ends, [(2, 4_000_000_000_000, 12.0)]);
}

#[test]
fn whoever_swaps_and_holds_is_an_end() {
    let swap = [paid(0, 1, 10), paid(1, 5, 10), Transfer { asset: 1, with_last: true, ..paid(5, 1, 30) }];
    let found = World::new(&swap).trace(Settings { method: Some(Method::Haircut), ..SETTINGS });
    let ends: Vec<_> = found.ends.iter().map(|end| (end.node, end.source, end.stop)).collect();
    assert_eq!(ends, [(1, 10_000_000_000_000, Stop::NoOutflow)]);
}

#[test]
fn what_a_swap_brings_can_leave_in_its_transaction() {
    // 1 gives 10 for 100 of asset 1, of which 25 go to 2 at once.
    let of_one = |from, to, amount| Transfer { asset: 1, with_last: true, ..paid(from, to, amount) };
    let swap = [paid(0, 1, 10), paid(1, 5, 10), of_one(5, 1, 100), of_one(1, 2, 25)];
    let found = World::new(&swap).trace(Settings { method: Some(Method::Haircut), ..SETTINGS });
    let ends: Vec<_> = found.ends.iter().map(|end| (end.node, end.source)).collect();
    assert_eq!(ends, [(2, 2_500_000_000_000)]);
    let one = found.nodes.iter().find(|reached| reached.node == 1).unwrap();
    assert_eq!((one.balances[&1].came, one.balances[&1].stayed), (100, 75));
}

#[test]
fn money_that_comes_late_goes_over_a_bridge_that_is_known() {
    // 1 sends 10 over the bridge 5, and then 5 of another asset, which came from 2 after 1 was looked through.
    let of = |asset, payment: Transfer| Transfer { asset, ..payment };
    let payments = [
        paid(0, 1, 10),
        of(2, paid(0, 2, 5)),
        of(2, paid(2, 1, 5)),
        paid(1, 5, 10),
        of(2, paid(1, 5, 5)),
        of(1, paid(7, 8, 10)),
        of(1, paid(7, 9, 5)),
    ];
    let mut world = World::new(&payments);
    world.crossed = vec![(1, 4, vec![6]), (1, 5, vec![7])];
    let found = world.trace(Settings { outward: 5, method: Some(Method::Haircut), ..SETTINGS });
    let ends: Vec<_> = found.ends.iter().map(|end| (end.node, end.source)).collect();
    assert_eq!(ends, [(8, 10_000_000_000_000), (9, 5_000_000_000_000)]);
}

#[test]
fn a_token_that_filters_leave_out_is_no_side_of_a_swap() {
    // 1 pays 2, which sends a worthless token back in the same transaction.
    let fake = Transfer { from: 2, to: 1, asset: 1, amount: 9, with_last: true };
    let mut world = World::new(&[paid(0, 1, 10), paid(1, 2, 10), fake, paid(2, 3, 10)]);
    world.filtered = Some(1);
    let found = world.trace(Settings { method: Some(Method::Haircut), ..SETTINGS });
    assert_eq!(edges(&found), [(0, 1, 10, Some(10)), (1, 2, 10, Some(10)), (2, 3, 10, Some(10))]);
}

#[test]
fn money_passes_through_several_accounts_in_one_transaction() {
    // 0 pays 1, 1 pays 2 and 2 pays 3 in one transaction, in whichever order they are read.
    let with_last = |from, to, amount| Transfer { with_last: true, ..paid(from, to, amount) };
    for payments in [
        [paid(0, 1, 10), with_last(1, 2, 10), with_last(2, 3, 10)],
        [paid(2, 3, 10), with_last(1, 2, 10), with_last(0, 1, 10)],
    ] {
        let found = World::new(&payments).trace(Settings { method: Some(Method::Haircut), ..SETTINGS });
        assert_eq!(edges(&found), [(0, 1, 10, Some(10)), (1, 2, 10, Some(10)), (2, 3, 10, Some(10))]);
    }
}

#[test]
fn a_shorter_way_that_is_found_later_counts() {
    // 4 is met at hop 3 over 1 and 2, at hop 2 over 3, which is looked through last.
    let payments = [paid(0, 1, 50), paid(1, 2, 40), paid(2, 4, 30), paid(0, 3, 1), paid(3, 4, 1), paid(4, 5, 20)];
    let mut world = World::new(&payments);
    let found = world.trace(Settings { outward: 3, ..SETTINGS });
    let depths: Vec<_> = found.nodes.iter().map(|reached| (reached.node, reached.depth)).collect();
    assert_eq!(depths, [(0, 0), (1, 1), (3, 1), (2, 2), (4, 2), (5, 3)]);
}

#[test]
fn without_prices_the_largest_shares_are_followed() {
    let mut world = World::new(&[paid(0, 1, 1), paid(0, 2, 40), paid(0, 3, 2), paid(0, 4, 30)]);
    world.is_unpriced = true;
    let found = world.trace(Settings { limit: 2, ..SETTINGS });
    assert_eq!(edges(&found).iter().map(|edge| edge.1).collect::<Vec<_>>(), [2, 4]);
}

fn some_paid() -> impl Strategy<Value = Transfer> {
    (0..7_u32, 0..7_u32, 0..2_u32, 1..100_u128, prop::bool::weighted(0.3))
        .prop_map(|(from, to, asset, amount, with_last)| Transfer { from, to, asset, amount, with_last })
}

proptest! {
    #[test]
    fn what_comes_to_an_account_is_what_becomes_of_it(
        payments in prop::collection::vec(some_paid(), 0..60), limit in 1..4_usize, max_nodes in 2..9_usize,
        method in prop::option::of(prop::sample::select(vec![Method::Haircut, Method::Fifo, Method::Poison])),
        is_time_ordered in any::<bool>(), is_inward in any::<bool>(), accumulate in any::<bool>(),
    ) {
        let mut world = World::new(&payments);
        let (outward, inward) = if is_inward { (0, 3) } else { (3, 0) };
        let found = world.trace(Settings { outward, inward, limit, accumulate, max_nodes, method, is_time_ordered });
        prop_assert!(found.nodes.len() <= max_nodes);
        for reached in &found.nodes {
            for (asset, balance) in &reached.balances {
                let became = balance.followed + balance.pruned + balance.filtered + balance.fee + balance.stayed;
                prop_assert_eq!(balance.came, became);
                let left: u128 = found
                    .edges
                    .iter()
                    .filter(|edge| edge.asset == *asset)
                    .filter(|edge| match edge.direction {
                        Direction::Outgoing => edge.from == reached.node,
                        Direction::Incoming => edge.to == reached.node,
                    })
                    .map(|edge| edge.amount.to_u128().unwrap())
                    .sum();
                prop_assert_eq!(balance.followed, left, "what is followed is on edges");
            }
        }
        for division in found.divisions.iter().flatten() {
            let stays = division.stayed + division.pruned + division.filtered + division.fees;
            prop_assert_eq!(division.whole, division.ended + division.returned + stays);
        }
        if method.is_some_and(Method::divides) {
            let ended: u128 = found.ends.iter().map(|end| end.source).sum();
            prop_assert_eq!(ended, found.divisions.iter().flatten().map(|division| division.ended).sum::<u128>());
        }
        for edge in &found.edges {
            prop_assert!(edge.taint.is_none_or(|taint| taint <= edge.amount));
            prop_assert_eq!(edge.taint.is_some(), method.is_some());
        }
        // Every node but the start has an edge.
        for reached in found.nodes.iter().filter(|reached| reached.depth != 0) {
            prop_assert!(found.edges.iter().any(|edge| edge.from == reached.node || edge.to == reached.node));
        }
    }

    #[test]
    fn inward_and_outward_shares_are_equal(payments in prop::collection::vec((0..4_u32, 1..100_000_000_u128), 1..12)) {
        // 1 is paid by 2, 3 and 4 in turn with payments to the start.
        let mut world: Vec<Transfer> = payments.iter().map(|(who, amount)| match who {
            0 => paid(1, 0, *amount),
            _ => paid(who + 1, 1, *amount),
        }).collect();
        // Nothing that was there before.
        world.insert(0, paid(4, 1, payments.iter().map(|(_, amount)| amount).sum()));
        let shares = |trace: &Trace, from: Node, to: Node| {
            let edge = trace.edges.iter().find(|edge| edge.from == from && edge.to == to);
            edge.map_or(0, |edge| edge.taint.unwrap().to_u128().unwrap())
        };
        for method in [Method::Haircut, Method::Fifo] {
            let both = Settings { method: Some(method), ..SETTINGS };
            let inward = World::new(&world).trace(Settings { outward: 0, inward: 2, ..both });
            for source in 2..5 {
                let outward = trace(&mut World::new(&world), source, Settings { outward: 2, ..both }).unwrap();
                let (forward, backward) = (shares(&outward, 1, 0), shares(&inward, source, 1));
                prop_assert!(forward.abs_diff(backward) <= 12, "{method:?} of {source}: {forward} and {backward}");
            }
        }
    }
}
