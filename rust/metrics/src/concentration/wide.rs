//! Integers wide enough for every product of the measures: Σ x² of 2^64 balances of 256 bits takes 576.

use std::ops::{Add, AddAssign, Mul, Sub};

use headwater_ledger::holders;
use ruint::Uint;
use ruint::aliases::U256;

type Bits = Uint<1024, 16>;

/// Wide enough for sums over balances of 128 bits: Σ x² of 2^64 of them takes 320.
pub(super) type Sum = Uint<384, 6>;

/// An integer of 1024 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Int1024(Bits);

impl Int1024 {
    pub(super) const ONE: Self = Self(Bits::ONE);

    pub(super) fn doubled(self) -> Self {
        Self(self.0 << 1)
    }

    /// The double nearest to this divided by another, which is not shorter by more than 64 bits; 0 over 0 is 0.
    pub(super) fn ratio(&self, other: &Self) -> f64 {
        if self.0.is_zero() || other.0.is_zero() {
            return 0.0;
        }
        // As many bits as make the quotient one of 64 or 65; a last bit for the rest leaves one rounding.
        let shift = 64 + other.0.bit_len() - self.0.bit_len();
        let (whole, rest) = (self.0 << shift).div_rem(other.0);
        let whole: u128 = whole.to();
        #[expect(clippy::cast_precision_loss, reason = "the one rounding")]
        let nearest = (whole | u128::from(!rest.is_zero())) as f64;
        // Shifts past 1000 bits do not occur: a share of 2^64 holders is above 2^-600.
        nearest * 2_f64.powi(-i32::try_from(shift).expect("below 1024"))
    }
}

impl From<usize> for Int1024 {
    fn from(value: usize) -> Self {
        Self(Bits::from(value))
    }
}

impl From<U256> for Int1024 {
    fn from(value: U256) -> Self {
        Self(Bits::from(value))
    }
}

impl From<Sum> for Int1024 {
    fn from(value: Sum) -> Self {
        Self(Bits::from(value))
    }
}

impl From<holders::Squares> for Int1024 {
    fn from(value: holders::Squares) -> Self {
        Self(Bits::from(value))
    }
}

impl Add for Int1024 {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Int1024 {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Int1024 {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul for Int1024 {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }
}

/// A sum of squares of 128-bit integers: 256 bits and a count of carries.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Squares {
    low: u128,
    middle: u128,
    carries: u64,
}

impl Squares {
    #[inline]
    pub(super) fn add(&mut self, value: u128) {
        const HALF: u128 = u64::MAX as u128;
        let (high, low) = (value >> 64, value & HALF);
        let cross = high * low;
        // value² = high² · 2^128 + 2 · cross · 2^64 + low²; the doubled cross product has 129 bits.
        let (square, carry) = (low * low).overflowing_add(cross << 65);
        let upper = high * high + (cross >> 63) + u128::from(carry);
        let (sum, carry) = self.low.overflowing_add(square);
        self.low = sum;
        let (sum, first) = self.middle.overflowing_add(upper);
        let (sum, second) = sum.overflowing_add(u128::from(carry));
        self.middle = sum;
        self.carries += u64::from(first) + u64::from(second);
    }

    /// Adds a square of 128 bits.
    #[inline]
    pub(super) fn add_square(&mut self, square: u128) {
        let (sum, carry) = self.low.overflowing_add(square);
        self.low = sum;
        let (sum, carry) = self.middle.overflowing_add(u128::from(carry));
        self.middle = sum;
        self.carries += u64::from(carry);
    }

    pub(super) fn total(self) -> Sum {
        Sum::from(self.low) + (Sum::from(self.middle) << 128) + (Sum::from(self.carries) << 256)
    }
}
