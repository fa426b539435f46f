//! People who do the same thing on bitcoin: wallets of their own, filled by exchanges, emptied into exchanges and to
//! other people now and then.

use crate::book::{Habits, Holder, TakenCoin, UtxoBook, WalletId};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::Role;
use crate::world::World;

/// Seconds after which somebody asks an exchange again.
const REQUEST_INTERVAL: i64 = 6 * DAY;

/// One of a crowd.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) wallet: WalletId,
    exchange: usize,
    asked: i64,
}

/// The crowd.
pub(super) struct Crowd {
    pub(super) members: Vec<Member>,
    pub(super) stream: Stream,
}

impl Crowd {
    /// So many people of these habits; `None` for habits as they are spread.
    pub(super) fn new(world: &mut World, name: &str, count: usize, habits: Option<Habits>) -> Self {
        let mut stream = Stream::new(world.seed, &format!("crowd/{name}"));
        let members = (0..count).map(|number| {
            let name = format!("person-{name}-{number:03}");
            let habits = habits.unwrap_or_else(|| Habits::draw(&mut stream));
            let exchange = stream.index(world.exchanges.len());
            let wallet = world.bitcoin.add_wallet(Holder::single(&name, Role::Person), habits);
            Member { wallet, exchange, asked: i64::MIN / 2 }
        });
        let members = members.collect();
        Self { members, stream }
    }

    /// Lets those who have less than `low` ask their exchange for more: in `parts` payments around a median.
    pub(super) fn fill(&mut self, world: &mut World, now: i64, low: u64, median: u64, parts: u64) {
        for member in &mut self.members {
            if world.bitcoin.spendable(member.wallet, now) >= low || now - member.asked < REQUEST_INTERVAL {
                continue;
            }
            member.asked = now;
            for _ in 0..parts {
                let to = world.bitcoin.receiving(member.wallet);
                let satoshis = median / 100 * self.stream.between(60, 170);
                world.withdraw_bitcoin(member.exchange, to, satoshis.max(20_000));
            }
        }
    }

    /// All of them in random order.
    pub(super) fn any_order(&mut self) -> Vec<Member> {
        UtxoBook::shuffled(self.members.clone(), &mut self.stream)
    }

    /// Members, each with coins of different addresses that hold at least so much, up to `most` of them.
    pub(super) fn gathered(
        &mut self,
        world: &mut World,
        (most, coins): (usize, usize),
        satoshis: u64,
    ) -> Vec<(Member, Vec<TakenCoin>)> {
        let mut found = Vec::new();
        for member in self.any_order() {
            if found.len() == most {
                break;
            }
            if let Some(held) = world.bitcoin.take_for(member.wallet, satoshis, coins) {
                found.push((member, held));
            }
        }
        found
    }

    /// Returns whether two coins lie at one address.
    pub(super) fn same_key(held: &[TakenCoin]) -> bool {
        held.windows(2).any(|pair| pair[0].coin.key == pair[1].coin.key)
    }

    /// Puts coins that were taken for nothing back.
    pub(super) fn give_back(world: &mut World, taken: Vec<(Member, Vec<TakenCoin>)>) {
        taken.into_iter().flat_map(|(_, held)| held).for_each(|held| world.bitcoin.give_back(held));
    }

    /// After something that happened a few spend some of what they have: into an exchange, or to people.
    pub(super) fn spend_some(&mut self, world: &mut World, now: i64, happened: bool, count: usize) {
        for _ in 0..if happened { count } else { 0 } {
            let place = self.stream.index(self.members.len());
            let member = self.members[place];
            let held = world.bitcoin.spendable(member.wallet, now);
            if held < 100_000 {
                continue;
            }
            let satoshis = held / 1_000 * self.stream.between(60, 900);
            let to = if self.stream.chance(0.55) {
                let exchange = self.stream.index(world.exchanges.len());
                world.bitcoin_deposit_address(exchange, usize::MAX / 4 + member.wallet.0)
            } else {
                let friend = self.stream.index(world.people.len());
                let wallet = world.people[friend].wallet;
                world.bitcoin.receiving(wallet)
            };
            let _ = world.bitcoin.pay(now, member.wallet, &[(to, satoshis)]);
        }
    }
}

/// Returns the sum of the coins.
pub(super) fn sum(held: &[TakenCoin]) -> u64 {
    held.iter().map(|held| held.coin.satoshis).sum()
}

/// The times of something that happens so often in the whole period, after a first stretch in which there are no coins.
pub(super) struct Rounds {
    left: usize,
    gap: i64,
}

impl Rounds {
    /// So many rounds.
    pub(super) fn new(world: &World, rounds: usize) -> Self {
        let days = world.preset.days() - FIRST_DAYS - 8;
        Self { left: rounds, gap: (days * DAY / i64::try_from(rounds.max(1)).unwrap_or(i64::MAX)).max(HOUR) }
    }

    /// When the next is, after one that came about or did not.
    pub(super) fn next(&mut self, now: i64, happened: bool, stream: &mut Stream) -> Option<i64> {
        self.left -= usize::from(happened);
        let wait = if happened { self.gap } else { self.gap.min(3 * DAY) };
        (self.left > 0).then(|| now + wait * 7 / 10 + stream.secs(0, wait * 6 / 10))
    }
}

/// Days until there are coins to speak of: the first coinbases must ripen.
const FIRST_DAYS: i64 = 24;
/// When the first rounds may be; crowds must be filled some days before.
pub(super) const FIRST_ROUND: i64 = START + FIRST_DAYS * DAY;
