//! Blocks as a follower brings them: each with its hash and that of its parent, on one of several forks.

use headwater_ledger::facts::{Batch, BlockFacts};
use headwater_types::BlockHash;

/// The hash of a block of a fork.
#[must_use]
pub fn block_hash(number: u64, fork: u8) -> BlockHash {
    let mut bytes = [fork; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    BlockHash::new(bytes)
}

/// One block of a chainlet as a block of a fork that is on a block of `parent_fork`: the tail takes it.
///
/// # Panics
/// When the batch is of several blocks, or of block 0.
#[must_use]
pub fn followed(mut batch: Batch, fork: u8, parent_fork: u8) -> Batch {
    let [block] = &batch.blocks[..] else { panic!("expected one block, got {}", batch.blocks.len()) };
    let number = block.number;
    let parent = number.checked_sub(1).expect("block 0 has no parent");
    batch.blocks = vec![BlockFacts {
        hash: Some(block_hash(number, fork)),
        parent: Some(block_hash(parent, parent_fork)),
        ..block.clone()
    }];
    batch
}
