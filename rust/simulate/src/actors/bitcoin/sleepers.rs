//! Wallets that are filled early, sleep for more than a year, and then move most of what they have at once; and large
//! holders who never move, whose fortunes have a heavy tail.

use crate::actors::Actor;
use crate::book::{Habits, Holder, WalletId};
use crate::clock::{DAY, HOUR, START};
use crate::random::{Stream, whole};
use crate::truth::{Behaviour, Role};
use crate::world::World;

/// Sleep of those who wake, in days; the catalogue of behaviours asks for 365.
const SLEEP_DAYS: i64 = 366;

struct Sleeper {
    wallet: WalletId,
    /// When they wake; never, for those who hold.
    wakes: Option<i64>,
    filled: i64,
    stage: Stage,
    stream: Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Empty,
    Asked,
    Asleep(i64),
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let count = world.preset.rarities(6);
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for number in 0..3 * count {
        let name = format!("person-sleeper-{number:04}");
        let mut stream = Stream::new(world.seed, &name);
        let habits = Habits::draw(&mut stream);
        let wallet = world.bitcoin.add_wallet(Holder::single(&name, Role::Person), habits);
        let filled = START + stream.secs(14 * DAY, 22 * DAY);
        let latest = world.end() - 2 * DAY;
        let earliest = filled + (SLEEP_DAYS + 4) * DAY;
        let wakes = (number < count && earliest < latest).then(|| stream.secs(earliest, latest));
        actors.push(Box::new(Sleeper { wallet, wakes, filled, stage: Stage::Empty, stream }));
    }
    actors
}

impl Actor for Sleeper {
    fn first_wake(&self) -> i64 {
        self.filled
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        match self.stage {
            Stage::Empty => {
                let satoshis = whole(self.stream.pareto(3_000_000.0, 1.05)).min(4_000_000_000);
                let to = world.bitcoin.receiving(self.wallet);
                let exchange = self.stream.index(world.exchanges.len());
                world.withdraw_bitcoin(exchange, to, satoshis);
                self.stage = Stage::Asked;
                Some(now + 2 * DAY)
            }
            Stage::Asked if world.bitcoin.spendable(self.wallet, now) == 0 => Some(now + DAY),
            Stage::Asked => {
                self.stage = Stage::Asleep(now);
                self.wakes.map(|wakes| wakes.max(now + SLEEP_DAYS * DAY))
            }
            Stage::Asleep(since) => {
                self.move_most(world, now, since);
                None
            }
        }
    }
}

impl Sleeper {
    fn move_most(&mut self, world: &mut World, now: i64, since: i64) {
        let held = world.bitcoin.spendable(self.wallet, now);
        let exchange = self.stream.index(world.exchanges.len());
        let to = world.bitcoin_deposit_address(exchange, usize::MAX / 16 + self.wallet.0);
        let moved = held / 100 * self.stream.between(60, 95);
        if let Ok(paid) = world.bitcoin.pay(now, self.wallet, &[(to, moved)]) {
            debug_assert!(now - since >= SLEEP_DAYS * DAY - HOUR);
            let cents = world.market.cents("btc", 8, u128::from(moved), now);
            world.note_deed((paid.from[0], Behaviour::DormantReactivation), paid.hash, 1, cents);
        }
    }
}
