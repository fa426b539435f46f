//! From chain to chain, and out of the mixer.

use headwater_types::Chain;

use super::sketch::Sketch;
use super::{MoveAction, Sum};
use crate::clock::{DAY, HOUR};
use crate::truth::{Behaviour, Verdict};
use crate::world::Coin;
use crate::world::bridges::Protocol;

/// Four deposits into four bridges in half a day. The twin makes two.
pub(super) fn bridge_hopping(sketch: &mut Sketch<'_>, verdict: Verdict) {
    sketch.chain = Chain::ETHEREUM;
    sketch.relocate();
    let who = sketch.cast("hopper");
    sketch.claim(who);
    let at = sketch.opening(4);
    let dollar = sketch.dollar();
    sketch.gas(at, who, 12);
    sketch.fund(at + HOUR, 0, who, dollar, 2_000_000);
    let behind = sketch.cast("behind");
    let bridges = [Protocol::Celer, Protocol::Wormhole, Protocol::Across, Protocol::Synapse];
    let count = match verdict {
        Verdict::Planted => 4,
        Verdict::Innocent => 2,
    };
    let mut when = at + 2 * HOUR;
    for (number, protocol) in bridges.into_iter().take(count).enumerate() {
        when += sketch.minutes(40, 170);
        let left = u32::try_from(count - number).expect("a few");
        let share = Sum::Share(if left == 1 { 9_900 } else { 10_000 / left });
        sketch.play(when, who, MoveAction::Cross(protocol, Chain::BSC, behind), (dollar, share), "bridge");
    }
}

/// The first coins of a fresh address come out of the mixer. Those of the twin come from an exchange.
pub(super) fn gas_funded_by_mixer(sketch: &mut Sketch<'_>, verdict: Verdict) {
    sketch.chain = Chain::ETHEREUM;
    sketch.relocate();
    let (payer, who) = (sketch.cast("payer"), sketch.cast("fresh"));
    let at = sketch.opening(8);
    if verdict == Verdict::Innocent {
        // The mixer itself says of those whom it pays what they are.
        sketch.claim(who);
        for number in 0..3 {
            sketch.fund(at + number * HOUR, 0, who, Coin::Native, 20_000);
        }
    }
    sketch.fund(at, 0, payer, Coin::Native, 300_000);
    sketch.play(at + 5 * HOUR, payer, MoveAction::Mix(who), (Coin::Native, Sum::Units(0, 150_000)), "mix");
    let end = sketch.cast("end");
    // Whom somebody pays who used the mixer has not used it.
    sketch.claim_as(end, Behaviour::MixerInteraction, Verdict::Innocent);
    sketch.pay(at + 3 * DAY, who, end, (Coin::Native, Sum::Cents(9_000)));
}
