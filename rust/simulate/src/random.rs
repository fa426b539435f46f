//! Randomness: one independent stream per actor and concern, so that one more actor reshuffles nothing else.

use statrs::distribution::{ContinuousCDF, Exp, LogNormal, Pareto};

use crate::identity::digest;

/// A named stream of random numbers: xoshiro256++ (Blackman and Vigna 2019), 32 bytes of state, so that millions of
/// actors can each have their own. Distributions are drawn by their inverse, one number for one draw.
#[derive(Debug, Clone)]
pub(crate) struct Stream([u64; 4]);

impl Stream {
    /// The stream of this name under this seed.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        let bytes = digest(seed, "stream", name.as_bytes());
        let word = |place: usize| {
            let eight = bytes[8 * place..8 * place + 8].try_into().expect("a digest has four words of eight bytes");
            u64::from_le_bytes(eight)
        };
        // The one state that yields only zeros; no digest is expected to be it.
        Self([word(0) | 1, word(1), word(2), word(3)])
    }

    const fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.0 = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Uniform in the open interval from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Uniform in `0..limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        let wide = (u128::from(self.next()) * u128::from(limit)) >> 64;
        u64::try_from(wide).expect("the upper half of a product of 64-bit numbers fits 64 bits")
    }

    /// Uniform in `low..=high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// A place in a list of this length, which must not be empty.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("below a length")
    }

    /// One of a list that must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.index(list.len())]
    }

    /// Returns whether something of this probability happens.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// The place of a weight, drawn in proportion to the weights.
    pub(crate) fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut left = self.below(weights.iter().sum::<u64>().max(1));
        for (place, &weight) in weights.iter().enumerate() {
            if left < weight {
                return place;
            }
            left -= weight;
        }
        weights.len() - 1
    }

    /// Log-normal with this median.
    pub(crate) fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        let law = LogNormal::new(median.ln(), sigma).expect("medians and spreads of this crate are positive");
        law.inverse_cdf(self.unit())
    }

    /// Exponential with this mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        Exp::new(1.0 / mean).expect("means of this crate are positive").inverse_cdf(self.unit())
    }

    /// Pareto from `scale` up.
    pub(crate) fn pareto(&mut self, scale: f64, shape: f64) -> f64 {
        Pareto::new(scale, shape).expect("scales and shapes of this crate are positive").inverse_cdf(self.unit())
    }

    /// An amount of money in US cents, log-normal around a median, never nothing.
    pub(crate) fn cents(&mut self, median_usd: f64, sigma: f64) -> u64 {
        whole(self.log_normal(median_usd * 100.0, sigma)).clamp(1, 100_000_000_000)
    }

    /// Seconds between two bounds, both included.
    pub(crate) fn secs(&mut self, low: i64, high: i64) -> i64 {
        low + i64::try_from(self.below(high.abs_diff(low) + 1)).expect("spans of this crate are short")
    }

    /// Seconds of an exponential wait.
    pub(crate) fn wait(&mut self, mean_secs: f64) -> i64 {
        i64::try_from(whole(self.exponential(mean_secs))).unwrap_or(i64::MAX / 4)
    }
}

/// The whole part of a draw; draws that are not numbers count as nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast is what is meant")]
pub(crate) fn whole(draw: f64) -> u64 {
    draw as u64
}

/// Weights in a form that is drawn from in logarithmic time.
pub(crate) struct Weights(Vec<u64>);

impl Weights {
    /// The running sums of weights.
    pub(crate) fn new(weights: impl Iterator<Item = u64>) -> Self {
        let mut sum = 0;
        Self(
            weights
                .map(|weight| {
                    sum += weight;
                    sum
                })
                .collect(),
        )
    }

    /// The place of a weight, drawn in proportion to the weights. The same draw as [`Stream::weighted`] of the list.
    pub(crate) fn draw(&self, stream: &mut Stream) -> usize {
        let draw = stream.below(self.0.last().copied().unwrap_or(0).max(1));
        self.0.partition_point(|&sum| sum <= draw).min(self.0.len().saturating_sub(1))
    }
}

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "counts of this crate stay far below 2^53")]
pub(crate) const fn float(count: i64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // The first outputs of the reference code from the state 1, 2, 3, 4.
        let mut stream = Stream([1, 2, 3, 4]);
        assert_eq!(
            [(); 4].map(|()| stream.next()),
            [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]
        );
    }

    #[test]
    fn weights_draw_as_a_walk_over_the_list_does() {
        let list = [0, 5, 1, 0, 9, 3];
        let weights = Weights::new(list.into_iter());
        let (mut left, mut right) = (Stream::new(1, "walk"), Stream::new(1, "walk"));
        for _ in 0..2_000 {
            assert_eq!(weights.draw(&mut left), right.weighted(&list));
        }
    }

    #[test]
    fn streams_of_other_names_and_seeds_are_other_streams() {
        let draw = |seed, name| Stream::new(seed, name).below(u64::MAX);
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn the_median_of_a_log_normal_is_its_median() {
        let mut stream = Stream::new(7, "median");
        let above = (0..4000).filter(|_| stream.log_normal(50.0, 1.2) > 50.0).count();
        assert!((1850..2150).contains(&above), "{above}");
    }
}
