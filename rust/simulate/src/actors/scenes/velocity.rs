//! Money that does not stay, wallets that do not last, and one that waited.

use super::Sum;
use super::sketch::Sketch;
use crate::clock::{DAY, HOUR};
use crate::truth::Verdict;
use crate::world::Coin;

/// Five times money comes, and leaves within the hour. The twin waits a little longer.
pub(super) fn rapid_in_out(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("runner");
    sketch.claim(who);
    let mut at = sketch.opening(4);
    for number in 0..5 {
        let cents = sketch.cents(2_400);
        sketch.fund(at, number, who, Coin::Native, cents);
        let hold = match verdict {
            Verdict::Planted => sketch.minutes(12, 50),
            Verdict::Innocent => sketch.minutes(66, 95),
        };
        sketch.cash_out(at + hold, who, number + 1, "runner", (Coin::Native, Sum::All));
        at += hold + sketch.hours(5, 14);
    }
}

/// Three sources, two targets, and nothing stays. The twin keeps a twelfth.
pub(super) fn pass_through(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("transit");
    let targets = sketch.crowd("target", 2);
    sketch.claim(who);
    let mut at = sketch.opening(8);
    for number in 0..4 {
        sketch.fund(at, number, who, Coin::Native, 600_000);
        let sum = match verdict {
            Verdict::Planted => Sum::All,
            Verdict::Innocent => Sum::Cents(550_000),
        };
        let hold = sketch.hours(4, 11);
        sketch.pay(at + hold, who, targets[number % 2], (Coin::Native, sum));
        at += hold + sketch.hours(10, 20);
    }
}

/// A few days of life, then empty and silent. The twin lives a day too long.
pub(super) fn burner_wallet(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("burner");
    sketch.claim(who);
    let start = sketch.opening(44);
    let life = match verdict {
        Verdict::Planted => 4 * DAY + 5 * HOUR,
        Verdict::Innocent => 8 * DAY,
    };
    let cents = sketch.cents(9_000);
    sketch.fund(start, 0, who, Coin::Native, cents);
    sketch.cash_out(start + DAY, who, 1, "burner", (Coin::Native, Sum::Share(4_000)));
    let last = sketch.cast("behind");
    sketch.pay(start + life, who, last, (Coin::Native, Sum::All));
}

/// Half a year of silence, then most leaves in a day. The twin wakes a week too early.
pub(super) fn dormant_reactivation(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let days = match verdict {
        Verdict::Planted => 188,
        Verdict::Innocent => 172,
    };
    if !sketch.lasts(days + 5) {
        return;
    }
    let who = sketch.cast("sleeper");
    sketch.claim(who);
    let at = sketch.opening(days + 5);
    let cents = sketch.cents(14_000);
    // In dollars: half of what was worth something half a year ago may not be half of its worth.
    let dollar = sketch.dollar();
    sketch.gas(at, who, 3);
    sketch.fund(at + HOUR, 0, who, dollar, cents);
    let wakes = at + HOUR + days * DAY;
    sketch.cash_out(wakes, who, 0, "sleeper", (dollar, Sum::Share(4_500)));
    sketch.cash_out(wakes + 9 * HOUR, who, 0, "sleeper", (dollar, Sum::Share(6_000)));
}

/// Four deposits at three exchanges in an afternoon. The twin uses two.
pub(super) fn multi_exchange_cashout(sketch: &mut Sketch<'_>, verdict: Verdict) {
    let who = sketch.cast("seller");
    sketch.claim(who);
    let at = sketch.opening(2);
    let dollar = sketch.dollar();
    let cents = sketch.cents(24_000);
    sketch.gas(at, who, 6);
    sketch.fund(at + HOUR, 0, who, dollar, cents);
    let deposits = match verdict {
        Verdict::Planted => 4,
        Verdict::Innocent => 2,
    };
    for number in 0..deposits {
        let when = at + 3 * HOUR + i64::try_from(number).unwrap_or(0) * 50 * 60;
        let sum = if number + 1 == deposits { Sum::All } else { Sum::Share(3_300) };
        sketch.cash_out(when, who, number, &format!("straw-{number}"), (dollar, sum));
    }
}
