//! Who acts in the economy. Each kind is one file; each actor has its own randomness.

pub(crate) mod bitcoin;
pub(crate) mod bridge;
pub(crate) mod exchange;
pub(crate) mod issuers;
pub(crate) mod merchants;
pub(crate) mod mixer;
pub(crate) mod people;
pub(crate) mod scams;
pub(crate) mod spoofers;
pub(crate) mod validators;

use crate::world::World;

/// Somebody who wakes, acts, and says when to be woken again.
pub(crate) trait Actor {
    /// When to be woken first.
    fn first_wake(&self) -> i64;

    /// Acts now. `None` when there is nothing left to do.
    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64>;
}

/// Everybody, in a fixed order.
pub(crate) fn all(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    actors.extend(exchange::settle(world));
    actors.extend(bitcoin::settle(world));
    actors.extend(issuers::settle(world));
    actors.extend(mixer::settle(world));
    actors.extend(bridge::settle(world));
    actors.extend(validators::settle(world));
    actors.extend(people::settle(world));
    actors.extend(merchants::settle(world));
    actors.extend(spoofers::settle(world));
    actors.extend(scams::settle(world));
    actors
}
