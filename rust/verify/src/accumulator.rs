//! The accumulator of an era1 file: one hash over the hashes and total difficulties of its blocks.
//!
//! It is the SSZ `hash_tree_root` of `List[HeaderRecord, 8192]` with `HeaderRecord = {block_hash: Bytes32,
//! total_difficulty: uint256}` (Portal Network, historical hashes accumulator): a binary tree of SHA-256 over the records,
//! filled up with zeros to 8,192 leaves, with the number of records mixed in.

use ruint::aliases::U256;
use sha2::{Digest as _, Sha256};

/// The maximum number of blocks of one accumulator.
pub const MAX_RECORDS: usize = 8_192;

/// The levels of a tree of that many leaves.
const LEVELS: usize = 13;

/// The hash of a block and the total difficulty up to and including it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderRecord {
    /// The hash of the block.
    pub hash: [u8; 32],
    /// The sum of the difficulties from block 0 to this one.
    pub total_difficulty: U256,
}

/// Returns the accumulator of records in order, or `None` for more than [`MAX_RECORDS`].
///
/// Cost: about two SHA-256 per record.
///
/// ```
/// use headwater_verify::accumulator::accumulator;
/// // Of no record: the root of a tree of zeros, hashed with a count of zero.
/// assert!(accumulator(&[]).is_some());
/// ```
#[must_use]
pub fn accumulator(records: &[HeaderRecord]) -> Option<[u8; 32]> {
    if records.len() > MAX_RECORDS {
        return None;
    }
    let leaf = |record: &HeaderRecord| pair(&record.hash, &record.total_difficulty.to_le_bytes::<32>());
    let mut level: Vec<[u8; 32]> = records.iter().map(leaf).collect();
    let mut zeros = [0; 32];
    for _ in 0..LEVELS {
        if level.len() % 2 == 1 {
            level.push(zeros);
        }
        level = level.chunks_exact(2).map(|two| pair(&two[0], &two[1])).collect();
        zeros = pair(&zeros, &zeros);
    }
    let root = level.first().copied().unwrap_or(zeros);
    Some(pair(&root, &U256::from(records.len()).to_le_bytes::<32>()))
}

fn pair(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    Sha256::new().chain_update(left).chain_update(right).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records with hashes of one repeated byte, and growing difficulties that pass 64 bits.
    fn records(count: u8) -> Vec<HeaderRecord> {
        let step = (U256::from(1) << 64) + U256::from(17);
        let one = |at: u8| HeaderRecord { hash: [at; 32], total_difficulty: U256::from(u64::from(at) + 1) * step };
        (0..count).map(one).collect()
    }

    /// Roots that remerkleable 0.1.28, the library of the consensus specification, gives for the same lists.
    #[test]
    fn accumulator_equals_that_of_another_library() {
        for (count, root) in [
            (0, "4a8c3a07c8d23adc5bac61157555c3c784d53d9bc110c1370809bd23cd93777d"),
            (1, "2dc0afa03a7ba5cd9eb210b23398b43dd08f34c57ae4fb255f2c41dc42724fc7"),
            (2, "1acee7f72bbdfda8a64ef605be6d4df45571879a61ba09ec000b289d5284042a"),
            (3, "4c4fd9964bef81df61c7908dfd47af936ef93f7e3ce098b9dce89dccd3e17eac"),
            (100, "1443b0b86b401d2ecd4dcf3783081e0017d7d57c39a4ada4a28fcf71571501fb"),
        ] {
            assert_eq!(hex::encode(accumulator(&records(count)).unwrap()), root, "{count}");
        }
    }

    #[test]
    fn accumulator_of_too_many_records_is_refused() {
        let records = vec![HeaderRecord { hash: [1; 32], total_difficulty: U256::ZERO }; MAX_RECORDS + 1];
        assert!(accumulator(&records[1..]).is_some());
        assert_eq!(accumulator(&records), None);
    }
}
