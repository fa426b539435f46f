//! Sums over all balances of an asset from which its measures follow without a look at any of them.

use bytemuck::{Pod, Zeroable};
use headwater_types::Amount;
use ruint::Uint;
use ruint::aliases::U256;

/// Wide enough for sums over balances with their positions.
pub type Sum = Uint<384, 6>;
/// Wide enough for squares of balances: 2^64 of them take 576 bits.
pub type Squares = Uint<576, 9>;

/// A number of the largest holders, and what they hold together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Top {
    /// The number of holders.
    pub count: u64,
    /// The sum of their balances.
    pub sum: Sum,
}

impl Top {
    /// With so many more of one balance each.
    #[must_use]
    pub fn and(self, count: u64, balance: Amount) -> Self {
        Self { count: self.count + count, sum: self.sum + Sum::from(count) * wide(balance) }
    }

    /// Returns the sum of their balances; `None` past 256 bits.
    #[must_use]
    pub fn amount(&self) -> Option<Amount> {
        (self.sum.bit_len() <= 256).then(|| Amount::from_be_bytes(self.sum.to::<U256>().to_be_bytes()))
    }

    /// With others.
    pub(super) fn with(self, other: Self) -> Self {
        Self { count: self.count.wrapping_add(other.count), sum: self.sum.wrapping_add(other.sum) }
    }

    /// Less some of them.
    pub(super) fn without(self, other: Self) -> Self {
        Self { count: self.count.wrapping_sub(other.count), sum: self.sum.wrapping_sub(other.sum) }
    }
}

/// Sums over the balances x(j) of an asset, j = 1 for the largest. All are integers, so the order in which balances come
/// and go changes none of them, and every way to the same balances gives the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moments {
    count: u64,
    total: Sum,
    squares: Squares,
    ranked: Sum,
    logs: Sum,
}

/// The same on disk, but for the count.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct StoredMoments {
    total: [u64; 6],
    squares: [u64; 9],
    ranked: [u64; 6],
    logs: [u64; 6],
}

impl Moments {
    /// Adds a balance of more than nothing that is at most as large as all that are there.
    #[inline]
    pub fn push(&mut self, balance: Amount) {
        self.count += 1;
        let held = wide(balance);
        self.total += held;
        self.ranked += Sum::from(self.count) * held;
        self.squares += square(balance);
        self.logs += logarithm(balance);
    }

    /// Takes one of the balances out; `top` are all of at least as much.
    pub fn remove(&mut self, balance: Amount, top: &Top) {
        let held = wide(balance);
        // The last of those with this balance goes, and all behind it come one nearer.
        let behind = self.total.wrapping_sub(top.sum);
        self.ranked = self.ranked.wrapping_sub(Sum::from(top.count) * held).wrapping_sub(behind);
        self.count = self.count.wrapping_sub(1);
        self.total = self.total.wrapping_sub(held);
        self.squares = self.squares.wrapping_sub(square(balance));
        self.logs = self.logs.wrapping_sub(logarithm(balance));
    }

    /// Puts a balance of more than nothing among the others; `top` are all of at least as much that are there.
    pub fn insert(&mut self, balance: Amount, top: &Top) {
        let held = wide(balance);
        self.ranked += Sum::from(top.count + 1) * held + self.total.wrapping_sub(top.sum);
        self.count += 1;
        self.total += held;
        self.squares += square(balance);
        self.logs += logarithm(balance);
    }

    /// Number of balances.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum; `None` past 256 bits.
    #[must_use]
    pub fn total(&self) -> Option<Amount> {
        self.top().amount()
    }

    /// `Σ x²`
    #[must_use]
    pub const fn squares(&self) -> Squares {
        self.squares
    }

    /// `Σ j·x(j)`, with j = 1 for the largest.
    #[must_use]
    pub const fn ranked(&self) -> Sum {
        self.ranked
    }

    /// `2^52 Σ x·ln x`, where each product is the double that it comes to, and the sum of these doubles is exact.
    #[must_use]
    pub const fn logs(&self) -> Sum {
        self.logs
    }

    pub(super) const fn stored(&self) -> StoredMoments {
        StoredMoments {
            total: *self.total.as_limbs(),
            squares: *self.squares.as_limbs(),
            ranked: *self.ranked.as_limbs(),
            logs: *self.logs.as_limbs(),
        }
    }

    pub(super) const fn read(count: u64, stored: &StoredMoments) -> Self {
        Self {
            count,
            total: Sum::from_limbs(stored.total),
            squares: Squares::from_limbs(stored.squares),
            ranked: Sum::from_limbs(stored.ranked),
            logs: Sum::from_limbs(stored.logs),
        }
    }

    /// All of them.
    pub(super) const fn top(&self) -> Top {
        Top { count: self.count, sum: self.total }
    }
}

/// An amount as a number that sums are made of.
#[inline]
pub(super) fn wide(balance: Amount) -> Sum {
    balance.to_u128().map_or_else(|| Sum::from(U256::from_be_bytes(balance.to_be_bytes())), Sum::from)
}

#[inline]
fn square(balance: Amount) -> Squares {
    if let Some(balance) = balance.to_u128() {
        let balance = U256::from(balance);
        return Squares::from(balance * balance);
    }
    let balance = Squares::from(U256::from_be_bytes(balance.to_be_bytes()));
    balance * balance
}

/// `2^52 x·ln x`, which is whole: a double of 1 and more has at most 52 bits behind the point.
#[inline]
fn logarithm(balance: Amount) -> Sum {
    const MANTISSA: u32 = 52;
    let balance = balance.to_f64(0);
    let product = balance * balance.ln();
    if product < 1.0 {
        // Of 1, and of nothing.
        return Sum::ZERO;
    }
    let bits = product.to_bits();
    let fraction = bits & ((1 << MANTISSA) - 1) | 1 << MANTISSA;
    let exponent = usize::try_from(bits >> MANTISSA).map_or(0, |exponent| exponent - 1023);
    Sum::from(fraction) << exponent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(balances: &[u64]) -> Moments {
        let mut moments = Moments::default();
        for balance in balances {
            moments.push(Amount::from(*balance));
        }
        moments
    }

    fn top(balances: &[u64]) -> Top {
        Top { count: balances.len() as u64, sum: balances.iter().map(|balance| Sum::from(*balance)).sum() }
    }

    #[test]
    fn three_two_one_come_to_sums_worked_by_hand() {
        let moments = of(&[3, 2, 1]);
        assert_eq!((moments.count(), moments.total()), (3, Some(Amount::from(6))));
        assert_eq!((moments.squares(), moments.ranked()), (Squares::from(14), Sum::from(3 + 4 + 3)));
        #[expect(clippy::cast_precision_loss, reason = "compared with some tolerance")]
        let logs = moments.logs().to::<u64>() as f64 / 2_f64.powi(52);
        assert!((logs - (3.0 * 3_f64.ln() + 2.0 * 2_f64.ln())).abs() < 1e-15);
    }

    #[test]
    fn what_goes_and_comes_back_leaves_no_trace() {
        let mut moments = of(&[9, 5, 5, 2]);
        moments.remove(Amount::from(5), &top(&[9, 5, 5]));
        assert_eq!(moments, of(&[9, 5, 2]));
        moments.insert(Amount::from(3), &top(&[9, 5]));
        assert_eq!(moments, of(&[9, 5, 3, 2]));
        let most = wide(Amount::MAX);
        let before = moments;
        moments.insert(Amount::MAX, &Top::default());
        assert_eq!(moments.total(), None);
        moments.remove(Amount::MAX, &Top { count: 1, sum: most });
        assert_eq!(moments, before);
    }
}
