//! Money that is spread over many, gathered from many, or cut to size.

use super::sketch::Sketch;
use super::{MoveAction, Sum};
use crate::clock::{DAY, HOUR};
use crate::truth::Verdict;
use crate::world::Coin;

/// One purse pays twenty-six in a day. The twin pays nineteen.
pub(super) fn fan_out(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("purse");
    sketch.claim(who);
    let count = match verdict {
        Verdict::Planted => 26,
        Verdict::Innocent => 19,
    };
    let at = sketch.opening(2);
    sketch.fund(at, 0, who, Coin::Native, 1_500_000);
    let mut when = at + HOUR;
    for to in sketch.crowd("mule", count) {
        when += sketch.minutes(9, 44);
        let cents = sketch.cents(400);
        sketch.pay(when, who, to, (Coin::Native, Sum::Cents(cents)));
    }
}

/// Twenty-four pay one purse, which hands on to two. The twin has nineteen payers.
pub(super) fn fan_in(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("hub");
    sketch.claim(who);
    let count = match verdict {
        Verdict::Planted => 24,
        Verdict::Innocent => 19,
    };
    let at = sketch.opening(5);
    let payers = sketch.crowd("payer", count);
    for (number, payer) in payers.into_iter().enumerate() {
        let before = sketch.hours(1, 20);
        let cents = sketch.cents(350);
        sketch.fund(at + before, number, payer, Coin::Native, cents);
        let when = at + DAY + sketch.hours(1, 20);
        sketch.pay(when, payer, who, (Coin::Native, Sum::All));
    }
    let targets = sketch.crowd("target", 2);
    sketch.pay(at + DAY + 22 * HOUR, who, targets[0], (Coin::Native, Sum::Share(4_000)));
    sketch.pay(at + DAY + 23 * HOUR, who, targets[1], (Coin::Native, Sum::All));
}

/// Six payments just below ten thousand dollars in a day. The twin makes four.
pub(super) fn structuring(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("smurf");
    sketch.claim(who);
    let count: u64 = match verdict {
        Verdict::Planted => 6,
        Verdict::Innocent => 4,
    };
    let at = sketch.opening(3);
    let dollar = sketch.dollar();
    sketch.gas(at, who, count);
    sketch.fund(at + HOUR, 0, who, dollar, 10_300 * 100 * count);
    let mut when = at + 3 * HOUR;
    for _ in 0..count {
        when += sketch.minutes(50, 150);
        let (units, millionths) = (sketch.stream.between(8_700, 9_850), sketch.stream.between(1, 990_000));
        let sum = Sum::Units(units, u32::try_from(millionths).expect("below a million"));
        sketch.cash_out(when, who, 0, "smurf", (dollar, sum));
    }
}

/// Twelve equal payments to twelve. The twin makes nine.
pub(super) fn equal_amount_split(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("splitter");
    sketch.claim(who);
    let count = match verdict {
        Verdict::Planted => 12,
        Verdict::Innocent => 9,
    };
    let at = sketch.opening(2);
    let dollar = sketch.dollar();
    sketch.gas(at, who, 12);
    sketch.fund(at + HOUR, 0, who, dollar, 1_600_000);
    let units = sketch.stream.between(900, 1_200);
    let mut when = at + 2 * HOUR;
    for to in sketch.crowd("share", count) {
        when += sketch.minutes(10, 80);
        sketch.pay(when, who, to, (dollar, Sum::Units(units, 370_000)));
    }
}

/// Mostly round sums. The twin has as many that are not.
pub(super) fn round_amounts(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("rounder");
    sketch.claim(who);
    let at = sketch.opening(30);
    let dollar = sketch.dollar();
    sketch.gas(at, who, 22);
    sketch.fund(at + HOUR, 0, who, dollar, 4_000_000);
    let mut when = at + 3 * HOUR;
    for number in 0..20_usize {
        when += sketch.hours(9, 40);
        let odd = match verdict {
            Verdict::Planted => number % 7 == 3,
            Verdict::Innocent => number % 2 == 1,
        };
        let sum = if odd {
            Sum::Units(sketch.stream.between(311, 988) / 2 * 2 + 1, 417_000)
        } else {
            Sum::Units([100, 250, 400, 1_200, 3_000][number % 5], 0)
        };
        let to = sketch.stranger();
        sketch.pay(when, who, to, (dollar, sum));
    }
}

/// Sixty pay in; what is paid out goes to a few who came early, from what came later. The twin has too few payers.
pub(super) fn ponzi_payout(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let till = sketch.cast("till");
    sketch.claim(till);
    let count = match verdict {
        Verdict::Planted => 62,
        Verdict::Innocent => 47,
    };
    let dollar = sketch.dollar();
    let mut at = sketch.opening(45);
    let payers = sketch.crowd("investor", count);
    for (number, &payer) in payers.iter().enumerate() {
        at += sketch.hours(3, 16);
        let cents = sketch.cents(500);
        sketch.gas(at, payer, 1);
        sketch.fund(at + 600, number, payer, dollar, cents);
        sketch.play(at + 1_800, payer, MoveAction::Pay(till), (dollar, Sum::All), "loot");
        if number == 0 {
            sketch.gas(at + 2_400, till, 40);
        }
        // Out of three deposits one is spent on the first six, who praise to others how well it pays.
        if number > 8 && number % 3 == 0 {
            let lucky = payers[sketch.stream.index(6)];
            let back = sketch.cents(420);
            sketch.play(at + 3_000, till, MoveAction::Pay(lucky), (dollar, Sum::Cents(back)), "payout");
        }
    }
    sketch.cash_out(at + 2 * DAY, till, 1, "owner", (dollar, Sum::Share(9_900)));
}
