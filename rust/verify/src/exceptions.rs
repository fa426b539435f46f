//! Known exceptions: blocks or nodes for which a check cannot hold, each with its source. A table, not a switch.

use headwater_types::Chain;

/// The check that has an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exception {
    /// A node returns receipts without the state root that their hash covers.
    ReceiptsWithoutStateRoot,
    /// The only transaction of a bitcoin block has the id of one in an earlier block.
    RepeatedTransactionId,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownException {
    /// The chain.
    pub chain: Chain,
    /// The first block.
    pub first: u64,
    /// The last block.
    pub last: u64,
    /// The check that does not hold.
    pub exception: Exception,
    /// The effect and the remedy.
    pub remedy: &'static str,
    /// The source of the fact.
    pub source: &'static str,
}

/// All known exceptions.
pub const TABLE: &[KnownException] = &[
    KnownException {
        chain: Chain::ETHEREUM,
        first: 0,
        last: 4_369_999,
        exception: Exception::ReceiptsWithoutStateRoot,
        remedy: "receipts before block 4,370,000 are hashed with a state root, which this node does not return (reth \
                 does not store it): use another node, for example geth",
        source: "paradigmxyz/reth issue 21002; EIP-658 (Byzantium, block 4,370,000)",
    },
    KnownException {
        chain: Chain::BITCOIN,
        first: 91_842,
        last: 91_842,
        exception: Exception::RepeatedTransactionId,
        remedy: "the coinbase transaction has the id of the one in block 91,812, which it replaces",
        source: "BIP 30",
    },
    KnownException {
        chain: Chain::BITCOIN,
        first: 91_880,
        last: 91_880,
        exception: Exception::RepeatedTransactionId,
        remedy: "the coinbase transaction has the id of the one in block 91,722, which it replaces",
        source: "BIP 30",
    },
];

/// Returns the exception of a block, if any.
///
/// ```
/// use headwater_verify::exceptions::{Exception, find};
/// use headwater_types::Chain;
/// assert!(find(Chain::BITCOIN, Exception::RepeatedTransactionId, 91_842).is_some());
/// assert!(find(Chain::BITCOIN, Exception::RepeatedTransactionId, 91_843).is_none());
/// ```
#[must_use]
pub fn find(chain: Chain, exception: Exception, block: u64) -> Option<&'static KnownException> {
    TABLE.iter().find(|row| row.chain == chain && row.exception == exception && (row.first..=row.last).contains(&block))
}
