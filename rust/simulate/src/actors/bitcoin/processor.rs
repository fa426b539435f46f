//! Payment services: every invoice has an address of its own, coins are gathered, shops are paid out in batches.

use headwater_ledger::read::ScriptType;

use crate::actors::Actor;
use crate::book::{AddressHabit, Habits, Holder, WalletId};
use crate::clock::{DAY, HOUR};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::World;

/// Shops of a service that are paid every few days.
const SHOPS: usize = 8;
/// Coins from which on a service gathers.
const MANY_COINS: usize = 30;

struct Processor {
    wallet: WalletId,
    shops: Vec<(WalletId, u64)>,
    stream: Stream,
    settled: i64,
    /// Invoices paid between two wakes at most: the economy of a large preset has more customers.
    customers: u64,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let count = world.preset.services(2);
    let forms = [ScriptType::P2wpkh, ScriptType::P2sh, ScriptType::P2tr];
    let processor = |number: usize| -> Box<dyn Actor> {
        let name = format!("processor-{number:02}");
        let habits = Habits { address: AddressHabit::Fresh, ..Habits::service(forms[number % forms.len()]) };
        let wallet = world.bitcoin.add_wallet(Holder::single(&name, Role::PaymentHot), habits);
        let mut stream = Stream::new(world.seed, &name);
        let shops = (0..SHOPS).map(|shop| {
            let holder = Holder::single(&format!("{name}-shop-{shop:02}"), Role::Merchant);
            let habits = Habits::draw(&mut stream);
            (world.bitcoin.add_wallet(holder, habits), 1 + stream.cents(0.05, 1.2))
        });
        let shops = shops.collect();
        Box::new(Processor { wallet, shops, stream, settled: 0, customers: 2 * world.preset.wealth() })
    };
    (0..count).map(processor).collect()
}

impl Actor for Processor {
    fn first_wake(&self) -> i64 {
        crate::clock::START + 20 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        self.invoices(world, now);
        if world.bitcoin.coin_count(self.wallet) > MANY_COINS {
            let to = world.bitcoin.own(self.wallet);
            let _ = world.bitcoin.gather(now, self.wallet, MANY_COINS - 4, to);
        }
        if now - self.settled > 9 * DAY {
            self.settled = now;
            self.settle_shops(world, now);
        }
        Some(now + self.stream.secs(24 * HOUR, 48 * HOUR))
    }
}

impl Processor {
    /// Customers pay what they owe, each to a new address.
    fn invoices(&mut self, world: &mut World, now: i64) {
        for _ in 0..self.stream.between(0, self.customers) {
            let number = self.stream.index(world.people.len());
            let payer = world.people[number].wallet;
            let cents = self.stream.cents(45.0, 0.9);
            let satoshis = u64::try_from(world.market.raw("btc", 8, cents, now)).unwrap_or(0).max(3_000);
            if world.bitcoin.spendable(payer, now) > satoshis * 11 / 10 + 20_000 {
                let to = world.bitcoin.receiving(self.wallet);
                let _ = world.bitcoin.pay(now, payer, &[(to, satoshis)]);
            }
        }
    }

    fn settle_shops(&mut self, world: &mut World, now: i64) {
        let held = world.bitcoin.spendable(self.wallet, now) / 10 * 8;
        let shares: u64 = self.shops.iter().map(|shop| shop.1).sum();
        let mut outputs = Vec::new();
        for &(shop, share) in &self.shops {
            let due = u64::try_from(u128::from(held) * u128::from(share) / u128::from(shares)).unwrap_or(0);
            if due > 20_000 {
                outputs.push((world.bitcoin.receiving(shop), due));
            }
        }
        if !outputs.is_empty() {
            let _ = world.bitcoin.pay(now, self.wallet, &outputs);
        }
        let shop = self.shops[self.stream.index(self.shops.len())].0;
        let earned = world.bitcoin.spendable(shop, now);
        if earned > 300_000 {
            let exchange = self.stream.index(world.exchanges.len());
            let to = world.bitcoin_deposit_address(exchange, usize::MAX / 8 + shop.0);
            let _ = world.bitcoin.pay(now, shop, &[(to, earned / 100 * self.stream.between(40, 95))]);
        }
    }
}
