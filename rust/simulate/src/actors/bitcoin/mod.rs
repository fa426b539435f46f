//! Actors on bitcoin, beside people and exchanges: pools and miners, mixing rounds of every kind and what looks like
//! them, payment services, a mixer in custody, tokens and dust, sleepers, thieves, extortioners
//! of firms and of the many, sellers who look like them, and markets of forbidden goods.

mod crowd;
mod darknet;
mod dust;
mod extortion;
mod housekeeping;
mod lookalikes;
mod market_makers;
mod payjoin;
mod pools;
mod processor;
mod ransom;
mod sellers;
mod sleepers;
mod thefts;
mod tumbler;
mod wasabi_one;
mod wasabi_two;
mod whirlpool;

use headwater_types::{Address, Chain, TxHash};

use super::Actor;
use crate::truth::{Behaviour, Evidence, JointKind, JointTransaction};
use crate::world::World;

/// Starts mining: without it there are no coins.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    pools::settle(world)
}

/// Brings a kind into the world.
type Settle = fn(&mut World) -> Vec<Box<dyn Actor>>;

/// Starts everybody who needs people and exchanges.
pub(crate) fn settle_others(world: &mut World) -> Vec<Box<dyn Actor>> {
    let kinds: [Settle; 16] = [
        processor::settle,
        tumbler::settle,
        whirlpool::settle,
        wasabi_one::settle,
        wasabi_two::settle,
        market_makers::settle,
        lookalikes::settle,
        payjoin::settle,
        housekeeping::settle,
        dust::settle,
        sleepers::settle,
        thefts::settle,
        ransom::settle,
        extortion::settle,
        sellers::settle,
        darknet::settle,
    ];
    kinds.into_iter().flat_map(|settle| settle(world)).collect()
}

impl World {
    /// Writes down what a joint transaction was.
    fn note_joint(&mut self, hash: TxHash, kind: JointKind) {
        self.truth.joints.push(JointTransaction { hash, kind });
    }

    /// Writes down that an address did something of the catalogue in one transaction.
    fn note_deed(
        &mut self,
        (address, behaviour): (Address, Behaviour),
        hash: TxHash,
        counterparties: u64,
        usd_cents: u64,
    ) {
        let evidence = Evidence { count: 1, counterparties, usd_cents, first: hash, last: hash };
        self.plant(Chain::BITCOIN, address, behaviour, evidence);
    }
}
