//! One immutable file of columns: all that is held of one chain by one commit (or by a merge of several).
//!
//! A segment is made by [`build`] from joined facts and read through [`Segment`], from disk by memory map or from
//! bytes in memory, by the same code. It gives back exactly the facts that went in, and holds beside them what
//! answers need in place: postings by account, sums by account and asset, and indexes by hash and by output spent.
//!
//! The layers, from the bottom: [`map`](self) owns the bytes, the container names sections and checks pages, columns
//! type them, the layout lists them all, `build` makes records of facts, `write` takes records and postings in order
//! and holds none of them, `read` reads them.
//!
//! # Format
//!
//! Whole numbers lie in blocks of 128, each column of a block as a line and residuals of one width
//! (`pack::ints`); amounts as mantissas of their own length (`pack::amounts`); hashes as they are. An account's
//! postings lie together in blocks of up to 128, every column of a block in one piece (`posting`), so that a light
//! account is one contiguous read; their block numbers and times cost a few bits, see `knots`. An account with more
//! than 1,024 postings is a hub: for each asset it has the places of its postings, its sums, and what came and went by
//! day where that is shorter than the postings. What other accounts hold is added up from their postings.
//!
//! Marks count what few segments have: opening balances, which are not postings and lie in sections of their own, by
//! account; and approximate amounts, as bits of transactions, movements and postings.
//!
//! One format is written and read; files of another one are refused.

mod build;
mod column;
mod container;
mod derived;
mod fee;
mod filter;
mod knots;
mod layout;
mod lines;
mod map;
mod marks;
mod merge;
mod opening;
mod pack;
mod posting;
mod read;
mod record;
mod section;
mod spool;
#[cfg(test)]
pub(crate) mod tests;
mod write;

use headwater_types::{Address, Chain, Network};

use crate::facts::{BlockFacts, TokenFacts, TransactionFacts};

pub use self::build::build;
pub use self::fee::fee_of;
pub use self::read::{Segment, Spend};

pub(crate) use self::build::build_into;
pub(crate) use self::container::{Column, Container, SegmentFile, StreamedSection, search, search_from};
pub(crate) use self::filter::AccountFilter;
pub(crate) use self::layout::prefix as hash_prefix;
pub(crate) use self::merge::{Source, merge};
pub(crate) use self::opening::HistoryStart;
pub(crate) use self::pack::{Table as PackedTable, TableWriter as PackedTableWriter};
pub(crate) use self::posting::RawPosting;
pub(crate) use self::read::openings_of;
#[allow(unused_imports, reason = "sidecars and the streaming merge name them")]
pub(crate) use self::read::{AssetPlaces, DayChange, LineReader, MissingOrdinals, SegmentPostings, Sums};
pub(crate) use self::record::LogRecord;
pub(crate) use self::section::{PackedSections, Section};
pub(crate) use self::spool::{Part as SectionPart, Spool};

/// The input of a segment. Facts are joined: each transaction, block, contract and token occurs once, in any
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
