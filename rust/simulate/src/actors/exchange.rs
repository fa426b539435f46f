//! Exchanges: a deposit address per customer, sweeps with gas paid by the exchange, hot and cold wallets, withdrawals.

use std::collections::{BTreeMap, HashMap, VecDeque};

use headwater_ledger::read::ScriptType;
use headwater_types::{Amount, Chain};

use super::Actor;
use crate::book::{AddressHabit, ChangePlace, Habits, Holder, Insufficient};
use crate::clock::{DAY, HOUR, START};
use crate::gas::token_fee_cents;
use crate::random::Stream;
use crate::truth::Role;
use crate::world::exchange::{Exchange, Sweep, Withdrawal};
use crate::world::queue::Queue;
use crate::world::{ACCOUNT_CHAINS, Coin, World};

/// The exchanges of the demo. Larger economies have more, which go by numbers.
const NAMES: [&str; 3] = ["northgate", "lanternex", "orchid"];
/// A hot wallet worth more than this sends most of it to the cold one, in cents.
const HOT_HIGH: u64 = 350_000_000;
/// One worth less is filled again.
const HOT_LOW: u64 = 60_000_000;
/// Satoshis of a coin.
const COIN: u64 = 100_000_000;
/// Outputs of one bitcoin payout.
const BATCH_OUTPUTS: usize = 20;

/// Opens the exchanges with their first coins.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    let wealth = world.preset.wealth();
    for place in 0..world.preset.services(NAMES.len()) {
        let name = NAMES.get(place).map_or_else(|| format!("bourse{place:02}"), |name| (*name).to_owned());
        let owner = format!("exchange-{name}");
        let script = [ScriptType::P2wpkh, ScriptType::P2sh, ScriptType::P2wpkh][place % 3];
        let mut habits = Habits::service(script);
        // Two of them keep one hot address, one makes a new address for every change.
        if place % 3 == 1 {
            habits.place = ChangePlace::Last;
        }
        if place % 3 != 1 {
            habits.address = AddressHabit::OneForChange;
        }
        let wallet = world.bitcoin.add_wallet(Holder::single(&owner, Role::ExchangeHot), habits);
        let cold = Habits::service(ScriptType::P2wsh).reusing();
        let cold_wallet = world.bitcoin.add_wallet(
            Holder { wallet: format!("{owner}/cold"), owner: owner.clone(), role: Role::ExchangeCold },
            cold,
        );
        world.exchanges.push(Exchange {
            name: name.into(),
            wallet,
            cold_wallet,
            wallets_by_family: HashMap::new(),
            bitcoin_deposits: HashMap::new(),
            withdrawals: Queue::default(),
            payouts: VecDeque::new(),
            sweeps: BTreeMap::new(),
        });
        for (chain, hot, cold, gas) in [
            (Chain::ETHEREUM, 600_u64, 9_000_u64, 40_u64),
            (Chain::BSC, 2_500, 30_000, 60),
            (Chain::TRON, 6_000_000, 70_000_000, 900_000),
        ] {
            let wallets = world.exchange_wallets(place, chain.family());
            let unit = 10_u128.pow(u32::from(chain.native_decimals()));
            for (address, coins) in [(wallets.hot, hot), (wallets.cold, cold), (wallets.gas, gas)] {
                world.book(chain).allocate(address, Amount::from_u128(u128::from(coins * wealth) * unit));
            }
        }
        actors.push(Box::new(Operations {
            exchange: place,
            stream: Stream::new(world.seed, &format!("{owner}/operations")),
            next_sweep: START + 3 * HOUR,
            next_review: START + DAY,
        }));
    }
    actors
}

/// The back office of one exchange.
struct Operations {
    exchange: usize,
    stream: Stream,
    next_sweep: i64,
    next_review: i64,
}

impl Actor for Operations {
    fn first_wake(&self) -> i64 {
        START + HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        self.pay_out(world, now);
        self.pay_out_bitcoin(world, now);
        if now >= self.next_sweep {
            self.sweep(world, now);
            self.next_sweep = now + self.stream.secs(2 * HOUR, 5 * HOUR);
        }
        if now >= self.next_review {
            self.review(world, now);
            self.review_bitcoin(world, now);
            self.next_review = now + self.stream.secs(20 * HOUR, 28 * HOUR);
        }
        Some(now + self.stream.secs(600, 1_500))
    }
}

impl Operations {
    /// Pays what was asked for; what the hot wallet lacks is put off.
    fn pay_out(&self, world: &mut World, now: i64) {
        while let Some(due) = world.exchanges[self.exchange].withdrawals.pop(now) {
            let Withdrawal { chain, to, coin, raw } = due.work;
            let hot = world.hot_wallet(self.exchange, chain.family());
            if world.transfer(chain, now, (hot, to), coin, raw).is_err() {
                world.exchanges[self.exchange].withdrawals.put_off(now, due);
            }
        }
    }

    /// Pays bitcoin in batches, when enough are asked for or now and then.
    fn pay_out_bitcoin(&mut self, world: &mut World, now: i64) {
        let exchange = &mut world.exchanges[self.exchange];
        let wallet = exchange.wallet;
        if exchange.payouts.is_empty() || (exchange.payouts.len() < 6 && !self.stream.chance(0.25)) {
            return;
        }
        // The first that cannot be paid holds up the rest, until the wallet is filled.
        loop {
            let batch: Vec<_> = exchange.payouts.iter().take(BATCH_OUTPUTS).copied().collect();
            if batch.is_empty() || world.bitcoin.pay(now, wallet, &batch).is_err() {
                break;
            }
            exchange.payouts.drain(..batch.len());
        }
    }

    /// Native coins move at once; a token first needs gas at its deposit address, and moves the next time.
    fn sweep(&self, world: &mut World, now: i64) {
        let sweeps: Vec<_> = world.exchanges[self.exchange].sweeps.iter().map(|(key, state)| (*key, *state)).collect();
        for ((chain, address, coin), state) in sweeps {
            let key = (chain, address, coin);
            let wallets = world.exchange_wallets(self.exchange, chain.family());
            let moved = (coin == Coin::Native || state == Sweep::GasSent)
                .then(|| world.transfer_all(chain, now, (address, wallets.hot), coin));
            match moved {
                Some(Ok(_)) => {
                    world.exchanges[self.exchange].sweeps.remove(&key);
                }
                Some(Err(Insufficient)) if coin == Coin::Native => {
                    // Less than the fee: left until more arrives.
                    world.exchanges[self.exchange].sweeps.remove(&key);
                }
                Some(Err(Insufficient)) | None => {
                    let raw = world.raw(chain, Coin::Native, token_fee_cents(chain), now);
                    if world.transfer(chain, now, (wallets.gas, address), Coin::Native, raw).is_ok() {
                        world.exchanges[self.exchange].sweeps.insert(key, Sweep::GasSent);
                    }
                }
            }
        }
    }

    /// Once a day: too much goes to the cold wallet, too little is filled, and the gas wallet is fed.
    fn review(&mut self, world: &mut World, now: i64) {
        let wealth = world.preset.wealth() / (1 + self.exchange as u64 / 3).min(world.preset.wealth());
        for chain in ACCOUNT_CHAINS {
            let wallets = world.exchange_wallets(self.exchange, chain.family());
            let mut coins = vec![Coin::Native];
            coins.extend((0..world.tokens.len()).filter(|&place| world.tokens[place].chain == chain).map(Coin::Token));
            for coin in coins {
                let held = world.balance(chain, &wallets.hot, coin);
                let cents = world.cents(chain, coin, held, now);
                if cents > HOT_HIGH * wealth {
                    let _ = world.transfer(chain, now, (wallets.hot, wallets.cold), coin, held / 10 * 6);
                } else if cents < HOT_LOW * wealth {
                    let reserve = world.balance(chain, &wallets.cold, coin);
                    let raw = world.raw(chain, coin, HOT_HIGH * wealth / 3, now).min(reserve / 10 * 9);
                    if raw > 0 {
                        let _ = world.transfer(chain, now, (wallets.cold, wallets.hot), coin, raw);
                    }
                }
            }
            if world.worth(chain, &wallets.gas, Coin::Native, now) < 2_000_000 {
                let raw = world.raw(chain, Coin::Native, 4_000_000, now);
                let _ = world.transfer(chain, now, (wallets.hot, wallets.gas), Coin::Native, raw);
            }
        }
        self.arbitrage(world, now);
    }

    /// Exchanges now and then settle with each other.
    fn arbitrage(&mut self, world: &mut World, now: i64) {
        if !self.stream.chance(0.4) {
            return;
        }
        let count = world.exchanges.len();
        let other = (self.exchange + 1 + self.stream.index(count - 1)) % count;
        let chain = *self.stream.pick(&ACCOUNT_CHAINS);
        let from = world.hot_wallet(self.exchange, chain.family());
        let to = world.hot_wallet(other, chain.family());
        let coin = world.token(chain, "USDT");
        let raw = world.raw(chain, coin, self.stream.cents(60_000.0, 0.7) / 100_000 * 100_000 + 100_000, now);
        let _ = world.transfer(chain, now, (from, to), coin, raw);
    }

    /// Once a day: gathers the coins of deposits, and moves a surplus to the cold wallet.
    fn review_bitcoin(&mut self, world: &mut World, now: i64) {
        let exchange = &world.exchanges[self.exchange];
        let (wallet, cold) = (exchange.wallet, exchange.cold_wallet);
        let wealth = world.preset.wealth();
        for _ in 0..wealth.min(40) {
            if world.bitcoin.coin_count(wallet) <= 45 {
                break;
            }
            let to = world.bitcoin.own(wallet);
            if world.bitcoin.gather(now, wallet, if wealth > 1 { 150 } else { 40 }, to).is_err() {
                break;
            }
        }
        let surplus = world.bitcoin.spendable(wallet, now);
        if surplus > 400 * COIN * wealth {
            let to = world.bitcoin.receiving(cold);
            let _ = world.bitcoin.pay(now, wallet, &[(to, surplus / 2 / COIN * COIN)]);
        }
        if surplus < 40 * COIN * wealth {
            let to = world.bitcoin.own(wallet);
            let reserve = world.bitcoin.spendable(cold, now);
            let amount = (reserve / 2).min(150 * COIN * wealth);
            if amount > COIN {
                let _ = world.bitcoin.pay(now, cold, &[(to, amount)]);
            }
        }
    }
}
