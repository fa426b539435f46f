//! What victims of extortion pay, as those who gather it report it.

use headwater_types::{Address, TxHash};

/// One payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RansomPayment {
    /// The case.
    pub(crate) case: String,
    /// Where it went.
    pub(crate) to: Address,
    /// The transaction.
    pub(crate) hash: TxHash,
    /// Time of its block.
    pub(crate) secs: i64,
    /// How much.
    pub(crate) satoshis: u64,
    /// What it was worth.
    pub(crate) cents: u64,
}
