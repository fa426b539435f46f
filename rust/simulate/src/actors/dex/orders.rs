//! Block builders that swaps wait for, who ask searchers first.

use super::searcher::Sandwicher;
use crate::actors::Actor;
use crate::book::Insufficient;
use crate::clock::{HOUR, START};
use crate::random::Stream;
use crate::world::dex::SwapOrder;
use crate::world::{Coin, World};

/// Swaps wait until the next block; then they run, the promising ones between the two trades of a searcher.
pub(super) struct Blocks {
    sandwichers: Vec<Sandwicher>,
    stream: Stream,
}

impl Blocks {
    pub(super) fn new(world: &mut World) -> Self {
        let stream = Stream::new(world.seed, "dex/blocks");
        Self { sandwichers: Sandwicher::all(world), stream }
    }

    fn run(&mut self, world: &mut World, now: i64, order: &SwapOrder) -> Result<(), Insufficient> {
        if let Coin::Token(token) = order.coins.0 {
            let router = world.router(order.chain, order.dex);
            world.approve_once(order.chain, now, (order.user, router), token)?;
        }
        for sandwicher in &mut self.sandwichers {
            if sandwicher.attack(world, now, order) {
                return Ok(());
            }
        }
        world.swap(now, order)?;
        Ok(())
    }
}

impl Actor for Blocks {
    fn first_wake(&self) -> i64 {
        START + 8 * HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        for sandwicher in &mut self.sandwichers {
            sandwicher.prepare(world, now);
        }
        for order in world.take_orders() {
            // What can no longer be paid is dropped, as nodes do.
            let _ = self.run(world, now, &order);
        }
        Some(now + self.stream.secs(120, 400))
    }
}
