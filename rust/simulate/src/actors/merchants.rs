//! Shops: they are paid by many, pay suppliers now and then, and take the rest to an exchange.

use headwater_types::Chain;

use super::Actor;
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::world::people::PEOPLE_PER_MERCHANT;
use crate::world::{ACCOUNT_CHAINS, Coin, World};

/// Opens the shops.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    (0..world.people.len())
        .step_by(PEOPLE_PER_MERCHANT)
        .map(|number| -> Box<dyn Actor> {
            let stream = Stream::new(world.seed, &format!("{}/shop", world.people[number].name));
            Box::new(Shop { number, stream })
        })
        .collect()
}

struct Shop {
    number: usize,
    stream: Stream,
}

impl Actor for Shop {
    fn first_wake(&self) -> i64 {
        START + 2 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        for chain in ACCOUNT_CHAINS {
            self.bank(world, now, chain);
        }
        let person = world.people[self.number].clone();
        let held = world.bitcoin.spendable(person.wallet, now);
        if held > 5_000_000 {
            let to = world.bitcoin_deposit_address(person.exchange, self.number);
            let _ = world.bitcoin.pay(now, person.wallet, &[(to, held / 10 * 9)]);
        }
        Some(now + 2 * DAY + self.stream.secs(-5 * HOUR, 5 * HOUR))
    }
}

impl Shop {
    fn bank(&mut self, world: &mut World, now: i64, chain: Chain) {
        let person = world.people[self.number].clone();
        let me = person.account(chain.family());
        if world.worth(chain, &me, Coin::Native, now) < 2_500 {
            let raw = world.raw(chain, Coin::Native, 8_000, now);
            world.withdraw(person.exchange, chain, me, Coin::Native, raw);
            return;
        }
        for coin in world.known_coins(chain) {
            let held = world.balance(chain, &me, coin);
            if world.cents(chain, coin, held, now) < 30_000 {
                continue;
            }
            let supplier = self.stream.index(world.people.len());
            let pay = held / 100 * u128::from(self.stream.between(5, 30));
            let to = world.people[supplier].account(chain.family());
            let _ = world.transfer(chain, now, (me, to), coin, pay);
            let rest = held - pay;
            let _ = world.deposit(person.exchange, chain, now, (&person.name, me), (coin, rest / 10 * 9));
        }
    }
}
