//! How probable a pattern is by chance.
//!
//! A rule looks at many windows and shows the most marked one, which is more marked than a window that was chosen beforehand. The
//! tail of one window is therefore multiplied by a number of independent windows: a quarter of all, never less than one. Neighbouring
//! windows overlap; simulation of both null models gives at most 0.22 of all, which a test repeats.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Independent windows among all, at most.
const INDEPENDENT_WINDOWS: f64 = 0.25;

/// Share of the amounts within 20 % of a limit that lie below it, where the limit means nothing: smaller amounts are commoner.
const BELOW_LIMIT: f64 = 0.55;

/// Gaps about one value: `count` of `gaps` gaps lie between `low` and `high`, as shares of the whole span.
///
/// Under the null model the times are independent and uniform over the span, so that each gap is longer than a share x of it
/// with probability `(1 - x)^(gaps - 1)`. One gap sets the value, the others are counted.
pub(super) fn of_equal_gaps(count: usize, gaps: usize, (low, high): (f64, f64)) -> f64 {
    let Some(others) = gaps.checked_sub(1).filter(|others| *others > 0) else { return 1.0 };
    let longer = |share: f64| (1.0 - share.clamp(0.0, 1.0)).powf(real(others));
    corrected(tail(count.saturating_sub(1), others, longer(low) - longer(high)), gaps)
}

/// Amounts just below a limit: `below` of `near` transfers of a window that are within 20 % of it, of all the address has
/// near any limit.
///
/// Under the null model each lies below its limit with probability 0.55. The one that opens the window lies below; the others are
/// counted.
pub(super) fn of_amounts_below(below: usize, near: usize, of_all: usize) -> f64 {
    let Some(others) = near.checked_sub(1) else { return 1.0 };
    corrected(tail(below.saturating_sub(1), others, BELOW_LIMIT), of_all)
}

/// The probability of at least so many successes.
fn tail(at_least: usize, trials: usize, probability: f64) -> f64 {
    match (at_least.checked_sub(1), Binomial::new(probability.clamp(0.0, 1.0), trials as u64)) {
        (Some(below), Ok(binomial)) => binomial.sf(below as u64),
        (None, _) | (_, Err(_)) => 1.0,
    }
}

/// The probability of the most marked of so many windows. A probability that a double cannot hold is the smallest one that it can.
fn corrected(tail: f64, windows: usize) -> f64 {
    (tail * (INDEPENDENT_WINDOWS * real(windows)).max(1.0)).clamp(f64::MIN_POSITIVE, 1.0)
}

#[expect(clippy::cast_precision_loss, reason = "counts of movements are far below 2^53")]
fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use headwater_testkit::is_full;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const LEVELS: [f64; 6] = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01];

    /// Asserts that at each level at most that share of p-values lies below it, four standard errors aside; returns the largest
    /// ratio of share and level.
    fn assert_super_uniform(of: &str, p_values: &[f64]) -> f64 {
        let mut largest: f64 = 0.0;
        for level in LEVELS {
            let share = real(p_values.iter().filter(|p| **p <= level).count()) / real(p_values.len());
            let error = (level * (1.0 - level) / real(p_values.len())).sqrt();
            assert!(share <= level + 4.0 * error, "{of}: {share} of the p-values are at most {level}");
            largest = largest.max(share / level);
        }
        largest
    }

    fn simulations() -> usize {
        if is_full() { 20_000 } else { 2_000 }
    }

    /// The p-value of the most common gap, as the rule finds it.
    fn of_uniform_times(gaps: usize, random: &mut ChaCha8Rng) -> f64 {
        let mut times: Vec<f64> = (1..gaps).map(|_| random.random::<f64>()).chain([0.0, 1.0]).collect();
        times.sort_by(f64::total_cmp);
        let mut sorted: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        sorted.sort_by(f64::total_cmp);
        let about = |gap: f64| {
            sorted.partition_point(|other| *other <= 1.05 * gap) - sorted.partition_point(|other| *other < 0.95 * gap)
        };
        let mode = sorted.iter().copied().rev().max_by_key(|gap| about(*gap)).unwrap();
        of_equal_gaps(about(mode), gaps, (0.95 * mode, 1.05 * mode))
    }

    #[test]
    fn p_values_of_uniform_times_are_super_uniform() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut largest: f64 = 0.0;
        for gaps in [19, 30, 50, 100, 300] {
            let p_values: Vec<_> = (0..simulations()).map(|_| of_uniform_times(gaps, &mut random)).collect();
            largest = largest.max(assert_super_uniform(&format!("{gaps} gaps"), &p_values));
        }
        assert!(largest > 0.4, "the correction is no larger than it has to be: {largest}");
    }

    #[test]
    fn p_values_of_random_amounts_are_super_uniform() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        for (all, window) in [(10, 5), (30, 8), (100, 8), (100, 15), (300, 15), (300, 40)] {
            let mut p_values = Vec::new();
            for _ in 0..simulations() {
                let below: Vec<bool> = (0..all).map(|_| random.random::<f64>() < BELOW_LIMIT).collect();
                let windows =
                    (0..all).filter(|start| below[*start]).map(|start| &below[start..all.min(start + window)]);
                let counted = windows.map(|within| (within.iter().filter(|below| **below).count(), within.len()));
                // The first of those with the most transfers below.
                let best = counted.rev().max_by_key(|(count, _)| *count);
                p_values.push(best.map_or(1.0, |(count, near)| of_amounts_below(count, near, all)));
            }
            assert_super_uniform(&format!("{window} of {all} amounts"), &p_values);
        }
    }

    #[test]
    fn tails_are_those_worked_by_hand() {
        // Three heads of three: 1 / 8; at least two of three: 4 / 8; at least none: all.
        assert!((tail(3, 3, 0.5) - 0.125).abs() < 1e-12);
        assert!((tail(2, 3, 0.5) - 0.5).abs() < 1e-12);
        assert!((tail(0, 3, 0.5) - 1.0).abs() < 1e-12);
        // Eight of eight below: seven others, 0.55^7 = 0.015224, of at most one window.
        assert!((of_amounts_below(8, 8, 4) - 0.55_f64.powi(7)).abs() < 1e-12);
        // Of 80 amounts a quarter are independent windows.
        assert!((of_amounts_below(8, 8, 80) - 20.0 * 0.55_f64.powi(7)).abs() < 1e-12);
        // 19 equal gaps: a share of 1 / 19 each, of 18 others all.
        let (low, high): (f64, f64) = (0.95 / 19.0, 1.05 / 19.0);
        let one = (1.0 - low).powi(18) - (1.0 - high).powi(18);
        assert!((of_equal_gaps(19, 19, (low, high)) / (4.75 * one.powi(18)) - 1.0).abs() < 1e-9);
        assert!(of_equal_gaps(100_000, 100_000, (0.000_009_5, 0.000_010_5)) > 0.0);
    }
}
