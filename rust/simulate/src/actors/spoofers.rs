//! People who make tokens that nobody vouches for: hopeful ones, copies of well-known symbols, and bait.

use headwater_types::{Address, Amount, Chain};

use super::Actor;
use crate::abi;
use crate::book::{Call, Effect};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::tokens::Token;
use crate::truth::Role;
use crate::world::{Coin, World};

struct Plan {
    chain: Chain,
    symbol: &'static str,
    name: &'static str,
    decimals: u8,
    role: Role,
    day: i64,
    /// The number of people are given some.
    gifts: usize,
}

/// The copies carry symbols of well-known tokens, one of them with a Cyrillic letter.
#[rustfmt::skip]
const PLANS: [Plan; 9] = [
    Plan { chain: Chain::ETHEREUM, symbol: "HRBR", name: "Harbor Coin", decimals: 18, role: Role::UnverifiedToken, day: 3, gifts: 60 },
    Plan { chain: Chain::ETHEREUM, symbol: "USDT", name: "Tether USD", decimals: 6, role: Role::SpoofedToken, day: 21, gifts: 120 },
    Plan { chain: Chain::ETHEREUM, symbol: "USD\u{0421}", name: "USD Coin", decimals: 6, role: Role::SpoofedToken, day: 47, gifts: 70 },
    Plan { chain: Chain::ETHEREUM, symbol: "VISIT CLAIM-HARBOR.EXAMPLE", name: "Reward voucher", decimals: 0, role: Role::SpoofedToken, day: 62, gifts: 80 },
    Plan { chain: Chain::BSC, symbol: "FERRET", name: "Moon Ferret", decimals: 9, role: Role::UnverifiedToken, day: 9, gifts: 110 },
    Plan { chain: Chain::BSC, symbol: "PBBL", name: "Pebble", decimals: 18, role: Role::UnverifiedToken, day: 40, gifts: 50 },
    Plan { chain: Chain::BSC, symbol: "BNB", name: "BNB", decimals: 18, role: Role::SpoofedToken, day: 71, gifts: 60 },
    Plan { chain: Chain::TRON, symbol: "USDT", name: "Tether USD", decimals: 6, role: Role::SpoofedToken, day: 14, gifts: 140 },
    Plan { chain: Chain::TRON, symbol: "LLAMA", name: "Llama Token", decimals: 6, role: Role::UnverifiedToken, day: 30, gifts: 45 },
];
/// Gifts of one transaction.
const GIFTS_OF_A_CALL: usize = 20;

/// Starts them; each has a little of the native coin from the beginning.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    let rounds = world.preset.rarities(1);
    let days = world.preset.days();
    for (place, plan) in PLANS.iter().cycle().take(rounds * PLANS.len()).enumerate() {
        // Later rounds come at other times of the period.
        let round = i64::try_from(place / PLANS.len()).expect("few rounds");
        let day = plan.day + round * 41 % (days - 100);
        let owner = format!("deployer-{place}");
        let address = world.account(plan.chain.family(), &owner, Role::TokenDeployer, &owner);
        let coins = if plan.chain == Chain::TRON { 4_000 * 10_u128.pow(6) } else { 15 * 10_u128.pow(17) };
        world.book(plan.chain).allocate(address, Amount::from_u128(coins));
        let stream = Stream::new(world.seed, &owner);
        let gifts = world.preset.services(plan.gifts);
        actors.push(Box::new(Deployer { plan, owner, address, stream, day, gifts, token: None, given: 0 }));
    }
    actors
}

struct Deployer {
    plan: &'static Plan,
    owner: String,
    address: Address,
    stream: Stream,
    day: i64,
    gifts: usize,
    token: Option<usize>,
    given: usize,
}

impl Actor for Deployer {
    fn first_wake(&self) -> i64 {
        START + self.day * DAY + 9 * HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        match self.token {
            None => self.deploy(world, now),
            Some(token) if self.given < self.gifts => self.give(world, now, token),
            Some(_) => return None,
        }
        Some(now + self.stream.secs(HOUR / 2, 9 * HOUR))
    }
}

impl Deployer {
    /// Creates the contract, which mints everything to its maker.
    fn deploy(&mut self, world: &mut World, now: i64) {
        let Plan { chain, symbol, name, decimals, role, .. } = *self.plan;
        let contract = world.book(chain).next_contract(&self.address);
        let token = Token {
            chain,
            contract,
            symbol: symbol.to_owned(),
            name: name.to_owned(),
            decimals,
            price: None,
            coingecko_id: None,
        };
        // The bait promises more than fits 128 bits: real bait does.
        let supply = if decimals == 0 {
            let mut bytes = [0; 32];
            bytes[6] = 1;
            Amount::from_be_bytes(bytes)
        } else {
            token.units(1_000_000_000)
        };
        let zero = world.book(chain).zero();
        let mut call = Call::plain(self.address, self.address, Amount::ZERO);
        call.to = None;
        call.gas = 1_150_000;
        call.input = abi::call("constructor(string,string,uint256)", &[abi::amount(supply)]);
        call.effects.push(Effect::Token { contract, from: zero, to: self.address, amount: supply });
        if world.book(chain).send(now, call).is_ok() {
            world.directory.file(contract, role, &self.owner);
            self.token = Some(world.hand_on(token));
        }
    }

    /// Gives some to people who did not ask, many in one call.
    fn give(&mut self, world: &mut World, now: i64, token: usize) {
        let chain = self.plan.chain;
        let contract = world.tokens[token].contract;
        let mut call =
            Call::contract(self.address, contract, 60_000, abi::call("multiTransfer(address[],uint256[])", &[]));
        let count = GIFTS_OF_A_CALL.min(self.gifts - self.given);
        for _ in 0..count {
            let number = self.stream.index(world.people.len());
            let to = world.people[number].account(chain.family());
            let units = self.stream.cents(25.0, 1.0);
            let amount = if self.plan.decimals == 0 {
                let mut bytes = [0; 32];
                bytes[8] = u8::try_from(1 + units % 200).expect("below 201");
                Amount::from_be_bytes(bytes)
            } else {
                world.tokens[token].units(units)
            };
            call.effects.push(Effect::Token { contract, from: self.address, to, amount });
            call.gas += 26_000;
        }
        if world.book(chain).send(now, call).is_ok() {
            self.given += count;
        } else {
            // Out of coins for fees: an exchange sells some more.
            let raw = world.raw(chain, Coin::Native, 20_000, now);
            world.withdraw(1, chain, self.address, Coin::Native, raw);
        }
    }
}
