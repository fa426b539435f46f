//! Clusters: Bitcoin addresses that one person is taken to hold, because one transaction spends from several of them.
//!
//! Only a transaction that somebody with all keys signed can spend from several addresses, so its input addresses belong
//! together. [`link`] says which transactions are left out: those that several people may have made. Change is no
//! part of it.
//!
//! A cluster is a function of the chain alone. Transactions are taken in the order of the chain; each joins clusters of
//! its input addresses that were apart until then. A cluster is named by its address that appears first on the chain, so
//! that later addresses leave the name as it is, and where two clusters become one the older name stays. Every other
//! address was the name of a cluster once, if only of itself: its [`ClusterJoin`] says which transaction ended that.
//!
//! The table is a file beside the segments that covers a list of them ([`build`]). Segments behind it are read on the
//! first question of a generation ([`later`]), from where a generation before had come, whatever was merged since. Without a table the same is
//! done over all segments, as long as these are few.

mod base;
mod build;
mod chain;
mod file;
mod forest;
mod later;
mod link;
mod payments;
mod records;
mod view;

pub use self::link::{Link, link};
pub use self::records::{Cluster, ClusterJoin, FirstSeen, Member};
pub use self::view::Clusters;

pub(crate) use self::build::build;
pub(crate) use self::chain::{ChainClusters, ClusterTable, is_behind};
pub(crate) use self::file::ClusterFile;
pub(crate) use self::later::ClusterCache;

/// Movements outside of the table up to which they are read on the first question.
pub(crate) const MAX_UNCOVERED: u64 = 4 << 20;
