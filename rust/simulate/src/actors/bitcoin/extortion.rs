//! Extortion by mail: very many get the same threat with the same address, a few pay what it asks for, and what came in
//! is sold or mixed now and then. Nobody writes such a case down: victims are many and losses small.

use super::crowd::FIRST_ROUND;
use crate::actors::Actor;
use crate::book::{Habits, Holder, WalletId};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::World;

/// Waves of mails in the demo.
const WAVES: usize = 3;
/// The number of victims in a hundred who buy coins for it and have the exchange pay.
const BUYERS_PERCENT: u64 = 55;
/// The number of victims in a hundred who pay another amount than was asked for.
const OTHERWISE_PERCENT: u64 = 20;

/// The demand of the mails.
#[derive(Debug, Clone, Copy)]
enum Demand {
    /// US cents, so that the coins differ from day to day.
    Cents(u64),
    /// Satoshis.
    Satoshis(u64),
}

/// The exit of the money.
#[derive(Debug, Clone, Copy)]
enum Exit {
    /// A part goes to an exchange, the rest comes back.
    Sold,
    /// All of it goes to an exchange at once.
    Emptied,
    /// It goes through the mixer.
    Mixed,
    /// It is left until long after.
    Kept,
}

struct Wave {
    wallet: WalletId,
    demand: Demand,
    exit: Exit,
    begins: i64,
    /// Between two payments.
    mean_gap_secs: f64,
    /// Victims who have yet to pay.
    left: u64,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let wave = |number: usize| -> Box<dyn Actor> {
        let name = format!("scam-extortion-{number}");
        let mut stream = Stream::new(world.seed, &name);
        let holder = Holder::single(&name, Role::ScamCollector);
        let wallet = world.bitcoin.add_wallet(holder, Habits::draw(&mut stream).reusing());
        let demand = if stream.chance(0.7) {
            Demand::Cents(5_000 * stream.between(2, 60))
        } else {
            Demand::Satoshis(1_000_000 * stream.between(1, 15))
        };
        let exit = [Exit::Sold, Exit::Emptied, Exit::Mixed, Exit::Kept][stream.weighted(&[35, 35, 15, 15])];
        let latest = (world.preset.days() - 80).max(40);
        let begins = (START + stream.secs(30 * DAY, latest * DAY)).max(FIRST_ROUND);
        let left = stream.cents(0.22, 0.8).clamp(5, 120);
        let mean_gap_secs = 3_600.0 * (6.0 + 60.0 * stream.unit());
        Box::new(Wave { wallet, demand, exit, begins, mean_gap_secs, left, stream })
    };
    (1..=world.preset.rarities(WAVES)).map(wave).collect()
}

impl Actor for Wave {
    fn first_wake(&self) -> i64 {
        self.begins
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        if self.left == 0 {
            self.leave(world, now);
            return None;
        }
        self.left -= 1;
        self.extort(world, now);
        let sells = matches!(self.exit, Exit::Sold | Exit::Emptied | Exit::Mixed);
        if sells && self.stream.chance(0.08) {
            self.leave(world, now);
        }
        let last = self.stream.secs(3 * DAY, 40 * DAY);
        Some(now + if self.left > 0 { self.stream.wait(self.mean_gap_secs) } else { last })
    }
}

impl Wave {
    fn extort(&mut self, world: &mut World, now: i64) {
        let asked = match self.demand {
            Demand::Cents(cents) => u64::try_from(world.market.raw("btc", 8, cents, now)).unwrap_or(0),
            Demand::Satoshis(satoshis) => satoshis,
        };
        let pays =
            if self.stream.below(100) < OTHERWISE_PERCENT { asked / 100 * self.stream.between(40, 130) } else { asked };
        let satoshis = pays.max(10_000);
        let to = world.bitcoin.receiving(self.wallet);
        let payer = world.people[self.stream.index(world.people.len())].wallet;
        let has_enough = world.bitcoin.spendable(payer, now) > satoshis / 10 * 11 + 20_000;
        if has_enough && self.stream.below(100) >= BUYERS_PERCENT {
            let _ = world.bitcoin.pay(now, payer, &[(to, satoshis)]);
        } else {
            let exchange = self.stream.index(world.exchanges.len());
            world.withdraw_bitcoin(exchange, to, satoshis);
        }
    }

    fn leave(&mut self, world: &mut World, now: i64) {
        let held = world.bitcoin.spendable(self.wallet, now);
        if held < 200_000 {
            return;
        }
        let exchange = self.stream.index(world.exchanges.len());
        let deposit = world.bitcoin_deposit_address(exchange, usize::MAX / 64 + self.wallet.0);
        match self.exit {
            Exit::Sold => {
                let sold = held / 100 * self.stream.between(40, 95);
                let _ = world.bitcoin.pay(now, self.wallet, &[(deposit, sold)]);
            }
            Exit::Emptied | Exit::Kept => {
                let _ = world.bitcoin.gather(now, self.wallet, 200, deposit);
            }
            Exit::Mixed => {
                let delay = 6 * HOUR + self.stream.wait(86_400.0);
                if world.tumble(now, self.wallet, (held / 100 * 90, delay), deposit).is_err() {
                    let _ = world.bitcoin.gather(now, self.wallet, 200, deposit);
                }
            }
        }
    }
}
