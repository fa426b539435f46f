//! Long courtships that end in false investments: a few people pay one account for weeks, again and again. What no issuer
//! has frozen by then leaves over a stop to an exchange.

use headwater_types::{Address, Chain};

use super::{cash_out, move_all, move_some, victim};
use crate::actors::Actor;
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::{Case, Coin, World};

/// Days in which people pay.
const DAYS: i64 = 26;
/// The maximum number of tries to move the money.
const TRIES: usize = 8;

/// Starts those who court, by turns on tron and on ethereum.
pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let count = world.preset.rarities(4);
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for number in 1..=count {
        let chain = [Chain::ETHEREUM, Chain::TRON][number % 2];
        let owner = format!("scam-courtship-{number}");
        let mut account = |part: &str, role| world.account(chain.family(), &format!("{owner}/{part}"), role, &owner);
        let (till, stop) = (account("till", Role::ScamCollector), account("stop", Role::ScamLayer));
        let mut stream = Stream::new(world.seed, &owner);
        let last = (world.preset.days() - 70).max(30);
        let begins = START + stream.secs(20 * DAY, last * DAY);
        let case = Case { name: format!("courtship-{number}"), kind: "pig_butchering" };
        let straw_man = format!("straw-courtship-{number}");
        let exchange = number % world.exchanges.len();
        actors.push(Box::new(Courtship { chain, case, till, stop, straw_man, exchange, begins, tries: 0, stream }));
    }
    actors
}

struct Courtship {
    chain: Chain,
    case: Case,
    till: Address,
    stop: Address,
    straw_man: String,
    exchange: usize,
    begins: i64,
    tries: usize,
    stream: Stream,
}

impl Actor for Courtship {
    fn first_wake(&self) -> i64 {
        self.begins
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let usdt = world.token(self.chain, "USDT");
        if now < self.begins + DAYS * DAY {
            self.take(world, now, usdt);
            return Some(now + self.stream.secs(2 * DAY, 5 * DAY));
        }
        self.tries += 1;
        self.leave(world, now, usdt);
        (self.tries < TRIES).then(|| now + self.stream.secs(8 * HOUR, 30 * HOUR))
    }
}

impl Courtship {
    fn take(&mut self, world: &mut World, now: i64, usdt: Coin) {
        let Some(number) = victim(world, &mut self.stream, now, self.chain, (usdt, 20_000)) else { return };
        let from = world.people[number].account(self.chain.family());
        let share = u128::from(self.stream.between(40, 95));
        let raw = world.balance(self.chain, &from, usdt) / 100 * share;
        move_some(world, (&self.case, "loot"), (self.chain, now), (from, self.till), (usdt, raw));
    }

    /// Coins for fees come from an exchange; then the money goes to the stop, and from there into cash.
    fn leave(&self, world: &mut World, now: i64, usdt: Coin) {
        let here = (self.chain, now);
        for address in [self.till, self.stop] {
            if world.worth(self.chain, &address, Coin::Native, now) < 1_500 {
                let raw = world.raw(self.chain, Coin::Native, 4_000, now);
                world.withdraw(self.exchange, self.chain, address, Coin::Native, raw);
            }
        }
        cash_out(world, &self.case, here, (self.stop, &self.straw_man, self.exchange), usdt);
        move_all(world, (&self.case, "layer"), here, (self.till, self.stop), usdt);
    }
}
