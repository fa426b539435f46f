//! Flows of an address in one kind of money: the native coin, or the main stablecoins taken as one.
//!
//! Amounts are in the money's own units. No price is used, so that a missing price cannot become a feature.

use std::collections::VecDeque;
use std::sync::LazyLock;

use super::times::{double, entropy, ratio};

/// The direction of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// To the address.
    In,
    /// From it.
    Out,
}

/// A movement of money, above zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct Payment {
    /// Epoch seconds.
    pub time: i64,
    /// In the smallest unit of the money.
    pub amount: u128,
    /// The number of the counterparty.
    pub other: u32,
    /// The direction.
    pub way: Way,
}

/// The units in which amounts of one kind of money are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Units {
    /// Smallest units in one unit, a power of ten.
    pub one: u128,
    /// Multiples of so many smallest units are round.
    pub round: u128,
}

/// Amounts one way; NaN without any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amounts {
    /// Movements.
    pub count: u64,
    /// Their sum, in units.
    pub sum: f64,
    /// Their mean.
    pub mean: f64,
    /// The median, the lower one of two.
    pub median: f64,
    /// The largest.
    pub max: f64,
    /// The smallest.
    pub min: f64,
    /// Standard deviation by mean.
    pub variation: f64,
    /// The first.
    pub first: f64,
    /// The last.
    pub last: f64,
    /// Share of movements whose amount another one has, too.
    pub repeated: f64,
    /// Sum of squared shares of the counterparties.
    pub concentration: f64,
    /// Share of the counterparty with the largest sum.
    pub top: f64,
    /// Share of the sum that is with counterparties that occur once.
    pub once: f64,
    /// Share of round amounts.
    pub round: f64,
    /// Mean number of significant decimal digits: few where people choose amounts, many where a balance is emptied.
    pub digits: f64,
}

impl Default for Amounts {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0.0,
            mean: f64::NAN,
            median: f64::NAN,
            max: f64::NAN,
            min: f64::NAN,
            variation: f64::NAN,
            first: f64::NAN,
            last: f64::NAN,
            repeated: f64::NAN,
            concentration: f64::NAN,
            top: f64::NAN,
            once: f64::NAN,
            round: f64::NAN,
            digits: f64::NAN,
        }
    }
}

/// The flows of an address in one kind of money.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Money {
    /// The amounts that came in.
    pub ins: Amounts,
    /// The amounts that went out.
    pub outs: Amounts,
    /// The share of what came in that is left at the end; NaN where nothing did, as for all shares of what came in.
    pub residual: f64,
    /// The largest balance, in units, counted from nothing.
    pub max_balance: f64,
    /// Share of the life of this money with a balance below a hundredth of the largest.
    pub empty_time: f64,
    /// Mean balance over that life by the largest.
    pub mean_balance: f64,
    /// Times the balance fell below a hundredth of the largest so far.
    pub emptied: u64,
    /// Seconds that money stays, first in first out: below it a tenth, a half, nine tenths of what came in and left.
    pub holding: [f64; 3],
    /// Share of what came in that left within an hour.
    pub quick: f64,
    /// Share of what went out in payments that emptied the balance.
    pub swept: f64,
    /// Distinct receivers of such payments.
    pub sweep_targets: u64,
    /// Entropy of the amounts over powers of two, in nats.
    pub size_entropy: f64,
    /// Distance of the first digits from Benford's law, summed over digits: 0 to 2.
    pub benford: f64,
}

impl Default for Money {
    fn default() -> Self {
        Self {
            ins: Amounts::default(),
            outs: Amounts::default(),
            residual: f64::NAN,
            max_balance: 0.0,
            empty_time: f64::NAN,
            mean_balance: f64::NAN,
            emptied: 0,
            holding: [f64::NAN; 3],
            quick: f64::NAN,
            swept: f64::NAN,
            sweep_targets: 0,
            size_entropy: f64::NAN,
            benford: f64::NAN,
        }
    }
}

impl Money {
    /// Returns what came in less what went out, by the larger of the two: -1 to 1; NaN where nothing moved.
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        let (came, left) = (self.ins.sum, self.outs.sum);
        let larger = came.max(left);
        if larger > 0.0 { (came - left) / larger } else { f64::NAN }
    }
}

/// Memory that is used for one address after the other.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    amounts: Vec<u128>,
    /// The number of a counterparty above the place of its payment: a word sorts faster than a payment.
    parties: Vec<u64>,
    lots: VecDeque<(i64, u128)>,
    holds: Vec<(u64, u128)>,
    targets: Vec<u32>,
}

impl Money {
    /// Computes them from payments in order of time. O(n log n).
    pub(super) fn of(payments: &[Payment], units: Units, workspace: &mut Workspace) -> Self {
        let mut money = Self::default();
        if payments.is_empty() {
            return money;
        }
        let came = money.one_way(payments, (Way::In, units), workspace);
        let left = money.one_way(payments, (Way::Out, units), workspace);
        money.sizes(payments);
        money.balances(payments, (came, left, double(units.one)), workspace);
        money.hold(payments, came, workspace);
        money
    }

    /// Amounts one way; the sum in smallest units comes back.
    fn one_way(&mut self, payments: &[Payment], (way, units): (Way, Units), workspace: &mut Workspace) -> u128 {
        let one = double(units.one);
        let Workspace { amounts, parties, .. } = workspace;
        amounts.clear();
        parties.clear();
        let (mut round, mut digits) = (0_u64, 0_u64);
        for (place, payment) in (0_u64..).zip(payments).filter(|(_, payment)| payment.way == way) {
            amounts.push(payment.amount);
            parties.push(u64::from(payment.other) << 32 | place);
            round += u64::from(is_multiple(payment.amount, units.round));
            digits += significant_digits(payment.amount);
        }
        let (Some(first), Some(last)) = (amounts.first().copied(), amounts.last().copied()) else { return 0 };
        let n = double(amounts.len() as u128);
        let total = amounts.iter().fold(0_u128, |sum, amount| sum.saturating_add(*amount));
        let mean = double(total) / n;
        let spread: f64 = amounts.iter().map(|amount| (double(*amount) - mean).powi(2)).sum();
        amounts.sort_unstable();
        let alone = amounts.chunk_by(|one, other| one == other).filter(|equal| equal.len() == 1).count() as u64;
        let count = amounts.len() as u64;
        let (concentration, top, once) = shares(payments, parties, total);
        let found = Amounts {
            count,
            sum: double(total) / one,
            mean: mean / one,
            median: double(amounts[(amounts.len() - 1) / 2]) / one,
            max: double(amounts[amounts.len() - 1]) / one,
            min: double(amounts[0]) / one,
            variation: (spread / n).sqrt() / mean,
            first: double(first) / one,
            last: double(last) / one,
            repeated: ratio(count - alone, count),
            concentration,
            top,
            once,
            round: ratio(round, count),
            digits: ratio(digits, count),
        };
        match way {
            Way::In => self.ins = found,
            Way::Out => self.outs = found,
        }
        total
    }

    /// Computes the sizes of amounts.
    fn sizes(&mut self, payments: &[Payment]) {
        let (mut sizes, mut firsts) = ([0_u64; 128], [0_u64; 9]);
        let (mut smallest, mut largest) = (127, 0);
        for payment in payments {
            let size = payment.amount.ilog2() as usize;
            (smallest, largest) = (size.min(smallest), size.max(largest));
            sizes[size] += 1;
            firsts[first_digit(payment.amount) - 1] += 1;
        }
        let count = payments.len() as u64;
        self.size_entropy = entropy(&sizes[smallest..=largest]);
        self.benford =
            firsts.iter().zip(&*BENFORD).map(|(found, expected)| (ratio(*found, count) - expected).abs()).sum();
    }

    /// Follows the balance, counted from nothing: what left beyond it was there before the data begins.
    fn balances(&mut self, payments: &[Payment], (came, left, one): (u128, u128, f64), workspace: &mut Workspace) {
        let mut balance = 0_u128;
        // The largest balance so far, and what counts as empty: a hundredth of it.
        let (mut largest, mut nothing) = (0_u128, 0_u128);
        let mut swept = 0_u128;
        workspace.targets.clear();
        let balances = &mut workspace.amounts;
        balances.clear();
        for payment in payments {
            match payment.way {
                Way::In => balance = balance.saturating_add(payment.amount),
                Way::Out => {
                    let before = balance;
                    balance = balance.saturating_sub(payment.amount);
                    if before > nothing && balance <= nothing {
                        self.emptied += 1;
                        swept = swept.saturating_add(payment.amount);
                        workspace.targets.push(payment.other);
                    }
                }
            }
            if balance > largest {
                (largest, nothing) = (balance, balance / 100);
            }
            balances.push(balance);
        }
        workspace.targets.sort_unstable();
        workspace.targets.dedup();
        self.sweep_targets = workspace.targets.len() as u64;
        self.max_balance = double(largest) / one;
        if left > 0 {
            self.swept = double(swept) / double(left);
        }
        if came > 0 {
            self.residual = double(balance) / double(came);
        }
        let life = payments[payments.len() - 1].time.abs_diff(payments[0].time);
        if life > 0 && largest > 0 {
            let (mut empty, mut held) = (0_u64, 0.0);
            for (pair, balance) in payments.windows(2).zip(&*balances) {
                let secs = pair[1].time.abs_diff(pair[0].time);
                empty += if *balance <= nothing { secs } else { 0 };
                held += double(*balance) * double(secs.into());
            }
            self.empty_time = ratio(empty, life);
            self.mean_balance = held / (double(largest) * double(life.into()));
        }
    }

    /// Measures how long money stays: first in, first out; what left beyond what came is matched with nothing.
    fn hold(&mut self, payments: &[Payment], came: u128, workspace: &mut Workspace) {
        let Workspace { lots, holds, .. } = workspace;
        lots.clear();
        holds.clear();
        let (mut matched, mut quick) = (0_u128, 0_u128);
        for payment in payments {
            if payment.way == Way::In {
                lots.push_back((payment.time, payment.amount));
                continue;
            }
            let mut rest = payment.amount;
            while let Some((time, lot)) = lots.front_mut()
                && rest > 0
            {
                let (secs, taken) = (payment.time.abs_diff(*time), rest.min(*lot));
                (rest, *lot) = (rest - taken, *lot - taken);
                holds.push((secs, taken));
                matched = matched.saturating_add(taken);
                quick = quick.saturating_add(if secs <= 3600 { taken } else { 0 });
                if *lot == 0 {
                    lots.pop_front();
                }
            }
        }
        if came > 0 {
            self.quick = double(quick) / double(came);
        }
        if matched == 0 {
            return;
        }
        holds.sort_unstable_by_key(|(secs, _)| *secs);
        let mut wanted = [matched / 10, matched / 2, matched - matched / 10].into_iter().zip(&mut self.holding);
        let mut next = wanted.next();
        let mut passed = 0_u128;
        for (secs, taken) in holds {
            passed = passed.saturating_add(*taken);
            while let Some((at_least, holding)) = &mut next
                && passed >= *at_least
            {
                **holding = double(u128::from(*secs));
                next = wanted.next();
            }
        }
    }
}

/// Sum of squared shares of the counterparties, the largest share, and the share of those that occur once. `parties` are
/// numbers above places of payments; their order does not matter.
fn shares(payments: &[Payment], parties: &mut [u64], total: u128) -> (f64, f64, f64) {
    /// Squares are added as integers of so many parts, because a sum of doubles depends on its order: 2^53.
    const PARTS: f64 = 9_007_199_254_740_992.0;
    parties.sort_unstable();
    let (mut squares, mut top, mut once) = (0_u128, 0_u128, 0_u128);
    for of_one in parties.chunk_by(|one, other| one >> 32 == other >> 32) {
        let place = |party: &u64| usize::try_from(party & u64::from(u32::MAX)).expect("32 bits");
        let amount = |party: &u64| payments[place(party)].amount;
        let sum = of_one.iter().map(amount).fold(0_u128, u128::saturating_add);
        let share = double(sum) / double(total);
        squares += parts(share * share * PARTS);
        top = top.max(sum);
        once = once.saturating_add(if of_one.len() == 1 { sum } else { 0 });
    }
    (double(squares) / PARTS, double(top) / double(total), double(once) / double(total))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2^53")]
fn parts(share: f64) -> u128 {
    u128::from(share as u64)
}

fn is_multiple(amount: u128, of: u128) -> bool {
    // Divisions of 64 bits are many times faster.
    match (u64::try_from(amount), u64::try_from(of)) {
        (Ok(amount), Ok(of)) => amount.is_multiple_of(of),
        _ => amount.is_multiple_of(of),
    }
}

/// Decimal digits of an amount above zero, without the zeros at its end.
fn significant_digits(amount: u128) -> u64 {
    let (mut rest, mut zeros) = (amount, 0);
    let small = loop {
        match u64::try_from(rest) {
            Ok(small) => break small,
            // Odd numbers end in no zero.
            Err(_) if rest.trailing_zeros() > 0 && rest.is_multiple_of(10) => (rest, zeros) = (rest / 10, zeros + 1),
            Err(_) => return digits(amount) - zeros,
        }
    };
    let strip = |(small, zeros): (u64, u64), power: u32| {
        let divisor = POWERS_OF_TEN[power as usize];
        if small.is_multiple_of(divisor) { (small / divisor, zeros + u64::from(power)) } else { (small, zeros) }
    };
    digits(amount) - [16, 8, 4, 2, 1].into_iter().fold((small, zeros), strip).1
}

/// Decimal digits of an amount above zero.
fn digits(amount: u128) -> u64 {
    u64::from(u64::try_from(amount).map_or_else(|_| amount.ilog10(), u64::ilog10)) + 1
}

/// The first decimal digit of an amount above zero.
fn first_digit(amount: u128) -> usize {
    let digit = match u64::try_from(amount) {
        Ok(amount) => amount / POWERS_OF_TEN[amount.ilog10() as usize],
        Err(_) => u64::try_from(amount / 10_u128.pow(amount.ilog10())).expect("one digit"),
    };
    usize::try_from(digit).expect("one digit")
}

/// Powers of ten that fit into 64 bits.
const POWERS_OF_TEN: [u64; 20] = {
    let mut powers = [1; 20];
    let mut power = 1;
    while power < powers.len() {
        powers[power] = 10 * powers[power - 1];
        power += 1;
    }
    powers
};

/// Benford's law: how often each of the digits 1 to 9 comes first.
static BENFORD: LazyLock<[f64; 9]> =
    LazyLock::new(|| std::array::from_fn(|place| (1.0 + 1.0 / double(place as u128 + 1)).log10()));

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: Units = Units { one: 1000, round: 500 };

    fn payment(time: i64, way: Way, amount: u128, other: u32) -> Payment {
        Payment { time, amount, other, way }
    }

    fn of(payments: &[Payment]) -> Money {
        Money::of(payments, UNITS, &mut Workspace::default())
    }

    #[test]
    fn money_of_a_small_case_is_worked_by_hand() {
        use Way::{In, Out};
        // 1, 3, 1 come from three places; 4.0 leave to one, then 1.0 to another.
        let money = of(&[
            payment(0, In, 1000, 1),
            payment(1000, In, 3000, 2),
            payment(5000, Out, 4000, 9),
            payment(6000, In, 1000, 1),
            payment(10_000, Out, 990, 8),
        ]);
        let Amounts { count, sum, mean, median, max, min, first, last, repeated, .. } = money.ins;
        assert_eq!((count, sum, mean, median, max, min), (3, 5.0, 5.0 / 3.0, 1.0, 3.0, 1.0));
        assert_eq!((first, last, repeated), (1.0, 1.0, 2.0 / 3.0));
        // Shares 2/5 and 3/5: 0.16 + 0.36.
        assert!((money.ins.concentration - 0.52).abs() < 1e-12 && (money.ins.top - 0.6).abs() < 1e-12);
        // Deviations from 5/3: 2/3, 4/3, 2/3: variance 8/9.
        assert!((money.ins.variation - (8.0_f64 / 9.0).sqrt() / (5.0 / 3.0)).abs() < 1e-12);
        assert!((money.imbalance() - (5.0 - 4.99) / 5.0).abs() < 1e-12);
        assert_eq!((money.max_balance, money.emptied, money.sweep_targets, money.swept), (4.0, 2, 2, 1.0));
        assert!((money.residual - 0.002).abs() < 1e-12);
        // Empty from 5,000 to 6,000 of 10,000 s; 1 for 1,000 s, 4 for 4,000 s, 1 for 4,000 s.
        assert!((money.empty_time - 0.1).abs() < 1e-12);
        assert!((money.mean_balance - 21_000.0 / 40_000.0).abs() < 1e-12);
        // 1 stays 5,000 s, 3 stay 4,000 s, 0.99 stays 4,000 s: of 4.99 the tenth and the half are at 4,000.
        assert_eq!((money.holding, money.quick), ([4000.0, 4000.0, 5000.0], 0.0));
        // 990 alone is not round.
        assert_eq!((money.ins.round, money.outs.round), (1.0, 0.5));
        assert_eq!((money.ins.digits, money.outs.digits), (1.0, 1.5));
        assert_eq!((money.ins.once, money.outs.once), (0.6, 1.0));
        // First digits 1, 3, 4, 1, 9 of five.
        let law = |digit: f64| (1.0 + 1.0 / digit).log10();
        let benford = (0.4 - law(1.0)).abs()
            + [3.0, 4.0, 9.0].map(|digit| (0.2 - law(digit)).abs()).iter().sum::<f64>()
            + [2.0, 5.0, 6.0, 7.0, 8.0].map(law).iter().sum::<f64>();
        assert!((money.benford - benford).abs() < 1e-12);
    }

    #[test]
    fn money_without_inflow_has_no_shares_of_it() {
        let money = of(&[payment(0, Way::Out, 7, 1)]);
        assert!(money.residual.is_nan() && money.quick.is_nan() && money.holding[1].is_nan());
        assert_eq!((money.outs.count, money.emptied, money.imbalance()), (1, 0, -1.0));
        assert!(of(&[]).imbalance().is_nan());
    }

    #[test]
    fn first_digit_is_that_of_the_text() {
        for amount in [1_u128, 9, 10, 99, 12_345, u128::from(u64::MAX), 3 * 10_u128.pow(30), u128::MAX] {
            let text = amount.to_string();
            assert_eq!(first_digit(amount).to_string(), text[..1]);
            assert_eq!(significant_digits(amount), text.trim_end_matches('0').len() as u64);
        }
    }
}
