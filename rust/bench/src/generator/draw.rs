//! Random numbers: splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of splitmix64.
pub(super) const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A stream of draws.
#[derive(Debug, Clone)]
pub(super) struct Draws {
    state: u64,
}

impl Draws {
    pub(super) const fn new(state: u64) -> Self {
        Self { state }
    }

    /// The stream of `state` without its first `count` draws.
    pub(super) const fn after(state: u64, count: u64) -> Self {
        Self { state: state.wrapping_add(STEP.wrapping_mul(count)) }
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// Uniform in [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        unit(self.next())
    }
}

/// The top 53 bits of a word as a number in [0, 1).
#[expect(clippy::cast_precision_loss, reason = "53 bits are exact in a double")]
pub(super) fn unit(word: u64) -> f64 {
    (word >> 11) as f64 / (1_u64 << 53) as f64
}

/// A rank below `count` with weight about 1 / (rank + shift), as the inverse of the continuous law.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zipf {
    count: f64,
    shift: f64,
    log_span: f64,
}

impl Zipf {
    pub(super) fn new(count: u32, shift: f64) -> Self {
        let count = f64::from(count);
        Self { count, shift, log_span: ((count + shift) / shift).ln() }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the rank is at least 0 and below a u32"
    )]
    pub(super) fn rank(self, unit: f64) -> u32 {
        let rank = (self.shift * (unit * self.log_span).exp() - self.shift).floor();
        rank.min(self.count - 1.0) as u32
    }
}

/// The first receivers of the favourites of a sender.
pub(super) const fn favourite(sender: u32, choice: u32) -> u64 {
    mix(mix(sender as u64) ^ (choice as u64).wrapping_mul(STEP).wrapping_add(13))
}

/// Ids by rank: a Fisher-Yates permutation with seed 7.
#[expect(clippy::cast_possible_truncation, reason = "a remainder of a u32")]
pub(super) fn permutation(count: u32) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..count).collect();
    let mut draws = Draws::new(7);
    for place in (1..ids.len()).rev() {
        ids.swap(place, (draws.next() % (place as u64 + 1)) as usize);
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_splitmix64() {
        // The first outputs for seed 1234567, as the reference implementation in C prints them.
        let mut draws = Draws::new(1_234_567);
        assert_eq!([draws.next(), draws.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
        assert_eq!(Draws::after(1_234_567, 1).next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn ranks_follow_the_law() {
        let zipf = Zipf::new(200, 1.0);
        assert_eq!(zipf.rank(0.0), 0);
        assert_eq!(zipf.rank(1.0 - f64::EPSILON), 199);
        // Rank 0 ends at u = ln 2 / ln 201.
        let border = 2.0_f64.ln() / 201.0_f64.ln();
        assert_eq!((zipf.rank(border - 1e-9), zipf.rank(border + 1e-9)), (0, 1));
    }

    #[test]
    fn a_permutation_has_every_id_once() {
        let mut ids = permutation(1000);
        assert_ne!(ids[..4], [0, 1, 2, 3]);
        ids.sort_unstable();
        assert!(ids.iter().copied().eq(0..1000));
    }
}
