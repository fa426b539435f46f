//! Dusters, who send next to nothing to very many, to see what they do with it.

use headwater_types::{Address, Amount, Asset, Chain, TxHash};

use crate::abi;
use crate::actors::Actor;
use crate::book::{Call, Effect};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::{Behaviour, Evidence, Role, Verdict};
use crate::world::{Coin, World};

/// Recipients of one call.
const GRAINS_OF_A_CALL: usize = 30;

/// Starts the dusters; the innocent one thanks too few customers to be one.
pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for number in 0..world.preset.rarities(1) {
        for (verdict, grains, chain) in [(Verdict::Planted, 120, Chain::TRON), (Verdict::Innocent, 92, Chain::BSC)] {
            let (name, role) = match verdict {
                Verdict::Planted => (format!("scam-duster-{number}"), Role::ScamOperator),
                Verdict::Innocent => (format!("business-thanks-{number}"), Role::Business),
            };
            let address = world.account(chain.family(), &name, role, &name);
            let coins = world.raw(chain, Coin::Native, 60_000, START);
            world.book(chain).allocate(address, Amount::from_u128(coins));
            let mut stream = Stream::new(world.seed, &name);
            let from = START + stream.secs(25 * DAY, 90 * DAY);
            actors.push(Box::new(Duster {
                chain,
                verdict,
                address,
                grains,
                from,
                sent: Vec::new(),
                given: 0,
                met: Vec::new(),
                stream,
            }));
        }
    }
    actors
}

struct Duster {
    chain: Chain,
    verdict: Verdict,
    address: Address,
    grains: usize,
    from: i64,
    sent: Vec<TxHash>,
    given: usize,
    /// The addresses that got some, and the calls.
    met: Vec<(Address, TxHash)>,
    stream: Stream,
}

impl Actor for Duster {
    fn first_wake(&self) -> i64 {
        self.from
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let coin = world.token(self.chain, "USDT");
        let grain = world.raw(self.chain, coin, 2, now);
        if world.balance(self.chain, &self.address, coin) < grain * 200 {
            let raw = world.raw(self.chain, coin, 2_000, now);
            world.withdraw(1, self.chain, self.address, coin, raw);
            return Some(now + 6 * HOUR);
        }
        let Asset::Token(contract) = world.asset(coin) else { return None };
        let count = GRAINS_OF_A_CALL.min(self.grains - self.given);
        let mut call =
            Call::contract(self.address, contract, 40_000, abi::call("multiTransfer(address[],uint256[])", &[]));
        let mut met = Vec::new();
        for number in 0..count {
            // Step by step through the people, so that nobody is met twice.
            let step = (world.people.len() / self.grains).max(1);
            let place = (self.given + number) * step % world.people.len();
            let mut to = world.people[place].account(self.chain.family());
            if self.verdict == Verdict::Innocent && self.given + number == 0 {
                // A regular of the shop, who gets nothing else.
                to = world.account(
                    self.chain.family(),
                    &format!("{}/regular", self.address),
                    Role::Business,
                    "business-regular",
                );
            }
            met.push(to);
            let amount = Amount::from_u128(grain - u128::from(self.stream.below(90)) * grain / 100);
            call.effects.push(Effect::Token { contract, from: self.address, to, amount });
            call.gas += 20_000;
        }
        if let Ok(receipt) = world.book(self.chain).send(now, call) {
            self.sent.push(receipt.hash);
            self.met.extend(met.into_iter().map(|to| (to, receipt.hash)));
            self.given += count;
        }
        if self.given >= self.grains {
            let evidence = Evidence {
                count: self.sent.len() as u64,
                counterparties: self.given as u64,
                usd_cents: self.given as u64,
                first: self.sent[0],
                last: self.sent[self.sent.len() - 1],
            };
            world.judge(self.chain, (self.address, Behaviour::Dusting, self.verdict), evidence);
            let targets = if self.verdict == Verdict::Planted { self.met.len() } else { 1 };
            for &(target, hash) in &self.met[..targets] {
                let evidence = Evidence { count: 1, counterparties: 1, usd_cents: 1, first: hash, last: hash };
                world.judge(self.chain, (target, Behaviour::PoisoningTarget, self.verdict), evidence);
            }
            return None;
        }
        Some(now + self.stream.secs(HOUR / 3, 2 * HOUR))
    }
}
