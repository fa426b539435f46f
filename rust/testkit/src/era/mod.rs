//! History files (era1, ere) of blocks as a node's JSON-RPC answers them: an encoder that shares nothing with the reader
//! but the root of a list.

mod block;
mod container;
mod rebuilt;

pub use block::{EraBlock, sign};
pub use container::{Parts, accumulator, entries, entry, era1, ere, snappy};
pub use rebuilt::{Outcomes, RebuiltBlock, rebuilt};
