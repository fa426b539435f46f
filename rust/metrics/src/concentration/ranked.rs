//! The measures of balances that a ledger has sums over: no holder is visited one by one.

use headwater_ledger::LedgerError;
use headwater_ledger::holders::{HolderRanking, Sum, Top};
use headwater_types::SumOverflow;

use super::wide::Int1024;
use super::{Params, Report, Spread};

/// Measures the holders of an asset. Integer measures are those of [`concentration`](super::concentration) to the last
/// bit; Theil index and entropy come from `Σ x·ln x` and are close to those of [`spread`](super::spread). A few
/// microseconds for each of the measures, however many holders there are; blocks of the table that are not in memory
/// are read, about twenty for each.
///
/// ```
/// use headwater_ledger::facts::{Batch, opening};
/// use headwater_ledger::read::{Generations, Ledger};
/// use headwater_ledger::store::in_memory;
/// use headwater_metrics::concentration::{Params, of_holders};
/// use headwater_types::{Address, Amount, Asset, Chain, Timestamp};
///
/// let token = Address::Evm([9; 20]);
/// let held = [1, 3, 2].map(|raw| (Address::Evm([raw; 20]), Amount::from(u64::from(raw)))).to_vec();
/// let mut batch = Batch::new(Chain::ETHEREUM);
/// batch.transactions.extend(opening(Chain::ETHEREUM, token, 1, Timestamp::new(1_438_270_000), held)?);
/// let ledger = in_memory(vec![batch], vec![], vec![])?.current()?;
/// let holders = ledger.holders(Chain::ETHEREUM, &Asset::Token(token))?.expect("a small ledger needs no table");
/// let (report, _) = of_holders(&holders.ranked(&[])?, &Params::default())?;
/// assert_eq!((report.gini, report.hhi, report.nakamoto), (2.0 / 9.0, 7.0 / 18.0, 2));
/// // The holder of 3 does not count: 2 and 1 are left.
/// let without = [(Amount::from(3), Amount::from(3))];
/// let (report, _) = of_holders(&holders.ranked(&without)?, &Params::default())?;
/// assert_eq!((report.gini, report.hhi), (1.0 / 6.0, 5.0 / 9.0));
/// # Ok::<(), headwater_ledger::LedgerError>(())
/// ```
///
/// # Errors
/// When the balances together pass 256 bits, or stored data cannot be read or is damaged.
pub fn of_holders(ranked: &HolderRanking<'_>, params: &Params) -> Result<(Report, Spread), LedgerError> {
    let moments = ranked.moments();
    let total = moments.total().ok_or(SumOverflow)?;
    let holders = usize::try_from(moments.count()).unwrap_or(usize::MAX);
    let sum = Sum::from_be_slice(&total.to_be_bytes());
    let (n, wide_sum) = (Int1024::from(holders), Int1024::from(sum));
    let share = |top: usize| -> Result<(usize, f64), LedgerError> {
        let largest = ranked.largest(&|found: &Top| found.count >= top as u64)?;
        Ok((top, Int1024::from(largest.sum).ratio(&wide_sum)))
    };
    let fewest = |enough: &dyn Fn(&Top) -> bool| -> Result<usize, LedgerError> {
        Ok(usize::try_from(ranked.largest(enough)?.count).unwrap_or(usize::MAX))
    };
    let (numerator, denominator) = params.tau;
    let tau = (sum * Sum::from(numerator)).div_ceil(Sum::from(denominator));
    let half = sum >> 1;
    let squares = Int1024::from(moments.squares());
    let squared_sum = wide_sum * wide_sum;
    let report = Report {
        holders,
        total,
        top_shares: params.tops.iter().map(|top| share(*top)).collect::<Result<_, _>>()?,
        hhi: squares.ratio(&squared_sum),
        // Ranks from the smallest are n + 1 less those from the largest: G = ((n + 1) · S - 2 Σ j·x(j)) / (n · S).
        gini: ((n + Int1024::ONE) * wide_sum - Int1024::from(moments.ranked()).doubled()).ratio(&(n * wide_sum)),
        nakamoto: fewest(&|found| found.sum > half)?,
        tau_index: fewest(&|found| found.sum >= tau)?,
    };
    // All balances are equal where their squares are the least that they can be.
    let is_equal = n * squares == squared_sum;
    let products = Int1024::from(moments.logs()).ratio(&wide_sum) / 2_f64.powi(52);
    Ok((report, spread(moments.count(), total.to_f64(0), products, is_equal)))
}

/// From n, S and `Σ x·ln x / S`: the Theil index is `Σ x·ln x / S - ln(S/n)`.
#[expect(clippy::cast_precision_loss, reason = "a statistic in doubles")]
fn spread(count: u64, total: f64, products: f64, is_equal: bool) -> Spread {
    if count == 0 {
        return Spread { theil: 0.0, theil_normalised: 0.0, entropy_bits: 0.0 };
    }
    let n = count as f64;
    let most = n.ln();
    let theil = if is_equal { 0.0 } else { (products - (total / n).ln()).clamp(0.0, most) };
    Spread {
        theil,
        theil_normalised: if count > 1 { theil / most } else { 0.0 },
        entropy_bits: (most - theil) / std::f64::consts::LN_2,
    }
}
