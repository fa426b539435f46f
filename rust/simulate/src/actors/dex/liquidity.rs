//! Liquidity providers: one per pool, who comes at the start and adds and takes a little now and then.

use headwater_types::{Address, Amount, Chain};

use crate::abi;
use crate::actors::Actor;
use crate::book::{Call, Effect, Insufficient, Receipt};
use crate::clock::{DAY, HOUR, START};
use crate::identity::zero;
use crate::random::Stream;
use crate::truth::Role;
use crate::world::dex::pool::{MINIMUM_SHARES, geometric, share};
use crate::world::{Coin, World};

/// One provider for every pool that is there, with this worth of each side in cents.
pub(super) fn settle(world: &mut World, worth: impl Iterator<Item = u64>) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for (pool, cents) in worth.enumerate() {
        let chain = world.dex.pools[pool].chain;
        let owner = format!("liquidity-{pool:02}");
        let address = world.account(chain.family(), &owner, Role::LiquidityProvider, &owner);
        let coins = world.raw(chain, Coin::Native, cents + cents / 5 + 400_000, START);
        world.book(chain).allocate(address, Amount::from_u128(coins));
        let stream = Stream::new(world.seed, &owner);
        actors.push(Box::new(Provider { pool, address, cents, stream, stage: Stage::Buy }));
    }
    actors
}

struct Provider {
    pool: usize,
    address: Address,
    cents: u64,
    stream: Stream,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Buy,
    Open,
    Care,
}

impl Actor for Provider {
    fn first_wake(&self) -> i64 {
        START + 5 * HOUR + i64::try_from(self.pool).unwrap_or(0) * 600
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        match self.stage {
            Stage::Buy => self.buy(world, now),
            Stage::Open => {
                let raws = world.dex.pools[self.pool].tokens.map(|token| self.worth(world, now, token, 100));
                let _ = world.add_liquidity(now, self.pool, self.address, raws);
                self.stage = Stage::Care;
            }
            Stage::Care => self.care(world, now),
        }
        Some(now + if self.stage == Stage::Care { self.stream.secs(4 * DAY, 12 * DAY) } else { HOUR })
    }
}

impl Provider {
    fn worth(&self, world: &World, now: i64, token: usize, percent: u128) -> u128 {
        let chain = world.dex.pools[self.pool].chain;
        let raw = world.raw(chain, Coin::Token(token), self.cents, now) / 100 * percent;
        raw.min(world.balance(chain, &self.address, Coin::Token(token)))
    }

    /// Wraps coins, and buys the other token over the counter from what exchanges keep.
    fn buy(&mut self, world: &mut World, now: i64) {
        let chain = world.dex.pools[self.pool].chain;
        let wrapped = world.wrapped(chain);
        for token in world.dex.pools[self.pool].tokens {
            let raw = world.raw(chain, Coin::Token(token), self.cents + self.cents / 10, now);
            if token == wrapped {
                let _ = world.wrap(chain, now, self.address, raw);
                continue;
            }
            for exchange in 0..world.exchanges.len() {
                let cold = world.cold_wallet(exchange, chain.family());
                if world.transfer(chain, now, (cold, self.address), Coin::Token(token), raw).is_ok() {
                    break;
                }
            }
        }
        self.stage = Stage::Open;
    }

    /// Adds a tenth of what is left, or takes out a twentieth of the shares.
    fn care(&mut self, world: &mut World, now: i64) {
        let pool = &world.dex.pools[self.pool];
        let (chain, pair, shares) = (pool.chain, pool.pair, pool.shares);
        if self.stream.chance(0.5) {
            let raws = pool.tokens.map(|token| world.balance(chain, &self.address, Coin::Token(token)) / 10);
            if raws.iter().all(|&raw| raw > 0) {
                let _ = world.add_liquidity(now, self.pool, self.address, raws);
            }
        } else if let Some(held) = world.shares_of(chain, &self.address, pair) {
            let _ = world.remove_liquidity(now, self.pool, self.address, (held / 20).min(shares / 10));
        }
    }
}

impl World {
    /// Shares of a pool that an account holds.
    pub(crate) fn shares_of(&self, chain: Chain, owner: &Address, pair: Address) -> Option<u128> {
        self.read(chain).balance(owner, headwater_types::Asset::Token(pair)).to_u128().filter(|&held| held > 0)
    }

    /// Adds liquidity through the router: at the ratio of the pool, at most these amounts; the first sets the ratio.
    pub(crate) fn add_liquidity(
        &mut self,
        now: i64,
        place: usize,
        owner: Address,
        most: [u128; 2],
    ) -> Result<Receipt, Insufficient> {
        let pool = self.dex.pools[place].clone();
        let router = self.router(pool.chain, pool.dex);
        for token in pool.tokens {
            self.approve_once(pool.chain, now, (owner, router), token)?;
        }
        let mut raws = most;
        if pool.shares > 0 {
            let second = share(most[0], pool.reserves[1], pool.reserves[0]);
            raws = if second <= most[1] {
                [most[0], second]
            } else {
                [share(most[1], pool.reserves[0], pool.reserves[1]), most[1]]
            };
        }
        let minted = if pool.shares == 0 {
            geometric(raws[0], raws[1]).checked_sub(MINIMUM_SHARES).ok_or(Insufficient)?
        } else {
            let by = [0, 1].map(|side| share(raws[side], pool.shares, pool.reserves[side]));
            by[0].min(by[1])
        };
        if minted == 0 || raws.contains(&0) {
            return Err(Insufficient);
        }
        let words = raws.map(|raw| abi::amount(Amount::from_u128(raw)));
        let signature = "addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)";
        let mut call = Call::contract(owner, router, 190_000, abi::call(signature, &words));
        let zero = zero(pool.chain.family());
        let mut mint = |to, raw| {
            call.effects.push(Effect::Token { contract: pool.pair, from: zero, to, amount: Amount::from_u128(raw) });
        };
        if pool.shares == 0 {
            mint(zero, MINIMUM_SHARES);
        }
        mint(owner, minted);
        let paid = [0, 1].map(|side| Effect::Token {
            contract: pool.contracts[side],
            from: owner,
            to: pool.pair,
            amount: Amount::from_u128(raws[side]),
        });
        if pool.shares == 0 {
            call.effects.insert(0, self.pair_created(place));
        }
        let mut after = pool.clone();
        after.reserves = [pool.reserves[0] + raws[0], pool.reserves[1] + raws[1]];
        let first = usize::from(pool.shares == 0);
        call.effects.splice(first..first, paid);
        call.effects.extend([after.sync(), pool.liquidity_log(router, None, raws)]);
        let receipt = self.book(pool.chain).send(now, call)?;
        after.shares += minted + if pool.shares == 0 { MINIMUM_SHARES } else { 0 };
        self.dex.pools[place] = after;
        Ok(receipt)
    }

    /// Takes out liquidity through the router.
    pub(crate) fn remove_liquidity(
        &mut self,
        now: i64,
        place: usize,
        owner: Address,
        shares: u128,
    ) -> Result<(Receipt, [u128; 2]), Insufficient> {
        let pool = self.dex.pools[place].clone();
        let router = self.router(pool.chain, pool.dex);
        let raws = [0, 1].map(|side| share(shares, pool.reserves[side], pool.shares));
        if raws.contains(&0) {
            return Err(Insufficient);
        }
        let amount = Amount::from_u128(shares);
        let signature = "removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)";
        let mut call = Call::contract(owner, router, 170_000, abi::call(signature, &[abi::amount(amount)]));
        let zero = zero(pool.chain.family());
        call.effects.push(Effect::Token { contract: pool.pair, from: owner, to: pool.pair, amount });
        call.effects.push(Effect::Token { contract: pool.pair, from: pool.pair, to: zero, amount });
        call.effects.extend([0, 1].map(|side| Effect::Token {
            contract: pool.contracts[side],
            from: pool.pair,
            to: owner,
            amount: Amount::from_u128(raws[side]),
        }));
        let mut after = pool.clone();
        after.reserves = [pool.reserves[0] - raws[0], pool.reserves[1] - raws[1]];
        after.shares -= shares;
        call.effects.extend([after.sync(), pool.liquidity_log(router, Some(owner), raws)]);
        let receipt = self.book(pool.chain).send(now, call)?;
        self.dex.pools[place] = after;
        Ok((receipt, raws))
    }

    fn pair_created(&self, place: usize) -> Effect {
        let pool = &self.dex.pools[place];
        let number = self.dex.pools[..=place].iter().filter(|other| (other.chain, other.dex) == (pool.chain, pool.dex));
        let topics = vec![
            abi::topic("PairCreated(address,address,address,uint256)"),
            abi::account(&pool.contracts[0]),
            abi::account(&pool.contracts[1]),
        ];
        let data = [abi::account(&pool.pair), abi::number(number.count() as u64)].concat();
        Effect::Log { address: self.factory(pool.chain, pool.dex), topics, data }
    }
}
