//! One claim at a moment: whether it counts, and for how much.

use std::collections::BTreeSet;

use headwater_ledger::labels::{Action, Claim, Code, LabelTable, Level};
use headwater_types::Timestamp;

/// The moment for which labels are asked.
///
/// A store of old blocks is asked with the labels of today: without `as_of` every claim that was made counts, and one
/// that ended by the last block or the last import has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Claims asserted later are left out; `None` leaves out none.
    known_at: Option<Timestamp>,
    /// Claims that ended by then have ended.
    valid_at: Timestamp,
    /// Identity claims lose weight until then.
    aged_to: Timestamp,
}

impl Moment {
    /// Returns the moment that a caller names.
    #[must_use]
    pub const fn at(time: Timestamp) -> Self {
        Self { known_at: Some(time), valid_at: time, aged_to: time }
    }

    /// Returns the present with an import of a time.
    #[must_use]
    pub const fn of_import(time: Timestamp) -> Self {
        Self { known_at: None, valid_at: time, aged_to: time }
    }

    /// Returns the present of an earlier state of a store, whose last block and last import have these times.
    #[must_use]
    pub fn of_state(head: Timestamp, imported_at: Option<Timestamp>) -> Self {
        Self { known_at: None, valid_at: imported_at.map_or(head, |at| at.max(head)), aged_to: head }
    }

    /// Returns the present of a store: `head` is the time of the last block of the chain.
    #[must_use]
    pub fn present(labels: &LabelTable, head: Option<Timestamp>) -> Self {
        let valid_at = head.max(labels.imported_at()).or_else(|| labels.newest_claim());
        let aged_to = head.or_else(|| labels.newest_claim());
        let origin = Timestamp::new(0);
        Self { known_at: None, valid_at: valid_at.unwrap_or(origin), aged_to: aged_to.unwrap_or(origin) }
    }

    const fn known_at(&self) -> Option<Timestamp> {
        self.known_at
    }

    const fn valid_at(&self) -> Timestamp {
        self.valid_at
    }

    pub(super) const fn aged_to(&self) -> Timestamp {
        self.aged_to
    }

    /// Returns true if the caller named the moment.
    #[must_use]
    pub const fn is_named(&self) -> bool {
        self.known_at.is_some()
    }
}

/// The standing of a claim at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It counts.
    Active,
    /// It ended.
    Ended,
    /// A curator removed its code.
    Overridden,
}

/// Returns the claims that were made by a moment, each with its code then: an ended sanction is
/// `sanction_delisted`.
pub(super) fn standing<'a>(claims: &[Claim<&'a str>], moment: &Moment) -> Vec<(Claim<&'a str>, Standing)> {
    let is_known = |claim: &&Claim<&str>| match (claim.asserted_at, moment.known_at()) {
        (Some(asserted), Some(known)) => asserted <= known,
        (None, _) | (_, None) => true,
    };
    let is_ended = |claim: &Claim<&str>| claim.valid_until.is_some_and(|until| until <= moment.valid_at());
    let known: Vec<_> = claims.iter().filter(is_known).copied().collect();
    let removed: BTreeSet<Code> = known
        .iter()
        .filter(|claim| claim.action == Action::Remove && claim.level == Level::Override && !is_ended(claim))
        .filter_map(|claim| claim.code)
        .collect();
    // The list of the authority itself decides over copies of it.
    let official = |wanted: bool| -> BTreeSet<&str> {
        let sanctions = known.iter().filter(|claim| claim.code == Some(Code::Sanction));
        let official = sanctions.filter(|claim| claim.level == Level::SanctionsList && is_ended(claim) == wanted);
        official.map(|claim| claim.group).collect()
    };
    let listed = official(false);
    let delisted: BTreeSet<&str> = official(true).difference(&listed).copied().collect();

    let judged = known.into_iter().filter(|claim| claim.action == Action::Add).map(|claim| {
        let is_removed = claim.code.is_some_and(|code| removed.contains(&code));
        match (is_removed, is_ended(&claim), claim.code) {
            (true, ..) => (claim, Standing::Overridden),
            // Another list of the same authority still names the address.
            (_, true, Some(Code::Sanction)) if !listed.contains(claim.group) => {
                let code = Some(Code::SanctionDelisted);
                let standing =
                    if removed.contains(&Code::SanctionDelisted) { Standing::Overridden } else { Standing::Active };
                (Claim { code, ..claim }, standing)
            }
            (_, true, _) => (claim, Standing::Ended),
            (_, false, Some(Code::Sanction)) if delisted.contains(claim.group) => (claim, Standing::Ended),
            (_, false, _) => (claim, Standing::Active),
        }
    });
    judged.collect()
}

/// An identity claim has lost half its weight after so many days, and loses no more.
const HALF_LIFE_DAYS: f64 = 1825.0;
const MIN_AGEING: f64 = 0.5;
const DAY_SECS: f64 = 86_400.0;
/// The factor of a dispute on the weight of a claim.
const DISPUTED: f64 = 0.5;

/// Returns the factor of age of an identity claim: `max(0.5, 2^(-days / 1825))`; 1 for a date in the future.
///
/// ```
/// use headwater_intel::label::ageing;
/// assert_eq!(ageing(0.0), 1.0);
/// assert_eq!(ageing(1825.0), 0.5);
/// assert_eq!(ageing(10_000.0), 0.5);
/// ```
#[must_use]
pub fn ageing(days: f64) -> f64 {
    (-days.max(0.0) / HALF_LIFE_DAYS).exp2().max(MIN_AGEING)
}

/// Joins independent sources: `1 - Π (1 - c)`. 0 without any.
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

/// Returns how far a claim counts by its source, 0 to 1: the reliability of the source, half of it while the claim is disputed,
/// unless its level is beyond dispute. Everything that weighs a claim weighs it by this: confidences, and the
/// reliability that gates ask for.
pub(super) fn weight(claim: &Claim<&str>) -> f64 {
    let reliability = f64::from(claim.reliability) / 1000.0;
    let is_halved = claim.dispute.is_some() && !claim.level.is_beyond_dispute();
    if is_halved { reliability * DISPUTED } else { reliability }
}

/// Returns the confidence of one claim: its weight, times its link, times its age.
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
