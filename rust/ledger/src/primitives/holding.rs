//! Holdings of accounts, and since when they are known.

use headwater_types::{Amount, Asset, Balance, Timestamp};

/// The holding of an account in one asset, and how it came to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding {
    /// The asset.
    pub asset: Asset,
    /// The amounts that came in and went out, fees among the latter, failed transactions only by their fee. An opening
    /// balance is among what came in; [`Holding::received`] is without it.
    pub balance: Balance,
    /// The part of `sent` that was fees.
    pub fees: Amount,
    /// The balance of the account when the history of the asset begins, see [`crate::read::Balances::opening`]; mostly
    /// zero, for a history that is brought from its beginning on.
    pub opening: Amount,
}

impl Holding {
    /// All that movements brought: opening + received - sent is the balance.
    #[must_use]
    pub fn received(&self) -> Amount {
        self.balance.received().checked_sub(self.opening).unwrap_or(Amount::ZERO)
    }

    /// All that movements took, fees included.
    #[must_use]
    pub const fn sent(&self) -> Amount {
        self.balance.sent()
    }
}

/// The beginning of the history of a token: with balances that a list of its holders states for the end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The block. What moved in it and before is in the balances already and does not count in any.
    pub block: u64,
    /// Its time.
    pub time: Timestamp,
}
