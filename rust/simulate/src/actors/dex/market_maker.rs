//! Market makers: they trade the large pools back to the price of the world, out of their own purse.

use headwater_types::{Address, Amount, Chain};

use crate::actors::Actor;
use crate::clock::{HOUR, START};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::dex::SwapOrder;
use crate::world::dex::pool::{Pool, geometric};
use crate::world::{ACCOUNT_CHAINS, Coin, World};

/// A pool this far from the price of the world is worth a trade, in hundredths.
const GAP_PERCENT: u64 = 3;

/// One market maker per chain.
pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for chain in ACCOUNT_CHAINS {
        let owner = format!("market-maker-{chain}");
        let address = world.account(chain.family(), &owner, Role::MarketMaker, &owner);
        let coins = world.raw(chain, Coin::Native, 60_000_000 * world.preset.wealth(), START);
        world.book(chain).allocate(address, Amount::from_u128(coins));
        actors.push(Box::new(MarketMaker { chain, address, stream: Stream::new(world.seed, &owner), owner }));
    }
    actors
}

struct MarketMaker {
    chain: Chain,
    address: Address,
    owner: String,
    stream: Stream,
}

impl Actor for MarketMaker {
    fn first_wake(&self) -> i64 {
        START + 12 * HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        for place in 0..world.dex.pools.len() {
            let pool = &world.dex.pools[place];
            let traded = pool.chain == self.chain && pool.dex == 0 && pool.shares > 0;
            if traded && pool.tokens.iter().all(|&token| world.tokens[token].price.is_some()) {
                let pool = pool.clone();
                self.level(world, now, &pool);
            }
        }
        Some(now + self.stream.secs(14 * HOUR, 40 * HOUR))
    }
}

impl MarketMaker {
    /// Pays in the side that is worth less, until both are worth the same.
    fn level(&mut self, world: &mut World, now: i64, pool: &Pool) {
        let coins =
            pool.tokens.map(|token| if token == world.wrapped(self.chain) { Coin::Native } else { Coin::Token(token) });
        let worth = [0, 1].map(|side| world.cents(self.chain, coins[side], pool.reserves[side], now));
        let side = usize::from(worth[1] < worth[0]);
        let target = geometric(u128::from(worth[0]), u128::from(worth[1]));
        let gap = u64::try_from(target).unwrap_or(u64::MAX).saturating_sub(worth[side]);
        if gap < worth[side] / 100 * GAP_PERCENT {
            return;
        }
        let raw = world.raw(self.chain, coins[side], gap, now);
        let held = world.balance(self.chain, &self.address, coins[side]);
        let reserve = world.raw(self.chain, Coin::Native, 200_000, now);
        let spare = if coins[side] == Coin::Native { held.saturating_sub(reserve) } else { held };
        if spare < raw {
            world.withdraw(0, self.chain, self.address, coins[side], raw * 3);
            return;
        }
        let order = SwapOrder {
            user: self.address,
            chain: self.chain,
            dex: pool.dex,
            coins: (coins[side], coins[1 - side]),
            raw,
            slippage_bp: 0,
            least: 0,
        };
        if world.swap(now, &order).is_err() {
            return;
        }
        // What piles up goes back to the exchange.
        let piled = world.balance(self.chain, &self.address, coins[1 - side]);
        if world.cents(self.chain, coins[1 - side], piled, now) > 30_000_000 * world.preset.wealth()
            && coins[1 - side] != Coin::Native
        {
            let _ = world.deposit(0, self.chain, now, (&self.owner, self.address), (coins[1 - side], piled / 2));
        }
    }
}
