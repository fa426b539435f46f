//! Validators of the account chains: a reward now and then, and a habit of selling it.

use headwater_types::{Address, Amount, Chain};

use super::Actor;
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::{ACCOUNT_CHAINS, Coin, World};

const VALIDATORS: usize = 6;

/// Starts the validators.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for chain in ACCOUNT_CHAINS {
        for number in 0..VALIDATORS {
            let name = format!("validator-{chain}-{number}");
            let address = world.account(chain.family(), &name, Role::Validator, &name);
            let stream = Stream::new(world.seed, &name);
            actors.push(Box::new(Validator { chain, address, name, exchange: number % world.exchanges.len(), stream }));
        }
    }
    actors
}

struct Validator {
    chain: Chain,
    address: Address,
    name: String,
    exchange: usize,
    stream: Stream,
}

impl Actor for Validator {
    fn first_wake(&self) -> i64 {
        START + 5 * HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let milli_coins: u128 = if self.chain == Chain::TRON { 8_000_000 } else { 140 };
        let raw = milli_coins * u128::from(self.stream.between(60, 160)) / 100
            * 10_u128.pow(u32::from(self.chain.native_decimals()) - 3);
        let held = world.balance(self.chain, &self.address, Coin::Native);
        // What was earned before is sold before the new reward arrives: rewards close their block.
        if self.stream.chance(0.12) && held > raw {
            let keep = held / 20;
            let customer = (self.name.as_str(), self.address);
            let _ = world.deposit(self.exchange, self.chain, now, customer, (Coin::Native, held - keep));
        }
        world.book(self.chain).reward(now, self.address, Amount::from_u128(raw));
        Some(now + DAY + self.stream.secs(-6 * HOUR, 6 * HOUR))
    }
}
