//! Freezes by issuers of stablecoins: of accounts they have heard bad things of, now and then of an
//! innocent person, who is released. Some of the guilty are released too, and the funds of others are destroyed.

use std::collections::BTreeMap;

use headwater_types::{Address, Chain};

use super::Actor;
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::world::{Coin, World};

/// The chains and tokens with freezes, and their number in the demo. The contracts of bsc cannot freeze: they are of a
/// bridge.
const ISSUERS: [(Chain, &str, usize); 4] =
    [(Chain::ETHEREUM, "USDT", 6), (Chain::TRON, "USDT", 6), (Chain::ETHEREUM, "USDC", 4), (Chain::TRON, "USDC", 4)];
/// Days before the first freeze, so that there is somebody to freeze.
const FIRST_DAYS: i64 = 45;
/// Suspects whose balance is looked at before one is frozen.
const LOOKS: usize = 12;

/// Opens the freeze services.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for (chain, symbol, demo) in ISSUERS {
        let Coin::Token(token) = world.token(chain, symbol) else { continue };
        let mut stream = Stream::new(world.seed, &format!("freezes/{chain}/{symbol}"));
        let count = world.preset.rarities(demo);
        let gap = (world.preset.days() - FIRST_DAYS - 10) * DAY / i64::try_from(count).expect("few freezes");
        let mut agenda = BTreeMap::new();
        for number in 0..count {
            let at = i64::try_from(number).expect("few freezes") * gap + stream.secs(0, gap / 2);
            agenda.insert((START + FIRST_DAYS * DAY + at, number), Task::Freeze);
        }
        actors.push(Box::new(FreezeService { chain, token, can_destroy: symbol == "USDT", seen: 0, agenda, stream }));
    }
    actors
}

/// The next work of a freeze service.
#[derive(Debug, Clone, Copy)]
enum Task {
    Freeze,
    Release(Address),
    Destroy(Address),
}

/// The end of a frozen account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Stays,
    Released,
    Destroyed,
    /// It belongs to an innocent person, and is released.
    Mistake,
}

/// The ends in turn, so that the smallest economy has all of them.
const ENDS: [End; 6] = [End::Stays, End::Released, End::Destroyed, End::Mistake, End::Stays, End::Stays];

struct FreezeService {
    chain: Chain,
    token: usize,
    can_destroy: bool,
    /// Suspects that it had heard of when it was woken last: it never is so fast as to stop a crime on its way.
    seen: usize,
    /// By time and number.
    agenda: BTreeMap<(i64, usize), Task>,
    stream: Stream,
}

impl Actor for FreezeService {
    fn first_wake(&self) -> i64 {
        self.agenda.first_key_value().map_or(i64::MAX, |((at, _), _)| *at)
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, number), task) = entry.remove_entry();
            match task {
                Task::Freeze => self.freeze(world, now, number),
                Task::Release(account) => {
                    if world.release(now, self.token, account).is_err() {
                        self.put_off(now, number, task);
                    }
                }
                Task::Destroy(account) => {
                    if world.destroy(now, self.token, account).is_err() {
                        self.put_off(now, number, task);
                    }
                }
            }
        }
        self.seen = world.freezes.suspects(self.chain).len();
        self.agenda.first_key_value().map(|((at, _), _)| *at).filter(|&at| at <= world.end())
    }
}

impl FreezeService {
    fn put_off(&mut self, now: i64, number: usize, task: Task) {
        self.agenda.insert((now + DAY + self.stream.secs(0, 20 * HOUR), number), task);
    }

    fn freeze(&mut self, world: &mut World, now: i64, number: usize) {
        let end = ENDS[number % ENDS.len()];
        let target = if end == End::Mistake { self.person(world, now) } else { self.suspect(world) };
        let frozen = target.filter(|&target| world.freeze(now, self.token, target).is_ok());
        let Some(account) = frozen else {
            self.put_off(now, number, Task::Freeze);
            return;
        };
        let (task, days) = match end {
            End::Released => (Task::Release(account), (20, 60)),
            End::Mistake => (Task::Release(account), (4, 30)),
            End::Destroyed if self.can_destroy => (Task::Destroy(account), (7, 28)),
            End::Destroyed | End::Stays => return,
        };
        self.agenda.insert((now + self.stream.secs(days.0 * DAY, days.1 * DAY), number), task);
    }

    /// Mostly somebody who still has something.
    fn suspect(&mut self, world: &World) -> Option<Address> {
        let heard = &world.freezes.suspects(self.chain)[..self.seen];
        let mut empty = None;
        for _ in 0..if heard.is_empty() { 0 } else { LOOKS } {
            let suspect = *self.stream.pick(heard);
            if world.freezes.contains(self.token, suspect) {
                continue;
            }
            if world.balance(self.chain, &suspect, Coin::Token(self.token)) > 0 {
                return Some(suspect);
            }
            empty = Some(suspect);
        }
        empty
    }

    /// Somebody who has some of the token and did nothing.
    fn person(&mut self, world: &World, now: i64) -> Option<Address> {
        for _ in 0..60 {
            let person = self.stream.pick(&world.people);
            let address = person.account(self.chain.family());
            let holds = world.balance(self.chain, &address, Coin::Token(self.token)) > 0;
            if holds && (person.life.0..=person.life.1).contains(&now) && !world.freezes.contains(self.token, address) {
                return Some(address);
            }
        }
        None
    }
}
