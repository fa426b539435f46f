//! One movement of an address.

use headwater_ledger::read::TransactionRef;
use headwater_types::Usd;

/// The number of a counterparty that is nobody: of mints, burns and rewards.
pub const NOBODY: u32 = u32::MAX;

/// Which way a movement went, as seen from the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// Towards it.
    In,
    /// Away from it.
    Out,
}

/// One movement of the address. Failed ones and those to itself are left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// Time of the block, epoch seconds.
    pub time: i64,
    /// The transaction.
    pub transaction: TransactionRef,
    /// In the smallest unit of the asset; at most `u128::MAX`.
    pub raw: u128,
    /// US dollars at its time; zero where it is not valued.
    pub usd: Usd,
    /// The counterparty by its number in [`super::History::counterparties`], or [`NOBODY`].
    pub other: u32,
    /// The asset by its number in [`super::History::assets`].
    pub asset: u32,
    /// Which way it went.
    pub way: Way,
}
