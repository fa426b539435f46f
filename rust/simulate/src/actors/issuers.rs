//! Issuers of the well-known tokens: they mint at the start, sell to exchanges, and mint and burn as time goes by.

use headwater_types::{Address, Amount};

use super::Actor;
use crate::abi;
use crate::book::{Call, Effect};
use crate::clock::{DAY, START};
use crate::random::Stream;
use crate::tokens::Token;
use crate::world::{ACCOUNT_CHAINS, Coin, World};

/// First supply per exchange and bridge vault, in cents.
const FIRST_SUPPLY_CENTS: u64 = 900_000_000;

/// Starts one issuer per token. Wrapped coins have none: people wrap them.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for place in 0..world.tokens.len() {
        let token = &world.tokens[place];
        if token.symbol.starts_with('W') {
            continue;
        }
        let (chain, owner) = (token.chain, format!("issuer-{}", token.symbol));
        let treasury = world.treasury(place);
        let coins = Amount::from_u128(30 * 10_u128.pow(u32::from(chain.native_decimals())));
        let fund = if chain.family() == headwater_types::Family::Tron { Amount::from(9_000_000_000) } else { coins };
        if world.book(chain).balance(&treasury, headwater_types::Asset::Native).is_zero() {
            world.book(chain).allocate(treasury, fund);
        }
        let stream = Stream::new(world.seed, &format!("{owner}/{chain}"));
        let delay = i64::try_from(place).expect("few tokens") * 60;
        actors.push(Box::new(Issuer { place, treasury, stream, started: false, delay }));
    }
    actors
}

/// Returns whether the bridges start with some of a token.
fn bridged(token: &Token) -> bool {
    token.verified() && matches!(token.symbol.as_str(), "USDT" | "USDC") && ACCOUNT_CHAINS.contains(&token.chain)
}

/// Fills the bridges where transfers over them went one way for so long that little is left to pay out.
pub(crate) fn fill_bridges(world: &mut World, now: i64) {
    let places: Vec<_> = (0..world.tokens.len()).filter(|&place| bridged(&world.tokens[place])).collect();
    for place in places {
        let (chain, coin) = (world.tokens[place].chain, Coin::Token(place));
        let purses = world.bridge_purses(chain);
        let share = world.raw(chain, coin, FIRST_SUPPLY_CENTS * world.preset.wealth() / purses.len() as u64, now);
        for purse in purses {
            if world.balance(chain, &purse, coin) < share / 4 {
                let treasury = world.treasury(place);
                mint(world, now, (place, treasury), share);
                let _ = world.transfer(chain, now, (treasury, purse), coin, share);
            }
        }
    }
}

fn mint(world: &mut World, now: i64, (place, treasury): (usize, Address), raw: u128) {
    let token = &world.tokens[place];
    let (chain, contract) = (token.chain, token.contract);
    let amount = Amount::from_u128(raw);
    let words = [abi::account(&treasury), abi::amount(amount)];
    let mut call = Call::contract(treasury, contract, 62_000, abi::call("mint(address,uint256)", &words));
    let from = world.book(chain).zero();
    call.effects.push(Effect::Token { contract, from, to: treasury, amount });
    let _ = world.book(chain).send(now, call);
}

struct Issuer {
    place: usize,
    treasury: Address,
    stream: Stream,
    started: bool,
    delay: i64,
}

impl Actor for Issuer {
    fn first_wake(&self) -> i64 {
        START + 60 + self.delay
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        if self.started {
            self.adjust(world, now);
        } else {
            self.start(world, now);
            self.started = true;
        }
        Some(now + self.stream.secs(6 * DAY, 12 * DAY))
    }
}

impl Issuer {
    fn start(&mut self, world: &mut World, now: i64) {
        let chain = world.tokens[self.place].chain;
        let coin = Coin::Token(self.place);
        let share = world.raw(chain, coin, FIRST_SUPPLY_CENTS * world.preset.wealth(), now);
        let exchanges = world.exchanges.len() as u128;
        mint(world, now, (self.place, self.treasury), share * (exchanges + 3));
        let mut buyers: Vec<_> = Vec::new();
        for exchange in 0..world.exchanges.len() {
            buyers.push((world.hot_wallet(exchange, chain.family()), share / 4));
            buyers.push((world.cold_wallet(exchange, chain.family()), share));
        }
        if bridged(&world.tokens[self.place]) {
            let purses = world.bridge_purses(chain);
            let of_purse = share / purses.len() as u128;
            buyers.extend(purses.into_iter().map(|purse| (purse, of_purse)));
        }
        for (buyer, raw) in buyers {
            let _ = world.transfer(chain, now, (self.treasury, buyer), coin, raw);
        }
    }

    fn burn(&self, world: &mut World, now: i64, raw: u128) {
        let token = &world.tokens[self.place];
        let (chain, contract) = (token.chain, token.contract);
        let amount = Amount::from_u128(raw);
        let input = abi::call("burn(uint256)", &[abi::amount(amount)]);
        let mut call = Call::contract(self.treasury, contract, 48_000, input);
        let to = world.book(chain).zero();
        call.effects.push(Effect::Token { contract, from: self.treasury, to, amount });
        let _ = world.book(chain).send(now, call);
    }

    /// Demand grows: mints and sells. It shrinks: buys back from an exchange and burns.
    fn adjust(&mut self, world: &mut World, now: i64) {
        let chain = world.tokens[self.place].chain;
        let coin = Coin::Token(self.place);
        let exchange = self.stream.index(world.exchanges.len());
        let hot = world.hot_wallet(exchange, chain.family());
        let cents = self.stream.cents(250_000.0, 0.6) / 1_000_000 * 1_000_000 + 1_000_000;
        let cents = cents * world.preset.wealth();
        let raw = world.raw(chain, coin, cents, now);
        if self.stream.chance(0.6) {
            mint(world, now, (self.place, self.treasury), raw);
            let _ = world.transfer(chain, now, (self.treasury, hot), coin, raw);
        } else if world.transfer(chain, now, (hot, self.treasury), coin, raw).is_ok() {
            self.burn(world, now, raw);
        }
    }
}
