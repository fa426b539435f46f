//! The movements of an account, as a trace follows them.

use headwater_ledger::read::TransactionRef;
use headwater_types::Usd;

use super::stop::Stop;
use crate::source::Node;

/// The way of a movement, as seen from the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the account.
    In,
    /// From it.
    Out,
    /// From it to whoever made the block.
    Fee,
}

/// A movement of an account.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Movement {
    /// Its transaction; movements of one transaction come one after the other.
    pub transaction: TransactionRef,
    /// Epoch seconds.
    pub time: i64,
    /// The number of the asset.
    pub asset: u32,
    /// In its smallest unit.
    pub amount: u128,
    /// The worth; `None` without a price.
    pub usd: Option<Usd>,
    /// The other side; `None` for nobody, such as a mint, and for fees.
    pub other: Option<Node>,
    /// The way.
    pub way: Way,
    /// The reason for which it is not followed: it is outside of the time or of the filters; `None` where it may be.
    pub left_out: Option<Stop>,
}
