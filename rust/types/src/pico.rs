//! Values as integers: what doubles are rounded to, once each, before they are added.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Pico-units in a unit.
const UNIT: i128 = 1_000_000_000_000;
/// Integers up to here are doubles.
const EXACT: u128 = 1 << 53;

/// A value in US dollars or another unit that answers are given in: an integer of pico-units (10^-12).
///
/// Doubles do not add up to the same sum in every order; integers do, so a sum depends neither on the order of
/// movements, nor on threads, nor on how content is spread over segments. A movement is valued in doubles and rounded
/// once. Amounts of assets are [`crate::Amount`] and never go through here.
///
/// The range is ±1.7 · 10^26 units. Sums stop at its ends instead of wrapping.
///
/// ```
/// use headwater_types::Pico;
/// let [tenth, fifth] = [0.1, 0.2].map(|value| Pico::from_f64(value).unwrap());
/// assert_eq!((tenth + fifth).to_f64(), 0.3); // as doubles: 0.30000000000000004
/// assert_eq!((tenth + fifth).to_string(), "0.3");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Pico(i128);

/// A value in US dollars.
pub type Usd = Pico;

impl Pico {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The largest value.
    pub const MAX: Self = Self(i128::MAX);

    /// From pico-units.
    #[must_use]
    pub const fn from_raw(pico: i128) -> Self {
        Self(pico)
    }

    /// In pico-units.
    #[must_use]
    pub const fn raw(self) -> i128 {
        self.0
    }

    /// The nearest value, of two equally near the even one; `None` for what is not a number, infinite, or out of range.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let fraction = u128::from(bits & ((1 << 52) - 1));
        // value = mantissa · 2^power, with the hidden bit and the smaller power of subnormal numbers.
        let (mantissa, power) = match (bits >> 52) & 0x7ff {
            0 => (fraction, -1074),
            exponent => (fraction | 1 << 52, i32::try_from(exponent).ok()? - 1075),
        };
        // Below 2^93, so nothing is lost before the one rounding.
        let scaled = mantissa * UNIT.unsigned_abs();
        let magnitude = match u32::try_from(power) {
            Ok(up) => {
                if scaled != 0 && up > scaled.leading_zeros() {
                    return None;
                }
                scaled.checked_shl(up).unwrap_or(0)
            }
            Err(_) => halves_to_even(scaled, power.unsigned_abs()),
        };
        let magnitude = i128::try_from(magnitude).ok()?;
        Some(Self(if value.is_sign_negative() { -magnitude } else { magnitude }))
    }

    /// The nearest double.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        if self.0.unsigned_abs() <= EXACT {
            // Both are exact, so the division rounds once.
            #[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
            return self.0 as f64 / UNIT as f64;
        }
        self.to_string().parse().expect("decimal text of our own is a number")
    }

    /// The sum, `None` out of range.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The sum, stopped at the end of the range.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// `value / 2^down`, rounded to the nearest integer, of two equally near the even one.
fn halves_to_even(value: u128, down: u32) -> u128 {
    // A value below 2^93 is less than half of 2^94.
    let (Some(half), true) = (1_u128.checked_shl(down - 1), down < 94) else { return 0 };
    let (whole, rest) = (value >> down, value & ((half << 1) - 1));
    let up = rest > half || (rest == half && whole & 1 == 1);
    whole + u128::from(up)
}

impl Add for Pico {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl AddAssign for Pico {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Pico {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Pico {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sum for Pico {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        values.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Pico {
    /// Decimal text in whole units: exact, no exponent, no trailing zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (magnitude, unit) = (self.0.unsigned_abs(), UNIT.unsigned_abs());
        let (whole, fraction) = (magnitude / unit, magnitude % unit);
        let digits = if fraction == 0 { String::new() } else { format!(".{fraction:012}") };
        f.pad_integral(self.0 >= 0, "", &format!("{whole}{}", digits.trim_end_matches('0')))
    }
}

impl fmt::Debug for Pico {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Pico {
    /// As a number: the nearest double.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
    }
}

impl<'de> Deserialize<'de> for Pico {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Self::from_f64(value).ok_or_else(|| de::Error::invalid_value(de::Unexpected::Float(value), &"a finite value"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ruint::aliases::U1024;

    use super::*;

    /// The nearest multiple of 10^-12 by wide integers: `mantissa · 10^12 · 2^power`, rounded by quotient and rest.
    fn oracle(value: f64) -> Option<i128> {
        let bits = value.abs().to_bits();
        let exponent = (bits >> 52) as usize;
        let mantissa = (bits & ((1 << 52) - 1)) | if exponent == 0 { 0 } else { 1 << 52 };
        let scaled = U1024::from(mantissa) * U1024::from(UNIT);
        let power = exponent.max(1);
        let magnitude = if power >= 1075 {
            if power - 1075 > 200 && mantissa > 0 {
                return None;
            }
            scaled << (power - 1075)
        } else if 1075 - power > 1000 {
            U1024::ZERO
        } else {
            let unit = U1024::ONE << (1075 - power);
            let (whole, rest) = scaled.div_rem(unit);
            let twice = rest << 1;
            if twice > unit || (twice == unit && whole.bit(0)) { whole + U1024::ONE } else { whole }
        };
        let magnitude: i128 = magnitude.try_into().ok()?;
        Some(if value.is_sign_negative() { -magnitude } else { magnitude })
    }

    proptest! {
        #[test]
        fn a_double_becomes_the_nearest_pico_unit(bits in any::<u64>(), power in -50i32..120) {
            let wild = f64::from_bits(bits);
            let usual = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52) * 2f64.powi(power);
            for value in [wild, usual, -usual] {
                let expected = if value.is_finite() { oracle(value) } else { None };
                prop_assert_eq!(Pico::from_f64(value).map(Pico::raw), expected, "{}", value);
            }
        }

        #[test]
        fn the_double_of_a_value_is_the_nearest_one(raw in any::<i128>(), shift in 0u32..120) {
            let value = Pico::from_raw(raw >> shift);
            prop_assert_eq!(value.to_f64().to_bits(), (value.to_string().parse::<f64>().unwrap() + 0.0).to_bits());
        }

        #[test]
        fn sums_do_not_depend_on_order(mut values in prop::collection::vec(-1e9f64..1e9, 0..40)) {
            let sum = |values: &[f64]| values.iter().filter_map(|value| Pico::from_f64(*value)).sum::<Pico>();
            let forwards = sum(&values);
            values.reverse();
            prop_assert_eq!(forwards, sum(&values));
            let (one, other) = values.split_at(values.len() / 2);
            prop_assert_eq!(forwards, sum(other) + sum(one));
        }
    }

    #[test]
    fn halves_go_to_the_even_neighbour() {
        // 2^-13 · 10^12 = 122070312.5 and three times that 366210937.5 are exact halves of a pico-unit.
        let raw = |value: f64| Pico::from_f64(value).unwrap().raw();
        assert_eq!(raw(2f64.powi(-13)), 122_070_312);
        assert_eq!(raw(3.0 * 2f64.powi(-13)), 366_210_938);
        assert_eq!(raw(-(2f64.powi(-13))), -122_070_312);
        assert_eq!((raw(1e-13), raw(6e-13), raw(-0.0), raw(f64::MIN_POSITIVE)), (0, 1, 0, 0));
    }

    #[test]
    fn what_has_no_value_is_none_and_sums_stop_at_the_ends() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e27, -1e27, f64::MAX] {
            assert_eq!(Pico::from_f64(value), None, "{value}");
        }
        assert_eq!(Pico::from_f64(1e26).unwrap().to_f64().to_bits(), 1e26f64.to_bits());
        assert_eq!(Pico::MAX.checked_add(Pico::from_raw(1)), None);
        assert_eq!(Pico::MAX + Pico::MAX, Pico::MAX);
        assert_eq!([Pico::MAX, Pico::MAX].into_iter().sum::<Pico>(), Pico::MAX);
    }

    #[test]
    fn text_is_exact_and_json_is_a_number() {
        let text = |value: f64| Pico::from_f64(value).unwrap().to_string();
        assert_eq!([text(12.5), text(-0.5), text(0.0), text(3.0)], ["12.5", "-0.5", "0", "3"]);
        assert_eq!(Pico::from_raw(1).to_string(), "0.000000000001");
        assert_eq!(serde_json::to_string(&Pico::from_f64(0.1).unwrap()).unwrap(), "0.1");
        assert_eq!(serde_json::from_str::<Pico>("0.1").unwrap().raw(), UNIT / 10);
        assert!(serde_json::from_str::<Pico>("1e300").is_err());
    }
}
