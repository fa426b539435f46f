//! A theft on bitcoin: coins of an exchange are taken, and peeled off into exchanges and purses, hop after hop.

use headwater_ledger::read::ScriptType;
use headwater_types::{Address, Asset, Chain};

use crate::actors::Actor;
use crate::book::{Habits, Holder, Paid, WalletId};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::{Case, Flow, World};

const CHAIN: Chain = Chain::BITCOIN;
const COIN: u64 = 100_000_000;
/// Whom it hits.
const EXCHANGE: usize = 1;
const HOPS: usize = 34;

pub(super) struct Theft {
    case: Case,
    wallet: WalletId,
    /// Where the rest of the loot is now.
    place: Option<Address>,
    hops: usize,
    stream: Stream,
}

impl Theft {
    pub(super) fn new(world: &mut World) -> Self {
        let mut habits = Habits::service(ScriptType::P2wpkh);
        habits.change_last = false;
        Self {
            case: Case { name: "theft-1".to_owned(), kind: "theft" },
            wallet: world.bitcoin.add_wallet(Holder::single("scam-thief", Role::ScamLayer), habits),
            place: None,
            hops: 0,
            stream: Stream::new(world.seed, "scam-thief"),
        }
    }

    fn step(&self, world: &mut World, stage: &str, paid: &Paid, from: Address, to: Address, satoshis: u64) {
        let flow = Flow::new(from, to, Asset::Native, u128::from(satoshis));
        world.step(&self.case, stage, CHAIN, paid.hash, flow);
    }

    fn steal(&mut self, world: &mut World, now: i64) {
        let victim = world.exchanges[EXCHANGE].wallet;
        let loot = (world.bitcoin.spendable(victim, now) / 3).min(60 * COIN);
        if loot < 5 * COIN {
            return;
        }
        let to = world.bitcoin.receiving(self.wallet);
        if let Ok(paid) = world.bitcoin.pay(now, victim, &[(to, loot)]) {
            self.step(world, "loot", &paid, paid.from[0], to, loot);
            self.place = Some(to);
        }
    }

    fn peel(&mut self, world: &mut World, now: i64, from: Address) {
        let held = world.bitcoin.spendable(self.wallet, now);
        let peeled = held / 1_000 * self.stream.between(15, 110);
        // Straw men at the other exchanges, now and then a purse of nobody.
        let to = if self.stream.chance(0.7) {
            let exchange = if self.stream.chance(0.5) { 0 } else { 2 };
            let straw_man = usize::MAX / 2 - usize::try_from(self.stream.below(5)).unwrap_or(0);
            world.bitcoin_deposit_address(exchange, straw_man)
        } else {
            let number = self.stream.index(world.people.len());
            let wallet = world.people[number].wallet;
            world.bitcoin.receiving(wallet)
        };
        let Ok(paid) = world.bitcoin.pay(now, self.wallet, &[(to, peeled)]) else { return };
        self.step(world, "cash_out", &paid, from, to, peeled);
        self.place = paid.change.map(|change| change.1);
        if let Some(rest) = self.place {
            let left = world.bitcoin.spendable(self.wallet, now);
            self.step(world, "layer", &paid, from, rest, left);
        }
        self.hops += 1;
    }
}

impl Actor for Theft {
    fn first_wake(&self) -> i64 {
        START + 41 * DAY + 3 * HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        match self.place {
            None if self.hops == 0 => {
                self.steal(world, now);
                Some(now + DAY)
            }
            Some(from) if self.hops < HOPS => {
                self.peel(world, now, from);
                Some(now + self.stream.secs(2 * HOUR, 26 * HOUR))
            }
            _ => None,
        }
    }
}
