//! A mixer that takes coins in custody and pays others out later, less a commission.

use headwater_ledger::read::ScriptType;
use headwater_types::Chain;

use super::crowd::{Crowd, FIRST_ROUND, Rounds};
use crate::actors::Actor;
use crate::book::{Habits, Holder, Insufficient, WalletId};
use crate::clock::{DAY, HOUR};
use crate::random::Stream;
use crate::truth::{MixerLink, Role};
use crate::world::World;

struct TumblerWallet {
    wallet: WalletId,
    stream: Stream,
}

struct Customers {
    crowd: Crowd,
    rounds: Rounds,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let habits = Habits::service(ScriptType::P2pkh);
    let wallet = world.bitcoin.add_wallet(Holder::single("mixer-tumbler", Role::MixerPool), habits);
    world.tumbler.wallet = Some(wallet);
    let people = world.preset.rarities(10).min(800);
    let customers = Customers {
        crowd: Crowd::new(world, "tumbling", people, None),
        rounds: Rounds::new(world, world.preset.rarities(30)),
        stream: Stream::new(world.seed, "tumbling"),
    };
    vec![Box::new(TumblerWallet { wallet, stream: Stream::new(world.seed, "mixer-tumbler") }), Box::new(customers)]
}

impl Actor for TumblerWallet {
    fn first_wake(&self) -> i64 {
        crate::clock::START + 18 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        if world.bitcoin.coin_count(self.wallet) == 0 && world.tumbler.orders.is_empty() {
            // Its own money, from which the first customers are paid.
            let to = world.bitcoin.receiving(self.wallet);
            world.withdraw_bitcoin(0, to, 300_000_000);
            return Some(now + 2 * DAY);
        }
        let waiting = world.tumbler.orders.split_off(&(now, u64::MAX));
        for ((_, number), order) in std::mem::replace(&mut world.tumbler.orders, waiting) {
            match world.bitcoin.pay(now, self.wallet, &[(order.to, order.satoshis)]) {
                Ok(paid) => world.truth.mixer_links.push(MixerLink {
                    chain: Chain::BITCOIN,
                    pool: order.pool,
                    deposit: order.deposit,
                    depositor: order.depositor,
                    withdrawal: paid.hash,
                    recipient: order.to,
                }),
                Err(Insufficient) => {
                    world.tumbler.orders.insert((now + DAY, number), order);
                }
            }
        }
        Some(now + self.stream.secs(HOUR, 4 * HOUR))
    }
}

impl Actor for Customers {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 5 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let median = 1_000_000 + self.stream.below(12_000_000);
        self.crowd.fill(world, now, 600_000, median, 1);
        let mut happened = false;
        if now >= FIRST_ROUND {
            let member = self.crowd.members[self.stream.index(self.crowd.members.len())];
            let held = world.bitcoin.spendable(member.wallet, now);
            let satoshis = held / 100 * self.stream.between(40, 93);
            if satoshis > 200_000 {
                let to = world.bitcoin.fresh(member.wallet);
                let delay = HOUR + self.stream.wait(20.0 * 3_600.0);
                happened = world.tumble(now, member.wallet, (satoshis, delay), to).is_ok();
            }
            self.crowd.spend_some(world, now, happened, 1);
        }
        self.rounds.next(now, happened, &mut self.stream)
    }
}
