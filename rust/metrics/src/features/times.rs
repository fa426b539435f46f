//! When an address moved.

const HOUR_SECS: i64 = 3600;
const DAY_SECS: i64 = 24 * HOUR_SECS;

/// Times of the movements of an address, in UTC.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// Movements.
    pub count: u64,
    /// First movement, epoch seconds; 0 without any.
    pub first: i64,
    /// Last movement.
    pub last: i64,
    /// Days with a movement.
    pub active_days: u64,
    /// Most movements on one day.
    pub max_per_day: u64,
    /// Sum of the squares of the movements per active day.
    pub squares_per_day: u64,
    /// Movements by hour of the day.
    pub by_hour: [u64; 24],
    /// Movements on Saturdays and Sundays.
    pub weekend: u64,
    /// The first four moments of the time within the life, from 0 (first movement) to 1 (last one): mean, standard
    /// deviation, skewness, kurtosis; NaN where there is no life, the last two where all are equal.
    pub moments: [f64; 4],
    /// The gaps between one movement and the next.
    pub gaps: Gaps,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            count: 0,
            first: 0,
            last: 0,
            active_days: 0,
            max_per_day: 0,
            squares_per_day: 0,
            by_hour: [0; 24],
            weekend: 0,
            moments: [f64::NAN; 4],
            gaps: Gaps::default(),
        }
    }
}

/// Gaps between one movement and the next, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gaps {
    /// The median, the lower one of two; NaN without a gap, as all that follow.
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// The longest.
    pub max: f64,
    /// The shortest.
    pub min: f64,
    /// Standard deviation by mean; NaN where all are 0.
    pub variation: f64,
}

impl Default for Gaps {
    fn default() -> Self {
        Self { median: f64::NAN, mean: f64::NAN, max: f64::NAN, min: f64::NAN, variation: f64::NAN }
    }
}

impl Gaps {
    /// Computes them from times in order; `scratch` is overwritten.
    #[must_use]
    pub fn of(secs: &[i64], scratch: &mut Vec<u64>) -> Self {
        scratch.clear();
        scratch.extend(secs.windows(2).map(|pair| pair[1].abs_diff(pair[0])));
        if scratch.is_empty() {
            return Self::default();
        }
        let (mut squares, mut max, mut min, mut total) = (0_u128, 0, u64::MAX, 0_u64);
        for gap in &*scratch {
            squares = squares.saturating_add(u128::from(*gap) * u128::from(*gap));
            total = total.saturating_add(*gap);
            (max, min) = (max.max(*gap), min.min(*gap));
        }
        let count = scratch.len();
        let (_, median, _) = scratch.select_nth_unstable((count - 1) / 2);
        let median = *median;
        let (n, total) = (count as u128, u128::from(total));
        // (std / mean)² = (n Σ gap² - (Σ gap)²) / (Σ gap)², in integers so that the order of gaps does not matter.
        let spread = squares.saturating_mul(n).saturating_sub(total.saturating_mul(total));
        let variation =
            if total == 0 { f64::NAN } else { (double(spread) / double(total.saturating_mul(total))).sqrt() };
        Self {
            median: double(median.into()),
            mean: double(total) / double(n),
            max: double(max.into()),
            min: double(min.into()),
            variation,
        }
    }
}

impl Times {
    /// Computes them from times in order; `scratch` is overwritten.
    #[must_use]
    pub fn of(secs: &[i64], scratch: &mut Vec<u64>) -> Self {
        let (Some(first), Some(last)) = (secs.first().copied(), secs.last().copied()) else { return Self::default() };
        let mut times = Self {
            count: secs.len() as u64,
            first,
            last,
            moments: moments(secs, first, last),
            gaps: Gaps::of(secs, scratch),
            ..Self::default()
        };
        let (mut day, mut midnight, mut on_day) = (i64::MIN, i64::MAX, 0);
        for time in secs {
            let mut within = time.wrapping_sub(midnight);
            if !(0..DAY_SECS).contains(&within) {
                times.close_day(on_day);
                (day, on_day) = (time.div_euclid(DAY_SECS), 0);
                midnight = day.saturating_mul(DAY_SECS);
                within = time.rem_euclid(DAY_SECS);
            }
            on_day += 1;
            times.by_hour[usize::try_from(within / HOUR_SECS).expect("0 to 23")] += 1;
            // Day 0 was a Thursday.
            times.weekend += u64::from((day + 4).rem_euclid(7) % 6 == 0);
        }
        times.close_day(on_day);
        times
    }

    fn close_day(&mut self, on_day: u64) {
        self.active_days += u64::from(on_day > 0);
        self.max_per_day = self.max_per_day.max(on_day);
        self.squares_per_day = self.squares_per_day.saturating_add(on_day.saturating_mul(on_day));
    }

    /// Seconds from the first to the last movement.
    #[must_use]
    pub fn life_secs(&self) -> u64 {
        self.last.abs_diff(self.first)
    }

    /// Entropy of the hour of the day by that of a uniform one, ln 24: 1 for round the clock, 0 for one hour of the
    /// day; NaN without movements.
    #[must_use]
    pub fn hour_entropy_ratio(&self) -> f64 {
        entropy(&self.by_hour) / 24_f64.ln()
    }

    /// Smallest share of movements in eight hours of the day on end: near 0 where somebody sleeps, 1/3 for a machine;
    /// NaN without movements.
    #[must_use]
    pub fn night_ratio(&self) -> f64 {
        let mut window: u64 = self.by_hour[..8].iter().sum();
        let mut fewest = window;
        for begin in 0..23 {
            window = window + self.by_hour[(begin + 8) % 24] - self.by_hour[begin];
            fewest = fewest.min(window);
        }
        ratio(fewest, self.count)
    }

    /// Standard deviation of the movements per active day; NaN without movements.
    #[must_use]
    pub fn deviation_per_day(&self) -> f64 {
        let spread = u128::from(self.squares_per_day) * u128::from(self.active_days);
        let spread = spread.saturating_sub(u128::from(self.count) * u128::from(self.count));
        double(spread).sqrt() / double(self.active_days.into())
    }
}

/// Moments of times within a life.
fn moments(secs: &[i64], first: i64, last: i64) -> [f64; 4] {
    let life = last.abs_diff(first);
    if life == 0 {
        return [f64::NAN; 4];
    }
    let (scale, n) = (1.0 / double(life.into()), double(secs.len() as u128));
    let within = |time: &i64| double(time.abs_diff(first).into()) * scale;
    let mean = secs.iter().map(within).sum::<f64>() / n;
    let (mut second, mut third, mut fourth) = (0.0, 0.0, 0.0);
    for time in secs {
        let off = within(time) - mean;
        let square = off * off;
        (second, third, fourth) = (second + square, third + square * off, fourth + square * square);
    }
    let (variance, deviation) = (second / n, (second / n).sqrt());
    let (skewness, kurtosis) = (third / n / (variance * deviation), fourth / n / (variance * variance));
    [mean, deviation, skewness, kurtosis]
}

/// Entropy of shares, in nats; NaN of nothing.
pub(super) fn entropy(counts: &[u64]) -> f64 {
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return f64::NAN;
    }
    let shares = counts.iter().filter(|count| **count > 0).map(|count| ratio(*count, total));
    shares.map(|share| -share * share.ln()).sum::<f64>().max(0.0)
}

/// One count by another; NaN where that is 0.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { f64::NAN } else { double(part.into()) / double(whole.into()) }
}

#[expect(clippy::cast_precision_loss, reason = "statistics are doubles")]
pub(super) fn double(count: u128) -> f64 {
    // The same number: conversions of 64 bits are many times faster.
    u64::try_from(count).map_or_else(|_| count as f64, |small| small as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_small_case_are_those_worked_by_hand() {
        // 01:00 and 01:30 on day 0, 23:00 on day 2 (a Saturday): gaps of 1,800 and 250,200 s, 126,000 on average and
        // 124,200 off it.
        let times = Times::of(&[3600, 5400, 2 * 86_400 + 23 * 3600], &mut Vec::new());
        assert_eq!((times.count, times.first, times.last, times.life_secs()), (3, 3600, 255_600, 252_000));
        assert_eq!((times.active_days, times.max_per_day, times.squares_per_day), (2, 2, 5));
        assert_eq!((times.by_hour[1], times.by_hour[23], times.weekend), (2, 1, 1));
        assert_eq!((times.gaps.max, times.gaps.min, times.gaps.median), (250_200.0, 1800.0, 1800.0));
        assert!((times.gaps.variation - 124_200.0 / 126_000.0).abs() < 1e-12);
        // Two thirds and one third: (2/3 ln 1.5 + 1/3 ln 3) / ln 24.
        let entropy = (2.0 / 3.0 * 1.5_f64.ln() + 3_f64.ln() / 3.0) / 24_f64.ln();
        assert!((times.hour_entropy_ratio() - entropy).abs() < 1e-12);
        assert_eq!((times.night_ratio(), times.deviation_per_day()), (0.0, 0.5));
        // 0, 1/140 and 1.
        let mean = (1.0 + 1.0 / 140.0) / 3.0;
        assert!((times.moments[0] - mean).abs() < 1e-12);
        let variance = (mean.powi(2) + (1.0 / 140.0 - mean).powi(2) + (1.0 - mean).powi(2)) / 3.0;
        assert!((times.moments[1] - variance.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn degenerate_times_have_no_gaps() {
        let none = Times::of(&[], &mut Vec::new());
        assert!(
            none.moments[0].is_nan()
                && none.hour_entropy_ratio().is_nan()
                && none.night_ratio().is_nan()
                && none.gaps.median.is_nan()
        );
        let one = Times::of(&[-1], &mut Vec::new());
        assert_eq!((one.by_hour[23], one.active_days, one.hour_entropy_ratio()), (1, 1, 0.0));
        assert!(one.gaps.mean.is_nan() && one.moments[0].is_nan());
        let equal = Times::of(&[7, 7, 7], &mut Vec::new());
        assert_eq!((equal.gaps.median, equal.max_per_day, equal.deviation_per_day()), (0.0, 3, 0.0));
        assert!(equal.gaps.variation.is_nan());
        let steady = Times::of(&(0..24).map(|hour| hour * 3600).collect::<Vec<_>>(), &mut Vec::new());
        assert_eq!((steady.gaps.variation, steady.night_ratio()), (0.0, 8.0 / 24.0));
        assert!((steady.hour_entropy_ratio() - 1.0).abs() < 1e-12);
    }
}
