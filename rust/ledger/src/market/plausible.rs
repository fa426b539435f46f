//! Prices that cannot be meant: spikes that come and go within two points.

use super::listing::Price;

/// Neighbours that are looked at on either side.
const NEIGHBOURS: usize = 3;
/// With fewer than these on either side a price is not judged: the newest ones are kept until more is known.
const FEWEST_NEIGHBOURS: usize = 2;
/// Neighbours further away in time are ignored.
const WINDOW_SECS: i64 = 7 * 86_400;
/// A spike is this many times above or below the level on both sides. In eight years of closing prices of five coins
/// no day was more than 1.5 times above or below the days around it that agreed.
const SPIKE_RATIO: f64 = 10.0;
/// Enough where the neighbours say that the symbol is pegged to the dollar.
const PEGGED_SPIKE_RATIO: f64 = 2.0;
/// The maximum distance of a pegged symbol from one dollar.
const PEG_TOLERANCE: f64 = 0.05;
/// The levels before and after are one level when they lie within this ratio of each other.
const SAME_LEVEL_RATIO: f64 = 2.0;

/// Decides of each price of one symbol, sorted by time, whether it is a spike: it is apart from the price just before
/// or just after, and lies [`SPIKE_RATIO`] times above or below the median of up to three prices before it and of as
/// many after it, all within a week, while these two medians agree. O(n).
///
/// Judged are the prices as they came, so that the verdict on one does not depend on that on another. A change of level
/// is not a spike, however large: before and after do not agree. Spikes of one or two points are found; what holds for
/// three points is a level.
pub(super) fn spikes(prices: &[Price]) -> Vec<bool> {
    (0..prices.len()).map(|place| is_spike(prices, place)).collect()
}

fn is_spike(prices: &[Price], place: usize) -> bool {
    let (before, price, after) = (&prices[..place], prices[place], &prices[place + 1..]);
    let (Some(last), Some(next)) = (before.last(), after.first()) else { return false };
    if ratio(price.usd, last.usd) <= SAME_LEVEL_RATIO && ratio(price.usd, next.usd) <= SAME_LEVEL_RATIO {
        return false;
    }
    let near = |other: &&Price| other.time.secs().abs_diff(price.time.secs()) <= WINDOW_SECS.unsigned_abs();
    let usd = |other: &Price| other.usd;
    let before: Vec<f64> = before.iter().rev().take(NEIGHBOURS).take_while(near).map(usd).collect();
    let after: Vec<f64> = after.iter().take(NEIGHBOURS).take_while(near).map(usd).collect();
    if before.len().min(after.len()) < FEWEST_NEIGHBOURS {
        return false;
    }
    let is_pegged = before.iter().chain(&after).all(|usd| (usd - 1.0).abs() <= PEG_TOLERANCE);
    let spike = if is_pegged { PEGGED_SPIKE_RATIO } else { SPIKE_RATIO };
    let (before, after) = (median(before, price.usd), median(after, price.usd));
    let above = price.usd >= spike * before.max(after);
    let below = price.usd * spike <= before.min(after);
    ratio(before, after) <= SAME_LEVEL_RATIO && (above || below)
}

/// The median; of two in the middle the one that is nearer to `price`, so that the doubt is in its favour.
fn median(mut values: Vec<f64>, price: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    if ratio(price, low) <= ratio(price, high) { low } else { high }
}

/// Returns the number of times the larger is the smaller.
fn ratio(one: f64, other: f64) -> f64 {
    (one / other).max(other / one)
}

#[cfg(test)]
mod tests {
    use headwater_types::Timestamp;

    use super::*;

    const HOUR: i64 = 3_600;
    const DAY: i64 = 86_400;

    /// The prices that are spikes, of a series with one price per step.
    fn found(step: i64, series: &[f64]) -> Vec<f64> {
        let prices: Vec<_> =
            (0..).zip(series).map(|(place, usd)| Price { usd: *usd, time: Timestamp::new(place * step) }).collect();
        prices.iter().zip(spikes(&prices)).filter(|(_, spike)| *spike).map(|(price, _)| price.usd).collect()
    }

    #[test]
    fn spike_of_one_or_two_points_is_found_in_either_direction() {
        assert_eq!(found(DAY, &[5.0, 6.0, 5.5, 60.0, 5.0, 6.0]), [60.0]);
        assert_eq!(found(DAY, &[5.0, 6.0, 5.5, 0.5, 5.0, 6.0]), [0.5]);
        assert_eq!(found(HOUR, &[3000.0, 3000.0, 3010.0, 3e6, 4e5, 3020.0, 3000.0, 3001.0]), [3e6, 4e5]);
        // Just below ten times is a wild day.
        assert!(found(DAY, &[5.0, 6.0, 5.5, 49.9, 5.0, 6.0]).is_empty());
    }

    #[test]
    fn what_holds_for_three_points_is_a_level() {
        assert!(found(HOUR, &[1.5, 1.5, 1.5, 40.0, 41.0, 40.0, 1.5, 1.5, 1.5]).is_empty());
    }

    #[test]
    fn a_change_of_level_is_no_spike() {
        assert!(found(DAY, &[2.0, 2.0, 2.0, 2.0, 300.0, 310.0, 290.0, 300.0]).is_empty());
        // About the closing prices of LUNA from the 6th of May 2022.
        let collapse = [77.0, 69.0, 64.0, 30.0, 17.5, 1.1, 0.005, 0.000_05, 0.000_3, 0.000_2, 0.000_2, 0.000_17];
        assert!(found(DAY, &collapse).is_empty());
        // And of its stablecoin.
        assert!(found(DAY, &[1.0, 1.0, 0.996, 0.79, 0.8, 0.68, 0.41, 0.14, 0.19, 0.11, 0.09]).is_empty());
    }

    #[test]
    fn a_symbol_pegged_to_the_dollar_is_held_to_twice_its_price() {
        assert_eq!(found(DAY, &[1.0, 1.01, 0.99, 2.1, 1.0, 1.0]), [2.1]);
        assert_eq!(found(HOUR, &[1.0, 1.01, 0.99, 0.4, 1.0, 1.0]), [0.4]);
        // A weekend in March 2023.
        assert!(found(DAY, &[1.0, 1.0, 0.88, 0.97, 0.99, 1.0]).is_empty());
    }

    #[test]
    fn price_without_near_neighbours_is_not_judged() {
        assert!(found(DAY, &[5.0, 5.0, 5.0, 500.0]).is_empty());
        assert!(found(DAY, &[5.0, 5.0, 5.0, 500.0, 5.0]).is_empty());
        assert_eq!(found(DAY, &[5.0, 5.0, 500.0, 5.0, 5.0]), [500.0]);
        assert!(found(8 * DAY, &[5.0, 5.0, 5.0, 500.0, 5.0, 5.0, 5.0]).is_empty());
        assert!(spikes(&[]).is_empty());
    }
}
