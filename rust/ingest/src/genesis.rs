//! When chains began: sources give no time, or zero, to the first block of most of them.

use headwater_types::{Chain, Timestamp};

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
