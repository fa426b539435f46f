//! Payments to which the receiver adds a coin (BIP 78): the inputs have two owners, and nothing shows it.

use super::crowd::{Crowd, FIRST_ROUND, Rounds, sum};
use crate::actors::Actor;
use crate::book::{NewOutput, Order};
use crate::clock::DAY;
use crate::random::Stream;
use crate::truth::JointKind;
use crate::world::World;

struct PayJoins {
    crowd: Crowd,
    rounds: Rounds,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let people = world.preset.rarities(8).min(400);
    vec![Box::new(PayJoins {
        crowd: Crowd::new(world, "payjoin", people, None),
        rounds: Rounds::new(world, world.preset.rarities(8)),
        stream: Stream::new(world.seed, "payjoin"),
    })]
}

impl Actor for PayJoins {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 6 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let median = 1_000_000 + self.stream.below(20_000_000);
        self.crowd.fill(world, now, 800_000, median, 2);
        if now < FIRST_ROUND {
            return Some(FIRST_ROUND);
        }
        let happened = self.pay(world, now);
        self.crowd.spend_some(world, now, happened, 2);
        self.rounds.next(now, happened, &mut self.stream)
    }
}

impl PayJoins {
    fn pay(&mut self, world: &mut World, now: i64) -> bool {
        let mut parties = self.crowd.gathered(world, (2, 1), 300_000);
        let (Some((receiver, added)), Some((sender, spent))) = (parties.pop(), parties.pop()) else {
            Crowd::give_back(world, parties);
            return false;
        };
        let pay = sum(&spent) / 100 * self.stream.between(10, 80);
        let inputs = [spent.clone(), added.clone()].concat();
        let mut outputs = vec![NewOutput::to(world.bitcoin.receiving(receiver.wallet), pay + sum(&added))];
        let change = world.bitcoin.own(sender.wallet);
        outputs.push(NewOutput::to(change, 0));
        let fee = world.bitcoin.own_fee(now, sender.wallet, &inputs, &outputs);
        let Some(rest) = sum(&spent).checked_sub(pay + fee).filter(|&rest| rest > 1_000) else {
            Crowd::give_back(world, vec![(receiver, added), (sender, spent)]);
            return false;
        };
        outputs[1] = NewOutput::to(change, rest);
        let style = world.bitcoin.written_by(sender.wallet);
        let made = world.bitcoin.join(now, (inputs, outputs), style, Order::Sorted, &[1]);
        world.note_joint(made.hash, JointKind::PayJoin);
        true
    }
}
