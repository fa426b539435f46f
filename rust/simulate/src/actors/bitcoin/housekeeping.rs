//! Housekeeping of careful owners: they bring small coins together when fees are low, and cut large ones up.

use super::crowd::{Crowd, FIRST_ROUND, Rounds};
use crate::actors::Actor;
use crate::clock::DAY;
use crate::random::Stream;
use crate::world::World;

/// Satoshis per 1000 virtual bytes below which coins are brought together.
const CHEAP: u64 = 9_000;

struct Keepers {
    crowd: Crowd,
    rounds: Rounds,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let people = world.preset.rarities(8).min(1_500);
    vec![Box::new(Keepers {
        crowd: Crowd::new(world, "keeper", people, None),
        rounds: Rounds::new(world, world.preset.rarities(25)),
        stream: Stream::new(world.seed, "keeper"),
    })]
}

impl Actor for Keepers {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 5 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let median = 400_000 + self.stream.below(3_000_000);
        self.crowd.fill(world, now, 900_000, median, 3);
        if now < FIRST_ROUND {
            return Some(FIRST_ROUND);
        }
        let wallet = self.crowd.members[self.stream.index(self.crowd.members.len())].wallet;
        let coins = world.bitcoin.coin_count(wallet);
        let happened = if coins >= 3 && world.bitcoin.rate(now) < CHEAP {
            let to = world.bitcoin.own(wallet);
            world.bitcoin.gather(now, wallet, 40, to).is_ok()
        } else {
            // To itself: one part for the drawer, the rest comes back as change.
            let held = world.bitcoin.spendable(wallet, now);
            let part = held / 100 * self.stream.between(20, 60);
            let to = world.bitcoin.fresh(wallet);
            part > 50_000 && world.bitcoin.pay(now, wallet, &[(to, part)]).is_ok()
        };
        self.crowd.spend_some(world, now, happened, 1);
        self.rounds.next(now, happened, &mut self.stream)
    }
}
