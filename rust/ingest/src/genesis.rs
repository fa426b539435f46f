//! When chains began: sources give no time, or zero, to the first block of most of them.

use headwater_types::{BlockHash, Chain, Timestamp};

/// Times of the first blocks in epoch seconds. Ethereum's header states zero, and explorers show the time of the launch;
/// TRON's first block has none and is given that of the block that follows it.
const FIRST_BLOCKS: [(Chain, i64); 4] = [
    (Chain::BITCOIN, 1_231_006_505),
    (Chain::BSC, 1_587_390_414),
    (Chain::ETHEREUM, 1_438_269_973),
    (Chain::TRON, 1_529_891_469),
];

/// The time of a block, where it is the first of its chain.
pub(crate) fn genesis_time(chain: Chain, block: u64) -> Option<Timestamp> {
    let (_, secs) = FIRST_BLOCKS.iter().find(|(known, _)| *known == chain && block == 0)?;
    Some(Timestamp::new(*secs))
}

/// The hash of the first block of Ethereum, which distinguishes it from its test networks.
const ETHEREUM: [u8; 32] = [
    0xd4, 0xe5, 0x67, 0x40, 0xf8, 0x76, 0xae, 0xf8, 0xc0, 0x10, 0xb8, 0x6a, 0x40, 0xd5, 0xf5, 0x67, 0x45, 0xa1, 0x18,
    0xd0, 0x90, 0x6a, 0x34, 0xe6, 0x9a, 0xec, 0x8c, 0x0d, 0xb1, 0xcb, 0x8f, 0xa3,
];

/// The hash of the first block of a chain, where it is known here.
pub(crate) fn genesis_hash(chain: Chain) -> Option<BlockHash> {
    (chain == Chain::ETHEREUM).then_some(BlockHash::new(ETHEREUM))
}
