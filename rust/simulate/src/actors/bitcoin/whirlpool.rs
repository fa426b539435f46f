//! A mixing pool of fixed denominations. A pre-mix (Tx0) cuts coins into the denomination and pays the coordinator; a
//! mix has as many inputs as outputs, all outputs equal, a few inputs slightly larger to pay the miner.

use std::collections::VecDeque;

use headwater_ledger::read::ScriptType;

use super::crowd::{Crowd, FIRST_ROUND, Rounds, sum};
use crate::actors::Actor;
use crate::book::{ChangePlace, Habits, Holder, Lock, NewOutput, Order, Style, TakenCoin, UtxoBook, WalletId};
use crate::clock::DAY;
use crate::random::Stream;
use crate::truth::{JointKind, Role};
use crate::world::World;

/// Denomination and fee of the coordinator, in satoshis.
const POOLS: [(u64, u64); 4] = [(100_000, 5_000), (1_000_000, 50_000), (5_000_000, 175_000), (50_000_000, 1_750_000)];
/// Inputs and outputs of a mix.
const PARTICIPANTS: usize = 5;
/// Most that an input may hold beyond the denomination.
const MAX_EXCESS: u64 = 110_000;

struct Pool {
    denomination: u64,
    fee: u64,
    coordinator: WalletId,
    crowd: Crowd,
    rounds: Rounds,
    /// Coins of new members, slightly larger than the denomination.
    premix: VecDeque<TakenCoin>,
    /// Coins that were mixed and wait to be mixed again.
    postmix: VecDeque<TakenCoin>,
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for (denomination, fee) in POOLS {
        let name = format!("whirlpool-{denomination}");
        let habits = Habits { place: ChangePlace::Sorted, ..Habits::service(ScriptType::P2wpkh) };
        let holder = Holder::single(&format!("coordinator-{name}"), Role::CoinjoinCoordinator);
        let coordinator = world.bitcoin.add_wallet(holder, habits);
        let count = world.preset.rarities(9);
        let rounds = Rounds::new(world, world.preset.rarities(6));
        actors.push(Box::new(Pool {
            denomination,
            fee,
            coordinator,
            crowd: Crowd::new(world, &name, count, Some(Habits::mixing_wallet())),
            rounds,
            premix: VecDeque::new(),
            postmix: VecDeque::new(),
            stream: Stream::new(world.seed, &name),
        }));
    }
    actors
}

impl Actor for Pool {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 6 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let d = self.denomination;
        self.crowd.fill(world, now, d * 3, d * 6, 1);
        if now < FIRST_ROUND {
            let to = world.bitcoin.receiving(self.coordinator);
            world.withdraw_bitcoin(0, to, d * 6 + 40_000);
            return Some(FIRST_ROUND);
        }
        while self.premix.len() < 6 && self.pre_mix(world, now).is_some() {}
        if self.postmix.len() < PARTICIPANTS - 2 {
            self.seed_pool(world, now);
        }
        let mixed = self.mix(world, now).is_some();
        self.crowd.spend_some(world, now, mixed, 2);
        self.rounds.next(now, mixed, &mut self.stream).or_else(|| self.leave(world))
    }
}

impl Pool {
    /// Everybody takes their coins home.
    fn leave(&mut self, world: &mut World) -> Option<i64> {
        let coins = self.premix.drain(..).chain(self.postmix.drain(..));
        coins.for_each(|held| world.bitcoin.give_back(held));
        None
    }

    /// A member cuts coins into the denomination.
    fn pre_mix(&mut self, world: &mut World, now: i64) -> Option<()> {
        let d = self.denomination;
        // Two of five pay for a mix in which all lie in one lock.
        let virtual_bytes = 540;
        let excess = (world.bitcoin.rate(now) * virtual_bytes / 2_000).clamp(400, MAX_EXCESS - 10_000);
        let want = 2 * (d + excess) + self.fee + 60_000.min(d / 2);
        let (member, inputs) = self.crowd.gathered(world, (1, 2), want).pop()?;
        let held = sum(&inputs);
        let parts = ((held - self.fee - 30_000.min(d / 4)) / (d + excess)).min(8);
        let mut outputs =
            vec![NewOutput::note(&[0x57; 64]), NewOutput::to(world.bitcoin.fresh(self.coordinator), self.fee)];
        for _ in 0..parts {
            outputs.push(NewOutput::to(world.bitcoin.fresh(member.wallet), d + excess));
        }
        let change = world.bitcoin.fresh(member.wallet);
        let fee = {
            let with_change: Vec<_> = outputs.iter().cloned().chain([NewOutput::to(change, 0)]).collect();
            world.bitcoin.own_fee(now, member.wallet, &inputs, &with_change)
        };
        let rest = held.checked_sub(parts * (d + excess) + self.fee + fee);
        // Change of the size of the fee could be taken for it: then another time.
        let Some(rest) = rest.filter(|rest| !(self.fee / 2..=3 * self.fee).contains(rest)) else {
            Crowd::give_back(world, vec![(member, inputs)]);
            return None;
        };
        let mut changes = Vec::new();
        if rest >= Lock::P2wpkh.dust() {
            changes.push(outputs.len());
            outputs.push(NewOutput::to(change, rest));
        }
        let style = world.bitcoin.written_by(member.wallet);
        let made = world.bitcoin.join(now, (inputs, outputs), style, Order::Sorted, &changes);
        world.note_joint(made.hash, JointKind::WhirlpoolPremix);
        for output in 0..made.coins.len() {
            // Nobody has the note.
            let Some(held) = world.bitcoin.hold(&made, output) else { continue };
            if held.coin.satoshis == d + excess && held.wallet == member.wallet {
                self.premix.push_back(held);
            } else {
                world.bitcoin.give_back(held);
            }
        }
        Some(())
    }

    /// The coordinator puts coins of its own in, as long as too few were mixed before.
    fn seed_pool(&mut self, world: &mut World, now: i64) {
        let addresses: Vec<_> = (0..4).map(|_| world.bitcoin.fresh(self.coordinator)).collect();
        let outputs: Vec<_> = addresses.iter().map(|&address| (address, self.denomination)).collect();
        if world.bitcoin.pay(now, self.coordinator, &outputs).is_ok() {
            let d = self.denomination;
            while let Some(held) = world.bitcoin.take(self.coordinator, d, d) {
                self.postmix.push_back(held);
            }
        }
    }

    fn mix(&mut self, world: &mut World, now: i64) -> Option<()> {
        let new = 2 + self.stream.index(2);
        let again = PARTICIPANTS - new;
        if self.premix.len() < new || self.postmix.len() < again {
            return None;
        }
        let mut inputs: Vec<TakenCoin> = self.premix.drain(..new).chain(self.postmix.drain(..again)).collect();
        let least = world.bitcoin.joint_fee(now, &inputs, &[Lock::P2wpkh; PARTICIPANTS]) / 3;
        if sum(&inputs) - self.denomination * PARTICIPANTS as u64 <= least.max(600) {
            // The miner would not take it at today's rate: the first go to the end of the line.
            self.postmix.extend(inputs.split_off(new));
            self.premix.extend(inputs);
            return None;
        }
        inputs = UtxoBook::shuffled(inputs, &mut self.stream);
        let owners: Vec<_> = inputs.iter().map(|held| held.wallet).collect();
        let outputs =
            owners.iter().map(|&owner| NewOutput::to(world.bitcoin.fresh(owner), self.denomination)).collect();
        let made = world.bitcoin.join(now, (inputs, outputs), Style::JOINT, Order::Sorted, &[]);
        world.note_joint(made.hash, JointKind::Whirlpool);
        for output in 0..PARTICIPANTS {
            let held = world.bitcoin.hold(&made, output)?;
            if self.stream.chance(0.35) && self.postmix.len() > PARTICIPANTS {
                world.bitcoin.give_back(held);
            } else {
                self.postmix.push_back(held);
            }
        }
        Some(())
    }
}
