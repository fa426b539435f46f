//! Sellers with one address for everybody, whom many people pay the same price: what they get looks like extortion, and
//! is not.

use crate::actors::Actor;
use crate::book::{Habits, Holder, WalletId};
use crate::clock::{DAY, START};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::World;

/// Sellers of the demo.
const SELLERS: usize = 3;

struct Seller {
    wallet: WalletId,
    /// Prices in US cents.
    prices: Vec<u64>,
    /// True if all of it is sold at once, now and then, or parts of it.
    empties: bool,
    /// Between two sales.
    mean_gap_secs: f64,
    begins: i64,
    /// When it closes; some are open for weeks.
    ends: i64,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let seller = |number: usize| -> Box<dyn Actor> {
        let name = format!("merchant-seller-{number:02}");
        let mut stream = Stream::new(world.seed, &name);
        let holder = Holder::single(&name, Role::Merchant);
        let wallet = world.bitcoin.add_wallet(holder, Habits::draw(&mut stream).reusing());
        let prices = (0..stream.between(1, 3)).map(|_| 500 * stream.between(4, 500)).collect();
        let empties = stream.chance(0.5);
        let mean_gap_secs = 3_600.0 * (8.0 + 80.0 * stream.unit());
        let begins = START + stream.secs(24 * DAY, (world.preset.days() / 2).max(30) * DAY);
        let ends = begins + stream.secs(30 * DAY, 400 * DAY);
        Box::new(Seller { wallet, prices, empties, mean_gap_secs, begins, ends, stream })
    };
    (1..=world.preset.rarities(SELLERS)).map(seller).collect()
}

impl Actor for Seller {
    fn first_wake(&self) -> i64 {
        self.begins
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        if now < self.ends {
            self.sell(world, now);
        }
        let held = world.bitcoin.spendable(self.wallet, now);
        if held > 500_000 && (now >= self.ends || self.stream.chance(0.06)) {
            let exchange = self.stream.index(world.exchanges.len());
            let deposit = world.bitcoin_deposit_address(exchange, usize::MAX / 128 + self.wallet.0);
            if self.empties {
                let _ = world.bitcoin.gather(now, self.wallet, 200, deposit);
            } else {
                let part = held / 100 * self.stream.between(30, 95);
                let _ = world.bitcoin.pay(now, self.wallet, &[(deposit, part)]);
            }
        }
        (now < self.ends).then(|| now + self.stream.wait(self.mean_gap_secs))
    }
}

impl Seller {
    /// Somebody buys, from a wallet or from what an exchange holds for them.
    fn sell(&mut self, world: &mut World, now: i64) {
        let cents = *self.stream.pick(&self.prices);
        let satoshis = u64::try_from(world.market.raw("btc", 8, cents, now)).unwrap_or(0).max(10_000);
        let to = world.bitcoin.receiving(self.wallet);
        let payer = world.people[self.stream.index(world.people.len())].wallet;
        if world.bitcoin.spendable(payer, now) > satoshis / 10 * 11 + 20_000 {
            let _ = world.bitcoin.pay(now, payer, &[(to, satoshis)]);
        } else {
            let exchange = self.stream.index(world.exchanges.len());
            world.withdraw_bitcoin(exchange, to, satoshis);
        }
    }
}
