//! Concentration of a set of holders: shares of the largest, Herfindahl, Gini, Nakamoto; exactly, from integers.
//!
//! Balances are ordered only as far as a measure needs it. A histogram of their leading bits gives what crosses buckets
//! exactly (count and sum of everything smaller); inside a bucket, whose values differ by a factor of at most
//! 1 + 2^-8, they are put in order. Sorted input is read in place. Of the holders of an asset in a ledger, whose table
//! has sums over all of them, only a few blocks are read.

mod buckets;
mod doubles;
mod order;
mod ranked;
mod store;
mod wide;

use headwater_ledger::{Cancel, LedgerError};
use headwater_types::Amount;
use ruint::aliases::U256;

use self::buckets::Buckets;
pub use self::doubles::{DoublesError, concentration_of_doubles};
pub use self::ranked::of_holders;
use self::wide::{Int1024, Sum};

/// Balances of one asset, in any order, as 128-bit integers with those that are larger apart.
#[derive(Debug, Clone, Copy, Default)]
pub struct Balances<'a> {
    /// Balances below 2^128.
    pub small: &'a [u128],
    /// Balances of 2^128 and more.
    pub large: &'a [Amount],
}

/// The parameters of a concentration.
#[derive(Debug, Clone)]
pub struct Params {
    tops: Vec<usize>,
    /// Numerator and denominator of the share that the τ index asks for.
    tau: (u32, u32),
}

impl Default for Params {
    /// The largest 1, 10, 100 and 1000, as explorers list them, and a τ of two thirds, which is what a vote of
    /// consensus needs.
    fn default() -> Self {
        Self { tops: vec![1, 10, 100, 1000], tau: (2, 3) }
    }
}

impl Params {
    /// With shares of the `tops` largest; they are put in order.
    #[must_use]
    pub fn with_tops(self, mut tops: Vec<usize>) -> Self {
        tops.sort_unstable();
        tops.dedup();
        Self { tops, ..self }
    }

    /// With a τ of `numerator / denominator`; `None` unless it lies above 0 and is at most 1.
    #[must_use]
    pub fn with_tau(self, numerator: u32, denominator: u32) -> Option<Self> {
        (numerator > 0 && numerator <= denominator).then_some(Self { tau: (numerator, denominator), ..self })
    }
}

/// The measures; all of them 0 where nobody holds anything. Of exact balances, ratios are rounded once, from integers.
#[derive(Debug, Clone, PartialEq)]
pub struct Report<T = Amount> {
    /// Holders of more than nothing.
    pub holders: usize,
    /// Their balances together.
    pub total: T,
    /// Share of the largest N by N, 0 to 1; 1 where there are no more than N.
    pub top_shares: Vec<(usize, f64)>,
    /// Herfindahl-Hirschman index `Σ x² / S²`, 0 to 1 (others print it times 10 000).
    pub hhi: f64,
    /// Gini coefficient `2 Σ i·x(i) / (n·S) - (n + 1) / n`, without the correction n / (n - 1).
    pub gini: f64,
    /// Fewest holders who together have more than half.
    pub nakamoto: usize,
    /// Fewest holders who together have at least the share τ.
    pub tau_index: usize,
}

/// Measures a set of holders. Time about 15 ns per holder on one core, less on more of them or when they are sorted;
/// memory 8 bytes per holder unless they are sorted, 16 for those of 2^74 and more.
///
/// ```
/// use headwater_ledger::Cancel;
/// use headwater_metrics::concentration::{Balances, Params, concentration};
/// let found = concentration(Balances { small: &[1, 3, 2], large: &[] }, &Params::default(), &Cancel::new()).unwrap();
/// assert_eq!((found.gini, found.hhi, found.nakamoto), (2.0 / 9.0, 7.0 / 18.0, 2)); // 14 / 36; 3 of 6 is not more
/// ```
///
/// # Errors
/// When the balances together pass 256 bits, or the work is cancelled.
pub fn concentration(balances: Balances<'_>, params: &Params, cancel: &Cancel) -> Result<Report, LedgerError> {
    let buckets = Buckets::new(balances, cancel)?;
    let (holders, total) = (buckets.holders, buckets.total);
    let (n, sum) = (Int1024::from(holders), Int1024::from(total));
    let (squares, ranked) = buckets.moments();
    let share = |top: usize| Int1024::from(buckets.largest(|count, _| count >= top).1).ratio(&sum);
    let (numerator, denominator) = params.tau;
    // Rounded up: an integer is at least a ratio where it is at least the next integer.
    let tau: U256 = (Sum::from(total) * Sum::from(numerator)).div_ceil(Sum::from(denominator)).to();
    Ok(Report {
        holders,
        total: Amount::from_be_bytes(total.to_be_bytes()),
        top_shares: params.tops.iter().map(|top| (*top, share(*top))).collect(),
        hhi: squares.ratio(&(sum * sum)),
        // G = (2 Σ i·x(i) - (n + 1) · S) / (n · S)
        gini: (ranked.doubled() - (n + Int1024::ONE) * sum).ratio(&(n * sum)),
        nakamoto: buckets.largest(|_, sum| sum > total >> 1).0,
        tau_index: buckets.largest(|_, sum| sum >= tau).0,
    })
}

/// Measures of information over a set of holders, in doubles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Theil index `(1/n) Σ (x/μ) ln(x/μ)`: 0 for equal balances, ln n where one has all.
    pub theil: f64,
    /// The Theil index as a part of ln n; 0 for one holder.
    pub theil_normalised: f64,
    /// Shannon entropy of the shares in bits: log2 n for equal balances, 0 where one has all.
    pub entropy_bits: f64,
}

/// Theil index and Shannon entropy. Sums are compensated and taken in order of the input; about 20 ns per holder.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a statistic in doubles")]
pub fn spread(balances: Balances<'_>) -> Spread {
    let small = balances.small.iter().filter(|balance| **balance > 0).map(|balance| *balance as f64);
    spread_of(|| small.clone().chain(balances.large.iter().map(|balance| balance.to_f64(0))))
}

/// The same of positive doubles.
#[expect(clippy::cast_precision_loss, reason = "a statistic in doubles")]
fn spread_of<I: Iterator<Item = f64>>(values: impl Fn() -> I) -> Spread {
    let n = values().count() as f64;
    let mean = compensated(values()) / n;
    if n == 0.0 {
        return Spread { theil: 0.0, theil_normalised: 0.0, entropy_bits: 0.0 };
    }
    // A part so small that it is rounded to nothing adds nothing; its logarithm would be none.
    let ratios = values().map(|value| value / mean).filter(|ratio| *ratio > 0.0);
    let theil = compensated(ratios.map(|ratio| ratio * ratio.ln())) / n;
    let most = n.ln();
    Spread {
        theil,
        theil_normalised: if n > 1.0 { theil / most } else { 0.0 },
        entropy_bits: (most - theil) / std::f64::consts::LN_2,
    }
}

/// Neumaier's sum: what an addition loses is added up beside it.
#[derive(Debug, Clone, Copy, Default)]
struct Neumaier {
    sum: f64,
    lost: f64,
}

impl Neumaier {
    #[inline]
    fn add(&mut self, value: f64) {
        let next = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() { (self.sum - next) + value } else { (value - next) + self.sum };
        self.sum = next;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}

fn compensated(values: impl Iterator<Item = f64>) -> f64 {
    let mut sum = Neumaier::default();
    values.for_each(|value| sum.add(value));
    sum.value()
}

#[cfg(test)]
mod ranked_tests;
#[cfg(test)]
mod tests;
