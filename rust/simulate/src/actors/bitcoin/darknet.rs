//! Markets of forbidden goods: buyers pay every order to an address of its own, the market holds the money, and pays its
//! vendors out every few days, who turn it into cash at exchanges or through the mixer.

use headwater_ledger::read::ScriptType;

use super::crowd::{Crowd, FIRST_ROUND};
use crate::actors::Actor;
use crate::book::{AddressHabit, Habits, Holder, WalletId};
use crate::clock::{DAY, HOUR};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::World;

/// Names of the markets; larger economies have more, which go by numbers.
const NAMES: [&str; 3] = ["nightfair", "undertow", "blackquay"];
/// Vendors of a market.
const VENDORS: usize = 5;
/// Coins from which on a market gathers.
const MANY_COINS: usize = 24;

struct Market {
    wallet: WalletId,
    vendors: Vec<WalletId>,
    buyers: Crowd,
    /// Orders between two wakes at most.
    orders: u64,
    paid_out: i64,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let count = world.preset.services(1);
    let market = |place: usize| -> Box<dyn Actor> {
        let name = NAMES.get(place).map_or_else(|| format!("market{place:02}"), |name| (*name).to_owned());
        let owner = format!("darknet-{name}");
        let habits = Habits { address: AddressHabit::Fresh, ..Habits::service(ScriptType::P2pkh) };
        let wallet = world.bitcoin.add_wallet(Holder::single(&owner, Role::DarknetMarket), habits);
        let mut stream = Stream::new(world.seed, &owner);
        let vendors = (0..VENDORS).map(|vendor| {
            let holder = Holder::single(&format!("vendor-{name}-{vendor}"), Role::DarknetVendor);
            let habits = Habits::draw(&mut stream);
            world.bitcoin.add_wallet(holder, habits)
        });
        let vendors = vendors.collect();
        let growth = world.preset.rarities(1);
        let buyers = Crowd::new(world, &owner, 10 * growth.min(20), None);
        Box::new(Market { wallet, vendors, buyers, orders: 2 * growth as u64, paid_out: 0, stream })
    };
    (0..count).map(market).collect()
}

impl Actor for Market {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 4 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let median = 700_000 + self.stream.below(1_500_000);
        self.buyers.fill(world, now, 400_000, median, 1);
        self.sell(world, now);
        if world.bitcoin.coin_count(self.wallet) > MANY_COINS {
            let to = world.bitcoin.own(self.wallet);
            let _ = world.bitcoin.gather(now, self.wallet, MANY_COINS - 4, to);
        }
        if now - self.paid_out > 8 * DAY {
            self.paid_out = now;
            self.pay_out(world, now);
            self.cash_out(world, now);
        }
        Some(now + self.stream.secs(30 * HOUR, 80 * HOUR))
    }
}

impl Market {
    fn sell(&mut self, world: &mut World, now: i64) {
        for _ in 0..self.stream.between(1, self.orders) {
            let buyer = self.buyers.members[self.stream.index(self.buyers.members.len())].wallet;
            let cents = self.stream.cents(140.0, 0.7);
            let satoshis = u64::try_from(world.market.raw("btc", 8, cents, now)).unwrap_or(0).max(10_000);
            if world.bitcoin.spendable(buyer, now) > satoshis + 60_000 {
                let to = world.bitcoin.receiving(self.wallet);
                let _ = world.bitcoin.pay(now, buyer, &[(to, satoshis)]);
            }
        }
    }

    /// The market keeps some of it for refunds, and its commission.
    fn pay_out(&mut self, world: &mut World, now: i64) {
        let held = world.bitcoin.spendable(self.wallet, now) / 10 * 8;
        // No two alike: equal outputs would look like a CoinJoin.
        let weights = (0..).zip(&self.vendors).map(|(place, _)| self.stream.between(1, 90) * 10 + place);
        let weights: Vec<u64> = weights.collect();
        let all: u64 = weights.iter().sum();
        let mut outputs = Vec::new();
        for (&vendor, weight) in self.vendors.iter().zip(weights) {
            let due = held / all * weight;
            if due > 60_000 {
                outputs.push((world.bitcoin.receiving(vendor), due));
            }
        }
        if !outputs.is_empty() {
            let _ = world.bitcoin.pay(now, self.wallet, &outputs);
        }
    }

    fn cash_out(&mut self, world: &mut World, now: i64) {
        let vendor = *self.stream.pick(&self.vendors);
        let satoshis = world.bitcoin.spendable(vendor, now) / 100 * self.stream.between(40, 90);
        if satoshis < 300_000 {
            return;
        }
        if self.stream.chance(0.25) {
            let to = world.bitcoin.fresh(vendor);
            let delay = 4 * HOUR + self.stream.wait(20.0 * 3_600.0);
            let _ = world.tumble(now, vendor, (satoshis, delay), to);
            return;
        }
        let exchange = self.stream.index(world.exchanges.len());
        let to = world.bitcoin_deposit_address(exchange, usize::MAX / 64 + vendor.0);
        let _ = world.bitcoin.pay(now, vendor, &[(to, satoshis)]);
    }
}
