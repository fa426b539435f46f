//! The folder of segments: immutable files under numbered manifests.
//!
//! [`Store`] reads, [`Writer`] writes (one at a time), [`MemoryStore`] is the same without a disk.

mod memory;
mod reader;
mod report;
mod writer;

pub use memory::{MemoryStore, in_memory};
pub use reader::Store;
pub use report::{
    ChainStats, CommitReport, FileProblem, ImportKind, ImportVersion, LogicalDigest, StoreStats, VerifyReport,
};
pub use writer::Writer;
