//! Payments of victims of extortion, as those who gather them report them.

use headwater_types::{Address, TxHash};

/// One payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RansomPayment {
    /// The case.
    pub(crate) case: String,
    /// The address that was paid.
    pub(crate) to: Address,
    /// The transaction.
    pub(crate) hash: TxHash,
    /// Time of its block.
    pub(crate) secs: i64,
    /// The amount.
    pub(crate) satoshis: u64,
    /// The value at the time.
    pub(crate) cents: u64,
}
