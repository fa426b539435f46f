//! Early holders: they get coins at the start, sleep for half a year or more, and then sell most of it.

use headwater_types::{Address, Amount, Chain, TxHash};

use super::Actor;
use crate::book::{AddressHabit, Habits, Holder, WalletId};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::{Behaviour, Evidence, Role};
use crate::world::{ACCOUNT_CHAINS, Coin, World};

/// The numbers of sleepers of the demo on each account chain, and on bitcoin.
const SLEEPERS: usize = 2;
/// The shortest sleep that counts, in days.
const SHORTEST_DAYS: i64 = 180;
/// The same on bitcoin.
const SHORTEST_BITCOIN_DAYS: i64 = 365;

/// Gives coins to the holders.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    let days = world.preset.days();
    for number in 0..world.preset.rarities(SLEEPERS) {
        for chain in ACCOUNT_CHAINS {
            let owner = format!("sleeper-{chain}-{number}");
            let mut stream = Stream::new(world.seed, &owner);
            let address = world.account(chain.family(), &owner, Role::Person, &owner);
            let cents = stream.cents(9_000.0, 1.0).max(300_000);
            let raw = world.raw(chain, Coin::Native, cents, START);
            world.book(chain).allocate(address, Amount::from_u128(raw));
            let wakes = START + stream.secs((SHORTEST_DAYS + 5) * DAY, (days - 6) * DAY);
            actors.push(Box::new(Sleeper { chain, address, owner, wakes, moved: Outflow::default(), stream }));
        }
        let owner = format!("sleeper-bitcoin-{number}");
        let habits = Habits { address: AddressHabit::Reused, ..Habits::draw(&mut Stream::new(world.seed, &owner)) };
        let wallet = world.bitcoin.add_wallet(Holder::single(&owner, Role::Person), habits);
        let stream = Stream::new(world.seed, &format!("{owner}/deeds"));
        actors.push(Box::new(BitcoinSleeper { number, wallet, stage: Stage::Ask, stream }));
    }
    actors
}

/// The payments that left so far.
#[derive(Default)]
struct Outflow {
    count: u64,
    cents: u64,
    first: Option<TxHash>,
}

struct Sleeper {
    chain: Chain,
    address: Address,
    owner: String,
    wakes: i64,
    moved: Outflow,
    stream: Stream,
}

impl Actor for Sleeper {
    fn first_wake(&self) -> i64 {
        self.wakes
    }

    /// Two thirds of what is there go to exchanges, twice within two days.
    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let held = world.balance(self.chain, &self.address, Coin::Native);
        let raw = held / 100 * 66;
        let exchange = self.stream.index(world.exchanges.len());
        let customer = (self.owner.as_str(), self.address);
        let Ok((receipt, _)) = world.deposit(exchange, self.chain, now, customer, (Coin::Native, raw)) else {
            return None;
        };
        let first = *self.moved.first.get_or_insert(receipt.hash);
        self.moved.count += 1;
        self.moved.cents += world.cents(self.chain, Coin::Native, raw, now);
        if self.moved.count < 2 {
            return Some(now + self.stream.secs(HOUR, 40 * HOUR));
        }
        let Outflow { count, cents, .. } = self.moved;
        let evidence = Evidence { count, counterparties: count, usd_cents: cents, first, last: receipt.hash };
        world.plant(self.chain, self.address, Behaviour::DormantReactivation, evidence);
        None
    }
}

enum Stage {
    Ask,
    Wait(Address),
    Sleep(Address),
}

/// Buys at an exchange as soon as there is something to buy, and sleeps for a year.
struct BitcoinSleeper {
    number: usize,
    wallet: WalletId,
    stage: Stage,
    stream: Stream,
}

impl Actor for BitcoinSleeper {
    fn first_wake(&self) -> i64 {
        START + 2 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let chain = Chain::BITCOIN;
        match self.stage {
            Stage::Ask => {
                let address = world.bitcoin.receiving(self.wallet);
                let cents = self.stream.cents(20_000.0, 0.8).max(400_000);
                let satoshis = world.raw(chain, Coin::Native, cents, now);
                world.withdraw_bitcoin(0, address, u64::try_from(satoshis).unwrap_or(u64::MAX));
                self.stage = Stage::Wait(address);
                Some(now + DAY)
            }
            Stage::Wait(address) => {
                if world.bitcoin.spendable(self.wallet, now) == 0 {
                    return Some(now + DAY / 4);
                }
                self.stage = Stage::Sleep(address);
                let earliest = now + (SHORTEST_BITCOIN_DAYS + 1) * DAY;
                let latest = (world.end() - DAY).max(earliest);
                Some(self.stream.secs(earliest, latest))
            }
            Stage::Sleep(address) => {
                let held = world.bitcoin.spendable(self.wallet, now);
                let to = world.bitcoin_deposit_address(0, usize::MAX - 1_000_000 - self.number);
                let paid = world.bitcoin.pay(now, self.wallet, &[(to, held / 10 * 9)]).ok()?;
                let usd_cents = world.cents(chain, Coin::Native, u128::from(held / 10 * 9), now);
                let evidence = Evidence { count: 1, counterparties: 1, usd_cents, first: paid.hash, last: paid.hash };
                world.plant(chain, address, Behaviour::DormantReactivation, evidence);
                None
            }
        }
    }
}
