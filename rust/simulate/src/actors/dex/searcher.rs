//! Searchers: bots that trade around the swaps of others, and bots that buy in one pool what they sell in another.

use headwater_types::{Address, Amount, Chain, TxHash};

use crate::abi;
use crate::actors::Actor;
use crate::book::{Call, Effect, Receipt};
use crate::clock::{DAY, HOUR, START};
use crate::gas::Quote;
use crate::random::Stream;
use crate::truth::{Behaviour, Evidence, Role, Verdict};
use crate::world::dex::SwapOrder;
use crate::world::dex::pool::{Leg, Pool};
use crate::world::{Coin, World};

/// Gas of a trade of a bot.
const TRADE_GAS: u64 = 130_000;
/// Transactions that make a bot of the second kind what it is called, and the days they must span.
const BOT_TRANSACTIONS: u64 = 50;
const BOT_DAYS: i64 = 7;

/// A key and the contract that it trades through.
struct Bot {
    chain: Chain,
    owner: String,
    key: Address,
    contract: Option<Address>,
    coins_usd: u64,
}

impl Bot {
    fn new(world: &mut World, chain: Chain, owner: &str, coins_usd: u64) -> Self {
        let key = world.account(chain.family(), &format!("{owner}/key"), Role::MevBot, owner);
        let coins = world.raw(chain, Coin::Native, coins_usd * 100, START);
        world.book(chain).allocate(key, Amount::from_u128(coins));
        Self { chain, owner: owner.to_owned(), key, contract: None, coins_usd }
    }

    /// Creates the contract and gives it wrapped coins.
    fn deploy(&mut self, world: &mut World, now: i64) {
        let mut call = Call::plain(self.key, self.key, Amount::ZERO);
        call.to = None;
        call.gas = 1_400_000;
        call.input = abi::call("constructor(address)", &[abi::account(&self.key)]);
        let Ok(Receipt { created: Some(contract), .. }) = world.book(self.chain).send(now, call) else { return };
        world.file(contract, Role::MevBot, &self.owner);
        let raw = world.raw(self.chain, Coin::Native, self.coins_usd * 80, now);
        let wrapped = Coin::Token(world.wrapped(self.chain));
        if world.wrap(self.chain, now, self.key, raw).is_ok()
            && world.transfer(self.chain, now, (self.key, contract), wrapped, raw).is_ok()
        {
            self.contract = Some(contract);
        }
    }

    /// The transaction by which the contract trades along pools and ends with the proceeds.
    fn trade(&self, world: &World, contract: Address, legs: &[Leg]) -> Call {
        let mut call = Call::contract(self.key, contract, TRADE_GAS, abi::call("execute(bytes)", &[]));
        let first = &world.dex.pools[legs[0].pool];
        let amount = Amount::from_u128(legs[0].paid);
        call.effects.push(Effect::Token {
            contract: first.contracts[legs[0].side],
            from: contract,
            to: first.pair,
            amount,
        });
        call.effects.extend(world.leg_effects(legs, contract, contract));
        call
    }
}

/// Trades before and after a swap that moves the price.
pub(super) struct Sandwicher {
    bot: Bot,
    from: i64,
    /// The share of what it bought that it sells again, in hundredths.
    sells_percent: u128,
    attacks: u64,
}

impl Sandwicher {
    /// One that does what the name says on both EVM chains, and one that keeps so much that it is none.
    pub(super) fn all(world: &mut World) -> Vec<Self> {
        [
            // Asked first, as it soon gives up.
            (Chain::ETHEREUM, "searcher-tench", 97, 4),
            (Chain::ETHEREUM, "searcher-pike", 100, 10),
            (Chain::BSC, "searcher-gar", 100, 14),
        ]
        .into_iter()
        .map(|(chain, owner, sells_percent, day)| Self {
            bot: Bot::new(world, chain, owner, 220_000),
            from: START + day * DAY,
            sells_percent,
            attacks: 0,
        })
        .collect()
    }

    /// Sets up when its time has come.
    pub(super) fn prepare(&mut self, world: &mut World, now: i64) {
        if self.bot.contract.is_none() && now >= self.from {
            self.bot.deploy(world, now);
        }
    }

    /// Buys before the swap and sells after it, all in one block, if the swap still goes through and it pays.
    pub(super) fn attack(&mut self, world: &mut World, now: i64, order: &SwapOrder) -> bool {
        // The careless one has had its few.
        if self.sells_percent < 100 && self.attacks >= 6 {
            return false;
        }
        let Some(contract) = self.bot.contract.filter(|_| order.chain == self.bot.chain) else { return false };
        let Some(legs) = world.plan_swap(order).filter(|legs| legs.len() == 1) else { return false };
        let (place, side) = (legs[0].pool, legs[0].side);
        let pool = world.dex.pools[place].clone();
        if pool.tokens[side] != world.wrapped(order.chain) || legs[0].got < order.least {
            return false;
        }
        let purse = world.balance(order.chain, &contract, Coin::Token(pool.tokens[side]));
        let Some(plan) = Plan::best(&pool, side, order, purse) else { return false };
        let victim = world.book(order.chain).quote(now, 150_000);
        let before = world.book(order.chain).quote(now, TRADE_GAS);
        let after = world.book(order.chain).quote(now, TRADE_GAS);
        let (Some(before), Some(after)) = (priced(before, victim, 112), priced(after, victim, 100)) else {
            return false;
        };
        if plan.gain <= before.fee + after.fee {
            return false;
        }
        let buy = Leg { pool: place, side, paid: plan.paid, got: plan.bought };
        let call = self.bot.trade(world, contract, &[buy]);
        let Ok(bought) = world.book(order.chain).send_quoted(now, call, before) else { return false };
        world.apply_legs(&[buy]);
        let swapped = world.swap_quoted(now, order, victim);
        let back =
            plan.bought / 100 * self.sells_percent + if self.sells_percent == 100 { plan.bought % 100 } else { 0 };
        let sell = Leg { pool: place, side: 1 - side, paid: back, got: world.dex.pools[place].out(1 - side, back) };
        let call = self.bot.trade(world, contract, &[sell]);
        if let Ok(sold) = world.book(order.chain).send_quoted(now, call, after) {
            world.apply_legs(&[sell]);
            if swapped.is_ok_and(|swapped| swapped.got > 0) {
                self.attacks += 1;
                if self.attacks == 1 {
                    let verdict = if self.sells_percent == 100 { Verdict::Planted } else { Verdict::Innocent };
                    let cents = world.cents(order.chain, Coin::Native, plan.paid, now);
                    let evidence =
                        Evidence { count: 3, counterparties: 2, usd_cents: cents, first: bought.hash, last: sold.hash };
                    world.judge(order.chain, (contract, Behaviour::SandwichAttack, verdict), evidence);
                }
            }
        }
        true
    }
}

/// A quote at a share of another's price per gas, in hundredths.
fn priced(quote: Quote, other: Quote, percent: u128) -> Option<Quote> {
    let mut gas = quote.gas?;
    let price = other.gas?.paid.to_u128()? * percent / 100;
    gas.paid = Amount::from_u128(price);
    gas.named = gas.paid;
    Some(Quote { gas: Some(gas), fee: u128::from(gas.used) * price })
}

/// The expected result of an attack.
struct Plan {
    paid: u128,
    bought: u128,
    gain: u128,
}

impl Plan {
    /// The largest purchase after which the victim still gets its least.
    fn best(pool: &Pool, side: usize, order: &SwapOrder, purse: u128) -> Option<Self> {
        let try_out = |paid: u128| {
            let mut pool = pool.clone();
            let buy = Leg { pool: 0, side, paid, got: pool.out(side, paid) };
            pool.apply(buy);
            let victim = Leg { pool: 0, side, paid: order.raw, got: pool.out(side, order.raw) };
            pool.apply(victim);
            let back = pool.out(1 - side, buy.got);
            (victim.got >= order.least, buy.got, back)
        };
        let (mut low, mut high) = (0, purse.min(pool.reserves[side] / 4));
        while low + 1 < high {
            let middle = low.midpoint(high);
            if try_out(middle).0 { low = middle } else { high = middle }
        }
        let (fits, bought, back) = try_out(low);
        (fits && low > 0).then(|| Self { paid: low, bought, gain: back.saturating_sub(low) })
    }
}

/// Starts the bots that trade between pools.
pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    [
        (Chain::ETHEREUM, "searcher-swift", 140, 6),
        (Chain::BSC, "searcher-heron", 90, 9),
        (Chain::TRON, "searcher-dipper", BOT_TRANSACTIONS - 1, 3),
    ]
    .into_iter()
    .map(|(chain, owner, most, day)| -> Box<dyn Actor> {
        let bot = Bot::new(world, chain, owner, 90_000);
        let stream = Stream::new(world.seed, owner);
        Box::new(Leveller {
            bot,
            most,
            first: None,
            gained: 0,
            stated: false,
            done: 0,
            from: START + day * DAY,
            stream,
        })
    })
    .collect()
}

/// Buys in one pool and sells in another, in one transaction that begins and ends in the wrapped coin.
struct Leveller {
    bot: Bot,
    /// Trades after which it gives up.
    most: u64,
    first: Option<(i64, TxHash)>,
    gained: u128,
    /// True once the truth contains it.
    stated: bool,
    done: u64,
    from: i64,
    stream: Stream,
}

impl Actor for Leveller {
    fn first_wake(&self) -> i64 {
        self.from
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        match self.bot.contract {
            None => self.bot.deploy(world, now),
            Some(contract) => self.look(world, now, contract),
        }
        (self.done < self.most).then(|| now + self.stream.secs(6 * HOUR, 18 * HOUR))
    }
}

impl Leveller {
    fn look(&mut self, world: &mut World, now: i64, contract: Address) {
        let chain = self.bot.chain;
        let wrapped = world.wrapped(chain);
        let of_chain = |pool: &Pool| pool.chain == chain && pool.shares > 0 && pool.side(wrapped).is_some();
        let here: Vec<usize> = (0..world.dex.pools.len()).filter(|&place| of_chain(&world.dex.pools[place])).collect();
        for &buy in &here {
            for &sell in &here {
                if buy == sell || world.dex.pools[buy].tokens != world.dex.pools[sell].tokens || self.done >= self.most
                {
                    continue;
                }
                let Some(legs) = cycle(world, wrapped, (buy, sell)) else { continue };
                if legs[0].paid > world.balance(chain, &contract, Coin::Token(wrapped)) {
                    continue;
                }
                let quote = world.book(chain).quote(now, TRADE_GAS + 60_000);
                if legs[1].got - legs[0].paid <= quote.fee {
                    continue;
                }
                let call = self.bot.trade(world, contract, &legs);
                if let Ok(receipt) = world.book(chain).send_quoted(now, call, quote) {
                    world.apply_legs(&legs);
                    self.gained += legs[1].got - legs[0].paid;
                    self.count(world, now, contract, receipt.hash);
                }
            }
        }
    }

    fn count(&mut self, world: &mut World, now: i64, contract: Address, hash: TxHash) {
        self.done += 1;
        let (first, first_hash) = *self.first.get_or_insert((now, hash));
        let verdict = if self.most < BOT_TRANSACTIONS { Verdict::Innocent } else { Verdict::Planted };
        let long = now - first > BOT_DAYS * DAY;
        let enough =
            if verdict == Verdict::Planted { long && self.done >= BOT_TRANSACTIONS } else { self.done == self.most };
        if enough && !std::mem::replace(&mut self.stated, true) {
            let usd_cents = world.cents(self.bot.chain, Coin::Native, self.gained, now);
            let evidence = Evidence { count: self.done, counterparties: 2, usd_cents, first: first_hash, last: hash };
            world.judge(self.bot.chain, (contract, Behaviour::MevBot, verdict), evidence);
        }
    }
}

/// The best trade of the wrapped coin through both pools; `None` when none gains.
fn cycle(world: &World, wrapped: usize, (buy, sell): (usize, usize)) -> Option<[Leg; 2]> {
    let (first, second) = (&world.dex.pools[buy], &world.dex.pools[sell]);
    let (side, other) = (first.side(wrapped)?, 1 - second.side(wrapped)?);
    let legs = |paid: u128| {
        let middle = first.out(side, paid);
        [
            Leg { pool: buy, side, paid, got: middle },
            Leg { pool: sell, side: other, paid: middle, got: second.out(other, middle) },
        ]
    };
    let gain = |paid: u128| legs(paid)[1].got.saturating_sub(paid);
    // The gain rises to one top and falls; where it is nothing it is nothing to both sides, so the top is looked for
    // from small amounts up.
    let mut best = first.reserves[side] / 5_000;
    while gain(best * 6 / 5) > gain(best) {
        best = best * 6 / 5;
    }
    (gain(best) > 0).then(|| legs(best))
}
