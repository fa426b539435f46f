//! Edges: of every account its counterparties with counts and sums, grouped ahead of the question.
//!
//! A ranking over an account of half a million movements is a pass over all of them; its edges are there already, in
//! order of weight, so that the strongest are a prefix read. Each segment has its edges in a file beside it, built
//! under the registry and prices in force, whose stamp it carries: after an import that changes a value it is stale,
//! and answers come from postings until it is built anew. Small segments have none, and most of those
//! that a commit makes none yet; what accounts have there is grouped on reading.
//! What is handed out is the same to the last bit either way.
//!
//! * `tally` groups the postings of one account, `build` does so for all of a segment.
//! * `pack` writes and reads the record of an account, `file` finds it.
//! * `merge` adds up the segments.
//!
//! Only account chains have edges: who paid whom in a UTXO transaction is a matter of attribution, one layer up.

mod build;
mod file;
mod merge;
mod pack;
mod records;
mod strongest;
mod sum;
mod tally;
#[cfg(test)]
mod tests;
mod value;

pub use self::records::{AssetEdge, Edge, EdgeFlows, EdgeOrder, EdgeSide, Edges};

pub(crate) use self::build::{Terms, build};
pub(crate) use self::file::EdgeFile;
pub(crate) use self::merge::{busiest, counterparty_bounds, edges, edges_with, visit_edges, visit_weights};
pub(crate) use self::sum::{Market, SegmentEdges};

/// Segments with fewer movements never have an edge file: to group an account's share of them on reading costs less.
pub(crate) const MIN_MOVEMENTS: u64 = 32_768;

/// Segments with as many movements have their edges from the beginning. Those with fewer are soon merged into one that
/// has its own; theirs are built when the writer is asked for what is missing, or because of a large account.
pub(crate) const LASTING_MOVEMENTS: u64 = 1 << 20;

/// Postings of an account in a segment without edges up to which they are grouped on reading.
pub(crate) const MAX_GROUPED: u64 = 1 << 16;
