//! Exposure over small worlds, worked by hand and at random.

use std::collections::BTreeMap;

use headwater_graph::source::{Direction, Node};
use headwater_graph::trace::{Exposure, Reach, Stop, UnattributedReason, exposure};
use headwater_types::Usd;
use proptest::prelude::*;

use crate::world::{Transfer, World, paid};

const REACH: Reach = Reach { max_hops: 3, limit: 100, max_nodes: 100 };

fn exposed(payments: &[Transfer], services: &[Node], direction: Direction, reach: Reach) -> Exposure {
    let mut world = World::new(payments);
    world.stops = services.iter().map(|service| (*service, Stop::Label)).collect();
    exposure(&mut world, 0, (direction, reach)).unwrap()
}

fn whole(usd: i128) -> Usd {
    Usd::from_raw(usd * 1_000_000_000_000)
}

fn shares(exposed: &Exposure) -> Vec<(Node, u8, f64)> {
    exposed.shares.iter().map(|share| (share.node, share.hops, share.usd.to_f64())).collect()
}

#[test]
fn money_that_came_is_that_of_whom_an_account_had_it_from() {
    // The mixer 8 and the exchange 9 pay 1, which pays half of it on; what 8 pays afterwards came too late.
    let payments = [paid(8, 1, 30), paid(9, 1, 70), paid(9, 0, 60), paid(1, 0, 40), paid(8, 1, 500)];
    let found = exposed(&payments, &[8, 9], Direction::Incoming, REACH);
    assert_eq!(found.total, whole(100));
    assert_eq!(shares(&found), [(9, 1, 60.0), (9, 2, 28.0), (8, 2, 12.0)]);
    assert_eq!(found.unattributed, BTreeMap::new());
    let direct = exposed(&payments, &[8, 9], Direction::Incoming, Reach { max_hops: 1, ..REACH });
    assert_eq!(shares(&direct), [(9, 1, 60.0)]);
    assert_eq!(direct.unattributed[&UnattributedReason::Stopped(Stop::DepthLimit)], whole(40));
}

#[test]
fn money_that_went_out_is_divided_by_what_became_of_it() {
    // 1 has 60 of its own and 40 of the start; it pays 50 to the exchange and 25 to 2, and keeps 25.
    let payments = [paid(7, 1, 60), paid(0, 1, 40), paid(1, 9, 50), paid(1, 2, 25), paid(2, 9, 25)];
    let found = exposed(&payments, &[9], Direction::Outgoing, REACH);
    assert_eq!(shares(&found), [(9, 2, 20.0), (9, 3, 10.0)]);
    assert_eq!(found.unattributed, BTreeMap::from([(UnattributedReason::Stayed, whole(10))]));
    let narrow = exposed(&payments, &[9], Direction::Outgoing, Reach { limit: 1, ..REACH });
    assert_eq!(narrow.unattributed[&UnattributedReason::Stopped(Stop::FanoutLimit)], whole(10));
    let few = exposed(&payments, &[9], Direction::Outgoing, Reach { max_nodes: 2, ..REACH });
    assert_eq!(few.unattributed[&UnattributedReason::MaxNodes], whole(10));
}

#[test]
fn money_is_followed_over_a_swap() {
    // 1 gets 10, gives them to the pool 5 for 30 of another asset, and pays 15 of these to the exchange.
    let payments = [
        paid(0, 1, 10),
        paid(1, 5, 10),
        Transfer { from: 5, to: 1, asset: 1, amount: 30, with_last: true },
        Transfer { from: 1, to: 9, asset: 1, amount: 15, with_last: false },
    ];
    let found = exposed(&payments, &[9], Direction::Outgoing, REACH);
    assert_eq!(shares(&found), [(9, 2, 5.0)]);
    assert_eq!(found.unattributed[&UnattributedReason::Stayed], whole(5));
}

#[test]
fn money_that_comes_back_has_no_name() {
    let payments = [paid(0, 1, 10), paid(1, 0, 4), paid(1, 2, 6), paid(2, 1, 6)];
    let found = exposed(&payments, &[], Direction::Outgoing, Reach { max_hops: 5, ..REACH });
    assert_eq!(found.unattributed[&UnattributedReason::Returned], whole(10));
    // Whatever it is called itself.
    let named = exposed(&payments, &[0], Direction::Outgoing, Reach { max_hops: 5, ..REACH });
    assert_eq!((named.unattributed[&UnattributedReason::Returned], named.shares.len()), (whole(10), 0));
}

proptest! {
    #[test]
    fn nothing_is_lost(
        payments in prop::collection::vec((0..7_u32, 0..7_u32, 0..2_u32, 1..100_u128, any::<bool>()), 0..60),
        max_hops in 1..6_u8, limit in 1..4_usize, max_nodes in 1..6_usize, is_inward in any::<bool>(),
    ) {
        let payments: Vec<Transfer> = payments.into_iter()
            .map(|(from, to, asset, amount, with_last)| Transfer { from, to, asset, amount, with_last }).collect();
        let direction = if is_inward { Direction::Incoming } else { Direction::Outgoing };
        let found = exposed(&payments, &[5, 6], direction, Reach { max_hops, limit, max_nodes });
        let named: Usd = found.shares.iter().map(|share| share.usd).sum();
        let unattributed: Usd = found.unattributed.values().copied().sum();
        prop_assert_eq!(named + unattributed, found.total);
        prop_assert!(found.looked_through <= max_nodes.max(1));
    }
}
