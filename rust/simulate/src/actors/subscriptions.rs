//! A service that takes a monthly fee by allowance: by the same call as a drainer, but never more than a little.

use headwater_types::{Address, Amount, Chain, TxHash};

use super::Actor;
use crate::abi;
use crate::book::{Call, Effect, Insufficient};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::{Behaviour, Evidence, Role, Verdict};
use crate::world::{Coin, World};

const CHAIN: Chain = Chain::BSC;
const OWNER: &str = "business-subscription";

/// Opens the service.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let till = world.account(CHAIN.family(), &format!("{OWNER}/till"), Role::Business, OWNER);
    let coins = world.raw(CHAIN, Coin::Native, 40_000, START);
    world.book(CHAIN).allocate(till, Amount::from_u128(coins));
    vec![Box::new(Service { till, taken: Vec::new(), tries: 0, stream: Stream::new(world.seed, OWNER) })]
}

struct Service {
    till: Address,
    taken: Vec<TxHash>,
    tries: u32,
    stream: Stream,
}

impl Actor for Service {
    fn first_wake(&self) -> i64 {
        START + 60 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        self.tries += 1;
        let _ = self.take(world, now);
        if self.taken.len() >= 8 || self.tries > 400 {
            let (&first, &last) = (self.taken.first()?, self.taken.last()?);
            let count = self.taken.len() as u64;
            let evidence = Evidence { count, counterparties: count, usd_cents: count * 500, first, last };
            world.judge(CHAIN, (self.till, Behaviour::ApprovalDrain, Verdict::Innocent), evidence);
            return None;
        }
        Some(now + self.stream.secs(HOUR, 12 * HOUR))
    }
}

impl Service {
    /// A customer allows it, and it takes five dollars of at least forty.
    fn take(&mut self, world: &mut World, now: i64) -> Result<(), Insufficient> {
        let coin = world.token(CHAIN, "USDT");
        let Coin::Token(token) = coin else { return Err(Insufficient) };
        let place = self.stream.index(world.people.len());
        let customer = world.people[place].evm;
        if world.worth(CHAIN, &customer, coin, now) < 4_000 {
            return Err(Insufficient);
        }
        let contract = world.tokens[token].contract;
        let amount = Amount::from_u128(world.raw(CHAIN, coin, 500, now));
        world.approve_once(CHAIN, now, (customer, self.till), token)?;
        let words = [abi::account(&customer), abi::account(&self.till), abi::amount(amount)];
        let input = abi::call("transferFrom(address,address,uint256)", &words);
        let mut call = Call::contract(self.till, contract, 60_000, input);
        call.effects.push(Effect::Token { contract, from: customer, to: self.till, amount });
        self.taken.push(world.book(CHAIN).send(now, call)?.hash);
        Ok(())
    }
}
