//! Transactions that look like a CoinJoin and are none: one wallet that pretends to be two (Stonewall), and wages paid
//! in equal amounts from as many coins.

use super::crowd::{Crowd, FIRST_ROUND, Member, Rounds, sum};
use crate::actors::Actor;
use crate::book::{Habits, NewOutput, Order, TakenCoin};
use crate::clock::DAY;
use crate::random::Stream;
use crate::truth::JointKind;
use crate::world::World;

/// Wages in satoshis, about: the denomination that others mix in.
const WAGE: u64 = 10_000_000;
/// Wages paid at once.
const WAGES: usize = 11;

struct Pretenders {
    crowd: Crowd,
    rounds: Rounds,
    stream: Stream,
}

struct Employers {
    crowd: Crowd,
    rounds: Rounds,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let people = world.preset.rarities(6).min(200);
    let pretenders = Pretenders {
        crowd: Crowd::new(world, "stonewall", people, Some(Habits::mixing_wallet())),
        rounds: Rounds::new(world, world.preset.rarities(8)),
        stream: Stream::new(world.seed, "stonewall"),
    };
    let firms = world.preset.rarities(2).min(60);
    let employers = Employers {
        crowd: Crowd::new(world, "employer", firms, Some(Habits::mixing_wallet())),
        rounds: Rounds::new(world, world.preset.rarities(5)),
        stream: Stream::new(world.seed, "employer"),
    };
    vec![Box::new(pretenders), Box::new(employers)]
}

impl Actor for Pretenders {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 6 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let median = 3_000_000 + self.stream.below(9_000_000);
        self.crowd.fill(world, now, 3_000_000, median, 3);
        if now < FIRST_ROUND {
            return Some(FIRST_ROUND);
        }
        let payer = self.crowd.any_order().into_iter().find_map(|member| {
            let one = world.bitcoin.take(member.wallet, 1_000_000, u64::MAX)?;
            let Some(other) = world.bitcoin.take(member.wallet, 1_000_000, u64::MAX) else {
                world.bitcoin.give_back(one);
                return None;
            };
            Some((member, vec![one, other]))
        });
        let happened = payer.is_some_and(|(member, held)| self.pretend(world, now, member, held));
        self.crowd.spend_some(world, now, happened, 1);
        self.rounds.next(now, happened, &mut self.stream)
    }
}

impl Pretenders {
    /// Pays an amount and sends the same to itself, with two changes, as two people would who pay together.
    fn pretend(&mut self, world: &mut World, now: i64, member: Member, held: Vec<TakenCoin>) -> bool {
        let least = held.iter().map(|held| held.coin.satoshis).min().unwrap_or(0);
        let pay = least / 100 * self.stream.between(20, 70);
        let friend = self.stream.index(world.people.len());
        let friend = world.people[friend].wallet;
        let fee = 60 + world.bitcoin.rate(now) * 280 / 1_000;
        if least < pay + fee + 10_000 || Crowd::same_key(&held) {
            Crowd::give_back(world, vec![(member, held)]);
            return false;
        }
        let mut outputs = vec![
            NewOutput::to(world.bitcoin.receiving(friend), pay),
            NewOutput::to(world.bitcoin.fresh(member.wallet), pay),
        ];
        for coin in &held {
            outputs.push(NewOutput::to(world.bitcoin.fresh(member.wallet), coin.coin.satoshis - pay - fee / 2));
        }
        let style = world.bitcoin.written_by(member.wallet);
        let made = world.bitcoin.join(now, (held, outputs), style, Order::Sorted, &[1, 2, 3]);
        world.note_joint(made.hash, JointKind::Stonewall);
        true
    }
}

impl Actor for Employers {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 6 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        self.crowd.fill(world, now, WAGE * 13, WAGE * 6 / 5, 13);
        if now < FIRST_ROUND {
            return Some(FIRST_ROUND);
        }
        let payer = self.crowd.gathered(world, (1, WAGES + 2), WAGE * 10).pop();
        let happened = payer.is_some_and(|(member, held)| self.pay_wages(world, now, member, held));
        self.rounds.next(now, happened, &mut self.stream)
    }
}

impl Employers {
    /// Pays the same to everybody, all of what the coins hold: nothing is left for change.
    fn pay_wages(&mut self, world: &mut World, now: i64, member: Member, held: Vec<TakenCoin>) -> bool {
        let fee = 200 + world.bitcoin.rate(now) * (68 * held.len() as u64 + 34 * WAGES as u64) / 1_000;
        let total = sum(&held).saturating_sub(fee);
        let count = usize::try_from(total / WAGE).unwrap_or(usize::MAX).min(held.len() + 9);
        if held.len() < 2 || count < 5 {
            Crowd::give_back(world, vec![(member, held)]);
            return false;
        }
        let wage = total / count as u64;
        let mut outputs = Vec::new();
        for _ in 0..count {
            let number = self.stream.index(world.people.len());
            let wallet = world.people[number].wallet;
            outputs.push(NewOutput::to(world.bitcoin.receiving(wallet), wage));
        }
        let style = world.bitcoin.written_by(member.wallet);
        let made = world.bitcoin.join(now, (held, outputs), style, Order::Sorted, &[]);
        world.note_joint(made.hash, JointKind::Wages);
        true
    }
}
