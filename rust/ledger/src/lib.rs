//! The store of Headwater: chain data as immutable, memory-mapped segments under a manifest, read through one door.
//!
//! * [`bitcoin`]: what a Bitcoin transaction looks like.
//! * [`bridges`]: which transactions are legs of transfers between chains.
//! * [`clusters`]: which Bitcoin addresses are one person's.
//! * [`edges`]: who dealt with whom, and how much, grouped ahead of the question.
//! * [`facts`]: what sources say, and how two sources that speak of the same thing are joined.
//! * [`feed`]: what was added to a store and taken back from it, in the order it happened.
//! * [`holders`]: who holds how much of each asset, largest first.
//! * [`logs`]: event logs by contract and first topic.
//! * [`segment`]: one immutable file of columns, with address-ordered postings.
//! * [`store`]: the folder of segments: manifest, commits, generations, verification.
//! * [`labels`]: claims of sources about addresses.
//! * [`market`]: the token registry and prices.
//! * [`memory`]: how much memory queries may take, and who holds it.
//! * [`Snapshot`]: one generation of segments as that one ledger.
//! * [`external`]: sorting what does not fit into memory.
//! * [`read`]: the traits through which every analysis reads.

pub mod bitcoin;
pub mod bridges;
pub mod clusters;
pub mod edges;
pub mod external;
pub mod facts;
pub mod holders;
pub mod labels;
pub mod logs;
pub mod market;
pub mod memory;
pub mod permissions;
pub mod read;
pub mod segment;
pub mod store;

mod bits;
mod cancel;
mod error;
mod lineage;
mod live;
mod primitives;
mod snapshot;

pub use cancel::{Cancel, Cancelled};
pub use error::{ConflictParties, DisputeRefusal, LedgerError, LockHolder};
pub use memory::{Memory, OverBudget};
pub use read::{Ledger, feed};
pub use snapshot::Snapshot;
pub use store::Store;
