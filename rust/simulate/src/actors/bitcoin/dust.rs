//! Very small outputs: tokens and inscriptions that ride on 546 or 330 satoshis, and dust sent to many known addresses
//! in the hope that their owners spend it together with other coins.

use headwater_ledger::read::ScriptType;

use super::crowd::{Crowd, FIRST_ROUND, Rounds};
use crate::actors::Actor;
use crate::book::{Habits, Holder, Lock, NewOutput, WalletId};
use crate::clock::DAY;
use crate::random::Stream;
use crate::truth::{Behaviour, Role};
use crate::world::World;

/// Victims of one dusting.
const VICTIMS: usize = 130;
/// The amount that a dusting sends to each.
const DUST: u64 = 547;

struct Tokens {
    crowd: Crowd,
    rounds: Rounds,
    stream: Stream,
}

struct Duster {
    wallet: WalletId,
    rounds: Rounds,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let people = world.preset.rarities(10).min(2_000);
    let habits = Habits { lock: Lock::P2tr, ..Habits::mixing_wallet() };
    let tokens = Tokens {
        crowd: Crowd::new(world, "tokens", people, Some(habits)),
        rounds: Rounds::new(world, world.preset.rarities(60)),
        stream: Stream::new(world.seed, "tokens"),
    };
    let holder = Holder::single("scam-duster", Role::Duster);
    let duster = Duster {
        wallet: world.bitcoin.add_wallet(holder, Habits::service(ScriptType::P2wpkh)),
        rounds: Rounds::new(world, world.preset.rarities(2)),
        stream: Stream::new(world.seed, "scam-duster"),
    };
    vec![Box::new(tokens), Box::new(duster)]
}

impl Actor for Tokens {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 5 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        self.crowd.fill(world, now, 200_000, 900_000, 1);
        if now < FIRST_ROUND {
            return Some(FIRST_ROUND);
        }
        let happened = self.send(world, now);
        self.rounds.next(now, happened, &mut self.stream)
    }
}

impl Tokens {
    /// A token moves: a small output to its new owner, and mostly a note that says which.
    fn send(&mut self, world: &mut World, now: i64) -> bool {
        let [payer, payee] = [(); 2].map(|()| self.stream.index(self.crowd.members.len()));
        let (payer, payee) = (self.crowd.members[payer].wallet, self.crowd.members[payee].wallet);
        let mut outputs = vec![NewOutput::to(world.bitcoin.fresh(payee), *self.stream.pick(&[546, 546, 330]))];
        if self.stream.chance(0.7) {
            let length = self.stream.index(60) + 8;
            outputs.push(NewOutput::note(&vec![0x5d; length]));
        }
        world.bitcoin.pay_out(now, payer, outputs).is_ok()
    }
}

impl Actor for Duster {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 5 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        if world.bitcoin.spendable(self.wallet, now) < 1_000_000 {
            let to = world.bitcoin.receiving(self.wallet);
            world.withdraw_bitcoin(1, to, 6_000_000);
            return Some(now + 3 * DAY);
        }
        let mut victims: Vec<WalletId> = Vec::new();
        for _ in 0..4 * VICTIMS {
            let number = self.stream.index(world.people.len());
            let wallet = world.people[number].wallet;
            if victims.len() < VICTIMS && !victims.contains(&wallet) {
                victims.push(wallet);
            }
        }
        let outputs: Vec<_> = victims.into_iter().map(|wallet| (world.bitcoin.known(wallet), DUST)).collect();
        let paid = world.bitcoin.pay(now, self.wallet, &outputs);
        if let Ok(paid) = &paid {
            let cents = world.market.cents("btc", 8, u128::from(DUST) * outputs.len() as u128, now);
            let deed = (paid.from[0], Behaviour::Dusting);
            world.note_deed(deed, paid.hash, outputs.len() as u64, cents);
        }
        self.rounds.next(now, paid.is_ok(), &mut self.stream)
    }
}
