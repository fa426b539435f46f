//! Rounds in which everybody's money is broken into standard denominations: powers of two and three, and round decimal
//! numbers, so that most amounts occur several times.

use std::collections::BTreeMap;

use super::crowd::{Crowd, FIRST_ROUND, Member, Rounds, sum};
use crate::actors::Actor;
use crate::book::{Habits, Lock, NewOutput, Order, Style, TakenCoin};
use crate::clock::DAY;
use crate::random::Stream;
use crate::truth::JointKind;
use crate::world::World;

/// Least amount of an output.
const LEAST: u64 = 5_000;
/// Denominations that one participant is paid in at most.
const PARTS: usize = 7;

struct Coordinator {
    crowd: Crowd,
    rounds: Rounds,
    denominations: Vec<u64>,
    stream: Stream,
}

/// All standard amounts up to a coin and a half of a hundred, largest first.
fn denominations() -> Vec<u64> {
    let powers = |base: u64, times: &'static [u64]| {
        let powers = std::iter::successors(Some(1_u64), move |power| power.checked_mul(base));
        powers
            .take_while(|power| *power < 200_000_000)
            .flat_map(move |power| times.iter().map(move |time| time * power))
    };
    let all = powers(2, &[1]).chain(powers(3, &[1, 2])).chain(powers(10, &[1, 2, 5]));
    let mut all: Vec<u64> = all.filter(|amount| (LEAST..150_000_000).contains(amount)).collect();
    all.sort_unstable_by(|left, right| right.cmp(left));
    all.dedup();
    all
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let rounds = Rounds::new(world, world.preset.rarities(4));
    let count = world.preset.rarities(40).min(600);
    vec![Box::new(Coordinator {
        crowd: Crowd::new(world, "wasabi-two", count, Some(Habits { lock: Lock::P2tr, ..Habits::mixing_wallet() })),
        rounds,
        denominations: denominations(),
        stream: Stream::new(world.seed, "wasabi-two"),
    })]
}

impl Actor for Coordinator {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 6 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let median = 1_500_000 + self.stream.below(6_000_000);
        self.crowd.fill(world, now, 400_000, median, 2);
        if now < FIRST_ROUND {
            return Some(FIRST_ROUND);
        }
        let most = 22 + self.stream.index(30);
        let taken = self.crowd.gathered(world, (most, 4), 300_000);
        let happened = self.round(world, now, taken);
        let spenders = self.crowd.members.len() / 5;
        self.crowd.spend_some(world, now, happened, spenders);
        self.rounds.next(now, happened, &mut self.stream)
    }
}

impl Coordinator {
    fn round(&self, world: &mut World, now: i64, taken: Vec<(Member, Vec<TakenCoin>)>) -> bool {
        let inputs: Vec<TakenCoin> = taken.iter().flat_map(|(_, held)| held.iter().copied()).collect();
        if inputs.len() < 20 || taken.len() < 18 {
            Crowd::give_back(world, taken);
            return false;
        }
        let rate = world.bitcoin.rate(now);
        // What an input and an output of these forms cost.
        let (per_input, per_output) = (58 * rate / 1_000 + 1, 43 * rate / 1_000 + 1);
        let purses: Vec<u64> =
            taken.iter().map(|(_, held)| sum(held).saturating_sub(held.len() as u64 * per_input + rate / 20)).collect();
        let common = self.common(&purses);
        let parts: Vec<Vec<u64>> = purses.iter().map(|&purse| broken(purse, &common, per_output)).collect();
        if !worth_it(&parts) {
            Crowd::give_back(world, taken);
            return false;
        }
        let mut outputs = Vec::new();
        for ((member, _), parts) in taken.iter().zip(parts) {
            outputs
                .extend(parts.into_iter().map(|satoshis| NewOutput::to(world.bitcoin.fresh(member.wallet), satoshis)));
        }
        let made = world.bitcoin.join(now, (inputs, outputs), Style::JOINT, Order::Sorted, &[]);
        world.note_joint(made.hash, JointKind::WasabiTwo);
        true
    }

    /// The amounts that most participants are paid in when each takes the largest first, as the first wallets of the
    /// protocol agreed on them.
    fn common(&self, purses: &[u64]) -> Vec<u64> {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        for &purse in purses {
            let mut rest = purse;
            for &amount in self.denominations.iter().filter(|amount| **amount >= 20_000) {
                if rest >= amount {
                    rest -= amount;
                    *counts.entry(amount).or_default() += 1;
                }
            }
        }
        let mut common: Vec<_> =
            counts.into_iter().filter(|(_, count)| *count >= 3).map(|(amount, _)| amount).collect();
        common.sort_unstable_by(|left, right| right.cmp(left));
        common
    }
}

/// A purse in these amounts, largest first, and what is left as change.
fn broken(purse: u64, amounts: &[u64], per_output: u64) -> Vec<u64> {
    let mut parts = Vec::new();
    let mut rest = purse;
    for &amount in amounts {
        while rest >= amount + per_output && parts.len() < PARTS && rest < amount * 5 {
            rest -= amount + per_output;
            parts.push(amount);
        }
    }
    if let Some(change) = rest.checked_sub(per_output).filter(|&change| change >= LEAST) {
        parts.push(change);
    }
    parts
}

/// Returns whether most outputs hide among others.
fn worth_it(parts: &[Vec<u64>]) -> bool {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for &amount in parts.iter().flatten() {
        *counts.entry(amount).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    let repeated: Vec<_> = counts.values().filter(|count| **count > 1).collect();
    let single = counts.values().filter(|count| **count == 1).count();
    repeated.len() >= 3
        && 2 * repeated.into_iter().sum::<usize>() + 1 >= all
        && single >= 1
        && parts.iter().all(|parts| !parts.is_empty())
}
