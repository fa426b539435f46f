//! Prices that differ too much from their neighbours, or from what the store has of the same day.

use std::collections::BTreeMap;

use super::answer::Refusal;

/// Neighbours further away in time are ignored.
const WINDOW_SECS: i64 = 7 * 86_400;
const DAY_SECS: i64 = 86_400;
/// A price that is more than this many times above or below both neighbours is set aside. Among the core prices, no day is
/// more than 1.4 times above or below both neighbours.
pub const NEIGHBOUR_RATIO: f64 = 3.0;
/// The same where both neighbours are near one US dollar.
pub const PEGGED_RATIO: f64 = 1.5;
/// The maximum distance of a pegged price from one US dollar.
const PEG_TOLERANCE: f64 = 0.05;
/// A price that is more than this many times above or below one that the store has of the same day is set aside.
pub const SOURCE_RATIO: f64 = 2.0;

/// Decides of each new price of one symbol if it is set aside. `held` are the prices that the store has, by time.
///
/// A price that the store has of the same day decides alone: a spike that another source confirms is one of the market.
/// Without one, a price is compared with the prices just before and just after it within a week, as they came, so that
/// the verdict on one does not depend on that on another. The newest price has no neighbour after it, and is kept.
pub(super) fn implausible(held: &BTreeMap<i64, f64>, new: &BTreeMap<i64, f64>) -> BTreeMap<i64, Refusal> {
    let all: BTreeMap<i64, f64> = held.iter().chain(new).map(|(time, usd)| (*time, *usd)).collect();
    let verdict = |time: i64, usd: f64| {
        if let Some(other) = of_day(held, time) {
            let refusal = Refusal::OtherSource { usd: other, ratio: SOURCE_RATIO };
            return (ratio(usd, other) > SOURCE_RATIO).then_some(refusal);
        }
        let (_, before) = all.range(time - WINDOW_SECS..time).next_back()?;
        let (_, after) = all.range(time + 1..=time + WINDOW_SECS).next()?;
        let is_pegged = [before, after].iter().all(|usd| (**usd - 1.0).abs() <= PEG_TOLERANCE);
        let limit = if is_pegged { PEGGED_RATIO } else { NEIGHBOUR_RATIO };
        let is_above = usd > limit * before.max(*after);
        let is_below = usd * limit < before.min(*after);
        let refusal = Refusal::Neighbours { before: *before, after: *after, ratio: limit };
        (is_above || is_below).then_some(refusal)
    };
    new.iter().filter_map(|(time, usd)| Some((*time, verdict(*time, *usd)?))).collect()
}

/// Returns the price of the same day that is nearest to a time.
fn of_day(held: &BTreeMap<i64, f64>, time: i64) -> Option<f64> {
    let begin = time.div_euclid(DAY_SECS) * DAY_SECS;
    let of_day = held.range(begin..begin + DAY_SECS);
    of_day.min_by_key(|(other, _)| (time.abs_diff(**other), **other)).map(|(_, usd)| *usd)
}

/// Returns the number of times the larger is the smaller.
fn ratio(one: f64, other: f64) -> f64 {
    (one / other).max(other / one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(days: &[(i64, f64)]) -> BTreeMap<i64, f64> {
        days.iter().map(|(day, usd)| ((day + 1) * DAY_SECS - 1, *usd)).collect()
    }

    fn found(held: &[(i64, f64)], new: &[(i64, f64)]) -> Vec<(i64, &'static str)> {
        let found = implausible(&series(held), &series(new));
        found.iter().map(|(time, why)| (time / DAY_SECS, why.code())).collect()
    }

    #[test]
    fn outlier_between_new_or_held_prices_is_found() {
        assert_eq!(found(&[], &[(0, 5.0), (1, 16.0), (2, 5.2)]), [(1, "neighbours")]);
        assert_eq!(found(&[(0, 5.0), (2, 5.2)], &[(1, 1.6)]), [(1, "neighbours")]);
        assert!(found(&[], &[(0, 5.0), (1, 14.9), (2, 5.0)]).is_empty());
        assert_eq!(found(&[], &[(0, 1.0), (1, 1.6), (2, 0.99)]), [(1, "neighbours")]);
    }

    #[test]
    fn level_and_newest_price_are_kept() {
        assert!(found(&[], &[(0, 5.0), (1, 50.0), (2, 51.0)]).is_empty());
        assert!(found(&[], &[(0, 5.0), (1, 500.0)]).is_empty());
        assert!(found(&[], &[(0, 5.0), (9, 500.0), (18, 5.0)]).is_empty(), "neighbours of another week");
    }

    #[test]
    fn price_of_the_same_day_confirms_or_refutes() {
        let noon = |day: i64, usd: f64| BTreeMap::from([(day * DAY_SECS + 43_200, usd)]);
        let new = series(&[(0, 5.0), (1, 20.0), (2, 5.0)]);
        let codes =
            |held: &BTreeMap<i64, f64>| implausible(held, &new).into_values().map(|why| why.code()).collect::<Vec<_>>();
        assert!(codes(&noon(1, 18.0)).is_empty());
        assert_eq!(codes(&noon(1, 5.0)), ["other_source"]);
        assert_eq!(codes(&noon(0, 11.0)), ["other_source", "neighbours"]);
    }
}
