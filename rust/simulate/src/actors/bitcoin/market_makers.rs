//! A market of joint transactions: a taker names the amount and pays makers for hiding it among outputs of theirs. And a joint
//! payment without a protocol, in which somebody uses one address twice.

use super::crowd::{Crowd, FIRST_ROUND, Rounds, sum};
use super::wasabi_one::near_a_multiple;
use crate::actors::Actor;
use crate::book::{Habits, Lock, NewOutput, Order, Style, UtxoBook};
use crate::clock::DAY;
use crate::random::Stream;
use crate::truth::JointKind;
use crate::world::World;

/// Least amount that is joined.
const LEAST: u64 = 300_000;
/// The band that rounds of another protocol use.
const TENTH: std::ops::Range<u64> = 9_400_000..10_600_000;

struct Market {
    kind: JointKind,
    crowd: Crowd,
    rounds: Rounds,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let kinds = [(JointKind::JoinMarket, 8, 16), (JointKind::Generic, 5, 10)];
    let market = |(kind, rounds, people): (JointKind, usize, usize)| -> Box<dyn Actor> {
        let rounds = Rounds::new(world, world.preset.rarities(rounds));
        let people = world.preset.rarities(people).min(300);
        let crowd = Crowd::new(world, kind.name(), people, Some(Habits::mixing_wallet()));
        let stream = Stream::new(world.seed, kind.name());
        Box::new(Market { kind, crowd, rounds, stream })
    };
    kinds.into_iter().map(market).collect()
}

impl Actor for Market {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 6 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let median = 2_000_000 + self.stream.below(30_000_000);
        self.crowd.fill(world, now, 1_500_000, median, 2);
        if now < FIRST_ROUND {
            return Some(FIRST_ROUND);
        }
        let happened = self.deal(world, now);
        self.crowd.spend_some(world, now, happened, 2);
        self.rounds.next(now, happened, &mut self.stream)
    }
}

impl Market {
    fn deal(&mut self, world: &mut World, now: i64) -> bool {
        let satoshis = LEAST + self.stream.below(1_500_000);
        let satoshis = if TENTH.contains(&satoshis) { TENTH.end } else { satoshis };
        let parties = 3 + self.stream.index(5);
        let taken = self.crowd.gathered(world, (parties, 3), satoshis + 90_000);
        let inputs: Vec<_> = taken.iter().flat_map(|(_, held)| held.iter().copied()).collect();
        let fee = world.bitcoin.joint_fee(now, &inputs, &vec![Lock::P2wpkh; 2 * taken.len()]);
        let Some(((taker, _), makers)) = taken.split_first().filter(|_| taken.len() >= 3) else {
            Crowd::give_back(world, taken);
            return false;
        };
        let rewards: Vec<u64> = makers.iter().map(|_| 200 + self.stream.below(satoshis / 2_000)).collect();
        let paid = rewards.iter().sum::<u64>() + fee;
        let mut changes: Vec<u64> = Vec::new();
        for (place, (_, held)) in taken.iter().enumerate() {
            let rest = sum(held) - satoshis;
            changes.push(match place.checked_sub(1) {
                Some(maker) => rest + rewards[maker],
                None => rest.saturating_sub(paid),
            });
        }
        let mut distinct = changes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let unfit = distinct.len() < changes.len()
            || changes.iter().any(|&change| change < 3_000 || change == satoshis)
            || near_a_multiple(sum(&inputs), satoshis);
        if unfit {
            Crowd::give_back(world, taken);
            return false;
        }
        let style = match self.kind {
            JointKind::JoinMarket => world.bitcoin.written_by(taker.wallet),
            _ => Style::JOINT,
        };
        let mut outputs = Vec::new();
        for (place, ((member, _), change)) in taken.iter().zip(changes).enumerate() {
            let joined = world.bitcoin.fresh(member.wallet);
            let rest = match (self.kind, place) {
                // Without software that chooses better, change goes where the money went.
                (JointKind::Generic, 1) => joined,
                _ => world.bitcoin.fresh(member.wallet),
            };
            outputs.extend([NewOutput::to(joined, satoshis), NewOutput::to(rest, change)]);
        }
        let inputs = UtxoBook::shuffled(inputs, &mut self.stream);
        let outputs = UtxoBook::shuffled(outputs, &mut self.stream);
        let made = world.bitcoin.join(now, (inputs, outputs), style, Order::Given, &[]);
        world.note_joint(made.hash, self.kind);
        true
    }
}
