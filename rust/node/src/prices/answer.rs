//! Prices as a service answers them, and the reasons for which they are not stored.

use std::collections::BTreeMap;

use headwater_types::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::step::Run;
use super::step::Step;

/// The lowest confidence of DefiLlama in a price that is stored.
pub const MIN_CONFIDENCE: f64 = 0.9;

/// The reason for which a price is not stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Refusal {
    /// The point has no price.
    #[error("the point has no price")]
    NoPrice,
    /// The price is not a finite number.
    #[error("{text} is not a finite number")]
    NotANumber {
        /// The price as it was answered.
        text: String,
    },
    /// The price is zero.
    #[error("the price is zero")]
    Zero,
    /// The price is negative.
    #[error("the price is negative")]
    Negative,
    /// The time is not one that was asked for.
    #[error("its time was not asked for")]
    OutOfRange,
    /// The same price of the same time appears twice.
    #[error("the point appears twice")]
    Duplicate,
    /// Two prices of one time differ.
    #[error("two prices of one time differ")]
    Contradiction,
    /// The service has little confidence in it.
    #[error("the confidence of the service is {confidence}, below {MIN_CONFIDENCE}")]
    Confidence {
        /// The confidence, from 0 to 1.
        confidence: f64,
    },
    /// The price differs from those before and after it.
    #[error("the price before it is {before} and the one after it {after}: more than {ratio} times apart")]
    Neighbours {
        /// The price before, in US dollars.
        before: f64,
        /// The price after, in US dollars.
        after: f64,
        /// The highest ratio that is accepted.
        ratio: f64,
    },
    /// The price differs from one that the store has of the same day.
    #[error("the store has {usd} of the same day: more than {ratio} times apart")]
    OtherSource {
        /// The price of the store, in US dollars.
        usd: f64,
        /// The highest ratio that is accepted.
        ratio: f64,
    },
    /// A current price is too old.
    #[error("it is older than a day")]
    Stale,
}

impl Refusal {
    /// Returns its stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoPrice => "no_price",
            Self::NotANumber { .. } => "not_a_number",
            Self::Zero => "zero",
            Self::Negative => "negative",
            Self::OutOfRange => "out_of_range",
            Self::Duplicate => "duplicate",
            Self::Contradiction => "contradiction",
            Self::Confidence { .. } => "confidence",
            Self::Neighbours { .. } => "neighbours",
            Self::OtherSource { .. } => "other_source",
            Self::Stale => "stale",
        }
    }
}

/// A price that was answered and is not stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefusedPrice {
    /// The time of the point.
    pub time: Timestamp,
    /// US dollars per whole unit, where the point has a number.
    pub usd: Option<f64>,
    /// The reason.
    #[serde(flatten)]
    pub why: Refusal,
}

/// A price that was answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Observation {
    pub time: i64,
    pub usd: f64,
}

/// The prices of one coin that pass the checks of single points, by time, and those that do not.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Answer {
    pub observations: Vec<Observation>,
    pub refused: Vec<RefusedPrice>,
}

/// A point as it was answered.
#[derive(Debug, Clone)]
pub(super) struct RawPoint<'a> {
    pub time: &'a Value,
    pub usd: &'a Value,
    pub confidence: Option<f64>,
}

/// The unit of times that a service documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Seconds,
    Milliseconds,
}

impl TimeUnit {
    const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Seconds => Self::Milliseconds,
            Self::Milliseconds => Self::Seconds,
        }
    }

    const fn secs(self, time: i64) -> i64 {
        match self {
            Self::Seconds => time,
            Self::Milliseconds => time.div_euclid(1_000),
        }
    }
}

/// Checks each point of an answer. `window` contains the times that were asked for, both ends included.
///
/// # Errors
/// With a sentence, when times are not numbers, or are in another unit than the documented one: no point of such an answer
/// can be trusted.
pub(super) fn checked(points: &[RawPoint<'_>], unit: TimeUnit, window: (i64, i64)) -> Result<Answer, String> {
    let is_asked = |time: i64| (window.0..=window.1).contains(&time);
    let mut answer = Answer::default();
    let mut by_time: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for point in points {
        let stated = whole(point.time).ok_or_else(|| format!("the time {} is not a number", shown(point.time)))?;
        let time = unit.secs(stated);
        if !is_asked(time) && is_asked(unit.other().secs(stated)) {
            let (found, expected) = (unit.other().name(), unit.name());
            return Err(format!("the time {stated} is in {found}, where the service documents {expected}"));
        }
        let mut refuse = |usd, why| answer.refused.push(RefusedPrice { time: Timestamp::new(time), usd, why });
        match usd_of(point.usd) {
            Err(why) => refuse(point.usd.as_f64(), why),
            Ok(usd) if !is_asked(time) => refuse(Some(usd), Refusal::OutOfRange),
            Ok(usd) => match point.confidence.filter(|confidence| *confidence < MIN_CONFIDENCE) {
                Some(confidence) => refuse(Some(usd), Refusal::Confidence { confidence }),
                None => by_time.entry(time).or_default().push(usd),
            },
        }
    }
    for (time, prices) in by_time {
        let is_one = prices.iter().all(|usd| usd.to_bits() == prices[0].to_bits());
        let (refused, why) =
            if is_one { (&prices[1..], Refusal::Duplicate) } else { (prices.as_slice(), Refusal::Contradiction) };
        let refusal = |usd: &f64| RefusedPrice { time: Timestamp::new(time), usd: Some(*usd), why: why.clone() };
        answer.refused.extend(refused.iter().map(refusal));
        if is_one {
            answer.observations.push(Observation { time, usd: prices[0] });
        }
    }
    answer.refused.sort_by_key(|refused| refused.time);
    Ok(answer)
}

/// Returns the price of a point.
fn usd_of(value: &Value) -> Result<f64, Refusal> {
    if value.is_null() {
        return Err(Refusal::NoPrice);
    }
    match value.as_f64().filter(|usd| usd.is_finite()) {
        None => Err(Refusal::NotANumber { text: shown(value) }),
        Some(usd) if usd < 0.0 => Err(Refusal::Negative),
        Some(usd) if usd > 0.0 => Ok(usd),
        Some(_) => Err(Refusal::Zero),
    }
}

/// Returns a whole number; parts are cut off.
#[expect(clippy::cast_possible_truncation, reason = "a number without a fraction, within the range of exact integers")]
fn whole(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = || value.as_f64().map(f64::trunc).filter(|number| number.abs() <= EXACT);
    value.as_i64().or_else(|| number().map(|number| number as i64))
}

/// Returns a value for people, cut off where it is long.
fn shown(value: &Value) -> String {
    value.to_string().chars().take(40).collect()
}

/// The price of each period: the one nearest to its end, of two the earlier. Points between two ends are not needed.
pub(super) fn closes(answer: &Answer, run: Run, step: Step) -> BTreeMap<i64, f64> {
    let mut nearest: BTreeMap<i64, Observation> = BTreeMap::new();
    for point in &answer.observations {
        let Some(end) = step.near_end(point.time).filter(|end| (run.first..=run.last).contains(end)) else { continue };
        let distance = |other: &Observation| (other.time - end).abs();
        match nearest.get(&end) {
            Some(kept) if distance(kept) <= distance(point) => {}
            _ => {
                nearest.insert(end, *point);
            }
        }
    }
    nearest.into_iter().map(|(end, point)| (end, point.usd)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DAY: i64 = 86_400;

    fn answer(points: &Value, unit: TimeUnit) -> Result<Answer, String> {
        let points: Vec<RawPoint<'_>> = points
            .as_array()
            .unwrap()
            .iter()
            .map(|point| RawPoint { time: &point[0], usd: &point[1], confidence: point[2].as_f64() })
            .collect();
        checked(&points, unit, (1_000 * DAY, 1_010 * DAY))
    }

    #[test]
    fn points_that_are_not_prices_are_refused_by_name() {
        let at = |day: i64| 1_000 * DAY + day * DAY;
        let points = json!([
            [at(0), 1.5],
            [at(1), null],
            [at(2), 0],
            [at(3), -2.0],
            [at(4), "NaN"],
            [at(5), 3.0],
            [at(5), 3.0],
            [at(6), 3.0],
            [at(6), 4.0],
            [at(11), 3.0],
            [at(7), 3.0, 0.5],
            [at(8), 3.0, 0.9],
        ]);
        let answer = answer(&points, TimeUnit::Seconds).unwrap();
        let codes: Vec<_> = answer.refused.iter().map(|refused| refused.why.code()).collect();
        let expected = [
            "no_price",
            "zero",
            "negative",
            "not_a_number",
            "duplicate",
            "contradiction",
            "contradiction",
            "confidence",
            "out_of_range",
        ];
        assert_eq!(codes, expected);
        let kept: Vec<_> = answer.observations.iter().map(|point| (point.time - at(0)) / DAY).collect();
        assert_eq!(kept, [0, 5, 8]);
    }

    #[test]
    fn times_in_another_unit_refuse_the_answer() {
        let secs = json!([[1_000 * DAY, 2.0]]);
        let millis = json!([[1_000 * DAY * 1_000, 2.0]]);
        assert!(answer(&secs, TimeUnit::Milliseconds).unwrap_err().contains("is in seconds"));
        assert!(answer(&millis, TimeUnit::Seconds).unwrap_err().contains("is in milliseconds"));
        assert_eq!(answer(&millis, TimeUnit::Milliseconds).unwrap().observations[0].time, 1_000 * DAY);
        assert!(answer(&json!([["x", 2.0]]), TimeUnit::Seconds).unwrap_err().contains("is not a number"));
    }

    #[test]
    fn close_is_the_price_nearest_to_the_end() {
        let end = 1_001 * DAY - 1;
        let at = |secs: i64, usd: f64| Observation { time: end + secs, usd };
        let points = vec![at(-22_000, 1.0), at(-900, 2.0), at(600, 3.0), at(900, 4.0), at(4_000, 5.0)];
        let answer = Answer { observations: points, refused: Vec::new() };
        let found = closes(&answer, Run { first: end, last: end }, Step::Day);
        assert_eq!(found, BTreeMap::from([(end, 3.0)]));
    }
}
