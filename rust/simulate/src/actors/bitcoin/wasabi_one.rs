//! Rounds of a coordinator with a base denomination of about 0.1 BTC: everybody gets one such output and the rest back.
//! The later form also pays whoever has more at the doubled levels that somebody else reaches too.

use headwater_ledger::read::ScriptType;

use super::crowd::{Crowd, FIRST_ROUND, Member, Rounds, sum};
use crate::actors::Actor;
use crate::book::{Habits, Holder, Lock, NewOutput, Order, Style, TakenCoin, WalletId};
use crate::clock::DAY;
use crate::random::Stream;
use crate::truth::{JointKind, Role};
use crate::world::World;

const TENTH: u64 = 10_000_000;
/// Levels of the later form: up to 0.1 BTC times two to this power, less one.
const LEVELS: u32 = 6;
/// Change below this goes to the miner.
const MIN_CHANGE: u64 = 5_000;
/// The minimum distance from a level of an amount that is not one of it, in parts of a hundred.
const CLEAR_PERCENT: u64 = 7;

struct Coordinator {
    kind: JointKind,
    wallet: WalletId,
    crowd: Crowd,
    rounds: Rounds,
    participants: (usize, usize),
    stream: Stream,
}

pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for (kind, median) in [(JointKind::WasabiOneZero, 22_u64), (JointKind::WasabiOneOne, 24)] {
        let name = kind.name();
        let holder = Holder::single(&format!("coordinator-{name}"), Role::CoinjoinCoordinator);
        let wallet = world.bitcoin.add_wallet(holder, Habits::service(ScriptType::P2wpkh));
        let rounds = Rounds::new(world, world.preset.rarities(4));
        let count = world.preset.rarities(26).min(400);
        actors.push(Box::new(Coordinator {
            kind,
            wallet,
            crowd: Crowd::new(world, name, count, Some(Habits::mixing_wallet())),
            rounds,
            participants: (11, usize::try_from(median).unwrap_or(20)),
            stream: Stream::new(world.seed, name),
        }));
    }
    actors
}

impl Actor for Coordinator {
    fn first_wake(&self) -> i64 {
        FIRST_ROUND - 6 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        self.crowd.fill(world, now, TENTH + TENTH / 10, TENTH * 9 / 5, 2);
        if now < FIRST_ROUND {
            return Some(FIRST_ROUND);
        }
        let happened = self.round(world, now);
        let spenders = self.crowd.members.len() / 5;
        self.crowd.spend_some(world, now, happened, spenders);
        self.rounds.next(now, happened, &mut self.stream)
    }
}

/// The portion of one participant.
struct Portion {
    wallet: WalletId,
    levels: u32,
    change: u64,
}

impl Coordinator {
    fn round(&mut self, world: &mut World, now: i64) -> bool {
        let base = TENTH - 180_000 + self.stream.below(360_000);
        let most = self.participants.0 + self.stream.index(self.participants.1);
        let mut taken = self.crowd.gathered(world, (most, 3), base + base / 40 + 40_000);
        while taken.len() >= self.participants.0 {
            let portions = self.portions(world, now, base, &taken);
            match portions {
                Ok(portions) => {
                    self.sign(world, now, base, taken, portions);
                    return true;
                }
                Err(unfit) => {
                    let out = taken.remove(unfit);
                    Crowd::give_back(world, vec![out]);
                }
            }
        }
        Crowd::give_back(world, taken);
        false
    }

    /// Computes what everybody gets, or the place of somebody with whom the round would not work.
    fn portions(
        &self,
        world: &World,
        now: i64,
        base: u64,
        taken: &[(Member, Vec<TakenCoin>)],
    ) -> Result<Vec<Portion>, usize> {
        let count = taken.len() as u64;
        let inputs: Vec<TakenCoin> = taken.iter().flat_map(|(_, held)| held.iter().copied()).collect();
        let network = world.bitcoin.joint_fee(now, &inputs, &vec![Lock::P2wpkh; 3 * taken.len() + 1]) / count + 1;
        // 0.003 % for everybody one hides among.
        let service = base * 3 * count / 100_000;
        let purse = |held: &[TakenCoin]| sum(held).checked_sub(network + service);
        let reach = |rest: u64| (0..LEVELS).take_while(|&level| rest >= base * ((2 << level) - 1)).count();
        let mut reaching = [0_usize; LEVELS as usize + 1];
        for (place, (_, held)) in taken.iter().enumerate() {
            let reached = reach(purse(held).ok_or(place)?);
            if reached == 0 {
                return Err(place);
            }
            reaching[..reached].iter_mut().for_each(|count| *count += 1);
        }
        let open = match self.kind {
            JointKind::WasabiOneZero => 1,
            _ => reaching.iter().take_while(|&&count| count >= 2).count(),
        };
        let mut portions = Vec::new();
        for (place, (member, held)) in taken.iter().enumerate() {
            let rest = purse(held).ok_or(place)?;
            let levels = u32::try_from(reach(rest).min(open)).map_err(|_| place)?;
            let change = rest - base * ((1 << levels) - 1);
            if near_a_level(change) {
                return Err(place);
            }
            portions.push(Portion { wallet: member.wallet, levels, change });
        }
        let total = sum(&inputs);
        let paid: u64 = portions.iter().map(|portion| base * ((1 << portion.levels) - 1) + portion.change).sum();
        if [total, paid, paid + service * count].into_iter().any(|total| near_a_multiple(total, base)) {
            return Err(0);
        }
        Ok(portions)
    }

    fn sign(
        &self,
        world: &mut World,
        now: i64,
        base: u64,
        taken: Vec<(Member, Vec<TakenCoin>)>,
        portions: Vec<Portion>,
    ) {
        let count = portions.len() as u64;
        let mut outputs = Vec::new();
        for portion in portions {
            for level in 0..portion.levels {
                outputs.push(NewOutput::to(world.bitcoin.fresh(portion.wallet), base << level));
            }
            if portion.change >= MIN_CHANGE {
                outputs.push(NewOutput::to(world.bitcoin.fresh(portion.wallet), portion.change));
            }
        }
        outputs.push(NewOutput::to(world.bitcoin.fresh(self.wallet), base * 3 * count / 100_000 * count));
        let inputs = taken.into_iter().flat_map(|(_, held)| held).collect();
        let made = world.bitcoin.join(now, (inputs, outputs), Style::JOINT, Order::Sorted, &[]);
        world.note_joint(made.hash, self.kind);
    }
}

/// Returns whether an amount could be taken for one of the levels.
fn near_a_level(satoshis: u64) -> bool {
    (0..14).map(|level| TENTH << level).any(|level| satoshis.abs_diff(level) * 100 <= level * CLEAR_PERCENT)
}

/// Returns whether a total is so near a multiple of an amount that the transaction could be taken for a batch of payouts.
pub(super) fn near_a_multiple(total: u64, amount: u64) -> bool {
    let beyond = total % amount;
    beyond.min(amount - beyond) * 5_000 <= total
}
