//! Decentralised exchanges as those who swap see them: pools of two tokens behind a router.

pub(crate) mod pool;

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use headwater_types::{Address, Amount, Chain};

use self::pool::{Leg, Pool};
use super::{Coin, World};
use crate::abi;
use crate::book::{Call, Effect, Insufficient, Receipt};
use crate::gas::Quote;
use crate::identity::zero;
use crate::truth::Role;

/// The exchanges; every chain has both.
pub(crate) const DEXES: [&str; 2] = ["dex-tidepool", "dex-kestrel"];

/// All pools, and the swaps that wait for a block.
#[derive(Default)]
pub(crate) struct Dex {
    /// The pools; those of the table first, those of new tokens behind them.
    pub(crate) pools: Vec<Pool>,
    pub(crate) routers: BTreeMap<(Chain, usize), Address>,
    pub(crate) factories: BTreeMap<(Chain, usize), Address>,
    /// Allowances in being, by a hash of owner, spender and token: there may be millions.
    approved: HashSet<u64>,
    pending: Vec<SwapOrder>,
}

/// A swap that somebody wants.
#[derive(Debug, Clone)]
pub(crate) struct SwapOrder {
    /// The user.
    pub(crate) user: Address,
    /// The chain.
    pub(crate) chain: Chain,
    /// The exchange.
    pub(crate) dex: usize,
    /// The coin that is paid and the one that is wanted.
    pub(crate) coins: (Coin, Coin),
    /// The amount that is paid.
    pub(crate) raw: u128,
    /// The maximum loss against the price of now, in ten-thousandths; a swap that would bring less fails.
    pub(crate) slippage_bp: u128,
    /// The least it may bring, fixed when the order is given.
    pub(crate) least: u128,
}

/// The outcome of a swap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SwapOutcome {
    /// The transaction.
    pub(crate) receipt: Receipt,
    /// The amount that it brought; 0 when it failed.
    pub(crate) got: u128,
}

/// The wrapped coin of a chain.
pub(crate) fn wrapped_symbol(chain: Chain) -> &'static str {
    match chain {
        Chain::ETHEREUM => "WETH",
        Chain::BSC => "WBNB",
        _ => "WTRX",
    }
}

impl World {
    /// Makes an empty pool known; gives its place.
    pub(crate) fn open_pool(&mut self, chain: Chain, dex: usize, mut tokens: [usize; 2]) -> usize {
        tokens.sort_by_key(|&place| self.tokens[place].contract);
        let contracts = tokens.map(|place| self.tokens[place].contract);
        let owner = DEXES[dex];
        let name = format!("{owner}/pair/{chain}/{}/{}", contracts[0], contracts[1]);
        let pair = self.account(chain.family(), &name, Role::DexPool, owner);
        self.add_contract(chain, pair, Role::DexPool, owner);
        self.dex.pools.push(Pool { chain, dex, pair, tokens, contracts, reserves: [0; 2], shares: 0 });
        self.dex.pools.len() - 1
    }

    /// The router of an exchange.
    pub(crate) fn router(&self, chain: Chain, dex: usize) -> Address {
        self.dex.routers[&(chain, dex)]
    }

    /// The factory of an exchange.
    pub(crate) fn factory(&self, chain: Chain, dex: usize) -> Address {
        self.dex.factories[&(chain, dex)]
    }

    /// The wrapped coin of a chain, by place.
    pub(crate) fn wrapped(&self, chain: Chain) -> usize {
        match self.token(chain, wrapped_symbol(chain)) {
            Coin::Token(place) => place,
            Coin::Native => unreachable!("a wrapped coin is a token"),
        }
    }

    fn token_of(&self, chain: Chain, coin: Coin) -> usize {
        if let Coin::Token(place) = coin { place } else { self.wrapped(chain) }
    }

    /// A pool of one exchange for two tokens, if it has any reserves.
    pub(crate) fn pool_of(&self, chain: Chain, dex: usize, tokens: [usize; 2]) -> Option<usize> {
        self.dex.pools.iter().position(|pool| {
            pool.chain == chain
                && pool.dex == dex
                && pool.shares > 0
                && tokens.iter().all(|&token| pool.side(token).is_some())
        })
    }

    /// The swaps that turn `raw` of one coin into another, directly or over the wrapped coin.
    pub(crate) fn plan_swap(&self, order: &SwapOrder) -> Option<Vec<Leg>> {
        let SwapOrder { chain, dex, coins, raw, .. } = *order;
        let (from, to) = (self.token_of(chain, coins.0), self.token_of(chain, coins.1));
        let path = if let Some(pool) = self.pool_of(chain, dex, [from, to]) {
            vec![pool]
        } else {
            let middle = self.wrapped(chain);
            vec![self.pool_of(chain, dex, [from, middle])?, self.pool_of(chain, dex, [middle, to])?]
        };
        let (mut token, mut paid) = (from, raw);
        let mut legs = Vec::new();
        for pool in path {
            let held = &self.dex.pools[pool];
            let side = held.side(token)?;
            let got = held.out(side, paid);
            legs.push(Leg { pool, side, paid, got });
            (token, paid) = (held.tokens[1 - side], got);
        }
        (paid > 0).then_some(legs)
    }

    /// Allows a spender to take any amount of a token, once.
    pub(crate) fn approve_once(
        &mut self,
        chain: Chain,
        now: i64,
        (owner, spender): (Address, Address),
        token: usize,
    ) -> Result<(), Insufficient> {
        let mut hasher = DefaultHasher::new();
        (owner, spender, self.tokens[token].contract).hash(&mut hasher);
        let key = hasher.finish();
        if !self.dex.approved.contains(&key) {
            let call = self.approve_call(owner, spender, token, Amount::MAX);
            self.book(chain).send(now, call)?;
            self.dex.approved.insert(key);
        }
        Ok(())
    }

    /// Swaps through the router, now.
    pub(crate) fn swap(&mut self, now: i64, order: &SwapOrder) -> Result<SwapOutcome, Insufficient> {
        if let Coin::Token(token) = order.coins.0 {
            let router = self.router(order.chain, order.dex);
            self.approve_once(order.chain, now, (order.user, router), token)?;
        }
        let quote = self.book(order.chain).quote(now, 150_000);
        self.swap_quoted(now, order, quote)
    }

    /// Swaps through the router at this fee; fails on chain when it would bring less than the least.
    pub(crate) fn swap_quoted(
        &mut self,
        now: i64,
        order: &SwapOrder,
        quote: Quote,
    ) -> Result<SwapOutcome, Insufficient> {
        let legs = self.plan_swap(order).ok_or(Insufficient)?;
        let got = legs.last().map_or(0, |leg| leg.got);
        let mut call = self.router_call(order, &legs);
        if got < order.least {
            call.effects.clear();
            call.failure = Some("UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT");
            let receipt = self.book(order.chain).send_quoted(now, call, quote)?;
            return Ok(SwapOutcome { receipt, got: 0 });
        }
        let receipt = self.book(order.chain).send_quoted(now, call, quote)?;
        self.apply_legs(&legs);
        Ok(SwapOutcome { receipt, got })
    }

    /// Counts swaps that were sent.
    pub(crate) fn apply_legs(&mut self, legs: &[Leg]) {
        for &leg in legs {
            self.dex.pools[leg.pool].apply(leg);
        }
    }

    /// The events of swaps behind the first transfer into the first pool.
    pub(crate) fn leg_effects(&self, legs: &[Leg], sender: Address, to: Address) -> Vec<Effect> {
        let next = legs.iter().skip(1).map(|leg| self.dex.pools[leg.pool].pair).chain([to]);
        legs.iter().zip(next).flat_map(|(leg, to)| self.dex.pools[leg.pool].swap_effects(*leg, sender, to)).collect()
    }

    fn router_call(&self, order: &SwapOrder, legs: &[Leg]) -> Call {
        let SwapOrder { user, chain, dex, coins, raw, least, .. } = *order;
        let router = self.router(chain, dex);
        let first = &self.dex.pools[legs[0].pool];
        let wrapped = self.tokens[self.wrapped(chain)].contract;
        let amount = Amount::from_u128(raw);
        let signature = match coins {
            (Coin::Native, _) => "swapExactETHForTokens(uint256,address[],address,uint256)",
            (_, Coin::Native) => "swapExactTokensForETH(uint256,uint256,address[],address,uint256)",
            _ => "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)",
        };
        let words = [abi::amount(amount), abi::amount(Amount::from_u128(least)), abi::account(&user)];
        let mut call = Call::contract(user, router, 0, abi::call(signature, &words));
        if coins.0 == Coin::Native {
            call.value = amount;
            call.effects.extend(self.wrap_effects(chain, router, raw));
        }
        let payer = if coins.0 == Coin::Native { router } else { user };
        call.effects.push(Effect::Token {
            contract: first.contracts[legs[0].side],
            from: payer,
            to: first.pair,
            amount,
        });
        let to = if coins.1 == Coin::Native { router } else { user };
        call.effects.extend(self.leg_effects(legs, router, to));
        if coins.1 == Coin::Native {
            let got = Amount::from_u128(legs[legs.len() - 1].got);
            let to = zero(chain.family());
            call.effects.extend([
                Effect::Token { contract: wrapped, from: router, to, amount: got },
                Effect::Log {
                    address: wrapped,
                    topics: vec![abi::topic("Withdrawal(address,uint256)"), abi::account(&router)],
                    data: abi::amount(got).to_vec(),
                },
                Effect::Internal(wrapped, router, got),
                Effect::Internal(router, user, got),
            ]);
        }
        call
    }

    /// Returns the effects when a contract wraps coins that it holds.
    fn wrap_effects(&self, chain: Chain, holder: Address, raw: u128) -> [Effect; 3] {
        let contract = self.tokens[self.wrapped(chain)].contract;
        let amount = Amount::from_u128(raw);
        [
            Effect::Internal(holder, contract, amount),
            Effect::Token { contract, from: zero(chain.family()), to: holder, amount },
            Effect::Log {
                address: contract,
                topics: vec![abi::topic("Deposit(address,uint256)"), abi::account(&holder)],
                data: abi::amount(amount).to_vec(),
            },
        ]
    }

    /// Wraps coins of an account.
    pub(crate) fn wrap(&mut self, chain: Chain, now: i64, owner: Address, raw: u128) -> Result<Receipt, Insufficient> {
        let contract = self.tokens[self.wrapped(chain)].contract;
        let mut call = Call::contract(owner, contract, 45_000, abi::call("deposit()", &[]));
        call.value = Amount::from_u128(raw);
        // The value of the call is what the first effect would move.
        call.effects.extend(self.wrap_effects(chain, owner, raw).into_iter().skip(1));
        self.book(chain).send(now, call)
    }

    /// Gives an order that the next block takes. Its least is fixed by the prices of now.
    pub(crate) fn order_swap(&mut self, mut order: SwapOrder) -> bool {
        let Some(legs) = self.plan_swap(&order) else { return false };
        let expected = legs.last().map_or(0, |leg| leg.got);
        order.least = expected / 10_000 * (10_000 - order.slippage_bp.min(10_000));
        self.dex.pending.push(order);
        true
    }

    /// Takes the orders that wait.
    pub(crate) fn take_orders(&mut self) -> Vec<SwapOrder> {
        std::mem::take(&mut self.dex.pending)
    }
}
