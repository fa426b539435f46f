//! A filter that says of most addresses without a claim that they have none: a Bloom filter in blocks of one cache line.
//!
//! Source: Putze, Sanders, Singler 2007 "Cache-, hash- and space-efficient Bloom filters"; the block is the one of the
//! Parquet format. About 1 % of absent addresses pass at [`BITS_PER_ADDRESS`].

/// A block: one bit is set in each word.
pub(super) type Block = [u32; 8];

const BITS_PER_ADDRESS: usize = 12;
const SALTS: Block =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// The filter of some hashes; its length is at least one block.
pub(super) fn build(hashes: impl ExactSizeIterator<Item = u64>) -> Vec<Block> {
    let blocks = (hashes.len() * BITS_PER_ADDRESS).div_ceil(256).max(1);
    let mut filter = vec![Block::default(); blocks];
    for hash in hashes {
        let block = &mut filter[place(hash, blocks)];
        for (word, bit) in block.iter_mut().zip(bits(hash)) {
            *word |= bit;
        }
    }
    filter
}

/// The block of a hash among so many.
pub(super) fn place(hash: u64, blocks: usize) -> usize {
    let high = u128::from(hash) * (blocks as u128);
    usize::try_from(high >> 64).expect("the place is below the number of blocks")
}

/// Returns whether a hash may be among those of its block.
pub(super) fn may_hold(block: &Block, hash: u64) -> bool {
    block.iter().zip(bits(hash)).all(|(word, bit)| word & bit != 0)
}

fn bits(hash: u64) -> Block {
    #[expect(clippy::cast_possible_truncation, reason = "the low half of the hash")]
    let low = hash as u32;
    SALTS.map(|salt| 1 << (low.wrapping_mul(salt) >> 27))
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    #[test]
    fn filter_holds_all_and_few_others() {
        let hash = |number: u32| xxh3_64(&number.to_le_bytes());
        let filter = build((0..10_000).map(hash));
        let holds = |number: u32| may_hold(&filter[place(hash(number), filter.len())], hash(number));
        assert!((0..10_000).all(holds));
        let passed = (10_000..110_000).filter(|number| holds(*number)).count();
        assert!(passed < 2_000, "{passed} of 100,000 absent hashes pass");
    }

    #[test]
    fn empty_filter_passes_nothing() {
        let filter = build(std::iter::empty::<u64>().collect::<Vec<_>>().into_iter());
        assert!(!may_hold(&filter[place(7, filter.len())], 7));
    }
}
