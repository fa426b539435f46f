//! Rounds that only their equal outputs show: `JoinMarket`'s, and those of no known protocol.

use super::shape::{FEW_EQUAL, MAX_INPUTS_EACH, MAX_MARK, Shape};

/// Amounts up to this are dust and marks of tokens.
const DUST: u64 = 2_730;
/// Amounts that marks of tokens have.
const MARKS: [u64; 2] = [546, 2_730];
/// From so many inputs on, the numbers of inputs and outputs must fit the participants.
const LARGE_ROUND: usize = 50;

/// A shape of so little excludes, and makes no label.
const CONFIDENCE: f64 = 0.49;

/// The maximum excess of an input over the equal amount in a round without change, for fees.
const MAX_EXCESS: u64 = 110_000;
/// The confidence of a round without change, and of any other joint transaction.
const EVEN: f64 = 0.60;
const POSSIBLE: f64 = 0.30;

/// Half of the outputs are equal, and the others are change.
pub(super) fn joinmarket(shape: &Shape) -> Option<f64> {
    let (_, count) = shape.commonest(|amount| amount > DUST)?;
    let is_plausible =
        shape.inputs < LARGE_ROUND || (shape.inputs <= 20 * count && 10 * shape.outputs.len() >= 17 * count);
    let is_round = count >= 3
        && 2 * count >= shape.outputs.len()
        && count <= shape.max_input_addresses()
        && shape.has_distinct_outputs
        && shape.amounts.len() >= 2
        && is_plausible;
    is_round.then_some(CONFIDENCE)
}

/// Equal outputs of no known protocol: `m` of five or more that as many addresses can have funded, with at most `m + 1` other
/// outputs; of fewer, exactly half of the outputs, rounded up, and as many payers (`BlockSci`).
pub(super) fn unknown(shape: &Shape) -> Option<f64> {
    let (amount, count) = shape.commonest(|_| true)?;
    if count < FEW_EQUAL {
        return half(shape, (amount, count));
    }
    let is_joint = amount > MAX_MARK
        && count <= shape.max_input_addresses()
        && 2 * count + 1 >= shape.outputs.len()
        && shape.inputs <= MAX_INPUTS_EACH * count
        && shape.is_funded(amount, count);
    let range = amount..=amount.saturating_add(MAX_EXCESS);
    let is_even = shape.inputs == count
        && shape.outputs.len() == count
        && shape.input_amounts.iter().all(|amount| range.contains(amount));
    is_joint.then_some(if is_even { EVEN } else { POSSIBLE })
}

fn half(shape: &Shape, (amount, count): (u64, usize)) -> Option<f64> {
    let participants = shape.outputs.len().div_ceil(2);
    let is_round = shape.inputs >= 2
        && shape.outputs.len() >= 3
        && participants <= shape.max_input_addresses()
        && count == participants
        && !MARKS.contains(&amount);
    is_round.then_some(CONFIDENCE)
}
