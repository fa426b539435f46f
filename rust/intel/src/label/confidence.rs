//! Confidence of claims, one by one and together.

use headwater_ledger::labels::{Claim, Code};
use headwater_types::Timestamp;

/// An identity claim has lost half its weight after so many days, and loses no more.
const HALF_LIFE_DAYS: f64 = 1825.0;
const LEAST_AGEING: f64 = 0.5;
const DAY_SECS: f64 = 86_400.0;
/// What a dispute leaves of the weight of a claim.
const DISPUTED: f64 = 0.5;

/// The factor of age of an identity claim: `max(0.5, 2^(-days / 1825))`; 1 for a date in the future.
///
/// ```
/// use headwater_intel::label::ageing;
/// assert_eq!(ageing(0.0), 1.0);
/// assert_eq!(ageing(1825.0), 0.5);
/// assert_eq!(ageing(10_000.0), 0.5);
/// ```
#[must_use]
pub fn ageing(days: f64) -> f64 {
    (-days.max(0.0) / HALF_LIFE_DAYS).exp2().max(LEAST_AGEING)
}

/// Independent sources together: `1 - Π (1 - c)`. 0 without any.
///
/// ```
/// use headwater_intel::label::noisy_or;
/// assert_eq!(noisy_or([0.5, 0.5, 0.5]), 0.875);
/// assert_eq!(noisy_or([]), 0.0);
/// ```
#[must_use]
pub fn noisy_or(confidences: impl IntoIterator<Item = f64>) -> f64 {
    1.0 - confidences.into_iter().fold(1.0, |doubt, confidence| doubt * (1.0 - confidence))
}

/// How far a claim counts by its source, 0 to 1: the reliability of the source, half of it while the claim is disputed,
/// unless its level is beyond dispute. Everything that weighs a claim weighs it by this: confidences, and the
/// reliability that gates ask for.
pub(super) fn weight(claim: &Claim<&str>) -> f64 {
    let reliability = f64::from(claim.reliability) / 1000.0;
    let is_halved = claim.dispute.is_some() && !claim.level.is_beyond_dispute();
    if is_halved { reliability * DISPUTED } else { reliability }
}

/// The confidence of one claim: its weight, times its link, times its age.
pub(super) fn of_claim(claim: &Claim<&str>, aged_to: Timestamp) -> f64 {
    let base = weight(claim) * f64::from(claim.link.thousandths()) / 1000.0;
    let ages = claim.code.is_none_or(Code::ages) && !claim.level.is_lasting();
    let last_seen = claim.last_seen.filter(|seen| *seen <= aged_to);
    match claim.asserted_at.max(last_seen) {
        Some(date) if ages => base * ageing(days_between(date, aged_to)),
        Some(_) | None => base,
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a few thousand years are exact")]
fn days_between(from: Timestamp, to: Timestamp) -> f64 {
    to.secs().saturating_sub(from.secs()) as f64 / DAY_SECS
}
