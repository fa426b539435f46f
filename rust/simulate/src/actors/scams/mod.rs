//! Crimes, each with victims, loot and a way to turn it into money. Every step is written to the truth.

mod courtship;
mod drainer;
mod dusting;
mod investment;
mod launch;
mod poisoning;

use headwater_types::{Address, Chain};

use super::Actor;
use crate::book::Receipt;
use crate::random::Stream;
use crate::world::{Case, Coin, Flow, World};

/// Prepares the crimes.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> =
        vec![Box::new(drainer::Drainer::new(world)), Box::new(investment::Investment::new(world))];
    actors.extend(poisoning::settle(world));
    actors.extend(dusting::settle(world));
    actors.extend(launch::settle(world));
    actors.extend(courtship::settle(world));
    actors
}

/// Moves everything an address has of a coin, and writes the step down.
fn move_all(
    world: &mut World,
    (case, stage): (&Case, &str),
    (chain, now): (Chain, i64),
    (from, to): (Address, Address),
    coin: Coin,
) -> Option<Receipt> {
    let (receipt, raw) = world.transfer_all(chain, now, (from, to), coin).ok()?;
    let flow = Flow::new(from, to, world.asset(coin), raw);
    world.step(case, stage, chain, receipt.hash, flow);
    Some(receipt)
}

/// Moves an amount, and writes the step down.
fn move_some(
    world: &mut World,
    (case, stage): (&Case, &str),
    (chain, now): (Chain, i64),
    (from, to): (Address, Address),
    (coin, raw): (Coin, u128),
) -> Option<Receipt> {
    let receipt = world.transfer(chain, now, (from, to), coin, raw).ok()?;
    let flow = Flow::new(from, to, world.asset(coin), raw);
    world.step(case, stage, chain, receipt.hash, flow);
    Some(receipt)
}

/// Turns what an address has into money at an exchange where a straw man has an account.
fn cash_out(
    world: &mut World,
    case: &Case,
    (chain, now): (Chain, i64),
    (from, straw_man, exchange): (Address, &str, usize),
    coin: Coin,
) -> bool {
    let held = world.balance(chain, &from, coin);
    if held == 0 {
        return false;
    }
    let Ok((receipt, to)) = world.deposit(exchange, chain, now, (straw_man, from), (coin, held)) else { return false };
    let flow = Flow::new(from, to, world.asset(coin), held);
    world.step(case, "cash_out", chain, receipt.hash, flow);
    true
}

/// Somebody who is there now and has at least this much of a coin.
fn victim(world: &mut World, stream: &mut Stream, now: i64, chain: Chain, (coin, cents): (Coin, u64)) -> Option<usize> {
    for _ in 0..60 {
        let number = stream.index(world.people.len());
        let (from, until) = world.people[number].life;
        let address = world.people[number].account(chain.family());
        let pays_fees = world.worth(chain, &address, Coin::Native, now) >= 400;
        if (from..=until).contains(&now) && pays_fees && world.worth(chain, &address, coin, now) >= cents {
            return Some(number);
        }
    }
    None
}
