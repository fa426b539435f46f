//! The same measures of what was never exact: values that a source has as doubles.

use rayon::prelude::*;

use super::{Neumaier, Params, Report, Spread, compensated, spread_of};

/// The reason why doubles are not balances.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum DoublesError {
    /// A value that nobody can hold: negative, infinite, or not a number.
    #[error("{value} at position {position} is not a balance: balances are numbers of 0 or more")]
    NotABalance {
        /// The position, from 0.
        position: usize,
        /// The value.
        value: f64,
    },
    /// All of them together are more than a double can be.
    #[error("the balances together pass the largest double")]
    Total,
}

/// Measures a set of holders whose balances are doubles. Sums are compensated and taken in order of size, so that the
/// order of the input does not matter; about 100 ns per holder. Ratios are right to about the last two digits, and exact
/// counts of holders (Nakamoto, τ) are those of the rounded sums: balances that are integers belong into
/// [`concentration`](super::concentration).
///
/// ```
/// use headwater_metrics::concentration::{Params, concentration_of_doubles};
/// let (found, _) = concentration_of_doubles(&[0.5, 1.5, 1.0], &Params::default()).unwrap();
/// assert_eq!((found.gini, found.nakamoto, found.total), (2.0 / 9.0, 2, 3.0));
/// ```
///
/// # Errors
/// When a value is negative or no finite number, or all of them together pass the largest double.
pub fn concentration_of_doubles(values: &[f64], params: &Params) -> Result<(Report<f64>, Spread), DoublesError> {
    if let Some((position, value)) = (0..).zip(values).find(|(_, value)| !value.is_finite() || **value < 0.0) {
        return Err(DoublesError::NotABalance { position, value: *value });
    }
    let mut held: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
    held.par_sort_unstable_by(|one, other| other.total_cmp(one));
    // Squares of very large or small values would leave the range of doubles; all measures but the total are ratios.
    let unit = held.first().map_or(1.0, |largest| power_below(*largest));
    for value in &mut held {
        *value /= unit;
    }
    let report = report(&held, params);
    let total = report.total * unit;
    if !total.is_finite() {
        return Err(DoublesError::Total);
    }
    Ok((Report { total, ..report }, spread_of(|| held.iter().copied())))
}

/// The measures of values in falling order.
#[expect(clippy::cast_precision_loss, reason = "a statistic in doubles")]
fn report(held: &[f64], params: &Params) -> Report<f64> {
    let mut sum = Neumaier::default();
    let largest: Vec<f64> = held
        .iter()
        .map(|value| {
            sum.add(*value);
            sum.value()
        })
        .collect();
    let (n, total) = (held.len(), sum.value());
    let share =
        |top: usize| if top < n { part(top.checked_sub(1).map_or(0.0, |last| largest[last]), total) } else { 1.0 };
    let least = |enough: &dyn Fn(f64) -> bool| largest.iter().position(|sum| enough(*sum)).map_or(n, |last| last + 1);
    let (numerator, denominator) = (f64::from(params.tau.0), f64::from(params.tau.1));
    // G = Σ (n - 1 - 2i) (x(i) - x(n - 1 - i)) / (n · S) over the larger half, largest first: no term is negative.
    let apart = (0..n / 2).map(|rank| (n - 1 - 2 * rank) as f64 * (held[rank] - held[n - 1 - rank]));
    Report {
        holders: n,
        total,
        top_shares: params.tops.iter().map(|top| (*top, if n == 0 { 0.0 } else { share(*top) })).collect(),
        hhi: part(compensated(held.iter().map(|value| value * value)), total * total),
        gini: part(compensated(apart), n as f64 * total),
        nakamoto: least(&|sum| sum * 2.0 > total),
        tau_index: least(&|sum| sum * denominator >= total * numerator),
    }
}

/// A part of a whole; nothing of nothing.
fn part(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The largest power of two that is not above a positive number, so that dividing by it is exact.
fn power_below(value: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    match value.to_bits() & EXPONENT {
        // Below the range of full precision.
        0 => f64::MIN_POSITIVE,
        bits => f64::from_bits(bits),
    }
}

#[cfg(test)]
mod tests {
    use headwater_ledger::Cancel;
    use proptest::prelude::*;

    use super::super::{Balances, concentration, spread};
    use super::*;

    fn measured(values: &[f64]) -> Report<f64> {
        concentration_of_doubles(values, &Params::default().with_tops(vec![1, 2, 5])).unwrap().0
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-14 * other.abs().max(1e-3)
    }

    #[test]
    fn the_published_vectors_hold_for_doubles() {
        let found = measured(&[3.0, 2.0, 1.0]);
        assert_eq!((found.gini, found.hhi, found.nakamoto, found.tau_index), (2.0 / 9.0, 7.0 / 18.0, 2, 2));
        let found = measured(&[0.25; 7]);
        assert_eq!((found.gini, found.nakamoto, found.total), (0.0, 4, 1.75));
        assert!(close(found.hhi, 1.0 / 7.0), "{found:?}");
        let found = measured(&[5.0]);
        assert_eq!((found.gini, found.hhi, found.nakamoto, found.top_shares[0]), (0.0, 1.0, 1, (1, 1.0)));
    }

    #[test]
    fn nobody_and_nothing_measure_zero_in_doubles() {
        for values in [&[][..], &[0.0, -0.0]] {
            let (found, spread) = concentration_of_doubles(values, &Params::default()).unwrap();
            assert_eq!((found.holders, found.total, found.gini, found.hhi), (0, 0.0, 0.0, 0.0));
            assert_eq!((found.nakamoto, found.tau_index, found.top_shares[0]), (0, 0, (1, 0.0)));
            assert_eq!((spread.theil, spread.entropy_bits), (0.0, 0.0));
        }
    }

    #[test]
    fn what_nobody_can_hold_is_refused_with_its_place() {
        for value in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            match concentration_of_doubles(&[1.0, value, f64::NAN], &Params::default()) {
                Err(DoublesError::NotABalance { position: 1, .. }) => {}
                other => panic!("{value}: {other:?}"),
            }
        }
        let past = concentration_of_doubles(&[f64::MAX, f64::MAX], &Params::default());
        assert_eq!(past.unwrap_err(), DoublesError::Total);
    }

    #[test]
    fn any_unit_gives_the_same_ratios() {
        let values = [3.0, 0.7, 11.0, 0.2, 5.5];
        let expected = measured(&values);
        for power in [-1060, -600, -3, 5, 600, 1015] {
            // Two steps: a power below -1022 is not a full double.
            let unit = |value: f64| value * 2_f64.powi(power / 2) * 2_f64.powi(power - power / 2);
            let found = measured(&values.map(unit));
            if power > -1000 {
                let total = unit(expected.total);
                assert_eq!(found, Report { total, ..expected.clone() }, "2^{power}");
            } else {
                assert!((found.gini - expected.gini).abs() < 1e-2, "{found:?}: few digits are left down there");
            }
        }
    }

    #[test]
    fn a_sum_keeps_what_each_addition_would_lose() {
        let mut values = vec![1e16];
        values.extend([1.0; 1000]);
        let found = measured(&values);
        assert_eq!(found.total.to_bits(), (1e16_f64 + 1000.0).to_bits());
        assert_eq!(found.top_shares[0], (1, 1e16 / (1e16 + 1000.0)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn doubles_measure_what_integers_measure(
            balances in prop::collection::vec((0u32.., 0u32..32), 0..200), seed in any::<u64>(),
        ) {
            let balances: Vec<u128> = balances.into_iter().map(|(value, shift)| u128::from(value >> shift)).collect();
            #[expect(clippy::cast_precision_loss, reason = "below 2^32")]
            let mut values: Vec<f64> = balances.iter().map(|balance| *balance as f64).collect();
            let params = Params::default().with_tops(vec![1, 3, 20]);
            let all = Balances { small: &balances, large: &[] };
            let exact = concentration(all, &params, &Cancel::new()).unwrap();
            let (found, spread_found) = concentration_of_doubles(&values, &params).unwrap();
            prop_assert_eq!((found.holders, found.nakamoto, found.tau_index), (exact.holders, exact.nakamoto, exact.tau_index));
            prop_assert!(close(found.hhi, exact.hhi) && close(found.gini, exact.gini), "{:?} {:?}", found, exact);
            for ((_, share), (_, expected)) in found.top_shares.iter().zip(&exact.top_shares) {
                prop_assert!(close(*share, *expected));
            }
            let expected = spread(all);
            prop_assert!((spread_found.theil - expected.theil).abs() < 1e-12);
            prop_assert!((spread_found.entropy_bits - expected.entropy_bits).abs() < 1e-11);
            // Any order gives the same bits.
            let length = values.len().max(1);
            values.rotate_left(usize::try_from(seed % 1009).unwrap() % length);
            prop_assert_eq!(concentration_of_doubles(&values, &params).unwrap(), (found, spread_found));
        }
    }
}
