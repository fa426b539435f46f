//! Whirlpool (Samourai, since 2025 Ashigaru): 5 to 10 equal coins in, as many out; before it a premix transaction cuts coins to
//! size.

use std::ops::RangeInclusive;

use super::shape::Shape;
use crate::bitcoin::TransactionView;

/// The amounts of the pools, in satoshis: Samourai's, and those of 0.025 and 0.25 BTC that Ashigaru added.
const POOLS: [u64; 6] = [100_000, 1_000_000, 2_500_000, 5_000_000, 25_000_000, 50_000_000];
/// The amounts of Samourai's pools, and the fees of their coordinator. Those of later pools are not published.
const FEES: [(u64, u64); 4] = [(100_000, 5_000), (1_000_000, 50_000), (5_000_000, 175_000), (50_000_000, 1_750_000)];
/// Participants of a round.
const ROUND: RangeInclusive<usize> = 5..=10;
/// The minimum excess of a coin that enters a pool over the pool's amount, for fees of miners.
const MIN_EXCESS: u64 = 100;
const MAX_EXCESS: u64 = 110_000;
/// Coins that a premix transaction makes.
const MAX_PREMIX: usize = 70;

const BY_SHAPE: f64 = 0.60;
const BY_NEIGHBOURS: f64 = 0.90;

/// Returns the confidence of a round of Whirlpool.
pub(super) fn confidence(shape: &Shape, descends_from_whirlpool: bool) -> Option<f64> {
    let is_round = POOLS.iter().any(|pool| is_round_of(shape, *pool));
    is_round.then_some(if descends_from_whirlpool { BY_NEIGHBOURS } else { BY_SHAPE })
}

fn is_round_of(shape: &Shape, pool: u64) -> bool {
    let excesses: Vec<u64> = shape.input_amounts.iter().filter_map(|amount| amount.checked_sub(pool)).collect();
    let new = excesses.iter().filter(|excess| **excess > 0).count();
    ROUND.contains(&shape.inputs)
        && shape.outputs.len() == shape.inputs
        && shape.outputs.iter().all(|(amount, _)| *amount == pool)
        && shape.has_distinct_outputs
        && shape.may_have_distinct_inputs()
        && excesses.len() == shape.input_amounts.len()
        && excesses.iter().all(|excess| *excess == 0 || (MIN_EXCESS..=MAX_EXCESS).contains(excess))
        && new <= 4
        && new + shape.unknown_inputs >= 1
}

/// A transaction that cuts coins of one owner to the size of a pool. It is not a CoinJoin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Premix {
    /// The pool's amount, in satoshis.
    pub pool: u64,
    /// The confidence, 0 to 1.
    pub confidence: f64,
}

/// The premix transaction (Tx0) that a transaction looks like: one data output, 1 to 70 equal outputs a little above a
/// pool's amount, the coordinator's fee, and one more output at most. It is surer where a round spends one of its outputs.
#[must_use]
pub fn premix(transaction: &TransactionView<'_>, is_spent_by_round: bool) -> Option<Premix> {
    let shape = Shape::of(transaction)?;
    let is_premix = |(pool, fee): &(u64, u64)| {
        let is_coin = |amount: u64| (pool + MIN_EXCESS..=pool + MAX_EXCESS).contains(&amount);
        let count = shape.commonest(is_coin).map_or(0, |(_, count)| count);
        let fees =
            shape.outputs.iter().filter(|(amount, _)| (*fee..=6 * fee).contains(&amount.saturating_mul(2))).count();
        (1..=MAX_PREMIX).contains(&count) && shape.outputs.len() <= count + 2 && fees == 1
    };
    let (pool, _) = *FEES.iter().filter(|_| shape.notes == 1).find(|pool| is_premix(pool))?;
    Some(Premix { pool, confidence: if is_spent_by_round { BY_NEIGHBOURS } else { BY_SHAPE } })
}
