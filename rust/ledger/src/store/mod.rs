//! The folder of segments: immutable files under numbered manifests.
//!
//! [`Store`] reads, [`PinnedStore`] reads one generation, [`Writer`] writes (one change at a time), [`MemoryStore`] is the same
//! without a disk. A commit joins a batch with what is held ([`crate::facts`]), so that what a store holds is a function
//! of what sources said, and not of the order, the size or the repetition of the commits.

mod batch;
mod change;
mod claims;
mod commit;
mod contents;
mod contradictions;
mod derive;
mod digest;
pub mod disk;
mod disputes;
mod feed;
mod folder;
mod holds;
mod imports;
mod labels;
mod listed;
mod lock;
mod lookup;
mod manifest;
mod memory;
mod merge;
mod parts;
mod pinned;
mod reader;
mod rebuild;
mod report;
mod segmentation;
mod sidecar;
mod sink;
mod tiers;
mod verify;
mod writer;

pub use crate::live::{LiveState, LiveStatus};
pub use change::{TailAdvance, TailPosition};
pub use contradictions::{Contradiction, StatementRef};
pub use holds::HOLD_SECS;
pub use imports::{LabelImport, ShrinkPolicy};
pub use lock::{LockWait, WriterOptions};
pub use memory::{MemoryStore, in_memory};
pub use pinned::PinnedStore;
pub use reader::Store;
pub use report::{
    AdvanceReport, ChainStats, CommitReport, CompactReport, DoubleSpend, FileProblem, ImportKind, ImportVersion,
    LabelList, LogicalDigest, Merges, MissingClaims, StoreFile, StoreStats, VerifyReport,
};
pub use segmentation::{Segmentation, Split};
pub use writer::Writer;
