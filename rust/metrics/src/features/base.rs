//! The aggregates that features are read from.

use super::coins::Coins;
use super::money::Money;
use super::parties::Parties;
use super::times::{Gaps, Times};

/// Aggregates of the movements of one address. Failed movements are counted and else left out: nothing moved.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Base {
    /// Distinct transactions.
    pub transactions: u64,
    /// Distinct transactions that the address sent itself, as far as their own value says.
    pub initiated: u64,
    /// Distinct transactions in which one asset came in and another one went out.
    pub swaps: u64,
    /// Movements of failed transactions.
    pub failed: u64,
    /// Movements in.
    pub received: u64,
    /// Movements out.
    pub sent: u64,
    /// Movements to itself, which are neither.
    pub own: u64,
    /// Movements in without an amount, such as plain calls of a contract.
    pub empty_in: u64,
    /// Movements out without an amount.
    pub empty_out: u64,
    /// Movements in of other assets than money.
    pub other_in: u64,
    /// Movements out of other assets than money.
    pub other_out: u64,
    /// Movements out that created a contract.
    pub created: u64,
    /// Distinct assets.
    pub assets: u64,
    /// True if a movement in comes first.
    pub starts_in: bool,
    /// True if a movement out comes last.
    pub ends_out: bool,
    /// Changes of direction between one movement and the next.
    pub turns: u64,
    /// Most movements in within 24 hours.
    pub max_in_day: u64,
    /// Most movements out within 24 hours.
    pub max_out_day: u64,
    /// Movements in the last 30 days of the life.
    pub late_30: u64,
    /// Movements in the last 90 days of the life.
    pub late_90: u64,
    /// Movements in the first 30 days of the life.
    pub early_30: u64,
    /// Seconds from a movement of money in to the next one out: the median; NaN without any.
    pub reaction: f64,
    /// Share of the movements of money in that one out follows within an hour.
    pub reacted: f64,
    /// Times of all movements.
    pub times: Times,
    /// Times of the movements in.
    pub in_times: Side,
    /// Times of the movements out.
    pub out_times: Side,
    /// The parties that it dealt with.
    pub parties: Parties,
    /// Movements in after the first one out.
    pub in_again: u64,
    /// The shapes of its transactions, on UTXO chains.
    pub coins: Coins,
    /// The native coin.
    pub native: Money,
    /// The main stablecoins as one.
    pub stable: Money,
}

/// Times of the movements one way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Side {
    /// First, seconds within the life; NaN without any, as the last.
    pub first: f64,
    /// Last, seconds within the life.
    pub last: f64,
    /// The gaps between them.
    pub gaps: Gaps,
}

impl Default for Side {
    fn default() -> Self {
        Self { first: f64::NAN, last: f64::NAN, gaps: Gaps::default() }
    }
}

impl Base {
    /// Movements in, out and to itself.
    #[must_use]
    pub const fn transfers(&self) -> u64 {
        self.received + self.sent + self.own
    }
}
