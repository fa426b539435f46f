//! Rounds that only their equal outputs show: `JoinMarket`'s, and those of no known protocol.

use super::shape::Shape;

/// Amounts up to this are dust and marks of tokens.
const DUST: u64 = 2_730;
/// Amounts that marks of tokens have.
const MARKS: [u64; 2] = [546, 2_730];
/// From so many inputs on, the numbers of inputs and outputs must fit the participants.
const LARGE_ROUND: usize = 50;

/// A shape of so little excludes, and makes no label.
const CONFIDENCE: f64 = 0.49;

/// Half of the outputs are equal, and the others are change.
pub(super) fn joinmarket(shape: &Shape) -> Option<f64> {
    let (_, count) = shape.commonest(|amount| amount > DUST)?;
    let is_plausible =
        shape.inputs < LARGE_ROUND || (shape.inputs <= 20 * count && 10 * shape.outputs.len() >= 17 * count);
    let is_round = count >= 3
        && 2 * count >= shape.outputs.len()
        && count <= shape.most_input_addresses()
        && shape.has_distinct_outputs
        && shape.amounts.len() >= 2
        && is_plausible;
    is_round.then_some(CONFIDENCE)
}

/// Exactly half of the outputs, rounded up, are equal, and there are as many payers.
pub(super) fn unknown(shape: &Shape) -> Option<f64> {
    let participants = shape.outputs.len().div_ceil(2);
    let (amount, count) = shape.commonest(|_| true)?;
    let is_round = shape.inputs >= 2
        && shape.outputs.len() >= 3
        && participants <= shape.most_input_addresses()
        && count == participants
        && !MARKS.contains(&amount);
    is_round.then_some(CONFIDENCE)
}
