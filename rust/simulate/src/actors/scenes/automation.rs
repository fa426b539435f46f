//! Machines: too fast, too awake, too regular for a person.

use super::Sum;
use super::sketch::Sketch;
use crate::clock::{DAY, HOUR};
use crate::truth::Verdict;
use crate::world::Coin;

/// A hundred and ten transfers within the hour, among a few. The twin makes eighty-eight.
pub(super) fn high_frequency(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("machine");
    sketch.claim(who);
    let count = match verdict {
        Verdict::Planted => 110,
        Verdict::Innocent => 88,
    };
    let at = sketch.opening(2);
    sketch.fund(at, 0, who, Coin::Native, 250_000);
    let receivers = sketch.crowd("socket", 8);
    for number in 0..count {
        let to = receivers[sketch.stream.index(receivers.len())];
        let cents = sketch.cents(4);
        sketch.pay(at + HOUR + number * 30, who, to, (Coin::Native, Sum::Cents(cents)));
    }
}

/// Two hundred and forty transfers round the clock. The twin sleeps.
pub(super) fn always_on(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("machine");
    sketch.claim(who);
    let start = sketch.opening(28);
    sketch.fund(start, 0, who, Coin::Native, 400_000);
    let receivers = sketch.crowd("socket", 6);
    let mut at = start;
    for _ in 0..240 {
        at += sketch.minutes(35, 140);
        if verdict == Verdict::Innocent && at.rem_euclid(DAY) < 7 * HOUR {
            // Off from midnight to seven.
            at = at / DAY * DAY + 7 * HOUR + sketch.minutes(1, 90);
        }
        let to = receivers[sketch.stream.index(receivers.len())];
        let cents = sketch.cents(3);
        sketch.pay(at, who, to, (Coin::Native, Sum::Cents(cents)));
    }
}

/// Once a day at the same minute. The twin comes when it likes.
pub(super) fn fixed_interval(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("payroll");
    sketch.claim(who);
    let start = sketch.opening(44);
    sketch.fund(start, 0, who, Coin::Native, 900_000);
    let receivers = sketch.crowd("worker", 5);
    let mut at = start;
    for number in 0..26 {
        at += match verdict {
            Verdict::Planted => DAY,
            Verdict::Innocent => sketch.hours(6, 44),
        };
        let cents = sketch.cents(190);
        sketch.pay(at, who, receivers[number % 5], (Coin::Native, Sum::Cents(cents)));
    }
}
