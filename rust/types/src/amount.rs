//! Exact amounts: 256-bit integers in the smallest unit of an asset, with decimal text in and out and no float between.

use std::fmt;

use ruint::aliases::U256;

use crate::text::{SHOWN, shortened};

/// An amount of one asset in its smallest unit (wei, sun, satoshi, raw token units).
///
/// ```
/// use headwater_types::Amount;
/// let amount = Amount::parse_decimal("12.5", 18).unwrap();
/// assert_eq!(amount.to_string(), "12500000000000000000");
/// assert_eq!(amount.to_decimal(18), "12.5");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Amount(U256);

/// The reason why a text is not an amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Not digits (a sign, an exponent, `NaN`, blanks and thousands marks are all refused).
    #[error("{0:?} is not a plain unsigned number")]
    NotANumber(String),
    /// More than 256 bits.
    #[error("{0:?} does not fit 256 bits")]
    TooLarge(String),
    /// More fraction digits than the asset has decimals.
    #[error("{text:?} has more than {decimals} fraction digits")]
    TooPrecise {
        /// The text given.
        text: String,
        /// The decimals of the asset.
        decimals: u8,
    },
}

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(U256::ZERO);
    /// The largest amount.
    pub const MAX: Self = Self(U256::MAX);

    /// From a machine integer.
    #[must_use]
    #[inline]
    pub fn from_u128(raw: u128) -> Self {
        Self(U256::from(raw))
    }

    /// The amount as `u128`, `None` when it does not fit.
    #[must_use]
    #[inline]
    pub fn to_u128(self) -> Option<u128> {
        self.0.try_into().ok()
    }

    /// From 32 big-endian bytes, as an EVM word holds it.
    #[must_use]
    #[inline]
    pub const fn from_be_bytes(bytes: [u8; 32]) -> Self {
        Self(U256::from_be_bytes(bytes))
    }

    /// As 32 big-endian bytes.
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 32] {
        self.0.to_be_bytes()
    }

    /// Returns whether it is nothing.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0.is_zero()
    }

    /// The sum, `None` past 256 bits.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference, `None` below zero.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// The product, `None` past 256 bits.
    #[must_use]
    pub fn checked_mul(self, other: Self) -> Option<Self> {
        self.0.checked_mul(other.0).map(Self)
    }

    /// The distance between two amounts.
    #[must_use]
    pub fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// From text of decimal digits, in the smallest unit.
    ///
    /// # Errors
    /// When the text holds anything but digits, or more than 256 bits.
    pub fn parse_raw(text: &str) -> Result<Self, AmountError> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(AmountError::NotANumber(shortened(text, SHOWN)));
        }
        U256::from_str_radix(text, 10).map(Self).map_err(|_| AmountError::TooLarge(shortened(text, SHOWN)))
    }

    /// From `0x` hex, as node interfaces write quantities.
    ///
    /// # Errors
    /// When the text has no `0x`, holds anything but hex digits, or more than 256 bits.
    pub fn parse_hex(text: &str) -> Result<Self, AmountError> {
        let digits = text.strip_prefix("0x").unwrap_or("");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(AmountError::NotANumber(shortened(text, SHOWN)));
        }
        U256::from_str_radix(digits, 16).map(Self).map_err(|_| AmountError::TooLarge(shortened(text, SHOWN)))
    }

    /// From decimal text in whole units (`"12.5"`), exactly.
    ///
    /// # Errors
    /// When the text is not a plain number, is more precise than `decimals`, or does not fit 256 bits.
    pub fn parse_decimal(text: &str, decimals: u8) -> Result<Self, AmountError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || text.ends_with('.') {
            return Err(AmountError::NotANumber(shortened(text, SHOWN)));
        }
        let fraction = fraction.trim_end_matches('0');
        let Some(padding) = usize::from(decimals).checked_sub(fraction.len()) else {
            return Err(AmountError::TooPrecise { text: shortened(text, SHOWN), decimals });
        };
        Self::parse_raw(&format!("{whole}{fraction}{}", "0".repeat(padding)))
            .map_err(|_| AmountError::TooLarge(shortened(text, SHOWN)))
    }

    /// Decimal text in whole units: no exponent, no thousands mark, no trailing zeros.
    #[must_use]
    pub fn to_decimal(self, decimals: u8) -> String {
        decimal_text(&self.0.to_string(), decimals)
    }

    /// The nearest double in whole units: for ratios and USD only, never for amounts.
    #[must_use]
    pub fn to_f64(self, decimals: u8) -> f64 {
        match (self.to_u128(), 10_u64.checked_pow(u32::from(decimals))) {
            (Some(0), _) => 0.0,
            (Some(raw), Some(unit)) => quotient(raw, unit),
            _ => self.to_decimal(decimals).parse().expect("decimal text of our own is a number"),
        }
    }
}

/// The double nearest to `raw / unit`, without the way through text; `raw` is not 0.
fn quotient(raw: u128, unit: u64) -> f64 {
    // With 128 bits over at most 64 the quotient has 64 or more. A last bit that stands for the rest makes ties of what
    // is one and of nothing else, so the conversion is the only rounding; the power of two is exact.
    let up = raw.leading_zeros();
    let (shifted, unit) = (raw << up, u128::from(unit));
    let sticky = u128::from(!shifted.is_multiple_of(unit));
    #[expect(clippy::cast_precision_loss, reason = "the one rounding")]
    let nearest = ((shifted / unit) | sticky) as f64;
    nearest * f64::from_bits(u64::from(1023 - up) << 52)
}

fn decimal_text(digits: &str, decimals: u8) -> String {
    let decimals = usize::from(decimals);
    if decimals == 0 {
        return digits.to_owned();
    }
    let padded = format!("{digits:0>width$}", width = decimals + 1);
    let (whole, fraction) = padded.split_at(padded.len() - decimals);
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl From<u64> for Amount {
    fn from(raw: u64) -> Self {
        Self(U256::from(raw))
    }
}

/// A running balance: what came in and what went out, kept apart so that nothing is ever clamped inside a sum.
///
/// ```
/// use headwater_types::{Amount, Balance};
/// let mut balance = Balance::default();
/// balance.receive(Amount::from(3)).unwrap();
/// balance.send(Amount::from(5)).unwrap();
/// assert!(balance.is_negative());
/// assert_eq!(balance.net_decimal(0), "-2");
/// assert_eq!(balance.shown(), Amount::ZERO);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    received: Amount,
    sent: Amount,
}

/// A sum passed 256 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a sum of amounts passed 256 bits")]
pub struct SumOverflow;

impl Balance {
    /// From all that came in and all that went out.
    #[must_use]
    pub const fn of(received: Amount, sent: Amount) -> Self {
        Self { received, sent }
    }

    /// Adds an amount that came in.
    ///
    /// # Errors
    /// When the sum passes 256 bits.
    pub fn receive(&mut self, amount: Amount) -> Result<(), SumOverflow> {
        self.received = self.received.checked_add(amount).ok_or(SumOverflow)?;
        Ok(())
    }

    /// Adds an amount that went out.
    ///
    /// # Errors
    /// When the sum passes 256 bits.
    pub fn send(&mut self, amount: Amount) -> Result<(), SumOverflow> {
        self.sent = self.sent.checked_add(amount).ok_or(SumOverflow)?;
        Ok(())
    }

    /// All that came in.
    #[must_use]
    pub const fn received(&self) -> Amount {
        self.received
    }

    /// All that went out.
    #[must_use]
    pub const fn sent(&self) -> Amount {
        self.sent
    }

    /// Returns whether more went out than came in, so that history must be incomplete.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.sent > self.received
    }

    /// The balance as it is shown: zero when it is negative.
    #[must_use]
    pub fn shown(&self) -> Amount {
        self.received.checked_sub(self.sent).unwrap_or(Amount::ZERO)
    }

    /// Received minus sent as signed decimal text in whole units.
    #[must_use]
    pub fn net_decimal(&self, decimals: u8) -> String {
        let sign = if self.is_negative() { "-" } else { "" };
        format!("{sign}{}", self.received.abs_diff(self.sent).to_decimal(decimals))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_printed_reads_back(bytes in any::<[u8; 32]>(), decimals in any::<u8>()) {
            let amount = Amount::from_be_bytes(bytes);
            prop_assert_eq!(Amount::parse_raw(&amount.to_string()), Ok(amount));
            prop_assert_eq!(Amount::parse_decimal(&amount.to_decimal(decimals), decimals), Ok(amount));
            prop_assert_eq!(amount.to_be_bytes(), bytes);
        }

        #[test]
        fn the_double_of_an_amount_is_the_one_nearest_to_its_text(raw in any::<u128>(), shift in 0u32..128, decimals in 0u8..40) {
            let amount = Amount::from_u128(raw >> shift);
            prop_assert_eq!(amount.to_f64(decimals).to_bits(), amount.to_decimal(decimals).parse::<f64>().unwrap().to_bits());
        }

        #[test]
        fn a_balance_is_what_came_in_less_what_went_out(received in any::<u64>(), sent in any::<u64>()) {
            let mut balance = Balance::default();
            balance.receive(Amount::from(received)).unwrap();
            balance.send(Amount::from(sent)).unwrap();
            let net = i128::from(received) - i128::from(sent);
            prop_assert_eq!(balance.net_decimal(0), net.to_string());
            prop_assert_eq!(balance.shown().to_u128(), Some(u128::try_from(net).unwrap_or(0)));
        }
    }

    #[test]
    fn decimal_text_is_exact_at_both_ends_of_256_bits() {
        let max = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        assert_eq!(Amount::parse_raw(max).unwrap(), Amount::MAX);
        assert_eq!(Amount::MAX.to_decimal(0), max);
        assert_eq!(
            Amount::MAX.to_decimal(18),
            "115792089237316195423570985008687907853269984665640564039457.584007913129639935"
        );
        assert_eq!(Amount::from(1).to_decimal(18), "0.000000000000000001");
        assert_eq!(Amount::ZERO.to_decimal(8), "0");
        assert_eq!(Amount::from(100).to_decimal(2), "1");
        assert_eq!(Amount::from(1).to_decimal(255).len(), 257);
    }

    #[test]
    fn amount_that_is_not_a_plain_number_is_refused() {
        for text in ["", "-1", "+1", "1e5", "NaN", "inf", " 1", "1 ", "1,000", "0x10", "1.0", "\u{0661}"] {
            assert!(matches!(Amount::parse_raw(text), Err(AmountError::NotANumber(_))), "{text:?}");
        }
        for text in ["", ".", "1.", ".5", "-1", "1e5", "1.2.3", "NaN"] {
            assert!(Amount::parse_decimal(text, 18).is_err(), "{text:?}");
        }
        let past = "115792089237316195423570985008687907853269984665640564039457584007913129639936";
        assert!(matches!(Amount::parse_raw(past), Err(AmountError::TooLarge(_))));
        assert!(
            matches!(Amount::parse_raw(&"9".repeat(100_000)), Err(AmountError::TooLarge(text)) if text.len() < 200)
        );
        assert!(matches!(Amount::parse_decimal("0.123", 2), Err(AmountError::TooPrecise { .. })));
        assert_eq!(Amount::parse_decimal("0.1200", 2), Ok(Amount::from(12)));
    }
}
