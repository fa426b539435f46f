//! Bitcoin as its nodes write it: serialised blocks, block files, and the node's JSON, decoded into facts.
//!
//! Everything here is a pure function of bytes and stated parameters. Bytes are hostile until they are proven: a count
//! is believed only when the bytes that are left could hold so many items, so no forged length allocates, and a block
//! counts only when its hash meets its bits and its Merkle root is that of its transactions.

pub mod block;
pub mod block_file;
pub mod chain;
mod error;
pub mod facts;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod object;
mod reader;
pub mod script;

pub use block::{RawBlock, RawHeader, RawInput, RawOutput, RawTransaction, decode_block, decode_header, peek_block};
pub use error::BlockError;
pub use facts::to_facts;
pub use script::{Lock, read_script};
