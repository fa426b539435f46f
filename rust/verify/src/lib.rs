//! Verification of answers of nodes and of history files: a block, its transactions and its receipts are checked against
//! the hashes that commit to them, before anything of them is stored.
//!
//! - [`evm`] checks Ethereum and BSC blocks from JSON-RPC or as canonical bytes, [`accumulator`](accumulator::accumulator)
//!   hashes the blocks of an era1 file, [`bitcoin`] checks raw blocks, [`tron`] blocks of the HTTP interface.
//! - Each function returns a value that only a successful check can make, and names the [`Part`]s that were verified.
//! - A failure is a [`VerificationError`]: the block, the place in the answer, and a [`Mismatch`] with a stable code.
//!
//! A block that is consistent with its own hash may still belong to no chain. Callers therefore compare each parent hash
//! with the block before, and the last block with a hash that they trust, for example that of a second node.
#![forbid(unsafe_code)]
// Text of nodes may hold any characters: a slice by byte positions would panic inside one.
#![cfg_attr(not(test), deny(clippy::string_slice))]

pub mod accumulator;
pub mod bitcoin;
pub mod evm;
pub mod exceptions;
mod json;
mod mismatch;
mod part;
mod rlp;
mod signature;
pub mod trie;
pub mod tron;

pub use mismatch::{Digest, FailureKind, Mismatch, Rule, VerificationError};
pub use part::Part;
