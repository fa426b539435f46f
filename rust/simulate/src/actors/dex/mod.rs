//! Actors of decentralised exchanges: those who feed the pools, who swap, and who lie in wait.

mod liquidity;
mod market_maker;
mod orders;
mod searcher;

use headwater_types::Chain;

use super::Actor;
use crate::truth::Role;
use crate::world::dex::DEXES;
use crate::world::{Coin, World};

/// Chain, exchange, both symbols, worth of one side at the start in thousands of dollars.
#[rustfmt::skip]
const PAIRS: [(Chain, usize, [&str; 2], u64); 12] = [
    (Chain::ETHEREUM, 0, ["WETH", "USDT"], 900),
    (Chain::ETHEREUM, 1, ["WETH", "USDT"], 160),
    (Chain::ETHEREUM, 0, ["WETH", "USDC"], 700),
    (Chain::ETHEREUM, 1, ["WETH", "USDC"], 120),
    (Chain::ETHEREUM, 0, ["DAI", "WETH"], 250),
    (Chain::ETHEREUM, 0, ["LINK", "WETH"], 200),
    (Chain::BSC, 0, ["WBNB", "USDT"], 500),
    (Chain::BSC, 1, ["WBNB", "USDT"], 90),
    (Chain::BSC, 0, ["BUSD", "WBNB"], 200),
    (Chain::BSC, 0, ["Cake", "WBNB"], 150),
    (Chain::TRON, 0, ["WTRX", "USDT"], 400),
    (Chain::TRON, 1, ["WTRX", "USDT"], 80),
];

/// Opens routers and pools; the providers fill them.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    for chain in crate::world::ACCOUNT_CHAINS {
        for (dex, owner) in DEXES.into_iter().enumerate() {
            let mut contract = |name: &str| {
                let contract =
                    world.account(chain.family(), &format!("{owner}/{name}/{chain}"), Role::DexRouter, owner);
                world.add_contract(chain, contract, Role::DexRouter, owner);
                contract
            };
            let (router, factory) = (contract("router"), contract("factory"));
            world.dex.routers.insert((chain, dex), router);
            world.dex.factories.insert((chain, dex), factory);
        }
    }
    for (chain, dex, symbols, _) in PAIRS {
        let places = symbols.map(|symbol| match world.token(chain, symbol) {
            Coin::Token(place) => place,
            Coin::Native => unreachable!("tokens of the table"),
        });
        world.open_pool(chain, dex, places);
    }
    let wealth = world.preset.wealth();
    let mut actors = liquidity::settle(world, PAIRS.iter().map(|pair| pair.3 * 100_000 * wealth));
    actors.extend(market_maker::settle(world));
    actors.extend(searcher::settle(world));
    actors.push(Box::new(orders::Blocks::new(world)));
    actors
}
