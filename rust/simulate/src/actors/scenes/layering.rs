//! Money on a way that is made to be long.

use super::sketch::Sketch;
use super::{MoveAction, Sum};
use crate::clock::{DAY, HOUR};
use crate::truth::Verdict;
use crate::world::Coin;
use headwater_types::Chain;

/// Twelve pay in, thirteen are paid. The twin pays nine.
pub(super) fn gather_scatter(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("hub");
    sketch.claim(who);
    let count = match verdict {
        Verdict::Planted => 13,
        Verdict::Innocent => 9,
    };
    let at = sketch.opening(5);
    for (number, payer) in sketch.crowd("payer", 12).into_iter().enumerate() {
        let before = sketch.hours(1, 20);
        let cents = sketch.cents(700);
        sketch.fund(at + before, number, payer, Coin::Native, cents);
        let when = at + DAY + sketch.hours(1, 18);
        sketch.pay(when, payer, who, (Coin::Native, Sum::All));
    }
    let mut when = at + DAY + 20 * HOUR;
    // A share of what is left each time, so that all are of about one size and the last takes the rest.
    for (number, to) in sketch.crowd("receiver", count).into_iter().enumerate() {
        when += sketch.minutes(20, 70);
        let left = u32::try_from(count - number).expect("a few");
        let sum = if left == 1 { Sum::All } else { Sum::Share(10_000 / left - 30) };
        sketch.pay(when, who, to, (Coin::Native, sum));
    }
}

/// Six carriers bring it to one place. The twin has four.
pub(super) fn scatter_gather(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let (who, sink) = (sketch.cast("source"), sketch.cast("sink"));
    sketch.claim(who);
    let count = match verdict {
        Verdict::Planted => 6,
        Verdict::Innocent => 4,
    };
    let at = sketch.opening(6);
    sketch.fund(at, 0, who, Coin::Native, 1_300_000);
    let mut when = at + HOUR;
    for carrier in sketch.crowd("carrier", count) {
        when += sketch.minutes(15, 90);
        let cents = sketch.cents(1_500);
        sketch.pay(when, who, carrier, (Coin::Native, Sum::Cents(cents)));
        let later = when + sketch.hours(6, 60);
        sketch.pay(later, carrier, sink, (Coin::Native, Sum::Share(9_500)));
    }
}

/// Nine hops, each a little lighter. The twin stops after four.
pub(super) fn peel_chain(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let hops = match verdict {
        Verdict::Planted => 9,
        Verdict::Innocent => 4,
    };
    let mut when = sketch.opening(22);
    let chain = sketch.crowd("hop", hops + 1);
    sketch.fund(when, 0, chain[0], Coin::Native, 4_000_000);
    for (number, pair) in chain.windows(2).enumerate() {
        sketch.claim(pair[0]);
        when += sketch.hours(5, 50);
        let peeled = sketch.stream.between(400, 1_600);
        let share = Sum::Share(u32::try_from(peeled).expect("below a fifth"));
        sketch.cash_out(when, pair[0], number, &format!("peel-{}", number % 4), (Coin::Native, share));
        when += sketch.minutes(10, 100);
        sketch.pay(when, pair[0], pair[1], (Coin::Native, Sum::All));
    }
    // The last of the twin's chain keeps it: it is the end, not a hop.
    if verdict == Verdict::Planted {
        sketch.cash_out(when + DAY, chain[hops], 2, "rest", (Coin::Native, Sum::All));
    }
}

/// Five fresh addresses in a row. The twin has two.
pub(super) fn layering_hop(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let hops = match verdict {
        Verdict::Planted => 5,
        Verdict::Innocent => 2,
    };
    let mut when = sketch.opening(8);
    let path = sketch.crowd("layer", hops);
    let cents = sketch.cents(26_000);
    sketch.fund(when, 0, path[0], Coin::Native, cents);
    for pair in path.windows(2) {
        sketch.claim(pair[0]);
        when += sketch.hours(2, 20);
        sketch.pay(when, pair[0], pair[1], (Coin::Native, Sum::All));
    }
    sketch.claim(path[hops - 1]);
    when += sketch.hours(2, 20);
    match verdict {
        Verdict::Planted => sketch.cash_out(when, path[hops - 1], 1, "end", (Coin::Native, Sum::All)),
        // Not at an exchange, whose deposit address would hand it on as quickly.
        Verdict::Innocent => {
            let end = sketch.cast("end");
            sketch.pay(when, path[hops - 1], end, (Coin::Native, Sum::All));
        }
    }
}

/// Out, over two others, and back. The twin loses a third on the way.
pub(super) fn round_trip(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let circle = sketch.crowd("circle", 3);
    sketch.claim(circle[0]);
    let mut when = sketch.opening(16);
    let share = match verdict {
        Verdict::Planted => Sum::Share(9_700),
        Verdict::Innocent => Sum::Share(8_700),
    };
    sketch.fund(when, 0, circle[0], Coin::Native, 2_000_000);
    for (from, to) in [(0, 1), (1, 2), (2, 0)] {
        when += sketch.hours(8, 40);
        sketch.pay(when, circle[from], circle[to], (Coin::Native, share));
    }
}

/// Three accounts sell each other the same coins, six times around. The twin does it three times.
pub(super) fn wash_trading(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let ring = sketch.crowd("ring", 3);
    let rounds = match verdict {
        Verdict::Planted => 6,
        Verdict::Innocent => 3,
    };
    let at = sketch.opening(3);
    let coin = sketch.volatile();
    for &member in &ring {
        sketch.claim(member);
        sketch.gas(at, member, 8);
    }
    sketch.fund(at + HOUR, 0, ring[0], coin, 900_000);
    let units = sketch.stream.between(150, 330);
    let mut when = at + 3 * HOUR;
    for turn in 0..3 * rounds {
        when += sketch.minutes(11, 39);
        sketch.pay(when, ring[turn % 3], ring[(turn + 1) % 3], (coin, Sum::Units(units, 250_000)));
    }
}

/// From coin to coin to coin, then out. The twin swaps twice.
pub(super) fn asset_hopping(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("hopper");
    sketch.claim(who);
    let dollar = sketch.dollar();
    let at = sketch.opening(3);
    // From the native coin, each into the next, the last of which leaves.
    let (first, second, third) = match sketch.chain {
        Chain::ETHEREUM => (dollar, sketch.token("LINK"), sketch.token("DAI")),
        Chain::BSC => (dollar, sketch.token("Cake"), sketch.token("BUSD")),
        _ => (dollar, sketch.token("WTRX"), dollar),
    };
    sketch.fund(at, 0, who, Coin::Native, 900_000);
    sketch.play(at + HOUR, who, MoveAction::Swap(first), (Coin::Native, Sum::Share(8_500)), "swap");
    sketch.play(at + 3 * HOUR, who, MoveAction::Swap(second), (first, Sum::All), "swap");
    let last = match verdict {
        Verdict::Planted => {
            sketch.play(at + 5 * HOUR, who, MoveAction::Swap(third), (second, Sum::All), "swap");
            third
        }
        Verdict::Innocent => second,
    };
    sketch.cash_out(at + 9 * HOUR, who, 2, "hopper", (last, Sum::All));
}
