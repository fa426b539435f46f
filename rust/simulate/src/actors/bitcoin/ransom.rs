//! Extortion: firms buy coins and pay, each to an address of its own; the operator keeps a fifth, the affiliate takes
//! the rest through the mixer and peels it into exchanges.

use headwater_ledger::read::ScriptType;
use headwater_types::{Address, Asset, Chain};

use crate::actors::Actor;
use crate::book::{Habits, Holder, PaymentOutcome, WalletId};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::ransoms::RansomPayment;
use crate::world::{Case, Flow, World};

const VICTIMS: usize = 7;
const COIN: u64 = 100_000_000;

struct Victim {
    wallet: WalletId,
    demand: u64,
    paid: bool,
}

struct Ransom {
    case: Case,
    operator: WalletId,
    affiliate: WalletId,
    victims: Vec<Victim>,
    begins: i64,
    stage: usize,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let count = world.preset.rarities(1);
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for number in 1..=count {
        let name = format!("ransomware-{number}");
        let mut stream = Stream::new(world.seed, &name);
        let wallet = |world: &mut World, part: &str, role, script| {
            let holder = Holder::single(&format!("scam-{name}-{part}"), role);
            world.bitcoin.add_wallet(holder, Habits::service(script))
        };
        let operator = wallet(world, "operator", Role::ScamOperator, ScriptType::P2wpkh);
        let affiliate = wallet(world, "affiliate", Role::ScamLayer, ScriptType::P2tr);
        let victims = (0..VICTIMS).map(|victim| {
            let habits = Habits::draw(&mut stream);
            let holder = Holder::single(&format!("firm-{name}-{victim}"), Role::Person);
            // A tenth of a coin to a few coins, always a round number.
            let demand = COIN / 10 * stream.between(1, 25);
            Victim { wallet: world.bitcoin.add_wallet(holder, habits), demand, paid: false }
        });
        let victims = victims.collect();
        let latest = (world.preset.days() - 90).max(40);
        let begins = START + stream.secs(32 * DAY, latest * DAY);
        let case = Case { name, kind: "ransomware" };
        actors.push(Box::new(Ransom { case, operator, affiliate, victims, begins, stage: 0, stream }));
    }
    actors
}

impl Actor for Ransom {
    fn first_wake(&self) -> i64 {
        self.begins
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        match self.stage {
            0 => {
                for place in 0..self.victims.len() {
                    let to = world.bitcoin.receiving(self.victims[place].wallet);
                    let exchange = self.stream.index(world.exchanges.len());
                    let bought = self.victims[place].demand + COIN / 100;
                    world.withdraw_bitcoin(exchange, to, bought);
                }
            }
            1..=20 => self.collect(world, now),
            21..=40 => self.cash_out(world, now),
            _ => return None,
        }
        self.stage += 1;
        Some(now + self.stream.secs(18 * HOUR, 40 * HOUR))
    }
}

impl Ransom {
    fn step(&self, world: &mut World, stage: &str, paid: &PaymentOutcome, to: Address, satoshis: u64) {
        let flow = Flow::new(paid.from[0], to, Asset::Native, u128::from(satoshis));
        world.step(&self.case, stage, Chain::BITCOIN, paid.hash, flow);
    }

    /// Victims pay one by one; what came in is shared at once.
    fn collect(&mut self, world: &mut World, now: i64) {
        for place in 0..self.victims.len() {
            let Victim { wallet, demand, paid } = self.victims[place];
            if paid || self.stream.chance(0.7) || world.bitcoin.spendable(wallet, now) <= demand {
                continue;
            }
            let to = world.bitcoin.receiving(self.operator);
            if let Ok(paid) = world.bitcoin.pay(now, wallet, &[(to, demand)]) {
                self.victims[place].paid = true;
                self.step(world, "loot", &paid, to, demand);
                let cents = world.market.cents("btc", 8, u128::from(demand), now);
                let secs = world.bitcoin.open_time();
                let case = self.case.name.clone();
                world.ransoms.push(RansomPayment { case, to, hash: paid.hash, secs, satoshis: demand, cents });
            }
        }
        let held = world.bitcoin.spendable(self.operator, now);
        if held > COIN / 3 {
            let share = held / 10 * 8;
            let to = world.bitcoin.receiving(self.affiliate);
            if let Ok(paid) = world.bitcoin.pay(now, self.operator, &[(to, share)]) {
                self.step(world, "payout", &paid, to, share);
            }
        }
    }

    fn cash_out(&mut self, world: &mut World, now: i64) {
        for (wallet, mixes) in [(self.affiliate, self.stream.chance(0.4)), (self.operator, false)] {
            let held = world.bitcoin.spendable(wallet, now);
            if held < COIN / 20 {
                continue;
            }
            let satoshis = held / 100 * self.stream.between(8, 28);
            if mixes {
                let to = world.bitcoin.receiving(wallet);
                let delay = 6 * HOUR + self.stream.wait(86_400.0);
                if let Ok((paid, pool)) = world.tumble(now, wallet, (satoshis, delay), to) {
                    self.step(world, "mix", &paid, pool, satoshis);
                }
                continue;
            }
            let exchange = self.stream.index(world.exchanges.len());
            let to = world.bitcoin_deposit_address(exchange, usize::MAX / 32 + wallet.0);
            if let Ok(paid) = world.bitcoin.pay(now, wallet, &[(to, satoshis)]) {
                self.step(world, "cash_out", &paid, to, satoshis);
            }
        }
    }
}
