//! Actors of the economy. Each kind is one file; each actor has its own randomness.
//!
//! **To add a kind**: one file with a `settle(world) -> Vec<Box<dyn Actor>>` and one line in [`all`]. `settle` runs
//! before the first second: it gives accounts to the kind, allocates their first coins (`world.book(chain).allocate`,
//! block 0; later coins come from others, mostly `world.withdraw` from an exchange) and returns the actors. How many
//! there are follows from the preset: `preset.services(n)` for services, `preset.rarities(n)` for what is planted, both
//! `n` in the demo. Whoever appears later is handed to `world.join`.
//!
//! **Time**: an actor says when it wakes first; [`Actor::wake`] acts *at `now`* and says when to be woken again (`None`:
//! never; it is dropped). Wakes are in order of time, then of place in the list, so an actor may look at whatever the
//! world shows. Never send at another time than `now`: blocks before `now` may be gone to the sink. What is sent at one
//! `now` on one chain is in one block, in order of sending. The demo runs 400 days, see `World::end`.
//!
//! **Chance**: `Stream::new(world.seed, "a name of its own")` per actor. Never draw from somebody else's stream.
//!
//! **Chains**: `world.transfer`, `transfer_all`, `deposit` (into an exchange), `withdraw`, `cross`, `mix`; anything else
//! is a `Call` with `Effect`s given to `world.book(chain).send`. What cannot be paid is refused whole (`Insufficient`),
//! and the actor does something else. Bitcoin goes through `world.bitcoin` with wallets.
//!
//! **Roles and owners**: every address that occurs needs both. `world.account(family, name, role, owner)` makes an
//! account and files it, `world.add_contract` files a contract that was always there, `world.directory.file` one that
//! was created; bitcoin addresses inherit them from the `Holder` of their wallet. A new role is one line of
//! `truth::Role`; at least one address of the demo must have it.
//!
//! **Truth**: `world.step(&case, stage, chain, hash, flow)` for each step of a case (a crime or scheme with a path);
//! `world.plant(chain, address, behaviour, evidence)` when a behaviour of the catalogue is complete, with the hashes of
//! its first and last transaction, `world.judge` when it only nearly is; `tests/planted` and `tests/behaviours` hold the rules
//! against the facts. Labels:
//! the tables of `labels::lists` say how often each public list contains a role, by which code, and how it errs.
//! Everything grows with the economy, so what is kept per person or payment must be small, and a wake must not walk
//! over all people, tokens or orders.

pub(crate) mod bitcoin;
pub(crate) mod bridges;
pub(crate) mod dex;
pub(crate) mod dormant;
pub(crate) mod exchange;
mod freezes;
pub(crate) mod issuers;
pub(crate) mod merchants;
pub(crate) mod mixer;
mod odd_tokens;
pub(crate) mod payments;
pub(crate) mod people;
pub(crate) mod scams;
mod scenes;
pub(crate) mod spoofers;
mod subscriptions;
pub(crate) mod validators;

pub(crate) use crate::world::Actor;
use crate::world::World;

/// Everybody, in a fixed order.
pub(crate) fn all(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    actors.extend(exchange::settle(world));
    actors.extend(bitcoin::settle(world));
    actors.extend(issuers::settle(world));
    actors.extend(mixer::settle(world));
    actors.extend(bridges::settle(world));
    actors.extend(dex::settle(world));
    actors.extend(validators::settle(world));
    actors.extend(people::settle(world));
    actors.extend(merchants::settle(world));
    actors.extend(payments::settle(world));
    actors.extend(dormant::settle(world));
    actors.extend(spoofers::settle(world));
    actors.extend(odd_tokens::settle(world));
    actors.extend(subscriptions::settle(world));
    actors.extend(scams::settle(world));
    actors.extend(bitcoin::settle_others(world));
    actors.extend(scenes::settle(world));
    actors.extend(freezes::settle(world));
    actors
}
