//! Wasabi: version 1 with outputs of about 0.1 BTC and its doublings, version 2 with many standard amounts.

use headwater_types::Timestamp;

use super::shape::Shape;
use crate::read::ScriptType;

/// The amount of version 1, in satoshis, of which rounds differ by a twentieth.
const DENOMINATION: u64 = 10_000_000;
const TOLERANCE: u64 = DENOMINATION / 20;
/// Coins that one participant brings at most.
const COINS_EACH: usize = 7;
const MIN_INPUTS: usize = 10;
const MIN_PARTICIPANTS: usize = 3;
/// Below so many inputs, equal parts of one amount are a payer's batch.
const SMALL_ROUND: usize = 20;

/// The first day of May 2024: from then on coordinators of version 2 took rounds of 20 inputs, before of 50.
const SMALLER_ROUNDS_FROM: i64 = 1_714_521_600;
const MIN_OUTPUT: u64 = 5_000;
/// The forms of scripts that version 2 takes.
const FORMS: [ScriptType; 2] = [ScriptType::P2wpkh, ScriptType::P2tr];

/// Returns the confidence of a round of version 1.
pub(super) fn one(shape: &Shape) -> Option<f64> {
    let is_possible = shape.inputs >= MIN_INPUTS
        && shape.has_distinct_outputs
        && shape.lacks_prominent_input_address()
        && !is_small_batch(shape);
    if !is_possible {
        return None;
    }
    one_zero(shape).or_else(|| one_one(shape))
}

/// 1.0: most outputs have one amount.
fn one_zero(shape: &Shape) -> Option<f64> {
    let (_, count) = shape.commonest(|amount| amount.abs_diff(DENOMINATION) <= TOLERANCE)?;
    let is_round = count >= MIN_PARTICIPANTS
        && 2 * count + 1 >= shape.outputs.len()
        && shape.may_have_input_addresses(count, COINS_EACH * count);
    is_round.then_some(0.70)
}

/// 1.1: several levels, each twice the one before. A level is used where two outputs have it.
#[expect(clippy::cast_precision_loss, reason = "a transaction has some thousands of inputs at most")]
fn one_one(shape: &Shape) -> Option<f64> {
    let largest = shape.outputs.iter().map(|(amount, _)| *amount).max()?;
    let levels = (0..32).map(|level| 1_u64 << level).take_while(|times| times * DENOMINATION <= largest);
    let of_level = |times: u64| {
        shape.outputs.iter().filter(|(amount, _)| amount.abs_diff(times * DENOMINATION) <= times * TOLERANCE).count()
    };
    let counts: Vec<usize> = levels.map(of_level).filter(|count| *count >= 2).collect();
    let (participants, mixed) = (counts.iter().copied().max()?, counts.iter().sum::<usize>());
    let is_majority = 2 * mixed + 1 >= shape.outputs.len();
    let is_rest_change = mixed + shape.max_input_addresses() + 1 >= shape.outputs.len();
    if participants < MIN_PARTICIPANTS
        || !shape.may_have_input_addresses(participants, COINS_EACH * participants)
        || !(is_majority || is_rest_change)
    {
        return None;
    }
    let (least, tightness) =
        (1.0 / COINS_EACH as f64, participants as f64 / shape.max_input_addresses().max(participants) as f64);
    let confidence = 0.5 + 0.5 * ((tightness - least) / (1.0 - least)).max(0.0);
    Some(if is_majority && is_rest_change { confidence } else { confidence / 2.0 })
}

/// Few inputs, and outputs that together are a multiple of the commonest amount, to a ten thousandth.
fn is_small_batch(shape: &Shape) -> bool {
    let Some((amount, _)) = shape.commonest(|_| true).filter(|(amount, _)| *amount > 0) else { return false };
    let total: u128 = shape.outputs.iter().map(|(amount, _)| u128::from(*amount)).sum();
    let beyond = total % u128::from(amount);
    let apart = beyond.min(u128::from(amount) - beyond);
    shape.inputs < SMALL_ROUND && apart * 10_000 <= total
}

/// Returns the confidence of a round of version 2.
pub(super) fn two(shape: &Shape, time: Timestamp) -> Option<f64> {
    let min_inputs = if time.secs() >= SMALLER_ROUNDS_FROM { 20 } else { 50 };
    let repeated = || shape.amounts.values().filter(|count| **count > 1);
    let of_standard: usize = repeated().sum();
    let is_round = shape.inputs >= min_inputs
        && shape.outputs.iter().all(|(amount, form)| *amount >= MIN_OUTPUT && FORMS.contains(form))
        && shape.input_forms.iter().all(|form| FORMS.contains(form))
        && shape.has_distinct_outputs
        && shape.lacks_prominent_input_address()
        && repeated().count() >= 3
        && 2 * of_standard + 1 >= shape.outputs.len()
        && of_standard < shape.outputs.len();
    is_round.then_some(0.60)
}
