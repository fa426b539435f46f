//! A false investment on tron: people pay in for weeks, early ones are paid a little back from the money of later ones,
//! then everything leaves over two stops to exchanges.

use headwater_types::{Address, Chain, Family};

use super::{cash_out, move_all, move_some, victim};
use crate::actors::Actor;
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::{Case, Coin, World};

const CHAIN: Chain = Chain::TRON;
const OWNER: &str = "scam-investment";

pub(super) struct Investment {
    case: Case,
    till: Address,
    stops: [Address; 2],
    payers: Vec<Address>,
    stream: Stream,
}

impl Investment {
    pub(super) fn new(world: &mut World) -> Self {
        let stop =
            |world: &mut World, name: &str, role| world.account(Family::Tron, &format!("{OWNER}/{name}"), role, OWNER);
        Self {
            case: Case { name: "investment-1".to_owned(), kind: "investment_fraud" },
            till: stop(world, "till", Role::ScamCollector),
            stops: [stop(world, "stop/0", Role::ScamLayer), stop(world, "stop/1", Role::ScamLayer)],
            payers: Vec::new(),
            stream: Stream::new(world.seed, OWNER),
        }
    }
}

impl Actor for Investment {
    fn first_wake(&self) -> i64 {
        START + 15 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let usdt = world.token(CHAIN, "USDT");
        let here = (CHAIN, now);
        for address in [self.till, self.stops[0], self.stops[1]] {
            if world.worth(CHAIN, &address, Coin::Native, now) < 1_500 {
                let raw = world.raw(CHAIN, Coin::Native, 6_000, now);
                world.withdraw(2, CHAIN, address, Coin::Native, raw);
            }
        }
        if now < START + 75 * DAY {
            self.take(world, now, usdt);
            if self.payers.len() > 8 && self.stream.chance(0.25) {
                let lucky = self.payers[self.stream.index(self.payers.len() / 2)];
                let raw = world.balance(CHAIN, &self.till, usdt) / 40;
                if raw > 0 {
                    move_some(world, (&self.case, "payout"), here, (self.till, lucky), (usdt, raw));
                }
            }
            return Some(now + HOUR + self.stream.wait(14.0 * 3_600.0));
        }
        cash_out(world, &self.case, here, (self.stops[1], "straw-invest", 0), usdt);
        let half = world.balance(CHAIN, &self.stops[0], usdt) / 2;
        if half > 0 {
            move_some(world, (&self.case, "layer"), here, (self.stops[0], self.stops[1]), (usdt, half));
            cash_out(world, &self.case, here, (self.stops[0], "straw-invest-2", 2), usdt);
        }
        move_all(world, (&self.case, "collect"), here, (self.till, self.stops[0]), usdt);
        (now < START + 80 * DAY).then(|| now + self.stream.secs(6 * HOUR, 16 * HOUR))
    }
}

impl Investment {
    fn take(&mut self, world: &mut World, now: i64, usdt: Coin) {
        let Some(number) = victim(world, &mut self.stream, now, CHAIN, (usdt, 5_000)) else { return };
        let from = world.people[number].tron;
        let share = u128::from(self.stream.between(25, 90));
        let raw = world.balance(CHAIN, &from, usdt) / 100 * share;
        if move_some(world, (&self.case, "loot"), (CHAIN, now), (from, self.till), (usdt, raw)).is_some() {
            self.payers.push(from);
        }
    }
}
