//! Exact sums of amounts: 128 bits at a time, with the carries counted.

use headwater_types::{Amount, SumOverflow};

/// A running sum of amounts of one asset, exact to 256 bits. Amounts below 2^128 cost two additions.
///
/// ```
/// use headwater_metrics::exact::ExactSum;
/// let mut sum = ExactSum::default();
/// sum.add(u128::MAX);
/// sum.add(1);
/// assert_eq!(sum.total().to_string(), "340282366920938463463374607431768211456"); // 2^128
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ExactSum {
    high: u128,
    low: u128,
}

impl ExactSum {
    /// Nothing.
    pub const ZERO: Self = Self { high: 0, low: 0 };

    /// Adds an amount below 2^128; 2^128 of them fit.
    #[inline]
    pub const fn add(&mut self, amount: u128) {
        let (low, carry) = self.low.overflowing_add(amount);
        self.low = low;
        self.high += carry as u128;
    }

    /// Adds an amount below 2^128 to a sum that may hold larger ones.
    ///
    /// # Errors
    /// When the sum passes 256 bits.
    #[inline]
    pub fn checked_add(&mut self, amount: u128) -> Result<(), SumOverflow> {
        let (low, carry) = self.low.overflowing_add(amount);
        self.low = low;
        if carry {
            self.high = self.high.checked_add(1).ok_or(SumOverflow)?;
        }
        Ok(())
    }

    /// Adds any amount.
    ///
    /// # Errors
    /// When the sum passes 256 bits.
    pub fn add_amount(&mut self, amount: Amount) -> Result<(), SumOverflow> {
        self.join(Self::from(amount))
    }

    /// Adds another sum.
    ///
    /// # Errors
    /// When the sum passes 256 bits.
    pub fn join(&mut self, other: Self) -> Result<(), SumOverflow> {
        let (low, carry) = self.low.overflowing_add(other.low);
        let high = self.high.checked_add(other.high).and_then(|high| high.checked_add(u128::from(carry)));
        *self = Self { high: high.ok_or(SumOverflow)?, low };
        Ok(())
    }

    /// The last 128 bits.
    #[must_use]
    pub const fn low(self) -> u128 {
        self.low
    }

    /// The bits above the last 128.
    #[must_use]
    pub const fn high(self) -> u128 {
        self.high
    }

    /// The sum.
    #[must_use]
    pub fn total(self) -> Amount {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&self.high.to_be_bytes());
        bytes[16..].copy_from_slice(&self.low.to_be_bytes());
        Amount::from_be_bytes(bytes)
    }
}

impl From<Amount> for ExactSum {
    fn from(amount: Amount) -> Self {
        let bytes = amount.to_be_bytes();
        let half = |half: &[u8]| u128::from_be_bytes(half.try_into().expect("a half of 32 bytes"));
        Self { high: half(&bytes[..16]), low: half(&bytes[16..]) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_sum_is_that_of_256_bit_integers(small in prop::collection::vec(any::<u128>(), 0..20), large in any::<[u8; 32]>()) {
            let large = Amount::from_be_bytes(large);
            let expected = small.iter().try_fold(large, |sum, amount| sum.checked_add(Amount::from_u128(*amount)));
            let mut sum = ExactSum::ZERO;
            for amount in &small {
                sum.add(*amount);
            }
            let mut reversed = ExactSum::from(large);
            let joined = reversed.join(sum);
            prop_assert_eq!(sum.add_amount(large), joined);
            let mut checked = ExactSum::from(large);
            prop_assert_eq!(small.iter().try_for_each(|amount| checked.checked_add(*amount)).is_ok(), joined.is_ok());
            prop_assert_eq!(joined.ok().map(|()| sum.total()), expected);
        }
    }
}
