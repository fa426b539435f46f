//! Bitcoin mining pools: coinbases come in, miners are paid in batches, the rest is sold at an exchange.

use headwater_ledger::read::ScriptType;

use crate::actors::Actor;
use crate::book::{Habits, Holder, WalletId};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::World;

const POOLS: [(&str, u64, ScriptType); 3] = [
    ("pool-granite", 50, ScriptType::P2wpkh),
    ("pool-meridian", 32, ScriptType::P2pkh),
    ("pool-osprey", 18, ScriptType::P2sh),
];
const MINERS_OF_A_POOL: usize = 24;
const COIN: u64 = 100_000_000;
/// Days between two payouts of a pool.
const PAYOUT_DAYS: i64 = 3;

/// Starts the pools.
pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for place in 0..world.preset.services(POOLS.len()) {
        let (name, weight, script) = match POOLS.get(place) {
            Some(&(name, weight, script)) => (name.to_owned(), weight, script),
            None => (format!("pool-{place:02}"), 20 / place as u64 + 1, ScriptType::P2wpkh),
        };
        let wallet =
            world.bitcoin.add_wallet(Holder::single(&name, Role::MiningPool), Habits::service(script).reusing());
        world.bitcoin.add_pool(wallet, weight);
        let mut stream = Stream::new(world.seed, &name);
        let miners = (0..MINERS_OF_A_POOL)
            .map(|miner| {
                let habits = Habits::draw(&mut stream);
                let share = 1 + stream.cents(4.0, 1.3);
                let holder = Holder::single(&format!("miner-{name}-{miner:02}"), Role::Miner);
                (world.bitcoin.add_wallet(holder, habits), share)
            })
            .collect();
        let exchange = place % world.exchanges.len();
        actors.push(Box::new(Pool { wallet, miners, exchange, stream }));
    }
    actors
}

struct Pool {
    wallet: WalletId,
    miners: Vec<(WalletId, u64)>,
    exchange: usize,
    stream: Stream,
}

impl Actor for Pool {
    fn first_wake(&self) -> i64 {
        START + 53 * HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let earned = world.bitcoin.spendable(self.wallet, now);
        if earned > 50 * COIN {
            let customer = usize::MAX - self.exchange;
            let deposit = world.bitcoin_deposit_address(self.exchange, customer);
            let mut outputs = vec![(deposit, earned / 100 * 55 / COIN * COIN)];
            let shares: u64 = self.miners.iter().map(|miner| miner.1).sum();
            let pot = u128::from(earned / 100 * 35);
            for &(miner, share) in &self.miners {
                let pay = u64::try_from(pot * u128::from(share) / u128::from(shares)).unwrap_or(0);
                // Small earners wait for another day.
                if pay > COIN / 100 && self.stream.chance(0.35) {
                    outputs.push((world.bitcoin.receiving(miner), pay));
                }
            }
            let _ = world.bitcoin.pay(now, self.wallet, &outputs);
        }
        self.sell(world, now);
        Some(now + PAYOUT_DAYS * DAY + self.stream.secs(-HOUR, HOUR))
    }
}

impl Pool {
    /// A few miners a day sell what they have.
    fn sell(&mut self, world: &mut World, now: i64) {
        for _ in 0..4 {
            let place = self.stream.index(self.miners.len());
            let miner = self.miners[place].0;
            let held = world.bitcoin.spendable(miner, now);
            if held < COIN {
                continue;
            }
            let exchange = self.stream.index(world.exchanges.len());
            let deposit = world.bitcoin_deposit_address(exchange, usize::MAX - 100 * (self.exchange + 1) - place);
            let keep = self.stream.between(5, 60);
            let _ = world.bitcoin.pay(now, miner, &[(deposit, held / 100 * (100 - keep))]);
        }
    }
}
