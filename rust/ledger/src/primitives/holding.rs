//! What accounts hold, and since when that is known.

use headwater_types::{Amount, Asset, Balance, Timestamp};

/// What an account holds of one asset, and how it came to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding {
    /// The asset.
    pub asset: Asset,
    /// What came in and what went out, fees among what went out, failed transactions only by their fee. An opening
    /// balance is among what came in; [`Holding::received`] is without it.
    pub balance: Balance,
    /// The part of `sent` that was fees.
    pub fees: Amount,
    /// What the account held when the history of the asset begins, see [`crate::read::Balances::opening`]; mostly zero, for a history
    /// that is brought from its beginning on.
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

/// Where the history of a token begins: with balances that a list of its holders states for the end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The block. What moved in it and before is in the balances already and does not count in any.
    pub block: u64,
    /// Its time.
    pub time: Timestamp,
}
