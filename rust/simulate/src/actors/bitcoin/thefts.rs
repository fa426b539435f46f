//! Thefts on bitcoin: coins of an exchange are taken, split, and peeled off into exchanges and purses, hop after hop,
//! each from one coin into two; what is left at the end goes through the mixer or is sold.

use headwater_ledger::read::ScriptType;
use headwater_types::{Address, Asset, Chain, TxHash};

use crate::actors::Actor;
use crate::book::{Habits, Holder, PaymentOutcome, WalletId};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::{Behaviour, Evidence, Role};
use crate::world::{Case, Flow, World};

const COIN: u64 = 100_000_000;
/// Hops of a chain at most.
const HOPS: u64 = 34;

/// One chain of hops: a wallet that never has more than one coin.
#[derive(Clone, Copy)]
struct Chainlet {
    wallet: WalletId,
    at: Address,
    hops: u64,
    start: Address,
    first: Option<TxHash>,
    last: Option<TxHash>,
    cents: u64,
}

struct Theft {
    case: Case,
    victim: usize,
    begins: i64,
    tries: usize,
    split: usize,
    chains: Vec<Chainlet>,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let count = world.preset.rarities(1);
    let theft = |number: usize| -> Box<dyn Actor> {
        let name = format!("theft-{number}");
        let mut stream = Stream::new(world.seed, &format!("scam-{name}"));
        let latest = (world.preset.days() - 75).max(42);
        // The first one is early, so that even the smallest economy shows all of it.
        let begins = if number == 1 { 41 * DAY + 3 * HOUR } else { stream.secs(41 * DAY, latest * DAY) };
        Box::new(Theft {
            case: Case { name, kind: "theft" },
            victim: number % world.exchanges.len(),
            begins: START + begins,
            tries: 0,
            split: if number == 1 { 2 } else { 1 + stream.index(3) },
            chains: Vec::new(),
            stream,
        })
    };
    (1..=count).map(theft).collect()
}

impl Theft {
    fn step(&self, world: &mut World, stage: &str, hash: TxHash, (from, to): (Address, Address), satoshis: u64) {
        let flow = Flow::new(from, to, Asset::Native, u128::from(satoshis));
        world.step(&self.case, stage, Chain::BITCOIN, hash, flow);
    }

    /// Takes up to a third of what the exchange has at hand, in one payment to several new wallets.
    fn steal(&mut self, world: &mut World, now: i64) {
        let victim = world.exchanges[self.victim].wallet;
        let loot = (world.bitcoin.spendable(victim, now) / 3).min(60 * COIN * self.split as u64);
        if loot < 5 * COIN {
            return;
        }
        let part = loot / self.split as u64;
        let mut outputs = Vec::new();
        let mut wallets = Vec::new();
        for number in 0..self.split {
            let holder = Holder::part(&format!("scam-{}", self.case.name), &number.to_string(), Role::ScamLayer);
            let wallet = world.bitcoin.add_wallet(holder, Habits::service(ScriptType::P2wpkh));
            outputs.push((world.bitcoin.receiving(wallet), part));
            wallets.push(wallet);
        }
        let Ok(paid) = world.bitcoin.pay(now, victim, &outputs) else { return };
        for (wallet, (at, part)) in wallets.into_iter().zip(outputs) {
            self.step(world, "loot", paid.hash, (paid.from[0], at), part);
            self.chains.push(Chainlet { wallet, at, hops: 0, start: at, first: None, last: None, cents: 0 });
        }
    }

    fn peel(&mut self, world: &mut World, now: i64, place: usize) -> bool {
        let (wallet, from) = (self.chains[place].wallet, self.chains[place].at);
        let held = world.bitcoin.spendable(wallet, now);
        if self.chains[place].hops >= HOPS || held < COIN / 100 {
            self.leave(world, now, place);
            return false;
        }
        let peeled = held / 1_000 * self.stream.between(15, 110);
        // Straw men at other exchanges, now and then a purse of nobody.
        let sold = self.stream.chance(0.7);
        let to = if sold {
            let others = world.exchanges.len() - 1;
            let exchange = (self.victim + 1 + self.stream.index(others)) % (others + 1);
            let straw_man = usize::MAX / 2 - usize::try_from(self.stream.below(5)).unwrap_or(0);
            world.bitcoin_deposit_address(exchange, straw_man)
        } else {
            let number = self.stream.index(world.people.len());
            let wallet = world.people[number].wallet;
            world.bitcoin.receiving(wallet)
        };
        let Ok(paid) = world.bitcoin.pay(now, wallet, &[(to, peeled)]) else { return false };
        self.step(world, "cash_out", paid.hash, (from, to), peeled);
        let PaymentOutcome { hash, change: Some((_, rest)), .. } = paid else { return false };
        let left = world.bitcoin.spendable(wallet, now);
        self.step(world, "layer", hash, (from, rest), left);
        let cents = world.market.cents("btc", 8, u128::from(peeled), now);
        let chain = &mut self.chains[place];
        chain.at = rest;
        chain.hops += 1;
        chain.cents += cents;
        chain.first = chain.first.or(Some(hash));
        chain.last = Some(hash);
        true
    }

    /// The rest goes through the mixer, or where the mixer has no room for it, to an exchange.
    fn leave(&mut self, world: &mut World, now: i64, place: usize) {
        let Chainlet { wallet, at, hops, start, first, last, cents } = self.chains[place];
        let satoshis = world.bitcoin.spendable(wallet, now) / 100 * 97;
        let back = world.bitcoin.fresh(wallet);
        let delay = 8 * HOUR + self.stream.wait(2.0 * 86_400.0);
        if (COIN / 1_000..30 * COIN).contains(&satoshis)
            && let Ok((paid, pool)) = world.tumble(now, wallet, (satoshis, delay), back)
        {
            self.step(world, "mix", paid.hash, (at, pool), satoshis);
        }
        if let Some((first, last)) = first.zip(last).filter(|_| hops >= 5) {
            let evidence = Evidence { count: hops, counterparties: hops, usd_cents: cents, first, last };
            world.plant(Chain::BITCOIN, start, Behaviour::PeelChain, evidence);
        }
    }
}

impl Actor for Theft {
    fn first_wake(&self) -> i64 {
        self.begins
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        if self.chains.is_empty() {
            self.steal(world, now);
            self.tries += 1;
            return (self.tries < 60).then(|| now + DAY);
        }
        let mut going = Vec::new();
        for place in 0..self.chains.len() {
            going.push(self.peel(world, now, place));
        }
        let mut going = going.into_iter();
        self.chains.retain(|_| going.next() == Some(true));
        (!self.chains.is_empty()).then(|| now + self.stream.secs(2 * HOUR, 26 * HOUR))
    }
}
