//! One immutable file of columns: all that is held of one chain by one commit (or by a merge of several).
//!
//! A segment is made by [`build`] from joined facts and read through [`Segment`], from disk by memory map or from
//! bytes in memory, by the same code. It gives back exactly the facts that went in, and holds beside them what
//! answers need in place: postings by account, sums by account and asset, and indexes by hash and by output spent.
//!
//! The layers, from the bottom: [`map`](self) owns the bytes, the container names sections and checks pages, columns
//! type them, the layout lists them all, `build` writes and `read` reads them.

mod build;
mod column;
mod container;
mod fee;
mod layout;
mod knots;
mod map;
mod pack;
mod posting;
mod read;
mod record;
mod spool;
mod write;
#[cfg(test)]
pub(crate) mod tests;

use headwater_types::{Address, Chain, Network};

use crate::facts::{BlockFacts, TokenFacts, TransactionFacts};

pub use self::build::{Encoding, build, build_as};
pub use self::fee::fee_of;
pub use self::read::{Segment, Spend};

pub(crate) use self::column::search;
pub(crate) use self::layout::posting as posting_flags;
pub(crate) use self::read::{AssetPlaces, DayChange, PostingsReader, RawPosting, Sums, Unindexed};

/// What a segment is made of. Facts are joined: each transaction, block, contract and token occurs once, in any
/// order, and the block of every transaction is among `blocks`.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentInput {
    /// The chain.
    pub chain: Chain,
    /// Its network.
    pub network: Network,
    /// Blocks, with their times.
    pub blocks: Vec<BlockFacts>,
    /// Transactions.
    pub transactions: Vec<TransactionFacts>,
    /// Addresses that a source states to be contracts.
    pub contracts: Vec<Address>,
    /// Token facts.
    pub tokens: Vec<TokenFacts>,
}
