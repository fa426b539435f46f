//! Legs of bridge transfers: which transactions are, and where the others of a transfer are.
//!
//! What a transaction says of bridges is read from its logs and call data ([`legs`]), so nothing is kept of it. What is kept
//! is where each link key occurs: an index beside every segment ([`build`]), keys hashed, in order. A key is looked up in
//! the segments of all chains, and whatever shares it is joined when it is asked for. So the order of ingest changes no
//! answer, and blocks that are taken back leave nothing behind.
//!
//! A segment without an index is read on the first question about it, as long as it is small.

mod build;
mod index;
mod keys;
mod legs;

pub use self::legs::legs;

pub(crate) use self::build::build;
pub(crate) use self::index::{BridgeFile, SegmentBridges};

/// The version that indexes depend on beside their segments: the tables and decoders of bridges.
pub(crate) const VERSION: u128 = headwater_bridge::VERSION as u128;

/// Transactions of a segment up to which it is read on the first question.
pub(crate) const MAX_UNINDEXED: u64 = 1 << 19;
