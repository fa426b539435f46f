//! Balances with a heavy tail, for what is measured over all holders of one token.

use super::draw::Draws;

/// Number of balances that the targets are stated for.
pub const HOLDERS: usize = 5_000_000;

/// Balances in no order: a power law of exponent 0.9, seed 5.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2^48 times 10^6, floored")]
pub fn holder_balances(count: usize) -> Vec<u128> {
    let mut draws = Draws::new(5);
    let balance = move || {
        // u = 0 has no power; the smallest step above stands for it.
        let unit = draws.unit().max(f64::EPSILON / 2.0);
        (unit.powf(-0.9) * 1e6).floor() as u128 * 1_000_000_000_000 + u128::from(draws.next() % 1_000_000_000_000)
    };
    std::iter::repeat_with(balance).take(count).collect()
}
